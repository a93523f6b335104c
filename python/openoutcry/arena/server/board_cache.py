"""Leaderboards, computed once and cached until their inputs change."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from openoutcry.arena.protocol import THEATERS, ArenaError
from openoutcry.arena.scoring import Board, Forecasts, Row, ScoreInputs, board, select
from openoutcry.arena.server.market_routes import status_of
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import require_agent
from openoutcry.arena.store.read_queries import count_submissions, facts_at, visible_submissions
from openoutcry.arena.timestamps import ALL, MINUTE, Window, format_timestamp, seasons

RECENT = 20
"""Submissions that a profile shows."""
LATEST_WRITTEN = MINUTE
"""The longest time between receiving a submission and committing it."""
AFTER_ALL = 2**62
"""A timestamp after every cutoff."""
_SCORES = ("brier", "brier_skill_score", "brier_skill_score_vs_50", "roi", "coverage")


_Key = tuple[int, int, int]
"""Cache key: state changes, open markets now plus a minute ago, and markets with a final result."""


class _CachedBoards(NamedTuple):
    """Boards by season and theater, with their inputs and forecasts."""

    key: _Key
    facts: ScoreInputs
    forecasts: dict[str, Forecasts]
    boards: dict[tuple[str, str | None], Board]


class Boards:
    """Computes boards from public information and caches them.

    Args:
        arena: An open arena.
        settings: The clock and the public address.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings = arena, settings
        self._lock = threading.Lock()
        self._cached: _CachedBoards | None = None

    def seasons(self) -> dict[str, Window | None]:
        """Return the seasons that have started, with their windows."""
        return seasons(self._arena.state.began, self._settings.clock())

    def board(self, theater: str | None = None, season: str = ALL) -> Board:
        """Return the board of a theater or all, in a season or all time.

        Raises:
            ArenaError: `invalid_payload`: the theater or the season does not exist.
        """
        known = self.seasons()
        if season not in known:
            raise _unknown("season", known, season)
        if theater is not None and theater not in THEATERS:
            raise _unknown("theater", THEATERS, theater)
        cached, name = self._cached, (season, theater)
        stored = None if cached is None else cached.boards.get(name)
        if stored is not None and cached is not None and cached.key == self._key(self._settings.clock()):
            return stored
        # While one thread computes a board, the others return the previous one.
        if not self._lock.acquire(blocking=stored is None):
            assert stored is not None
            return stored
        try:
            return self._compute(theater, season)
        finally:
            self._lock.release()

    def _compute(self, theater: str | None, season: str) -> Board:
        timestamp, cached = self._settings.clock(), self._cached
        key = self._key(timestamp)
        if cached is None or cached.key != key:
            with self._arena.reading.connect() as connection:
                cached = _CachedBoards(key, facts_at(connection, timestamp), {}, {})
        if season not in cached.forecasts:
            cached.forecasts[season] = select(replace(cached.facts, window=self.seasons()[season]))
        name = season, theater
        if name not in cached.boards:
            cached.boards[name] = board(cached.forecasts[season], theater)
        self._cached = cached
        return cached.boards[name]

    def _key(self, timestamp: int) -> _Key:
        """Return the cache key of a timestamp.

        Decisions enter a board when their market's cutoff passes. A submission received just before the cutoff may be
        committed up to `LATEST_WRITTEN` later, so the key changes a second time then.
        """
        state = self._arena.state
        changes, markets = state.changes, list(state.markets.values())
        n_final = sum(status_of(market, timestamp) == "settled" for market in markets)
        cutoffs = [market.decision_cutoff for market in markets]
        n_open = sum((timestamp <= each) + (timestamp <= each + LATEST_WRITTEN) for each in cutoffs)
        return changes, n_open, n_final

    def leaderboard(self, found: Board, season: str, least: int, page: range) -> dict[str, Any]:
        """Return one page of a board as JSON members.

        Args:
            found: The board.
            season: Name of its season.
            least: Minimum number of scored decisions.
            page: Range of row indexes.
        """
        rows = [row for row in found.rows if row.n_scored >= least]
        cursor = str(page.stop) if page.stop < len(rows) else None
        return {
            "as_of": format_timestamp(found.at_us),
            "scoring_version": found.scoring_version,
            "theater": found.theater,
            "season": season,
            "fee_model": found.parameters.fee_model,
            "n_agents": len(rows),
            "next_cursor": cursor,
            "rows": [self._row(row) for row in rows[page.start : page.stop]],
        }

    def _row(self, row: Row) -> dict[str, Any]:
        members = asdict(row)
        agent = self._arena.state.agents.get(row.slug)
        members["display_name"] = None if agent is None else agent.display_name
        for name in ("per_theater", "calibration"):
            del members[name]
        return members

    def profile(self, slug: str, *, is_owner: bool) -> dict[str, Any]:
        """Return an agent with its scores and its newest submissions."""
        agent = require_agent(self._arena.state, slug)
        row = next((row for row in self.board().rows if row.slug == slug), None)
        if row is None:
            raise ArenaError("unknown_agent", f"a registered agent is required; received {slug!r}")
        scores = asdict(row)
        # The agent's own key also shows its hidden decisions.
        timestamp = AFTER_ALL if is_owner else self._settings.clock()
        with self._arena.reading.connect() as connection:
            recent = list(visible_submissions(connection, timestamp, agent=agent.id, most=RECENT))
            n = count_submissions(connection, agent.id)
        return {
            "slug": slug,
            "display_name": agent.display_name,
            "created_at": format_timestamp(agent.created_at),
            "suspended": agent.suspended,
            "n_submissions": n,
            "n_scored": row.n_scored,
            "rank": row.rank,
            **{name: scores[name] for name in _SCORES},
            "skill_reference": row.skill_reference,
            "reasons": row.reasons,
            "calibration": scores["calibration"],
            "per_theater": scores["per_theater"],
            "recent_decisions": [self._submission(each) for each in recent],
        }

    def _submission(self, each: Any) -> dict[str, Any]:
        return {
            "submission_id": each.submission_id,
            "received_at": format_timestamp(each.received_at),
            "snapshot_as_of": format_timestamp(each.as_of),
            "submission_sha256": each.sha256,
            "leaf_index": each.seq,
            "proof_url": f"{self._settings.public}/registry/proof/{each.submission_id}",
            "n_hidden": each.n_hidden,
            "decisions": [
                {name: body[name] for name in ("market_id", "yes_probability", "confidence", "reasoning", "salt")}
                for body in each.opened
            ],
        }


def _unknown(field: str, known: Iterable[str], received: str) -> ArenaError:
    wanted = f"one of {', '.join(known)} is required"
    return ArenaError("invalid_payload", f"{wanted}; received {received[:32]!r}", field)
