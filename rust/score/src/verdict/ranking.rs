//! Ranking of agents in tie bands.

use super::composite_score::{CompositeScore, known_or_fatal};
use super::deflated_ratio::typical;
use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use super::{Reason, ScoreConfig, ScoreError};
use crate::bootstrap::Panel;
use crate::multiple_testing::tie_bands::bands_alone;
use crate::skill::power::days_to_separate;
use crate::{TestError, sharpe_difference, volatility};

/// The separation of the first two agents of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Separation {
    /// The first agent.
    pub first: String,
    /// The second agent.
    pub second: String,
    /// Annual Sharpe ratio of the first less that of the second.
    pub difference: Known,
    /// Its standard error.
    pub standard_error: Known,
    /// Days required for a significant difference, if it persists.
    pub n_needed: Known,
    /// Days available.
    pub n_days: usize,
}

/// Reasons that exclude an agent from ranking.
const UNRANKED: [Reason; 7] = [
    Reason::WindowsMissing,
    Reason::Copy,
    Reason::Faults,
    Reason::Terminated,
    Reason::Drawdown,
    Reason::Exposure,
    Reason::LowVolatility,
];

/// Indices of ranked agents by band, and the separation of the first two.
pub(super) type Ranking = (Vec<Vec<usize>>, Option<Separation>);

/// Returns the bands of the agents that can be ranked.
///
/// # Errors
///
/// Returns an error for invalid draws.
pub(super) fn rank(
    agents: &[Agent<'_>],
    scores: &[CompositeScore],
    config: &ScoreConfig,
) -> Result<Ranking, ScoreError> {
    let ranked = |place: &usize| {
        let (agent, score) = (&agents[*place], &scores[*place]);
        let is_barred = UNRANKED.iter().any(|each| score.reasons.contains(each)) || is_sliver(agent, score, config);
        agent.is_in_field() && score.z.is_ok() && !is_barred
    };
    let z_of = |place: usize| scores[place].z.unwrap_or(f64::NEG_INFINITY);
    let mut places: Vec<usize> = (0..agents.len()).filter(ranked).collect();
    places.sort_by(|a, b| z_of(*b).total_cmp(&z_of(*a)));
    if places.len() < 2 {
        return Ok((places.into_iter().map(|place| vec![place]).collect(), None));
    }
    let n = places.len();
    let days = Days::of(agents, scores, &places);
    let draws = config.draws.draws_at(config.gates.level);
    let ranks: Vec<f64> = places.iter().map(|place| z_of(*place)).collect();
    let year = agents[places[0]].tracks.periods_per_year;
    let banded = days.panel().and_then(|panel| bands_alone(&panel, year, config.gates.level, &ranks, &draws));
    // With too few days for any difference, all agents share one band.
    let bands = known_or_fatal(banded)?.unwrap_or_else(|_| vec![(0..n).collect()]);
    let bands = bands.into_iter().map(|band| band.into_iter().map(|member| places[member]).collect()).collect();
    let separation = separation(agents, scores, [places[0], places[1]], config)?;
    Ok((bands, Some(separation)))
}

/// Returns whether a track is its benchmark except for a negligible part.
fn is_sliver(agent: &Agent<'_>, score: &CompositeScore, config: &ScoreConfig) -> bool {
    let moves = volatility(agent.average.own(), agent.tracks.periods_per_year)
        .is_ok_and(|own| own >= config.gates.min_volatility);
    score.reasons.contains(&Reason::LowAlpha) && !moves
}

/// The days of the typical seeds of several agents, as rows.
struct Days {
    values: Vec<f64>,
    n_agents: usize,
    lengths: Vec<usize>,
}

impl Days {
    fn of(agents: &[Agent<'_>], scores: &[CompositeScore], places: &[usize]) -> Self {
        let tracks = places.iter().map(|place| &agents[*place].seeds[typical(&scores[*place].seed_z)]);
        let held: Known<Vec<&[f64]>> = tracks.clone().map(|track| track.strictest().1).collect();
        // Over cash only, if one of them has no other benchmark.
        let series = held.unwrap_or_else(|_| tracks.map(|track| &track.cash[..]).collect());
        let lengths = agents[places[0]].tracks.lengths();
        Self { values: interleaved(&series), n_agents: places.len(), lengths }
    }

    fn panel(&self) -> Result<Panel<'_>, TestError> {
        Ok(Panel::new(&self.values, self.n_agents, &self.lengths)?)
    }
}

/// Returns series of one length interleaved by day.
pub(super) fn interleaved(series: &[&[f64]]) -> Vec<f64> {
    let n_days = series.first().map_or(0, |first| first.len());
    (0..n_days).flat_map(|day| series.iter().map(move |each| each[day])).collect()
}

fn separation(
    agents: &[Agent<'_>],
    scores: &[CompositeScore],
    pair: [usize; 2],
    config: &ScoreConfig,
) -> Result<Separation, ScoreError> {
    let days = Days::of(agents, scores, &pair);
    let (level, power) = (config.gates.level, config.gates.power);
    let draws = config.draws.draws_at(level);
    let year = agents[pair[0]].tracks.periods_per_year;
    let apart = known_or_fatal(days.panel().and_then(|panel| sharpe_difference(&panel, year, level, &draws)))?;
    let (n_days, n_returns) = (scores[pair[0]].n_days, scores[pair[0]].n_returns);
    let needed = apart.and_then(|apart| {
        let ratio = apart.estimate.abs() / apart.standard_error;
        let needed = days_to_separate(n_returns, ratio, level, power)?;
        let is_daily = n_days == n_returns;
        Ok::<f64, Unknown>(if is_daily { needed } else { (needed * n_days as f64 / n_returns as f64).ceil() })
    });
    Ok(Separation {
        first: scores[pair[0]].agent_id.clone(),
        second: scores[pair[1]].agent_id.clone(),
        difference: apart.map(|apart| apart.estimate),
        standard_error: apart.map(|apart| apart.standard_error),
        n_needed: needed,
        n_days,
    })
}
