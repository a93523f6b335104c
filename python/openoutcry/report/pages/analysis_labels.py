"""Labels, units and definitions of the statistics of a run's analysis."""

from __future__ import annotations

from openoutcry.report.pages.metric_labels import Metric

__all__ = ["BARS", "COMPARISON", "TRADES", "TRAILING"]

COMPARISON: dict[str, Metric] = {
    "alpha": Metric("Alpha, annual", "rate", "intercept of the regression on the benchmark, times bars per year"),
    "alpha_error": Metric("Alpha, std. error", "rate", "for independent residuals of one variance"),
    "alpha_hac_error": Metric("Alpha, HAC std. error", "rate", "robust to autocorrelation and changing variance"),
    "alpha_t": Metric("Alpha, t", "ratio", "alpha over its HAC standard error; beyond 2 in size is significant"),
    "beta": Metric("Beta", "coefficient", "slope: change of the return per change of the benchmark's"),
    "beta_error": Metric("Beta, std. error", "coefficient", "for independent residuals of one variance"),
    "beta_hac_error": Metric("Beta, HAC std. error", "coefficient", "robust to autocorrelation and changing variance"),
    "r_squared": Metric("R squared", "ratio", "share of the variance that the benchmark explains"),
    "correlation": Metric("Correlation", "ratio", "of the bar returns with the benchmark's"),
    "excess": Metric("Excess return, annual", "rate", "mean difference of returns, times bars per year"),
    "tracking_error": Metric("Tracking error, annual", "share", "standard deviation of the difference of returns"),
    "information_ratio": Metric("Information ratio", "ratio", "excess return over tracking error"),
    "up_capture": Metric(
        "Up capture", "share", "geometric mean return over the benchmark's, in bars in which it gained"
    ),
    "down_capture": Metric("Down capture", "share", "the same in bars in which it lost; lower is better"),
    "treynor": Metric("Treynor ratio", "ratio", "annual mean excess return over beta"),
    "matched_return": Metric(
        "Return, matched", "rate", "annual mean return, levered to the volatility of the benchmark (M squared)"
    ),
    "n_returns": Metric("Returns", "count", "number of bar returns compared"),
}
BARS: dict[str, Metric] = {
    "best_bar": Metric("Best bar", "rate", "highest return of a bar"),
    "worst_bar": Metric("Worst bar", "rate", "lowest return of a bar"),
    "positive_bars": Metric("Positive bars", "share", "share of bars with a return above 0"),
    "longest_gain": Metric("Longest winning streak", "count", "bars in a row with a return above 0"),
    "longest_loss": Metric("Longest losing streak", "count", "bars in a row with a return below 0"),
    "omega": Metric("Omega ratio", "ratio", "sum of gains over losses of bars (threshold 0), their profit factor"),
    "payoff_bars": Metric("Payoff ratio, bars", "ratio", "mean gain over mean loss of bars"),
    "kelly": Metric("Kelly fraction", "share", "win rate less loss rate over payoff ratio, of bars other than 0"),
    "common_sense": Metric("Common sense ratio", "ratio", "omega ratio times tail ratio"),
    "cpc_index": Metric("CPC index", "ratio", "omega ratio times win rate times payoff ratio of bars"),
    "outlier_gain": Metric("Outlier gain ratio", "ratio", "99th percentile of bars over mean of those of 0 or more"),
    "outlier_loss": Metric("Outlier loss ratio", "ratio", "1st percentile of bars over mean loss"),
    "gain_to_pain": Metric("Gain to pain", "ratio", "sum of monthly returns over that of the losing months"),
    "mean_gain_month": Metric("Mean gain, months", "rate", "mean return of the months that gained"),
    "mean_loss_month": Metric("Mean loss, months", "rate", "mean return of the months that lost"),
    "recovery_factor": Metric("Recovery factor", "ratio", "total return over max drawdown"),
    "ulcer_index": Metric("Ulcer index", "share", "root mean square drawdown over all bars"),
    "ulcer_performance": Metric(
        "Ulcer performance index (UPI)", "ratio", "CAGR less that of the risk-free rate, over the ulcer index"
    ),
    "mean_drawdown": Metric("Mean drawdown", "loss", "mean depth of all drawdowns"),
    "longest_drawdown": Metric("Longest drawdown, days", "count", "calendar days from peak to recovery, or to the end"),
    "mean_drawdown_days": Metric("Mean drawdown, days", "count", "mean calendar days of all drawdowns"),
    "n_drawdowns": Metric("Drawdowns", "count", "number of periods below a peak"),
    "time_in_market": Metric("Time in market", "share", "share of bars after the first with a position"),
}
TRADES: dict[str, Metric] = {
    "n_trades": Metric("Closed trades", "count", "positions that were opened and closed"),
    "n_open": Metric("Open positions", "count", "positions at the last close, which are no trades yet"),
    "win_rate": Metric("Win rate", "share", "share of trades with a profit above 0"),
    "profit_factor": Metric("Profit factor", "ratio", "sum of profits over sum of losses"),
    "payoff": Metric("Payoff ratio", "ratio", "mean profit of the winners over mean loss of the losers"),
    "expectancy": Metric("Expectancy", "money", "mean profit of a trade, in account currency"),
    "average_win": Metric("Average win", "money", "mean profit of the winners"),
    "average_loss": Metric("Average loss", "money", "mean loss of the losers"),
    "max_win": Metric("Largest win", "money", "largest profit"),
    "max_loss": Metric("Largest loss", "money", "largest loss"),
    "average_duration": Metric("Average hold, bars", "count", "mean number of bars from opening to close"),
}
TRAILING: dict[str, Metric] = {
    "MTD": Metric("Month to date", "gain", ""),
    "3M": Metric("3 months", "gain", ""),
    "6M": Metric("6 months", "gain", ""),
    "YTD": Metric("Year to date", "gain", ""),
    "1Y": Metric("1 year", "gain", ""),
    "3Y": Metric("3 years, per year", "gain", ""),
    "5Y": Metric("5 years, per year", "gain", ""),
    "10Y": Metric("10 years, per year", "gain", ""),
    "all": Metric("Whole run, per year", "gain", ""),
}
