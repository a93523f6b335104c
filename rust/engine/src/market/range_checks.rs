//! Checks that the prices of a bar are within its low and its high.

use crate::counted_nouns::counted;
use crate::error::DataError;
use crate::market::dataset::Dataset;
use crate::market::shown_numbers::significant;

/// A larger share of highs below lows means mistaken columns.
const MOST_CROSSED: f64 = 0.05;
/// So does a larger share of the bars of a symbol with a price outside.
///
/// Settlements of futures are outside on some bars.
const MOST_OUTSIDE: f64 = 0.5;
/// Distance from the range of a mistaken column, as a share of the price.
const FAR: f64 = 1e-3;
/// Distance from the range of more than rounding, as a share of the price.
const ROUNDING: f64 = 5e-4;
const LEAST_BARS: usize = 3;
const MOST_SHOWN: usize = 5;

/// A table of prices, and the name of its column.
type Prices = (&'static str, Vec<f64>);

/// Checks lows, highs, opens and closes; returns notices of some outside.
///
/// # Errors
///
/// Returns `value_invalid` if many highs are below lows, or most prices of a symbol are outside of them.
pub(crate) fn check_ranges(market: &Dataset) -> Result<Vec<String>, DataError> {
    let (Some(mut high), Some(low)) = (market.column("high"), market.column("low")) else { return Ok(Vec::new()) };
    let crossed: Vec<usize> = (0..high.len()).filter(|cell| high[*cell] < low[*cell]).collect();
    let n_bars = high.iter().zip(&low).filter(|(high, low)| high.is_finite() && low.is_finite()).count();
    if crossed.len() as f64 > (MOST_CROSSED * n_bars as f64).max(1.0) {
        let message = format!("highs must be above lows; received {} of {n_bars} below", crossed.len());
        return Err(refused(&format!("{message}; hint: exchange the names of the columns `high` and `low`")));
    }
    let shown = crossed.iter().take(MOST_SHOWN).map(|cell| {
        let (high, low) = (significant(high[*cell], 6), significant(low[*cell], 6));
        format!("the high of {} is below its low: {high} < {low}", place(market, *cell))
    });
    let mut notices: Vec<String> = shown.collect();
    for cell in crossed {
        high[cell] = f64::NAN;
    }
    for name in ["close", "open"] {
        if let Some(prices) = market.column(name) {
            notices.extend(check_inside(market, &(name, prices), &high, &low)?);
        }
    }
    Ok(notices)
}

/// Returns a notice of prices outside of their bars; refuses if most are.
fn check_inside(market: &Dataset, prices: &Prices, high: &[f64], low: &[f64]) -> Result<Option<String>, DataError> {
    let (name, prices) = prices;
    let cells = prices.iter().zip(high.iter().zip(low));
    let distance = |(price, (high, low)): (&f64, (&f64, &f64))| {
        // `max` would ignore a missing side.
        let is_known = high.is_finite() && low.is_finite();
        if is_known { (price - high).max(low - price) / price } else { f64::NAN }
    };
    let distance: Vec<f64> = cells.map(distance).collect();
    let n_symbols = market.n_symbols();
    let of = |symbol: usize| distance.iter().skip(symbol).step_by(n_symbols);
    let n_far = |symbol| of(symbol).filter(|far| **far > FAR).count();
    let n_bars = |symbol| of(symbol).filter(|far| far.is_finite()).count();
    let is_mistaken = |symbol: &usize| {
        let (n_far, n_bars) = (n_far(*symbol), n_bars(*symbol));
        n_far >= LEAST_BARS && n_far as f64 > MOST_OUTSIDE * n_bars as f64
    };
    let is_outside = |symbol: &usize| of(*symbol).any(|far| *far > ROUNDING);
    let mistaken = (0..n_symbols).find(is_mistaken);
    let Some(symbol) = mistaken.or_else(|| (0..n_symbols).find(is_outside)) else { return Ok(None) };
    let bar = of(symbol).position(|far| *far > ROUNDING).unwrap_or_default();
    let cell = bar * n_symbols + symbol;
    let [price, low, high] = [prices[cell], low[cell], high[cell]].map(|price| significant(price, 6));
    let shown = format!("{price} of {}, with a low of {low} and a high of {high}", place(market, cell));
    if mistaken.is_some() {
        let wanted = format!("{name}s must be within the low and the high of their bar");
        let received = format!("{} of {} outside, such as {shown}", n_far(symbol), n_bars(symbol));
        return Err(refused(&format!("{wanted}; received {received}; hint: name the columns by what they hold")));
    }
    let n_outside = distance.iter().filter(|far| **far > ROUNDING).count();
    Ok(Some(format!("{} outside of the low and the high of the bar, such as {shown}", counted(n_outside, name))))
}

fn place(market: &Dataset, cell: usize) -> String {
    let n_symbols = market.n_symbols();
    format!("{} on {}", market.symbols()[cell % n_symbols], market.dates().get(cell / n_symbols))
}

fn refused(message: &str) -> DataError {
    DataError::new("value_invalid", message.to_owned())
}
