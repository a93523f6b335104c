//! Weights of the strategies of the Python library, as tables of orders.
//!
//! `openoutcry.backtest.strategies` defines them. These have the same bits: the same operations in the same order, over
//! the closes that an observation shows. Imports `order_table`.

mod mean_reversion;
mod momentum;
mod rule_tables;
pub(crate) mod shown_closes;
pub(crate) mod strategy_rule;
mod trend_sides;
mod window_sums;
