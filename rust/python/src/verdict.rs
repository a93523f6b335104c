//! Binds the scorer: submissions and a configuration in, a board in JSON out.

use numpy::PyReadonlyArray1;
use openoutcry::record::{Digest, Fill};
use openoutcry::{Benchmarks, FillKey, SubmittedRun, Terms, Window};
use openoutcry_score::verdict::{ScoreConfig, score_field};
use pyo3::prelude::*;

use crate::arguments::{self, JsonText, Text, strings};
use crate::costs::CostModel;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::limits::Limits;
use crate::record::{MarketName, Record, dataset_name};

type Series<'py> = PyReadonlyArray1<'py, f64>;

/// A bare run of Python.
///
/// First and last bar, fill seed, returns, benchmarks, risk-free returns, and dates.
type Given<'py> = (usize, usize, u64, Series<'py>, Option<GivenBenchmarks<'py>>, Option<Series<'py>>, Vec<Text>);

/// Buy-and-hold, cash, and passive portfolios with equal parts first.
type GivenBenchmarks<'py> = (Series<'py>, Series<'py>, Vec<Series<'py>>);

/// The facts of an agent that a scorer uses.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
#[derive(Clone)]
pub struct Submission(openoutcry::Submission);

#[pymethods]
impl Submission {
    /// Return the submission of a record, by a replay.
    ///
    /// `market_names` has the name of each market, and the commitment of its key; None trusts the record.
    ///
    /// Raises:
    ///     OpenOutcryError: the record is unfinished, or diverges from its replay.
    #[staticmethod]
    #[pyo3(signature = (record, datasets, *, costs=None, limits=None, fill_key=None, capacity=None, market_names=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of Python by its name")]
    fn of_record(
        py: Python<'_>,
        record: &Record,
        datasets: Vec<PyRef<'_, Dataset>>,
        costs: Option<CostModel>,
        limits: Option<Limits>,
        fill_key: Option<[u8; 32]>,
        capacity: Option<f64>,
        market_names: Option<Vec<MarketName>>,
    ) -> PyResult<Self> {
        let markets = markets(&datasets)?;
        let names = market_names.into_iter().flatten().zip(&datasets);
        let names: Vec<_> = names.map(|(name, dataset)| dataset_name(dataset, name)).collect();
        let terms = Terms {
            costs: costs.map(|costs| costs.0),
            limits: limits.map(|limits| limits.0),
            fill_key: fill_key.map(FillKey::from_bytes),
            markets: &names,
        };
        let submitted = py.detach(|| openoutcry::submit(&markets, record.core(), &terms)).map_err(to_py)?;
        Ok(Self(openoutcry::Submission { capacity, ..submitted }))
    }

    /// Return the submission of the weights of a record at another capital.
    ///
    /// Raises:
    ///     OpenOutcryError: the record is unfinished, diverges from its replay, or the capital is invalid.
    #[staticmethod]
    #[pyo3(signature = (record, datasets, capital, *, fill_key=None))]
    fn at_capital(
        py: Python<'_>,
        record: &Record,
        datasets: Vec<PyRef<'_, Dataset>>,
        capital: f64,
        fill_key: Option<[u8; 32]>,
    ) -> PyResult<Self> {
        let markets = markets(&datasets)?;
        let terms = Terms { fill_key: fill_key.map(FillKey::from_bytes), ..Terms::default() };
        let submitted = py.detach(|| openoutcry::submit_at(&markets, record.core(), &terms, capital));
        Ok(Self(submitted.map_err(to_py)?.map_err(to_py)?))
    }

