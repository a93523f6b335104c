/// The conditions of one order of contract 1.1, which last one bar.
///
/// Prices are on the share basis of close t, like the closes that the agent sees. NaN stands for an absent price.
#[derive(Clone, Copy, Debug)]
pub struct DayOrder {
    /// Symbol index.
    pub symbol: usize,
    /// The highest price of a purchase, the lowest price of a sale.
    pub limit: f64,
    /// The price that activates the order.
    pub stop: f64,
    /// The price at which a losing position is closed.
    pub stop_loss: f64,
    /// The price at which a winning position is closed.
    pub take_profit: f64,
    /// Whether the order fills at the close instead of the open.
    pub at_close: bool,
}

impl DayOrder {
    /// Returns an order of `symbol` without conditions.
    #[must_use]
    pub fn unconditional(symbol: usize) -> Self {
        let none = f64::NAN;
        Self { symbol, limit: none, stop: none, stop_loss: none, take_profit: none, at_close: false }
    }

    /// Returns whether the order has a condition.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.at_close || !self.prices().iter().all(|price| price.is_nan())
    }

    /// Returns the prices: limit, stop, stop loss and take profit.
    #[must_use]
    pub fn prices(&self) -> [f64; 4] {
        [self.limit, self.stop, self.stop_loss, self.take_profit]
    }

    /// Returns whether both exits are given and crossed for a position of this sign.
    pub(crate) fn exits_cross(&self, side: f64) -> bool {
        !self.stop_loss.is_nan()
            && !self.take_profit.is_nan()
            && side != 0.0
            && side.signum() * self.stop_loss >= side.signum() * self.take_profit
    }
}

/// Equal if every number has the same bits, so that absent prices are equal.
impl PartialEq for DayOrder {
    fn eq(&self, other: &Self) -> bool {
        (self.symbol, self.at_close, self.prices().map(f64::to_bits))
            == (other.symbol, other.at_close, other.prices().map(f64::to_bits))
    }
}
