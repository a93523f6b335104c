//! Dependence of an agent on execution without delay.
//!
//! A track with an implausibly high ratio that a delay of one bar destroys trades on prices that were not tradable: a
//! lagged copy of another symbol, a stale or a smoothed price.

use openoutcry_contract::Trace;

use super::active_returns::active;
use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use super::{Edition, ScoreConfig};
use crate::error::Undefined;
use crate::metrics::moments::Moments;
use crate::sharpe;
use crate::skill::probabilistic_sharpe;

/// Share of the ratio below which a delayed track is sensitive to delay.
///
/// Mispricings with a half-life of a day keep a third to a half, longer signals more; see `docs/score.md`.
const SENSITIVE: f64 = 0.25;

/// Annual ratios of active returns with and without a delay of one bar.
///
/// Over the strictest benchmark, averaged over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExecutionDelay {
    /// Ratio of the run.
    pub sharpe: Known,
    /// Ratio of the same decisions, executed one bar later.
    pub delayed: Known,
    /// Ratio that the delay costs; a delayed ratio below 0 counts as 0.
    pub lost: Known,
    /// Whether the loss is significant and at least three quarters of the ratio.
    pub is_sensitive: bool,
}

impl ExecutionDelay {
    fn of(agent: &Agent<'_>, edition: Edition, level: f64) -> Self {
        let late = agent.tracks.series(None, |run| run.trace.as_ref().map(|trace: &Trace| trace.delayed.clone()));
        let Some(late) = late else {
            let unknown = Err(Unknown::NoTrace);
            return Self { sharpe: unknown, delayed: unknown, lost: unknown, is_sensitive: false };
        };
        let late = active(&agent.tracks, None, &late, edition);
        let (now, late) = (agent.average.own(), late.own());
        let ratio = |series: &[f64]| -> Known { Ok(sharpe(series, agent.tracks.periods_per_year)?) };
        let (sharpe, delayed) = (ratio(now), ratio(late));
        let lost = sharpe.and_then(|sharpe| match delayed {
            Ok(delayed) => Ok(sharpe - delayed.max(0.0)),
            // A track that earns nothing after the delay has lost everything.
            Err(Unknown::Undefined(Undefined::NoVariation)) => Ok(sharpe),
            Err(unknown) => Err(unknown),
        });
        let remains_little = sharpe.is_ok_and(|sharpe| lost.is_ok_and(|lost| lost > (1.0 - SENSITIVE) * sharpe));
        let difference: Vec<f64> = now.iter().zip(late).map(|(now, late)| now - late).collect();
        let differs = Moments::of(&difference).and_then(|of| probabilistic_sharpe(&of, 0.0));
        let is_sensitive = remains_little && differs.is_ok_and(|probability| probability >= 1.0 - level);
        Self { sharpe, delayed, lost, is_sensitive }
    }

    /// Returns the result under an edition that has it.
    pub(super) fn under(agent: &Agent<'_>, config: &ScoreConfig) -> Option<Self> {
        (config.edition >= Edition::Second).then(|| Self::of(agent, config.edition, config.gates.level))
    }
}
