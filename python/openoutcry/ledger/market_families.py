"""Families of markets with the same prices, whose trials count together.

A renamed, cut or extended market has another fingerprint but the same prices. Anchors identify it: hashes of the
returns on a few dates, selected by the date alone. Marks identify it after moved dates, omitted bars or inverted
quotes (`openoutcry.ledger.market_fingerprints`). Shapes identify it after changed prices, such as an added offset or
leverage (`openoutcry.ledger.market_shapes`), with other signs, in reverse or smoothed
(`openoutcry.ledger.derived_shapes`).
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
from openoutcry.ledger.derived_shapes import derived_lines
from openoutcry.ledger.market_fingerprints import DATED, KINDS_FROM, UNDATED, day, days_of, marks_of
from openoutcry.ledger.market_shapes import AVERAGES, DAY_BITS, Line, in_common, lines_of, packed, unpacked

FAMILY_LIMITS = (
    "Earlier trials and openings count for the markets that this ledger recognizes. Not recognized are baskets of few"
    " or many symbols, weighted spreads, signs of returns alone, prices with a correlation of returns below about"
    " 0.98, every eighth bar or fewer except weeks to Friday and months, a symbol of less than about 150 bars,"
    " uncommon filters, shuffled returns, short parts of averages or reversed prices, less than about one 16th of a"
    " market with changed prices if it is spliced to other bars (100 bars of an opened holdout), and other ledgers."
)
"""What the recognition of markets does not cover, for every result that depends on it."""
# Minimum number of anchors (or all of the smaller market) and marks that a family shares.
_MIN_ANCHORS, _MIN_MARKS = 8, 3
# Small returns, or returns with few digits, share anchors by chance. If both markets have marks, this fraction of the
# smaller one's anchors is required.
_FRACTION = 8
_ONE_IN, _BYTES, _MARK_BYTES = 32, 6, 7
# Returns closer than this usually share an anchor: a second download, or rounded prices.
_GRID = 2e-6


@dataclass(frozen=True)
class Market:
    """Identity of a market in the ledger.

    Attributes:
        fingerprint: SHA-256 of the dataset, in hex.
        name: Name of the market.
        symbols: Names of its symbols.
        periods_per_year: Bars per year; None if unknown.
        anchors: Sorted hashes of some returns with their dates.
        marks: Sorted hashes of some price paths, with and without dates.
        lines: Sorted hashes of the order of some returns, and of their sizes, of each symbol and of ratios of symbols.
        averages: The same of moving averages of symbols.
    """

    fingerprint: str
    name: str = "unnamed"
    symbols: tuple[str, ...] = ()
    periods_per_year: float | None = None
    anchors: tuple[int, ...] = field(default=(), repr=False)
    marks: tuple[int, ...] = field(default=(), repr=False)
    lines: tuple[Line, ...] = field(default=(), repr=False)
    averages: tuple[Line, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, dataset: Dataset | Market) -> Market:
        """Return the identity of a dataset; an identity unchanged."""
        if isinstance(dataset, Market):
            return dataset
        if not isinstance(dataset, Dataset):
            raise refusal(
                "argument_invalid", f"`market` must be a Dataset or a Market; received {type(dataset).__name__}"
            )
        return _known(dataset, dataset.name)

    @classmethod
    def of_sealed(cls, dataset: Dataset) -> Market:
        """Return the identity of a dataset with sealed bars, which no cache keeps."""
        return _identity(dataset, dataset.name)

    def is_of_family(self, other: Market) -> bool:
        """Return whether two markets share prices, or changed prices, at the same dates."""
        if self.fingerprint == other.fingerprint or is_family(self._shared(other), self.size, other.size):
            return True
        return in_common(self.numbered_lines(), other.numbered_lines()).at_dates

    def is_kin(self, other: Market) -> bool:
        """Return whether two markets share prices, or changed prices, at any dates."""
        if self.is_of_family(other) or is_kin(self._shared(other)):
            return True
        return in_common(self.numbered_lines(), other.numbered_lines()).at_any

    @property
    def size(self) -> Size:
        """Number of anchors and marks."""
        return Size(len(self.anchors), len(self.marks))

    def hashes(self) -> tuple[int, ...]:
        """Return all anchors and marks."""
        return self.anchors + self.marks

    @property
    def n_shapes(self) -> int:
        """Number of shapes of all lines."""
        return sum(map(len, (*self.lines, *self.averages)))

    def numbered_lines(self) -> dict[int, Line]:
        """Return all lines by number."""
        return dict(enumerate(self.lines)) | dict(enumerate(self.averages, AVERAGES))

    @property
    def n_added(self) -> int:
        """Number of marks and shapes, by which a recorded market may be incomplete."""
        return len(self.marks) + self.n_shapes

    def _shared(self, other: Market) -> Shared:
        return shared(set(self.hashes()) & set(other.hashes()))

    def to_json(self) -> dict[str, Any]:
        """Return the market as JSON types."""
        content = {"fingerprint": self.fingerprint, "name": self.name, "symbols": list(self.symbols)}
        hashes: dict[str, Any] = {"anchors": _packed(self.anchors, _BYTES), "marks": _packed(self.marks, _MARK_BYTES)}
        hashes |= {name: [packed(line) for line in getattr(self, name)] for name in ("lines", "averages")}
        return content | {"periods_per_year": self.periods_per_year} | hashes

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Market:
        """Read a market; unknown members are ignored.

        Raises:
            OpenOutcryError: `argument_invalid`: the fingerprint is missing, or a member is invalid.
        """
        year = content.get("periods_per_year")
        try:
            return cls(
                str(content["fingerprint"]),
                str(content.get("name", "unnamed")),
                tuple(map(str, content.get("symbols", ()))),
                None if year is None else float(year),
                _unpacked(content.get("anchors", ""), _BYTES),
                _unpacked(content.get("marks", ""), _MARK_BYTES),
                *(tuple(map(unpacked, content.get(name, ()))) for name in ("lines", "averages")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise refusal("argument_invalid", f"a market of a ledger must be valid; received {error!r}") from error


class Size(NamedTuple):
    """Number of anchors and marks of a market."""

    n_anchors: int
    n_marks: int


Shared = Mapping[int, int]
"""Number of shared hashes of two markets by kind: 0 for anchors, `DATED` and `UNDATED` marks."""


def shared(hashes: Iterable[int]) -> Shared:
    """Count hashes by kind."""
    return Counter(each >> KINDS_FROM for each in hashes)


def is_family(found: Shared, one: Size, two: Size) -> bool:
    """Return whether shared hashes imply the same prices at the same dates."""
    fewer = min(one.n_anchors, two.n_anchors)
    least = max(min(_MIN_ANCHORS, fewer), fewer // _FRACTION if one.n_marks and two.n_marks else 0)
    return 0 < found.get(0, 0) >= least or found.get(DATED, 0) >= _MIN_MARKS


def is_kin(found: Shared) -> bool:
    """Return whether shared hashes imply the same prices at any dates."""
    return found.get(UNDATED, 0) >= _MIN_MARKS


def _packed(hashes: Iterable[int], size: int) -> str:
    return b64encode(b"".join(each.to_bytes(size, "big") for each in hashes)).decode()


def _unpacked(text: str, size: int) -> tuple[int, ...]:
    packed = b64decode(text, validate=True)
    places = range(0, len(packed) - len(packed) % size, size)
    return tuple(int.from_bytes(packed[at : at + size], "big") for at in places)


@lru_cache(maxsize=32)
def _known(dataset: Dataset, name: str) -> Market:
    return _identity(dataset, name)


def _identity(dataset: Dataset, name: str) -> Market:
    anchors = tuple(sorted(set(_anchors(dataset))))
    identity = (dataset.fingerprint, name, dataset.symbols, dataset.periods_per_year)
    days = days_of(dataset.dates)
    sizes, averages = derived_lines(dataset.close, days >> np.uint64(64 - DAY_BITS))
    lines = lines_of(dataset.dates, dataset.close, days) + sizes
    return Market(*identity, anchors, marks_of(dataset.dates, dataset.close), lines, averages)


def _anchors(dataset: Dataset) -> Iterator[int]:
    """Yield hashes of the returns on one date in 32, rounded to two shifted grids.

    A return near a cell edge of one grid is inside a cell of the other. The return of a symbol is relative to its own
    last close, so the dates of other symbols do not matter.
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
                # Constant prices do not identify a market.
                if abs(place) >= 1.0:
                    for cell in (f"a{floor(place)}", f"b{floor(place + 0.5)}"):
                        yield int.from_bytes(sha256(day(dataset.dates[bar]) + cell.encode()).digest()[:_BYTES], "big")
