//! Checks of the arguments of a batch.

use std::sync::Arc;

use crate::batch::batch_market::Market;
use crate::batch::batch_settings::{BatchError, MAX_THREADS, Settings, Terms};
use crate::episode::single_episode::check_lookback;

pub(super) fn length(name: &'static str, expected: usize, received: usize) -> BatchError {
    BatchError::Length { name, expected, received }
}

/// Checks the markets, lanes and settings of a new batch.
pub(super) fn check(markets: &[Arc<Market>], lanes: &[(usize, Terms)], settings: &Settings) -> Result<(), BatchError> {
    let refuse = |name, range, value: String| Err(BatchError::Setting { name, range, value });
    check_lookback(settings.lookback)?;
    if lanes.is_empty() || markets.is_empty() {
        return refuse("num_envs", "at least 1", "0".to_owned());
    }
    let n_symbols = markets[0].data().n_symbols();
    if let Some(other) = markets.iter().map(|market| market.data().n_symbols()).find(|n| *n != n_symbols) {
        return refuse("datasets", "markets with the same number of symbols", format!("{n_symbols} and {other}"));
    }
    if let Some(other) = markets.iter().map(|market| market.widths()).find(|n| *n != markets[0].widths()) {
        return refuse("features", "as many in each market", format!("{:?} and {other:?}", markets[0].widths()));
    }
    if !(settings.no_trade_band >= 0.0 && settings.no_trade_band.is_finite()) {
        return refuse("no_trade_band", "a finite number of at least 0", settings.no_trade_band.to_string());
    }
    if settings.max_episode_steps == 0 {
        return refuse("max_episode_steps", "at least 1", "0".to_owned());
    }
    if !(1..=MAX_THREADS).contains(&settings.n_threads) {
        return refuse("threads", "1 to 32", settings.n_threads.to_string());
    }
    if settings.windows.len() != markets.len() {
        return Err(length("windows", markets.len(), settings.windows.len()));
    }
    for (windows, market) in settings.windows.iter().zip(markets) {
        windows.validate(market.data().n_bars())?;
    }
    Ok(())
}
