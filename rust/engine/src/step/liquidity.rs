//! Participation and cost coefficients of one symbol in a bar (steps 9 and 11).

use crate::account::rules::Rules;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums;

/// The volume of a symbol in a bar; the account is the volume in data without one.
#[derive(Clone, Copy)]
pub(crate) struct Liquidity {
    volume: Option<f64>,
    mark: f64,
    nav: f64,
    capital: f64,
}

impl Liquidity {
    /// Returns the liquidity of a symbol for an account, from its mark and NAV.
    #[inline]
    pub(crate) fn of(market: &Dataset, rules: &Rules, (bar, symbol): (usize, usize), (mark, nav): (f64, f64)) -> Self {
        Self { volume: market.volume_of(bar, symbol), mark, nav, capital: rules.costs().capital }
    }

    /// Returns the share of the volume that a number of shares takes.
    #[inline]
    pub(crate) fn participation(&self, shares: f64) -> f64 {
        match self.volume {
            // `capital / volume` shares of NAV 1 are the whole volume of the bar.
            Some(volume) => shares.abs() * self.capital / volume,
            None => shares.abs() * self.mark / self.nav,
        }
    }

    /// Returns the number of shares that takes a share of the volume.
    #[inline]
    pub(crate) fn shares(&self, participation: f64) -> f64 {
        self.volume.map_or(participation * self.nav / self.mark, |volume| participation * volume / self.capital)
    }

    /// Returns the coefficient of the square root of shares in the cost of a fill.
    #[inline]
    pub(crate) fn impact(&self, rules: &Rules) -> f64 {
        let ratio = self.volume.map_or(self.mark / self.nav, |volume| self.capital / volume);
        // Zero times infinity is NaN.
        if rules.rates.impact > 0.0 { rules.rates.impact * ratio.sqrt() } else { 0.0 }
    }
}

/// Returns the slippage of a symbol in a bar, with its jitter.
#[inline(always)]
pub(crate) fn slippage(market: &Dataset, rules: &Rules, bar: usize, symbol: usize) -> f64 {
    if rules.costs().slippage_jitter <= 0.0 {
        return rules.half_spread(market, bar, symbol);
    }
    let drawn = rules.tables.as_ref().and_then(|tables| tables.slippage(bar));
    drawn.map_or_else(|| rules.jittered_slippage(market, bar, symbol), |row| lane_sums::get(row, symbol))
}
