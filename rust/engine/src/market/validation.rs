//! Validation of columns. Ambiguous data is refused.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::counted_nouns::counted;
use crate::error::DataError;
use crate::market::charges::Charge;
use crate::market::columns::{Columns, FeatureScope, Fundamental};
use crate::market::date;
use crate::market::dates::DateFault;
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;

type Check = Result<(), DataError>;

/// The requirement on a column, and the slug of its error.
#[derive(Clone, Copy)]
struct Requirement {
    slug: &'static str,
    name: &'static str,
    range: &'static str,
}

impl Requirement {
    fn value(name: &'static str, range: &'static str) -> Self {
        Self { slug: "value_invalid", name, range }
    }
}

/// The range of the product of all splits of a symbol.
pub(crate) const SPLITS: RangeInclusive<f64> = 1e-30..=1e30;

/// Returns the largest return of cash in one bar.
///
/// A larger one is likely the rate of a year. 1 %, or 10 % a year if that is more, and 25 % for bars of a year. 1 % for unknown bars per year.
#[must_use]
pub fn most_cash_return(periods_per_year: f64) -> f64 {
    if periods_per_year <= 1.0 { 0.25 } else { (0.1 / periods_per_year).max(0.01) }
}

/// Returns whether a price is missing or in range.
#[inline(always)]
pub(crate) fn is_price(price: f64) -> bool {
    price.is_nan() || (1e-15..=1e15).contains(&price)
}

/// Returns whether a volume is unknown or in range.
#[inline(always)]
pub(crate) fn is_volume(volume: f64) -> bool {
    volume.is_nan() || volume == 0.0 || (1e-15..=1e18).contains(&volume)
}

#[inline(always)]
fn is_positive(value: f64) -> bool {
    value > 0.0
}

/// Checks every column and returns the first fault, with its row and column.
///
/// Returns whether every price and volume is known and above 0.
pub(crate) fn check(columns: &Columns) -> Result<bool, DataError> {
    check_axis(columns)?;
    check_shapes(columns)?;
    let are_positive = check_prices(columns)? & check_volumes(columns)?;
    check_actions(columns)?;
    check_delistings(columns)?;
    check_charges(columns)?;
    check_lanes(columns)?;
    check_features(columns)?;
    Ok(are_positive)
}

fn check_axis(columns: &Columns) -> Check {
    let (dates, symbols) = (&columns.dates, &columns.symbols);
    if dates.len() < 2 || symbols.is_empty() {
        let message =
            format!("at least 2 bars and 1 symbol are required; received {} and {}", dates.len(), symbols.len());
        return Err(DataError::new("dataset_too_small", message));
    }
    if let Some((row, fault)) = dates.fault() {
        let (place, date) = (columns.origin.bar(row, symbols.len()), dates.get(row));
        let (slug, wanted) = match fault {
            DateFault::Invalid => ("date_invalid", "ISO 8601 (YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS[Z])".to_owned()),
            DateFault::Order => ("date_order", format!("after {:?} and in the same format", dates.get(row - 1))),
        };
        return Err(DataError::new(slug, format!("`date` {place} must be {wanted}; received {date:?}")));
    }
    for (column, symbol) in symbols.iter().enumerate() {
        if symbol.is_empty() || symbol.trim() != symbol || symbol.chars().any(char::is_control) {
            let message = format!(
                "`symbols[{column}]` must be text without control characters or spaces around it; received {symbol:?}{}",
                columns.origin.symbol(column, symbols.len())
            );
            return Err(DataError::new("symbol_invalid", message));
        }
    }
    let mut sorted: Vec<&String> = symbols.iter().collect();
    sorted.sort();
    if let Some((symbol, _)) = sorted.iter().zip(&sorted[1..]).find(|(a, b)| a == b) {
        return Err(DataError::new("duplicate_symbol", format!("symbols must be unique; received {symbol:?} twice")));
    }
    let ppy = columns.periods_per_year;
    // Below it an annual rate would charge more than the account in one bar.
    if !ppy.is_nan() && !(1e-3..=1e9).contains(&ppy) {
        let message = format!("`periods_per_year` must be between 1e-3 and 1e9 (NaN if unknown); received {ppy:?}");
        return Err(DataError::new("value_invalid", message));
    }
    Ok(())
}

