"""The leaderboard: scores of all agents, sorted by rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

from openoutcry.arena.scoring import score_uncertainty, theater_scores
from openoutcry.arena.scoring.brier_scores import PointScore, assign_references, peer_scores, point_scores
from openoutcry.arena.scoring.decision_selection import Forecasts, select
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT, group_counts, group_sums, to_float
from openoutcry.arena.scoring.forecast_calibration import Calibration, calibrate, tallies
from openoutcry.arena.scoring.paper_returns import return_on_investment, sides
from openoutcry.arena.scoring.reference_rates import Reference, references
from openoutcry.arena.scoring.score_inputs import Agent, Parameters, ScoreInputs


@dataclass(frozen=True, slots=True)
class Row:
    """Scores of an agent. An undefined score is None; `reasons` maps its name to why.

    `n_provisional` decisions are on markets with a provisional result; `brier_provisional` is the Brier score with
    these results included. `tied` marks rows ranked by slug alone.
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
    """Rows sorted by rank, with the reference rates and the scoring rules."""

    scoring_version: str
    at_us: int
    window: tuple[int, int] | None
    theater: str | None
    parameters: Parameters
    references: tuple[Reference, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON values."""
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


def score(inputs: ScoreInputs, theater: str | None = None) -> Board:
    """Return the board of one theater, or of all markets, from score inputs."""
    return board(select(inputs), theater)


def board(forecasts: Forecasts, theater: str | None = None) -> Board:
    """Return the board of one theater, or of all markets, from selected forecasts."""
    settled = forecasts.where(forecasts.is_settled)
    named = theater_scores.theater_names(forecasts)
    found = references(settled, named if theater is None else {*named, theater})
    pool = forecasts if theater is None else forecasts.where(forecasts.of_theater(theater))
    provisional = pool.where(~pool.is_settled)
    entrants = _entrants(pool.where(pool.is_settled), provisional, found, theater)
    rows = tuple(_rows(sorted(entrants, key=_Entrant.sort_key)))
    inputs = forecasts.inputs
    listed = tuple(found.values())
    return Board(inputs.scoring_version, inputs.at_us, inputs.window, theater, inputs.parameters, listed, rows)


@dataclass(frozen=True, slots=True)
class _Entrant:
    """The scores an agent is ranked by, and the other values of its row."""

    agent: Agent
    point: PointScore
    roi: Fraction | None
    scores: dict[str, Any]

    def ranking_key(self) -> tuple[Fraction | None, Fraction | None, int]:
        """Return the values that rank an agent; equal values are a tie."""
        return self.point.skill, self.roi, self.point.n

    def sort_key(self) -> tuple[Any, ...]:
        """Return the sort key: best first, undefined values last, then by slug."""
        skill, roi, n = self.ranking_key()
        worse = [(each is None, -each if each is not None else 0) for each in (skill, roi)]
        return n == 0, *worse, -n, self.agent.slug


def _entrants(
    settled: Forecasts, provisional: Forecasts, found: dict[str | None, Reference], theater: str | None
) -> Iterable[_Entrant]:
    used, place = assign_references(settled, found, theater)
    side = sides(settled)
    by_agent = zip(
        settled.agents,
        point_scores(settled, used, place),
        _provisional_losses(provisional),
        return_on_investment(settled, side),
        return_on_investment(settled, side, at_touch=True),
        peer_scores(settled),
        settled.coverage_counts,
        score_uncertainty.log_scores(settled),
        score_uncertainty.adjusted_scores(settled),
        score_uncertainty.intervals(settled, used, place),
        tallies(settled),
        theater_scores.per_theater(settled, found),
        strict=True,
    )
    for agent, point, (
        later,
        n_later,
    ), roi, touch, peer, coverage_counts, log_score, adjusted, ends, tally, own in by_agent:
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
                "coverage": coverage_counts[0] / coverage_counts[1] if coverage_counts[1] else None,
                "log_score": log_score,
                "brier_adjusted": adjusted,
                "calibration": calibrate(tally),
                "per_theater": own,
            }
            | ends,
        )


def _provisional_losses(provisional: Forecasts) -> list[tuple[Fraction, int]]:
    """Return the loss on markets with provisional results, and their number."""
    n_agents = len(provisional.agents)
    losses = group_sums(provisional.agent, provisional.loss, n_agents)
    counts = group_counts(provisional.agent, n_agents)
    return [(Fraction(loss, LOSS_UNIT), n) for loss, n in zip(losses, counts, strict=True)]


def _rows(entrants: Sequence[_Entrant]) -> Iterable[Row]:
    tied_places = {
        place + at
        for place, (a, b) in enumerate(pairwise(entrants))
        if a.ranking_key() == b.ranking_key()
        for at in (0, 1)
    }
    for place, entrant in enumerate(entrants):
        point, agent = entrant.point, entrant.agent
        scores = entrant.scores | {
            "slug": agent.slug,
            "rank": place + 1 if point.n else None,
            "tied": place in tied_places and point.n > 0,
            "suspended": agent.suspended,
            "provisional": entrant.scores["n_provisional"] > 0,
            "n_scored": point.n,
            "brier": to_float(point.brier),
            "brier_skill_score": to_float(point.skill),
            "brier_skill_score_vs_50": to_float(point.skill_vs_50),
            "brier_skill_score_paired": to_float(point.skill_paired),
            "skill_reference": point.skill_reference,
            "roi": to_float(entrant.roi),
        }
        yield Row(**scores, reasons=_reasons(scores))


_REASON_BY_SCORE = {
    "brier_adjusted": "not_connected",
    "brier_skill_score": "reference_zero",
    "brier_skill_score_paired": "reference_zero",
    "coverage": "no_open_market",
    "peer_score": "no_peer",
    "roi": "no_position",
    "roi_at_touch": "no_position",
}


def _reasons(scores: dict[str, Any]) -> dict[str, str]:
    """Return the reason for each score that is None."""
    missing = [each.name for each in fields(Row) if scores.get(each.name, "") is None]
    if not scores["n_scored"]:
        why = "suspended" if scores["suspended"] else "no_scored_decision"
        return {name: "no_open_market" if name == "coverage" else why for name in missing}
    return {name: _REASON_BY_SCORE.get(name, "too_few_markets") for name in missing}
