//! Checks of users' markets for values that are valid but mistaken, and notices.
//!
//! [`Dataset::new`] accepts every valid number: records, snapshots and the wire hold what they hold.

use crate::error::DataError;
use crate::market::bar_counts::bar_count_notices;
use crate::market::bar_fields::fields_of_symbol;
use crate::market::bar_frequency::inferred_periods_per_year;
use crate::market::columns::Columns;
use crate::market::csv_reader;
use crate::market::dataset::Dataset;
use crate::market::empty_cells::drop_empty;
use crate::market::open_basis::open_basis_fault;
use crate::market::price_jumps::price_jumps;
use crate::market::range_checks::check_ranges;
use crate::market::shown_numbers::significant;
use crate::market::silent_volume::drop_silent_volume;
use crate::market::split_checks::{check_splits, hidden_split};

/// A stated number of bars per year may differ from the dates by this factor.
const TOLERANCE: f64 = 1.5;
const MOST_NAMES: usize = 3;
const OPEN_BASIS_HINT: &str = "hint: adjust opens, highs and lows as the closes are, or leave their columns out";

/// Bars per year as a user states them.
#[derive(Clone, Copy, Debug)]
pub struct StatedPeriods<'a> {
    /// The number; inferred from the dates if it is absent.
    pub value: Option<f64>,
    /// Name of the option that states it.
    pub option: &'a str,
}

impl Dataset {
    /// Returns the market of a user's CSV text, and notices about it.
    ///
    /// The forms are those of [`Dataset::from_csv`]. A volume that is 0 on every bar of a symbol is taken for unknown.
    /// Dates without a close and columns without a value are left out, and times that are all midnight are days.
    ///
    /// # Errors
    ///
    /// Returns the first fault with its place, a split that does not show in the closes, or mistaken columns of prices.
    pub fn from_user_csv(text: &str, stated: StatedPeriods<'_>) -> Result<(Self, Vec<String>), DataError> {
        let mut columns = csv_reader::parse(text)?;
        check_names(&columns)?;
        columns.periods_per_year = stated.value.unwrap_or(f64::NAN);
        let left_out = drop_empty(&mut columns)?;
        let silent = drop_silent_volume(&mut columns);
        let market = Self::with_periods_per_year(columns, stated.value)?;
        let mut notices: Vec<String> = left_out.into_iter().chain(check_splits(&market)?).chain(silent).collect();
        notices.extend(check_ranges(&market)?);
        if let Some(fault) = market.open_basis_fault() {
            return Err(DataError::new("value_invalid", format!("{fault}; {OPEN_BASIS_HINT}")));
        }
        notices.extend(market.price_jump_notices());
        notices.extend(market.never_closing_notice());
        notices.extend(market.periods_notices(stated));
        Ok((market, notices))
    }

    /// Returns the market of a user's columns, and notices about it.
    ///
    /// Every value is kept: a bar of volume 0 cannot be traded, and a split is applied.
    ///
    /// # Errors
    ///
    /// Returns the first fault, as [`Dataset::new`] does.
    pub fn from_user_columns(columns: Columns, stated: StatedPeriods<'_>) -> Result<(Self, Vec<String>), DataError> {
        let market = Self::with_periods_per_year(columns, stated.value)?;
        let mut notices: Vec<String> = market.periods_notices(stated);
        let hint = "hint: leave out `splits` if the prices are adjusted already";
        notices.extend(
            hidden_split(&market)
                .map(|split| format!("the split {split} does not show in the close, and is applied; {hint}")),
        );
        notices.extend(market.open_basis_fault().map(|fault| format!("{fault}; {OPEN_BASIS_HINT}")));
        notices.extend(market.price_jump_notices());
        notices.extend(market.unfilled_notice());
        Ok((market, notices))
    }

    /// Returns why opens are on another basis than closes, if they are.
    ///
    /// One of them is then adjusted for dividends or splits, and the other is not.
    #[must_use]
    pub fn open_basis_fault(&self) -> Option<String> {
        open_basis_fault(self)
    }

    /// Returns notices of closes and opens that are far from their neighbours.
    #[must_use]
    pub fn price_jump_notices(&self) -> Vec<String> {
        price_jumps(self)
    }

    /// Returns a notice of symbols without any close.
    #[must_use]
    pub fn never_closing_notice(&self) -> Option<String> {
        let is_empty = |symbol: &usize| (0..self.n_bars()).all(|bar| !self.close_of(bar, *symbol).is_finite());
        let names: Vec<String> = (0..self.n_symbols()).filter(is_empty).map(|i| self.symbols[i].clone()).collect();
        let (close, they) = if names.len() == 1 { ("closes", "it") } else { ("close", "they") };
        let shown = names[..names.len().min(MOST_NAMES)].join(", ");
        let rest =
            if names.len() > MOST_NAMES { format!(" and {} more", names.len() - MOST_NAMES) } else { String::new() };
        (!names.is_empty()).then(|| format!("{shown}{rest} never {close}: {they} can never be traded"))
    }

