"""What an answer forecasts, read as the Arena reads a submission, and its score."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import NamedTuple

from openoutcry.arena.protocol import DECISION_VERSION, ArenaError
from openoutcry.arena.request_schema import json_text
from openoutcry.arena.submission_schema import Decided, check_once, submission_of
from openoutcry.verifiers_env.parser import last_answer

UNREAD, ABSTAINED = 0.0, 0.75
"""Scores of what cannot be read, as of who was sure and wrong, and of nothing said, as of 1/2."""


class Forecast(NamedTuple):
    """A probability of YES as a decimal, or none; and why an answer cannot be read."""

    yes_probability: str | None = None
    fault: str | None = None


def forecast_in(text: str, market_id: str, as_of: str) -> Forecast:
    """Return what a message forecasts of a market, by the last JSON object in it.

    Args:
        text: The message.
        market_id: The market that was asked about.
        as_of: The snapshot that was shown.
    """
    found = last_answer(text)
    if found is None:
        return Forecast(fault="a message must end with decisions, a JSON object; received none")
    try:
        decisions = _decisions(found, as_of)
    except (ArenaError, ValueError, RecursionError) as error:
        return Forecast(fault=str(error)[:500])
    said = [each.yes_probability for each in decisions if each.market_id == market_id]
    return Forecast(said[0] if said else None)


def _decisions(found: str, as_of: str) -> tuple[Decided, ...]:
    # Half a letter, which JSON may have, is no UTF-8, and is refused as such.
    told = json.loads(json_text(found.encode("utf-8", "surrogatepass")))
    decisions = told.get("decisions")
    if decisions == []:
        return ()
    # What a client of the Arena puts around them.
    body = {"schema_version": DECISION_VERSION, "agent_slug": "model", "submitted_at": as_of, "snapshot_as_of": as_of}
    submission = submission_of(json.dumps(body | {"decisions": decisions}).encode())
    check_once(submission)
    return submission.decisions


def score_of(forecast: Forecast, outcome: str) -> float:
    """Return 1 less the Brier score, which is best on average for who says what is so.

    Args:
        forecast: What was said.
        outcome: `yes` or `no`.
    """
    if forecast.fault is not None:
        return UNREAD
    loss = brier_of(forecast.yes_probability, outcome)
    return ABSTAINED if loss is None else float(1 - loss)


def brier_of(probability: str | None, outcome: str) -> Fraction | None:
    """Return the squared error of a decimal; none of none (R-45)."""
    return None if probability is None else (Fraction(probability) - (outcome == "yes")) ** 2


def metrics_of(forecast: Forecast, outcome: str, yes_mid_price: float | None) -> dict[str, float]:
    """Return what was said and what it came to; what there is not is left out.

    Args:
        forecast: What was said.
        outcome: `yes` or `no`.
        yes_mid_price: The market's price when it was asked.
    """
    said = forecast.yes_probability
    loss = brier_of(said, outcome)
    market = brier_of(None if yes_mid_price is None else str(yes_mid_price), outcome)
    is_read = forecast.fault is None
    found: dict[str, float | Fraction] = {"parsed": is_read, "abstained": is_read and said is None}
    if loss is not None:
        found |= {"brier": loss} | ({} if market is None else {"vs_market": market - loss})
    return {name: float(value) for name, value in found.items()}
