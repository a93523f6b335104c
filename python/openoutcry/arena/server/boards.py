"""Boards that are made once and served until something changes."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Any

from openoutcry.arena.protocol import THEATERS, ArenaError
from openoutcry.arena.scoring import Board, Forecasts, Row, board, select
from openoutcry.arena.server.listing import status_of
from openoutcry.arena.server.settings import Settings
from openoutcry.arena.store.arena import Arena
from openoutcry.arena.store.entries import known_agent
from openoutcry.arena.store.reading import facts_at, n_submitted, submitted
from openoutcry.arena.times import text_of

RECENT = 20
"""Submissions that a profile shows."""
NOWHERE = ""
"""A theater that no market names."""
_SCORES = ("brier", "brier_skill_score", "brier_skill_score_vs_50", "roi", "coverage")


class Boards:
    """Makes boards of what anybody may know, and keeps them until that changes.

    Args:
        arena: Whose agents.
        settings: What the server was told.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings = arena, settings
        self._lock = threading.Lock()
        self._known: tuple[object, Forecasts] | None = None
        self._made: dict[str | None, Board] = {}

    def board(self, theater: str | None = None) -> Board:
        """Return the board of a theater, or of all."""
        if theater is not None and theater not in THEATERS:
            # They are all the same, and there is no end of them.
            theater = NOWHERE
        with self._lock:
            forecasts = self._forecasts()
            if theater not in self._made:
                self._made[theater] = board(forecasts, theater)
            return self._made[theater]

    def _forecasts(self) -> Forecasts:
        moment = self._settings.clock()
        # What a board depends on: the log, which markets are open to see, and which results have become final.
        state, size = self._arena.state, self._arena.writer.log.end.seq
        markets = state.markets.values()
        n_final = sum(status_of(market, moment) == "settled" for market in markets)
        key = size, sum(market.decision_cutoff < moment for market in markets), n_final
        if self._known is None or self._known[0] != key:
            with self._arena.reading.connect() as connection:
                self._known = key, select(facts_at(connection, state, moment))
            self._made.clear()
        return self._known[1]

    def leaderboard(self, theater: str | None, least: int, place: int, limit: int) -> dict[str, Any]:
        """Return rows from a place on (R-33, R-34)."""
        found = self.board(theater)
        rows = [row for row in found.rows if row.n_scored >= least]
        cursor = str(place + limit) if place + limit < len(rows) else None
        return {
            "as_of": text_of(found.at_us),
            "scoring_version": found.scoring_version,
            "theater": theater,
            "fee_model": found.parameters.fee_model,
            "n_agents": len(rows),
            "next_cursor": cursor,
            "rows": [self._row(row) for row in rows[place : place + limit]],
        }

    def _row(self, row: Row) -> dict[str, Any]:
        told = asdict(row)
        agent = self._arena.state.agents.get(row.slug)
        told["display_name"] = None if agent is None else agent.display_name
        for name in ("per_theater", "calibration"):
            del told[name]
        return told

    def profile(self, slug: str, *, is_owner: bool) -> dict[str, Any]:
        """Return an agent with its scores and newest submissions (R-31, R-32)."""
        agent = known_agent(self._arena.state, slug)
        row = next((row for row in self.board().rows if row.slug == slug), None)
        if row is None:
            raise ArenaError("unknown_agent", f"an agent that is registered is required; received {slug!r}")
        told = asdict(row)
        # Whoever comes with the agent's own key has seen its decisions before.
        moment = 2**62 if is_owner else self._settings.clock()
        with self._arena.reading.connect() as connection:
            recent = list(submitted(connection, self._arena.state, moment, agent=agent.id, most=RECENT))
            n = n_submitted(connection, agent.id)
        return {
            "slug": slug,
            "display_name": agent.display_name,
            "created_at": text_of(agent.created_at),
            "suspended": agent.suspended,
            "n_submissions": n,
            "n_scored": row.n_scored,
            "rank": row.rank,
            **{name: told[name] for name in _SCORES},
            "skill_reference": row.skill_reference,
            "reasons": row.reasons,
            "calibration": told["calibration"],
            "per_theater": told["per_theater"],
            "recent_decisions": [self._submission(each) for each in recent],
        }

    def _submission(self, each: Any) -> dict[str, Any]:
        return {
            "submission_id": each.submission_id,
            "received_at": text_of(each.received_at),
            "snapshot_as_of": text_of(each.as_of),
            "submission_sha256": each.sha256,
            "leaf_index": each.seq,
            "proof_url": f"{self._settings.public}/registry/proof/{each.submission_id}",
            "n_hidden": each.n_hidden,
            "decisions": [
                {name: body[name] for name in ("market_id", "yes_probability", "confidence", "reasoning", "salt")}
                for body in each.opened
            ],
        }
