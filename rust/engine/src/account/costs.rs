use crate::error::ConfigError;

/// Slippage plus impact, as a fraction of the price, at which no order is filled.
pub(crate) const MAX_COST: f64 = 0.5;

/// The cost model: fees, slippage, impact and annual rates.
///
/// All `*_bps` are basis points: of traded notional for fee, slippage and impact, per year for the three rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// Commission on slipped notional.
    pub fee_bps: f64,
    /// Half-spread: the distance of a fill from the reference price.
    pub slippage_bps: f64,
    /// Noise of the slippage as a fraction of the slippage, in [0, 1].
    pub slippage_jitter: f64,
    /// Square-root impact at 100 % participation: Y times the daily volatility.
    pub impact_bps: f64,
    /// Share of the way from a stop to the extreme of the bar, in [0, 1].
    ///
    /// A stop inside the bar fills late by it.
    ///
    /// At 0 a stop inside the bar fills at its own price, which no price path with jumps allows.
    pub stop_gap: f64,
    /// Rate paid on borrowed cash.
    pub financing_bps: f64,
    /// Rate earned on idle cash; may be negative.
    pub cash_bps: f64,
    /// Rate paid on the value of shorts.
    pub borrow_bps: f64,
    /// Account currency at NAV 1; converts NAV into a share of volume.
    pub capital: f64,
}

impl Default for CostModel {
    /// Returns the costs of a liquid daily market.
    ///
    /// 1 bp of commission and 2 bp of half-spread (large caps pay 1 to 5). No jitter, and no impact, which needs a
    /// volatility as its scale. Leverage costs 100 bp a year over the cash rate, cash earns nothing, and shorts pay the
    /// 25 bp a year of general collateral (D'Avolio 2002).
    fn default() -> Self {
        Self { fee_bps: 1.0, slippage_bps: 2.0, financing_bps: 100.0, borrow_bps: 25.0, ..Self::zero() }
    }
}

impl CostModel {
    /// Returns a cost model without costs.
    #[must_use]
    pub const fn zero() -> Self {
        Self {
            fee_bps: 0.0,
            slippage_bps: 0.0,
            slippage_jitter: 0.0,
            impact_bps: 0.0,
            stop_gap: 0.0,
            financing_bps: 0.0,
            cash_bps: 0.0,
            borrow_bps: 0.0,
            capital: 1e6,
        }
    }

    /// Checks every field against its range.
    ///
    /// # Errors
    ///
    /// Returns the first field that is out of range, with the value received.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const NOT_NEGATIVE: &str = "a finite number of at least 0 and at most 1e6";
        let fields = [
            ("fee_bps", self.fee_bps, 0.0, 1e6, NOT_NEGATIVE),
            // At 10,000 bp the seller in a liquidation would pay the whole price.
            ("slippage_bps", self.slippage_bps, 0.0, 9999.0, "a finite number of at least 0 and at most 9999"),
            ("slippage_jitter", self.slippage_jitter, 0.0, 1.0, "in [0, 1]"),
            ("impact_bps", self.impact_bps, 0.0, 1e6, NOT_NEGATIVE),
            ("stop_gap", self.stop_gap, 0.0, 1.0, "in [0, 1]"),
            ("financing_bps", self.financing_bps, 0.0, 1e6, NOT_NEGATIVE),
            ("cash_bps", self.cash_bps, -1e6, 1e6, "a finite number of at least -1e6 and at most 1e6"),
            ("borrow_bps", self.borrow_bps, 0.0, 1e6, NOT_NEGATIVE),
            ("capital", self.capital, 1e-6, 1e18, "a finite number of at least 1e-6 and at most 1e18"),
        ];
        for (name, value, low, high, range) in fields {
            if !(low..=high).contains(&value) {
                return Err(ConfigError::Cost { name, range, value });
            }
        }
        Ok(())
    }
}

/// Costs of one decision by kind, in units of NAV; none is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCosts {
    /// Commission.
    pub fee: f64,
    /// Half-spread, jitter included.
    pub slippage: f64,
    /// Market impact.
    pub impact: f64,
    /// Interest on borrowed cash.
    pub financing: f64,
    /// Borrow fee of shorted shares.
    pub borrow: f64,
    /// Slippage and commission of a liquidation.
    pub liquidation: f64,
}

impl StepCosts {
    /// Costs that were not computed.
    pub(crate) const NOT_COMPUTED: Self = Self {
        fee: f64::NAN,
        slippage: f64::NAN,
        impact: f64::NAN,
        financing: f64::NAN,
        borrow: f64::NAN,
        liquidation: f64::NAN,
    };

    /// The kinds, in the order of [`StepCosts::by_kind`].
    pub const KINDS: [&'static str; 6] = ["fee", "slippage", "impact", "financing", "borrow", "liquidation"];

    /// Returns the costs in the order of [`StepCosts::KINDS`].
    #[must_use]
    pub fn by_kind(&self) -> [f64; 6] {
        [self.fee, self.slippage, self.impact, self.financing, self.borrow, self.liquidation]
    }

    /// Returns the sum over kinds.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.by_kind().iter().sum()
    }
}
