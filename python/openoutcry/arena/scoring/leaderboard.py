"""The leaderboard: every agent with its scores, by rank (R-33, R-34)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

from openoutcry.arena.scoring import score_uncertainty, theater_scores
from openoutcry.arena.scoring.brier_scores import Point, peers, points, reference_places
from openoutcry.arena.scoring.decision_selection import Forecasts, select
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT, group_counts, group_sums, to_float
from openoutcry.arena.scoring.forecast_calibration import Calibration, calibrate, tallies
from openoutcry.arena.scoring.paper_returns import on_investment, sides
from openoutcry.arena.scoring.reference_rates import Reference, references
from openoutcry.arena.scoring.score_inputs import Agent, Facts, Parameters


@dataclass(frozen=True, slots=True)
class Row:
    """Scores of an agent. What has no value is None, and `reasons` says why by name.

    `n_provisional` decisions are on markets that are determined but not final; `brier_provisional` is the Brier score
    if they stay so. `tied` rows differ from a neighbour by slug alone.
    """

    slug: str
    rank: int | None
    tied: bool
    suspended: bool
    provisional: bool
    n_scored: int
    n_provisional: int
    brier: float | None
    brier_low: float | None
    brier_high: float | None
    brier_provisional: float | None
    brier_adjusted: float | None
    brier_skill_score: float | None
    brier_skill_score_low: float | None
    brier_skill_score_high: float | None
    brier_skill_score_vs_50: float | None
    brier_skill_score_paired: float | None
    skill_reference: str | None
    roi: float | None
    roi_at_touch: float | None
    n_positions: int
    coverage: float | None
    log_score: float | None
    peer_score: float | None
    n_peer: int
    rank_low: float | None
    rank_high: float | None
    p_best: float | None
    p_top: float | None
    p_rank: float | None
    calibration: Calibration
    per_theater: tuple[theater_scores.TheaterScore, ...]
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Board:
    """Rows by rank, what they are measured by, and under which rules."""

    scoring_version: str
    at_us: int
    window: tuple[int, int] | None
    theater: str | None
    parameters: Parameters
    references: tuple[Reference, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON says it: numbers, texts, lists and objects."""
        return {
            "scoring_version": self.scoring_version,
            "at_us": self.at_us,
            "window": None if self.window is None else list(self.window),
            "theater": self.theater,
            "parameters": self.parameters.to_record(),
            "fee_model": self.parameters.fee_model,
            "references": [each.to_json() for each in self.references],
            "rows": [asdict(row) for row in self.rows],
        }


def score(facts: Facts, theater: str | None = None) -> Board:
    """Return the board of facts, of one theater or of all markets."""
    return board(select(facts), theater)


def board(forecasts: Forecasts, theater: str | None = None) -> Board:
    """Return the board of forecasts, of one theater or of all markets."""
    settled = forecasts.where(forecasts.is_settled)
    named = theater_scores.names(forecasts)
    found = references(settled, named if theater is None else {*named, theater})
    pool = forecasts if theater is None else forecasts.where(forecasts.of_theater(theater))
    waiting = pool.where(~pool.is_settled)
    entrants = _entrants(pool.where(pool.is_settled), waiting, found, theater)
    rows = tuple(_rows(sorted(entrants, key=_Entrant.order)))
    facts = forecasts.facts
    listed = tuple(found.values())
    return Board(facts.scoring_version, facts.at_us, facts.window, theater, facts.parameters, listed, rows)


@dataclass(frozen=True, slots=True)
class _Entrant:
    """What an agent is ranked by, and everything else that its row says."""

    agent: Agent
    point: Point
    roi: Fraction | None
    said: dict[str, Any]

    def merit(self) -> tuple[Fraction | None, Fraction | None, int]:
        """Return what ranks an agent, but for its slug."""
        return self.point.skill, self.roi, self.point.n

    def order(self) -> tuple[Any, ...]:
        """Return the key by which the best comes first, and what is None last."""
        skill, roi, n = self.merit()
        worse = [(each is None, -each if each is not None else 0) for each in (skill, roi)]
        return n == 0, *worse, -n, self.agent.slug


def _entrants(
    settled: Forecasts, waiting: Forecasts, found: dict[str | None, Reference], theater: str | None
) -> Iterable[_Entrant]:
    used, place = reference_places(settled, found, theater)
    side = sides(settled)
    by_agent = zip(
        settled.agents,
        points(settled, used, place),
        _provisional(waiting),
        on_investment(settled, side),
        on_investment(settled, side, at_touch=True),
        peers(settled),
        settled.covered,
        score_uncertainty.log_scores(settled),
        score_uncertainty.adjusted(settled),
        score_uncertainty.intervals(settled, used, place),
        tallies(settled),
        theater_scores.per_theater(settled, found),
        strict=True,
    )
    for agent, point, (later, n_later), roi, touch, peer, covered, log_score, adjusted, ends, tally, own in by_agent:
        n = point.n + n_later
        yield _Entrant(
            agent,
            point,
            roi[0],
            {
                "n_provisional": n_later,
                "brier_provisional": to_float((point.loss + later) / n) if n else None,
                "roi_at_touch": to_float(touch[0]),
                "n_positions": roi[1],
                "peer_score": to_float(peer[0]),
                "n_peer": peer[1],
                "coverage": covered[0] / covered[1] if covered[1] else None,
                "log_score": log_score,
                "brier_adjusted": adjusted,
                "calibration": calibrate(tally),
                "per_theater": own,
            }
            | ends,
        )


def _provisional(waiting: Forecasts) -> list[tuple[Fraction, int]]:
    """Return what each agent would lose on markets that wait, and on how many."""
    n_agents = len(waiting.agents)
    losses = group_sums(waiting.agent, waiting.loss, n_agents)
    counts = group_counts(waiting.agent, n_agents)
    return [(Fraction(loss, LOSS_UNIT), n) for loss, n in zip(losses, counts, strict=True)]


def _rows(entrants: Sequence[_Entrant]) -> Iterable[Row]:
    alike = {place + at for place, (a, b) in enumerate(pairwise(entrants)) if a.merit() == b.merit() for at in (0, 1)}
    for place, entrant in enumerate(entrants):
        point, agent = entrant.point, entrant.agent
        said = entrant.said | {
            "slug": agent.slug,
            "rank": place + 1 if point.n else None,
            "tied": place in alike and point.n > 0,
            "suspended": agent.suspended,
            "provisional": entrant.said["n_provisional"] > 0,
            "n_scored": point.n,
            "brier": to_float(point.brier),
            "brier_skill_score": to_float(point.skill),
            "brier_skill_score_vs_50": to_float(point.skill_vs_50),
            "brier_skill_score_paired": to_float(point.skill_paired),
            "skill_reference": point.skill_reference,
            "roi": to_float(entrant.roi),
        }
        yield Row(**said, reasons=_reasons(said))


_WHY = {
    "brier_adjusted": "not_connected",
    "brier_skill_score": "reference_zero",
    "brier_skill_score_paired": "reference_zero",
    "coverage": "no_open_market",
    "peer_score": "no_peer",
    "roi": "no_position",
    "roi_at_touch": "no_position",
}


def _reasons(said: dict[str, Any]) -> dict[str, str]:
    """Return why each score that is None has no value."""
    missing = [each.name for each in fields(Row) if said.get(each.name, "") is None]
    if not said["n_scored"]:
        why = "suspended" if said["suspended"] else "no_scored_decision"
        return {name: "no_open_market" if name == "coverage" else why for name in missing}
    return {name: _WHY.get(name, "too_few_markets") for name in missing}