    /// Returns notices if bars per year are unknown or differ from the dates.
    fn periods_notices(&self, StatedPeriods { value, option }: StatedPeriods<'_>) -> Vec<String> {
        let Some(periods) = self.periods_per_year() else {
            return vec![format!(
                "the dates do not show the number of bars per year: annualised numbers are undefined; hint: state `{option}`"
            )];
        };
        let stated = value.is_some();
        match inferred_periods_per_year(self.dates()).filter(|_| stated) {
            Some(inferred) if (inferred / periods).max(periods / inferred) > TOLERANCE => {
                let [periods, inferred] = [periods, inferred].map(|number| significant(number, 6));
                vec![format!("`{option}` {periods} was stated; the dates imply {inferred}")]
            }
            // A larger number within the tolerance shows no missing bars.
            Some(inferred) => bar_count_notices(self.dates(), periods.min(inferred), periods <= inferred),
            None => bar_count_notices(self.dates(), periods, stated),
        }
    }

    /// Returns a notice of symbols with a volume of 0 on every bar.
    fn unfilled_notice(&self) -> Option<String> {
        let is_never = |symbol: &usize| (1..self.n_bars()).all(|bar| self.volume_of(bar, *symbol) == Some(0.0));
        let names: Vec<&str> = (0..self.n_symbols()).filter(is_never).map(|i| self.symbols[i].as_str()).collect();
        let its = if names.len() == 1 { "its" } else { "their" };
        (!names.is_empty()).then(|| format!("{} can never fill: {its} volume is 0 on every bar", names.join(", ")))
    }

    /// Returns the notice of a market without opens.
    #[must_use]
    pub fn fill_notice(&self) -> Option<String> {
        let text = "the data has no opens: orders fill close-to-close, at the close they were decided on";
        (!self.has_opens()).then(|| text.to_owned())
    }
}

