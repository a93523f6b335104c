use std::collections::BTreeSet;

use openoutcry_contract::record::Digest;
use serde::Deserialize;
use serde_json::Value;

use super::ScoreError;
use crate::Draws;
use crate::bootstrap::MAX_DRAWS;
use crate::multiple_testing::backtest_overfitting::MAX_BLOCKS;

/// What agents are judged by.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreConfig {
    /// Windows that an agent must have run.
    ///
    /// None asks for all that any agent of the field has: their makers chose them, and nobody is eligible.
    pub windows: Vec<SuiteWindow>,
    /// Fill keys that each window must have been run under, as text.
    ///
    /// None asks for the same ones in each window.
    pub seeds: Vec<String>,
    /// Trials that a ledger has counted for this family of markets.
    pub trials: Counted,
    /// Agents that are there to show luck: they are in no test and have no rank.
    pub luck_floor: BTreeSet<String>,
    /// Agents that are known to have made their tracks themselves.
    ///
    /// Of agents of one track, all are copies but the one named here; where none is, or several are, all are.
    pub originals: BTreeSet<String>,
    /// Bounds of the gates.
    pub gates: Gates,
    /// How to resample.
    pub draws: Drawing,
}

/// A window of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowKey {
    /// SHA-256 of the market; none for returns of an unknown one.
    #[serde(default)]
    pub dataset: Option<Digest>,
    /// First bar, at whose close the first decision is taken.
    pub start: usize,
    /// Bar after the last.
    pub end: usize,
}

impl WindowKey {
    /// Returns how many returns the window has.
    #[must_use]
    pub fn n_returns(&self) -> usize {
        self.end.saturating_sub(self.start + 1)
    }
}

/// A window that agents must have run, and whether anybody could know its prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteWindow {
    /// SHA-256 of the market; none for returns of an unknown one.
    #[serde(default)]
    pub dataset: Option<Digest>,
    /// First bar, at whose close the first decision is taken.
    pub start: usize,
    /// Bar after the last.
    pub end: usize,
    /// Whether its prices were a secret when agents were made and run.
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

/// Trials that were counted, and what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counted {
    /// Trials; the agents of the field are the least there can be.
    pub n_trials: u64,
    /// Standard deviation of their Sharpe ratios per bar.
    ///
    /// Over as many returns as the agents have.
    pub spread: Option<f64>,
    /// Clusters of them; reported only.
    pub n_eff: Option<usize>,
}

/// Bounds of the gates; the defaults are those of a board.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// Least deflated Sharpe ratio.
    pub min_dsr: f64,
    /// Level of the tests: of the field, of windows, and of ties.
    pub level: f64,
    /// Largest share of decisions that were none.
    pub max_fault_share: f64,
    /// Deepest drawdown of a run, as a number above 0.
    pub max_drawdown: f64,
    /// Largest gross exposure at a close.
    pub max_gross: f64,
    /// Least volatility a year.
    pub min_volatility: f64,
    /// The same as a share of buy-and-hold's.
    pub min_volatility_share: f64,
    /// Least size of alpha a year.
    pub min_alpha: f64,
    /// Probabilistic Sharpe ratio that a run of a window must show to count as passed.
    pub pass_bar: f64,
    /// Whether every run of every window must pass.
    pub pass_mode: PassMode,
    /// Windows of each market, oldest first, that were open to the makers.
    ///
    /// What is left of their ratio later is reported.
    pub n_in_sample: usize,
    /// Bars of a rolling Sharpe ratio.
    pub rolling_bars: usize,
    /// Cost in bps of turnover at which agents compare.
    pub common_cost_bps: f64,
    /// Blocks of the probability of backtest overfitting.
    pub overfit_blocks: usize,
    /// True Sharpe ratio a year that a board should see.
    pub sharpe: f64,
    /// How often it should see it.
    pub power: f64,
}

/// What passing every window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PassMode {
    /// A number that is reported.
    #[default]
    Report,
    /// A gate.
    All,
}

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drawing {
    /// How often; ties take more where so few could not tell anybody apart.
    pub replicates: usize,
    /// What all draws are a function of.
    pub seed: u64,
    /// Days of a block, on average; estimated where there is none.
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

    /// Returns the draws of a test at a level, which fewer could not decide.
    pub(super) fn draws_at(&self, level: f64) -> Draws {
        #[expect(clippy::cast_sign_loss, reason = "a level is above 0")]
        let least = libm::ceil(1.0 / level) as usize;
        Draws { n: self.replicates.max(least), ..self.draws() }
    }
}

impl ScoreConfig {
    /// Returns the configuration in a JSON object.
    ///
    /// What it does not name is as by default.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is no such object, or a bound is no number that it can be.
    pub fn from_json(text: &str) -> Result<Self, ScoreError> {
        let refuse = |problem: String| ScoreError::Config { problem };
        let value: Value = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        // A list of values in the order of the fields would be taken, too.
        if !value.is_object() {
            return Err(refuse("no object".to_owned()));
        }
        let parts = ["trials", "gates", "draws"].iter().map(|name| (*name, value.get(name)));
        let windows = value.get("windows").and_then(Value::as_array).into_iter().flatten();
        let mut objects = parts.chain(windows.map(|window| ("windows", Some(window))));
        if let Some((name, _)) = objects.find(|(_, value)| value.is_some_and(Value::is_array)) {
            return Err(refuse(format!("a list for `{name}`, which must be an object")));
        }
        let config: Self = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Checks that every bound is a number that it can be.
    ///
    /// # Errors
    ///
    /// Returns the first that is not.
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
            ("sharpe", g.sharpe),
            ("spread", self.trials.spread.unwrap_or(0.0)),
        ];
        let refuse = |name: &str, range: &str, received: f64| {
            Err(ScoreError::Config { problem: format!("`{name}` of {received}, which must be {range}") })
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
        let problem = "`windows` that have no return, or share one".to_owned();
        Err(ScoreError::Config { problem })
    }

    fn check_counts(&self) -> Result<(), ScoreError> {
        let (gates, draws) = (&self.gates, &self.draws);
        let refuse = |problem: String| Err(ScoreError::Config { problem });
        if gates.rolling_bars < 2 {
            return refuse(format!("`rolling_bars` of {}, which must be at least 2", gates.rolling_bars));
        }
        if !gates.overfit_blocks.is_multiple_of(2) || !(2..=MAX_BLOCKS).contains(&gates.overfit_blocks) {
            let blocks = gates.overfit_blocks;
            return refuse(format!("`overfit_blocks` of {blocks}, which must be even, from 2 to {MAX_BLOCKS}"));
        }
        if !(1..=MAX_DRAWS).contains(&draws.replicates) {
            return refuse(format!("`replicates` of {}, which must be from 1 to {MAX_DRAWS}", draws.replicates));
        }
        match draws.block_length.filter(|days| !(1.0..f64::INFINITY).contains(days)) {
            Some(days) => refuse(format!("`block_length` of {days}, which must be finite and at least 1")),
            None => Ok(()),
        }
    }
}
