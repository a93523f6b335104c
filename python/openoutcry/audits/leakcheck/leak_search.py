"""Search for leaks: perturb the data at each cut and bisect each change's horizon."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.column_layout import ROWS, is_explained, layout_changes, same_order
from openoutcry.audits.leakcheck.cut_points import cuts_of_trace
from openoutcry.audits.leakcheck.false_positives import collapsed_columns, is_complete, is_rounding
from openoutcry.audits.leakcheck.frame_columns import Rows, Source
from openoutcry.audits.leakcheck.perturbation import KINDS
from openoutcry.audits.leakcheck.target_trace import Mask, Trace, changes
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

# Perturbations that may end an episode like the end of the data, because rows of NaN may be dropped.
_MAY_END_DATA = ("nan", "truncation")

# Repeated runs that determine whether the row order is deterministic or depends on threads.
_ORDER_RUNS = 4

# Errors of a target. SystemExit is included, because it would end the check as if the target were clean.
TARGET_ERRORS = (Exception, SystemExit)


class Target(Protocol):
    """A pipeline, environment or agent that maps data to a trace."""

    kind: str

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return the outputs of the target, at least up to `cut` if it is given."""

    def start_bar(self, source: Source) -> int | None:
        """Return the bar of the first output; None for the first bar or if unknown."""


@dataclass(frozen=True)
class Reach:
    """Horizon of a column that looks ahead.

    Attributes:
        column: Name of the column.
        kinds: Perturbations that changed it.
        first: First row that changed, ordered by bars.
        horizon: Maximum number of bars that a value looks ahead.
        is_whole: Whether the last bar of the data changes values in its first half.
        kind: Perturbation that measured the horizon.
        cut: Cut that measured the horizon.
    """

    column: str
    kinds: tuple[str, ...]
    first: int
    horizon: int
    is_whole: bool
    kind: str
    cut: int


@dataclass(frozen=True)
class Comparison:
    """A column on the unchanged and the perturbed data.

    Shape `(n_bars,)`, float64.
    """

    bars: Rows
    base: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]


