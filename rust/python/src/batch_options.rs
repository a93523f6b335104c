//! Settings of a batch in Python.

use openoutcry::batch::{Autoreset, ObservedNames, Scale, Settings};
use openoutcry::{EpisodeMarkets, EpisodeWindows, Window};
use pyo3::prelude::*;

use crate::arguments::Text;
use crate::error::raise;
use crate::output_arrays::Shown;
use crate::reward::{RewardArgument, reward_of};

/// Settings of a batch: a dict in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    /// Per market: start, end, bars of a random episode or none, and the split.
    windows: Vec<(usize, usize, Option<usize>, Text)>,
    /// Market of each episode: `fixed`, `cycle`, `random` or `given`; and the split.
    #[pyo3(default = ("fixed".into(), "train".into()))]
    markets: (String, String),
    autoreset: Text,
    /// None for a reward of the caller.
    reward: Option<RewardArgument>,
    reward_parameter: f64,
    lookback: usize,
    no_trade_band: f64,
    max_episode_steps: Option<usize>,
    threads: usize,
    /// Lanes times symbols per thread.
    cells_a_thread: usize,
    seed: u64,
    /// The kind of new observations: `flat`, `cursor`, `dict` or `history`.
    ///
    /// `history` is a dict with windows.
    #[pyo3(default = "flat".to_owned())]
    observation: String,
    /// Names of observed columns.
    #[pyo3(default)]
    pub(crate) features: Vec<Text>,
    #[pyo3(default = ("none".into(), 0))]
    pub(crate) scale: (String, usize),
    /// Columns of the windows of dict observations; none for closes.
    #[pyo3(default)]
    pub(crate) history: Vec<Text>,
    /// Whether dict observations show the listed symbols.
    #[pyo3(default = true)]
    mask: bool,
    /// Whether records of the steps are kept.
    #[pyo3(default)]
    pub(crate) records: bool,
}

/// Names of observed columns and of windows, and the scale with its bars.
pub(crate) type ObservedArgument = (Vec<Text>, Vec<Text>, (String, usize));

/// Returns the names of observed columns with their scale.
///
/// The scale is `none`, `expanding`, or `window` with a number of bars.
pub(crate) fn observed_names(
    names: &[Text],
    history: &[Text],
    (scale, n_bars): &(String, usize),
) -> PyResult<ObservedNames> {
    let scale = match scale.as_str() {
        "none" => Scale::None,
        "expanding" => Scale::Expanding,
        "window" if *n_bars >= 2 => Scale::Window(*n_bars),
        other => {
            let message = format!("`scale` must be none, expanding or a window of at least 2 bars; received {other}");
            return Err(raise("argument_invalid", &message));
        }
    };
    let [names, history] = [names, history].map(|names| names.iter().map(|name| name.0.clone()).collect());
    Ok(ObservedNames { history, names, scale })
}

/// Returns the rule for the market of each episode by name.
pub(crate) fn episode_markets((kind, split): (String, String)) -> PyResult<EpisodeMarkets> {
    match kind.as_str() {
        "fixed" => Ok(EpisodeMarkets::Fixed),
        "cycle" => Ok(EpisodeMarkets::Cycle),
        "random" => Ok(EpisodeMarkets::Random { split }),
        "given" => Ok(EpisodeMarkets::Given),
        other => {
            let message = format!("`datasets` must be fixed, cycle, random or given; received {other}");
            Err(raise("argument_invalid", &message))
        }
    }
}

/// Returns the distribution of episode windows.
pub(crate) fn windows(start: usize, end: usize, n_bars: Option<usize>, split: String) -> EpisodeWindows {
    let range = Window { start, end };
    n_bars.map_or(EpisodeWindows::Fixed(range), |n_bars| EpisodeWindows::Random { range, n_bars, split })
}

impl Options {
    pub(crate) fn shown(&self) -> Shown {
        match self.observation.as_str() {
            "cursor" => Shown::Cursor,
            "dict" => Shown::Dict { history: false, mask: self.mask },
            "history" => Shown::Dict { history: true, mask: self.mask },
            _ => Shown::Flat,
        }
    }

    pub(crate) fn settings(self) -> PyResult<Settings> {
        let autoreset = match &*self.autoreset {
            "next_step" => Autoreset::NextStep,
            "same_step" => Autoreset::SameStep,
            _ => Autoreset::Disabled,
        };
        Ok(Settings {
            windows: self.windows.into_iter().map(|(start, end, n, split)| windows(start, end, n, split.0)).collect(),
            episode_markets: episode_markets(self.markets)?,
            autoreset,
            reward: reward_of(self.reward.as_ref(), self.reward_parameter)?,
            lookback: self.lookback,
            no_trade_band: self.no_trade_band,
            max_episode_steps: self.max_episode_steps.unwrap_or(usize::MAX),
            n_threads: self.threads,
            cells_a_thread: self.cells_a_thread,
            streaming_len: Settings::STREAMING_LEN,
            seed: self.seed,
        })
    }
}
