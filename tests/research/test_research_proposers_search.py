"""The Optuna proposer (A17)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from proposal_samples import CATALOGUE, ask

from openoutcry import OpenOutcryError
from openoutcry.research.proposal_requests import Proposal, TokenMeter, TrialCard
from openoutcry.research.proposers import OptunaProposer
from openoutcry.research.proposers.parameter_ranges import ranges_of

pytestmark = pytest.mark.once


def played(n: int, seed: int = 7) -> tuple[TrialCard, ...]:
    """Return a session whose scores increase with `lookback` of `trend`."""
    proposer, cards = OptunaProposer(), ()
    for place in range(n):
        body = proposer.propose(ask(place, *cards, seed=seed), TokenMeter()).proposal
        assert body is not None
        is_trend = body["strategy"] == "trend"
        score = body["params"].get("lookback", 20) / 100 if is_trend else -1.0 if place % 2 else None
        scores = {"oos_sharpe": score} if score is not None else {}
        cards = (*cards, TrialCard(place, body, "discarded", scores=scores))
    return cards


def test_without_optuna_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs `pip install openoutcry\[research\]`"):
        OptunaProposer()


def test_the_search_finds_high_scores_and_repeats_no_proposal() -> None:
    pytest.importorskip("optuna")
    cards = played(40)
    assert len({json.dumps([c.proposal["strategy"], c.proposal["params"]]) for c in cards if c.proposal}) == 40
    late = [card.proposal for card in cards[-15:] if card.proposal]
    assert sum(body["strategy"] == "trend" for body in late) > 10
    assert max(body["params"].get("lookback", 20) for body in late if body["strategy"] == "trend") == 100


def test_a_resumed_search_makes_the_same_proposals() -> None:
    pytest.importorskip("optuna")
    whole = played(12)
    assert played(12) == whole
    again = OptunaProposer().propose(ask(9, *whole[:9]), TokenMeter()).proposal
    assert whole[9].proposal == again
    assert played(12, seed=8) != whole


def test_searched_params_are_in_range_and_within_the_number_of_tunable_params() -> None:
    pytest.importorskip("optuna")
    for card in played(25):
        proposal = Proposal.of(card.proposal)
        known = {each.name: each for each in ranges_of(CATALOGUE[str(proposal.strategy)])}
        assert len(proposal.params) <= 5
        assert all(
            known[name].n_values is None or known[name].place(v) is not None for name, v in proposal.params.items()
        )


def test_rounds_outside_the_search_space_do_not_stop_the_search() -> None:
    pytest.importorskip("optuna")
    odd: list[Any] = [
        None,
        {},
        {"strategy": "gone", "params": {}},
        {"strategy": "trend", "params": {"lookback": "x", "other": 1}},
        {"strategy": "trend", "params": {"lookback": 7}},
        {"strategy": ["trend"], "params": 3},
    ]
    cards = [TrialCard(place, body, "rejected", scores={"oos_sharpe": 1.0}) for place, body in enumerate(odd)]
    assert OptunaProposer().propose(ask(6, *cards), TokenMeter()).proposal is not None


def test_the_search_refuses_an_empty_catalogue() -> None:
    pytest.importorskip("optuna")
    with pytest.raises(OpenOutcryError, match="must have a strategy"):
        OptunaProposer().propose(ask(catalogue={}), TokenMeter())
