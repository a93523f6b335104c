"""Boards that are made once and served until something changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from openoutcry.arena.protocol import THEATERS, ArenaError
from openoutcry.arena.scoring import Board, Facts, Forecasts, Row, board, select
from openoutcry.arena.server.market_routes import status_of
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import known_agent
from openoutcry.arena.store.read_queries import facts_at, n_submitted, submitted
from openoutcry.arena.timestamps import ALL, MINUTE, Window, seasons, text_of

RECENT = 20
"""Submissions that a profile shows."""
LATEST_WRITTEN = MINUTE
"""What came in time is written by then."""
AFTER_ALL = 2**62
"""A moment past every cutoff."""
_SCORES = ("brier", "brier_skill_score", "brier_skill_score_vs_50", "roi", "coverage")


_Key = tuple[int, int, int]
"""Changes of the state, open markets counted now and a little before, and results that are final."""


class _Made(NamedTuple):
    """Boards by season and theater, and what they are made of."""

    key: _Key
    facts: Facts
    forecasts: dict[str, Forecasts]
    boards: dict[tuple[str, str | None], Board]


class Boards:
    """Makes boards of what anybody may know, and keeps them until that changes.

    Args:
        arena: Whose agents.
        settings: What the server was told.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings = arena, settings
        self._lock = threading.Lock()
        self._made: _Made | None = None

    def seasons(self) -> dict[str, Window | None]:
        """Return the seasons that have begun, and their windows (Q-4)."""
        return seasons(self._arena.state.began, self._settings.clock())

    def board(self, theater: str | None = None, season: str = ALL) -> Board:
        """Return the board of a theater or of all, in a season or of all time (Q-2, Q-4).

        Raises:
            ArenaError: `invalid_payload`: there is no such one, and no end of names for it.
        """
        known = self.seasons()
        if season not in known:
            raise _none("season", known, season)
        if theater is not None and theater not in THEATERS:
            raise _none("theater", THEATERS, theater)
        made, asked = self._made, (season, theater)
        kept = None if made is None else made.boards.get(asked)
        if kept is not None and made is not None and made.key == self._key(self._settings.clock()):
            return kept
        # While one thread makes a board, the others are shown the one before.
        if not self._lock.acquire(blocking=kept is None):
            assert kept is not None
            return kept
        try:
            return self._made_now(theater, season)
        finally:
            self._lock.release()

    def _made_now(self, theater: str | None, season: str) -> Board:
        moment, made = self._settings.clock(), self._made
        key = self._key(moment)
        if made is None or made.key != key:
            with self._arena.reading.connect() as connection:
                made = _Made(key, facts_at(connection, moment), {}, {})
        if season not in made.forecasts:
            made.forecasts[season] = select(replace(made.facts, window=self.seasons()[season]))
        asked = season, theater
        if asked not in made.boards:
            made.boards[asked] = board(made.forecasts[season], theater)
        self._made = made
        return made.boards[asked]

    def _key(self, moment: int) -> _Key:
        """Return what a board depends on.

        A submission is of open markets, and on no board before their cutoffs. One that came in time may be written a
        little later, for which all is looked at once more.
        """
        state = self._arena.state
        changes, markets = state.changes, list(state.markets.values())
        n_final = sum(status_of(market, moment) == "settled" for market in markets)
        cutoffs = [market.decision_cutoff for market in markets]
        n_open = sum((moment <= each) + (moment <= each + LATEST_WRITTEN) for each in cutoffs)
        return changes, n_open, n_final

    def leaderboard(self, found: Board, season: str, least: int, page: range) -> dict[str, Any]:
        """Return rows of a board (R-33, R-34).

        Args:
            found: The board.
            season: Its name.
            least: Decisions that are scored, at least.
            page: Places of rows.
        """
        rows = [row for row in found.rows if row.n_scored >= least]
        cursor = str(page.stop) if page.stop < len(rows) else None
        return {
            "as_of": text_of(found.at_us),
            "scoring_version": found.scoring_version,
            "theater": found.theater,
            "season": season,
            "fee_model": found.parameters.fee_model,
            "n_agents": len(rows),
            "next_cursor": cursor,
            "rows": [self._row(row) for row in rows[page.start : page.stop]],
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
        moment = AFTER_ALL if is_owner else self._settings.clock()
        with self._arena.reading.connect() as connection:
            recent = list(submitted(connection, moment, agent=agent.id, most=RECENT))
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


def _none(field: str, known: Iterable[str], came: str) -> ArenaError:
    wanted = f"one of {', '.join(known)} is required"
    return ArenaError("invalid_payload", f"{wanted}; received {came[:32]!r}", field)
