//! Checks of splits against the closes around them, split by split.
//!
//! `docs/your-data.md` states the rule. [`Dataset::new`] accepts every valid number: the doors of users' files check.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::market::dataset::Dataset;
use crate::market::shown_numbers::significant;

/// Standard deviations of returns above which the logarithm of a split is judged.
const DECISIVE: f64 = 8.0;
/// A smaller logarithm is within the noise of news on one day.
const SMALLEST: f64 = 0.1;
/// Standard deviation of returns of a symbol with too few of them.
const USUAL: f64 = 0.025;
/// The least standard deviation.
const LEAST: f64 = 1e-3;
const FEWEST: usize = 3;
/// Closes from which on a symbol of arrays is judged.
///
/// Arrays can be an example of a few bars.
const KNOWN: usize = 20;
/// Ratio of the standard deviation to the median absolute value, if normal.
const DEVIATION: f64 = 1.4826;
const MOST_NAMES: usize = 3;

/// A split between two closes.
#[derive(Clone, Copy, Debug)]
struct Split {
    bar: usize,
    symbol: usize,
    /// New shares per old share.
    ratio: f64,
    /// Logarithm of the ratio; of all splits between the two closes.
    expected: f64,
    /// Logarithmic return from the close before to the close at or after it.
    gain: f64,
    /// Standard deviation of that return without a split.
    noise: f64,
}

impl Split {
    fn at(&self, market: &Dataset) -> String {
        let (symbol, date) = (&market.symbols()[self.symbol], market.dates().get(self.bar));
        format!("{} of {symbol} on {date}", significant(self.ratio, 6))
    }
}

/// Checks that each split shows in the closes.
///
/// Returns a notice if some splits are too small to tell.
///
/// # Errors
///
/// Returns `value_invalid` for a split that does not show: the prices are adjusted already, or the ratio is inverted.
pub(crate) fn check_splits(market: &Dataset) -> Result<Option<String>, DataError> {
    let found = splits_of(market);
    let judged = judgements(&found);
    let shown = judged.iter().find(|(_, share)| *share >= 0.5);
    if let Some((split, share)) = judged.iter().find(|(_, share)| *share < 0.5) {
        let message = match shown {
            Some((other, _)) => mixed(market, other, split),
            None => hidden(market, split, *share),
        };
        return Err(DataError::new("value_invalid", message));
    }
    let unclear = unclear(&found);
    if unclear.is_empty() {
        return Ok(None);
    }
    let mut listed = unclear.iter().take(MOST_NAMES).map(|split| split.at(market)).collect::<Vec<_>>().join(", ");
    if unclear.len() > MOST_NAMES {
        listed = format!("{listed} and {} more", unclear.len() - MOST_NAMES);
    }
    let hint = "hint: leave out the column `split` if they are adjusted already";
    let notice = format!("the prices do not show whether they are adjusted for the split {listed}: it is applied");
    Ok(Some(format!("{notice}; {hint}")))
}

/// Returns the first split that the closes should show and do not, in words.
///
/// Symbols with few closes are not judged.
pub(crate) fn hidden_split(market: &Dataset) -> Option<String> {
    let n_closes = |symbol| (0..market.n_bars()).filter(|bar| market.close_of(*bar, symbol).is_finite()).count();
    let is_hidden = |split: &Split| judged(&[*split]).is_some_and(|share| share < 0.5);
    let found = splits_of(market).into_iter().find(|split| is_hidden(split) && n_closes(split.symbol) >= KNOWN);
    found.map(|split| split.at(market))
}

fn mixed(market: &Dataset, shown: &Split, hidden: &Split) -> String {
    let (shown, hidden) = (shown.at(market), hidden.at(market));
    format!(
        "the prices of all splits must be adjusted in one way; received {shown}, which the close shows, and {hidden}, which it does not show; hint: leave out the splits that the prices hold already"
    )
}

fn hidden(market: &Dataset, split: &Split, share: f64) -> String {
    let mut received = format!("the split {}, where the close does not show it", split.at(market));
    let mut hint = "leave out the column `split` if the prices are adjusted already".to_owned();
    if share < -0.5 {
        received = format!("{received} but moves by {}", significant(libm::exp(split.gain), 3));
        hint = format!("{hint}, or write the ratio as new shares per old share: {}", significant(1.0 / split.ratio, 6));
    }
    format!("a split must show in the price; received {received}; hint: {hint}")
}

