use numpy::PyReadonlyArray2;
use openoutcry::OrderTable;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arguments::Text;
use crate::dataset::Dataset;
use crate::error::to_py;
use crate::metrics::check_metric;
use crate::run::{Run, Settings, orders_in};

/// Tables of target weights that are run together.
///
/// With a metric only its value is kept of each run.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct TableRuns {
    dataset: Dataset,
    settings: Settings,
    metric: Option<String>,
    tables: Vec<OrderTable>,
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
        Ok(Self { dataset: dataset.clone(), settings, metric, tables: Vec::new(), memory: Memory::default() })
    }

    /// Add a copy of target weights, shape `(n_bars, n_symbols)`.
    fn add(&mut self, weights: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let memory = self.memory.orders.pop().unwrap_or_default();
        self.tables.push(orders_in(memory, &self.dataset, &weights, self.settings.window())?);
        Ok(())
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
        let (tables, memory) = (std::mem::take(&mut self.tables), &mut self.memory);
        let results = PyList::empty(py);
        let Some(metric) = &self.metric else {
            for run in py.detach(|| backtest.run_tables(tables)) {
                match run {
                    Ok(core) => results.append(Run::new(&self.dataset, self.settings, core))?,
                    Err(error) => return Ok((results, Some(to_py(error)))),
                }
            }
            return Ok((results, None));
        };
        let values = py.detach(|| {
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
