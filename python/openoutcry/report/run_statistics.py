"""What the page of a run says beyond it: luck, past ratios, stated confidence.

Statistics come from `openoutcry.scoring.skill`; here they are asked for and laid out for `openoutcry.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
"""Fewest returns of a rolling ratio; of fewer, its band holds everything."""

_LENGTHS = ("min_trl", "min_btl")
_Answer = Callable[[], tuple[float, ...]]


def rolling_of(run: Run) -> Rolling | None:
    """Return the Sharpe ratio of the last year at each bar, with its standard error.

    Of a run shorter than two years it is that of half the run; None where this is fewer than `MIN_WINDOW` returns.
    """
    excess, periods = run._core.excess, run.dataset.periods_per_year
    n_window = min(max(round(periods), MIN_WINDOW), len(excess) // 2)
    if n_window < MIN_WINDOW:
        return None
    rolled = skill.rolling_sharpe(excess, n_window, periods)
    before = np.full(n_window, np.nan)
    ratios, errors = (np.concatenate([before, values]) for values in (rolled.ratios, rolled.errors))
    return Rolling(n_window, ratios, errors)


def skill_of(run: Run, n_trials: int = 1) -> Skill | None:
    """Return what a ledger of `n_trials` lets be said of luck, this run among them.

    None where the Sharpe ratio is not the agent's: `run.caveats` says so.
    """
    if "sharpe" in run.caveats:
        return None
    excess, periods = run._core.excess, run.dataset.periods_per_year
    values: dict[str, float | None] = {"n_trials": float(n_trials), "n_returns": float(len(excess))}
    reasons: dict[str, str] = {}
    for names, compute in _questions(excess, periods, n_trials).items():
        found, reason = _ask(compute)
        values.update(zip(names, found, strict=True) if found else dict.fromkeys(names))
        reasons.update({} if found else dict.fromkeys(names, reason))
    ratio = values["sharpe_bar"]
    for name in _LENGTHS if ratio is not None and ratio <= 0.0 else ():
        if name in values:
            reasons[name] = "the Sharpe ratio is not above zero: no track is long enough"
    seen = power(len(excess), n_trials, periods_per_year=periods).sentence if len(excess) > 1 else ""
    return Skill(values, reasons, seen)


def _ask(compute: _Answer) -> tuple[tuple[float, ...], str]:
    """Return what the scorer answers, or nothing and why."""
    try:
        return compute(), ""
    except native.OpenOutcryError as error:
        return (), str(error).removeprefix(f"{error.slug}: ")


def _questions(excess: skill.Series, periods: float, n_trials: int) -> dict[tuple[str, ...], _Answer]:
    """Return what to ask of the scorer, by the names of what it answers."""

    def moments() -> skill.Moments:
        return skill.Moments.of(excess)

    def deflated() -> tuple[float, ...]:
        found = skill.deflate(moments(), n_trials)
        return found.dsr, found.psr, found.sr0, found.sigma

    asked: dict[tuple[str, ...], _Answer] = {
        ("dsr", "psr", "sr0", "sigma_sr"): deflated,
        ("sharpe_bar", "skew", "kurtosis"): lambda: (moments().sharpe, moments().skew, moments().kurtosis),
        ("min_trl",): lambda: (skill.min_track_record(moments()),),
        ("hac_se",): lambda: (skill.sharpe_errors(excess, periods).hac_standard_error,),
    }
    if n_trials > 1:
        asked["min_btl",] = lambda: (skill.min_backtest_years(n_trials, skill.sharpe_errors(excess, periods).sharpe),)
    return asked


def calibration_of(trace: Trace, symbols: tuple[str, ...]) -> Calibration:
    """Return stated confidence against outcomes, of the orders that were filled.

    The outcome is that of `skill.calibrate`, at the close of the bar of the fill.
    """
    orders = list(_filled(trace, symbols))
    try:
        found = skill.calibrate(orders)
    except native.OpenOutcryError:
        # Nobody stated anything, or nothing that an outcome could be held against.
        return Calibration([], None, 0, len(orders))
    bins = [Bin(b.low, b.high, b.confidence, b.hit_rate, b.n_orders, b.interval) for b in found.bins]
    base = found.hit_rate * (1.0 - found.hit_rate)
    return Calibration(bins, found.brier, found.n_stated, found.n_stated + found.n_absent, base)


def _filled(trace: Trace, symbols: tuple[str, ...]) -> Iterator[tuple[float | None, float, float, float]]:
    columns = {symbol: place for place, symbol in enumerate(symbols)}
    for step, closes in zip(trace.steps, trace.closes[1:].tolist(), strict=False):
        prices = {fill.symbol: fill.price for fill in reversed(step.fills)}
        for order in () if step.fault else step.orders:
            price = prices.get(order.symbol)
            # To close or to hold takes no direction, whatever the weight beside it says.
            if price is None or order.weight is None or order.action not in {"buy", "sell"}:
                continue
            close = closes[columns[order.symbol]]
            if isfinite(close):
                yield order.confidence, order.weight, price, close
