"""Faults of agents: the decision defaults to hold, the record stores the fault, and the run continues."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_run import DATA

import openoutcry as oo
from openoutcry.agents import Answer, Harness, TextAgent
from openoutcry.backtest.divergence import compare
from openoutcry.report.pages.fault_counts import FAULTS
from openoutcry.scoring.verdict import Score

pytestmark = pytest.mark.once

BUY = '{"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.5}]}'
HOLD = '{"orders": []}'
WINDOW = (19, 27)


class Scripted(TextAgent):
    """An agent that returns given answers in order."""

    def __init__(self, answers: Sequence[str | Answer], harness: Harness | None = None) -> None:
        self._answers = iter(answers)
        self._harness = harness

    def answer(self, observation: str) -> str | Answer:
        return next(self._answers)

    @property
    def harness(self) -> Harness | None:
        return self._harness


DECIDED = [Answer("I would sell"), Answer("", "agent_died"), Answer(BUY, "answer_too_early"), Answer(BUY)]
ANSWERS = [BUY, *DECIDED, HOLD, HOLD]


def test_decisions_with_faults_default_to_hold_and_the_record_stores_the_slug() -> None:
    run = oo.run_backtest(DATA, Scripted(ANSWERS), WINDOW, capture=True)
    assert run.record.faults == [{1: "malformed", 2: "agent_died", 3: "answer_too_early"}]
    assert run.record.decisions == [[text if isinstance(text, str) else text.text for text in ANSWERS]]
    assert oo.replay(run.record, DATA).verified
    honest = oo.run_backtest(DATA, Scripted((BUY, HOLD, HOLD, HOLD, BUY, HOLD, HOLD)), WINDOW)
    assert np.array_equal(run.nav, honest.nav)


def test_a_run_that_is_not_recorded_holds_in_the_same_bars() -> None:
    recorded = oo.run_backtest(DATA, Scripted(ANSWERS), WINDOW, capture=True)
    run = oo.run_backtest(DATA, Scripted(ANSWERS), WINDOW)
    assert np.array_equal(run.nav, recorded.nav)
    with pytest.raises(oo.OpenOutcryError) as refused:
        _ = run.record
    assert refused.value.slug == "argument_invalid"


def test_plain_text_that_is_not_a_decision_ends_the_run() -> None:
    for capture in (False, True):
        with pytest.raises(oo.OpenOutcryError) as refused:
            oo.run_backtest(DATA, Scripted((BUY, "I would sell")), WINDOW, capture=capture)
        assert refused.value.slug == "bad_json"
        assert any("bar 20" in note for note in refused.value.__notes__)


@pytest.mark.parametrize("fault", ["malformed", "Agent died", "", 7])
def test_a_fault_must_be_a_known_slug(fault: Any) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.run_backtest(DATA, Scripted((Answer(BUY, fault),)), WINDOW)
    assert refused.value.slug == "argument_invalid"


HARNESS: Harness = {"allow_net": False, "tier": "T2", "transport": "stdio"}


def test_the_record_digest_covers_the_harness_and_the_run_is_unchanged(tmp_path: Path) -> None:
    sandboxed = oo.run_backtest(DATA, Scripted((HOLD,) * 7, HARNESS), WINDOW, name="x", capture=True).record
    inside = oo.run_backtest(DATA, Scripted((HOLD,) * 7), WINDOW, name="x", capture=True).record
    message = {name: value for name, value in sandboxed.headers[0].items() if name.startswith("harness.")}
    assert message == {"harness.allow_net": "false", "harness.tier": "T2", "harness.transport": "stdio"}
    assert not any(name.startswith("harness") for name in inside.headers[0])
    assert oo.replay(sandboxed, DATA).verified
    assert oo.RunRecord.from_json(sandboxed.to_json()) == sandboxed
    assert (sandboxed.run_digests, sandboxed.digest == inside.digest) == (inside.run_digests, False)
    joined = oo.RunRecord.join("x", [sandboxed, inside])
    assert [each.digest for each in joined.runs()] == [sandboxed.digest, inside.digest]
    edited = oo.RunRecord.from_json(sandboxed.to_json().replace('"tier":"T2"', '"tier":"T3"'))
    assert (edited.is_whole(), oo.replay(edited, DATA).verified) == (False, False)
    sandboxed.save(tmp_path / "x.jsonl.zst")
    assert oo.RunRecord.load(tmp_path / "x.jsonl.zst") == sandboxed
    ((settings, parting),) = compare(sandboxed, inside).runs
    assert [(setting.field, setting.left, setting.right) for setting in settings] == [
        (name, message[name], "absent") for name in message
    ]
    assert parting is None


@pytest.mark.parametrize("harness", [{}, HARNESS | {"tier": "T4"}, HARNESS | {"transport": "pigeon"}, "T2"])
def test_an_invalid_harness_description_is_refused(harness: Any) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.run_backtest(DATA, Scripted((HOLD,) * 7, harness), WINDOW)
    assert refused.value.slug == "argument_invalid"


# On boards and pages


def scored(answers: Sequence[str | Answer], harness: Harness | None) -> Score:
    """Return the score of an agent with the given answers in two windows."""
    windows = [(19, 19 + len(answers) + 1), (40, 40 + len(answers) + 1)]
    runs = [
        oo.run_backtest(DATA, Scripted(answers, harness), window, name="a", capture=True).record for window in windows
    ]
    return oo.score([oo.RunRecord.join("a", runs)], dataset=DATA).scores[0]


def test_a_score_separates_agent_and_infrastructure_faults_and_states_the_harness() -> None:
    own, other = Answer("", "agent_late"), Answer("", "agent_unreachable")
    mixed = scored((BUY, own, other, HOLD), HARNESS | {"allow_net": True})
    assert mixed.process["faults"] == {"agent_late": 2}
    assert mixed.process["infrastructure_faults"] == {"agent_unreachable": 2}
    assert (mixed.gate("process").passed, mixed.gate("process").reason) == (False, "faults")
    assert mixed.isolation == "T2 + net"
    others = scored((BUY, other, HOLD, HOLD), HARNESS)
    gate = others.gate("process")
    assert (gate.passed, gate.value, gate.reason, others.isolation) == (None, 0.25, "infrastructure", "T2")
    assert "infrastructure" in others.reasons
    inside = scored((BUY, HOLD, HOLD, HOLD), None)
    assert (inside.gate("process").passed, inside.isolation, inside.process["network"]) == (True, "in process", None)
    assert "runs in separate processes" in inside.process["undefined"]["network"]


def test_the_page_of_a_run_counts_its_faults(tmp_path: Path) -> None:
    run = oo.run_backtest(DATA, Scripted(ANSWERS), WINDOW, capture=True)
    page = Path(run.report(tmp_path / "run.html")).read_text(encoding="utf-8")
    rows = re.findall(r'<th scope="row">(\w+)</th><td>(\d+)</td><td class="help">([^<]+)</td></tr>', page)
    message = {slug: (int(count), FAULTS[slug] == words) for slug, count, words in rows if slug in FAULTS}
    assert message == {"malformed": (1, True), "agent_died": (1, True), "answer_too_early": (1, True)}
    honest = oo.run_backtest(DATA, Scripted((HOLD,) * 7), WINDOW, capture=True)
    assert "Faults of the run" not in Path(honest.report(tmp_path / "run.html")).read_text(encoding="utf-8")


def test_every_fault_of_the_contract_has_a_text() -> None:
    errors = json.loads((Path(__file__).parents[2] / "contract" / "errors.json").read_text(encoding="utf-8"))["errors"]
    kinds = {"agent", "infrastructure"}
    assert set(FAULTS) == {"malformed", *(error["slug"] for error in errors if error["kind"] in kinds)}
