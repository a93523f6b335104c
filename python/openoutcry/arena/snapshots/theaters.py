"""The six theaters, and the curated table of how to know one.

`theaters.json` holds the table. A series of markets belongs to the theaters of the first pattern that matches the whole
of it; one that none matches belongs to no theater, and the operator is told (Q-6).
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

# What other boards and feeds call a region, and the theater that it counts to.
REGIONS: dict[str, Theater] = {"russia": "ukraine", "china": "taiwan", "dprk": "korea", "lebanon": "israel"}


@dataclass(frozen=True)
class TheaterProfile:
    """How one theater is known.

    `fips` is its country code in GDELT, `box` the south, west, north and east of its seismic alerts in degrees, `terms`
    are words of its news, and `pages` those of Wikipedia that are watched for it.
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
        """Return the theaters of a market's ticker, the primary one first, if any."""
        series = ticker.partition("-")[0]
        return next((theaters for pattern, theaters in self.series if pattern.fullmatch(series)), ())


def theater_of_region(region: str) -> Theater | None:
    """Return the theater that a region's name counts to, or None."""
    name = region.strip().lower() if region.isascii() else ""
    return REGIONS.get(name) or next((each for each in THEATERS if each == name), None)


def read_table(raw: bytes) -> Table:
    """Return the table of a file like `theaters.json`.

    Raises:
        SnapshotError: It is no such table: the operator's own file, so that nothing of it is skipped.
    """
    try:
        read = json.loads(raw, parse_float=Decimal, parse_int=Decimal)
        profiles = {name: _profile(read["theaters"][name]) for name in THEATERS}
        series = tuple((re.compile(row["series"], re.ASCII), _theaters(row["theaters"])) for row in read["series"])
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, re.error) as error:
        raise SnapshotError(f"the table of theaters cannot be read: {type(error).__name__}: {error}") from error
    return Table(profiles, series)


def default_table_bytes() -> bytes:
    """Return the table that ships, as its file has it."""
    return resources.files(__package__).joinpath("theaters.json").read_bytes()


@lru_cache(maxsize=1)
def default_table() -> Table:
    """Return the table that ships."""
    return read_table(default_table_bytes())


def _profile(row: dict[str, list[str]]) -> TheaterProfile:
    south, west, north, east = (Decimal(each) for each in row["box"])
    if not (south < north and west < east):
        raise ValueError("a box is its south, west, north and east")
    words = "|".join(re.escape(each) for each in row["terms"])
    return TheaterProfile(
        tuple(row["fips"]),
        (south, west, north, east),
        # A word that begins with a term counts, too: `Iranian` is of `Iran`.
        re.compile(rf"\b(?:{words})", re.IGNORECASE),
        tuple(row["pages"]),
    )


def _theaters(names: list[str]) -> tuple[Theater, ...]:
    found = tuple(theater_of_region(name) for name in names)
    clean = tuple(each for each in found if each is not None)
    if len(clean) < len(found) or len(set(clean)) < len(clean):
        raise ValueError(f"theaters of a series must be different ones of {', '.join(THEATERS)}; received {names}")
    return clean
