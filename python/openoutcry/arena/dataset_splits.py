"""Train, validation and test splits of the markets of a past season."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from openoutcry.arena.timestamps import HOUR, format_timestamp
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

MAX_HOURS = 1_000_000
SPLITS = ("train", "validation", "test")
SHARES = (0.6, 0.8)
"""Quantiles of the resolved markets, ordered by end: the ends of `train` and of `validation`."""

EMPTY = "a split with questions is required"


@dataclass(frozen=True)
class Sampling:
    """Which snapshots of a market become questions.

    Args:
        every_hours: Hours between two questions on a market; its first snapshot is the first question.
        embargo_hours: Hours from the end of a split to the first question of the next split.
        settling_hours: Hours from a market's scheduled close until its result is due. The default is two days plus the
            day in which a `determined` result may be disputed.
    """

    every_hours: float = 24.0
    embargo_hours: float = 24.0
    settling_hours: float = 72.0

    def __post_init__(self) -> None:
        """Refuse hours out of range."""
        for name in ("every_hours", "embargo_hours", "settling_hours"):
            least = "above 0" if name == "every_hours" else "at least 0"
            value = getattr(self, name)
            if not 0 <= value <= MAX_HOURS or (value == 0 and name == "every_hours"):
                wanted = f"`{name}` must be {least} and at most {MAX_HOURS:,}"
                raise refusal("argument_invalid", f"{wanted}; received {value}")


class MarketTimes(NamedTuple):
    """First scheduled close of a market, and the time of its result, or None."""

    close_us: int
    known_us: int | None


class Layout:
    """The splits of a season.

    Args:
        times: Times of each market that is not void.
        n_void: Number of void markets, which are excluded.
        ended_us: Time of the log's last record.
        settling_us: Microseconds from a close until the result is due.
    """

    def __init__(self, times: Mapping[str, MarketTimes], n_void: int, ended_us: int, settling_us: int) -> None:
        """Assign each market to a split by the time when its result was due and known."""
        self._times, self._n_void, self._settling_us = times, n_void, settling_us
        # Not by the time of the result alone: before a deadline only events that happened have results.
        overs = {
            name: max(each.close_us + settling_us, each.known_us)
            for name, each in times.items()
            if each.known_us is not None
        }
        known = sorted(over for over in overs.values() if over <= ended_us)
        first, second = (known[math.ceil(share * len(known)) - 1] if known else ended_us for share in SHARES)
        self.ends = (first, second, ended_us)
        self.places = {name: sum(over > end for end in self.ends) for name, over in overs.items() if over <= ended_us}
        self._undue = [over for over in overs.values() if over > ended_us]

    def describe(self, with_questions: Container[str]) -> str:
        """Return the number of markets per split, and the reasons for the others.

        Args:
            with_questions: Markets that have questions.
        """
        n_without = self._n_void + sum(each.known_us is None for each in self._times.values())
        counts = [
            (sum(at == place and name in with_questions for name, at in self.places.items()), f"in {split}")
            for place, split in enumerate(SPLITS)
        ]
        counts.append((n_without, "without a final result"))
        if self._undue:
            counts.append((len(self._undue), f"with results due by {format_timestamp(max(self._undue))}"))
        n_unused = sum(name not in with_questions for name in self.places)
        counts.append((n_unused, "without an open snapshot between the embargo and the result"))
        parts = [f"{n:,} {words}" for n, words in counts if n]
        return f"{counted(len(self._times) + self._n_void, 'market')}{': ' if parts else ''}{', '.join(parts)}"

    @property
    def warning(self) -> str | None:
        """Warning about results that were known later than they were due, or None.

        Markets that resolve YES settle early and markets that resolve NO settle late. If results that were due are
        missing at the end of a split, the share of YES in that split is biased.
        """
        late = set[str]()
        for end in self.ends:
            late |= {name for name, each in self._times.items() if self._is_missing(each, end)}
        if not late:
            return None
        missing = (
            f"{len(late):,} of {counted(len(self._times), 'market')} had no result when it was due and a split ended"
        )
        n_none = sum(self._times[name].known_us is None for name in late)
        more = [f"{n_none:,} still have no result"] if n_none else []
        if n_none < len(late):
            # Over all markets: more hours move the ends of the splits, and other markets would be late.
            waits = [known - close for close, known in self._times.values() if known is not None]
            more.insert(0, f"`settling_hours` of {math.ceil(max(waits) / HOUR)} cover all results")
        return f"{missing}, so the share of YES may be too high there; {', '.join(more)}"

    def _is_missing(self, market: MarketTimes, end_us: int) -> bool:
        is_known = market.known_us is not None and market.known_us <= end_us
        return not is_known and market.close_us + self._settling_us <= end_us
