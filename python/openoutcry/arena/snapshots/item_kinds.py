"""The five public kinds of snapshot items, validated on construction.

Numbers are integers or `Decimal` and become JSON numbers of at most four decimals, written in the shortest form that
reads back as the same number.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias, get_args

from openoutcry.arena.protocol import THEATERS, Theater, is_market_id
from openoutcry.arena.snapshots.snapshot_times import format_time, to_utc

Lean = Literal["hostile", "cooperative", "mixed", "none"]
Json: TypeAlias = "str | int | float | bool | list[str] | None"

LEANS: tuple[str, ...] = get_args(Lean)
RISKS = ("LOW", "MODERATE", "HIGH", "UNKNOWN")
PLACES = Decimal("0.0001")
# Below this, a double represents four decimals exactly.
MAX_NUMBER = Decimal(10) ** 11
MAX_TITLE, MAX_SUMMARY, MAX_NAME, MAX_URL = 300, 1000, 80, 2048
URL = re.compile(r"https?://[!-~]+", re.ASCII)
# Persian spelling and emoji use joiners; the other format characters reorder or hide text.
JOINERS = frozenset("\u200c\u200d")


class SnapshotError(ValueError):
    """A snapshot, item, capture, plan or table is invalid."""


def is_visible(character: str) -> bool:
    """Return whether a character is safe: no control, reordering or hidden character."""
    # Unassigned characters are kept: their category depends on the Python version, and a replay must not.
    return unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"} or character in JOINERS


def json_number(value: Decimal | int | None) -> int | float | None:
    """Return a number for JSON: `Decimal("0.0400")` becomes 0.04, `Decimal("1.0")` 1."""
    if value is None or isinstance(value, int):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


@dataclass(frozen=True)
class Item:
    """Base class of the kinds: an id, and the JSON fields in their order."""

    kind: ClassVar[str]
    members: ClassVar[tuple[str, ...]]
    id: str

    @property
    def time(self) -> datetime | None:
        """Time of publication or of the event, if known."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Validate the fields.

        Raises:
            SnapshotError: A field is invalid.
        """
        if not isinstance(self.id, str) or not self.id.startswith(f"{self.kind}:"):
            raise SnapshotError(f"`id` must start with `{self.kind}:`; received {self.id!r}")
        self.check_text("id", 200)
        self.check()

    def check(self) -> None:
        """Validate the fields of this kind."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Json]:
        """Return the fields as JSON, in their fixed order."""
        fields: dict[str, Json] = {"id": self.id, "kind": self.kind}
        for name in self.members:
            value = getattr(self, name)
            if isinstance(value, datetime):
                fields[name] = format_time(value)
            elif isinstance(value, tuple):
                fields[name] = list(value)
            else:
                fields[name] = json_number(value) if isinstance(value, Decimal) else value
        return fields

    def invalid(self, name: str, wanted: str) -> SnapshotError:
        """Return the error for an invalid field."""
        return SnapshotError(f"{name} of {self.id!r} must be {wanted}; received {getattr(self, name)!r}"[:500])

    def check_text(self, name: str, max_length: int, min_length: int = 1) -> None:
        """Require a string of visible characters with a length in a range."""
        value = getattr(self, name)
        if not (isinstance(value, str) and min_length <= len(value) <= max_length and all(map(is_visible, value))):
            raise self.invalid(name, f"text of {min_length} to {max_length} characters without control characters")

    def check_timestamp(self, name: str) -> None:
        """Require a datetime with a time zone."""
        value = getattr(self, name)
        if not isinstance(value, datetime):
            raise self.invalid(name, "a time")
        try:
            to_utc(name, value)
        except (OverflowError, ValueError) as error:
            raise SnapshotError(f"{name} of {self.id!r}: {error}") from error

    def check_decimal(self, name: str, low: Decimal | int, high: Decimal | int) -> None:
        """Require a decimal of at most four places in a range."""
        value = getattr(self, name)
        if not (isinstance(value, Decimal) and value.is_finite() and low <= value <= high):
            raise self.invalid(name, f"a decimal from {low} to {high}")
        if value != value.quantize(PLACES):
            raise self.invalid(name, "of at most four decimals")

    def check_optional_decimal(self, name: str, low: Decimal | int, high: Decimal | int) -> None:
        """Require None, or a decimal of at most four places in a range."""
        if getattr(self, name) is not None:
            self.check_decimal(name, low, high)

    def check_url(self, name: str) -> None:
        """Require an http or https URL."""
        value = getattr(self, name)
        if not (isinstance(value, str) and len(value) <= MAX_URL and URL.fullmatch(value)):
            raise self.invalid(name, "an http or https URL in ASCII")


@dataclass(frozen=True)
class News(Item):
    """A news article, as announced by its publisher."""

    kind = "news"
    members = ("source_type", "source_name", "title", "summary", "url", "published_at")
    source_type: str
    source_name: str
    title: str
    summary: str
    url: str
    published_at: datetime

    @property
    def time(self) -> datetime:
        """Time of publication, or first seen if the publisher gives no usable date."""
        return self.published_at

    def check(self) -> None:
        """Validate the fields of an article."""
        if self.source_type not in {"rss", "gdelt"}:
            raise self.invalid("source_type", "`rss` or `gdelt`")
        self.check_text("source_name", MAX_NAME)
        self.check_text("title", MAX_TITLE)
        self.check_text("summary", MAX_SUMMARY, 0)
        self.check_url("url")
        self.check_timestamp("published_at")


