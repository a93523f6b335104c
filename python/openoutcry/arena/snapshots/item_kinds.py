"""The five public kinds of items, checked where they are made.

An item that breaks a rule cannot be made, so that none can be published. Numbers are held as integers or `Decimal`
and become JSON numbers of at most four decimals: the text of each is the shortest that reads back as the same number.
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
# With four decimals, a double still holds every digit below it.
MAX_NUMBER = Decimal(10) ** 11
MAX_TITLE, MAX_SUMMARY, MAX_NAME, MAX_URL = 300, 1000, 80, 2048
URL = re.compile(r"https?://[!-~]+", re.ASCII)
# Joiners belong to the spelling of Persian and to emoji; the other format characters reorder or hide text.
JOINERS = frozenset("\u200c\u200d")


class SnapshotError(ValueError):
    """A snapshot, or an item of one, that would break a rule."""


def is_visible(character: str) -> bool:
    """Return whether a character is no control and reorders or hides no text."""
    # What is not assigned yet may stand: a newer Python would know it, and make other bytes of the same captures.
    return unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"} or character in JOINERS


def json_number(value: Decimal | int | None) -> int | float | None:
    """Return a number for JSON: `Decimal("0.0400")` as 0.04, `Decimal("1.0")` as 1."""
    if value is None or isinstance(value, int):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


@dataclass(frozen=True)
class Item:
    """What the kinds share: an id, and the members that the wire shows, in this order."""

    kind: ClassVar[str]
    members: ClassVar[tuple[str, ...]]
    id: str

    @property
    def time(self) -> datetime | None:
        """When it was published, or what it tells of happened, if known (R-18)."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Refuse what no snapshot may hold.

        Raises:
            SnapshotError: A member breaks a rule of its kind.
        """
        if not isinstance(self.id, str) or not self.id.startswith(f"{self.kind}:"):
            raise SnapshotError(f"an id of the kind {self.kind} must begin with it and a colon; received {self.id!r}")
        self.check_text("id", 200)
        self.check()

    def check(self) -> None:
        """Refuse what no item of this kind may hold."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Json]:
        """Return the members as the wire has them, in their fixed order."""
        shown: dict[str, Json] = {"id": self.id, "kind": self.kind}
        for name in self.members:
            value = getattr(self, name)
            if isinstance(value, datetime):
                shown[name] = format_time(value)
            elif isinstance(value, tuple):
                shown[name] = list(value)
            else:
                shown[name] = json_number(value) if isinstance(value, Decimal) else value
        return shown

    def invalid(self, name: str, wanted: str) -> SnapshotError:
        """Return the error of a member that breaks a rule, to be raised."""
        return SnapshotError(f"{name} of {self.id!r} must be {wanted}; received {getattr(self, name)!r}"[:500])

    def check_text(self, name: str, most: int, least: int = 1) -> None:
        """Refuse a member that is no clean text of a bounded number of code points."""
        value = getattr(self, name)
        if not (isinstance(value, str) and least <= len(value) <= most and all(map(is_visible, value))):
            raise self.invalid(name, f"text of {least} to {most} characters without control characters")

    def check_timestamp(self, name: str) -> None:
        """Refuse a member that is no moment with a zone."""
        value = getattr(self, name)
        if not isinstance(value, datetime):
            raise self.invalid(name, "a time")
        try:
            to_utc(name, value)
        except (OverflowError, ValueError) as error:
            raise SnapshotError(f"{name} of {self.id!r}: {error}") from error

    def check_decimal(self, name: str, low: Decimal | int, high: Decimal | int) -> None:
        """Refuse a member that is no decimal of four places in a range."""
        value = getattr(self, name)
        if not (isinstance(value, Decimal) and value.is_finite() and low <= value <= high):
            raise self.invalid(name, f"a decimal from {low} to {high}")
        if value != value.quantize(PLACES):
            raise self.invalid(name, "of at most four decimals")

    def check_optional_decimal(self, name: str, low: Decimal | int, high: Decimal | int) -> None:
        """Refuse a member that is neither null nor such a decimal."""
        if getattr(self, name) is not None:
            self.check_decimal(name, low, high)

    def check_url(self, name: str) -> None:
        """Refuse a member that is no web address, as `javascript:` is none."""
        value = getattr(self, name)
        if not (isinstance(value, str) and len(value) <= MAX_URL and URL.fullmatch(value)):
            raise self.invalid(name, "an http or https address in ASCII")


