"""What a check found, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openoutcry.audits.leakcheck.environment_target import Clock, Span
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import Glimpse, Reach
from openoutcry.audits.leakcheck.leak_value import Worth

_SHOWN = 12


@dataclass(frozen=True)
class Leak:
    """A column that looks ahead.

    Attributes:
        reach: How far, and from which row on.
        bar: Bar of the first row that does.
        date: Its date, None where the data has none.
        worth: What the column earns, now and one bar later.
        unpriced: Why `worth` is empty; None if it is not.
        glimpse: Its values as they are and with another future, None where they are no numbers.
    """

    reach: Reach
    bar: int
    date: str | None
    worth: tuple[Worth, ...]
    unpriced: str | None
    glimpse: Glimpse | None

    def to_dict(self) -> dict[str, Any]:
        """Return the leak as values that JSON can carry."""
        return {
            "column": self.reach.column,
            "horizon": self.reach.horizon,
            "whole_sample": self.reach.is_whole,
            "first_row": self.reach.first,
            "first_bar": self.bar,
            "first_date": self.date,
            "perturbations": list(self.reach.kinds),
            "worth": {
                each.signal: {"sharpe": each.sharpe, "one_bar_later": each.late, "bought": each.bought}
                for each in self.worth
            },
            "unpriced": self.unpriced,
        }

    def __str__(self) -> str:
        ahead = f"{self.reach.horizon} bar{'' if self.reach.horizon == 1 else 's'} ahead"
        ahead += ", to the end of the data" if self.reach.is_whole else ""
        first = f"row {self.reach.first}" + ("" if self.date is None else f" ({self.date})")
        told = f"`{self.reach.column}` looks {ahead}, first at {first}; changed by {', '.join(self.reach.kinds)}"
        if not self.worth:
            return f"{told}; Sharpe unknown: {self.unpriced}"
        best = max(self.worth, key=lambda each: each.bought)
        return f"{told}; Sharpe {best.sharpe:.2f} as {best.signal}, {best.late:.2f} one bar later"


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes:
        target: Name of what was checked.
        kind: `pipeline`, `env` or `agent`.
        source: The market it was checked on.
        columns: Names of the columns that were compared.
        n_cuts: Bars after which the future was replaced.
        n_runs: Runs on other futures.
        leaks: The columns that look ahead.
        errors: What the target raised, by kind of future: how often, and the commonest message.
        unchecked: Cuts at which the target raised with every future.
        clock: Which bar an observation of an environment is of; None for other targets.
        span: How far the episode of an environment went; None for other targets.
        unread: What an environment showed that is neither number nor text, with its type.
        unsure: Columns that change as they do where a leak is and where none is; they are not counted.
        rounded: Those of them that change by rounding, beside large values.
        untried: Futures that gave nothing to compare at any cut.
        without: Futures that were left out.
        answers: Whether anything compared changes with the data at all; None if that is not known.
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
    unread: tuple[str, ...]
    unsure: tuple[str, ...]
    answers: bool | None
    rounded: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether no column looks ahead, and each future could be tried."""
        return not self.leaks and not self.untried

    @property
    def complaint(self) -> str | None:
        """Why a target without a leak is not clean; None where it is, or leaks."""
        if self.leaks or not self.untried:
            return None
        kinds, why = " and ".join(self.untried), "nothing at or before a cut was shown"
        raised = self.errors.get(self.untried[0])
        received = why if raised is None else raised[1]
        hint = f"hint: `--without {' --without '.join(self.untried)}` leaves out what it cannot be given"
        return f"`target` must run with {kinds} at one cut at least; received {received}; {hint}"

    @property
    def ending(self) -> str | None:
        """Where the episode ended before the data did; None where it did not."""
        last = self.source.n_bars - 1
        if self.span is None or not self.span.ended_by or self.span.last >= last:
            return None
        return f"the episode ended at bar {self.span.last} of {last} ({' and '.join(self.span.ended_by)})"

    @property
    def n_columns(self) -> int:
        """Number of columns there are, with those that only another future has."""
        return len({*self.columns, *(leak.reach.column for leak in self.leaks)})

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the check, one sentence each."""
        notes = [self.complaint] if self.complaint else []
        notes += [
            f"{count} of the runs with {kind} gave nothing to compare, which is no leak by itself: {message}"
            for kind, (count, message) in self.errors.items()
        ]
        if self.without:
            notes.append(f"left out: {' and '.join(self.without)}, so a leak that it alone shows is not found")
        if self.unchecked:
            notes.append(f"not checked at bars {', '.join(map(str, self.unchecked))}: every future raised there")
        notes += self._of_episode()
        if self.answers is False:
            notes.append("nothing changes with the data, early or late: the target may not read the frame it is given")
        if self.rounded:
            why = "by what a transform of the whole column, as an FFT does, rounds beside large numbers"
            notes.append(f"not counted: {_named(self.rounded)}: garbage alone changes it, {why}")
        if blotted := tuple(name for name in self.unsure if name not in self.rounded):
            as_of = "later NaN make all of it NaN, or one value, and nothing else changes it"
            as_of += ", as an FFT or a product of matrices does"
            why = "it tells whether later data are missing, and none are here"
            notes.append(f"not counted: {_named(blotted)}: {as_of}; {why}")
        if any(leak.reach.kinds == ("nan",) for leak in self.leaks):
            notes.append(
                "a column that only NaN changes tells which data are missing, or has a transform that spreads NaN"
            )
        if any(leak.reach.kinds == ("truncation",) for leak in self.leaks):
            notes.append("a column that only truncation changes knows how long the data is, or drops its last rows")
        return notes

    def _of_episode(self) -> list[str]:
        notes = []
        if self.clock is not None:
            told = f"the first observation is of bar {self.clock.start}"
            if self.clock.told_by == "length" and self.span is not None:
                steps = f"the length of the episode, as if its {self.span.n_steps} steps ended with the data"
                notes.append(f"{told}, at the latest, told by {steps}")
            else:
                notes.append(f"{told}, told by {self.clock.told_by}")
        if self.ending is not None:
            notes.append(f"{self.ending}; nothing later was compared")
        if self.unread:
            notes.append(f"not compared, for it is neither number nor text: {_named(self.unread)}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can carry."""
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
            "answers": self.answers,
            "clock": None if self.clock is None else {"start": self.clock.start, "told_by": self.clock.told_by},
            "episode": None if self.span is None else self.span.to_dict(),
            "not_compared": list(self.unread),
            "unsure": list(self.unsure),
            "untried": list(self.untried),
            "without": list(self.without),
        }

    def __str__(self) -> str:
        told = f"{self.target} ({self.kind}): {len(self.leaks)} of {self.n_columns} columns look ahead"
        lines = [f"  {leak}" for leak in self.leaks[:_SHOWN]]
        if len(self.leaks) > _SHOWN:
            lines.append(f"  and {len(self.leaks) - _SHOWN} more")
        return "\n".join([told, *lines, *(f"  note: {note}" for note in self.notes)])


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
