//! The fast path of `step_once`: no corporate action, binding limit or margin call.
//!
//! Every order is filled in full and no event is reported. The numbers are those of `step`, expression by expression, in
//! one pass. A step that does not qualify is declined before any effect, and `step` runs it.
//!
//! Imports `account`, `error`, `market` and `vector`.

mod account_block;
mod account_store;
mod account_vector;
pub(crate) mod action_rows;
mod bar_rows;
mod block_run;
mod block_steps;
mod features;
mod few_symbols;
mod held_bars;
mod held_rates;
mod held_together;
mod lane_group;
pub(crate) mod log_returns;
mod many_symbols;
mod market_tape;
mod observation_writer;
mod order_vector;
mod short_copy;
mod single_account;
mod single_trade;

pub use account_block::AccountBlock;
pub use account_store::{AccountStore, AccountStoreMut};
pub use block_run::{BlockRun, HeldBar};
pub use block_steps::run_block;
pub use held_bars::run_held;
pub use lane_group::{BlockOrders, BlockOutcome, step_block};
pub use many_symbols::{StoreWorkspace, step_store};
pub use observation_writer::{ObservationRows, SlidingRows};
pub(crate) use order_vector::OrderTerms;
pub(crate) use single_account::step;
