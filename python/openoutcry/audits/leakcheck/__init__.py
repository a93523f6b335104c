"""Find look-ahead in feature pipelines, environments and agents.

The future after a bar is replaced; whatever a target gave for that bar or one before it must stay as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openoutcry.audits.leakcheck import market_frames
from openoutcry.audits.leakcheck.cut_points import CUTS
from openoutcry.audits.leakcheck.episode_trace import LAYOUT, SPACES
from openoutcry.audits.leakcheck.frame_columns import Source, source_of
from openoutcry.audits.leakcheck.leak_report import Leak, Report
from openoutcry.audits.leakcheck.leak_search import Reach, Search
from openoutcry.audits.leakcheck.leak_value import worth_of
from openoutcry.audits.leakcheck.perturbation import KINDS
from openoutcry.audits.leakcheck.target_lookup import checked_kind, guess, renewed, target_of
from openoutcry.audits.leakcheck.target_trace import Trace, told
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

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
    without: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Return which columns of a target look ahead.

    Args:
        target: A pipeline `f(frame) -> frame`, a factory `f(frame) -> gymnasium.Env`, an agent `f(observation) ->
            decision`, or a factory `f(frame) -> agent`. The rows that a pipeline returns are those it was given.
        frame: A pandas or polars frame, a structured or 2-D array, or a `Dataset`; None for a synthetic market. Rows
            of one date are one bar; without dates each row is one.
        kind: `pipeline`, `env` or `agent`; None to guess it.
        n_cuts: Bars after which the future is replaced, some of them within the first rows. There are up to half as
            many more where columns begin.
        start: Bar of an environment's first observation; None to find it.
        rtol: Relative tolerance; None for 1e-9, and 1e-5 where values are float32.
        periods_per_year: Bars a year, for Sharpe ratios.
        name: What the report calls the target.
        fresh: Makes a target that was never called, to find one that keeps something between calls, such as a scaler
            that is fitted once; None, also for what it makes, to leave that out.
        without: Futures to leave out, of `garbage`, `nan`, `permutation` and `truncation`: those that the target is
            known not to take.
        progress: Is told how many runs are done and how many there are, before leaks are measured.

    Raises:
        OpenOutcryError: the target cannot be checked: it raises on the data as it is, does not give the same twice, or
            returns something whose rows or bars cannot be told.
    """
    source, kind = _prepared(target, frame, checked_kind(kind))
    if n_cuts < 1:
        raise refusal("argument_invalid", f"`n_cuts` must be at least 1; received {n_cuts}")
    if unknown := [each for each in without if each not in KINDS]:
        raise refusal("argument_invalid", f"`without` must be of {', '.join(KINDS)}; received {unknown[0]!r}")
    if not (kinds := tuple(each for each in KINDS if each not in without)):
        raise refusal("argument_invalid", "`without` must leave a future to try; received all of them")
    subject = target_of(target, kind, start)
    search = Search(subject, source, rtol, kinds, progress)
    if fresh is not None and (again := fresh()) is not None:
        search.meet(renewed(subject, again))
    leaks = tuple(_leak(reach, search, periods_per_year) for reach in search.reaches(n_cuts))
    errors = {each: (sum(told.values()), told.most_common(1)[0][0]) for each, told in search.errors.items()}
    return Report(
        target=name or getattr(target, "__name__", type(target).__name__),
        kind=kind,
        source=source,
        columns=_shown(search.base),
        n_cuts=search.n_cuts,
        n_runs=search.n_runs,
        leaks=leaks,
        errors=errors,
        unchecked=tuple(search.unchecked()),
        clock=getattr(subject, "clock", None),
        span=getattr(subject, "span", None),
        unread=(*getattr(subject, "unread", ()), *(f"{name} (differs from run to run)" for name in search.varies)),
        unsure=tuple(search.unsure),
        answers=search.answers(),
        rounded=tuple(search.rounded),
        untried=tuple(search.untried),
        without=tuple(each for each in KINDS if each not in kinds),
    )


def _shown(base: Trace) -> tuple[str, ...]:
    """Return the columns of values, without layouts and words nobody said."""
    return tuple(
        name
        for name, values in base.columns.items()
        if not name.endswith(LAYOUT)
        and name.split(".")[0].split("[")[0] not in SPACES
        and (name not in base.words or any(value != "" for value in values[told(values)]))
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
        **settings: `kind`, `n_cuts`, `start`, `rtol`, `periods_per_year`, `name`, `fresh`, `without`, `progress`.

    Returns:
        The report, where nothing does.

    Raises:
        OpenOutcryError: the target cannot be checked, or with one of the futures at no cut.
    """
    __tracebackhide__ = True
    report = check(target, frame, **settings)
    if report.leaks:
        raise AssertionError(str(report))
    if report.complaint:
        raise refusal("argument_invalid", report.complaint)
    return report


def _prepared(target: Callable[..., Any], frame: Any, kind: str | None) -> tuple[Source, str]:
    """Return the market of a check, and the kind of its target."""
    library = market_frames.library_of(None)
    if frame is not None and not isinstance(frame, Dataset):
        source = source_of(frame)
        return source, kind or guess(target, [source])

    def made(each: str) -> Source:
        if isinstance(frame, Dataset):
            return source_of(market_frames.of_dataset(frame, each, library))
        return source_of(market_frames.synthetic(each, library))

    guessed = kind or guess(target, map(made, ("pipeline", "agent")))
    return made(guessed), guessed
