//! Features of a dataset: checked values as known at the close of each bar.

use crate::error::DataError;
use crate::market::columns::{Feature, FeatureScope};
use crate::market::dataset::Dataset;

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
                    let date = self.dates.get(bar);
                    let place = match feature.scope {
                        FeatureScope::Symbol => format!("at row {bar} ({date}), column {:?}", self.symbols[symbol]),
                        FeatureScope::Market => format!("at row {bar} ({date})"),
                    };
                    let message =
                        format!("feature {:?} {place} must be a finite number; received {value}", feature.name);
                    let hint = "hint: state a rule for missing values: missing=\"forward\" or missing=0.0; of a file, features={\"NAME\": \"forward\"}";
                    return Err(DataError::new("value_invalid", format!("{message}; {hint}")));
                }
            }
            self.features.push(feature);
        }
        Ok(())
    }
}
