"""`GET /markets`: open, closed and settled markets."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, select

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.scoring.settlement import EXCLUDED, SETTLED, market_state
from openoutcry.arena.store.cached_state import GRACE, Market, State
from openoutcry.arena.store.tables import markets, quotes
from openoutcry.arena.timestamps import format_timestamp

STATUSES = ("open", "closed", "settled")


def status_of(market: Market, timestamp: int) -> str:
    """Return `open`, `closed` or `settled`, a market's status."""
    if market.status is None:
        return "open" if timestamp <= market.decision_cutoff else "closed"
    assert market.resolved_at is not None
    state = market_state(market.status, market.outcome, market.resolved_at, timestamp, GRACE)
    return "settled" if state in (SETTLED, EXCLUDED) else "closed"


def with_market(state: State, body: dict[str, Any], timestamp: int) -> dict[str, Any]:
    """Return a revealed decision with its market and the market's status at a time."""
    market = state.markets.get(body["market_id"])
    return body | {"market": market, "status": None if market is None else status_of(market, timestamp)}


def list_markets(state: State, engine: Engine, status: str, theater: str | None, timestamp: int) -> dict[str, Any]:
    """Return the markets of a status by cutoff, with newest prices."""
    if status not in STATUSES:
        raise ArenaError(
            "invalid_payload", f"a status of {', '.join(STATUSES)} is required; received {status[:32]!r}", "status"
        )
    selected = [
        market
        for market in state.markets.values()
        if status_of(market, timestamp) == status and (theater is None or theater in market.theaters)
    ]
    selected.sort(key=lambda market: (market.decision_cutoff, market.market_id))
    prices = _newest(engine) if selected else {}
    bodies = [_body(market, status, prices.get(market.id, (None, None, None))) for market in selected]
    return {"as_of": None if state.latest is None else format_timestamp(state.latest), "markets": bodies}


def _newest(engine: Engine) -> dict[int, tuple[str | None, str | None, str | None]]:
    # Joined on each market's newest snapshot: a search for the newest price would read all prices.
    is_newest = (quotes.c.market == markets.c.id) & (quotes.c.as_of == markets.c.last_as_of)
    with engine.connect() as connection:
        rows = connection.execute(select(quotes).join(markets, is_newest))
        return {row.market: (row.mid, row.bid, row.ask) for row in rows}


def _body(market: Market, status: str, prices: tuple[str | None, str | None, str | None]) -> dict[str, Any]:
    mid, bid, ask = (None if price is None else float(price) for price in prices)
    void = "void" if market.status in ("void", "scalar") else market.outcome
    return {
        "market_id": market.market_id,
        "exchange": market.exchange,
        "question": market.question,
        "yes_mid_price": mid,
        "yes_bid": bid,
        "yes_ask": ask,
        "decision_cutoff": format_timestamp(market.decision_cutoff),
        "settlement_at": format_timestamp(market.settlement_at),
        "theaters": list(market.theaters),
        "primary_theater": market.theaters[0] if market.theaters else None,
        "status": status,
        "outcome": void if status == "settled" else None,
    }