@dataclass(frozen=True)
class MarketState(Item):
    """A prediction market: prices, question, close time and theaters."""

    kind = "market_state"
    members = (
        *("exchange", "market_id", "yes_mid_price", "yes_bid", "yes_ask", "volume_24h_usd", "as_of"),
        *("question", "close_time", "theaters"),
    )
    exchange: str
    market_id: str
    yes_mid_price: Decimal | None
    yes_bid: Decimal | None
    yes_ask: Decimal | None
    volume_24h_usd: Decimal | None
    as_of: datetime
    question: str
    close_time: datetime
    theaters: tuple[Theater, ...]

    @property
    def time(self) -> datetime:
        """Time of the prices."""
        return self.as_of

    def check(self) -> None:
        """Validate the fields of a market."""
        if self.exchange != "kalshi" or not self.market_id.startswith("kalshi:") or not is_market_id(self.market_id):
            raise self.invalid("market_id", "an id of `kalshi`, the only supported exchange")
        for name in ("yes_mid_price", "yes_bid", "yes_ask"):
            self.check_optional_decimal(name, 0, 1)
        self.check_optional_decimal("volume_24h_usd", 0, MAX_NUMBER)
        self.check_timestamp("as_of")
        self.check_timestamp("close_time")
        self.check_text("question", MAX_TITLE)
        if not set(self.theaters) <= set(THEATERS) or len(set(self.theaters)) < len(self.theaters):
            raise self.invalid("theaters", f"distinct values of {', '.join(THEATERS)}")


@dataclass(frozen=True)
class ScheduledEvent(Item):
    """A scheduled event. `published_at`, the announcement time, is not in the JSON."""

    kind = "scheduled_event"
    members = ("title", "scheduled_at")
    title: str
    scheduled_at: datetime
    published_at: datetime | None = None

    @property
    def time(self) -> datetime | None:
        """Time of the announcement, if known; not the time of the event."""
        return self.published_at

    def check(self) -> None:
        """Validate the fields of an event."""
        self.check_text("title", MAX_TITLE)
        self.check_timestamp("scheduled_at")
        if self.published_at is not None:
            self.check_timestamp("published_at")


@dataclass(frozen=True)
class Seismic(Item):
    """An earthquake, in the version first seen."""

    kind = "seismic"
    members = ("magnitude", "depth_km", "lat", "lon", "place", "occurred_at", "url")
    magnitude: Decimal
    depth_km: Decimal | None
    lat: Decimal
    lon: Decimal
    place: str
    occurred_at: datetime
    url: str

    @property
    def time(self) -> datetime:
        """Time of the earthquake."""
        return self.occurred_at

    def check(self) -> None:
        """Validate the fields of an earthquake."""
        self.check_decimal("magnitude", -5, 12)
        self.check_optional_decimal("depth_km", -20, 1000)
        self.check_decimal("lat", -90, 90)
        self.check_decimal("lon", -180, 180)
        self.check_text("place", MAX_TITLE, 0)
        self.check_timestamp("occurred_at")
        self.check_url("url")


@dataclass(frozen=True)
class TheaterIntel(Item):
    """Aggregates of the sources for one theater; None if the source did not respond."""

    kind = "theater_intel"
    members = (
        *("theater", "gdelt_lean", "gdelt_hostile_count", "gdelt_cooperative_count", "wiki_spike", "wiki_max_ratio"),
        *("financial_risk", "news_count", "seismic_alert", "as_of"),
    )
    theater: Theater
    gdelt_lean: Lean | None
    gdelt_hostile_count: int | None
    gdelt_cooperative_count: int | None
    wiki_spike: bool | None
    wiki_max_ratio: Decimal | None
    financial_risk: str
    news_count: int | None
    seismic_alert: bool | None
    as_of: datetime

    @property
    def time(self) -> datetime:
        """The snapshot time."""
        return self.as_of

    def check(self) -> None:
        """Validate the fields of a theater."""
        if self.theater not in THEATERS:
            raise self.invalid("theater", f"one of {', '.join(THEATERS)}")
        if self.gdelt_lean is not None and self.gdelt_lean not in LEANS:
            raise self.invalid("gdelt_lean", f"null or one of {', '.join(LEANS)}")
        if self.financial_risk not in RISKS:
            raise self.invalid("financial_risk", f"one of {', '.join(RISKS)}")
        for name in ("gdelt_hostile_count", "gdelt_cooperative_count", "news_count"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 0 <= value < 2**53):
                raise self.invalid(name, "null or a count")
        for name in ("wiki_spike", "seismic_alert"):
            if type(getattr(self, name)) not in (bool, type(None)):
                raise self.invalid(name, "null, false or true")
        self.check_optional_decimal("wiki_max_ratio", 0, MAX_NUMBER)
        self.check_timestamp("as_of")


KINDS: tuple[type[Item], ...] = (News, MarketState, ScheduledEvent, Seismic, TheaterIntel)


def round_decimal(value: Decimal, places: Decimal = PLACES) -> Decimal:
    """Round a decimal half to even.

    Raises:
        SnapshotError: The value is not finite, or too large to round exactly.
    """
    if not value.is_finite() or abs(value) > MAX_NUMBER:
        raise SnapshotError(f"a number must be finite and at most {MAX_NUMBER}; received {value}")
    return value.quantize(places)


def parse_decimal(value: object) -> Decimal:
    """Parse a number of a source exactly.

    Raises:
        SnapshotError: The value is not a finite number or its decimal string.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise SnapshotError(f"a number is required; received {type(value).__name__}")
    if isinstance(value, str) and not re.fullmatch(r"[+-]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})", value, re.ASCII):
        raise SnapshotError(f"a number is required; received {value[:40]!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SnapshotError(f"a number must be finite; received {value}")
    found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not found.is_finite():
        raise SnapshotError(f"a number must be finite; received {found}")
    return found
