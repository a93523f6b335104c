//! Statistics of returns: pure functions of slices, one definition each.
//!
//! All take simple returns per bar; annualisation is explicit. An undefined statistic is an error with a reason, never
//! 0.

mod bootstrap;
mod error;
pub mod forecasts;
mod metrics;
mod multiple_testing;
pub mod normal_distribution;
pub mod skill;
pub use skill::power;
pub mod verdict;

pub use bootstrap::{
    BadSetup, Draws, Interval, MeanTest, Panel, TestError, block_length, mean_test, sharpe_block_length,
    sharpe_interval,
};
pub use error::{Statistic, Undefined};
pub use metrics::drawdown::{calmar, drawdowns, drawdowns_of_nav, max_drawdown};
pub use metrics::exposure::{gross_exposure, net_exposure};
pub use metrics::lagged_products::long_run_products;
pub use metrics::moments::Moments;
pub use metrics::moments::{is_riskless, kurtosis, mean, skew, standard_deviation};
pub use metrics::rates::{annual_mean, cagr, excess, per_bar_rate, share_of_nav, total_return};
pub use metrics::ratios::{sharpe, sortino, volatility};
pub use metrics::sharpe_error::sharpe_standard_error;
pub use metrics::sharpe_error::{Hac, default_lags, hac, standard_error};
pub use metrics::signed_sums::{Signed, signed_sums};
pub use metrics::summary::{METRICS, Metrics, TRADING_METRICS, Track, Trading, summarize};
pub use metrics::tails::{cvar, percentile, tail_ratio, var};
pub use metrics::trades;
pub use multiple_testing::backtest_overfitting::{Overfit, overfit};
pub use multiple_testing::tie_bands::{Bands, Pair, sharpe_difference, tie_bands};
pub use multiple_testing::{FieldTests, benjamini_hochberg, field_tests, holm};
