"""Parse and score a forecast, under the rules of an Arena submission."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import NamedTuple

from openoutcry.arena.protocol import DECISION_VERSION, ArenaError
from openoutcry.arena.request_schema import json_text
from openoutcry.arena.submission_schema import Decided, check_unique_markets, parse_submission
from openoutcry.verifiers_env.parser import final_object

UNREADABLE, ABSTAINED = 0.0, 0.75
"""Scores: an unreadable answer counts as certain and wrong, an abstention as a probability of 1/2."""


class Forecast(NamedTuple):
    """A probability of YES as a decimal text, None for an abstention.

    Or the fault of an unreadable answer.
    """

    yes_probability: str | None = None
    fault: str | None = None


def forecast_in(text: str, market_id: str, as_of: str) -> Forecast:
    """Return the forecast of a market in a message, from its last JSON object.

    Args:
        text: The message.
        market_id: The market of the question.
        as_of: Time of the snapshot in the prompt.
    """
    found = final_object(text)
    if found is None:
        return Forecast(fault="a message must end with decisions, a JSON object; received none")
    try:
        decisions = _decisions(found, as_of)
    except (ArenaError, ValueError, RecursionError) as error:
        return Forecast(fault=str(error)[:500])
    probability = [each.yes_probability for each in decisions if each.market_id == market_id]
    return Forecast(probability[0] if probability else None)


def _decisions(found: str, as_of: str) -> tuple[Decided, ...]:
    # JSON may hold a lone surrogate, which is not UTF-8 and is rejected.
    parsed = json.loads(json_text(found.encode("utf-8", "surrogatepass")))
    decisions = parsed.get("decisions")
    if decisions == []:
        return ()
    # The remaining fields of an Arena submission.
    body = {"schema_version": DECISION_VERSION, "agent_slug": "model", "submitted_at": as_of, "snapshot_as_of": as_of}
    submission = parse_submission(json.dumps(body | {"decisions": decisions}).encode())
    check_unique_markets(submission)
    return submission.decisions


def score_of(forecast: Forecast, outcome: str) -> float:
    """Return 1 minus the Brier score, a proper scoring rule.

    Args:
        forecast: The forecast.
        outcome: `yes` or `no`.
    """
    if forecast.fault is not None:
        return UNREADABLE
    loss = brier_of(forecast.yes_probability, outcome)
    return ABSTAINED if loss is None else float(1 - loss)


def brier_of(probability: str | None, outcome: str) -> Fraction | None:
    """Return the squared error of a decimal; None for None."""
    return None if probability is None else (Fraction(probability) - (outcome == "yes")) ** 2


def metrics_of(forecast: Forecast, outcome: str, yes_mid_price: float | None) -> dict[str, float]:
    """Return metrics of a forecast; undefined ones are left out.

    Args:
        forecast: The forecast.
        outcome: `yes` or `no`.
        yes_mid_price: The market's price at the time of the question.
    """
    probability = forecast.yes_probability
    loss = brier_of(probability, outcome)
    market = brier_of(None if yes_mid_price is None else str(yes_mid_price), outcome)
    is_read = forecast.fault is None
    found: dict[str, float | Fraction] = {"parsed": is_read, "abstained": is_read and probability is None}
    if loss is not None:
        found |= {"brier": loss} | ({} if market is None else {"vs_market": market - loss})
    return {name: float(value) for name, value in found.items()}
