//! Costs by symbol and bar, and funding (section 1.10 of the contract).

use crate::market::columns::Columns;
use crate::market::grid::Grid;

/// A column of charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Half-spread in bps, in place of the slippage of the cost model.
    HalfSpread,
    /// Commission in bps, in place of that of the cost model.
    Fee,
    /// Annual borrow fee in bps, in place of that of the cost model.
    Borrow,
    /// Rate of the bar that longs pay and shorts receive.
    Funding,
}

impl Charge {
    /// All columns, in the order of the fingerprint.
    pub const ALL: [Self; 4] = [Self::HalfSpread, Self::Fee, Self::Borrow, Self::Funding];

    /// Returns the name of the column.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HalfSpread => "half_spread_bps",
            Self::Fee => "fee_bps",
            Self::Borrow => "borrow_bps",
            Self::Funding => "funding",
        }
    }

    /// Returns the range of its numbers, and the range in words.
    pub(super) fn range(self) -> (std::ops::RangeInclusive<f64>, &'static str) {
        match self {
            Self::HalfSpread => (0.0..=9999.0, "between 0 and 9999 (NaN for the slippage of the cost model)"),
            Self::Fee => (0.0..=1e6, "between 0 and 1e6 (NaN for the fee of the cost model)"),
            Self::Borrow => (0.0..=1e6, "between 0 and 1e6 (NaN for the borrow fee of the cost model)"),
            Self::Funding => (-1.0..=1.0, "between -1 and 1 (NaN for none)"),
        }
    }

    /// Returns the slug of a number outside its range.
    pub(super) fn slug(self) -> &'static str {
        if self == Self::Funding { "funding_invalid" } else { "value_invalid" }
    }
}

/// Tables of charges, NaN where a symbol has none; in the order of [`Charge::ALL`].
#[derive(Debug, Default)]
pub(crate) struct ChargeTables {
    tables: [Option<Grid>; 4],
    /// Whether there is one; every step reads it.
    has_any: bool,
}

impl ChargeTables {
    /// Returns the tables of columns and leaves the columns empty.
    pub(crate) fn from_columns(columns: &mut Columns) -> Self {
        let n_symbols = columns.symbols.len();
        let tables = columns.charges.each_mut().map(|column| {
            let table = column.take()?;
            Some(Grid::from_rows(table, n_symbols, f64::NAN))
        });
        Self { has_any: tables.iter().any(Option::is_some), tables }
    }

    #[inline]
    pub(crate) fn table(&self, charge: Charge) -> Option<&Grid> {
        self.tables[charge as usize].as_ref()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.has_any
    }
}
