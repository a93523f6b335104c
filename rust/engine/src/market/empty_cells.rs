//! Dates without a close, columns without a value and midnights of users' files.

use crate::counted_nouns::counted;
use crate::error::DataError;
use crate::market::columns::{Columns, Origin};
use crate::market::validation;

/// Leaves out dates without a value and columns without one; returns a notice.
///
/// Times that are all midnight become days. A date with a dividend, a split or a settlement has a value.
///
/// # Errors
///
/// Returns the first fault of columns with such a date: it is not hidden.
pub(crate) fn drop_empty(columns: &mut Columns) -> Result<Option<String>, DataError> {
    let are_midnights = columns.dates.are_midnights();
    let kept = bars_with_values(columns);
    let n_empty = kept.iter().filter(|is_kept| !**is_kept).count();
    if n_empty > 0 || are_midnights {
        validation::check(columns)?;
        columns.origin = Origin::default();
    }
    if are_midnights {
        columns.dates.become_days();
    }
    if n_empty > 0 {
        leave_out(columns, &kept);
    }
    let unknown =
        [&mut columns.open, &mut columns.high, &mut columns.low, &mut columns.volume, &mut columns.delistings];
    for column in unknown {
        *column = column.take().filter(|values| values.iter().any(|value| !value.is_nan()));
    }
    Ok((n_empty > 0).then(|| format!("left out: {} without a close", counted(n_empty, "date"))))
}

/// Returns which bars have a close, a dividend, a split or a settlement.
fn bars_with_values(columns: &Columns) -> Vec<bool> {
    let n_symbols = columns.symbols.len().max(1);
    let holds = |column: &Option<Vec<f64>>, bar: usize, neutral: &[f64]| {
        column.as_ref().is_some_and(|values| {
            let row = &values[bar * n_symbols..(bar + 1) * n_symbols];
            row.iter().any(|value| !value.is_nan() && !neutral.contains(value))
        })
    };
    let closes = columns.close.chunks_exact(n_symbols).enumerate().map(|(bar, row)| {
        row.iter().any(|close| !close.is_nan())
            || holds(&columns.dividends, bar, &[0.0])
            || holds(&columns.splits, bar, &[0.0, 1.0])
            || holds(&columns.delistings, bar, &[])
    });
    closes.collect()
}

fn leave_out(columns: &mut Columns, kept: &[bool]) {
    let n_symbols = columns.symbols.len().max(1);
    let filtered = |values: &[f64]| -> Vec<f64> {
        let rows = values.chunks_exact(n_symbols).zip(kept).filter(|(_, is_kept)| **is_kept);
        rows.flat_map(|(row, _)| row.iter().copied()).collect()
    };
    columns.close = filtered(&columns.close);
    let optional = [
        &mut columns.open,
        &mut columns.high,
        &mut columns.low,
        &mut columns.volume,
        &mut columns.dividends,
        &mut columns.splits,
        &mut columns.delistings,
    ];
    for column in optional {
        *column = column.take().map(|values| filtered(&values));
    }
    columns.dates.retain(kept);
}

#[cfg(test)]
mod tests {
    use crate::Dataset;
    use crate::market::user_market::StatedPeriods;

    fn read(text: &str) -> (Dataset, Vec<String>) {
        Dataset::from_user_csv(text, StatedPeriods { value: Some(252.0), option: "periods" }).expect("must be read")
    }

    #[test]
    fn a_date_without_a_close_and_a_column_without_a_value_are_left_out() {
        let (market, notices) = read(
            "date,symbol,close,open,volume\n2024-01-02,A,5,,\n2024-01-03,A,,7,9\n2024-01-04,A,6,,\n2024-01-05,A,7,,\n",
        );
        assert_eq!(market.dates().texts(0..3), ["2024-01-02", "2024-01-04", "2024-01-05"]);
        assert!(!market.has_opens() && !market.has_volume());
        assert!(notices.contains(&"left out: 1 date without a close".to_owned()), "{notices:?}");
    }

    #[test]
    fn a_date_with_an_event_stays() {
        for (column, value) in [("dividend", "1"), ("delisting_return", "0")] {
            let text =
                format!("date,symbol,close,{column}\n2024-01-02,A,50,\n2024-01-03,A,51,\n2024-01-04,A,,{value}\n");
            assert_eq!(read(&text).0.n_bars(), 3, "{column}");
        }
    }

    #[test]
    fn midnights_are_days() {
        let days = "date,A\n2024-01-02,1\n2024-01-03,2\n2024-01-04,3\n";
        for end in ["T00:00:00", "T00:00:00Z"] {
            let times = days.replace(",1", &format!("{end},1")).replace(",2", &format!("{end},2"));
            let times = times.replace(",3", &format!("{end},3"));
            assert_eq!(read(&times).0.fingerprint(), read(days).0.fingerprint());
        }
    }

    #[test]
    fn a_fault_on_a_date_without_a_close_is_refused_by_its_line() {
        let text = "date,symbol,close,volume\n2024-01-02,A,5,1\n2024-01-03,A,,-9\n2024-01-04,A,6,1\n";
        let stated = StatedPeriods { value: Some(252.0), option: "periods" };
        let error = Dataset::from_user_csv(text, stated).expect_err("must be refused");
        assert!(error.to_string().starts_with("`volume` on line 3"), "{error}");
    }
}
