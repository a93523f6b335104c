use std::collections::BTreeSet;

use openoutcry_contract::record::Digest;
use serde::Deserialize;
use serde_json::Value;

use super::{Edition, ScoreError};
use crate::Draws;
use crate::bootstrap::MAX_DRAWS;
use crate::multiple_testing::backtest_overfitting::MAX_BLOCKS;

/// Configuration of a score.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreConfig {
    /// Edition of the scorer; the first if absent.
    pub edition: Edition,
    /// Windows that an agent must have run.
    ///
    /// Without windows, all windows of any agent are required. They were chosen by the agents, so no agent is eligible.
    pub windows: Vec<SuiteWindow>,
    /// Fill keys that each window must have been run with, as text.
    ///
    /// Without keys, each window must have the same ones.
    pub seeds: Vec<String>,
    /// Trials of a ledger for this family of markets.
    pub trials: Counted,
    /// Agents of the luck floor: in no test and without a rank.
    pub luck_floor: BTreeSet<String>,
    /// Agents that are known originals of their tracks.
    ///
    /// Of agents with one track, all are copies except the one named here. If none or several are named, all are
    /// copies.
    pub originals: BTreeSet<String>,
    /// Bounds of the gates.
    pub gates: Gates,
    /// Settings of the resampling.
    pub draws: Drawing,
}

/// A window of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowKey {
    /// SHA-256 of the market; absent for bare returns.
    #[serde(default)]
    pub dataset: Option<Digest>,
    /// First bar, at whose close the first decision is made.
    pub start: usize,
    /// Bar after the last.
    pub end: usize,
}

impl WindowKey {
    /// Returns the number of returns of the window.
    #[must_use]
    pub fn n_returns(&self) -> usize {
        self.end.saturating_sub(self.start + 1)
    }
}

/// A required window, and whether its prices were secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteWindow {
    /// SHA-256 of the market; absent for bare returns.
    #[serde(default)]
    pub dataset: Option<Digest>,
    /// First bar, at whose close the first decision is made.
    pub start: usize,
    /// Bar after the last.
    pub end: usize,
    /// Whether its prices were secret when agents were made and run.
    #[serde(default)]
    pub sealed: bool,
}

impl SuiteWindow {
    /// Returns the window.
    #[must_use]
    pub fn key(&self) -> WindowKey {
        WindowKey { dataset: self.dataset, start: self.start, end: self.end }
    }
}

/// Counted trials and their statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counted {
    /// Number of trials; at least the number of agents of the field is used.
    pub n_trials: u64,
    /// Standard deviation of their Sharpe ratios per bar.
    ///
    /// Over as many returns as the agents have.
    pub spread: Option<f64>,
    /// Clusters of trials; for information only.
    pub n_eff: Option<usize>,
}

/// Bounds of the gates; the defaults are those of a board.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// Smallest deflated Sharpe ratio.
    pub min_dsr: f64,
    /// Level of the tests: of the field, of windows, and of ties.
    pub level: f64,
    /// Largest share of decisions with a fault.
    pub max_fault_share: f64,
    /// Deepest drawdown of a run, as a number above 0.
    pub max_drawdown: f64,
    /// Largest gross exposure at a close.
    pub max_gross: f64,
    /// Smallest annual volatility.
    pub min_volatility: f64,
    /// Smallest volatility as a share of that of buy-and-hold.
    pub min_volatility_share: f64,
    /// Smallest absolute annual alpha.
    pub min_alpha: f64,
    /// Probabilistic Sharpe ratio with which a run of a window passes.
    pub pass_bar: f64,
    /// Whether every run of every window must pass.
    pub pass_mode: PassMode,
    /// Whether each window decides, or only all together.
    pub windows: WindowMode,
    /// Fewest windows that are judged together.
    pub min_pooled: usize,
    /// Smallest excess without the best window, in standard errors.
    ///
    /// Over each benchmark, for windows that are judged together.
    pub min_z_without_best: f64,
    /// Largest annual Sharpe ratio that a delay of one bar may cost.
    ///
    /// A gate from the second edition on.
    pub max_delay_loss: f64,
    /// Number of in-sample windows of each market, oldest first.
    ///
    /// The decay of the ratio in later windows is reported.
    pub n_in_sample: usize,
    /// Bars of a rolling Sharpe ratio.
    pub rolling_bars: usize,
    /// Common cost in bps of turnover.
    pub common_cost_bps: f64,
    /// Blocks of the probability of backtest overfitting.
    pub overfit_blocks: usize,
    /// True annual Sharpe ratio that a board should detect.
    pub sharpe: f64,
    /// Power of the detection.
    pub power: f64,
}

/// The role of passing every window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PassMode {
    /// A reported number.
    #[default]
    Report,
    /// A gate.
    All,
}

/// How the windows of an agent are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowMode {
    /// None may be significantly below the benchmarks, and most must be above.
    #[default]
    Each,
    /// By the tests over all days.
    ///
    /// For convex styles, which lose a little in most windows.
    Pooled,
}

