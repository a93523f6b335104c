//! The columns of a market while its days are written.

use crate::columns::Columns;
use crate::date;
use crate::scenario::DAYS_A_YEAR;
use crate::scenario::spec::ScenarioSpec;

/// The columns of a market; those that it has not stay empty.
pub(super) struct Tables {
    pub(super) close: Vec<f64>,
    pub(super) open: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) volume: Vec<f64>,
    pub(super) dividends: Vec<f64>,
    pub(super) splits: Vec<f64>,
    pub(super) delistings: Vec<f64>,
    pub(super) tradable: Vec<bool>,
}

impl Tables {
    /// Returns tables in which nothing has happened.
    pub(super) fn new(spec: &ScenarioSpec) -> Self {
        let cells = spec.n_symbols * spec.n_days;
        let table = |is_kept: bool, value: f64| if is_kept { vec![value; cells] } else { Vec::new() };
        let (bars, nothing) = (spec.has_bars, f64::NAN);
        Self {
            close: table(true, nothing),
            open: table(bars, nothing),
            high: table(bars, nothing),
            low: table(bars, nothing),
            volume: table(bars, nothing),
            dividends: table(spec.dividend_yield > 0.0, 0.0),
            splits: table(spec.split_above > 0.0, 1.0),
            delistings: table(spec.delisting_rate > 0.0, nothing),
            tradable: if spec.halt_rate > 0.0 { vec![true; cells] } else { Vec::new() },
        }
    }

    /// Returns them as the columns of a dataset.
    pub(super) fn into_columns(self, spec: &ScenarioSpec) -> Columns {
        fn some<T>(table: Vec<T>) -> Option<Vec<T>> {
            (!table.is_empty()).then_some(table)
        }
        Columns {
            dates: date::weekdays(spec.n_days),
            symbols: (0..spec.n_symbols).map(|i| format!("S{i:03}")).collect(),
            close: self.close,
            open: some(self.open),
            high: some(self.high),
            low: some(self.low),
            volume: some(self.volume),
            dividends: some(self.dividends),
            splits: some(self.splits),
            delistings: some(self.delistings),
            tradable: some(self.tradable),
            periods_per_year: DAYS_A_YEAR,
            ..Columns::default()
        }
    }
}
