//! Conditions of orders as arrays, one cell per bar and symbol.

use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use openoutcry::{ConditionTable, DayOrder, OrderTable, Window, check_day_order};
use pyo3::prelude::*;

use crate::arrays;
use crate::dataset::Dataset;
use crate::error::raise;

/// Prices and times of the orders of a table: a dict in Python.
///
/// Each of shape `(n_bars, n_symbols)`, or None.
///
/// NaN stands for no price.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Conditions<'py> {
    limit_price: Option<PyReadonlyArray2<'py, f64>>,
    stop_price: Option<PyReadonlyArray2<'py, f64>>,
    stop_loss: Option<PyReadonlyArray2<'py, f64>>,
    take_profit: Option<PyReadonlyArray2<'py, f64>>,
    at_close: Option<PyReadonlyArray2<'py, bool>>,
}

impl Conditions<'_> {
    /// Returns the decision rows of a window with these conditions.
    pub(crate) fn of(&self, dataset: &Dataset, orders: OrderTable, window: Window) -> PyResult<OrderTable> {
        let shape = [dataset.0.n_bars(), dataset.0.n_symbols()];
        let prices = [
            ("limit_price", &self.limit_price),
            ("stop_price", &self.stop_price),
            ("stop_loss", &self.stop_loss),
            ("take_profit", &self.take_profit),
        ];
        for (name, found) in prices.map(|(name, array)| (name, array.as_ref().map(|array| array.shape()))) {
            check_shape(name, shape, found)?;
        }
        check_shape("at", shape, self.at_close.as_ref().map(|array| array.shape()))?;
        let mut table = ConditionTable::default();
        let mut row = Vec::new();
        for decision in 0..window.n_decisions() {
            let bar = window.start + decision;
            row.clear();
            for symbol in 0..shape[1] {
                let price = |array: &Option<PyReadonlyArray2<'_, f64>>| {
                    array.as_ref().map_or(f64::NAN, |array| array.as_array()[[bar, symbol]])
                };
                let [limit, stop, stop_loss, take_profit] = prices.map(|(_, array)| price(array));
                let at_close = self.at_close.as_ref().is_some_and(|array| array.as_array()[[bar, symbol]]);
                let order = DayOrder { symbol, limit, stop, stop_loss, take_profit, at_close };
                if !order.is_conditional() {
                    continue;
                }
                let weight = orders.decision(decision).0[symbol];
                check_day_order(&order, weight)
                    .map_err(|error| raise(error.slug(), &format!("{error} at [{bar}, {symbol}]")))?;
                row.push(order);
            }
            table.push(decision, &row);
        }
        Ok(orders.with_conditions(table))
    }
}

fn check_shape(name: &str, wanted: [usize; 2], found: Option<&[usize]>) -> PyResult<()> {
    match found {
        Some(found) if found != wanted => {
            let [n_bars, n_symbols] = wanted;
            let message =
                format!("`{name}` must have shape ({n_bars}, {n_symbols}), that of the weights; received {found:?}");
            Err(raise("shape_mismatch", &message))
        }
        _ => Ok(()),
    }
}

/// Decision, symbol, prices and time of each order with a condition.
pub(crate) type ConditionColumns<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, [Bound<'py, PyArray1<f64>>; 4], Bound<'py, PyArray1<bool>>);

/// Returns the orders with conditions as columns.
pub(crate) fn condition_columns<'py>(py: Python<'py>, table: &ConditionTable) -> ConditionColumns<'py> {
    let places = |of: fn((usize, &DayOrder)) -> usize| {
        PyArray1::from_iter(py, table.iter().map(|order| of(order).cast_signed() as i64))
    };
    let prices =
        [0, 1, 2, 3].map(|kind| arrays::vector(py, table.iter().map(|(_, order)| order.prices()[kind]).collect()));
    let at_close = PyArray1::from_iter(py, table.iter().map(|(_, order)| order.at_close));
    (places(|(decision, _)| decision), places(|(_, order)| order.symbol), prices, at_close)
}
