"""The search: cuts, other futures at each, and how far back a change reaches."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.column_layout import ROWS, is_explained, layout_changes, same_order
from openoutcry.audits.leakcheck.cut_points import cuts_for
from openoutcry.audits.leakcheck.false_positives import blotted, is_complete, is_rounding
from openoutcry.audits.leakcheck.frame_columns import Rows, Source
from openoutcry.audits.leakcheck.perturbation import KINDS
from openoutcry.audits.leakcheck.target_trace import Mask, Trace, changes
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

# Futures that may end an episode as the end of the data does: rows of NaN may be dropped.
_LACKING = ("nan", "truncation")

# Runs that tell whether the order of rows is that of the data, or of threads.
_ASKED = 4

# What a target may raise: one that ends the process would end the check, as if it were clean.
RAISED = (Exception, SystemExit)


class Target(Protocol):
    """Something that is given a market and says what it knew bar by bar."""

    kind: str

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return what the target knew; with `cut`, up to that bar will do."""

    def begins(self, source: Source) -> int | None:
        """Return the bar at which it begins; None for the first, or if unknown."""


@dataclass(frozen=True)
class Reach:
    """How far a column looks ahead.

    Attributes:
        column: Name of the column.
        kinds: The futures that changed it.
        first: Row of the first value that changed, by bars.
        horizon: Bars that the farthest value looks ahead.
        is_whole: Whether the last bar of the data changes values in its first half.
        kind: The future with which the horizon was measured.
        cut: The bar after which it began.
    """

    column: str
    kinds: tuple[str, ...]
    first: int
    horizon: int
    is_whole: bool
    kind: str
    cut: int


@dataclass(frozen=True)
class Glimpse:
    """A column as it is and with another future, each of shape `(n_bars,)`."""

    bars: Rows
    base: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]


