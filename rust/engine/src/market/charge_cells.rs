use crate::market::charges::Charge;
use crate::market::dataset::Dataset;

impl Dataset {
    /// Returns whether the dataset has a column of charges.
    #[must_use]
    #[inline]
    pub fn has_charge(&self, charge: Charge) -> bool {
        self.tables.charges.table(charge).is_some()
    }

    /// Returns whether the dataset has charges by symbol.
    #[inline]
    pub(crate) fn has_charges(&self) -> bool {
        !self.tables.charges.is_empty()
    }

    /// Returns the highest number of a column, if it has one.
    pub(crate) fn highest_charge(&self, charge: Charge) -> Option<f64> {
        let table = self.tables.charges.table(charge)?;
        table.blocks().as_flattened().iter().copied().filter(|value| !value.is_nan()).max_by(f64::total_cmp)
    }

    /// Returns the ratio of a split of a symbol in a bar, 1 without one.
    #[must_use]
    pub fn split_of(&self, bar: usize, symbol: usize) -> f64 {
        self.split(bar, symbol)
    }

    /// Returns the charge of a symbol in a bar, if it has one.
    #[inline]
    pub(crate) fn charge(&self, charge: Charge, bar: usize, symbol: usize) -> Option<f64> {
        self.tables.charges.table(charge).map(|table| table.get(bar, symbol)).filter(|value| !value.is_nan())
    }
}
