"""Find look-ahead in feature pipelines, environments and agents.

The future after a bar is replaced; whatever a target gave for that bar or one before it must stay as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openoutcry.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.leakcheck import market
from openoutcry.leakcheck.report import Leak, Report
from openoutcry.leakcheck.search import CUTS, Reach, Search, cuts_of
from openoutcry.leakcheck.source import Source, source_of
from openoutcry.leakcheck.target import checked_kind, guess, renewed, target_of
from openoutcry.leakcheck.worth import worth_of

__all__ = ["Leak", "Report", "assert_no_lookahead", "check"]


def check(
    target: Callable[..., Any],
    frame: Any = None,
    *,
    kind: str | None = None,
    n_cuts: int = CUTS,
    start: int | None = None,
    rtol: float | None = None,
    periods_per_year: float = 252.0,
    name: str = "",
    fresh: Callable[[], Callable[..., Any] | None] | None = None,
) -> Report:
    """Return which columns of a target look ahead.

    Args:
        target: A pipeline `f(frame) -> frame`, a factory `f(frame) -> gymnasium.Env`, an agent `f(observation) ->
            decision`, or a factory `f(frame) -> agent`. The rows that a pipeline returns are those it was given.
        frame: A pandas or polars frame, a structured or 2-D array, or a `Dataset`; None for a synthetic market. Rows
            of one date are one bar; without dates each row is one.
        kind: `pipeline`, `env` or `agent`; None to guess it.
        n_cuts: Bars after which the future is replaced, some of them within the first rows.
        start: Bar of an environment's first observation; None to find it.
        rtol: Relative tolerance; None for 1e-9, and 1e-5 where values are float32.
        periods_per_year: Bars a year, for Sharpe ratios.
        name: What the report calls the target.
        fresh: Makes a target that was never called, to find one that keeps something between calls, such as a scaler
            that is fitted once; None, also for what it makes, to leave that out.

    Raises:
        OpenOutcryError: the target cannot be checked: it raises on the data as it is, does not give the same twice, or
            returns something whose rows or bars cannot be told.
    """
    source, kind = _prepared(target, frame, checked_kind(kind))
    if n_cuts < 1:
        raise refusal("argument_invalid", f"`n_cuts` must be at least 1; received {n_cuts}")
    subject = target_of(target, kind, start)
    search = Search(subject, source, rtol)
    if fresh is not None and (again := fresh()) is not None:
        search.meet(renewed(subject, again))
    leaks = tuple(_leak(reach, search, periods_per_year) for reach in search.reaches(n_cuts))
    errors = {each: (sum(told.values()), told.most_common(1)[0][0]) for each, told in search.errors.items()}
    return Report(
        target=name or getattr(target, "__name__", type(target).__name__),
        kind=kind,
        source=source,
        columns=tuple(search.base.columns),
        n_cuts=len(cuts_of(source.n_bars, n_cuts)),
        n_runs=search.n_runs,
        leaks=leaks,
        errors=errors,
        unchecked=tuple(search.unchecked()),
        clock=getattr(subject, "clock", None),
        span=getattr(subject, "span", None),
        unread=getattr(subject, "unread", ()),
        unsure=tuple(search.unsure),
        answers=search.answers(),
    )


def _leak(reach: Reach, search: Search, periods_per_year: float) -> Leak:
    source = search.source
    bar = int(search.base.bars[reach.first])
    worth, why = worth_of(reach.column, search.base, source, periods_per_year)
    date = None if source.dates is None else source.dates[bar]
    return Leak(reach, bar, date, worth, why, search.glimpse(reach))


def assert_no_lookahead(target: Callable[..., Any], frame: Any = None, **settings: Any) -> Report:
    """Raise an AssertionError that names each column that looks ahead.

    Args:
        target: As in `check`, as is all that follows.
        frame: The data, a synthetic market by default.
        **settings: `kind`, `n_cuts`, `start`, `rtol`, `periods_per_year`, `name`, `fresh`.

    Returns:
        The report, where nothing does.
    """
    __tracebackhide__ = True
    report = check(target, frame, **settings)
    if not report.is_clean:
        raise AssertionError(str(report))
    return report


def _prepared(target: Callable[..., Any], frame: Any, kind: str | None) -> tuple[Source, str]:
    """Return the market of a check, and the kind of its target."""
    library = market.library_of(None)
    if frame is not None and not isinstance(frame, Dataset):
        source = source_of(frame)
        return source, kind or guess(target, [source])

    def made(each: str) -> Source:
        if isinstance(frame, Dataset):
            return source_of(market.of_dataset(frame, each, library))
        return source_of(market.synthetic(each, library))

    guessed = kind or guess(target, map(made, ("pipeline", "agent")))
    return made(guessed), guessed
