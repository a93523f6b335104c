//! The results of an agent against one benchmark.

use super::ScoreConfig;
use super::deflated_ratio::deflated;
use super::field_agents::Agent;
use super::reason::Known;
use crate::bootstrap::{Panel, sign_flip};
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::{Hac, default_lags, hac};
use crate::skill::{Deflated, Selection, min_track_record};
use crate::{mean, sharpe, sharpe_standard_error};

/// A track against one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The benchmark.
    pub name: &'static str,
    /// Mean annual active return, averaged over seeds.
    pub mean: Known,
    /// The deflated ratio of the typical seed, per bar, with its inputs.
    pub deflated: Known<Deflated>,
    /// Annual Sharpe ratio of the typical seed.
    pub sharpe: Known,
    /// Its standard error.
    pub standard_error: Known,
    /// Its standard error under autocorrelation.
    pub hac: Known<Hac>,
    /// Minimum track record length of the typical seed, against a ratio of 0.
    pub min_track_record: Known,
    /// Unadjusted p-value of the mean over all days.
    ///
    /// For this agent only.
    pub alone: Known,
    /// p-value of the signs of windows; absent for fewer than eight windows.
    pub sign_flip: Option<f64>,
    /// Romano-Wolf p-value, adjusted for the field.
    pub romano_wolf: Known,
    /// p-value adjusted for the false discovery rate.
    pub false_discovery: Known,
}

/// Results of an agent in tests of the field, per benchmark.
///
/// Each has the p-value of the agent alone, that of Romano and Wolf, and the one for false discovery.
pub(super) type InField = Vec<Known<[f64; 3]>>;

/// Returns the results of an agent against each benchmark.
pub(super) fn sides(
    agent: &Agent<'_>,
    seed: usize,
    config: &ScoreConfig,
    selection: &Selection,
    in_field: &[Known<[f64; 3]>],
) -> Vec<Side> {
    let lengths = agent.tracks.lengths();
    let year = agent.tracks.periods_per_year;
    let mut sides = Vec::new();
    let each = agent.average.sides().into_iter().zip(agent.seeds[seed].sides());
    for (((name, average), (_, typical)), tested) in each.zip(in_field) {
        let moments = typical.and_then(|series| Ok(Moments::of(series)?));
        sides.push(Side {
            name,
            mean: average.and_then(|series| Ok(mean(series)? * year)),
            deflated: typical.and_then(|series| deflated(name, series, selection)),
            sharpe: typical.and_then(|series| Ok(sharpe(series, year)?)),
            standard_error: typical.and_then(|series| Ok(sharpe_standard_error(series, year)?)),
            hac: typical.and_then(|series| Ok(hac(series, year, default_lags(series.len()))?)),
            min_track_record: moments.and_then(|of| Ok(min_track_record(&of, 0.0, 1.0 - config.gates.level)?)),
            alone: tested.map(|[alone, _, _]| alone),
            sign_flip: average.ok().and_then(|series| {
                let panel = Panel::new(series, 1, &lengths).ok()?;
                sign_flip(&panel, &config.draws.draws())
            }),
            romano_wolf: tested.map(|[_, stepped, _]| stepped),
            false_discovery: tested.map(|[_, _, rate]| rate),
        });
    }
    sides
}