/// Settings of the resampling.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drawing {
    /// Number of resamples; ties use more if so few could not separate any pair.
    pub replicates: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Mean block length in days; estimated if absent.
    pub block_length: Option<f64>,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            min_dsr: 0.95,
            level: 0.05,
            max_fault_share: 0.01,
            max_drawdown: 0.5,
            max_gross: 2.0,
            min_volatility: 0.01,
            min_volatility_share: 0.1,
            min_alpha: 0.0025,
            pass_bar: 0.9,
            pass_mode: PassMode::Report,
            windows: WindowMode::Each,
            min_pooled: 12,
            min_z_without_best: 1.0,
            max_delay_loss: 10.0,
            n_in_sample: 0,
            rolling_bars: 63,
            common_cost_bps: 10.0,
            overfit_blocks: 10,
            sharpe: 1.0,
            power: 0.8,
        }
    }
}

impl Default for Drawing {
    fn default() -> Self {
        Self { replicates: 2_000, seed: 0, block_length: None }
    }
}

impl Drawing {
    /// Returns the draws of a test.
    pub(super) fn draws(&self) -> Draws {
        Draws { n: self.replicates, seed: self.seed, block_length: self.block_length }
    }

    /// Returns the draws of a test at a level, as many as it needs at least.
    pub(super) fn draws_at(&self, level: f64) -> Draws {
        #[expect(clippy::cast_sign_loss, reason = "a level is above 0")]
        let least = libm::ceil(1.0 / level) as usize;
        Draws { n: self.replicates.max(least), ..self.draws() }
    }
}

impl ScoreConfig {
    /// Returns the configuration in a JSON object.
    ///
    /// Absent fields have their defaults.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not such an object, or a bound is invalid.
    pub fn from_json(text: &str) -> Result<Self, ScoreError> {
        let refuse = |problem: String| ScoreError::Config { problem };
        let value: Value = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        // Otherwise a list of values in the order of the fields would be accepted too.
        if !value.is_object() {
            return Err(refuse("JSON other than an object".to_owned()));
        }
        let parts = ["trials", "gates", "draws"].iter().map(|name| (*name, value.get(name)));
        let windows = value.get("windows").and_then(Value::as_array).into_iter().flatten();
        let mut objects = parts.chain(windows.map(|window| ("windows", Some(window))));
        if let Some((name, _)) = objects.find(|(_, value)| value.is_some_and(Value::is_array)) {
            return Err(refuse(format!("a list for `{name}`, expected an object")));
        }
        let config: Self = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Checks every bound.
    ///
    /// # Errors
    ///
    /// Returns the first invalid one.
    pub fn check(&self) -> Result<(), ScoreError> {
        let g = &self.gates;
        let shares = [("min_dsr", g.min_dsr), ("level", g.level), ("pass_bar", g.pass_bar), ("power", g.power)];
        let sizes = [
            ("max_fault_share", g.max_fault_share),
            ("max_drawdown", g.max_drawdown),
            ("max_gross", g.max_gross),
            ("min_volatility", g.min_volatility),
            ("min_volatility_share", g.min_volatility_share),
            ("min_alpha", g.min_alpha),
            ("common_cost_bps", g.common_cost_bps),
            ("min_z_without_best", g.min_z_without_best),
            ("max_delay_loss", g.max_delay_loss),
            ("sharpe", g.sharpe),
            ("spread", self.trials.spread.unwrap_or(0.0)),
        ];
        let refuse = |name: &str, range: &str, received: f64| {
            Err(ScoreError::Config { problem: format!("`{name}` of {received}, expected a number {range}") })
        };
        if let Some((name, received)) = shares.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0)) {
            return refuse(name, "above 0 and below 1", received);
        }
        if let Some((name, received)) = sizes.into_iter().find(|(_, value)| !(0.0..f64::INFINITY).contains(value)) {
            return refuse(name, "finite and at least 0", received);
        }
        self.check_counts()?;
        let mut windows: Vec<WindowKey> = self.windows.iter().map(SuiteWindow::key).collect();
        windows.sort_unstable();
        let apart = |pair: &[WindowKey]| pair[0].dataset != pair[1].dataset || pair[0].end <= pair[1].start + 1;
        if windows.windows(2).all(apart) && windows.iter().all(|window| window.n_returns() > 0) {
            return Ok(());
        }
        let problem = "`windows` that overlap or have no return".to_owned();
        Err(ScoreError::Config { problem })
    }

    fn check_counts(&self) -> Result<(), ScoreError> {
        let (gates, draws) = (&self.gates, &self.draws);
        let refuse = |problem: String| Err(ScoreError::Config { problem });
        if gates.rolling_bars < 2 {
            return refuse(format!("`rolling_bars` of {}, expected at least 2", gates.rolling_bars));
        }
        if gates.min_pooled < 2 {
            return refuse(format!("`min_pooled` of {}, expected at least 2", gates.min_pooled));
        }
        if !gates.overfit_blocks.is_multiple_of(2) || !(2..=MAX_BLOCKS).contains(&gates.overfit_blocks) {
            let blocks = gates.overfit_blocks;
            return refuse(format!("`overfit_blocks` of {blocks}, expected an even number from 2 to {MAX_BLOCKS}"));
        }
        if !(1..=MAX_DRAWS).contains(&draws.replicates) {
            return refuse(format!("`replicates` of {}, expected 1 to {MAX_DRAWS}", draws.replicates));
        }
        match draws.block_length.filter(|days| !(1.0..f64::INFINITY).contains(days)) {
            Some(days) => refuse(format!("`block_length` of {days}, expected a finite number of at least 1")),
            None => Ok(()),
        }
    }
}
