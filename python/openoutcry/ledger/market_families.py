"""Which markets hold the same prices, so that trials on any of them count for all.

A market that was renamed, cut or extended has another fingerprint, and the tries on it are tries on the same prices.
Anchors show that: hashes of the returns of a few dates, chosen by the date alone, that any market which holds those
prices has, too. Marks show it where dates were moved, bars left out or quotes inverted
(`openoutcry.ledger.market_fingerprints`).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import floor
from typing import Any, NamedTuple

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger.market_fingerprints import DATED, KINDS_FROM, UNDATED, day, marks_of

# Anchors that two markets of one family share at least, or all that the smaller one has; and marks.
_ENOUGH, _ENOUGH_MARKS = 8, 3
# Returns that are small, or of few digits, share anchors by chance. Where there are marks to tell markets by, that
# part of the smaller one's anchors is required.
_PART = 8
_ONE_IN, _BYTES, _MARK_BYTES = 32, 6, 7
# Returns within it of each other share an anchor more often than not: a second download, or digits that were cut.
_GRID = 2e-6


@dataclass(frozen=True)
class Market:
    """What a ledger knows of a market.

    Attributes:
        fingerprint: SHA-256 of everything a number can depend on, in hex.
        name: What it is called.
        symbols: Names of its symbols.
        periods_per_year: Bars a year.
        anchors: Hashes of some of its returns with their dates, in order.
        marks: Hashes of some of its paths, with their dates and without, in order.
    """

    fingerprint: str
    name: str = "unnamed"
    symbols: tuple[str, ...] = ()
    periods_per_year: float = 252.0
    anchors: tuple[int, ...] = field(default=(), repr=False)
    marks: tuple[int, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> Market:
        """Return what a ledger knows of a dataset."""
        return _known(dataset, dataset.name)

    def is_of_family(self, other: Market) -> bool:
        """Return whether two markets hold the same prices at the same dates, in part."""
        return self.fingerprint == other.fingerprint or is_family(self._shared(other), self.size, other.size)

    def is_kin(self, other: Market) -> bool:
        """Return whether two markets hold the same prices, whatever their dates."""
        return self.is_of_family(other) or is_kin(self._shared(other))

    @property
    def size(self) -> Size:
        """How many anchors and marks it has."""
        return Size(len(self.anchors), len(self.marks))

    def hashes(self) -> tuple[int, ...]:
        """Return all that it may share with another market."""
        return self.anchors + self.marks

    def _shared(self, other: Market) -> Shared:
        return shared(set(self.hashes()) & set(other.hashes()))

    def to_json(self) -> dict[str, Any]:
        """Return the market as plain values."""
        told = {"fingerprint": self.fingerprint, "name": self.name, "symbols": list(self.symbols)}
        hashes = {"anchors": _packed(self.anchors, _BYTES), "marks": _packed(self.marks, _MARK_BYTES)}
        return told | {"periods_per_year": self.periods_per_year} | hashes

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Market:
        """Read a market; what is unknown in it is left.

        Raises:
            OpenOutcryError: `argument_invalid`: it has no fingerprint, or something is not what it should be.
        """
        try:
            return cls(
                str(told["fingerprint"]),
                str(told.get("name", "unnamed")),
                tuple(map(str, told.get("symbols", ()))),
                float(told.get("periods_per_year", 252.0)),
                _unpacked(told.get("anchors", ""), _BYTES),
                _unpacked(told.get("marks", ""), _MARK_BYTES),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise refusal("argument_invalid", f"a market of a ledger must be whole; received {error!r}") from error


class Size(NamedTuple):
    """How many anchors and marks a market has."""

    n_anchors: int
    n_marks: int


Shared = Mapping[int, int]
"""How many hashes two markets share, by kind: 0 for anchors, `DATED` and `UNDATED` marks."""


def shared(hashes: Iterable[int]) -> Shared:
    """Return how many of some hashes are of each kind."""
    return Counter(each >> KINDS_FROM for each in hashes)


def is_family(found: Shared, one: Size, two: Size) -> bool:
    """Return whether what two markets share shows the same prices and dates."""
    fewer = min(one.n_anchors, two.n_anchors)
    least = max(min(_ENOUGH, fewer), fewer // _PART if one.n_marks and two.n_marks else 0)
    return 0 < found.get(0, 0) >= least or found.get(DATED, 0) >= _ENOUGH_MARKS


def is_kin(found: Shared) -> bool:
    """Return whether what two markets share shows the same prices at any dates."""
    return found.get(UNDATED, 0) >= _ENOUGH_MARKS


def _packed(hashes: Iterable[int], size: int) -> str:
    return b64encode(b"".join(each.to_bytes(size, "big") for each in hashes)).decode()


def _unpacked(text: str, size: int) -> tuple[int, ...]:
    packed = b64decode(text, validate=True)
    places = range(0, len(packed) - len(packed) % size, size)
    return tuple(int.from_bytes(packed[at : at + size], "big") for at in places)


@lru_cache(maxsize=32)
def _known(dataset: Dataset, name: str) -> Market:
    anchors = tuple(sorted(set(_anchors(dataset))))
    told = (dataset.fingerprint, name, dataset.symbols, dataset.periods_per_year)
    return Market(*told, anchors, marks_of(dataset.dates, dataset.close))


def _anchors(dataset: Dataset) -> Iterator[int]:
    """Yield hashes of one date in 32 with the place of its return on two grids.

    What lies near an edge of one grid lies within a cell of the other. A symbol's return is from its close before,
    however many bars that is ago: other symbols' dates change nothing.
    """
    n_chosen = 256 // _ONE_IN
    chosen = [bar for bar, date in enumerate(dataset.dates) if sha256(day(date)).digest()[0] < n_chosen]
    close, closed = dataset.close, np.isfinite(dataset.close)
    before = np.maximum.accumulate(np.where(closed, np.arange(dataset.n_bars)[:, None], -1), axis=0)
    for bar in chosen:
        for symbol in np.flatnonzero(closed[bar]).tolist():
            last = before[bar - 1, symbol] if bar else -1
            if last >= 0:
                place = (close[bar, symbol] / close[last, symbol] - 1.0) / _GRID
                # Of prices that did not move nothing can be told.
                if abs(place) >= 1.0:
                    for told in (f"a{floor(place)}", f"b{floor(place + 0.5)}"):
                        yield int.from_bytes(sha256(day(dataset.dates[bar]) + told.encode()).digest()[:_BYTES], "big")
