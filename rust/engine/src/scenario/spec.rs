use thiserror::Error;

/// Trading days per year.
pub(super) const DAYS_A_YEAR: f64 = 252.0;

/// The price process of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Market, sector and idiosyncratic factors with stochastic volatility.
    Factor,
    /// Factor, with every second symbol cointegrated with the symbol before it.
    Pairs,
    /// Factor, with permanent changes of volatility and drift at random times.
    RegimeShift,
    /// Factor, with a crash of all symbols.
    Crisis,
    /// Martingale prices: the expected change is 0, so expected profit is 0.
    Martingale,
}

impl Family {
    /// The families and their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("factor", Self::Factor),
        ("pairs", Self::Pairs),
        ("regime-shift", Self::RegimeShift),
        ("crisis", Self::Crisis),
        ("martingale", Self::Martingale),
    ];
}

/// A mean-reverting factor of log volatility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Half-life in days.
    pub half_life: f64,
    /// Standard deviation of the log volatility.
    pub sd: f64,
}

impl Swing {
    pub(super) const fn new(half_life: f64, sd: f64) -> Self {
        Self { half_life, sd }
    }
}

/// Overnight jumps, in standard deviations of the day.
///
/// Every day is offset by their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jumps {
    /// Jumps per year.
    pub rate: f64,
    /// Mean of a jump.
    pub mean: f64,
    /// Standard deviation of a jump.
    pub sd: f64,
}

impl Jumps {
    pub(super) const fn new(rate: f64, mean: f64, sd: f64) -> Self {
        Self { rate, mean, sd }
    }
}

/// Specification of a synthetic market; a key selects one market of it.
///
/// Volatilities, rates and yields are annual.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioSpec {
    /// Price process.
    pub family: Family,
    /// Symbols, 1 to 4,096.
    pub n_symbols: usize,
    /// Days, 2 to 100,000.
    pub n_days: usize,
    /// Sectors; symbol i is in sector i mod `n_sectors`.
    pub n_sectors: usize,
    /// Volatility of the market factor.
    pub market_vol: f64,
    /// Volatility of a sector factor.
    pub sector_vol: f64,
    /// Median idiosyncratic volatility.
    pub own_vol: f64,
    /// Standard deviation of the log of idiosyncratic volatilities across symbols.
    pub own_vol_spread: f64,
    /// Half-width of the uniform spread of betas around 1.
    pub beta_spread: f64,
    /// Expected return of the market per unit of variance, day by day.
    pub risk_price: f64,
    /// Fast and slow factors of the common log volatility.
    pub swings: [Swing; 2],
    /// Fast and slow factors of the log volatility of one symbol, in addition.
    pub own_swings: [Swing; 2],
    /// Correlation of returns with changes of log volatility, -1 to 1.
    pub leverage: f64,
    /// Even degrees of freedom of the Student t of market and sectors, at least 4.
    pub degrees: u32,
    /// Even degrees of freedom of idiosyncratic returns, at least 4.
    pub own_degrees: u32,
    /// Jumps of the market.
    pub market_jumps: Jumps,
    /// Jumps of a single symbol.
    pub own_jumps: Jumps,
    /// Share of the variance of a day between close and open.
    pub overnight: f64,
    /// Whether the market has opens, highs, lows and volumes.
    pub has_bars: bool,
    /// Slope of log volume on log volatility.
    pub volume_slope: f64,
    /// Slope of log volume on the absolute return of the day in standard deviations.
    pub volume_reaction: f64,
    /// Standard deviation of log volume around that, with a half-life of ten days.
    pub volume_noise: f64,
    /// Dividend yield of the six in ten symbols that pay, each quarter.
    pub dividend_yield: f64,
    /// Price from which a share is split in two; 0 for never.
    pub split_above: f64,
    /// Share of symbols listed after the first day.
    pub late_listings: f64,
    /// Delistings per symbol and year.
    pub delisting_rate: f64,
    /// Halts per symbol and year, each of three days on average.
    pub halt_rate: f64,
    /// Smallest price increment.
    pub tick: f64,
}