/// Refuses a wide text with columns of a symbol and a field.
fn check_names(columns: &Columns) -> Result<(), DataError> {
    // The rows of a long text have cells; its symbols are named as such.
    match fields_of_symbol(&columns.symbols).filter(|_| !columns.origin.is_long()) {
        Some((first, second)) => Err(DataError::new(
            "unknown_column",
            format!(
                "columns must be the closes of symbols; received {first:?} and {second:?}; hint: write rows with the columns `date`, `symbol`, `close` and `open`"
            ),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 40;
    const AT: usize = 20;

    /// Returns a long text of one symbol: a close and the other columns of each bar.
    fn text(header: &str, row: impl Fn(usize) -> String) -> String {
        let rows = crate::market::dates::Dates::weekdays(N)
            .texts(0..N)
            .into_iter()
            .enumerate()
            .map(|(bar, date)| format!("{date},A,{}\n", row(bar)));
        format!("date,symbol,close,{header}\n{}", rows.collect::<Vec<_>>().concat())
    }

    fn close(bar: usize) -> f64 {
        100.0 + (bar * bar % 7) as f64 / 4.0
    }

    fn read(text: &str, value: Option<f64>) -> Result<(Dataset, Vec<String>), DataError> {
        Dataset::from_user_csv(text, StatedPeriods { value, option: "periods" })
    }

    fn refused(text: &str) -> String {
        let error = read(text, None).expect_err("must be refused");
        assert_eq!(error.slug(), "value_invalid");
        error.to_string()
    }

    fn split(ratio: f64, shown: f64) -> String {
        let ratio_of = move |bar| if bar == AT { ratio } else { 1.0 };
        text("split", |bar| format!("{},{}", close(bar) * if bar < AT { shown } else { 1.0 }, ratio_of(bar)))
    }

    #[test]
    fn a_split_must_show_in_the_closes_of_a_file() {
        assert!(read(&split(10.0, 10.0), None).is_ok());
        let hidden = refused(&split(10.0, 1.0));
        assert!(
            hidden.starts_with("a split must show in the price; received the split 10 of A on 2000-01-31"),
            "{hidden}"
        );
        let inverted = refused(&split(0.1, 10.0));
        assert!(inverted.ends_with("or write the ratio as new shares per old share: 10"), "{inverted}");
        let notices = read(&split(1.05, 1.0), None).unwrap().1;
        assert!(notices[0].contains("adjusted for the split 1.05 of A on 2000-01-31: it is applied"), "{notices:?}");
        // The engine keeps any valid number.
        assert!(Dataset::from_csv(&split(10.0, 1.0), None).is_ok());
    }

    #[test]
    fn columns_of_a_symbol_and_a_field_are_refused_and_such_symbols_of_rows_are_not() {
        let wide = read("date,A_Open,A_Close\n2024-01-02,1,2\n2024-01-03,1,2\n", None).unwrap_err();
        assert!(wide.to_string().contains("received \"A_Open\" and \"A_Close\""), "{wide}");
        let rows = ["2024-01-02,A_Open,1\n", "2024-01-02,A_Close,1\n", "2024-01-03,A_Open,1\n"].concat();
        assert!(read(&format!("date,symbol,close\n{rows}"), None).is_ok());
    }

    #[test]
    fn columns_keep_a_hidden_split_and_a_volume_of_0_with_notices() {
        let mut columns = csv_reader::parse(&split(10.0, 1.0)).unwrap();
        columns.volume = Some(vec![0.0; N]);
        let (market, notices) =
            Dataset::from_user_columns(columns, StatedPeriods { value: None, option: "periods" }).unwrap();
        assert_eq!(market.column("volume"), Some(vec![0.0; N]));
        assert!(notices[0].starts_with("the split 10 of A on 2000-01-31 does not show in the close"), "{notices:?}");
        assert_eq!(notices[1], "A can never fill: its volume is 0 on every bar");
    }

    #[test]
    fn prices_outside_of_most_bars_are_refused_and_a_few_are_a_notice() {
        let ranges = |high: f64, low: f64, is_odd: fn(usize) -> bool| {
            let cells = move |bar| if is_odd(bar) { (high, low) } else { (1.0, 1.0) };
            text("high,low", move |bar| {
                let (high, low) = cells(bar);
                format!("{0},{1},{2}", close(bar), close(bar) * high, close(bar) * low)
            })
        };
        assert!(
            refused(&ranges(0.99, 1.01, |_| true)).starts_with("highs must be above lows; received 40 of 40 below")
        );
        let outside = refused(&ranges(1.02, 1.01, |_| true));
        assert!(outside.contains("received 40 of 40 outside, such as 100 of A on 2000-01-03"), "{outside}");
        let notices = read(&ranges(1.02, 1.01, |bar| bar == 3), None).unwrap().1;
        assert!(notices[0].starts_with("1 close outside of the low and the high of the bar"), "{notices:?}");
        let crossed = read(&ranges(0.99, 1.01, |bar| bar == 3), None).unwrap().1;
        assert!(crossed[0].starts_with("the high of A on 2000-01-06 is below its low"), "{crossed:?}");
        assert_eq!(crossed.len(), 1);
    }

    #[test]
    fn opens_on_another_basis_than_the_closes_are_refused_and_kept_in_columns() {
        let opens = |factor: f64| {
            let adjusted = move |bar| close(bar) * if bar < AT + 4 { factor } else { 1.0 };
            text("open", move |bar| format!("{},{}", adjusted(bar), close(bar)))
        };
        assert!(read(&opens(1.0), None).is_ok());
        let apart = refused(&opens(0.97));
        assert!(apart.contains("opens of A that are 2.6 % above the close before"), "{apart}");
        assert_eq!(apart.matches("hint:").count(), 1);
        let columns = csv_reader::parse(&opens(0.97)).unwrap();
        let notices = Dataset::from_user_columns(columns, StatedPeriods { value: None, option: "periods" }).unwrap().1;
        assert!(notices[0].starts_with("opens must be adjusted as the closes are; received opens of A"), "{notices:?}");
    }

    #[test]
    fn prices_far_from_their_neighbours_and_symbols_without_a_close_are_notices() {
        let far = |factor: f64, is_far: fn(usize) -> bool| {
            text("volume", move |bar| format!("{},1", close(bar) * if is_far(bar) { factor } else { 1.0 }))
        };
        let point = read(&far(100.0, |bar| bar == 3), None).unwrap().1;
        assert!(point[0].starts_with("1 close is at least 50 times the closes before and after"), "{point:?}");
        let units = read(&far(0.01, |bar| bar < AT), None).unwrap().1;
        assert!(units[0].contains("as between pence and pounds: A on 2000-01-31, from 1.0"), "{units:?}");
        assert!(read(&far(1.0, |_| true), None).unwrap().1.is_empty());
        let empty = read("date,A,B\n2024-01-02,1,\n2024-01-03,1,\n2024-01-04,1,\n", Some(252.0)).unwrap().1;
        assert_eq!(empty[0], "B never closes: it can never be traded");
    }

    #[test]
    fn bars_per_year_that_the_dates_contradict_or_hide_are_a_notice() {
        let plain = text("volume", |bar| format!("{},1", close(bar)));
        let notices = |value| read(&plain, value).unwrap().1;
        assert_eq!(notices(None), [""; 0]);
        assert_eq!(notices(Some(12.0)), ["`periods` 12 was stated; the dates imply 252"]);
        assert!(notices(Some(f64::NAN))[0].ends_with("annualised numbers are undefined; hint: state `periods`"));
        let sparse: Vec<String> = crate::market::dates::Dates::weekdays(N)
            .texts(0..N)
            .into_iter()
            .step_by(2)
            .map(|date| format!("{date},1\n"))
            .collect();
        let missing = read(&format!("date,A\n{}", sparse.concat()), Some(252.0)).unwrap().1;
        assert!(missing[0].starts_with("252 bars per year as stated; the dates hold 1"), "{missing:?}");
    }
}
