"""Ratios of the returns of bars that tear sheets show; none decides a verdict."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.scoring.benchmark_comparison import summary_of
from openoutcry.scoring.drawdown_periods import Drawdowns
from openoutcry.scoring.statistic_values import Statistics, collected

__all__ = ["ratio_statistics"]

Floats = npt.NDArray[np.float64]

_NO_LOSS, _NO_GAIN = "no return is negative", "no return is positive"


def ratio_statistics(
    fallen: Drawdowns,
    returns: Floats,
    summary: Statistics,
    periods_per_year: float | None,
    risk_free: Floats | None,
) -> Statistics:
    """Return ratios of gains, losses, tails and drawdowns of bars.

    Args:
        fallen: Drawdowns of the NAV.
        returns: Shape `(n_bars - 1,)`, float64.
        summary: Metrics of the returns.
        periods_per_year: Bars per year; None if unknown.
        risk_free: Risk-free return of each bar; None without a rate.

    Returns:
        With the win rate W over the returns other than 0, the payoff ratio R (mean gain over mean loss) and the omega
        ratio O: `kelly` is `W - (1 - W) / R` (Kelly 1956), `payoff_bars` R, `common_sense` O times the tail ratio,
        `cpc_index` `O W R`, `ulcer_performance` CAGR less that of the rate over the ulcer index (Martin and McCann
        1989), `outlier_gain` the 99th percentile over the mean of the returns of 0 or more, `outlier_loss` the 1st
        percentile over the mean loss.
    """
    (gained, n_gains, _), (lost, n_losses, _) = native.signed_sums(np.ascontiguousarray(returns))
    lacks = _NO_LOSS if not n_losses else _NO_GAIN if not n_gains else ""
    tail = summary.values["tail_ratio"]
    found: dict[str, float | str] = dict.fromkeys(("kelly", "payoff_bars", "common_sense", "cpc_index"), lacks)
    if not lacks:
        payoff, wins = (gained / n_gains) / -(lost / n_losses), n_gains / (n_gains + n_losses)
        omega = gained / -lost
        found |= {"kelly": wins - (1.0 - wins) / payoff, "payoff_bars": payoff, "cpc_index": omega * wins * payoff}
        found["common_sense"] = summary.undefined["tail_ratio"] if tail is None else omega * tail
    high, low = np.quantile(returns, [0.99, 0.01]).tolist()
    found |= {
        "ulcer_performance": _ulcer_performance(fallen.ulcer_index, summary, periods_per_year, risk_free),
        "outlier_gain": high / (gained / (len(returns) - n_losses)) if n_gains else _NO_GAIN,
        "outlier_loss": low / (lost / n_losses) if n_losses else _NO_LOSS,
    }
    return collected(found)


def _ulcer_performance(
    ulcer: float, summary: Statistics, periods_per_year: float | None, risk_free: Floats | None
) -> float | str:
    growth = summary.values["cagr"]
    if growth is None:
        return summary.undefined["cagr"]
    if ulcer == 0.0:
        return "the NAV never fell"
    if risk_free is None:
        return growth / ulcer
    rate = summary_of(risk_free, periods_per_year, None).values["cagr"]
    assert rate is not None, "it has as many returns as the run"
    return (growth - rate) / ulcer
