use crate::account::rules::Rules;
use crate::market::dataset::Dataset;
use crate::step::liquidity::Liquidity;

/// The bar of a step with day orders.
#[derive(Clone, Copy)]
pub(crate) struct DayBar<'a> {
    pub(crate) market: &'a Dataset,
    pub(crate) rules: &'a Rules,
    /// NAV at close t.
    pub(crate) nav: f64,
    /// Bar t + 1.
    pub(crate) bar: usize,
}

impl DayBar<'_> {
    pub(super) fn liquidity(&self, symbol: usize, mark: f64) -> Liquidity {
        Liquidity::of(self.market, self.rules, (self.bar, symbol), (mark, self.nav))
    }
}
