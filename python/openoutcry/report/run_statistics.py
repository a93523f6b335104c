"""Statistics of a run page: skill, rolling Sharpe ratio, calibration.

`openoutcry.scoring.skill` computes them; this module converts them to views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import isfinite

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.report.views.statistics_view import Bin, Calibration, Rolling, Skill
from openoutcry.report.views.trace_view import Trace
from openoutcry.scoring import skill
from openoutcry.scoring.power import power

__all__ = ["calibration_of", "rolling_of", "skill_of"]

MIN_WINDOW = 20
"""Minimum returns of a rolling ratio; with fewer, the interval is too wide to be useful."""

_LENGTHS = ("min_trl", "min_btl")
_Compute = Callable[[], tuple[float, ...]]


def rolling_of(run: Run) -> Rolling | None:
    """Return the rolling one-year Sharpe ratio at each bar, with its standard error.

    For a run shorter than two years the window is half the run. None if that is fewer than `MIN_WINDOW` returns, or if
    the number of bars per year is unknown.
    """
    excess, periods = run._excess, run.dataset.periods_per_year
    if periods is None:
        return None
    n_window = min(max(round(periods), MIN_WINDOW), len(excess) // 2)
    if n_window < MIN_WINDOW:
        return None
    rolled = skill.rolling_sharpe(excess, n_window, periods)
    before = np.full(n_window, np.nan)
    ratios, errors = (np.concatenate([before, values]) for values in (rolled.ratios, rolled.errors))
    return Rolling(n_window, ratios, errors)


def skill_of(run: Run, n_trials: int = 1) -> Skill | None:
    """Return the skill statistics of a run, deflated for `n_trials`.

    `n_trials` includes this run. None if the Sharpe ratio has a caveat in `run.caveats`, or without bars per year.
    """
    excess, periods = run._excess, run.dataset.periods_per_year
    if "sharpe" in run.caveats or periods is None:
        return None
    values: dict[str, float | None] = {"n_trials": float(n_trials), "n_returns": float(len(excess))}
    reasons: dict[str, str] = {}
    for names, compute in _statistics(excess, periods, n_trials).items():
        results, reason = _try(compute)
        values.update(zip(names, results, strict=True) if results else dict.fromkeys(names))
        reasons.update({} if results else dict.fromkeys(names, reason))
    ratio = values["sharpe_bar"]
    for name in _LENGTHS if ratio is not None and ratio <= 0.0 else ():
        if name in values:
            reasons[name] = "the Sharpe ratio is not above zero, so no track record is long enough"
    sentence = power(len(excess), n_trials, periods_per_year=periods).sentence if len(excess) > 1 else ""
    return Skill(values, reasons, sentence)


def _try(compute: _Compute) -> tuple[tuple[float, ...], str]:
    """Return computed values, or an empty tuple and the reason."""
    try:
        return compute(), ""
    except native.OpenOutcryError as error:
        return (), str(error).removeprefix(f"{error.slug}: ")


def _statistics(excess: skill.Series, periods: float, n_trials: int) -> dict[tuple[str, ...], _Compute]:
    """Return the statistics to compute, keyed by the names of their values."""

    @cache
    def moments() -> skill.Moments:
        return skill.Moments.of(excess)

    def deflated() -> tuple[float, ...]:
        ratio = skill.deflate(moments(), n_trials)
        return ratio.dsr, ratio.psr, ratio.sr0, ratio.sigma

    statistics: dict[tuple[str, ...], _Compute] = {
        ("dsr", "psr", "sr0", "sigma_sr"): deflated,
        ("sharpe_bar", "skew", "kurtosis"): lambda: (moments().sharpe, moments().skew, moments().kurtosis),
        ("min_trl",): lambda: (skill.min_track_record(moments()),),
        ("hac_se",): lambda: (skill.sharpe_errors(excess, periods).hac_standard_error,),
    }
    if n_trials > 1:
        statistics["min_btl",] = lambda: (
            skill.min_backtest_years(n_trials, skill.sharpe_errors(excess, periods).sharpe),
        )
    return statistics


def calibration_of(trace: Trace, symbols: tuple[str, ...]) -> Calibration:
    """Return the calibration of stated confidence over filled orders.

    The outcome is that of `skill.calibrate`, at the close of the fill bar. An order that fills at that close has none,
    and neither has one that an exit closed before.
    """
    orders = list(_filled(trace, symbols))
    try:
        result = skill.calibrate(orders)
    except native.OpenOutcryError:
        # No order states a confidence with an outcome.
        return Calibration([], None, 0, len(orders))
    bins = [Bin(b.low, b.high, b.confidence, b.hit_rate, b.n_orders, b.interval) for b in result.bins]
    base = result.hit_rate * (1.0 - result.hit_rate)
    return Calibration(bins, result.brier, result.n_stated, result.n_stated + result.n_absent, base)


def _filled(trace: Trace, symbols: tuple[str, ...]) -> Iterator[tuple[float | None, float, float, float]]:
    columns = {symbol: place for place, symbol in enumerate(symbols)}
    for step, closes in zip(trace.steps, trace.closes[1:].tolist(), strict=False):
        exited = {event.symbol for event in step.events if event.slug == "exited"}
        prices = {fill.symbol: fill.price for fill in reversed(step.fills) if fill.symbol not in exited}
        for order in () if step.fault else step.orders:
            price = prices.get(order.symbol)
            # `close` and `hold` have no direction, whatever their weight.
            if price is None or order.weight is None or order.action not in {"buy", "sell"} or order.is_at_close:
                continue
            close = closes[columns[order.symbol]]
            if isfinite(close):
                yield order.confidence, order.weight, price, close
