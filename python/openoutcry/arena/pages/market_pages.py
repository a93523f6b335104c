"""Pages of markets and snapshots."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from itertools import count
from typing import Any

from sqlalchemy import Connection, select

from openoutcry.arena.log.log_proofs import leaf_hash
from openoutcry.arena.pages import query_parameters, svg_charts
from openoutcry.arena.protocol import DECISION_VERSION, MAX_REASONING, THEATERS, ArenaError
from openoutcry.arena.request_schema import time_field
from openoutcry.arena.server.fast_routes import unknown_snapshot
from openoutcry.arena.server.market_routes import STATUSES, list_markets, status_of
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.cached_state import Market
from openoutcry.arena.store.read_queries import public_markets
from openoutcry.arena.store.tables import agents, decisions, quotes, records, snapshots, submissions

MARKETS, DECISIONS, SNAPSHOTS = 100, 50, 144
"""Rows per page."""
QUOTES = 1008
"""Prices in the chart of a market: one week."""
LISTED = 36
"""Prices in the table of a market: six hours."""
KINDS = ("market_state", "theater_intel", "news", "scheduled_event", "seismic")


class MarketPages:
    """Computes the template contexts of market and snapshot pages.

    Args:
        arena: An open arena.
        settings: The clock and the rate limit.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings, self._leaves = arena, settings, _Leaves()

    def markets(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the context of the list of markets."""
        # As in the protocol, an unknown region gives an empty list.
        status, theater = query_parameters.choice(query, "status", STATUSES) or "open", query.get("theater") or None
        state, timestamp = self._arena.state, self._settings.clock()
        rows = list_markets(state, self._arena.reading, status, theater, timestamp)["markets"]
        kept = {"status": None if status == "open" else status, "theater": theater}
        listed = [(state.markets[row["market_id"]], row) for row in rows]
        return {
            "status": status,
            "statuses": STATUSES,
            "theater": theater,
            "theaters": THEATERS,
            "paging": query_parameters.Paging.of(listed, query, MARKETS, "/markets", **kept),
        }

    def market(self, market_id: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the context of a market's page, with no decision before cutoff."""
        state, timestamp = self._arena.state, self._settings.clock()
        market = state.markets.get(market_id)
        if market is None:
            detail = f"a market of a published snapshot is required; received {market_id[:64]!r}"
            raise ArenaError("not_found", detail)
        with self._arena.reading.connect() as connection:
            is_hidden = market_id not in public_markets(connection, timestamp)
            newest = select(quotes).where(quotes.c.market == market.id).order_by(quotes.c.as_of.desc())
            prices = list(connection.execute(newest.limit(QUOTES)))
            rows = [] if is_hidden else _last_decisions(connection, market)
            paging = query_parameters.Paging.of(rows, query, DECISIONS, f"/markets/{market_id}")
            reasons = _reasons(connection, market, [row.seq for row in paging.rows])
        drawn = [(row.as_of, float(row.mid)) for row in reversed(prices) if row.mid is not None]
        shares = [float(row.yes_probability) for row in rows]
        return {
            "market": market,
            "status": status_of(market, timestamp),
            "is_hidden": is_hidden,
            "quotes": prices[:LISTED],
            "chart": svg_charts.prices(drawn),
            "paging": paging,
            "reasons_said": reasons,
            "mean": sum(shares) / len(shares) if shares else None,
        }

    def example(self) -> dict[str, Any]:
        """Return the values of the first-agent guide: a free slug and an open market."""
        timestamp, state = self._settings.clock(), self._arena.state
        open_markets = [each for each in state.markets.values() if each.accepts_decision_at(timestamp)]
        last = max(open_markets, key=lambda each: (each.decision_cutoff, each.market_id), default=None)
        slugs = ("my-agent" + (f"-{n}" if n > 1 else "") for n in count(1))
        return {
            "example": None if last is None else last.market_id,
            "slug": next(slug for slug in slugs if slug not in state.agents),
            "rate_key": self._settings.rate_key,
            "schema_version": DECISION_VERSION,
            "most_reasoning": MAX_REASONING,
        }

    def snapshots(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the context of the list of snapshots, newest first."""
        rows = sorted(self._arena.state.snapshots.items(), reverse=True)
        return {"paging": query_parameters.Paging.of(rows, query, SNAPSHOTS, "/snapshots")}

    def snapshot(self, text: str) -> dict[str, Any]:
        """Return the context of a snapshot's page."""
        published = self._arena.state.snapshots
        try:
            timestamp = time_field("as_of", text)
        except ArenaError as error:
            raise ArenaError("unknown_snapshot", error.detail, "as_of") from error
        if timestamp not in published:
            raise unknown_snapshot(timestamp, "as_of")
        order = sorted(published)
        place = order.index(timestamp)
        with self._arena.reading.connect() as connection:
            body = connection.execute(select(snapshots.c.body).where(snapshots.c.as_of == timestamp)).scalar_one()
            leaf = self._leaves.of(connection, place)
            record = bytes(connection.execute(select(records.c.record).where(records.c.seq == leaf)).scalar_one())
        items = json.loads(bytes(body))["items"]
        return {
            "moment": timestamp,
            "sha256": published[timestamp],
            "size": len(body),
            "leaf": leaf,
            "leaf_hash": leaf_hash(record).hex(),
            "record": record.decode(),
            "n_items": len(items),
            "kinds": [(kind, [each for each in items if each["kind"] == kind]) for kind in KINDS],
            "before": order[place - 1] if place else None,
            "after": order[place + 1] if place + 1 < len(order) else None,
        }


class _Leaves:
    """Cache of the log index of each snapshot's record, in order of publication.

    The table has no index for this query, so each lookup of an old snapshot would scan the complete log.
    """

    def __init__(self) -> None:
        self._lock, self._known = threading.Lock(), list[int]()

    def of(self, connection: Connection, place: int) -> int:
        with self._lock:
            if place >= len(self._known):
                begin = self._known[-1] + 1 if self._known else 0
                newer = select(records.c.seq).where(records.c.seq >= begin, records.c.type == "snapshot")
                self._known += connection.execute(newer.order_by(records.c.seq)).scalars()
            return self._known[place]


def _last_decisions(connection: Connection, market: Market) -> list[Any]:
    """Return each agent's decision on its newest snapshot, ordered by slug."""
    columns = select(decisions, agents.c.slug, agents.c.display_name, submissions.c.submission_id)
    joined = columns.join(agents, agents.c.id == decisions.c.agent).join(
        submissions, submissions.c.seq == decisions.c.seq
    )
    # The condition on agents lets the primary key (agent, market) be used instead of a scan of all decisions.
    is_registered = decisions.c.agent.in_(select(agents.c.id))
    return list(
        connection.execute(joined.where(is_registered, decisions.c.market == market.id).order_by(agents.c.slug))
    )


def _reasons(connection: Connection, market: Market, seqs: list[int]) -> dict[int, str | None]:
    """Return the revealed `reasoning` on a market by log index of the submission."""
    rows = connection.execute(select(submissions.c.seq, submissions.c.opened).where(submissions.c.seq.in_(seqs)))
    return {
        row.seq: body["reasoning"]
        for row in rows
        for body in json.loads(row.opened)
        if body["market_id"] == market.market_id
    }
