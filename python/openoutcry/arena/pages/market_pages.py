"""Pages of what there is to decide on: markets, and the snapshots that show them."""

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
"""Rows of a page."""
QUOTES = 1008
"""Prices of a market that are drawn: a week of them."""
LISTED = 36
"""Those that are listed too: six hours."""
KINDS = ("market_state", "theater_intel", "news", "scheduled_event", "seismic")


class MarketPages:
    """Tells pages of markets and snapshots.

    Args:
        arena: Whose.
        settings: What the server was told.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings, self._leaves = arena, settings, _Leaves()

    def markets(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return what the list of markets says (R-07 to R-09)."""
        # As in the protocol, a list of markets is empty where a region has none, whatever its name.
        status, theater = query_parameters.choice(query, "status", STATUSES) or "open", query.get("theater") or None
        state, moment = self._arena.state, self._settings.clock()
        rows = list_markets(state, self._arena.reading, status, theater, moment)["markets"]
        kept = {"status": None if status == "open" else status, "theater": theater}
        told = [(state.markets[row["market_id"]], row) for row in rows]
        return {
            "status": status,
            "statuses": STATUSES,
            "theater": theater,
            "theaters": THEATERS,
            "paging": query_parameters.Paging.of(told, query, MARKETS, "/markets", **kept),
        }

    def market(self, market_id: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Return what the page of a market says, before the cutoff no decision (R-32)."""
        state, moment = self._arena.state, self._settings.clock()
        market = state.markets.get(market_id)
        if market is None:
            told = f"a market of some snapshot is required; received {market_id[:64]!r}"
            raise ArenaError("not_found", told)
        with self._arena.reading.connect() as connection:
            is_hidden = market_id not in public_markets(connection, moment)
            asked_for = select(quotes).where(quotes.c.market == market.id).order_by(quotes.c.as_of.desc())
            prices = list(connection.execute(asked_for.limit(QUOTES)))
            rows = [] if is_hidden else _last_decisions(connection, market)
            paging = query_parameters.Paging.of(rows, query, DECISIONS, f"/markets/{market_id}")
            reasons = _reasons(connection, market, [row.seq for row in paging.rows])
        drawn = [(row.as_of, float(row.mid)) for row in reversed(prices) if row.mid is not None]
        shares = [float(row.yes_probability) for row in rows]
        return {
            "market": market,
            "status": status_of(market, moment),
            "is_hidden": is_hidden,
            "quotes": prices[:LISTED],
            "chart": svg_charts.prices(drawn),
            "paging": paging,
            "reasons_said": reasons,
            "mean": sum(shares) / len(shares) if shares else None,
        }

    def example(self) -> dict[str, Any]:
        """Return what to begin with: a free slug, the market that is open the longest."""
        moment, state = self._settings.clock(), self._arena.state
        known = [each for each in state.markets.values() if each.accepts_decision_at(moment)]
        last = max(known, key=lambda each: (each.decision_cutoff, each.market_id), default=None)
        slugs = ("my-agent" + (f"-{n}" if n > 1 else "") for n in count(1))
        return {
            "example": None if last is None else last.market_id,
            "slug": next(slug for slug in slugs if slug not in state.agents),
            "rate_key": self._settings.rate_key,
            "schema_version": DECISION_VERSION,
            "most_reasoning": MAX_REASONING,
        }

    def snapshots(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return what the list of snapshots says, the newest first."""
        rows = sorted(self._arena.state.snapshots.items(), reverse=True)
        return {"paging": query_parameters.Paging.of(rows, query, SNAPSHOTS, "/snapshots")}

    def snapshot(self, text: str) -> dict[str, Any]:
        """Return what the page of a snapshot says (R-16, R-17)."""
        published = self._arena.state.snapshots
        try:
            moment = time_field("as_of", text)
        except ArenaError as error:
            raise ArenaError("unknown_snapshot", error.detail, "as_of") from error
        if moment not in published:
            raise unknown_snapshot(moment, "as_of")
        order = sorted(published)
        place = order.index(moment)
        with self._arena.reading.connect() as connection:
            body = connection.execute(select(snapshots.c.body).where(snapshots.c.as_of == moment)).scalar_one()
            leaf = self._leaves.of(connection, place)
            record = bytes(connection.execute(select(records.c.record).where(records.c.seq == leaf)).scalar_one())
        items = json.loads(bytes(body))["items"]
        return {
            "moment": moment,
            "sha256": published[moment],
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
    """Where the log has each snapshot: one record each, in their order.

    No index finds them, and each reader of an old one would read the whole log.
    """

    def __init__(self) -> None:
        self._lock, self._known = threading.Lock(), list[int]()

    def of(self, connection: Connection, place: int) -> int:
        with self._lock:
            if place >= len(self._known):
                begin = self._known[-1] + 1 if self._known else 0
                asked_for = select(records.c.seq).where(records.c.seq >= begin, records.c.type == "snapshot")
                self._known += connection.execute(asked_for.order_by(records.c.seq)).scalars()
            return self._known[place]


def _last_decisions(connection: Connection, market: Market) -> list[Any]:
    """Return the decision of each agent on its newest snapshot, by slug."""
    found = select(decisions, agents.c.slug, agents.c.display_name, submissions.c.submission_id)
    joined = found.join(agents, agents.c.id == decisions.c.agent).join(
        submissions, submissions.c.seq == decisions.c.seq
    )
    # Agents are given, so that the key (agent, market) finds them without reading all decisions.
    known = decisions.c.agent.in_(select(agents.c.id))
    return list(connection.execute(joined.where(known, decisions.c.market == market.id).order_by(agents.c.slug)))


def _reasons(connection: Connection, market: Market, seqs: list[int]) -> dict[int, str | None]:
    """Return what was said of a market after its cutoff, by the submission's place."""
    rows = connection.execute(select(submissions.c.seq, submissions.c.opened).where(submissions.c.seq.in_(seqs)))
    return {
        row.seq: body["reasoning"]
        for row in rows
        for body in json.loads(row.opened)
        if body["market_id"] == market.market_id
    }