@dataclass(frozen=True)
class News(Item):
    """An article, as its publisher announced it."""

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
        """When it was published, or first seen where its publisher gives no usable date."""
        return self.published_at

    def check(self) -> None:
        """Refuse what no article may hold."""
        if self.source_type not in {"rss", "gdelt"}:
            raise self.invalid("source_type", "`rss` or `gdelt`")
        self.check_text("source_name", MAX_NAME)
        self.check_text("title", MAX_TITLE)
        self.check_text("summary", MAX_SUMMARY, 0)
        self.check_url("url")
        self.check_timestamp("published_at")


@dataclass(frozen=True)
class MarketState(Item):
    """A market's prices, with what its exchange says of it (R-10)."""

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
        """When the prices were read."""
        return self.as_of

    def check(self) -> None:
        """Refuse what no market may hold."""
        if self.exchange != "kalshi" or not self.market_id.startswith("kalshi:") or not is_market_id(self.market_id):
            raise self.invalid("market_id", "an id of `kalshi`, the one exchange that is served")
        for name in ("yes_mid_price", "yes_bid", "yes_ask"):
            self.check_optional_decimal(name, 0, 1)
        self.check_optional_decimal("volume_24h_usd", 0, MAX_NUMBER)
        self.check_timestamp("as_of")
        self.check_timestamp("close_time")
        self.check_text("question", MAX_TITLE)
        if not set(self.theaters) <= set(THEATERS) or len(set(self.theaters)) < len(self.theaters):
            raise self.invalid("theaters", f"different ones of {', '.join(THEATERS)}")


@dataclass(frozen=True)
class ScheduledEvent(Item):
    """What is known to happen; when it was announced is not on the wire."""

    kind = "scheduled_event"
    members = ("title", "scheduled_at")
    title: str
    scheduled_at: datetime
    published_at: datetime | None = None

    @property
    def time(self) -> datetime | None:
        """When it was announced, if that is known; not when it happens."""
        return self.published_at

    def check(self) -> None:
        """Refuse what no event may hold."""
        self.check_text("title", MAX_TITLE)
        self.check_timestamp("scheduled_at")
        if self.published_at is not None:
            self.check_timestamp("published_at")


@dataclass(frozen=True)
class Seismic(Item):
    """An earthquake, in the version that was seen first."""

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
        """When it happened."""
        return self.occurred_at

    def check(self) -> None:
        """Refuse what no earthquake may hold."""
        self.check_decimal("magnitude", -5, 12)
        self.check_optional_decimal("depth_km", -20, 1000)
        self.check_decimal("lat", -90, 90)
        self.check_decimal("lon", -180, 180)
        self.check_text("place", MAX_TITLE, 0)
        self.check_timestamp("occurred_at")
        self.check_url("url")


@dataclass(frozen=True)
class TheaterIntel(Item):
    """What the sources say of one theater; null is what no source could say."""

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
        """The edge that it was put together for."""
        return self.as_of

    def check(self) -> None:
        """Refuse what no theater may hold."""
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
    """Return a decimal to so many decimals, halves to even.

    Raises:
        SnapshotError: It is not finite, or too large for its digits to be kept.
    """
    if not value.is_finite() or abs(value) > MAX_NUMBER:
        raise SnapshotError(f"a number must be finite and at most {MAX_NUMBER}; received {value}")
    return value.quantize(places)


def parse_decimal(value: object) -> Decimal:
    """Return a source's number as the decimal that its text shows.

    Raises:
        SnapshotError: It is neither a number nor the text of one, or not finite.
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
