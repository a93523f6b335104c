use numpy::{PyArray1, PyReadonlyArray1};
use openoutcry_score::trades::{Cause, Kind, Movement, Trade, summarize_trades};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;
use crate::skill::{Fields, refused};

/// Columns of movements: bar, symbol, kind, and three numbers.
///
/// Kinds are 0 for a dividend, 1 for a split and 2 for a ruin, with one number, and 3 plus the place of its cause in
/// `Cause::ALL` for a fill with shares, price and fee.
type Moved<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
);

/// Return the trades of movements as columns, and their statistics.
///
/// The movements are in chronological order. Kinds are 0 for a dividend, 1 for a split and 2 for a ruin, then causes of
/// fills. The last column of `trades` has the name of the cause that ended each one.
#[pyfunction]
pub(crate) fn trades<'py>(py: Python<'py>, movements: Moved<'py>, n_symbols: usize) -> PyResult<Bound<'py, PyDict>> {
    let movements = movements_of(&movements, n_symbols)?;
    let (closed, n_open) = openoutcry_score::trades::trades(&movements, n_symbols).map_err(refused)?;
    let found = summarize_trades(&closed, n_open);
    let places = |of: fn(&Trade) -> usize| PyArray1::from_iter(py, closed.iter().map(|trade| of(trade) as u64));
    let numbers = |of: fn(&Trade) -> f64| PyArray1::from_iter(py, closed.iter().map(of));
    let columns = (
        places(|trade| trade.symbol),
        places(|trade| trade.opened),
        places(|trade| trade.closed),
        PyArray1::from_iter(py, closed.iter().map(|trade| trade.is_long)),
        numbers(|trade| trade.entry),
        numbers(|trade| trade.profit),
        closed.iter().map(|trade| trade.end.slug()).collect::<Vec<_>>(),
    );
    let fields = Fields::new(py).set("trades", columns)?.set("n_open", n_open)?.set("n_trades", found.n_trades)?;
    let fields = fields.statistics([
        ("win_rate", found.win_rate),
        ("profit_factor", found.profit_factor),
        ("average_win", found.average_win),
        ("average_loss", found.average_loss),
        ("max_win", found.max_win),
        ("max_loss", found.max_loss),
        ("average_duration", found.average_duration),
    ])?;
    fields.with_reasons()
}

fn movements_of(columns: &Moved<'_>, n_symbols: usize) -> PyResult<Vec<Movement>> {
    let (bars, symbols, kinds) = (columns.0.as_array(), columns.1.as_array(), columns.2.as_array());
    let (values, prices, fees) = (columns.3.as_array(), columns.4.as_array(), columns.5.as_array());
    let place = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
    let movement = |at: usize| {
        let (symbol, value) = (place(symbols[at]), values[at]);
        if symbol >= n_symbols {
            let message = format!("a symbol index must be below {n_symbols}; received {symbol}");
            return Err(raise("argument_invalid", &message));
        }
        let kind = match place(kinds[at]) {
            0 => Kind::Dividend(value),
            1 => Kind::Split(value),
            2 => Kind::Ruin(value),
            code => {
                let cause =
                    *Cause::ALL.get(code - 3).ok_or_else(|| raise("argument_invalid", "a kind must be known"))?;
                Kind::Fill { shares: value, price: prices[at], fee: fees[at], cause }
            }
        };
        Ok(Movement { bar: place(bars[at]), symbol, kind })
    };
    (0..bars.len()).map(movement).collect()
}
