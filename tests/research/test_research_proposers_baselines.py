"""Proposers without a model: a fixed list and random search (A17, A18)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from proposal_samples import CATALOGUE, ask

from openoutcry import OpenOutcryError
from openoutcry.research.proposal_requests import Attempt, Proposal, ProposalReply, TokenMeter, TrialCard, Usage
from openoutcry.research.proposers import FixedProposer, RandomProposer
from openoutcry.research.proposers.parameter_ranges import ranges_of
from openoutcry.research.strict_json import InvalidJson, read_strict_json

TREND = {"strategy": "trend", "params": {"lookback": 40}, "rationale": "Slow trends of currencies last for months."}


def proposed(proposer: Any, *rounds: int, **more: Any) -> list[Any]:
    return [proposer.propose(ask(each, **more), TokenMeter()).proposal for each in rounds]


@pytest.mark.parametrize("shape", [[TREND, {}], {"proposals": [TREND, {}]}])
def test_a_file_of_proposals_is_returned_in_order_and_then_exhausted(shape: Any, tmp_path: Path) -> None:
    path = tmp_path / "proposals.json"
    path.write_text(json.dumps(shape), encoding="utf-8")
    proposer = FixedProposer.from_file(path)
    assert proposed(proposer, 0, 1) == [TREND, {}]
    last = proposer.propose(ask(2), TokenMeter())
    assert last.is_exhausted
    assert (last.proposal, last.fault) == (None, None)


def test_a_resumed_session_gets_the_entry_of_its_round() -> None:
    entries = [{"strategy": str(place)} for place in range(5)]
    assert proposed(FixedProposer(entries), 3, 4) == entries[3:]


def test_a_recorded_reply_is_returned_with_its_tokens() -> None:
    attempt = Attempt("model", "propose", 200, Usage(30, 5), reserved=90)
    reply = ProposalReply(fault="parse", attempts=(attempt, attempt))
    proposer, meter = FixedProposer([reply]), TokenMeter(100)
    assert proposer.reserve(ask()) == 90
    assert proposer.propose(ask(), meter) is reply
    assert meter.used == 70
    assert proposer.reserve(ask(1)) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting"),
        ('{"proposals": 3}', "received int"),
        ('{"trials": []}', "an object of"),
        ("[1]", "must be an object; received int"),
        ('[{"a": NaN}]', "must be finite"),
        ('[{"a": 1, "a": 2}]', "must be unique"),
        (None, "No such file"),
    ],
)
def test_a_file_without_a_list_of_proposals_is_refused(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "proposals.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(OpenOutcryError, match=message) as caught:
        FixedProposer.from_file(path)
    assert caught.value.slug == "argument_invalid"


@pytest.mark.parametrize(
    "text",
    ["[1e999]", "[-Infinity]", '["\\ud800"]', "9007199254740993", "[" * 40 + "]" * 40, "[" * 10**5, "1" * 5000, ""],
)
def test_json_that_a_journal_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(InvalidJson):
        read_strict_json(text)


def test_random_proposals_are_reproducible_and_depend_on_round_and_seed() -> None:
    rounds = range(20)
    drawn = proposed(RandomProposer(), *rounds)
    assert proposed(RandomProposer(), *reversed(rounds))[::-1] == drawn
    assert proposed(RandomProposer(), *rounds, seed=8) != drawn
    assert len({json.dumps(each) for each in drawn}) > 15
    # Literals: the draws must not depend on the Python version.
    assert (drawn[0]["strategy"], drawn[0]["params"]) == ("trend", {"lookback": 55, "band": 0.2})


def test_draws_are_valid_in_range_and_within_the_number_of_tunable_params() -> None:
    seen: dict[str, set[Any]] = {}
    for raw in proposed(RandomProposer(), *range(400), max_tunable=3):
        proposal = Proposal.of(raw)
        assert len(proposal.rationale) >= 20
        assert len(proposal.params) <= 3
        for each in ranges_of(CATALOGUE[str(proposal.strategy)]):
            if each.name in proposal.params:
                value = proposal.params[each.name]
                assert value != each.default
                assert each.n_values is None or each.place(value) is not None
                assert each.kind == "categorical" or each.least <= value <= each.most
                assert type(value) is {"int": int, "float": float}.get(each.kind, type(each.default))
                seen.setdefault(each.name, set()).add(value)
    assert seen["band"] == {0.1, 0.2, 0.3}
    assert seen["lookback"] == {*range(5, 101, 5)} - {20}
    assert seen["floor"] == {0.01, 0.03, 0.04, 0.05}


def test_earlier_proposals_are_not_drawn_again_until_none_is_left() -> None:
    small = {"switch": {"description": "", "ranges": {"on": {"type": "categorical", "choices": [1, 2], "default": 1}}}}
    cards: list[TrialCard] = []
    for place in range(2):
        reply = RandomProposer().propose(ask(place, *cards, catalogue=small), TokenMeter())
        cards.append(TrialCard(place, reply.proposal, "discarded"))
    assert sorted(str(card.proposal["params"]) for card in cards if card.proposal) == ["{'on': 2}", "{}"]
    assert RandomProposer().propose(ask(2, *cards, catalogue=small), TokenMeter()).is_exhausted


def test_an_empty_catalogue_is_refused() -> None:
    with pytest.raises(OpenOutcryError, match="must have a strategy"):
        RandomProposer().propose(ask(catalogue={}), TokenMeter())
