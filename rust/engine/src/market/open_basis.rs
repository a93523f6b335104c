//! Opens on another basis than the closes.
//!
//! One of them is adjusted for dividends or splits, and the other is not. The opens are then apart from the close before
//! and, the other way, from the close of their bar, by the factor of the adjustment, on every bar before the dividend or
//! the split.

use crate::market::dataset::Dataset;
use crate::market::shown_numbers::significant;

/// Bars that show a factor.
const FEWEST: usize = 20;
/// The least distance of a factor from 1, as a share of the price.
const LEAST: f64 = 2e-3;
/// Share of the standard deviation of nights above which their median is a factor.
const MOST_NOISE: f64 = 0.5;
/// Standard errors of the medians of nights and days that are not chance.
const DECISIVE: [f64; 2] = [6.0, 3.0];
/// Standard error of a median of n normal values, times the root of n.
const MEDIAN_ERROR: f64 = 1.2533;
/// Ratio of the standard deviation to the median absolute value, if normal.
const DEVIATION: f64 = 1.4826;
/// Smallest steps of the prices that a factor must exceed.
const TICKS: f64 = 3.0;
/// Halvings of the bars that are judged, from the first and from the last bar.
const HALVINGS: usize = 4;

/// A bar with an open, a close and a close before.
#[derive(Clone, Copy, Debug)]
struct Move {
    bar: usize,
    open: f64,
    /// Ratio of the open to the close before, with dividends and splits.
    overnight: f64,
    /// Ratio of the close to the open.
    intraday: f64,
}

/// Median of ratios, less 1, and their standard deviation.
#[derive(Clone, Copy, Debug)]
struct Centre {
    shift: f64,
    noise: f64,
    error: f64,
}

impl Centre {
    fn of(ratios: &mut [f64]) -> Self {
        let middle = median(ratios);
        let error_of = |noise: f64| MEDIAN_ERROR * noise / (ratios.len() as f64).sqrt();
        if (middle - 1.0).abs() <= LEAST {
            return Self { shift: 0.0, noise: 0.0, error: 0.0 };
        }
        let mut distances: Vec<f64> = ratios.iter().map(|ratio| (ratio / middle - 1.0).abs()).collect();
        let noise = DEVIATION * median(&mut distances);
        Self { shift: middle - 1.0, noise, error: error_of(noise) }
    }

    fn is_clear(&self, share: f64, errors: f64) -> bool {
        let shift = self.shift.abs();
        shift > LEAST && shift > share * self.noise && shift > errors * self.error
    }
}

impl Dataset {
    /// Returns the open of a bar, if there is one.
    pub(crate) fn open_of(&self, bar: usize, symbol: usize) -> Option<f64> {
        self.tables.open.as_ref().map(|open| open.get(bar, symbol)).filter(|open| open.is_finite())
    }
}

/// Returns why the opens of a symbol are on another basis than its closes.
pub(crate) fn open_basis_fault(market: &Dataset) -> Option<String> {
    if !market.has_opens() {
        return None;
    }
    (0..market.n_symbols()).find_map(|symbol| fault_of(market, symbol))
}

fn fault_of(market: &Dataset, symbol: usize) -> Option<String> {
    let moves = moves_of(market, symbol);
    let parts = (0..HALVINGS).map(|halving| moves.len() >> halving).filter(|n_moves| *n_moves >= FEWEST);
    let parts = parts.flat_map(|n_moves| [&moves[..n_moves], &moves[moves.len() - n_moves..]]);
    let (part, shift) = parts.into_iter().find_map(|part| Some((part, shift_of(part)?)))?;
    let (first, last) = (market.dates().get(part[0].bar), market.dates().get(part[part.len() - 1].bar));
    let side = if shift > 0.0 { "above" } else { "below" };
    let percent = significant(100.0 * shift.abs(), 2);
    let name = &market.symbols()[symbol];
    Some(format!(
        "opens must be adjusted as the closes are; received opens of {name} that are {percent} % {side} the close before and as much {side} the close of their bar, the median of {} bars from {first} to {last}",
        part.len()
    ))
}

/// Returns how far opens are from the closes around them, if that is a factor.
fn shift_of(moves: &[Move]) -> Option<f64> {
    let overnight = Centre::of(&mut moves.iter().map(|each| each.overnight).collect::<Vec<_>>());
    if !overnight.is_clear(MOST_NOISE, DECISIVE[0]) {
        return None;
    }
    let intraday = Centre::of(&mut moves.iter().map(|each| each.intraday).collect::<Vec<_>>());
    let least = overnight.shift.abs().min(intraday.shift.abs());
    let both = (1.0 + overnight.shift) * (1.0 + intraday.shift) - 1.0;
    // The two moves undo each other.
    let is_factor =
        intraday.is_clear(0.0, DECISIVE[1]) && overnight.shift * intraday.shift < 0.0 && both.abs() < 0.5 * least;
    (is_factor && least > TICKS * tick_of(moves)).then_some(overnight.shift)
}

/// Returns the smallest step of prices, as a share of the median open.
fn tick_of(moves: &[Move]) -> f64 {
    let mut prices: Vec<f64> = moves.iter().flat_map(|each| [each.open, each.open * each.intraday]).collect();
    prices.sort_by(f64::total_cmp);
    let middle = prices[prices.len() / 2];
    let steps = prices.windows(2).map(|pair| (pair[1] - pair[0]) / middle);
    // A product differs from the close that it was computed from in its last bits.
    steps.filter(|step| *step > 1e-9).fold(f64::INFINITY, f64::min)
}

fn moves_of(market: &Dataset, symbol: usize) -> Vec<Move> {
    let (mut moves, mut before) = (Vec::new(), f64::NAN);
    for bar in 0..market.n_bars() {
        // The basis of the shares of this bar.
        before = (before - market.dividend(bar, symbol)) / market.split(bar, symbol);
        let close = market.close_of(bar, symbol);
        if !close.is_finite() {
            continue;
        }
        if let Some(open) = market.open_of(bar, symbol).filter(|_| before > 0.0) {
            moves.push(Move { bar, open, overnight: open / before, intraday: close / open });
        }
        before = close;
    }
    moves
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
