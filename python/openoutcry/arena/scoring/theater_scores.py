"""Scores of each agent by theater."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from openoutcry.arena.scoring.brier_scores import point_scores
from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import to_float
from openoutcry.arena.scoring.forecast_calibration import Calibration, calibrate, tallies
from openoutcry.arena.scoring.reference_rates import Reference


@dataclass(frozen=True, slots=True)
class TheaterScore:
    """Scores of an agent on a theater's markets, against the theater's reference rate."""

    theater: str
    n: int
    brier: float | None
    base_rate: float
    reference_source: str
    reference_citation: str | None
    brier_skill_score: float | None
    calibration: Calibration


def theater_names(forecasts: Forecasts) -> list[str]:
    """Return all theaters named by markets, sorted."""
    return sorted({theater for each in forecasts.theater_sets for theater in each})


def per_theater(forecasts: Forecasts, found: Mapping[str | None, Reference]) -> list[tuple[TheaterScore, ...]]:
    """Return the scores of each agent in the theaters where it has settled forecasts."""
    rows: list[list[TheaterScore]] = [[] for _ in forecasts.agents]
    for theater in theater_names(forecasts):
        own = forecasts.where(forecasts.of_theater(theater))
        reference = found[theater]
        scored = zip(point_scores(own, [reference], np.zeros_like(own.agent)), tallies(own), strict=True)
        for row, (point, tally) in zip(rows, scored, strict=True):
            if point.n:
                skill, brier = to_float(point.skill), to_float(point.brier)
                base = reference.rate, reference.source, reference.citation
                row.append(TheaterScore(theater, point.n, brier, *base, skill, calibrate(tally)))
    return [tuple(row) for row in rows]
