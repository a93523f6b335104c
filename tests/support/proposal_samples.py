"""Proposal requests for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from openoutcry.research.proposal_requests import MarketCard, ProposalRequest, TrialCard

CATALOGUE: dict[str, dict[str, Any]] = {
    "trend": {
        "description": "Hold what closes above its average.",
        "ranges": {
            "lookback": {"type": "int", "min": 5, "max": 100, "step": 5, "default": 20},
            "band": {"type": "float", "min": 0.0, "max": 0.3, "step": 0.1, "default": 0.0},
            "side": {"type": "categorical", "choices": ["long", "both"], "default": "both"},
        },
    },
    "volatility_target": {
        "description": "Scale equal weights to a volatility.",
        "ranges": {
            "target": {"type": "float", "min": 0.02, "max": 0.4, "default": 0.1},
            "days": {"type": "int", "min": 10, "max": 250, "default": 60},
            "is_capped": {"type": "categorical", "choices": [True, False], "default": True},
            "floor": {"type": "float", "min": 0.01, "max": 0.05, "step": 0.01, "default": 0.02},
            "decay": {"type": "float", "min": 0.9, "max": 0.99, "default": 0.94},
            "skip": {"type": "int", "min": 0, "max": 5, "default": 1},
        },
    },
}
MARKET = MarketCard(
    name="ecb-fx",
    symbols=("AUD", "CAD", "CHF"),
    first="2005-01-03",
    last="2021-12-31",
    n_bars=4350,
    periods_per_year=252.0,
    folds=(("2012-01-02", "2014-06-30"), ("2014-07-01", "2021-12-31")),
)
ASK = ProposalRequest(0, "A steady return with small drawdowns.", MARKET, CATALOGUE, seed=7)


def ask(round_: int = 0, *history: TrialCard, **more: Any) -> ProposalRequest:
    """Return the request of a round."""
    return replace(ASK, round=round_, history=history, **more)