/// Numeric fields that the family `martingale` does not use.
const UNREAD_IN_MARTINGALE: [&str; 15] = [
    "risk_price",
    "market_jumps.rate",
    "market_jumps.mean",
    "market_jumps.sd",
    "own_jumps.rate",
    "own_jumps.mean",
    "own_jumps.sd",
    "volume_slope",
    "volume_reaction",
    "volume_noise",
    "dividend_yield",
    "split_above",
    "late_listings",
    "delisting_rate",
    "halt_rate",
];

/// Fields that a market of closes only does not use.
const UNREAD_WITHOUT_BARS: [&str; 3] = ["volume_slope", "volume_reaction", "volume_noise"];

/// A spec that is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("`{name}` must be {range}; received {value}")]
pub struct SpecError {
    /// Name of the field.
    pub name: &'static str,
    /// Required range.
    pub range: String,
    /// Received value.
    pub value: String,
}

impl SpecError {
    fn new(name: &'static str, range: &str, value: &impl ToString) -> Self {
        Self { name, range: range.to_owned(), value: value.to_string() }
    }

    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        "argument_invalid"
    }
}

impl ScenarioSpec {
    /// The version of the meaning of a spec.
    ///
    /// The same spec, version and key give the same bits.
    pub const VERSION: u32 = 1;

    /// The names of the tiers and families of [`ScenarioSpec::named`].
    pub const NAMES: [&'static str; 8] =
        ["calm", "hard", "extreme", "fx", "pairs", "regime-shift", "crisis", "martingale"];

    /// Returns the spec of a tier or family by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let hard = Self::hard();
        Some(match name {
            "calm" => Self::calm(),
            "hard" => hard,
            "extreme" => Self::extreme(),
            "fx" => Self::fx(),
            "pairs" => Self { family: Family::Pairs, ..hard },
            "regime-shift" => Self { family: Family::RegimeShift, ..hard },
            "crisis" => Self { family: Family::Crisis, ..hard },
            "martingale" => Self::martingale(),
            _ => return None,
        })
    }

    /// Checks every field.
    ///
    /// # Errors
    ///
    /// Returns the first field that is out of range.
    pub fn validate(&self) -> Result<(), SpecError> {
        let whole = [
            ("n_symbols", "1 to 4096", self.n_symbols, 1..=4096),
            ("n_days", "2 to 100000", self.n_days, 2..=100_000),
            ("n_sectors", "1 to 256", self.n_sectors, 1..=256),
        ];
        for (name, range, value, allowed) in whole {
            if !allowed.contains(&value) {
                return Err(SpecError::new(name, range, &value));
            }
        }
        for (name, degrees) in [("degrees", self.degrees), ("own_degrees", self.own_degrees)] {
            if !degrees.is_multiple_of(2) || !(4..=64).contains(&degrees) {
                return Err(SpecError::new(name, "even, 4 to 64", &degrees));
            }
        }
        for (name, range, value, low, high) in self.numbers() {
            // NaN is in no range.
            if !(low..=high).contains(&value) {
                return Err(SpecError::new(name, range, &value));
            }
        }
        // Prices are whole numbers of ticks over a whole number, without rounding errors.
        if (libm::round(1.0 / self.tick) * self.tick - 1.0).abs() > 1e-9 {
            return Err(SpecError::new("tick", "the reciprocal of an integer", &self.tick));
        }
        self.check_unread()
    }

    /// Checks that no field is set that the market does not use.
    fn check_unread(&self) -> Result<(), SpecError> {
        let (unread, as_in, place) = if self.family == Family::Martingale {
            if !self.has_bars {
                return Err(SpecError::new("has_bars", "true in the family `martingale`", &self.has_bars));
            }
            (&UNREAD_IN_MARTINGALE[..], Self::martingale(), "in the family `martingale`")
        } else if self.has_bars {
            return Ok(());
        } else {
            (&UNREAD_WITHOUT_BARS[..], Self::hard(), "if `has_bars` is false")
        };
        let fields = self.numbers().into_iter().zip(as_in.numbers());
        for ((name, _, value, ..), (_, _, wanted, ..)) in fields.filter(|(field, _)| unread.contains(&field.0)) {
            if value != wanted {
                return Err(SpecError::new(name, &format!("{wanted} {place} (the field is unused)"), &value));
            }
        }
        Ok(())
    }

