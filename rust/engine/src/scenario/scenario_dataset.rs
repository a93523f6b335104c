use crate::error::DataError;
use crate::market::dataset::Dataset;
use crate::scenario::key::Key;
use crate::scenario::spec::{Family, ScenarioSpec, SpecError};
use crate::scenario::{generator, martingale};

impl ScenarioSpec {
    /// Returns the market of this spec and a key.
    ///
    /// The same spec, version and key give the same bits on every machine.
    ///
    /// # Errors
    ///
    /// Returns an error if the spec is invalid, or if prices leave the range of a dataset.
    pub fn dataset(&self, key: &Key) -> Result<Dataset, ScenarioError> {
        self.validate()?;
        let grids =
            if self.family == Family::Martingale { martingale::grids(self, key) } else { generator::grids(self, key) };
        Ok(Dataset::drawn(self.n_days, self.n_symbols, grids)?)
    }
}

/// A scenario that cannot be generated.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum ScenarioError {
    /// The spec is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A price is outside the range of a dataset.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl ScenarioError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Spec(error) => error.slug(),
            Self::Data(error) => error.slug(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specs of all names in a few sizes, with as many events as the family has.
    fn busy() -> Vec<ScenarioSpec> {
        let sizes = [(1, 2), (3, 129), (8, 128), (9, 700), (20, 300)];
        let specs = ScenarioSpec::NAMES.map(|name| ScenarioSpec::named(name).unwrap());
        let sized =
            |spec: ScenarioSpec| sizes.map(|(n_symbols, n_days)| ScenarioSpec { n_symbols, n_days, ..spec.clone() });
        let busier = |spec: ScenarioSpec| match spec.family {
            Family::Martingale => spec,
            _ => ScenarioSpec { late_listings: 0.5, delisting_rate: 1.0, halt_rate: 20.0, split_above: 60.0, ..spec },
        };
        specs.into_iter().flat_map(sized).flat_map(|spec| [spec.clone(), busier(spec)]).collect()
    }

    #[test]
    fn a_drawn_market_is_the_one_of_its_columns() {
        for (seed, spec) in busy().into_iter().enumerate() {
            let drawn = spec.dataset(&Key::from_seed("test", seed as u64)).unwrap();
            let read = Dataset::new(drawn.columns()).unwrap();
            assert_eq!(drawn.fingerprint(), read.fingerprint(), "{spec:?}");
            assert_eq!(format!("{:?}", drawn.fill_prices(1)), format!("{:?}", read.fill_prices(1)));
            assert_eq!((drawn.is_whole(), drawn.all_live()), (read.is_whole(), read.all_live()));
            for bar in 1..drawn.n_bars() {
                for i in 0..drawn.n_symbols() {
                    let price = crate::vector::lane_sums::get(drawn.fill_prices(bar), i);
                    let closes = drawn.close_of(bar, i).is_finite() && !drawn.is_masked(bar, i);
                    assert_eq!(price.is_finite(), closes && drawn.reference_price(bar, i).is_finite(), "{bar} {i}");
                }
            }
        }
    }

    #[test]
    fn a_market_out_of_range_is_refused_as_its_columns_are() {
        let hard = ScenarioSpec::named("hard").unwrap();
        let rich = ScenarioSpec { market_vol: 2.0, risk_price: 20.0, n_days: 5000, ..hard.clone() };
        let poor = ScenarioSpec { has_bars: false, market_vol: 2.0, risk_price: -20.0, ..hard };
        for (spec, message_part) in [
            (rich.clone(), "`splits` at row "),
            (ScenarioSpec { split_above: 0.0, ..rich }, "must be between 1e-15 and 1e15 (NaN for no price)"),
            (poor, "must be below the previous close"),
        ] {
            let error = spec.dataset(&Key::from_seed("test", 1)).map(drop).unwrap_err().to_string();
            assert!(error.contains(message_part), "{error}");
        }
    }
}
