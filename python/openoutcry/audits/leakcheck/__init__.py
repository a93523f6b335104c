"""Look-ahead detection for feature pipelines, environments and agents.

`check` perturbs the data after a bar and reruns the target: outputs up to that bar must not change. The command is
`openoutcry leakcheck`. Imports the core and the charts of `report`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.audits.leakcheck import market_frames
from openoutcry.audits.leakcheck.cut_points import CUTS
from openoutcry.audits.leakcheck.episode_trace import LAYOUT, SPACES
from openoutcry.audits.leakcheck.frame_columns import Source, source_of
from openoutcry.audits.leakcheck.leak_report import Leak, Report
from openoutcry.audits.leakcheck.leak_search import Reach, Search
from openoutcry.audits.leakcheck.leak_value import signal_sharpes
from openoutcry.audits.leakcheck.perturbation import KINDS
from openoutcry.audits.leakcheck.target_lookup import guess_kind, same_kind_target, target_of, validated_kind
from openoutcry.audits.leakcheck.target_trace import Trace, not_missing
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
    periods_per_year: float | None = None,
    name: str = "",
    fresh: Callable[[], Callable[..., Any] | None] | None = None,
    without: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Find the output columns of a target that look ahead.

    Args:
        target: A pipeline `f(frame) -> frame`, a factory `f(frame) -> gymnasium.Env`, an agent `f(observation) ->
            decision`, or a factory `f(frame) -> agent`. A pipeline returns the rows of its input.
        frame: A pandas or polars frame, a structured or 2-D array, or a `Dataset`; None for a synthetic market. Rows
            with the same date form one bar; without dates each row is a bar.
        kind: `pipeline`, `env` or `agent`; None to guess it.
        n_cuts: Number of bars after which the data is perturbed. Up to half as many are added where columns start.
        start: Bar of the first observation of an environment; None to infer it.
        rtol: Relative tolerance; None for 1e-9, and 1e-5 for float32 values.
        periods_per_year: Bars per year, for Sharpe ratios; by default those that the dates show.
        name: Name of the target in the report.
        fresh: Returns a new target, to detect state that is kept between calls. None, or a result of None, skips this.
        without: Perturbations to skip because the target does not support them: `garbage`, `nan`, `permutation` or
            `truncation`.
        progress: Called with the number of finished runs and the total, before leaks are measured.

    Raises:
        OpenOutcryError: the target cannot be checked: it raises on the unchanged data, is not deterministic, or
            returns rows that cannot be aligned with the input.
    """
    source, kind = _prepared(target, frame, validated_kind(kind))
    if n_cuts < 1:
        raise refusal("argument_invalid", f"`n_cuts` must be at least 1; received {n_cuts}")
    if unknown := [each for each in without if each not in KINDS]:
        raise refusal("argument_invalid", f"`without` must contain only {', '.join(KINDS)}; received {unknown[0]!r}")
    if not (kinds := tuple(each for each in KINDS if each not in without)):
        raise refusal("argument_invalid", "`without` must leave at least one perturbation; received all of them")
    subject = target_of(target, kind, start)
    search = Search(subject, source, rtol, kinds, progress)
    if fresh is not None and (fresh_function := fresh()) is not None:
        search.check_stateless(same_kind_target(subject, fresh_function))
    leaks = tuple(_leak(reach, search, periods_per_year) for reach in search.reaches(n_cuts))
    errors = {kind: (sum(counts.values()), counts.most_common(1)[0][0]) for kind, counts in search.errors.items()}
    return Report(
        target=name or getattr(target, "__name__", type(target).__name__),
        kind=kind,
        source=source,
        columns=_compared_columns(search.base),
        n_cuts=search.n_cuts,
        n_runs=search.n_runs,
        leaks=leaks,
        errors=errors,
        unchecked=tuple(search.unchecked()),
        clock=getattr(subject, "clock", None),
        span=getattr(subject, "span", None),
        not_compared=(
            *getattr(subject, "not_compared", ()),
            *(f"{name} (differs from run to run)" for name in search.varies),
        ),
        unsure=tuple(search.unsure),
        responds_to_data=search.responds_to_data(),
        rounded=tuple(search.rounded),
        untried=tuple(search.untried),
        without=tuple(each for each in KINDS if each not in kinds),
    )


def _shown_periods(source: Source) -> float | None:
    """Return the bars per year that the dates of a frame show."""
    return None if source.dates is None else native.inferred_periods_per_year(list(source.dates))


def _compared_columns(base: Trace) -> tuple[str, ...]:
    """Return the columns of values, without layouts, spaces and empty ones."""
    return tuple(
        name
        for name, values in base.columns.items()
        if not name.endswith(LAYOUT)
        and name.split(".")[0].split("[")[0] not in SPACES
        and (name not in base.free_text | base.optional or any(value != "" for value in values[not_missing(values)]))
    )


def _leak(reach: Reach, search: Search, periods_per_year: float | None) -> Leak:
    source = search.source
    bar = int(search.base.bars[reach.first])
    periods = _shown_periods(source) if periods_per_year is None else periods_per_year
    sharpes, why = signal_sharpes(reach.column, search.base, source, periods)
    date = None if source.dates is None else source.dates[bar]
    return Leak(reach, bar, date, sharpes, why, search.comparison(reach))


def assert_no_lookahead(target: Callable[..., Any], frame: Any = None, **settings: Any) -> Report:
    """Assert that no output column of a target looks ahead.

    Args:
        target: As in `check`.
        frame: The data; a synthetic market by default.
        **settings: `kind`, `n_cuts`, `start`, `rtol`, `periods_per_year`, `name`, `fresh`, `without`, `progress`.

    Returns:
        The report of a target without look-ahead.

    Raises:
        AssertionError: a column looks ahead; the message names every such column.
        OpenOutcryError: the target cannot be checked, or a perturbation could not run at any cut.
    """
    __tracebackhide__ = True
    report = check(target, frame, **settings)
    if report.leaks:
        raise AssertionError(str(report))
    if report.incomplete:
        raise refusal("argument_invalid", report.incomplete)
    return report


def _prepared(target: Callable[..., Any], frame: Any, kind: str | None) -> tuple[Source, str]:
    """Return the data of a check and the kind of its target."""
    library = market_frames.library_of(None)
    if frame is not None and not isinstance(frame, Dataset):
        source = source_of(frame)
        return source, kind or guess_kind(target, [source])

    def source_for(layout: str) -> Source:
        if isinstance(frame, Dataset):
            return source_of(market_frames.from_dataset(frame, layout, library))
        return source_of(market_frames.synthetic(layout, library))

    guessed = kind or guess_kind(target, map(source_for, ("pipeline", "agent")))
    return source_for(guessed), guessed