fn values_text(columns: &Columns, n_values: usize) -> String {
    let axes = (counted(columns.dates.len(), "bar"), counted(columns.symbols.len(), "symbol"));
    format!("{} for {} and {}", counted(n_values, "value"), axes.0, axes.1)
}

fn check_shapes(columns: &Columns) -> Check {
    let (n_bars, n_symbols) = (columns.dates.len(), columns.symbols.len());
    let cells = n_bars * n_symbols;
    let lengths = [
        ("close", Some(columns.close.len()), cells),
        ("open", columns.open.as_ref().map(Vec::len), cells),
        ("high", columns.high.as_ref().map(Vec::len), cells),
        ("low", columns.low.as_ref().map(Vec::len), cells),
        ("volume", columns.volume.as_ref().map(Vec::len), cells),
        ("dividends", columns.dividends.as_ref().map(Vec::len), cells),
        ("splits", columns.splits.as_ref().map(Vec::len), cells),
        ("tradable", columns.tradable.as_ref().map(Vec::len), cells),
        ("delistings", columns.delistings.as_ref().map(Vec::len), cells),
        ("risk_free", columns.risk_free.as_ref().map(Vec::len), n_bars),
    ];
    let of_charge = |charge: Charge| (charge.name(), columns.charges[charge as usize].as_ref().map(Vec::len), cells);
    for (name, received, expected) in lengths.into_iter().chain(Charge::ALL.map(of_charge)) {
        if received.is_some_and(|received| received != expected) {
            let message =
                format!("`{name}` must have {}; received {}", values_text(columns, expected), received.unwrap_or(0));
            return Err(DataError::new("shape_mismatch", message));
        }
    }
    Ok(())
}

fn check_prices(columns: &Columns) -> Result<bool, DataError> {
    let tables = [
        ("close", Some(&columns.close)),
        ("open", columns.open.as_ref()),
        ("high", columns.high.as_ref()),
        ("low", columns.low.as_ref()),
    ];
    let mut are_positive = true;
    for (name, table) in tables {
        if let Some(table) = table {
            let range = "between 1e-15 and 1e15 (NaN for no price)";
            are_positive &= check_cells(columns, Requirement { slug: "price_invalid", name, range }, table, is_price)?;
        }
    }
    Ok(are_positive)
}

fn check_volumes(columns: &Columns) -> Result<bool, DataError> {
    let Some(volume) = &columns.volume else { return Ok(true) };
    let range = "0 or between 1e-15 and 1e18 (NaN where unknown)";
    check_cells(columns, Requirement::value("volume", range), volume, is_volume)
}

fn check_actions(columns: &Columns) -> Check {
    if let Some(splits) = &columns.splits {
        let is_ratio = |value: f64| value.is_nan() || (1e-9..=1e9).contains(&value);
        let range = "between 1e-9 and 1e9 (NaN or 1 for none)";
        check_cells(columns, Requirement::value("splits", range), splits, is_ratio)?;
    }
    check_split_products(columns)?;
    let Some(dividends) = &columns.dividends else { return Ok(()) };
    let is_dividend = |value: f64| value.is_nan() || (0.0..=1e15).contains(&value);
    let range = "between 0 and 1e15 (NaN for none)";
    check_cells(columns, Requirement::value("dividends", range), dividends, is_dividend)?;
    if columns.open.is_some() {
        return Ok(());
    }
    // Without opens the fill price is the last close less the dividend, which must be a valid price.
    let n_symbols = columns.symbols.len();
    for (cell, dividend) in dividends.iter().enumerate().skip(n_symbols) {
        if *dividend >= columns.close[cell - n_symbols] {
            let requirement = Requirement::value("dividends", "below the previous close");
            return Err(cell_error(columns, requirement, cell, *dividend));
        }
    }
    Ok(())
}

