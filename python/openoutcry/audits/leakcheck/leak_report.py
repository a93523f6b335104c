"""Report of a leak check, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openoutcry.audits.leakcheck.environment_target import Clock, Span
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import Comparison, Reach
from openoutcry.audits.leakcheck.leak_value import SignalSharpe
from openoutcry.untrusted.counted_nouns import counted

_SHOWN = 12


@dataclass(frozen=True)
class Leak:
    """A column that looks ahead.

    Attributes:
        reach: Horizon and first row of the leak.
        bar: Bar of the first leaking row.
        date: Date of that bar; None for data without dates.
        worth: Sharpe ratios of the column as a signal, without and with one bar of delay.
        unpriced: Why `worth` is empty; None otherwise.
        comparison: Values on the unchanged and on the perturbed data; None for a column without numbers.
    """

    reach: Reach
    bar: int
    date: str | None
    worth: tuple[SignalSharpe, ...]
    unpriced: str | None
    comparison: Comparison | None

    def to_dict(self) -> dict[str, Any]:
        """Return the leak as JSON types."""
        return {
            "column": self.reach.column,
            "horizon": self.reach.horizon,
            "whole_sample": self.reach.is_whole,
            "first_row": self.reach.first,
            "first_bar": self.bar,
            "first_date": self.date,
            "perturbations": list(self.reach.kinds),
            "worth": {
                each.signal: {"sharpe": each.sharpe, "one_bar_later": each.delayed, "bought": each.drop}
                for each in self.worth
            },
            "unpriced": self.unpriced,
        }

    def __str__(self) -> str:
        ahead = f"{self.reach.horizon} bar{'' if self.reach.horizon == 1 else 's'} ahead"
        ahead += ", to the end of the data" if self.reach.is_whole else ""
        first = f"row {self.reach.first}" + ("" if self.date is None else f" ({self.date})")
        summary = f"`{self.reach.column}` looks {ahead}, first at {first}; changed by {', '.join(self.reach.kinds)}"
        if not self.worth:
            return f"{summary}; Sharpe unknown: {self.unpriced}"
        best = max(self.worth, key=lambda each: each.drop)
        return f"{summary}; Sharpe {best.sharpe:.2f} as {best.signal}, {best.delayed:.2f} one bar later"


@dataclass(frozen=True)
class Report:
    """Result of a leak check.

    Attributes:
        target: Name of the target.
        kind: `pipeline`, `env` or `agent`.
        source: Data of the check.
        columns: Names of the compared columns.
        n_cuts: Number of bars after which the data was perturbed.
        n_runs: Number of runs on perturbed data.
        leaks: Columns that look ahead.
        errors: Errors of the target by perturbation: their number and the most common message.
        unchecked: Cuts at which the target raised on every perturbation.
        clock: Bar of the first observation of an environment; None for other targets.
        span: Extent of the episode of an environment; None for other targets.
        not_compared: Outputs that are neither number nor text, with their type.
        unsure: Columns whose changes do not distinguish a leak from a false positive; not counted as leaks.
        rounded: Columns in `unsure` that change by rounding next to large values.
        untried: Perturbations without a comparable output at any cut.
        without: Perturbations that were skipped.
        responds_to_data: Whether any output depends on the data; None if unknown.
    """

    target: str
    kind: str
    source: Source
    columns: tuple[str, ...]
    n_cuts: int
    n_runs: int
    leaks: tuple[Leak, ...]
    errors: dict[str, tuple[int, str]]
    unchecked: tuple[int, ...]
    clock: Clock | None
    span: Span | None
    not_compared: tuple[str, ...]
    unsure: tuple[str, ...]
    responds_to_data: bool | None
    rounded: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether no column looks ahead and every perturbation ran at least once."""
        return not self.leaks and not self.untried

    @property
    def incomplete(self) -> str | None:
        """Error message if no leak was found and a perturbation never ran, else None."""
        if self.leaks or not self.untried:
            return None
        kinds, why = " and ".join(self.untried), "no output at or before a cut"
        raised = self.errors.get(self.untried[0])
        received = why if raised is None else raised[1]
        hint = f"hint: `--without {' --without '.join(self.untried)}` skips what the target does not support"
        return f"`target` must run with {kinds} at one cut at least; received {received}; {hint}"

    @property
    def early_end(self) -> str | None:
        """Message about an episode that ended before the data; None otherwise."""
        last = self.source.n_bars - 1
        if self.span is None or not self.span.ended_by or self.span.last >= last:
            return None
        return f"the episode ended at bar {self.span.last} of {last} ({' and '.join(self.span.ended_by)})"

    @property
    def n_columns(self) -> int:
        """Number of columns, including those that exist only on perturbed data."""
        return len({*self.columns, *(leak.reach.column for leak in self.leaks)})

    @property
    def notes(self) -> list[str]:
        """Remarks on the check, one sentence each."""
        notes = [self.incomplete] if self.incomplete else []
        notes += [
            f"{counted(count, 'run')} with {kind} had no output to compare, which is not a leak: {message}"
            for kind, (count, message) in self.errors.items()
        ]
        if self.without:
            notes.append(
                f"skipped: {' and '.join(self.without)}; a leak that only this perturbation reveals is not found"
            )
        if self.unchecked:
            notes.append(
                f"not checked at bars {', '.join(map(str, self.unchecked))}: the target raised on every perturbation"
            )
        notes += self._episode_notes()
        if self.source.is_unordered:
            notes.append(
                "the rows are not in the order of their dates: the verdict is for this order, in which a shift of rows "
                "does not read the bar before"
            )
        if self.responds_to_data is False:
            notes.append("no output changes with the data: the target may not read its input frame")
        if self.rounded:
            why = "by rounding errors next to large values, as in an FFT of the complete column"
            notes.append(f"not counted: {_listed(self.rounded)}: only garbage changes it, {why}")
        if nan_spread := tuple(name for name in self.unsure if name not in self.rounded):
            effect = "only later NaN change it, and make all of it NaN or one value"
            effect += ", as an FFT or a matrix product does"
            why = "this could reveal only whether later data is missing, and no data is missing"
            notes.append(f"not counted: {_listed(nan_spread)}: {effect}; {why}")
        if any(leak.reach.kinds == ("nan",) for leak in self.leaks):
            notes.append("a column that only NaN changes reveals which data is missing, or a transform spreads NaN")
        if any(leak.reach.kinds == ("truncation",) for leak in self.leaks):
            notes.append(
                "a column that only truncation changes depends on the length of the data, or drops its last rows"
            )
        return notes

    def _episode_notes(self) -> list[str]:
        notes = []
        if self.clock is not None:
            start = f"the first observation is of bar {self.clock.start}"
            if self.clock.known_from == "length" and self.span is not None:
                assumption = f"assuming that the episode of {counted(self.span.n_steps, 'step')} ends with the data"
                notes.append(f"{start} at the latest, {assumption}")
            else:
                notes.append(f"{start}, known from {self.clock.known_from}")
        if self.early_end is not None:
            notes.append(f"{self.early_end}; nothing later was compared")
        if self.not_compared:
            notes.append(f"not compared, neither number nor text: {_listed(self.not_compared)}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types."""
        return {
            "target": self.target,
            "kind": self.kind,
            "clean": self.is_clean,
            "n_rows": len(self.source.rows),
            "n_bars": self.source.n_bars,
            "columns": list(self.columns),
            "n_cuts": self.n_cuts,
            "n_runs": self.n_runs,
            "leaks": [leak.to_dict() for leak in self.leaks],
            "errors": {kind: {"count": count, "message": text} for kind, (count, text) in self.errors.items()},
            "unchecked": list(self.unchecked),
            "answers": self.responds_to_data,
            "clock": None if self.clock is None else {"start": self.clock.start, "told_by": self.clock.known_from},
            "episode": None if self.span is None else self.span.to_dict(),
            "not_compared": list(self.not_compared),
            "unsure": list(self.unsure),
            "untried": list(self.untried),
            "without": list(self.without),
        }

    def __str__(self) -> str:
        summary = f"{self.target} ({self.kind}): {len(self.leaks)} of {self.n_columns:,} columns look ahead"
        lines = [f"  {leak}" for leak in self.leaks[:_SHOWN]]
        if len(self.leaks) > _SHOWN:
            lines.append(f"  and {len(self.leaks) - _SHOWN} more")
        return "\n".join([summary, *lines, *(f"  note: {note}" for note in self.notes)])


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