    /// Return the submission of bare returns.
    ///
    /// Each run is its window, fill seed, returns, those of buy-and-hold, cash and passive portfolios, risk-free
    /// returns, and dates.
    #[staticmethod]
    #[pyo3(signature = (agent_id, runs, *, periods_per_year, in_sample_trials=0, dataset=None, dataset_name=None))]
    fn of_returns(
        agent_id: Text,
        runs: Vec<Given<'_>>,
        #[pyo3(from_py_with = arguments::periods_per_year)] periods_per_year: f64,
        in_sample_trials: u64,
        dataset: Option<Text>,
        dataset_name: Option<Text>,
    ) -> PyResult<Self> {
        arguments::check_agent_id(&agent_id)?;
        let parsed = dataset.map(|text| text.parse::<Digest>()).transpose();
        let dataset = parsed.map_err(|problem| raise("argument_invalid", &format!("`dataset`: {problem}")))?;
        let list = |series: &Series<'_>| -> Vec<f64> { series.as_array().iter().copied().collect() };
        let run = |(start, end, seed, returns, benchmarks, risk_free, dates): Given<'_>| SubmittedRun {
            dataset,
            dataset_name: dataset_name.as_deref().unwrap_or_default().to_owned(),
            window: Window { start, end },
            dates: strings(dates),
            periods_per_year,
            fill: Fill::Seed(seed),
            returns: list(&returns),
            risk_free: risk_free.as_ref().map(list),
            terminated_at: None,
            benchmarks: benchmarks.map(|(held, cash, passive)| Benchmarks {
                buy_and_hold: list(&held),
                cash: list(&cash),
                passive: passive.iter().map(list).collect(),
            }),
            trace: None,
        };
        let runs = runs.into_iter().map(run).collect();
        let agent_id = agent_id.0;
        Ok(Self(openoutcry::Submission { agent_id, in_sample_trials, digest: None, capacity: None, runs }))
    }

    /// Return one submission with the runs of several, in their order.
    ///
    /// It has no declared trials and no digest.
    #[staticmethod]
    fn join(agent_id: Text, submissions: Vec<PyRef<'_, Submission>>) -> PyResult<Self> {
        arguments::check_agent_id(&agent_id)?;
        let runs = submissions.iter().flat_map(|each| each.0.runs.iter().cloned()).collect();
        let agent_id = agent_id.0;
        Ok(Self(openoutcry::Submission { agent_id, in_sample_trials: 0, digest: None, capacity: None, runs }))
    }

    /// Name of the agent.
    #[getter]
    fn agent_id(&self) -> &str {
        &self.0.agent_id
    }

    /// Digest of the record, None without one.
    #[getter]
    fn digest(&self) -> Option<String> {
        self.0.digest.map(|digest| digest.to_string())
    }

    /// For each run the SHA-256 of its market, its window, and its fill key as text.
    #[getter]
    fn runs(&self) -> Vec<(Option<String>, usize, usize, String)> {
        let fill = |fill| match fill {
            Fill::Seed(seed) => seed.to_string(),
            Fill::Commitment(digest) => digest.to_string(),
        };
        let dataset = |run: &SubmittedRun| run.dataset.map(|digest| digest.to_string());
        self.0.runs.iter().map(|run| (dataset(run), run.window.start, run.window.end, fill(run.fill))).collect()
    }
}

fn markets<'a>(datasets: &'a [PyRef<'_, Dataset>]) -> PyResult<Vec<&'a openoutcry::Dataset>> {
    if datasets.is_empty() {
        return Err(raise("argument_invalid", "`datasets` must have at least one market; received none"));
    }
    Ok(datasets.iter().map(|dataset| &*dataset.0).collect())
}

/// Return the scores of agents, as a JSON object.
///
/// `config` is a JSON object of the settings that differ from the defaults of the scorer.
///
/// Raises:
///     OpenOutcryError: the configuration or a submission is invalid.
#[pyfunction]
#[pyo3(name = "score_field")]
pub(crate) fn score_field_json(
    py: Python<'_>,
    submissions: Vec<PyRef<'_, Submission>>,
    config: JsonText,
) -> PyResult<String> {
    let config = ScoreConfig::from_json(&config).map_err(to_py)?;
    let submissions: Vec<openoutcry::Submission> = submissions.iter().map(|each| each.0.clone()).collect();
    py.detach(|| score_field(&submissions, &config).map(|field| field.to_json())).map_err(to_py)
}

/// Check a scorer configuration, a JSON object as for `score_field`.
///
/// Raises:
///     OpenOutcryError: it has an unknown field, or a bound is invalid.
#[pyfunction]
pub(crate) fn check_score_config(config: JsonText) -> PyResult<()> {
    ScoreConfig::from_json(&config).map(|_| ()).map_err(to_py)
}

/// Return the score of daily returns out of `n_trials`, as a JSON object.
///
/// Raises:
///     OpenOutcryError: a return is invalid.
#[pyfunction]
#[pyo3(signature = (returns, n_trials=0))]
pub(crate) fn score_run(py: Python<'_>, returns: Vec<f64>, n_trials: u64) -> PyResult<String> {
    let scored = py.detach(|| openoutcry_score::verdict::score_run(&returns, n_trials));
    scored.map(|score| score.to_json()).map_err(to_py)
}