/// Checks that the splits of a symbol keep prices and share counts in range.
fn check_split_products(columns: &Columns) -> Check {
    let Some(splits) = &columns.splits else { return Ok(()) };
    let n_symbols = columns.symbols.len();
    let (mut products, mut faults) = (vec![1.0; n_symbols], vec![None; n_symbols]);
    for (row, ratios) in splits.chunks_exact(n_symbols).enumerate() {
        // Most days have no split.
        if ratios.iter().all(|ratio| *ratio == 1.0) {
            continue;
        }
        for (symbol, ratio) in ratios.iter().enumerate().filter(|(_, ratio)| !ratio.is_nan()) {
            products[symbol] *= ratio;
            if !SPLITS.contains(&products[symbol]) {
                faults[symbol].get_or_insert(row * n_symbols + symbol);
            }
        }
    }
    match faults.into_iter().flatten().next() {
        None => Ok(()),
        Some(cell) => {
            let range = "a ratio that keeps the product of a symbol's splits between 1e-30 and 1e30";
            Err(cell_error(columns, Requirement::value("splits", range), cell, splits[cell]))
        }
    }
}

fn check_charges(columns: &Columns) -> Check {
    for (charge, table) in Charge::ALL.into_iter().zip(&columns.charges) {
        let (range, words) = charge.range();
        if let Some(table) = table {
            let requirement = Requirement { slug: charge.slug(), name: charge.name(), range: words };
            check_cells(columns, requirement, table, |value| value.is_nan() || range.contains(&value))?;
        }
    }
    Ok(())
}

fn check_delistings(columns: &Columns) -> Check {
    let Some(delistings) = &columns.delistings else { return Ok(()) };
    let is_return = |value: f64| value.is_nan() || (-1.0..=1e6).contains(&value);
    let range = "a return of at least -1 (NaN for none)";
    check_cells(columns, Requirement::value("delistings", range), delistings, is_return)?;
    let n_symbols = columns.symbols.len();
    let mut settlements = vec![None; n_symbols];
    for (cell, _) in delistings.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        settlements[cell % n_symbols].get_or_insert(cell);
    }
    for (symbol, settlement) in settlements.into_iter().enumerate() {
        let cells = || (symbol..columns.close.len()).step_by(n_symbols);
        let Some(settlement) = settlement else { continue };
        let refuse = |range: &'static str, cell: usize, value: f64| {
            Err(cell_error(columns, Requirement::value("delistings", range), cell, value))
        };
        if cells().take_while(|cell| *cell < settlement).all(|cell| columns.close[cell].is_nan()) {
            return refuse("after the symbol's first close", settlement, delistings[settlement]);
        }
        for cell in cells().filter(|cell| *cell > settlement) {
            if !delistings[cell].is_nan() {
                return refuse("given at most once per symbol", cell, delistings[cell]);
            }
            if !columns.close[cell].is_nan() {
                let range = "absent after the symbol's settlement";
                let requirement = Requirement { slug: "close_after_settlement", name: "close", range };
                return Err(cell_error(columns, requirement, cell, columns.close[cell]));
            }
        }
    }
    Ok(())
}

