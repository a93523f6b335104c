"""Pages of agents: the leaderboard and the profile of an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openoutcry.arena.pages import query_parameters, svg_charts
from openoutcry.arena.pages.html_rendering import address
from openoutcry.arena.protocol import THEATERS, ArenaError, slug_of
from openoutcry.arena.scoring import Row
from openoutcry.arena.server.board_cache import Boards
from openoutcry.arena.server.market_routes import with_market
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.timestamps import ALL, parse_timestamp

PAGE = 50
"""Agents per page."""
SHOWN = 10
"""Decisions of a submission that a profile shows; the submission's page shows all."""

_Order = Callable[[Row], tuple[Any, ...]]


def _by(name: str, sign: int) -> _Order:
    def key(row: Row) -> tuple[Any, ...]:
        value = getattr(row, name)
        return value is None, 0 if value is None else sign * value

    return key


SORTS: Mapping[str, _Order] = {
    "skill": lambda row: (),
    "vs_50": _by("brier_skill_score_vs_50", -1),
    "brier": _by("brier", 1),
    "adjusted": _by("brier_adjusted", 1),
    "roi": _by("roi", -1),
    "coverage": _by("coverage", -1),
    "n": _by("n_scored", -1),
}
"""Sort key of each column, best first; ties keep the order of ranks."""


class AgentPages:
    """Computes the template contexts of agent pages.

    Args:
        state: The registered agents.
        boards: Their scores.
        settings: The clock.
    """

    def __init__(self, state: State, boards: Boards, settings: Settings) -> None:
        self._state, self._boards, self._settings = state, boards, settings

    def leaderboard(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the context of the leaderboard."""
        theater, least = query_parameters.theater(query), query_parameters.integer(query, "min_n", 0)
        season = query_parameters.choice(query, "season", tuple(self._boards.seasons())) or ALL
        sort = query_parameters.choice(query, "sort", tuple(SORTS)) or "skill"
        board = self._boards.board(theater, season)
        rows = sorted((row for row in board.rows if row.n_scored >= least), key=SORTS[sort])
        named_season = None if season == ALL else season
        kept = {
            "theater": theater,
            "season": named_season,
            "min_n": least or None,
            "sort": None if sort == "skill" else sort,
        }
        paging = query_parameters.Paging.of(rows, query, PAGE, "/", **kept)
        spans = [_skill(row) for row in paging.rows]
        ends = svg_charts.bounds(spans)
        references = {row.skill_reference for row in rows if row.n_scored}
        return {
            "board": board,
            "theater": theater,
            "theaters": THEATERS,
            "season": named_season,
            "seasons": list(self._boards.seasons()),
            "min_n": least,
            "sort": sort,
            "paging": paging,
            "marks": [svg_charts.interval(span, ends) for span in spans],
            "names": {row.slug: self._name(row.slug) for row in paging.rows},
            "n_agents": len(board.rows),
            "n_scored": sum(row.n_scored > 0 for row in board.rows),
            "is_always_50": references == {"always_50"},
        }

    def _name(self, slug: str) -> str | None:
        agent = self._state.agents.get(slug)
        return None if agent is None else agent.display_name

    def agent_address(self, query: Mapping[str, str]) -> str:
        """Return the address of the agent named by `slug`."""
        slug = slug_of(query.get("slug", "").strip())
        if slug is None or slug not in self._state.agents:
            detail = f"the slug of a registered agent is required; received {query.get('slug', '')[:64]!r}"
            raise ArenaError("unknown_agent", detail, "slug")
        return address(f"/agents/{slug}")

    def profile(self, slug: str) -> dict[str, Any]:
        """Return the context of an agent's page, without decisions before their cutoff."""
        name = slug_of(slug) or slug[:64]
        members = self._boards.profile(name, is_owner=False)
        row = next(row for row in self._boards.board().rows if row.slug == name)
        agent = self._state.agents[name]
        return {
            "agent": agent,
            "row": row,
            "n_submissions": members["n_submissions"],
            "chart": svg_charts.calibration(row.calibration),
            "recent": [self._submission(each) for each in members["recent_decisions"]],
        }

    def _submission(self, each: dict[str, Any]) -> dict[str, Any]:
        times = {name: parse_timestamp(name, each[name]) for name in ("received_at", "snapshot_as_of")}
        now = self._settings.clock()
        decisions = [with_market(self._state, body, now) for body in each["decisions"][:SHOWN]]
        return each | times | {"decisions": decisions, "n_more": max(0, len(each["decisions"]) - SHOWN)}


def _skill(row: Row) -> svg_charts.Span:
    return row.brier_skill_score, row.brier_skill_score_low, row.brier_skill_score_high
