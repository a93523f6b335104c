"""What forecasters are worth: a pure function of facts.

These are decisions, snapshots of markets, resolutions, base rates and the rules' parameters.
Nothing here reads a clock, a file or a database. The same facts in any order give the same bits.
"""

from __future__ import annotations

from openoutcry.arena.scoring.decision_selection import Forecasts, select
from openoutcry.arena.scoring.forecast_calibration import Bin, Calibration
from openoutcry.arena.scoring.inputs_from_log import facts_of
from openoutcry.arena.scoring.leaderboard import Board, Row, board, score
from openoutcry.arena.scoring.market_quotes import quote_of
from openoutcry.arena.scoring.paired_comparison import Comparison, compare
from openoutcry.arena.scoring.reference_rates import Reference
from openoutcry.arena.scoring.score_inputs import Agent, BaseRate, Decision, Facts, Parameters, Quote, Resolution
from openoutcry.arena.scoring.theater_scores import TheaterScore

__all__ = [
    "Agent",
    "BaseRate",
    "Bin",
    "Board",
    "Calibration",
    "Comparison",
    "Decision",
    "Facts",
    "Forecasts",
    "Parameters",
    "Quote",
    "Reference",
    "Resolution",
    "Row",
    "TheaterScore",
    "board",
    "compare",
    "facts_of",
    "quote_of",
    "score",
    "select",
]