    /// Returns the numeric fields with their ranges.
    fn numbers(&self) -> Vec<(&'static str, &'static str, f64, f64, f64)> {
        let share = |name, value| (name, "0 to 1", value, 0.0, 1.0);
        let vol = |name, value| (name, "0 to 2", value, 0.0, 2.0);
        let half_life = |name, value| (name, "0.5 to 5000", value, 0.5, 5000.0);
        let rate = |name, value| (name, "0 to 252", value, 0.0, 252.0);
        let size = |name, value| (name, "-20 to 20", value, -20.0, 20.0);
        let [fast, slow] = self.swings;
        let [own_fast, own_slow] = self.own_swings;
        let (jumps, own_jumps) = (self.market_jumps, self.own_jumps);
        vec![
            vol("market_vol", self.market_vol),
            vol("sector_vol", self.sector_vol),
            vol("own_vol", self.own_vol),
            vol("own_vol_spread", self.own_vol_spread),
            share("beta_spread", self.beta_spread),
            size("risk_price", self.risk_price),
            half_life("swings[0].half_life", fast.half_life),
            vol("swings[0].sd", fast.sd),
            half_life("swings[1].half_life", slow.half_life),
            vol("swings[1].sd", slow.sd),
            half_life("own_swings[0].half_life", own_fast.half_life),
            vol("own_swings[0].sd", own_fast.sd),
            half_life("own_swings[1].half_life", own_slow.half_life),
            vol("own_swings[1].sd", own_slow.sd),
            ("leverage", "-1 to 1", self.leverage, -1.0, 1.0),
            rate("market_jumps.rate", jumps.rate),
            size("market_jumps.mean", jumps.mean),
            size("market_jumps.sd", jumps.sd),
            rate("own_jumps.rate", own_jumps.rate),
            size("own_jumps.mean", own_jumps.mean),
            size("own_jumps.sd", own_jumps.sd),
            share("overnight", self.overnight),
            vol("volume_slope", self.volume_slope),
            vol("volume_reaction", self.volume_reaction),
            vol("volume_noise", self.volume_noise),
            ("dividend_yield", "0 to 0.5", self.dividend_yield, 0.0, 0.5),
            ("split_above", "0 to 1e6", self.split_above, 0.0, 1e6),
            share("late_listings", self.late_listings),
            ("delisting_rate", "0 to 12", self.delisting_rate, 0.0, 12.0),
            ("halt_rate", "0 to 50", self.halt_rate, 0.0, 50.0),
            ("tick", "1e-6 to 1", self.tick, 1e-6, 1.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_family_does_not_read_is_refused() {
        let martingale = ScenarioSpec::martingale();
        let named: Vec<&str> = martingale.numbers().iter().map(|number| number.0).collect();
        assert!(UNREAD_IN_MARTINGALE.iter().chain(&UNREAD_WITHOUT_BARS).all(|name| named.contains(name)));
        let jumps = Jumps::new(0.0, 0.0, 0.1);
        let fx = ScenarioSpec::fx();
        for (spec, message_part) in [
            (ScenarioSpec { own_jumps: jumps, ..martingale.clone() }, "`own_jumps.sd` must be 0 in the family"),
            (ScenarioSpec { has_bars: false, ..martingale.clone() }, "`has_bars` must be true in the family"),
            (ScenarioSpec { volume_noise: 0.0, ..martingale.clone() }, "`volume_noise` must be 0.3 in the family"),
            (ScenarioSpec { volume_slope: 0.0, ..fx.clone() }, "`volume_slope` must be 0.45 if `has_bars` is false"),
        ] {
            let error = spec.validate().unwrap_err();
            assert!(error.to_string().starts_with(message_part), "{error}");
            assert_eq!(error.slug(), "argument_invalid");
        }
        for spec in [martingale, fx.clone(), ScenarioSpec { has_bars: true, volume_slope: 0.0, ..fx }] {
            assert_eq!(spec.validate(), Ok(()));
        }
    }
}