@dataclass
class Search:
    """Cached runs of one target on the perturbations of one data set."""

    target: Target
    source: Source
    rtol: float | None = None
    kinds: tuple[str, ...] = tuple(KINDS)
    progress: Callable[[int, int], None] | None = None
    base: Trace = field(init=False)
    errors: dict[str, Counter[str]] = field(default_factory=dict)
    n_runs: int = 0
    n_cuts: int = 0
    unsure: list[str] = field(default_factory=list)
    rounded: list[str] = field(default_factory=list)
    varies: set[str] = field(default_factory=set)
    _compared_kinds: set[str] = field(default_factory=set)
    _collapsed: dict[int, dict[str, float]] = field(default_factory=dict)
    _seen: dict[tuple[str, int], dict[str, Rows] | None] = field(default_factory=dict)
    _traces: dict[tuple[str, int], Trace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self._first_run()

    @property
    def last(self) -> int:
        """Last possible cut: one bar follows it."""
        return self.source.n_bars - 2

    def changed(self, kind: str, cut: int) -> dict[str, Rows] | None:
        """Return the rows of each column that change; None if the target raises."""
        if (kind, cut) not in self._seen:
            self._seen[kind, cut] = self._compared(kind, cut)
        return self._seen[kind, cut]

    def other(self, kind: str, cut: int) -> Trace:
        """Run the target on perturbed data."""
        self.n_runs += 1
        return run_silently(self.target, KINDS[kind](self.source, cut), self.source, cut)

    def reaches(self, n_cuts: int) -> list[Reach]:
        """Return the columns that look ahead, and store the `unsure` ones."""
        cuts = cuts_of_trace(self.base, self.source.n_bars, n_cuts)
        self.n_cuts = len(cuts)
        for place, cut in enumerate(cuts):
            for number, kind in enumerate(self.kinds, 1):
                self.changed(kind, cut)
                if self.progress is not None:
                    self.progress(place * len(self.kinds) + number, len(cuts) * len(self.kinds))
        if all(each is None for each in self._seen.values()):
            messages = "; ".join(f"{kind}: {next(iter(counts))}" for kind, counts in self.errors.items())
            raise refusal("argument_invalid", f"`target` must run on a perturbation; received errors: {messages}")
        changed = self._by_column()
        self.rounded = [column for column, kinds in changed.items() if self._is_rounded(column, kinds)]
        self.unsure = [
            column for column, kinds in changed.items() if column in self.rounded or self._is_nan_spread(column, kinds)
        ]
        found = [self._reach(column, kinds) for column, kinds in changed.items() if column not in self.unsure]
        self._check(run_silently(self.target, self.source, self.source, None), "after runs on perturbed data")
        return [reach for reach in found if reach.column not in self.varies]

    def _by_column(self) -> dict[str, tuple[str, ...]]:
        """Return the perturbations that change each column."""
        names = [*self.base.columns, *(name for each in self._seen.values() for name in each or {})]
        changed = {name: kinds for name in dict.fromkeys(names) if (kinds := self._kinds(name))}
        if ROWS in changed and not self._has_stable_order():
            del changed[ROWS]
        return {name: kinds for name, kinds in changed.items() if not is_explained(name, changed)}

    def _has_stable_order(self) -> bool:
        """Return whether repeated runs return rows in the same order."""
        again = (run_silently(self.target, self.source, self.source, None) for _ in range(_ORDER_RUNS))
        return all(same_order(self.base, each) for each in again)

    @property
    def untried(self) -> list[str]:
        """Perturbations without a comparable output at any cut."""
        return [kind for kind in self.kinds if kind not in self._compared_kinds]

    def responds_to_data(self) -> bool | None:
        """Return whether any output depends on the data after the first bar.

        Returns None if the target raises.
        """
        try:
            other = self._with_garbage(self.target)
        except TARGET_ERRORS:
            return None
        return any(rows.any() for rows in changes(self.base, other, self.source.n_bars, self.rtol).values())

    def check_stateless(self, fresh: Target) -> None:
        """Compare the target with a fresh one that has not been called before.

        Raises:
            OpenOutcryError: `argument_invalid`: the target keeps state between calls.
        """
        try:
            first, later = self._with_garbage(fresh), self._with_garbage(self.target)
        except TARGET_ERRORS:
            return
        for column, differs in changes(later, first, self.source.n_bars, self.rtol).items():
            if differs.any():
                row = int(np.flatnonzero(differs)[0])
                required = "`target` must return the same values for the same data, regardless of earlier calls"
                hint = "hint: it keeps state between calls, such as a fitted scaler or a cache"
                message = f"{required}; received a different `{column}` at row {row} after a fresh import; {hint}"
                raise refusal("argument_invalid", message)

    def _with_garbage(self, target: Target) -> Trace:
        return run_silently(target, KINDS["garbage"](self.source, 0), self.source, None)

    def comparison(self, reach: Reach) -> Comparison | None:
        """Return the values that show a leak; None for a column without numbers."""
        if (reach.kind, reach.cut) not in self._traces:
            self._traces[reach.kind, reach.cut] = self.other(reach.kind, reach.cut)
        other = self._traces[reach.kind, reach.cut]
        if reach.column not in self.base.numbers or reach.column not in other.numbers:
            return None
        rows = np.flatnonzero(self._rows_of_symbol(reach.first))
        bars = self.base.bars[rows]
        rows, bars = rows[np.argsort(bars, kind="stable")], np.sort(bars)
        now, then = (each.shown(reach.column)[rows] for each in (self.base, other))
        return Comparison(bars, now, then)

    def _rows_of_symbol(self, row: int) -> Any:
        """Return a mask of the rows with the symbol of a row."""
        names = None if self.source.name is None else self.source.columns[self.source.name]
        if names is None or len(names) != len(self.base.bars):
            return np.ones(len(self.base.bars), dtype=bool)
        return names == names[row]

    def unchecked(self) -> list[int]:
        """Return the cuts at which the target raised on every perturbation."""
        cuts = sorted({cut for _, cut in self._seen})
        return [cut for cut in cuts if all(self._seen.get((kind, cut)) is None for kind in self.kinds)]

    def _first_run(self) -> Trace:
        try:
            base = run_silently(self.target, self.source, self.source, None)
        except OpenOutcryError:
            # The message already states the requirement; errors of the target itself are wrapped below.
            raise
        except TARGET_ERRORS as error:
            raise refusal(
                "argument_invalid", f"`target` must run on the unchanged data; received {error_text(error)}"
            ) from error
        if not base.columns or not base.present.any():
            raise refusal("shape_mismatch", "`target` must return at least one column and row; received none")
        self.base = base
        again = run_silently(self.target, self.source, self.source, None)
        self._check(again, "in a second run")
        return base if same_order(base, again) else replace(base, order=None)

    def _check(self, again: Trace, when: str) -> None:
        for column, differs in changes(self.base, again, self.source.n_bars, self.rtol).items():
            if differs.any() and column in self.base.free_text:
                self.varies.add(column)
            elif differs.any():
                row = int(np.flatnonzero(differs)[0])
                required = "`target` must return the same values for the same data"
                message = f"{required}; received a different `{column}` at row {row} {when}; hint: fix its random seeds"
                raise refusal("argument_invalid", message)

    def _compared(self, kind: str, cut: int) -> dict[str, Rows] | None:
        try:
            other = self.other(kind, cut)
        except TARGET_ERRORS as error:  # an error on perturbed data is reported, and is not a leak
            self.errors.setdefault(kind, Counter())[error_text(error)] += 1
            return None
        if len(other.bars) != len(self.base.bars):
            self.errors.setdefault(kind, Counter())["a result with another number of rows"] += 1
            return None
        differ = changes(self.base, other, cut, self.rtol)
        for flag in self.base.flags & differ.keys():
            differ[flag] &= self._unexplained_end(flag, other, kind, cut) if differ[flag].any() else False
        differ |= layout_changes(self.base, other, cut, self.source.columns)
        found = {column: rows for column, rows in differ.items() if rows.any() and column not in self.varies}
        if found and kind == "truncation" and (moved := self._other_start(cut)) is not None:
            message = f"the episode starts at another bar, {moved}, because the data is shorter"
            self.errors.setdefault(kind, Counter())[message] += 1
            return None
        shown = (self.base.bars <= cut) & self.base.present
        if self.base.is_whole or (shown & other.present).any():
            self._compared_kinds.add(kind)
        if kind == "nan":
            self._collapsed[cut] = collapsed_columns(self.base, other, cut, found)
        return {column: np.flatnonzero(rows) for column, rows in found.items()}

    def _other_start(self, cut: int) -> int | None:
        """Return the start bar on truncated data if it differs, else None."""
        if self._seen.get(("garbage", cut)):
            return None
        start = self.target.start_bar(self.source)
        other = None if start is None else self.target.start_bar(KINDS["truncation"](self.source, cut))
        return None if other == start else other

    def _unexplained_end(self, flag: str, other: Trace, kind: str, cut: int) -> Mask:
        """Return a mask of rows where the end of the data does not explain a flag.

        An environment may drop rows of garbage as outliers; the episode then ends as on truncated data.
        """
        rows = np.full(len(self.base.bars), kind not in _MAY_END_DATA)
        if kind != "garbage":
            return rows
        try:
            short = self.other("truncation", cut)
        except TARGET_ERRORS:  # no end to compare with
            return rows
        ends: Mask = (other.columns[flag] == 1.0) & (short.columns[flag] == 1.0)
        return rows & ~ends

    def _is_nan_spread(self, column: str, kinds: tuple[str, ...]) -> bool:
        """Return whether only NaN change a column, and turn all of it into one value.

        This reveals at most whether later data is missing, and nothing if no data is missing.
        """
        if kinds != ("nan",) or column not in self.base.numbers or not self._are_tried(self._hits(column, "nan")):
            return False
        if self.source.lacks_values and not is_complete(self.base, column):
            return False
        return self._is_one_value(column)

    def _is_one_value(self, column: str) -> bool:
        """Return whether NaN turn all of a column into one value, the same at each cut."""
        became = [self._collapsed[cut].get(column) for cut in self._hits(column, "nan")]
        return None not in became and len({str(each) for each in became}) <= 1

    def _is_rounded(self, column: str, kinds: tuple[str, ...]) -> bool:
        """Return whether a column changes only by rounding next to large numbers."""
        if kinds not in (("garbage",), ("garbage", "nan")) or not self._is_one_value(column):
            return False
        hits = self._hits(column, "garbage")
        return self._are_tried(hits) and all(is_rounding(self.base, self._full_trace(cut), column, cut) for cut in hits)

    def _full_trace(self, cut: int) -> Trace:
        """Run the target with garbage to the end of the data."""
        if ("full", cut) not in self._traces:
            changed = KINDS["garbage"](self.source, cut)
            self._traces["full", cut] = run_silently(self.target, changed, self.source, None)
        return self._traces["full", cut]

    def _are_tried(self, cuts: dict[int, Rows]) -> bool:
        """Return whether every perturbation ran at one of the cuts."""
        return all(any(self._seen.get((kind, cut)) is not None for cut in cuts) for kind in KINDS)

    def _kinds(self, column: str) -> tuple[str, ...]:
        hits = {kind for (kind, _), found in self._seen.items() if found and column in found}
        return tuple(kind for kind in KINDS if kind in hits)

    def _hits(self, column: str, kind: str) -> dict[int, Rows]:
        """Return the changed bars by cut."""
        found = {cut: each[column] for (of, cut), each in self._seen.items() if of == kind and each and column in each}
        return {cut: self.base.bars[rows] for cut, rows in found.items()}

    def _reach(self, column: str, kinds: tuple[str, ...]) -> Reach:
        kind = max(kinds, key=lambda each: len(self._hits(column, each)))
        self._bisect_first(column, kind)
        self._bisect_horizon(column, kind)
        hits = self._hits(column, kind)
        cut, bar = _farthest(hits)
        first_bar = min(int(bars.min()) for each in kinds for bars in self._hits(column, each).values())
        horizon = cut + 1 - bar
        is_whole = cut == self.last and horizon > self.source.n_bars // 2
        return Reach(column, kinds, int(np.flatnonzero(self.base.bars == first_bar)[0]), horizon, is_whole, kind, cut)

    def _bisect_first(self, column: str, kind: str) -> None:
        """Bisect cuts to find the first row that looks ahead."""
        hits = self._hits(column, kind)
        high = min(int(bars.min()) for bars in hits.values())
        low = max((cut for of, cut in self._seen if of == kind and cut < high and cut not in hits), default=-1)
        while high - low > 1:
            middle = (low + high) // 2
            rows = (self.changed(kind, middle) or {}).get(column)
            if rows is None:
                low = middle
            else:
                high = min(middle, int(self.base.bars[rows].min()))

    def _bisect_horizon(self, column: str, kind: str) -> None:
        """Bisect cuts to find the last bar that the farthest-looking value depends on."""
        low, bar = _farthest(self._hits(column, kind))
        step, high = 1, self.last + 1
        while low + 1 < high:
            middle = min(low + step, high - 1) if high > self.last else (low + high) // 2
            rows = (self.changed(kind, middle) or {}).get(column)
            if rows is not None and bool((self.base.bars[rows] == bar).any()):
                low, step = middle, step * 2
            else:
                high = middle


def _farthest(hits: dict[int, Rows]) -> tuple[int, int]:
    """Return the cut with the largest horizon, and the earliest bar that it changes."""
    cut = max(sorted(hits), key=lambda each: each - int(hits[each].min()))
    return cut, int(hits[cut].min())


def run_silently(target: Target, source: Source, original: Source, cut: int | None) -> Trace:
    """Run a target with warnings suppressed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return target.run(source, original, cut)


def error_text(error: BaseException) -> str:
    """Format an exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
