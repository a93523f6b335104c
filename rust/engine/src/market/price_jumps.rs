//! Prices far from their neighbours.
//!
//! A decimal point is lost, or units such as pence and pounds are mixed.

use crate::market::dataset::Dataset;
use crate::market::shown_numbers::significant;
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;

/// A price this many times its neighbours, or that part, is likely a mistake.
const FAR: f64 = 50.0;
/// A longer run of far closes is a change of units or a real move.
const LONGEST: usize = 5;
/// Factors between units.
///
/// Pence and pounds, fils and dinars, or a point read as a mark of thousands.
const UNITS: [f64; 2] = [100.0, 1000.0];
/// Move of one bar that a factor between units may have on top.
const MOVE: f64 = 1.15;
const MOST_NAMES: usize = 3;

/// A close of a symbol, on the share basis of the last bar.
#[derive(Clone, Copy, Debug)]
struct Close {
    bar: usize,
    price: f64,
    /// Ratio to the close before, with the splits between them; 1 for the first.
    ratio: f64,
}

impl Close {
    fn is_jump(&self) -> bool {
        is_far(self.ratio)
    }

    fn is_change_of_units(&self) -> bool {
        let factor = self.ratio.max(1.0 / self.ratio);
        UNITS.iter().any(|unit| factor < unit * MOVE && unit < &(factor * MOVE))
    }
}

/// Suspicious prices of a market, in words.
#[derive(Debug, Default)]
struct Found {
    closes: Vec<String>,
    opens: Vec<String>,
    units: Vec<String>,
}

impl Found {
    fn add(&mut self, market: &Dataset, symbol: usize) {
        let closes = closes_of(market, symbol);
        let mut is_right = vec![true; closes.len()];
        let mut place = 1;
        while place < closes.len() {
            // Most closes are near the one before.
            if !closes[place].is_jump() {
                place += 1;
                continue;
            }
            let back = end_of_run(&closes, place);
            let before = significant(closes[place - 1].price, 6);
            if let Some(end) = back {
                is_right[place..end].fill(false);
                let after = significant(closes[end].price, 6);
                let far = closes[place..end].iter().map(|close| shown(market, symbol, close.bar, close.price));
                self.closes.extend(far.map(|price| format!("{price}, between {before} and {after}")));
            } else if closes[place].is_change_of_units() {
                let (name, date) = (&market.symbols()[symbol], market.dates().get(closes[place].bar));
                let price = significant(closes[place].price, 6);
                self.units.push(format!("{name} on {date}, from {before} to {price}"));
            }
            place = back.unwrap_or(place) + 1;
        }
        // The open of a bar with a mistaken close is likely right.
        for (close, _) in closes.iter().zip(is_right).filter(|(_, is_right)| *is_right) {
            if let Some(open) = market.open_of(close.bar, symbol).filter(|open| is_far(open / close.price)) {
                let open = shown(market, symbol, close.bar, open);
                self.opens.push(format!("{open}, with a close of {}", significant(close.price, 6)));
            }
        }
    }
}

/// Returns notices of closes and opens far from their neighbours.
pub(crate) fn price_jumps(market: &Dataset) -> Vec<String> {
    let mut found = Found::default();
    let is_near = have_near_prices(market);
    for symbol in (0..market.n_symbols()).filter(|symbol| !is_near[*symbol]) {
        found.add(market, symbol);
    }
    let hint = "hint: correct them in the file, or leave them empty: such returns are not real";
    let far = |prices: &[String], name: &str, others: &str| {
        let are = if prices.len() == 1 { format!("1 {name} is") } else { format!("{} {name}s are", prices.len()) };
        let shown = prices.first()?;
        Some(format!("{are} at least {FAR} times {others}, or at most 1/{FAR}, such as {shown}; {hint}"))
    };
    let mut notices: Vec<String> = far(&found.closes, "close", "the closes before and after").into_iter().collect();
    notices.extend(far(&found.opens, "open", "the close of the bar"));
    if !found.units.is_empty() {
        let text = "closes change by a factor of about 100 or 1000 and stay there, as between pence and pounds";
        let hint = "hint: write all prices of a symbol in one unit, and a split in a column `split`";
        notices.push(format!("{text}: {}; {hint}", listed(&found.units)));
    }
    notices
}

/// Returns for each symbol whether none of its prices can be far from another.
///
/// One pass over the tables spares most symbols of most markets the search.
fn have_near_prices(market: &Dataset) -> Vec<bool> {
    let width = market.tables.close.row(0).as_flattened().len();
    let (mut lowest, mut highest) = (vec![f64::INFINITY; width], vec![0.0; width]);
    let tables = [Some(&market.tables.close), market.tables.open.as_ref()];
    vectorized(
        Arch::new(),
        #[inline(always)]
        || {
            for bar in 0..market.n_bars() {
                for table in tables.into_iter().flatten() {
                    let prices = table.row(bar).as_flattened();
                    for ((price, low), high) in prices.iter().zip(&mut lowest).zip(&mut highest) {
                        // A comparison with a missing price is false.
                        *low = if price < low { *price } else { *low };
                        *high = if price > high { *price } else { *high };
                    }
                }
            }
        },
    );
    // With splits, prices of two share bases are compared.
    let is_near = |(low, high): (&f64, &f64)| market.tables.splits.is_none() && *high < FAR * low;
    lowest.iter().zip(&highest).map(is_near).collect()
}

/// Returns the closes of a symbol that are there.
fn closes_of(market: &Dataset, symbol: usize) -> Vec<Close> {
    let (mut closes, mut split) = (Vec::<Close>::new(), 1.0);
    for bar in 0..market.n_bars() {
        split *= market.split(bar, symbol);
        let price = market.close_of(bar, symbol);
        if price.is_finite() {
            let ratio = closes.last().map_or(1.0, |before| price * split / before.price);
            closes.push(Close { bar, price, ratio });
            split = 1.0;
        }
    }
    closes
}

/// Returns the place at which a short run of far closes goes back.
fn end_of_run(closes: &[Close], place: usize) -> Option<usize> {
    let rises = closes[place].ratio > 1.0;
    let later = (place + 1..closes.len()).take(LONGEST).find(|later| closes[*later].is_jump())?;
    (rises != (closes[later].ratio > 1.0)).then_some(later)
}

fn is_far(ratio: f64) -> bool {
    ratio >= FAR || ratio <= 1.0 / FAR
}

fn shown(market: &Dataset, symbol: usize, bar: usize, price: f64) -> String {
    format!("{} of {} on {}", significant(price, 6), market.symbols()[symbol], market.dates().get(bar))
}

/// Returns the first names, and the number of the others.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(MOST_NAMES)].join("; ");
    if names.len() > MOST_NAMES { format!("{first} and {} more", names.len() - MOST_NAMES) } else { first }
}
