//! The default tiers of [`ScenarioSpec`].
//!
//! Fitted to stylized facts of real markets in `python/openoutcry/audits/realism/bands.json`.

use super::spec::{Family, Jumps, ScenarioSpec, Swing};

impl ScenarioSpec {
    /// Large companies, all days.
    pub(super) fn hard() -> Self {
        Self {
            family: Family::Factor,
            n_symbols: 20,
            n_days: 2521,
            n_sectors: 5,
            market_vol: 0.139,
            sector_vol: 0.124,
            own_vol: 0.184,
            own_vol_spread: 0.25,
            beta_spread: 0.3,
            risk_price: 4.0,
            swings: [Swing::new(5.0, 0.214), Swing::new(80.0, 0.412)],
            own_swings: [Swing::new(5.0, 0.319), Swing::new(80.0, 0.211)],
            leverage: -0.509,
            degrees: 12,
            own_degrees: 8,
            market_jumps: Jumps::new(0.668, -3.0, 1.5),
            own_jumps: Jumps::new(1.616, -0.5, 3.752),
            overnight: 0.25,
            has_bars: true,
            volume_slope: 0.45,
            volume_reaction: 0.18,
            volume_noise: 0.3,
            dividend_yield: 0.02,
            split_above: 400.0,
            late_listings: 0.1,
            delisting_rate: 0.005,
            halt_rate: 0.1,
            tick: 0.01,
        }
    }

    /// Large companies, quiet years.
    pub(super) fn calm() -> Self {
        Self {
            market_vol: 0.098,
            sector_vol: 0.069,
            own_vol: 0.16,
            risk_price: 6.0,
            swings: [Swing::new(5.0, 0.2), Swing::new(80.0, 0.19)],
            own_swings: [Swing::new(5.0, 0.278), Swing::new(80.0, 0.16)],
            degrees: 6,
            late_listings: 0.0,
            delisting_rate: 0.0,
            halt_rate: 0.0,
            leverage: -0.4,
            own_degrees: 6,
            market_jumps: Jumps::new(0.798, -3.0, 1.5),
            own_jumps: Jumps::new(2.0, -0.5, 3.726),
            ..Self::hard()
        }
    }

    /// Large companies, years of crisis.
    pub(super) fn extreme() -> Self {
        Self {
            market_vol: 0.215,
            sector_vol: 0.19,
            own_vol: 0.22,
            risk_price: 2.6,
            swings: [Swing::new(24.0, 0.44), Swing::new(65.0, 0.12)],
            late_listings: 0.15,
            delisting_rate: 0.015,
            halt_rate: 0.3,
            own_swings: [Swing::new(20.0, 0.34), Swing::new(65.0, 0.66)],
            leverage: -0.55,
            degrees: 20,
            own_degrees: 6,
            market_jumps: Jumps::new(0.155, -3.0, 1.5),
            own_jumps: Jumps::new(1.0, -0.5, 5.0),
            ..Self::hard()
        }
    }

    /// Currencies: closes only, no listings, no dividends.
    pub(super) fn fx() -> Self {
        Self {
            n_symbols: 9,
            n_sectors: 3,
            market_vol: 0.034,
            sector_vol: 0.055,
            own_vol: 0.06,
            risk_price: 0.0,
            leverage: -0.158,
            swings: [Swing::new(5.0, 0.101), Swing::new(80.0, 0.361)],
            own_swings: [Swing::new(5.0, 0.142), Swing::new(80.0, 0.154)],
            market_jumps: Jumps::new(0.407, -2.0, 1.0),
            own_jumps: Jumps::new(0.688, -0.5, 5.654),
            has_bars: false,
            dividend_yield: 0.0,
            split_above: 0.0,
            late_listings: 0.0,
            delisting_rate: 0.0,
            halt_rate: 0.0,
            tick: 0.0001,
            degrees: 14,
            own_degrees: 4,
            ..Self::hard()
        }
    }

    /// Prices with expected change 0, at volatilities of large companies.
    ///
    /// [`ScenarioSpec::validate`] requires the fields that are 0 here.
    pub(super) fn martingale() -> Self {
        let none = Jumps::new(0.0, 0.0, 0.0);
        Self {
            family: Family::Martingale,
            risk_price: 0.0,
            market_jumps: none,
            own_jumps: none,
            dividend_yield: 0.0,
            split_above: 0.0,
            late_listings: 0.0,
            delisting_rate: 0.0,
            halt_rate: 0.0,
            ..Self::hard()
        }
    }
}
