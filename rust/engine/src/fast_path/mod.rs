//! A step on which nothing has to be told.
//!
//! Every order is filled whole, and nothing is paid out, split or settled.
//!
//! The numbers are those of `execution` and `settlement`, expression by expression, in one pass instead of many. What
//! does not fit is left to them: nothing here has an effect before it is known that all of it fits.

mod account_block;
mod account_store;
mod account_vector;
pub(crate) mod action_rows;
mod bar_rows;
mod block_steps;
mod features;
mod few_symbols;
mod lane_group;
pub(crate) mod log_returns;
mod many_symbols;
mod market_tape;
mod observation_writer;
mod order_vector;
mod short_copy;
mod single_account;
mod single_trade;

pub use account_block::Pack;
pub use account_store::{Shelf, ShelfMut};
pub use block_steps::{Track, run_group};
pub use lane_group::{Growths, Orders, step_pack};
pub use many_symbols::{Spare, step_shelf};
pub use observation_writer::{Observed, Slid};
pub(crate) use order_vector::Terms;
pub(crate) use single_account::step;
