use numpy::PyReadonlyArray2;
use openoutcry::{OrderTable, ShownCloses, StrategyRule};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::Text;
use crate::backtest_settings::Settings;
use crate::dataset::Dataset;
use crate::error::to_py;
use crate::metrics::check_metric;
use crate::run::{Run, orders_in};

/// Tables of target weights that are run together.
///
/// With a metric only its value is kept of each run.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct TableRuns {
    dataset: Dataset,
    settings: Settings,
    metric: Option<String>,
    tables: Vec<Option<OrderTable>>,
    /// Strategies; their places in `tables` are empty.
    rules: Vec<StrategyRule>,
    closes: Option<ShownCloses>,
    memory: Memory,
}

/// Memory of runs to be used again, after only their metric was kept.
///
/// Fresh memory costs more than a run: the system hands it out page by page.
#[derive(Default)]
struct Memory {
    orders: Vec<Vec<f64>>,
    navs: Vec<Vec<f64>>,
    returns: Vec<f64>,
}

/// Run tables of target weights, each as `run_weights` does.
///
/// Return the runs before the first fault, and the fault.
#[pyfunction]
pub(crate) fn run_tables<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    tables: Vec<PyReadonlyArray2<'py, f64>>,
    settings: Settings,
) -> PyResult<(Bound<'py, PyList>, Option<PyErr>)> {
    let mut together = TableRuns::new(dataset, settings, None)?;
    let fault = tables.iter().find_map(|weights| together.add(weights.clone()).err());
    let (runs, earlier) = together.finish(py)?;
    Ok((runs, earlier.or(fault)))
}

#[pymethods]
impl TableRuns {
    #[new]
    #[pyo3(signature = (dataset, settings, metric=None))]
    fn new(dataset: &Dataset, settings: Settings, metric: Option<Text>) -> PyResult<Self> {
        settings.backtest(dataset)?;
        let metric = metric.map(|metric| check_metric(&metric).map(|()| metric.to_string())).transpose()?;
        Ok(Self {
            dataset: dataset.clone(),
            settings,
            metric,
            tables: Vec::new(),
            rules: Vec::new(),
            closes: None,
            memory: Memory::default(),
        })
    }

    /// Add a copy of target weights, shape `(n_bars, n_symbols)`.
    fn add(&mut self, weights: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let memory = self.memory.orders.pop().unwrap_or_default();
        self.tables.push(Some(orders_in(memory, &self.dataset, &weights, self.settings.window())?));
        Ok(())
    }

    /// Add the weights of a library strategy, to be computed when the tables are run.
    ///
    /// Return whether the native module computes them; if not, nothing is added.
    fn add_strategy(&mut self, name: &str, params: &Bound<'_, PyDict>) -> PyResult<bool> {
        let Some(rule) = rule_of(name, params)? else { return Ok(false) };
        self.rules.push(rule);
        self.tables.push(None);
        Ok(true)
    }

    /// Return the number of tables to run.
    fn __len__(&self) -> usize {
        self.tables.len()
    }

    /// Run the tables added so far, each as `run_weights` does.
    ///
    /// Return the runs, or the metric of each, before the first fault, and the fault.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyList>, Option<PyErr>)> {
        let backtest = self.settings.backtest(&self.dataset)?;
        let (tables, rules) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.rules));
        let (closes, memory, window) = (&mut self.closes, &mut self.memory, self.settings.window());
        let tables = |memory: &mut Memory| {
            let mut computed = Vec::new();
            if !rules.is_empty() {
                let closes = closes.get_or_insert_with(|| ShownCloses::of(&self.dataset.0));
                computed = closes.tables(&rules, window, &mut memory.orders);
            }
            let mut computed = computed.into_iter();
            tables.into_iter().filter_map(|table| table.or_else(|| computed.next())).collect()
        };
        let results = PyList::empty(py);
        let Some(metric) = &self.metric else {
            for run in py.detach(|| backtest.run_tables(tables(memory))) {
                match run {
                    Ok(core) => results.append(Run::new(&self.dataset, self.settings, core))?,
                    Err(error) => return Ok((results, Some(to_py(error)))),
                }
            }
            return Ok((results, None));
        };
        let values = py.detach(|| {
            let tables = tables(memory);
            let runs = backtest.run_tables_in(&mut memory.navs, tables);
            let value = |run: Result<_, _>| {
                let run = Run::new(&self.dataset, self.settings, run?);
                let value = run.statistic(metric, &mut memory.returns);
                let core = run.into_core();
                memory.navs.push(core.nav);
                memory.orders.push(core.orders.into_memory());
                value
            };
            runs.into_iter().map(value).collect::<Vec<_>>()
        });
        for value in values {
            match value {
                Ok(value) => results.append(value)?,
                Err(error) => return Ok((results, Some(to_py(error)))),
            }
        }
        Ok((results, None))
    }
}

/// Returns the rule of a library strategy, if the native module has it.
fn rule_of(name: &str, params: &Bound<'_, PyDict>) -> PyResult<Option<StrategyRule>> {
    let param = |name: &str| params.as_any().get_item(name);
    let count = |name: &str| param(name)?.extract::<usize>();
    let number = |name: &str| param(name)?.extract::<f64>();
    let is_short = || Ok::<_, PyErr>(param("side")?.extract::<Text>()?.0 == "long-short");
    Ok(Some(match name {
        "trend" => StrategyRule::Trend { fast: count("fast")?, slow: count("slow")?, is_short: is_short()? },
        "mean-reversion" => {
            StrategyRule::MeanReversion { window: count("window")?, width: number("width")?, is_short: is_short()? }
        }
        "momentum" => StrategyRule::Momentum {
            window: count("window")?,
            skip: count("skip")?,
            share: number("share")?,
            is_short: is_short()?,
        },
        _ => return Ok(None),
    }))
}
