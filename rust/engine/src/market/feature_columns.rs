//! Features: named numbers of a user that agents observe beside prices.

use std::collections::BTreeSet;

use crate::error::DataError;
use crate::market::columns::Columns;
use crate::market::dataset::Dataset;

/// What a feature has one value per bar of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeatureScope {
    /// Each symbol.
    #[default]
    Symbol,
    /// The market.
    Market,
}

impl FeatureScope {
    /// The names of the scopes.
    pub const NAMES: [&'static str; 2] = ["symbol", "market"];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns a scope by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Symbol, Self::Market].into_iter().find(|scope| scope.name() == name)
    }
}

/// A feature: a number per bar that is known at the close of the bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feature {
    /// Name, unique in the dataset.
    pub name: String,
    /// Whether each symbol or the market has a value.
    pub scope: FeatureScope,
    /// One value per bar and symbol, bar after bar; one per bar if the scope is the market.
    ///
    /// Finite wherever the symbol is listed. Other values are not kept.
    pub values: Vec<f64>,
}

/// Names that a feature cannot have: the columns of prices.
pub(crate) const RESERVED: [&str; 10] =
    ["open", "high", "low", "close", "volume", "dividends", "splits", "tradable", "delistings", "risk_free"];

/// Checks the names and the numbers of values of all features.
pub(crate) fn check(columns: &Columns) -> Result<(), DataError> {
    let (n_bars, n_symbols) = (columns.dates.len(), columns.symbols.len());
    let mut names = BTreeSet::new();
    for feature in &columns.features {
        let name = &feature.name;
        if name.is_empty() || name.trim() != name || name.chars().any(char::is_control) {
            let wanted = "the name of a feature must be text without control characters or spaces around it";
            return Err(DataError::new("value_invalid", format!("{wanted}; received {name:?}")));
        }
        if RESERVED.contains(&name.as_str()) || !names.insert(name) {
            let wanted = "the name of a feature must be unique and no column of prices";
            return Err(DataError::new("value_invalid", format!("{wanted}; received {name:?}")));
        }
        let expected = if feature.scope == FeatureScope::Symbol { n_bars * n_symbols } else { n_bars };
        if feature.values.len() != expected {
            let message = format!(
                "feature {name:?} must have {expected} values for {n_bars} bars and {n_symbols} symbols; received {}",
                feature.values.len()
            );
            return Err(DataError::new("shape_mismatch", message));
        }
    }
    Ok(())
}

impl Dataset {
    /// Returns the features, in the order of the dataset.
    #[must_use]
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Checks the values of features and keeps those of listed symbols.
    pub(super) fn keep_features(&mut self, features: Vec<Feature>) -> Result<(), DataError> {
        let n_symbols = self.n_symbols();
        for mut feature in features {
            let width = if feature.scope == FeatureScope::Symbol { n_symbols } else { 1 };
            for (cell, value) in feature.values.iter_mut().enumerate() {
                let (bar, symbol) = (cell / width, cell % width);
                let is_listed = self.listed_at[symbol] <= bar && bar < self.settled_at[symbol];
                if feature.scope == FeatureScope::Symbol && !is_listed {
                    *value = f64::NAN;
                } else if !value.is_finite() {
                    let date = &self.dates[bar];
                    let place = match feature.scope {
                        FeatureScope::Symbol => format!("at row {bar} ({date}), column {:?}", self.symbols[symbol]),
                        FeatureScope::Market => format!("at row {bar} ({date})"),
                    };
                    let message =
                        format!("feature {:?} {place} must be a finite number; received {value}", feature.name);
                    let hint = "hint: state a rule for missing values, such as missing=\"forward\" or missing=0.0";
                    return Err(DataError::new("value_invalid", format!("{message}; {hint}")));
                }
            }
            self.features.push(feature);
        }
        Ok(())
    }
}
