use std::ops::Range;

use openoutcry_engine::Dataset;

/// The closes that observations show, per symbol.
///
/// They are carried forward through halts, and adjusted for splits up to the bar of the observation.
pub struct ShownCloses {
    symbols: Vec<ShownSymbol>,
}

pub(super) struct ShownSymbol {
    /// Close of each bar on the share basis of that bar; NaN before the listing.
    closes: Vec<f64>,
    /// Bars that have a close, carried forward or not, before the settlement.
    pub(super) listed: Range<usize>,
    /// Bar and ratio of each split.
    splits: Vec<(usize, f64)>,
}

impl ShownCloses {
    /// Returns the closes of a market.
    #[must_use]
    pub fn of(data: &Dataset) -> Self {
        let (n_bars, n_symbols) = (data.n_bars(), data.n_symbols());
        let column = |name: &str| data.column(name).unwrap_or_default();
        let (closes, splits, delistings) = (column("close"), column("splits"), column("delistings"));
        let of_symbol = |table: &[f64], symbol: usize| -> Vec<f64> {
            table.iter().skip(symbol).step_by(n_symbols).copied().collect()
        };
        let shown = |symbol| {
            let is_split = |(_, ratio): &(usize, f64)| *ratio != 1.0;
            let splits = of_symbol(&splits, symbol).into_iter().enumerate().filter(is_split).collect();
            let settled = of_symbol(&delistings, symbol).iter().position(|value| !value.is_nan());
            ShownSymbol::new(of_symbol(&closes, symbol), splits, settled.unwrap_or(n_bars))
        };
        Self { symbols: (0..n_symbols).map(shown).collect() }
    }

    pub(super) fn symbols(&self) -> &[ShownSymbol] {
        &self.symbols
    }
}

impl ShownSymbol {
    fn new(mut closes: Vec<f64>, splits: Vec<(usize, f64)>, settled: usize) -> Self {
        let listed = closes.iter().position(|close| !close.is_nan()).unwrap_or(settled);
        let (mut last, mut next) = (f64::NAN, splits.iter().peekable());
        for (bar, close) in closes.iter_mut().enumerate() {
            if let Some((_, ratio)) = next.next_if(|(at, _)| *at == bar) {
                last /= ratio;
            }
            last = if close.is_nan() { last } else { *close };
            *close = last;
        }
        Self { closes, listed: listed.min(settled)..settled, splits }
    }

    /// Returns the part of `bars` with a full window of `lookback` closes.
    pub(super) fn shown(&self, lookback: usize, bars: &Range<usize>) -> Range<usize> {
        let end = self.listed.end.clamp(bars.start, bars.end);
        (self.listed.start + lookback - 1).clamp(bars.start, end)..end
    }

    /// Calls `work` with stretches of `bars` between splits, and their closes.
    ///
    /// The last close is that of the last bar; there are `lookback - 1` closes before the first bar, or all.
    pub(super) fn stretches(&self, bars: Range<usize>, lookback: usize, mut work: impl FnMut(&[f64], Range<usize>)) {
        let first = (bars.start + 1).saturating_sub(lookback);
        let mut splits = self.splits.iter().filter(|(at, _)| first < *at && *at < bars.end).peekable();
        if splits.peek().is_none() {
            return work(&self.closes[first..bars.end], bars);
        }
        let mut closes = self.closes[first..bars.end].to_vec();
        let mut start = bars.start;
        for (at, ratio) in splits {
            if *at > start {
                let shown = (start + 1).saturating_sub(lookback) - first;
                work(&closes[shown..*at - first], start..*at);
                start = *at;
            }
            // One division per split, in order, as for an observation.
            closes[..*at - first].iter_mut().for_each(|close| *close /= ratio);
        }
        let shown = (start + 1).saturating_sub(lookback) - first;
        work(&closes[shown..], start..bars.end);
    }
}
