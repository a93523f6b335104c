"""What null and thresholds without effect do to a gate, and the causes that a failed disguise names."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from test_research_gates import GOOD, fold, gates_of, oos

import openoutcry as oo
from openoutcry.research.acceptance_gates import EarlierThresholds, Thresholds, judge, thresholds_of
from openoutcry.research.disguise_probe import DisguiseResult
from openoutcry.research.trial_scores import InSample

FIFTH, TWO_FIFTHS = "within a fifth of the volatility", "within two fifths of the volatility"


@pytest.mark.parametrize(
    ("losses", "named"),
    [
        # Levels move in all disguises with noise, so a table by price loses in three of them.
        ((0.9, 0.9, 0.8, 0.0, 0.0), ["price levels"]),
        # A rule that trades on the last digits keeps its ratio at other levels.
        ((0.0, 0.5, 0.7, 0.1, 0.0), [FIFTH]),
        # A pattern of signs loses with coarse noise only.
        ((0.0, 0.1, 0.5, 0.2, 0.0), [TWO_FIFTHS]),
        # A long pattern or a daily trade: gaps decide, and coarse noise, half as much, does not fail the gate.
        ((0.0, 0.1, 0.24, 0.45, 0.0), ["consecutive bars"]),
        ((0.0, 0.0, 0.0, 0.26, 0.0), ["consecutive bars"]),
        # A count of calls sees no price.
        ((0.0, 0.0, 0.0, 0.0, 1.0), ["order of calls"]),
        # Two causes at once are both named.
        ((0.0, 0.1, 0.3, 0.5, 0.4), [TWO_FIFTHS, "consecutive bars", "order of calls"]),
        # A loss that the gate allows has no cause.
        ((0.2, 0.24, 0.25, 0.1, 0.0), []),
        ((0.11, 0.0, 0.0, 0.0, 0.0), []),
    ],
)
def test_the_disguise_names_the_causes_that_fail_the_gate_and_no_other(losses: tuple, named: list[str]) -> None:
    """A loss of 0.1 had a cause although the gate allows 0.25, and half of the largest loss named another one."""
    _, _, remark = DisguiseResult(*losses).remark(0.25).partition(": the decisions may depend on ")
    causes = ["price levels", FIFTH, TWO_FIFTHS, "consecutive bars", "order of calls"]
    assert [cause for cause in causes if cause in remark] == named
    assert bool(remark) == bool(named)
    assert "depend" not in DisguiseResult(*losses).remark(None), "the gate is off"


def test_a_null_efficiency_disables_the_gate_and_one_without_effect_is_refused() -> None:
    """With a Sharpe ratio that passes, `min_efficiency_if_sharpe` still applied."""
    for weak in (
        replace(GOOD, in_sample=(InSample(50.0, 0.1),) * 4),
        replace(GOOD, oos=oos(folds=(fold(sharpe=1.1),) * 4)),
    ):
        assert "efficiency" in {gate.name for gate in judge(weak, thresholds_of({}))}
        assert "efficiency" not in {gate.name for gate in judge(weak, thresholds_of({"min_efficiency": None}))}
    same = thresholds_of({"min_efficiency_if_sharpe": None})
    assert gates_of(GOOD)["efficiency"].threshold == 0.3
    assert next(gate for gate in judge(GOOD, same) if gate.name == "efficiency").threshold == 0.4
    with pytest.raises(oo.OpenOutcryError, match="`min_efficiency_if_sharpe` requires `min_efficiency`"):
        thresholds_of({"min_efficiency": None, "min_efficiency_if_sharpe": 0.2})


@pytest.mark.parametrize("name", [each.name for each in fields(Thresholds) if each.name != "min_efficiency_if_sharpe"])
def test_null_switches_each_gate_off(name: str) -> None:
    strict = judge(GOOD, thresholds_of({"preset": "strict", "max_perturbation_loss": 0.5}))
    fewer = judge(GOOD, thresholds_of({"preset": "strict", "max_perturbation_loss": 0.5, name: None}))
    gone = "plausibility" if name == "max_sharpe" else name.partition("_")[2]
    gone = {"perturbation_loss": "perturbation", "probe_changes": "causality"}.get(gone, gone).removesuffix("_loss")
    assert {gate.name for gate in strict} - {gate.name for gate in fewer} == {gone}


def test_thresholds_of_earlier_journals_judge_as_they_did() -> None:
    off = EarlierThresholds(min_efficiency=None)
    weak = replace(GOOD, in_sample=(InSample(50.0, 0.1),) * 4, constants_loss=1.0)
    assert [gate.name for gate in judge(weak, off) if not gate.passed] == ["efficiency"]
    assert next(gate for gate in judge(weak, off) if gate.name == "efficiency").threshold == 0.3
