//! The settings of a backtest, and the names in its record.

use openoutcry::record::Digest;
use openoutcry::{Backtest, FillKey, Window};
use pyo3::prelude::*;

use crate::arguments::{self, Text};
use crate::costs::CostModel;
use crate::dataset::Dataset;
use crate::error::to_py;
use crate::limits::Limits;

/// Settings of a backtest: window, costs, limits, seeds; a dict in Python.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    window: (usize, usize),
    costs: CostModel,
    limits: Limits,
    lookback: usize,
    seed: u64,
    fill_key: Option<[u8; 32]>,
}

/// Record fields in addition to the settings: a dict in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Names<'py> {
    market: Text,
    pub(crate) agent_id: Text,
    commitment: Option<[u8; 32]>,
    harness: Bound<'py, PyAny>,
}

impl Settings {
    pub(crate) fn window(self) -> Window {
        Window { start: self.window.0, end: self.window.1 }
    }

    pub(crate) fn backtest(self, dataset: &Dataset) -> PyResult<Backtest<'_>> {
        let mut backtest = Backtest::new(&dataset.0, self.window(), self.seed, self.costs.0).map_err(to_py)?;
        if let Some(key) = self.fill_key {
            backtest = backtest.sealed(FillKey::from_bytes(key));
        }
        backtest.with_limits(self.limits.0).and_then(|backtest| backtest.with_lookback(self.lookback)).map_err(to_py)
    }

    pub(crate) fn captured<'a>(self, dataset: &'a Dataset, names: &Names<'_>) -> PyResult<Backtest<'a>> {
        arguments::check_agent_id(&names.agent_id)?;
        let mut backtest = self.backtest(dataset)?.with_name(&names.market);
        if let Some(commitment) = names.commitment {
            backtest = backtest.committed(Digest(commitment));
        }
        if let Some(harness) = arguments::harness(&names.harness)? {
            backtest = backtest.harnessed(harness);
        }
        Ok(backtest)
    }
}