/// Checks the columns that are not tables: risk-free, fundamentals and news.
fn check_lanes(columns: &Columns) -> Check {
    let most = most_cash_return(columns.periods_per_year);
    for (row, rate) in columns.risk_free.iter().flatten().enumerate() {
        if !(-most..=most).contains(rate) {
            let range = format!("a return of one bar, between -{most} and {most}");
            let message = format!("`risk_free` at row {row} must be {range}; received {rate}");
            let hint = "hint: divide annual rates by the number of bars per year";
            return Err(DataError::new("value_invalid", format!("{message}; {hint}")));
        }
    }
    let items = columns.fundamentals.iter().map(|item| ("fundamentals", item.symbol, &item.available_at));
    let items = items.chain(columns.news.iter().map(|item| ("news", item.symbol, &item.available_at)));
    for (name, symbol, available_at) in items {
        // A date on an axis of times would be known before the end of its day.
        let form = columns.dates.get(0).len();
        if !date::is_iso(available_at) || (form > 10 && available_at.len() != form) {
            let message = format!(
                "`available_at` of `{name}` must be ISO 8601 and as precise as the dates of the bars; received {available_at:?}"
            );
            return Err(DataError::new("date_invalid", message));
        }
        if symbol >= columns.symbols.len() {
            let message = format!("`symbol` of `{name}` must be below {}; received {symbol}", columns.symbols.len());
            return Err(DataError::new("symbol_invalid", message));
        }
    }
    if let Some(item) = columns.fundamentals.iter().find(|item| !item.value.is_finite() || item.name.is_empty()) {
        let message = format!("`fundamentals` must be named and finite; received {:?} = {}", item.name, item.value);
        return Err(DataError::new("value_invalid", message));
    }
    check_versions(columns)
}

/// Names that a feature cannot have: the columns of prices.
const RESERVED: [&str; 10] =
    ["open", "high", "low", "close", "volume", "dividends", "splits", "tradable", "delistings", "risk_free"];

/// Checks the names and the numbers of values of all features.
fn check_features(columns: &Columns) -> Check {
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
                "feature {name:?} must have {}; received {}",
                values_text(columns, expected),
                feature.values.len()
            );
            return Err(DataError::new("shape_mismatch", message));
        }
    }
    Ok(())
}

fn version(item: &Fundamental) -> (usize, &str, &str) {
    (item.symbol, &item.name, &item.available_at)
}

/// Checks that a symbol has one value per name and time.
///
/// The order of two values would decide which one an agent sees.
fn check_versions(columns: &Columns) -> Check {
    let mut items: Vec<&Fundamental> = columns.fundamentals.iter().collect();
    items.sort_by(|a, b| version(a).cmp(&version(b)).then(a.value.total_cmp(&b.value)));
    let Some(pair) = items.windows(2).find(|pair| version(pair[0]) == version(pair[1])) else { return Ok(()) };
    let ((symbol, name, moment), low, high) = (version(pair[0]), pair[0].value, pair[1].value);
    let received =
        if low.total_cmp(&high).is_eq() { format!("{low:?} twice") } else { format!("{low:?} and {high:?}") };
    let symbol = &columns.symbols[symbol];
    let message =
        format!("`fundamentals` must have one value of {name:?} for {symbol:?} at {moment}; received {received}");
    Err(DataError::new("value_invalid", message))
}

/// Checks every cell of a table, and returns whether all are above 0.
fn check_cells(
    columns: &Columns,
    requirement: Requirement,
    table: &[f64],
    holds: impl Fn(f64) -> bool,
) -> Result<bool, DataError> {
    // The check has no branch per cell. The first fault is searched only in a table with faults.
    let (all_hold, are_positive) = vectorized(
        Arch::new(),
        #[inline(always)]
        || {
            let check = |(all, above), value| (all & holds(value), above & is_positive(value));
            table.iter().copied().fold((true, true), check)
        },
    );
    if all_hold {
        return Ok(are_positive);
    }
    match table.iter().position(|value| !holds(*value)) {
        None => Ok(are_positive),
        Some(cell) => Err(cell_error(columns, requirement, cell, table[cell])),
    }
}

fn cell_error(columns: &Columns, requirement: Requirement, cell: usize, value: f64) -> DataError {
    let Requirement { slug, name, range } = requirement;
    let (row, column) = (cell / columns.symbols.len(), cell % columns.symbols.len());
    let (place, date, symbol) =
        (columns.origin.cell(cell, columns.symbols.len()), columns.dates.get(row), &columns.symbols[column]);
    // `Debug` writes very small and large numbers with an exponent, but whole numbers with a fraction.
    let value = format!("{value:?}");
    let value = value.strip_suffix(".0").unwrap_or(&value);
    let message = format!("`{name}` {place} ({date}), column {symbol:?} must be {range}; received {value}");
    DataError::new(slug, message)
}
