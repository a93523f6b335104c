use std::collections::BTreeMap;

use crate::error::{Statistic, Undefined, check};
use crate::metrics::moments::Central;
use crate::skill::hierarchical_clustering::{Condensed, clusters};
use crate::standard_deviation;

/// Correlation above which two trials count as one in the spread.
const SAME: f64 = 0.95;

/// Mean correlation down to which clusters are merged.
const RELATED: f64 = 0.5;

/// The most distinct trials that are clustered; their correlations take 64 MB.
pub const MAX_CLUSTERED: usize = 4096;

/// Statistics of the trials of a ledger, for selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    /// Number of trials.
    pub n_trials: usize,
    /// Returns of each trial.
    pub n_returns: usize,
    /// Trials counted in the spread.
    pub n_spread: usize,
    /// Sample standard deviation of the counted ratios per bar.
    pub spread: Statistic,
    /// Clusters by average linkage at a correlation of 0.5.
    pub n_eff: Result<usize, Undefined>,
}

/// Returns the statistics of the tracks of a ledger, for selection.
///
/// The tracks are in chronological order. All count as trials. The spread leaves out a track that correlates above 0.95
/// with an earlier one, so that no later trial removes an earlier one, and a constant track, which has no ratio. A
/// constant track is in no cluster.
///
/// # Errors
///
/// Undefined without tracks, for tracks of unequal lengths or below two returns, or with an invalid return.
pub fn trials(tracks: &[&[f64]]) -> Result<Trials, Undefined> {
    let n_returns = tracks.first().map_or(0, |track| track.len());
    for track in tracks {
        if track.len() != n_returns {
            return Err(Undefined::UnequalLengths { required: n_returns, received: track.len() });
        }
    }
    tracks.iter().try_for_each(|track| check(track, 2))?;
    if tracks.is_empty() {
        return Err(Undefined::TooShort { required: 2, received: 0 });
    }
    let distinct = distinct(tracks);
    let mut kept: Vec<&Trial> = Vec::new();
    for trial in &distinct {
        if kept.iter().all(|earlier| dot(&earlier.unit, &trial.unit) <= SAME) {
            kept.push(trial);
        }
    }
    // Sorted: a sum depends on its order, and the positions of copies must not change it.
    let mut ratios: Vec<f64> = kept.iter().map(|trial| trial.sharpe).collect();
    ratios.sort_by(f64::total_cmp);
    let spread = standard_deviation(&ratios);
    Ok(Trials { n_trials: tracks.len(), n_returns, n_spread: ratios.len(), spread, n_eff: n_eff(&distinct) })
}

/// A track that is not constant, with its exact copies.
struct Trial {
    sharpe: f64,
    copies: f64,
    /// Returns less their mean, scaled to length 1: products are correlations.
    unit: Vec<f64>,
}

fn distinct(tracks: &[&[f64]]) -> Vec<Trial> {
    let mut places = BTreeMap::new();
    let mut distinct: Vec<Trial> = Vec::new();
    for track in tracks {
        let Ok(sharpe) = Central::of(track).and_then(|central| central.sharpe_per_bar()) else { continue };
        let bits: Vec<u64> = track.iter().map(|r| r.to_bits()).collect();
        let place = *places.entry(bits).or_insert(distinct.len());
        if let Some(earlier) = distinct.get_mut(place) {
            earlier.copies += 1.0;
        } else {
            distinct.push(Trial { sharpe, copies: 1.0, unit: unit(track) });
        }
    }
    distinct
}

fn unit(track: &[f64]) -> Vec<f64> {
    let mean = track.iter().sum::<f64>() / track.len() as f64;
    let centred: Vec<f64> = track.iter().map(|r| r - mean).collect();
    let length = dot(&centred, &centred).sqrt();
    centred.into_iter().map(|r| r / length).collect()
}

/// Returns the sum of products in eight lanes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lane = [0.0; 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            lane[k] += a[k] * b[k];
        }
    }
    for (k, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lane[k] += a * b;
    }
    ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}

fn n_eff(distinct: &[Trial]) -> Result<usize, Undefined> {
    if distinct.len() > MAX_CLUSTERED {
        return Err(Undefined::TooMany { most: MAX_CLUSTERED, received: distinct.len() });
    }
    if distinct.is_empty() {
        return Err(Undefined::NoVariation);
    }
    let distances = Condensed::of(distinct.len(), |a, b| 1.0 - dot(&distinct[a].unit, &distinct[b].unit));
    Ok(clusters(distances, distinct.iter().map(|trial| trial.copies).collect(), 1.0 - RELATED))
}
