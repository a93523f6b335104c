"""Forecasts of language models: parsed like submissions, and scored by a proper rule."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

pytest.importorskip("pydantic")

from hypothesis import given
from hypothesis import strategies as st

from openoutcry.verifiers_env.forecast_parser import ABSTAINED, UNREADABLE, Forecast, forecast_in, metrics_of, score_of

pytestmark = pytest.mark.once

MARKET, AS_OF = "kalshi:KXA-26", "2026-05-08T12:00:00Z"
SHARES = st.fractions(0, 1, max_denominator=10**6).map(lambda share: Fraction(round(share * 10**6), 10**6))
PRICES = st.integers(0, 10_000).map(lambda n: n / 1e4)


def response_text(share: Any, **more: Any) -> str:
    return json.dumps({"decisions": [{"market_id": MARKET, "yes_probability": share, **more}]})


ONE = json.loads(response_text(0.5))["decisions"]


def read(text: str) -> Forecast:
    return forecast_in(text, MARKET, AS_OF)


def expected_score(forecast: Forecast, truth: Fraction) -> Fraction:
    """Return the expected score of a forecast if YES has a given probability."""
    yes, no = (Fraction(score_of(forecast, outcome)) for outcome in ("yes", "no"))
    return truth * yes + (1 - truth) * no


def forecast_of(share: Fraction) -> Forecast:
    return read(response_text(float(share)))


@given(truth=SHARES, other=SHARES)
def test_the_true_probability_maximizes_the_expected_score(truth: Fraction, other: Fraction) -> None:
    #
    """The Brier score is proper: the expected loss is the squared distance from the true probability."""
    best = expected_score(forecast_of(truth), truth)
    # Scores are floats, rounded once.
    assert abs(float(best - expected_score(forecast_of(other), truth) - (truth - other) ** 2)) < 1e-15
    assert best >= ABSTAINED > UNREADABLE == expected_score(Forecast(fault="no JSON"), truth)
    assert expected_score(Forecast(), truth) == expected_score(forecast_of(Fraction(1, 2)), truth) == ABSTAINED


@given(share=SHARES, outcome=st.sampled_from(["yes", "no"]), mid=st.none() | PRICES)
def test_metrics_contain_the_defined_values(share: Fraction, outcome: str, mid: float | None) -> None:
    found = metrics_of(forecast_of(share), outcome, mid)
    assert found["brier"] == float((share - (outcome == "yes")) ** 2)
    assert score_of(forecast_of(share), outcome) == pytest.approx(1 - found["brier"], abs=1e-15)
    assert (found["parsed"], found["abstained"]) == (1.0, 0.0)
    if mid is None:
        assert "vs_market" not in found
    else:
        expected = float((Fraction(str(mid)) - (outcome == "yes")) ** 2) - found["brier"]
        assert found["vs_market"] == pytest.approx(expected, abs=1e-12)
    assert metrics_of(Forecast(), outcome, mid) == {"parsed": 1.0, "abstained": 1.0}
    assert metrics_of(Forecast(fault="none"), outcome, mid) == {"parsed": 0.0, "abstained": 0.0}


def test_a_forecast_of_the_market_price_scores_like_the_market() -> None:
    assert metrics_of(read(response_text(0.14)), "no", 0.14)["vs_market"] == 0.0
    assert metrics_of(read(response_text(0.0)), "no", 0.5)["vs_market"] == 0.25


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (response_text(0.04), "0.04"),
        (response_text(1), "1"),
        (response_text(-0.0), "0"),
        (response_text(0.1234567), "0.123457"),
        (f"Perhaps {response_text(0.9)}, but no: {response_text(0.2)} it is.", "0.2"),
        (f"<think>{response_text(0.9)}</think>{response_text(0.3)}", "0.3"),
        (response_text(0.3, confidence=0.9, reasoning="x" * 9_000), "0.3"),
        (response_text(0.3, horizon="an unknown field"), "0.3"),
        (f"```json\n{response_text(0.7)}\n```", "0.7"),
        (
            json.dumps(
                json.loads(response_text(0.6)) | {"agent_slug": "eve", "snapshot_as_of": "1999-01-01T00:00:00Z"}
            ),
            "0.6",
        ),
        (json.dumps({"decisions": [{"market_id": "kalshi:KXB", "yes_probability": 1}, *ONE]}), "0.5"),
    ],
)
def test_the_last_object_with_decisions_is_the_forecast(text: str, share: str) -> None:
    assert read(text) == Forecast(share)


@pytest.mark.parametrize(
    "text", ['{"decisions":[]}', response_text(0.9).replace("KXA", "KXB")], ids=["none", "another"]
)
def test_a_response_without_a_decision_on_the_market_abstains(text: str) -> None:
    assert read(text) == Forecast()


FAULTS = {
    "nothing": ("", "must end with decisions"),
    "words": ("It is rather unlikely.", "must end with decisions"),
    "thoughts": (f"<think>{response_text(0.5)}</think>", "must end with decisions"),
    "half of it": (response_text(0.5)[:-1], "a list is required"),
    "no decisions": ('{"yes_probability": 0.5}', "a list is required"),
    "one decision": ('{"decisions": {"market_id": "kalshi:KXA-26", "yes_probability": 0.5}}', "a list is required"),
    "a text": (response_text("0.5"), "number"),
    "true": (response_text(True), "number"),
    "null": (response_text(None), "number"),
    "more than one": (response_text(1.01), "of at most 1 is required"),
    "less than none": (response_text(-0.01), "of at least 0 is required"),
    "percent": (response_text(40), "of at most 1 is required"),
    "NaN": (response_text(float("nan")), "invalid_payload"),
    "without bound": (response_text(0.5).replace("0.5", "1e999"), "invalid_payload"),
    "twice": (response_text(0.5).replace(', "yes', ', "yes_probability": 0.9, "yes'), "invalid_payload"),
    "the market twice": (json.dumps({"decisions": ONE * 2}), "at most one decision per market"),
    "no market": (response_text(0.5).replace(MARKET, "KXA-26"), "a market id such as"),
    "half a letter": (response_text(0.5, reasoning="\ud800"), "invalid_payload"),
    "half a letter as it is": (response_text(0.5).replace("26", "\ud800"), "invalid_payload"),
    "a number of many digits": (response_text(0.5).replace("0.5", "9" * 5_000), "."),
    "too many": (json.dumps({"decisions": ONE * 501}), "at most 500"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_responses_that_the_arena_would_refuse_score_lowest(name: str) -> None:
    #
    """Parsed as strictly as a submission, and scored below a forecast of 1/2."""
    text, wanted = FAULTS[name]
    found = read(text)
    assert found.yes_probability is None
    assert found.fault is not None
    assert re.search(wanted, found.fault), found.fault
    assert (
        score_of(found, "yes")
        == score_of(found, "no")
        == UNREADABLE
        < score_of(read(response_text(0.5)), "yes")
        == ABSTAINED
    )


VALUES = st.recursive(
    st.none() | st.floats() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
)


@given(st.text() | st.text().map(response_text) | VALUES.map(lambda value: json.dumps({"decisions": value})))
def test_every_response_has_a_score(text: str) -> None:
    for outcome in ("yes", "no"):
        assert 0.0 <= score_of(read(text), outcome) <= 1.0
