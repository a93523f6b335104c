"""Kalshi: open markets and prices, from the public API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from openoutcry.arena.protocol import Theater
from openoutcry.arena.snapshots.item_kinds import MAX_TITLE, MarketState, SnapshotError, parse_decimal, round_decimal
from openoutcry.arena.snapshots.snapshot_times import parse_time, to_second, to_utc
from openoutcry.arena.snapshots.theaters import Table
from openoutcry.arena.sources.http_fetch import Capture, Fetcher
from openoutcry.arena.sources.parse_result import Parsed, read_object, rows_of, unreadable
from openoutcry.arena.sources.source_plan import Plan
from openoutcry.arena.sources.text_sanitizer import html_to_text

SOURCE = "kalshi"
URL = "https://api.elections.kalshi.com/trade-api/v2/markets"
MAX_ROWS, MAX_PAGES, MAX_CURSOR = 1000, 10, 2000
CENTS = Decimal("0.01")


@dataclass(frozen=True)
class Quotes:
    """A market's prices in dollars; None if missing."""

    bid: Decimal | None
    ask: Decimal | None
    mid: Decimal | None


def fetch(fetcher: Fetcher, plan: Plan) -> list[Capture]:
    """Fetch the open markets of every series of the plan, page by page."""
    found = []
    for series in plan.series:
        cursor = ""
        for _ in range(MAX_PAGES):
            query = {"limit": MAX_ROWS, "series_ticker": series, "status": "open", "cursor": cursor}
            found.append(fetcher.get(SOURCE, series, f"{URL}?{urlencode({k: v for k, v in query.items() if v})}"))
            cursor = next_cursor(found[-1].body)
            if not cursor:
                break
    return found


def next_cursor(raw: bytes) -> str:
    """Return the cursor of the next page; empty on the last page."""
    cursor = (read_object(raw) or {}).get("cursor")
    return cursor if isinstance(cursor, str) and len(cursor) <= MAX_CURSOR else ""


def parse(raw: bytes, fetched_at: datetime, table: Table) -> Parsed[MarketState]:
    """Parse the open markets of a page.

    `lost["unmapped"]` counts markets without a theater; they are returned too.

    Args:
        raw: Response body, with prices as dollar strings or (older format) integer cents.
        fetched_at: Time of the response, used as the time of the prices.
        table: Table that assigns series to theaters.
    """
    read = read_object(raw)
    if read is None or not isinstance(read.get("markets"), list):
        return unreadable()
    found: Parsed[MarketState] = Parsed()
    for row in rows_of(read["markets"], MAX_ROWS):
        try:
            market = _market(row, fetched_at, table)
        except (ArithmeticError, LookupError, SnapshotError, TypeError, ValueError):
            market = None
        if found.add("market", market) and market is not None:
            found.lost["unmapped"] += not market.theaters
    return found


def quotes(row: dict[str, Any]) -> Quotes:
    """Return the prices of a row, given in dollars or (older format) in cents.

    The mid is None if a price is missing, if bid and ask cross, or if they are 0 and 1 (no offers).
    """
    bid, ask = _price(row, "yes_bid"), _price(row, "yes_ask")
    has_market = bid is not None and ask is not None and bid <= ask and not (bid == 0 and ask == 1)
    mid = round_decimal((bid + ask) / 2) if has_market and bid is not None and ask is not None else None
    return Quotes(bid, ask, mid)


def _price(row: dict[str, Any], name: str) -> Decimal | None:
    dollars, cents = row.get(f"{name}_dollars"), row.get(name)
    if dollars is not None:
        price = parse_decimal(dollars)
    elif cents is not None:
        price = parse_decimal(cents) / 100
    else:
        return None
    if not 0 <= price <= 1:
        raise SnapshotError(f"a price must be from 0 to 1; received {price}")
    return round_decimal(price)


def _volume(row: dict[str, Any], mid: Decimal | None) -> Decimal | None:
    volume = row.get("volume_24h_fp", row.get("volume_24h"))
    # The volume is in contracts; in dollars it is an estimate at the mid, None without a mid.
    return None if volume is None or mid is None else round_decimal(parse_decimal(volume) * mid, CENTS)


def _market(row: dict[str, Any], fetched_at: datetime, table: Table) -> MarketState | None:
    if row.get("status") not in {"active", "open"}:
        return None
    prices, ticker = quotes(row), str(row["ticker"])
    theaters: tuple[Theater, ...] = table.theaters_of_ticker(ticker)
    return MarketState(
        id=f"market_state:kalshi:{ticker}",
        exchange="kalshi",
        market_id=f"kalshi:{ticker}",
        yes_mid_price=prices.mid,
        yes_bid=prices.bid,
        yes_ask=prices.ask,
        volume_24h_usd=_volume(row, prices.mid),
        as_of=to_second(to_utc("fetched_at", fetched_at)),
        question=html_to_text(row.get("title"), MAX_TITLE) or f"kalshi:{ticker}",
        close_time=parse_time(row["close_time"]),
        theaters=theaters,
    )
