"""Timing luck: the spread of results over the phases of a rebalancing schedule.

An agent that trades every k bars could as well have traded on any of the k - 1 bars between. The choice of the phase is
no skill, so results of all phases show what it contributed. Source: Hoffstein, Sibears and Faber (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, TextAgent
from openoutcry.arguments import checked_integer
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.strategies import Strategy

__all__ = ["COMPARED", "MOST_PHASES", "PhaseResult", "Spread", "TimingLuck", "timing_luck"]

Array = npt.NDArray[np.float64]
Bars = npt.NDArray[np.int64]
Maker = Callable[[], "Agent | TextAgent | Strategy"]

COMPARED = ("sharpe", "cagr", "max_drawdown")
"""Metrics with a spread over the phases."""
MOST_PHASES = 1_000
_LATER = "the recorded targets, traded later: a later phase uses older information"
_KEPT = "the recorded decisions of every kth bar only"
_RERUN = "the agent, started later"
_NO_RECORD = "an order on at least two bars is required; received {n}"
_EVERY_BAR = "it traded on every bar, so it chose no phase"


@dataclass(frozen=True)
class PhaseResult:
    """Metrics of one phase on the compared bars; None if undefined.

    Attributes:
        shift: Bars between the schedule of the run and this phase; 0 for its own.
        sharpe: Annual Sharpe ratio over the risk-free rate.
        cagr: Compound annual growth rate.
        max_drawdown: Maximum drawdown, at most 0.
        undefined: Why a metric is None.
    """

    shift: int
    sharpe: float | None
    cagr: float | None
    max_drawdown: float | None
    undefined: dict[str, str]


@dataclass(frozen=True)
class Spread:
    """One metric over all phases.

    Attributes:
        low: Lowest value.
        middle: Median.
        high: Highest value.
        own: Value of the run itself.
        share_below: Share of the phases with a lower value than the run, its own phase apart.
    """

    low: float
    middle: float
    high: float
    own: float
    share_below: float


@dataclass(frozen=True)
class TimingLuck:
    """Results of a run on every phase of its schedule.

    Attributes:
        period: Bars between rebalances, k; None if undefined.
        n_rebalances: Bars with an order.
        gaps: Shortest and longest number of bars between two of them; None for fewer than two.
        method: How a phase was computed, as text.
        first: Date before the first compared return.
        last: Date of the last one.
        n_returns: Compared returns: those after every phase has traded.
        own: The run itself on the compared bars.
        phases: Every phase; shift 0 has the schedule of the run.
        tranches: An account with 1/k of the NAV in each phase.
        spread: Spread of each metric that is defined for the run and every phase.
        reason: Why there is no result; empty otherwise.
    """

    period: int | None
    n_rebalances: int
    gaps: tuple[int, int] | None
    method: str = ""
    first: str | None = None
    last: str | None = None
    n_returns: int = 0
    own: PhaseResult | None = None
    phases: tuple[PhaseResult, ...] = ()
    tranches: PhaseResult | None = None
    spread: dict[str, Spread] | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return asdict(self)


def timing_luck(run: Run, *, every: int | None = None, agent: Maker | None = None) -> TimingLuck:
    """Return the results of a run on every phase of its rebalancing schedule.

    The phases are compared on the bars after each of them has traded, under the market, costs and limits of the run.

    Args:
        run: The run. Its period k is the median number of bars between two bars with orders.
        every: A period k instead. Phase p then has the decisions of bars p, p + k, p + 2 k, ... after the first order.
            For runs that trade on every bar.
        agent: Returns the agent of the run in its initial state. Phase p is then this agent, started p bars later,
            so that every phase uses recent prices. By default phase p has the recorded targets p bars later.

    Raises:
        OpenOutcryError: `every` is not an integer from 2 to 1,000, or the agent returns an invalid decision.
    """
    if every is not None:
        every = checked_integer("every", every, 2, MOST_PHASES)
    bars: Bars = np.flatnonzero(~np.isnan(run.decisions).all(axis=1))
    gaps = np.diff(bars)
    found = TimingLuck(every, len(bars), (int(gaps.min()), int(gaps.max())) if len(gaps) else None)
    period = every if every is not None else int(median(gaps.tolist())) if len(gaps) else 0
    if len(bars) < 2:
        return _without(found, _NO_RECORD.format(n=len(bars)))
    if period < 2:
        return _without(found, _EVERY_BAR)
    if period > MOST_PHASES:
        return _without(found, f"a period of at most {MOST_PHASES:,} bars is required; received {period:,}")
    first = int(bars[0]) + period
    if len(run.returns) - first < 2:
        return _without(found, f"at least 2 returns after bar {first} of the run are required; received fewer")
    if agent is not None:
        navs, method = [_started_later(run, agent, shift) for shift in range(period)], _RERUN
    else:
        targets = _kept if every is not None else _later
        navs = [_nav(run, targets(run.decisions, bars, period, shift)) for shift in range(period)]
        method = _KEPT if every is not None else _LATER
    return _compared(run, TimingLuck(period, found.n_rebalances, found.gaps, method), navs, first)


def _without(found: TimingLuck, reason: str) -> TimingLuck:
    return TimingLuck(None, found.n_rebalances, found.gaps, reason=reason)


def _later(decisions: Array, _: Bars, __: int, shift: int) -> Array:
    """Return each decision `shift` bars later."""
    targets = np.full_like(decisions, np.nan)
    targets[shift:] = decisions[: len(decisions) - shift]
    return targets


def _kept(decisions: Array, bars: Bars, period: int, shift: int) -> Array:
    """Return the decisions of every kth bar, first `shift` bars after the first order."""
    rows = slice(int(bars[0]) + shift, None, period)
    targets = np.full_like(decisions, np.nan)
    targets[rows] = decisions[rows]
    return targets


def _nav(run: Run, decisions: Array) -> Array:
    """Return the NAV of other decisions in the window of a run."""
    start, end = run._settings["window"]
    table = np.full((run.dataset.n_bars, run.dataset.n_symbols), np.nan)
    table[start : end - 1] = decisions
    return native.run_weights(run.dataset._core, table, run._settings).nav


def _started_later(run: Run, agent: Maker, shift: int) -> Array:
    """Return the NAV of an agent that starts some bars after the run: 1 until then."""
    settings = run._settings
    start, end = settings["window"]
    later = run_backtest(
        run.dataset,
        agent(),
        (start + shift, end),
        settings["costs"],
        settings["limits"],
        settings["seed"],
        lookback=settings["lookback"],
        fill_key=settings["fill_key"],
    )
    return np.concatenate([np.ones(shift), later.nav])


def _compared(run: Run, found: TimingLuck, navs: Sequence[Array], first: int) -> TimingLuck:
    """Return the metrics of navs from bar `first` of the run on."""
    phases = tuple(_phase(run, nav[first:], shift) for shift, nav in enumerate(navs))
    own = _phase(run, run.nav[first:], 0)
    # Each account has the same share at the first compared bar.
    shares = np.mean([nav[first:] / nav[first] for nav in navs if nav[first] > 0.0] or [np.zeros(2)], axis=0)
    return TimingLuck(
        found.period,
        found.n_rebalances,
        found.gaps,
        found.method,
        run.dates[first],
        run.dates[-1],
        len(run.returns) - first,
        own,
        phases,
        _phase(run, shares, 0),
        _spreads(own, phases, 0 if found.method == _KEPT else 1),
    )


def _phase(run: Run, nav: Array, shift: int) -> PhaseResult:
    if nav[0] <= 0.0:
        reason = "a NAV above 0 is required; received a ruined account"
        return PhaseResult(shift, None, None, None, dict.fromkeys(COMPARED, reason))
    before, after = nav[:-1], nav[1:]
    returns = np.where(before > 0.0, after / np.where(before > 0.0, before, 1.0) - 1.0, 0.0)
    rates, end = run.dataset.risk_free, run._settings["window"][1]
    risk_free = None if rates is None else np.ascontiguousarray(rates[end - len(returns) : end])
    metrics, undefined = native.summarize(
        np.ascontiguousarray(returns), periods_per_year=run.dataset.periods_per_year, risk_free=risk_free
    )
    return PhaseResult(
        shift,
        sharpe=metrics["sharpe"],
        cagr=metrics["cagr"],
        max_drawdown=metrics["max_drawdown"],
        undefined={name: undefined[name] for name in COMPARED if metrics[name] is None},
    )


def _spreads(own: PhaseResult, phases: Sequence[PhaseResult], n_own: int) -> dict[str, Spread]:
    """Return the spread of each metric that every phase has.

    The first `n_own` phases are the run itself.
    """
    spreads = {}
    for name in COMPARED:
        value, others = getattr(own, name), [getattr(phase, name) for phase in phases]
        if value is None or None in others:
            continue
        below = [other < value for other in others[n_own:]]
        spreads[name] = Spread(min(others), float(median(others)), max(others), value, sum(below) / len(below))
    return spreads