/// Returns the splits that are too small to be judged, with those of their symbol.
fn unclear(splits: &[Split]) -> Vec<Split> {
    small(splits).into_values().filter(|group| judged(group).is_none()).flatten().collect()
}

/// Returns the splits that are too small to be judged one by one, by symbol.
fn small(splits: &[Split]) -> BTreeMap<usize, Vec<Split>> {
    let mut groups: BTreeMap<usize, Vec<Split>> = BTreeMap::new();
    for split in splits.iter().filter(|split| judged(&[**split]).is_none()) {
        groups.entry(split.symbol).or_default().push(*split);
    }
    groups
}

/// Returns splits with the share that shows in the closes, about 1 or 0.
///
/// Splits that are too small count together, those of a symbol and those of all symbols.
fn judgements(splits: &[Split]) -> Vec<(Split, f64)> {
    let alone = splits.iter().map(|split| vec![*split]);
    let groups: Vec<Vec<Split>> = small(splits).into_values().collect();
    let together = groups.concat();
    let groups = alone.chain(groups).chain([together]);
    groups.filter_map(|group| Some((*group.first()?, judged(&group)?))).collect()
}

/// Returns the share of splits that shows in the closes.
///
/// `None` if it is within the noise.
fn judged(splits: &[Split]) -> Option<f64> {
    let (mut total, mut squares, mut shown) = (0.0, 0.0, 0.0);
    for Split { expected, gain, noise, .. } in splits {
        let weight = 1.0 / (noise * noise);
        total += weight * (expected * expected);
        squares += expected * expected;
        shown -= weight * expected * gain;
    }
    let is_decisive = total >= DECISIVE * DECISIVE && squares >= SMALLEST * SMALLEST;
    is_decisive.then(|| shown / total)
}

/// Returns the splits of a market that have a close before and after, by symbol.
fn splits_of(market: &Dataset) -> Vec<Split> {
    let Some(table) = &market.tables.splits else { return Vec::new() };
    let bars: Vec<usize> = table.bars().collect();
    let of_symbol = |symbol| {
        let rows: Vec<usize> = bars.iter().copied().filter(|bar| table.get(*bar, symbol) != 1.0).collect();
        splits_of_symbol(market, symbol, &rows)
    };
    (0..market.n_symbols()).flat_map(of_symbol).collect()
}

fn splits_of_symbol(market: &Dataset, symbol: usize, rows: &[usize]) -> Vec<Split> {
    if rows.is_empty() {
        return Vec::new();
    }
    let bars: Vec<usize> = (0..market.n_bars()).filter(|bar| market.close_of(*bar, symbol).is_finite()).collect();
    let logs: Vec<f64> = bars.iter().map(|bar| libm::log(market.close_of(*bar, symbol))).collect();
    let gains: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The splits between two closes, by the place of the close at or after them.
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for row in rows {
        places.entry(bars.partition_point(|bar| bar < row)).or_default().push(*row);
    }
    let others = gains.iter().enumerate().filter(|(before, _)| !places.contains_key(&(before + 1)));
    let noise = deviation(others.map(|(_, gain)| gain.abs()).collect()).max(LEAST);
    let split = |(place, rows): (usize, Vec<usize>)| {
        let expected: f64 = rows.iter().map(|row| libm::log(market.split(*row, symbol))).sum();
        // Without a close on both sides, nothing shows it, and no holding is split.
        let is_between = place > 0 && place < bars.len() && expected != 0.0;
        is_between.then(|| Split {
            bar: rows[0],
            symbol,
            ratio: market.split(rows[0], symbol),
            expected,
            gain: gains[place - 1],
            noise: noise * ((bars[place] - bars[place - 1]) as f64).sqrt(),
        })
    };
    places.into_iter().filter_map(split).collect()
}

/// Returns the standard deviation of returns by their median absolute value.
fn deviation(mut sizes: Vec<f64>) -> f64 {
    if sizes.len() < FEWEST {
        return USUAL;
    }
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.len() / 2;
    let median = if sizes.len() % 2 == 1 { sizes[middle] } else { f64::midpoint(sizes[middle - 1], sizes[middle]) };
    DEVIATION * median
}
