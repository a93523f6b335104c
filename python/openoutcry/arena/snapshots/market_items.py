"""Markets of a snapshot, as listed by `GET /markets`."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from openoutcry.arena.protocol import THEATERS, Theater, is_market_id
from openoutcry.arena.snapshots.item_kinds import Json, SnapshotError, json_number, parse_decimal, round_decimal
from openoutcry.arena.snapshots.snapshot_times import format_time, parse_time
from openoutcry.arena.snapshots.theaters import default_table

BEFORE_CLOSE = timedelta(hours=2)
WITHOUT_CLOSE = timedelta(days=14)


@dataclass(frozen=True)
class Market:
    """A market in a snapshot. `degraded` names the fields that the snapshot lacks."""

    market_id: str
    exchange: str
    question: str
    yes_mid_price: Decimal | None
    yes_bid: Decimal | None
    yes_ask: Decimal | None
    decision_cutoff: datetime
    settlement_at: datetime
    theaters: tuple[Theater, ...]
    degraded: tuple[str, ...]

    @property
    def primary_theater(self) -> Theater | None:
        """The first theater, which determines the reference rate."""
        return self.theaters[0] if self.theaters else None

    def to_json(self) -> dict[str, Json]:
        """Return the row of `GET /markets`."""
        return {
            "market_id": self.market_id,
            "exchange": self.exchange,
            "question": self.question,
            "yes_mid_price": json_number(self.yes_mid_price),
            "decision_cutoff": format_time(self.decision_cutoff),
            "settlement_at": format_time(self.settlement_at),
            "theaters": list(self.theaters),
            "primary_theater": self.primary_theater,
            "yes_bid": json_number(self.yes_bid),
            "yes_ask": json_number(self.yes_ask),
        }


def read_markets(body: bytes, named: Container[str] | None = None) -> list[Market]:
    """Return the markets of a snapshot, sorted by cutoff and then by id.

    Items with an invalid market id are skipped, because no decision can name them.

    Args:
        body: Bytes of the snapshot.
        named: Market ids to return; all by default.
    """
    read = json.loads(body)
    as_of = parse_time(read["as_of"])
    items = [each for each in read["items"] if isinstance(each, dict) and each.get("kind") == "market_state"]
    found = [
        market_from_item(each, as_of)
        for each in items
        if isinstance(each.get("market_id"), str)
        and (named is None or each["market_id"] in named)
        and is_market_id(each["market_id"])
    ]
    return sorted(found, key=lambda each: (each.decision_cutoff, each.market_id))


def market_from_item(item: Mapping[str, object], as_of: datetime) -> Market:
    """Return the market of a `market_state` item.

    The cutoff is two hours before the close. A missing question is replaced by the id, a missing close by two
    weeks after `as_of`, and missing theaters by those of the ticker's series.

    Args:
        item: The decoded item, with a valid `market_id`.
        as_of: Time of the snapshot.
    """
    market_id, degraded = str(item["market_id"]), []
    question, close, theaters = item.get("question"), _close(item), item.get("theaters")
    if not isinstance(question, str) or not question:
        question = market_id
        degraded.append("question")
    if close is None:
        close = as_of + WITHOUT_CLOSE + BEFORE_CLOSE
        degraded.append("close_time")
    if isinstance(theaters, list):
        named = tuple(each for each in THEATERS if each in theaters)
        found = tuple(sorted(named, key=theaters.index))
    else:
        found = default_table().theaters_of_ticker(market_id.partition(":")[2])
        degraded.append("theaters")
    return Market(
        market_id=market_id,
        exchange=market_id.partition(":")[0],
        question=question,
        yes_mid_price=_price(item, "yes_mid_price"),
        yes_bid=_price(item, "yes_bid"),
        yes_ask=_price(item, "yes_ask"),
        decision_cutoff=close - BEFORE_CLOSE,
        settlement_at=close,
        theaters=found,
        degraded=tuple(degraded),
    )


def _close(item: Mapping[str, object]) -> datetime | None:
    try:
        close = parse_time(str(item.get("close_time")))
    except ValueError:
        return None
    # A cutoff two hours before year 1 cannot be represented.
    return close if close.year > 1 else None


def _price(item: Mapping[str, object], name: str) -> Decimal | None:
    try:
        price = round_decimal(parse_decimal(item.get(name)))
    except SnapshotError:
        return None
    return price if 0 <= price <= 1 else None
