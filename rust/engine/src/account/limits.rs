use crate::error::ConfigError;

/// Limits on a decision; a limit cuts an order and never forces one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest |weight| of one symbol.
    pub max_weight: f64,
    /// Largest sum of |weight|.
    pub max_gross: f64,
    /// Whether weights below zero are accepted.
    pub allow_short: bool,
    /// Largest share of the volume of a bar that one order may take.
    ///
    /// A share of NAV in a market without volume.
    pub max_participation: Option<f64>,
    /// NAV as a fraction of gross exposure below which the account is liquidated.
    pub maintenance_margin: f64,
    /// Whether purchases are cut at the fill to the cash of the account.
    pub cash_account: bool,
}

impl Default for Limits {
    /// Returns limits without leverage: losses end at 0 except for gaps against shorts.
    fn default() -> Self {
        Self {
            max_weight: 1.0,
            max_gross: 1.0,
            allow_short: true,
            max_participation: None,
            maintenance_margin: 0.0,
            cash_account: false,
        }
    }
}

impl Limits {
    /// Returns limits that never cut an order.
    #[must_use]
    pub const fn off() -> Self {
        Self {
            max_weight: f64::INFINITY,
            max_gross: f64::INFINITY,
            allow_short: true,
            max_participation: None,
            maintenance_margin: 0.0,
            cash_account: false,
        }
    }

    /// Returns the lowest weight that is accepted.
    pub(crate) fn lowest_weight(&self) -> f64 {
        if self.allow_short { f64::NEG_INFINITY } else { 0.0 }
    }

    /// Checks every field against its range.
    ///
    /// # Errors
    ///
    /// Returns the first field that is out of range, with the value received.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fields = [
            ("max_weight", self.max_weight, self.max_weight >= 0.0, "at least 0 (infinite for none)"),
            ("max_gross", self.max_gross, self.max_gross >= 0.0, "at least 0 (infinite for none)"),
            (
                "max_participation",
                self.max_participation.unwrap_or(0.0),
                self.max_participation.is_none_or(|p| p >= 0.0),
                "at least 0, or none",
            ),
            ("maintenance_margin", self.maintenance_margin, (0.0..1.0).contains(&self.maintenance_margin), "in [0, 1)"),
        ];
        for (name, value, holds, range) in fields {
            if !holds {
                return Err(ConfigError::Limit { name, range, value });
            }
        }
        if self.cash_account && self.allow_short {
            return Err(ConfigError::CashAccount);
        }
        Ok(())
    }
}
