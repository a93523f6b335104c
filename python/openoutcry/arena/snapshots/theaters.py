"""The six theaters, and the curated table that assigns markets and events to them.

`theaters.json` holds the default table. A market series belongs to the theaters of the first pattern that matches its
full name; a series without a match belongs to no theater and is counted for the operator.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from importlib import resources

from openoutcry.arena.protocol import THEATERS, Theater
from openoutcry.arena.snapshots.item_kinds import SnapshotError

# Region names of other platforms and feeds, and their theaters.
REGIONS: dict[str, Theater] = {"russia": "ukraine", "china": "taiwan", "dprk": "korea", "lebanon": "israel"}


@dataclass(frozen=True)
class TheaterProfile:
    """How data is assigned to one theater.

    `fips` holds GDELT country codes, `box` the south, west, north and east of seismic alerts in degrees, `terms`
    matches words of its news, and `pages` names the Wikipedia pages to watch.
    """

    fips: tuple[str, ...]
    box: tuple[Decimal, Decimal, Decimal, Decimal]
    terms: re.Pattern[str]
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """The curated table of theaters."""

    profiles: dict[Theater, TheaterProfile]
    series: tuple[tuple[re.Pattern[str], tuple[Theater, ...]], ...]

    def theaters_of_ticker(self, ticker: str) -> tuple[Theater, ...]:
        """Return the theaters of a market's ticker, primary first; empty if unmapped."""
        series = ticker.partition("-")[0]
        return next((theaters for pattern, theaters in self.series if pattern.fullmatch(series)), ())


def theater_of_region(region: str) -> Theater | None:
    """Return the theater of a region name, or None."""
    name = region.strip().lower() if region.isascii() else ""
    return REGIONS.get(name) or next((each for each in THEATERS if each == name), None)


def read_table(raw: bytes) -> Table:
    """Parse a table in the format of `theaters.json`.

    Raises:
        SnapshotError: The table is invalid. No row is skipped.
    """
    try:
        read = json.loads(raw, parse_float=Decimal, parse_int=Decimal)
        profiles = {name: _profile(read["theaters"][name]) for name in THEATERS}
        series = tuple((re.compile(row["series"], re.ASCII), _theaters(row["theaters"])) for row in read["series"])
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, re.error) as error:
        raise SnapshotError(f"the table of theaters cannot be read: {type(error).__name__}: {error}") from error
    return Table(profiles, series)


def default_table_bytes() -> bytes:
    """Return the bytes of the default table."""
    return resources.files(__package__).joinpath("theaters.json").read_bytes()


@lru_cache(maxsize=1)
def default_table() -> Table:
    """Return the default table."""
    return read_table(default_table_bytes())


def _profile(row: dict[str, list[str]]) -> TheaterProfile:
    south, west, north, east = (Decimal(each) for each in row["box"])
    if not (south < north and west < east):
        raise ValueError("`box` must be [south, west, north, east]")
    words = "|".join(re.escape(each) for each in row["terms"])
    return TheaterProfile(
        tuple(row["fips"]),
        (south, west, north, east),
        # A term matches as a prefix of a word: `Iran` matches `Iranian`.
        re.compile(rf"\b(?:{words})", re.IGNORECASE),
        tuple(row["pages"]),
    )


def _theaters(names: list[str]) -> tuple[Theater, ...]:
    found = tuple(theater_of_region(name) for name in names)
    clean = tuple(each for each in found if each is not None)
    if len(clean) < len(found) or len(set(clean)) < len(clean):
        raise ValueError(f"theaters of a series must be distinct values of {', '.join(THEATERS)}; received {names}")
    return clean