@dataclass
class Search:
    """Runs of one target on one market with other futures, each made once."""

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
    _tried: set[str] = field(default_factory=set)
    _blots: dict[int, dict[str, float]] = field(default_factory=dict)
    _seen: dict[tuple[str, int], dict[str, Rows] | None] = field(default_factory=dict)
    _shown: dict[tuple[str, int], Trace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self._first_run()

    @property
    def last(self) -> int:
        """The last cut that has a future."""
        return self.source.n_bars - 2

    def changed(self, kind: str, cut: int) -> dict[str, Rows] | None:
        """Return the rows of each column that a future changes; None if it raises."""
        if (kind, cut) not in self._seen:
            self._seen[kind, cut] = self._compared(kind, cut)
        return self._seen[kind, cut]

    def other(self, kind: str, cut: int) -> Trace:
        """Return what the target knows with another future."""
        self.n_runs += 1
        return quietly(self.target, KINDS[kind](self.source, cut), self.source, cut)

    def reaches(self, n_cuts: int) -> list[Reach]:
        """Return the columns that look ahead, and keep what is `unsure`."""
        cuts = cuts_for(self.base, self.source.n_bars, n_cuts)
        self.n_cuts = len(cuts)
        for place, cut in enumerate(cuts):
            for number, kind in enumerate(self.kinds, 1):
                self.changed(kind, cut)
                if self.progress is not None:
                    self.progress(place * len(self.kinds) + number, len(cuts) * len(self.kinds))
        if all(each is None for each in self._seen.values()):
            told = "; ".join(f"{kind}: {next(iter(counts))}" for kind, counts in self.errors.items())
            raise refusal("argument_invalid", f"`target` must run on some other future; received errors: {told}")
        changed = self._by_column()
        self.rounded = [column for column, kinds in changed.items() if self._is_rounded(column, kinds)]
        self.unsure = [
            column for column, kinds in changed.items() if column in self.rounded or self._is_blotted(column, kinds)
        ]
        found = [self._reach(column, kinds) for column, kinds in changed.items() if column not in self.unsure]
        self._check(quietly(self.target, self.source, self.source, None), "after runs on other data")
        return [reach for reach in found if reach.column not in self.varies]

    def _by_column(self) -> dict[str, tuple[str, ...]]:
        """Return the futures that change each column."""
        names = [*self.base.columns, *(name for each in self._seen.values() for name in each or {})]
        changed = {name: kinds for name in dict.fromkeys(names) if (kinds := self._kinds(name))}
        if ROWS in changed and not self._keeps_order():
            del changed[ROWS]
        return {name: kinds for name, kinds in changed.items() if not is_explained(name, changed)}

    def _keeps_order(self) -> bool:
        """Return whether rows come in the same order, however often it is asked."""
        again = (quietly(self.target, self.source, self.source, None) for _ in range(_ASKED))
        return all(same_order(self.base, each) for each in again)

    @property
    def untried(self) -> list[str]:
        """The futures that gave nothing to compare at any cut."""
        return [kind for kind in self.kinds if kind not in self._tried]

    def answers(self) -> bool | None:
        """Return whether anything changes with the data after the first bar.

        None if the target raises there.
        """
        try:
            other = self._with_garbage(self.target)
        except RAISED:
            return None
        return any(rows.any() for rows in changes(self.base, other, self.source.n_bars, self.rtol).values())

    def meet(self, fresh: Target) -> None:
        """Refuse a target if a fresh one, which has seen no data yet, disagrees.

        Raises:
            OpenOutcryError: `argument_invalid`: it keeps something of the data it was called with before.
        """
        try:
            first, later = self._with_garbage(fresh), self._with_garbage(self.target)
        except RAISED:
            return
        for column, differs in changes(later, first, self.source.n_bars, self.rtol).items():
            if differs.any():
                row = int(np.flatnonzero(differs)[0])
                wanted = "`target` must give the same for the same data, whatever it was called with before"
                hint = "hint: it keeps something between calls, such as a fitted scaler or a cache"
                message = f"{wanted}; received another `{column}` at row {row} when it is imported anew; {hint}"
                raise refusal("argument_invalid", message)

    def _with_garbage(self, target: Target) -> Trace:
        return quietly(target, KINDS["garbage"](self.source, 0), self.source, None)

    def glimpse(self, reach: Reach) -> Glimpse | None:
        """Return the values that show a leak; None where they are no numbers."""
        if (reach.kind, reach.cut) not in self._shown:
            self._shown[reach.kind, reach.cut] = self.other(reach.kind, reach.cut)
        other = self._shown[reach.kind, reach.cut]
        if reach.column not in self.base.numbers or reach.column not in other.numbers:
            return None
        rows = np.flatnonzero(self._of_one(reach.first))
        bars = self.base.bars[rows]
        rows, bars = rows[np.argsort(bars, kind="stable")], np.sort(bars)
        now, then = (each.shown(reach.column)[rows] for each in (self.base, other))
        return Glimpse(bars, now, then)

    def _of_one(self, row: int) -> Any:
        """Return the rows of the symbol that a row is of."""
        names = None if self.source.name is None else self.source.columns[self.source.name]
        if names is None or len(names) != len(self.base.bars):
            return np.ones(len(self.base.bars), dtype=bool)
        return names == names[row]

    def unchecked(self) -> list[int]:
        """Return the cuts at which every future made the target raise."""
        cuts = sorted({cut for _, cut in self._seen})
        return [cut for cut in cuts if all(self._seen.get((kind, cut)) is None for kind in self.kinds)]

    def _first_run(self) -> Trace:
        try:
            base = quietly(self.target, self.source, self.source, None)
        except OpenOutcryError:
            # It says what is wanted already; what the target raised itself is told as its own.
            raise
        except RAISED as error:
            raise refusal(
                "argument_invalid", f"`target` must run on the data as it is; received {said(error)}"
            ) from error
        if not base.columns or not base.present.any():
            raise refusal("shape_mismatch", "`target` must give at least one column and row; received none")
        self.base = base
        again = quietly(self.target, self.source, self.source, None)
        self._check(again, "in a second run")
        return base if same_order(base, again) else replace(base, order=None)

    def _check(self, again: Trace, when: str) -> None:
        for column, differs in changes(self.base, again, self.source.n_bars, self.rtol).items():
            if differs.any() and column in self.base.words:
                self.varies.add(column)
            elif differs.any():
                row = int(np.flatnonzero(differs)[0])
                wanted = "`target` must give the same for the same data"
                message = f"{wanted}; received another `{column}` at row {row} {when}; hint: fix its seeds"
                raise refusal("argument_invalid", message)

    def _compared(self, kind: str, cut: int) -> dict[str, Rows] | None:
        try:
            other = self.other(kind, cut)
        except RAISED as error:  # whatever a target raises on garbage is told, and is no leak
            self.errors.setdefault(kind, Counter())[said(error)] += 1
            return None
        if len(other.bars) != len(self.base.bars):
            self.errors.setdefault(kind, Counter())["a result with a row for each date or for each row, not both"] += 1
            return None
        differ = changes(self.base, other, cut, self.rtol)
        for flag in self.base.flags & differ.keys():
            differ[flag] &= self._tells(flag, other, kind, cut) if differ[flag].any() else False
        differ |= layout_changes(self.base, other, cut, self.source.columns)
        found = {column: rows for column, rows in differ.items() if rows.any() and column not in self.varies}
        if found and kind == "truncation" and (moved := self._begins_elsewhere(cut)) is not None:
            message = f"an episode that begins at another bar, {moved}, since the data are shorter"
            self.errors.setdefault(kind, Counter())[message] += 1
            return None
        shown = (self.base.bars <= cut) & self.base.present
        if self.base.is_whole or (shown & other.present).any():
            self._tried.add(kind)
        if kind == "nan":
            self._blots[cut] = blotted(self.base, other, cut, found)
        return {column: np.flatnonzero(rows) for column, rows in found.items()}

    def _begins_elsewhere(self, cut: int) -> int | None:
        """Return where the target begins on shorter data, None if it is the same."""
        if self._seen.get(("garbage", cut)):
            return None
        start = self.target.begins(self.source)
        other = None if start is None else self.target.begins(KINDS["truncation"](self.source, cut))
        return None if other == start else other

    def _tells(self, flag: str, other: Trace, kind: str, cut: int) -> Mask:
        """Return the rows where a flag is not that of the end of the data.

        Rows of garbage may be dropped as outliers; then the episode ends as it does without them.
        """
        rows = np.full(len(self.base.bars), kind not in _LACKING)
        if kind != "garbage":
            return rows
        try:
            short = self.other("truncation", cut)
        except RAISED:  # without an end to compare with
            return rows
        ends: Mask = (other.columns[flag] == 1.0) & (short.columns[flag] == 1.0)
        return rows & ~ends

    def _is_blotted(self, column: str, kinds: tuple[str, ...]) -> bool:
        """Return whether a column changes by NaN alone, which make it one value.

        That tells whether later data are missing, and nothing where none of the data are.
        """
        if kinds != ("nan",) or column not in self.base.numbers or not self._are_tried(self._hits(column, "nan")):
            return False
        if self.source.lacks_values and not is_complete(self.base, column):
            return False
        return self._is_one_value(column)

    def _is_one_value(self, column: str) -> bool:
        """Return whether NaN make one value of a column, the same at each cut."""
        became = [self._blots[cut].get(column) for cut in self._hits(column, "nan")]
        return None not in became and len({str(each) for each in became}) <= 1

    def _is_rounded(self, column: str, kinds: tuple[str, ...]) -> bool:
        """Return whether a column changes by rounding beside large numbers alone."""
        if kinds not in (("garbage",), ("garbage", "nan")) or not self._is_one_value(column):
            return False
        hits = self._hits(column, "garbage")
        return self._are_tried(hits) and all(is_rounding(self.base, self._whole(cut), column, cut) for cut in hits)

    def _whole(self, cut: int) -> Trace:
        """Return what the target knows with garbage, to the end of the data."""
        if ("whole", cut) not in self._shown:
            changed = KINDS["garbage"](self.source, cut)
            self._shown["whole", cut] = quietly(self.target, changed, self.source, None)
        return self._shown["whole", cut]

    def _are_tried(self, cuts: dict[int, Rows]) -> bool:
        """Return whether every other future could be tried at one of the cuts."""
        return all(any(self._seen.get((kind, cut)) is not None for cut in cuts) for kind in KINDS)

    def _kinds(self, column: str) -> tuple[str, ...]:
        hits = {kind for (kind, _), found in self._seen.items() if found and column in found}
        return tuple(kind for kind in KINDS if kind in hits)

    def _hits(self, column: str, kind: str) -> dict[int, Rows]:
        """Return, by cut, the bars that changed so far."""
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
        """Run the cuts that tell the first row that looks ahead."""
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
        """Run the cuts that tell how late a bar the farthest value depends on."""
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
    """Return the cut with the change that reaches back most, and the bar it reaches."""
    cut = max(sorted(hits), key=lambda each: each - int(hits[each].min()))
    return cut, int(hits[cut].min())


def quietly(target: Target, source: Source, original: Source, cut: int | None) -> Trace:
    """Return the trace of a run whose warnings are not shown."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return target.run(source, original, cut)


def said(error: BaseException) -> str:
    """Return what an exception says, on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
