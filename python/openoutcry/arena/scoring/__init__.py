"""Scores of forecasters from the log: Brier score, skill, ROI, coverage, ranks.

`leaderboard` combines the others; `inputs_from_log` reads the inputs, `decision_selection` picks the decisions that
count. Pure functions, independent of the order of their inputs. Imports `errors`, the native module and the Arena's
`protocol` and `timestamps`.
"""

from __future__ import annotations

from openoutcry.arena.scoring.decision_selection import Forecasts, select
from openoutcry.arena.scoring.forecast_calibration import Bin, Calibration
from openoutcry.arena.scoring.inputs_from_log import read_score_inputs
from openoutcry.arena.scoring.leaderboard import Board, Row, board, score
from openoutcry.arena.scoring.market_quotes import parse_quote
from openoutcry.arena.scoring.paired_comparison import Comparison, compare
from openoutcry.arena.scoring.reference_rates import Reference
from openoutcry.arena.scoring.score_inputs import Agent, BaseRate, Decision, Parameters, Quote, Resolution, ScoreInputs
from openoutcry.arena.scoring.theater_scores import TheaterScore

__all__ = [
    "Agent",
    "BaseRate",
    "Bin",
    "Board",
    "Calibration",
    "Comparison",
    "Decision",
    "Forecasts",
    "Parameters",
    "Quote",
    "Reference",
    "Resolution",
    "Row",
    "ScoreInputs",
    "TheaterScore",
    "board",
    "compare",
    "parse_quote",
    "read_score_inputs",
    "score",
    "select",
]
