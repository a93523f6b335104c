"""Alpha, beta, capture and tracking of returns against a benchmark.

Alpha and beta are of excess returns if a risk-free rate is given. All numbers are of the same bars.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.errors import OpenOutcryError
from openoutcry.scoring.least_squares import fit
from openoutcry.scoring.statistic_values import NO_YEAR, Statistics, collected

__all__ = [
    "MIN_WINDOW",
    "RollingBeta",
    "compare",
    "risk_free_of",
    "rolling_beta",
    "rolling_sortino",
    "rolling_volatility",
    "summary_of",
    "window_of",
]

Floats = npt.NDArray[np.float64]

MIN_WINDOW = 20
"""Minimum returns of a rolling window."""

_LEAST_SPREAD = 1e-8
_REGRESSED = (
    *("alpha", "alpha_error", "alpha_hac_error", "alpha_t", "beta", "beta_error", "beta_hac_error"),
    *("r_squared", "correlation", "treynor"),
)


@dataclass(frozen=True)
class RollingBeta:
    """Beta of every rolling window.

    Attributes:
        n_window: Returns of a window.
        beta: Shape `(n_returns,)`, float64, at the last return of its window; NaN before the first full window and
            where the benchmark is constant.
    """

    n_window: int
    beta: Floats


def compare(
    returns: Floats, benchmark: Floats, periods_per_year: float | None, risk_free: Floats | None = None
) -> Statistics:
    """Return the statistics of returns against the benchmark's.

    Args:
        returns: Simple returns per bar, shape `(n_returns,)`, float64.
        benchmark: Returns of the benchmark on the same bars.
        periods_per_year: Bars per year; None leaves annual numbers undefined.
        risk_free: Risk-free return per bar, deducted of both for alpha, beta, correlation and the Treynor ratio.

    Returns:
        `alpha` is annual: the intercept times bars per year; so are `alpha_error` and `alpha_hac_error`. `alpha_t` uses
        the HAC error. `excess`, `tracking_error` and `information_ratio` are annual, of the difference of returns.
        `up_capture` and `down_capture` are ratios of geometric mean returns over the bars in which the benchmark
        gained or lost. `treynor` is the annual mean excess return over beta. `matched_return` is the annual mean return
        at a leverage that gives the volatility of the benchmark.
    """
    less = "" if risk_free is None else " less the risk-free rate"
    excess, other = (each if risk_free is None else each - risk_free for each in (returns, benchmark))
    found = _regressed(excess, other, periods_per_year, less)
    found |= _tracked(returns, benchmark, periods_per_year)
    found["matched_return"] = _matched(excess, other, risk_free, periods_per_year)
    found |= {"up_capture": _capture(returns, benchmark, 1.0), "down_capture": _capture(returns, benchmark, -1.0)}
    return collected(found | {"n_returns": float(len(returns))})


def _regressed(excess: Floats, benchmark: Floats, periods: float | None, less: str) -> dict[str, float | str]:
    try:
        line = fit(excess, benchmark[:, None])
    except OpenOutcryError as error:
        reason = f"the benchmark{less} is constant" if "constant" in str(error) else "there are too few returns"
        return dict.fromkeys(_REGRESSED, reason)
    (alpha, beta), (alpha_error, beta_error), hac = line.coefficients, line.errors, line.hac_errors
    found: dict[str, float | str] = {"beta": beta, "beta_error": beta_error, "beta_hac_error": hac[1]}
    for name, value in (("alpha", alpha), ("alpha_error", alpha_error), ("alpha_hac_error", hac[0])):
        found[name] = NO_YEAR if periods is None else float(value) * periods
    is_exact = float(line.residuals.std()) < _LEAST_SPREAD
    flat = f"the returns{less} are constant"
    exact = flat if line.r_squared is None else "the benchmark explains every return"
    found["alpha_t"] = exact if is_exact else float(alpha / hac[0])
    found["r_squared"] = flat if line.r_squared is None else line.r_squared
    found["correlation"] = flat if line.r_squared is None else _correlation(excess, benchmark)
    if periods is None:
        found["treynor"] = NO_YEAR
    else:
        is_flat = abs(beta) < _LEAST_SPREAD
        found["treynor"] = "beta is 0" if is_flat else float(excess.mean()) * periods / float(beta)
    return found


def _correlation(excess: Floats, benchmark: Floats) -> float:
    own, other = excess - excess.mean(), benchmark - benchmark.mean()
    return float(np.clip((own @ other) / np.sqrt((own @ own) * (other @ other)), -1.0, 1.0))


def _tracked(returns: Floats, benchmark: Floats, periods: float | None) -> dict[str, float | str]:
    names = ("excess", "tracking_error", "information_ratio")
    if periods is None:
        return dict.fromkeys(names, NO_YEAR)
    difference = returns - benchmark
    if len(returns) < 2:
        return dict.fromkeys(names, "there are too few returns")
    mean, error = float(difference.mean()) * periods, float(difference.std(ddof=1)) * periods**0.5
    if error < _LEAST_SPREAD * periods**0.5:
        is_equal = float(np.abs(difference).max()) < _LEAST_SPREAD
        reason = (
            "the returns do not differ from the benchmark's" if is_equal else "the difference of returns is constant"
        )
        return {"excess": mean, "tracking_error": error, names[2]: reason}
    return dict(zip(names, (mean, error, mean / error), strict=True))


def _matched(excess: Floats, benchmark: Floats, rate: Floats | None, periods: float | None) -> float | str:
    if periods is None:
        return NO_YEAR
    if len(excess) < 2:
        return "there are too few returns"
    deviation = float(excess.std())
    if deviation < _LEAST_SPREAD:
        return "the returns are constant"
    leverage = float(benchmark.std()) / deviation
    riskless = 0.0 if rate is None else rate.mean()
    return float(leverage * excess.mean() + riskless) * periods


def _capture(returns: Floats, benchmark: Floats, sign: float) -> float | str:
    chosen = benchmark * sign > 0.0
    if not chosen.any():
        return f"the benchmark never {'gained' if sign > 0.0 else 'lost'}"
    own, other = (_geometric_mean(series[chosen]) for series in (returns, benchmark))
    return own / other


def _geometric_mean(returns: Floats) -> float:
    if (returns <= -1.0).any():
        return -1.0
    return float(np.expm1(np.log1p(returns).mean()))


def window_of(n_returns: int, periods_per_year: float | None) -> int | None:
    """Return the returns of a rolling window: a year, or half of a short series.

    None if that is fewer than `MIN_WINDOW`, or if the number of bars per year is unknown.
    """
    if periods_per_year is None:
        return None
    n_window = min(max(round(periods_per_year), MIN_WINDOW), n_returns // 2)
    return n_window if n_window >= MIN_WINDOW else None


def rolling_beta(excess: Floats, benchmark: Floats, n_window: int) -> RollingBeta:
    """Return the beta of every window of `n_window` returns."""
    own, other = (np.ascontiguousarray(series) for series in (excess, benchmark))
    means = float(own.mean()), float(other.mean())
    return RollingBeta(n_window, native.rolling_beta(own, other, means, n_window, _LEAST_SPREAD**2))


def rolling_volatility(returns: Floats, n_window: int, periods_per_year: float) -> Floats:
    """Return the annual volatility of every window, at its last return.

    Shape `(n_returns,)`, float64; NaN before the first full window.
    """
    mean = float(returns.mean())
    return native.rolling_volatility(np.ascontiguousarray(returns), mean, n_window, periods_per_year)


def rolling_sortino(excess: Floats, n_window: int, periods_per_year: float) -> Floats:
    """Return the annual Sortino ratio of every window, at its last return.

    Shape `(n_returns,)`, float64; NaN before the first full window, and where no excess return of it is negative.
    """
    return native.rolling_sortino(np.ascontiguousarray(excess), n_window, periods_per_year)


def risk_free_of(returns: Floats, excess: Floats) -> Floats | None:
    """Return the risk-free return per bar of a run; None without a rate."""
    return None if returns is excess or np.array_equal(returns, excess) else returns - excess


def summary_of(returns: Floats, periods_per_year: float | None, risk_free: Floats | None) -> Statistics:
    """Return the metrics of a benchmark that is a series of returns."""
    values, undefined = native.summarize(
        np.ascontiguousarray(returns), periods_per_year=periods_per_year, risk_free=risk_free
    )
    return Statistics(values, undefined)
