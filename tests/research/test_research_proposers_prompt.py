"""Prompts: pure functions of the proposal request, without anything of the holdout (A11, L6)."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proposal_samples import MARKET, ask

from openoutcry import OpenOutcryError
from openoutcry.agents.untrusted_text import bounded, cleaned, fenced
from openoutcry.research.proposal_requests import MarketCard, ProposalRequest, TrialCard
from openoutcry.research.proposers import fold_labels, prompt_of

GOLDEN = Path(__file__).with_name("research_prompt.txt")
PRIOR = "## Learnings from 12 prior backtests across 3 strategies\n\n```text\ntrend 0.41\n```"
HISTORY = (
    TrialCard(
        0,
        {"strategy": "trend", "params": {"lookback": 40}, "rationale": "Trends last for months."},
        "discarded",
        ("out-of-sample Sharpe 0.21 is below 0.5",),
        {"sharpe": 0.21234567, "max_drawdown": None},
    ),
    TrialCard(1, None, "rejected", ("parse: a JSON object is required; received none",)),
)


def test_a_prompt_equals_the_golden_text() -> None:
    """A prompt is a pure function of the request; a change requires a new golden text."""
    shown = prompt_of(ask(2, *HISTORY, prior=PRIOR), "2014-07-15")
    assert str(shown) == GOLDEN.read_text(encoding="utf-8")


def test_results_of_earlier_sessions_precede_the_final_section() -> None:
    """L6: the block is inserted before `Design a trading strategy`, and is absent in the first session."""
    text = prompt_of(ask(prior=PRIOR)).text
    assert f"{PRIOR}\n\nDesign a trading strategy" in text
    assert "Learnings" not in prompt_of(ask()).text


def test_no_field_of_a_request_can_hold_the_holdout() -> None:
    """A11: a new field must be considered here."""
    names = ["round", "goal", "market", "catalogue", "history", "prior", "allow_code", "max_tunable", "seed"]
    names += ["has_earlier_words"]
    assert [each.name for each in fields(ProposalRequest)] == names
    market = ["name", "symbols", "first", "last", "n_bars", "periods_per_year", "folds"]
    assert [each.name for each in fields(MarketCard)] == market
    assert [each.name for each in fields(TrialCard)] == ["round", "proposal", "outcome", "reasons", "scores"]


def test_code_is_requested_only_if_allowed() -> None:
    assert "source" not in str(prompt_of(ask()))
    assert "source" not in prompt_of(ask()).schema["properties"]
    allowed = prompt_of(ask(allow_code=True))
    assert "source" in allowed.text
    assert allowed.schema["properties"]["kind"]["enum"] == ["tune", "code"]


@pytest.mark.parametrize(
    ("cutoff", "labels"),
    [
        (None, (None, None)),
        ("2011-12-31", ("after the cutoff", "after the cutoff")),
        # A fold that starts before the cutoff counts as covered.
        ("2014-06-30", ("in training data", "after the cutoff")),
        ("2014-07-01", ("in training data", "in training data")),
        ("2030-01-01", ("in training data", "in training data")),
    ],
)
def test_a_training_cutoff_labels_the_folds_that_a_model_may_know(
    cutoff: str | None, labels: tuple[str | None, ...]
) -> None:
    assert fold_labels(MARKET, cutoff) == labels


@pytest.mark.parametrize("cutoff", ["", "2021", "20210101", "2021-13-01", "2021-W01-1"])
def test_an_invalid_training_cutoff_is_refused(cutoff: str) -> None:
    with pytest.raises(OpenOutcryError, match="`training_cutoff` must be a date"):
        prompt_of(ask(), cutoff)


HOSTILE = st.text(st.sampled_from('`~ab\n\r\t\0\x1b\u202e\u2028\ud800#{}"\\'), max_size=120)


def outside_of_fences(text: str) -> str:
    """Return the text outside of Markdown fences."""
    kept, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif opened := re.match(r"(`{3,})\w*$", line):
            fence = opened[1]
        else:
            kept.append(line)
    assert not fence
    return "\n".join(kept)


@settings(max_examples=60)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_untrusted_text_stays_inside_its_fences(goal: str, name: str, rationale: str) -> None:
    def shown(*texts: str) -> str:
        goal, name, rationale = texts
        market = MarketCard(name, (name, "B"), "2001-01-01", "2002-01-01", 300, 252.0)
        proposal = {name: [name], "rationale": rationale, "params": {name: {name: [[[[name]]]]}}}
        card = TrialCard(0, proposal, "rejected", (rationale,), {name: 1.0})
        return str(prompt_of(ask(1, card, goal=goal, market=market)))

    text = shown(goal, name, rationale)
    assert outside_of_fences(text) == outside_of_fences(shown("a", "b", "c"))
    assert not re.search("[\0\r\x1b\u202e\u2028\ud800]", text)
    text.encode()


def test_a_fence_is_longer_than_any_fence_inside() -> None:
    assert fenced("a\n`````\nb") == "``````text\na\n`````\nb\n``````"


def test_the_length_of_a_prompt_is_limited() -> None:
    long = "word " * 50_000
    proposal = {"strategy": long, "rationale": long, "source": long, "params": {f"p{k}": long for k in range(999)}}
    cards = [TrialCard(place, proposal, "kept", (long,) * 50, {"sharpe": 1.0}) for place in range(500)]
    market = MarketCard(long, (long,) * 5_000, "2001-01-01", "2002-01-01", 300, 252.0)
    text = prompt_of(ask(500, *cards, goal=long, market=market)).text
    assert len(text) < 90_000
    assert "500 rounds; 16 are shown" in text


def test_cut_texts_are_marked() -> None:
    assert cleaned("abc\x00\n\u200bd", 10) == "abc\nd"
    assert cleaned("a" * 30, 20) == "a" * 14 + " [cut]"
    assert bounded({"a": "x\ny", "b": [1, None, True]}, 50) == {"a": "x y", "b": [1, None, True]}
