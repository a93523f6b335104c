"""Which markets are one family, so that trials on any of them count for all.

A market that was renamed, cut or extended has another fingerprint, and the tries on it are tries on the same prices.
Anchors show that: hashes of the returns of a few dates, chosen by the date alone, that any market which holds those
prices has, too.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import floor
from typing import Any

import numpy as np

from openoutcry.dataset import Dataset
from openoutcry.errors import refusal

ENOUGH = 8
"""Anchors that two markets of one family share at least, or all that the smaller one has."""
_ONE_IN, _BYTES = 32, 6
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
        anchors: Hashes of some of its returns, in order.
    """

    fingerprint: str
    name: str = "unnamed"
    symbols: tuple[str, ...] = ()
    periods_per_year: float = 252.0
    anchors: tuple[int, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> Market:
        """Return what a ledger knows of a dataset."""
        return _known(dataset, dataset.name)

    def is_of_family(self, other: Market) -> bool:
        """Return whether two markets hold the same prices, some of them at least."""
        if self.fingerprint == other.fingerprint:
            return True
        shared = len(set(self.anchors) & set(other.anchors))
        return 0 < shared >= min(ENOUGH, len(self.anchors), len(other.anchors))

    def to_json(self) -> dict[str, Any]:
        """Return the market as plain values."""
        packed = b"".join(anchor.to_bytes(_BYTES, "big") for anchor in self.anchors)
        told = {"fingerprint": self.fingerprint, "name": self.name, "symbols": list(self.symbols)}
        return told | {"periods_per_year": self.periods_per_year, "anchors": b64encode(packed).decode()}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Market:
        """Read a market; what is unknown in it is left.

        Raises:
            OpenOutcryError: `argument_invalid`: it has no fingerprint, or something is not what it should be.
        """
        try:
            packed = b64decode(told.get("anchors", ""), validate=True)
            places = range(0, len(packed) - len(packed) % _BYTES, _BYTES)
            return cls(
                str(told["fingerprint"]),
                str(told.get("name", "unnamed")),
                tuple(map(str, told.get("symbols", ()))),
                float(told.get("periods_per_year", 252.0)),
                tuple(int.from_bytes(packed[at : at + _BYTES], "big") for at in places),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise refusal("argument_invalid", f"a market of a ledger must be whole; received {error!r}") from error


@lru_cache(maxsize=32)
def _known(dataset: Dataset, name: str) -> Market:
    anchors = tuple(sorted(set(_anchors(dataset))))
    return Market(dataset.fingerprint, name, dataset.symbols, dataset.periods_per_year, anchors)


def _anchors(dataset: Dataset) -> Iterator[int]:
    """Yield hashes of one date in 32 with the place of its return on two grids.

    What lies near an edge of one grid lies within a cell of the other. A symbol's return is from its close before,
    however many bars that is ago: other symbols' dates change nothing.
    """
    n_chosen = 256 // _ONE_IN
    chosen = [bar for bar, date in enumerate(dataset.dates) if sha256(_day(date)).digest()[0] < n_chosen]
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
                        yield int.from_bytes(sha256(_day(dataset.dates[bar]) + told.encode()).digest()[:_BYTES], "big")


def _day(date: str) -> bytes:
    # One bar a day is the same bar with and without a time of day.
    return date.removesuffix("Z").removesuffix("T00:00:00").encode()
