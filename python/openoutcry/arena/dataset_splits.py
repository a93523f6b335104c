"""Which market of a past season is in which split, and why another is in none."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from openoutcry.arena.timestamps import HOUR, format_timestamp
from openoutcry.errors import refusal

MAX_HOURS = 1_000_000
SPLITS = ("train", "validation", "test")
SHARES = (0.6, 0.8)
"""Of the markets with a result, by when they were over: where `train` ends, and where `validation` does."""

EMPTY = "a split with questions is required"


@dataclass(frozen=True)
class Sampling:
    """Which snapshots of a market are asked about.

    Args:
        every_hours: Hours between two questions on a market; of its snapshots the first is one.
        embargo_hours: Hours after the end of a split before the next split's first question.
        settling_hours: Hours after the close that a market is shown with, until its result is due. By default two days
            and the day in which a determination may be disputed.
    """

    every_hours: float = 24.0
    embargo_hours: float = 24.0
    settling_hours: float = 72.0

    def __post_init__(self) -> None:
        """Refuse hours that are none."""
        for name in ("every_hours", "embargo_hours", "settling_hours"):
            least = "above 0" if name == "every_hours" else "at least 0"
            value = getattr(self, name)
            if not 0 <= value <= MAX_HOURS or (value == 0 and name == "every_hours"):
                wanted = f"`{name}` must be {least} and at most {MAX_HOURS:,}"
                raise refusal("argument_invalid", f"{wanted}; received {value}")


class MarketTimes(NamedTuple):
    """When a market closes, as first shown, and when its result was known, or None."""

    close_us: int
    known_us: int | None


class Layout:
    """The splits of a season.

    Args:
        fates: Of each market that may have a result; of those that are void there is none.
        n_void: Markets that are excluded for good.
        ended_us: The log's last moment.
        settling_us: From a close until a result is due.
    """

    def __init__(self, fates: Mapping[str, MarketTimes], n_void: int, ended_us: int, settling_us: int) -> None:
        """Place each market by when its result was due and known."""
        self._fates, self._n_void, self._settling_us = fates, n_void, settling_us
        # Not by when a result came: of closes that are not reached there are results only of what happened.
        overs = {
            name: max(each.close_us + settling_us, each.known_us)
            for name, each in fates.items()
            if each.known_us is not None
        }
        known = sorted(over for over in overs.values() if over <= ended_us)
        first, second = (known[math.ceil(share * len(known)) - 1] if known else ended_us for share in SHARES)
        self.ends = (first, second, ended_us)
        self.places = {name: sum(over > end for end in self.ends) for name, over in overs.items() if over <= ended_us}
        self._undue = [over for over in overs.values() if over > ended_us]

    def told(self, asked: Container[str]) -> str:
        """Return how many markets are in which split, and why others are in none.

        Args:
            asked: Markets that there are questions on.
        """
        n_without = self._n_void + sum(each.known_us is None for each in self._fates.values())
        counts = [
            (sum(at == place and name in asked for name, at in self.places.items()), f"in {split}")
            for place, split in enumerate(SPLITS)
        ]
        counts.append((n_without, "without a result for good"))
        if self._undue:
            counts.append((len(self._undue), f"with results that are due until {format_timestamp(max(self._undue))}"))
        n_unasked = sum(name not in asked for name in self.places)
        counts.append((n_unasked, "not shown open between the embargo and their results"))
        said = [f"{n:,} {words}" for n, words in counts if n]
        return f"{len(self._fates) + self._n_void:,} markets{': ' if said else ''}{', '.join(said)}"

    @property
    def warning(self) -> str | None:
        """What is to be said of results that came later than they were due.

        At each split's end there must be a result of all that was due, or of none: what happens is settled early, and
        what does not is settled late, so that those who are missing are no sample.
        """
        late = set[str]()
        for end in self.ends:
            late |= {name for name, each in self._fates.items() if self._is_missing(each, end)}
        if not late:
            return None
        told = f"{len(late):,} of {len(self._fates):,} markets had no result yet when it was due and a split ended"
        n_none = sum(self._fates[name].known_us is None for name in late)
        more = [f"{n_none:,} have none to this day"] if n_none else []
        if n_none < len(late):
            # Of all markets: with more hours the splits end elsewhere, and others would be late.
            waits = [known - close for close, known in self._fates.values() if known is not None]
            more.insert(0, f"settling hours of {math.ceil(max(waits) / HOUR)} hold all results that came")
        return f"{told}, so that YES may be too frequent there; {', '.join(more)}"

    def _is_missing(self, fate: MarketTimes, end_us: int) -> bool:
        is_known = fate.known_us is not None and fate.known_us <= end_us
        return not is_known and fate.close_us + self._settling_us <= end_us
