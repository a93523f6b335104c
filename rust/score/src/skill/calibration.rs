use crate::error::{Statistic, Undefined};
use crate::normal_distribution;

/// An order with its stated confidence and its outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// Stated probability in [0, 1], if any.
    pub confidence: Option<f64>,
    /// Target weight; its sign is the direction.
    pub weight: f64,
    /// Price of the fill, above 0.
    pub fill: f64,
    /// Close of the bar of the fill.
    pub close: f64,
}

/// Orders with confidence in [low, high); the last bin includes its upper edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Lowest confidence.
    pub low: f64,
    /// Upper edge.
    pub high: f64,
    /// Orders.
    pub n_orders: usize,
    /// Mean confidence; undefined without orders.
    pub confidence: Statistic,
    /// Share of right orders; undefined without orders.
    pub hit_rate: Statistic,
    /// 95 % interval of the hit rate; undefined without orders.
    pub interval: Result<(f64, f64), Undefined>,
}

/// Calibration of stated confidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Orders counted.
    pub n_stated: usize,
    /// Orders without a confidence.
    pub n_absent: usize,
    /// Orders with a confidence and no direction: their weight is 0.
    pub n_flat: usize,
    /// Mean confidence.
    pub confidence: f64,
    /// Share of right orders.
    pub hit_rate: f64,
    /// Brier score: mean squared difference of confidence and outcome.
    ///
    /// 0 is best; a constant confidence of 0.5 scores 0.25.
    pub brier: f64,
    /// One less the score over that of a constant forecast of the hit rate.
    ///
    /// Above 0 for informative confidence; undefined if all or no orders are right.
    pub brier_skill: Statistic,
    /// Expected calibration error: mean gap of the bins, weighted by count.
    pub expected_error: f64,
    /// Equal bins over [0, 1].
    pub bins: Vec<Bin>,
}

/// Returns the calibration of stated confidence.
///
/// The outcome of an order is 1 if `weight * (close / fill - 1) > 0`, else 0.
///
/// # Errors
///
/// Undefined if no order has a confidence and a direction, without bins, for a confidence outside [0, 1], or for a
/// number that is not finite.
///
/// Source: Brier (1950); intervals of Wilson (1927).
pub fn calibrate(orders: &[Stated], n_bins: usize) -> Result<Calibration, Undefined> {
    if n_bins == 0 {
        return Err(Undefined::TooShort { required: 1, received: 0 });
    }
    let (mut n_absent, mut n_flat, mut value) = (0, 0, Vec::new());
    for order in orders {
        match order.confidence {
            None => n_absent += 1,
            Some(stated) if !(0.0..=1.0).contains(&stated) => return Err(Undefined::NotAProbability),
            Some(_) if order.weight == 0.0 => n_flat += 1,
            Some(stated) => value.push((stated, outcome(order)?)),
        }
    }
    if value.is_empty() {
        return Err(Undefined::TooShort { required: 1, received: 0 });
    }
    let n = value.len() as f64;
    let bins = bins(&value, n_bins);
    let confidence = value.iter().map(|(stated, _)| stated).sum::<f64>() / n;
    let hit_rate = value.iter().map(|(_, came)| came).sum::<f64>() / n;
    let brier = value.iter().map(|(stated, came)| (stated - came) * (stated - came)).sum::<f64>() / n;
    let base = hit_rate * (1.0 - hit_rate);
    let brier_skill = if base > 0.0 { Ok(1.0 - brier / base) } else { Err(Undefined::NoVariation) };
    let gap = |bin: &Bin| Some(bin.n_orders as f64 / n * (bin.confidence.ok()? - bin.hit_rate.ok()?).abs());
    let expected_error = bins.iter().filter_map(gap).sum();
    Ok(Calibration {
        n_stated: value.len(),
        n_absent,
        n_flat,
        confidence,
        hit_rate,
        brier,
        brier_skill,
        expected_error,
        bins,
    })
}

fn outcome(order: &Stated) -> Statistic {
    let Stated { weight, fill, close, .. } = *order;
    if !(weight.is_finite() && fill.is_finite() && close.is_finite() && fill > 0.0) {
        return Err(Undefined::NotAReturn);
    }
    Ok(f64::from(u8::from(weight * (close / fill - 1.0) > 0.0)))
}

fn bins(value: &[(f64, f64)], n_bins: usize) -> Vec<Bin> {
    let edge = |k: usize| k as f64 / n_bins as f64;
    let bin_of = |stated: f64| (1..n_bins).take_while(|k| stated >= edge(*k)).count();
    let mut sums = vec![(0, 0.0, 0.0); n_bins];
    for (stated, came) in value {
        let sum = &mut sums[bin_of(*stated)];
        *sum = (sum.0 + 1, sum.1 + stated, sum.2 + came);
    }
    let over = |sum: f64, count: usize| match count {
        0 => Err(Undefined::TooShort { required: 1, received: 0 }),
        _ => Ok(sum / count as f64),
    };
    let bin = |(k, (count, stated, came)): (usize, (usize, f64, f64))| Bin {
        low: edge(k),
        high: edge(k + 1),
        n_orders: count,
        confidence: over(stated, count),
        hit_rate: over(came, count),
        interval: over(came, count).map(|share| interval(share, count)),
    };
    sums.into_iter().enumerate().map(bin).collect()
}

/// Returns the Wilson interval of a share of `count`.
fn interval(share: f64, count: usize) -> (f64, f64) {
    let (n, z) = (count as f64, normal_distribution::quantile(0.975));
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let over = 1.0 + z * z / n;
    (((middle - half) / over).max(0.0), ((middle + half) / over).min(1.0))
}
