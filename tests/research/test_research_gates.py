"""Gates, the incumbent, the short list and deflation: A5, A6, A9, A10 and the default gates."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.research.acceptance_gates import (
    SKIPPED,
    Evidence,
    Thresholds,
    failed,
    is_promotable,
    judge,
    thresholds_of,
)
from openoutcry.research.benchmark_excess import Benchmark
from openoutcry.research.cautions import implausible, of_luck
from openoutcry.research.disguise_probe import DisguiseResult
from openoutcry.research.evaluation import evidence_of
from openoutcry.research.incumbent import beats
from openoutcry.research.selection_luck import Luck, PriorTrials, RunningMoments, TrialCounter
from openoutcry.research.session_config import Guard, ResearchConfig
from openoutcry.research.short_list import select_shortlist
from openoutcry.research.trial_scores import FoldScore, InSample, OosScore, moments_of
from openoutcry.research.walkforward_validation import ValidationResult
from openoutcry.untrusted.counted_nouns import counted


def fold(**changes) -> FoldScore:
    values = {"first": "2000-01-03", "last": "2001-01-03", "sharpe": 1.5, "return_": 0.1, "max_drawdown": 0.1}
    values |= {"profit_factor": 1.6, "n_trades": 40, "has_no_loss": False}
    return FoldScore(**(values | changes))


def oos(
    sharpe: float | None = 1.5, drawdown: float = 0.1, folds: tuple[FoldScore, ...] = (), seed: int = 0
) -> OosScore:
    returns = 0.001 + 0.01 * np.random.default_rng(seed).standard_normal(400)
    nav = np.concatenate([[1.0], np.cumprod(1.0 + returns)])
    made = folds or (fold(),) * 4
    return OosScore(sharpe, drawdown, 0.2, made, moments_of(returns), returns, nav, ("2000-01-03",) * 400)


GOOD = Evidence(oos(), (InSample(2.0, 0.1),) * 4, 0.9, probe_changes=0, disguise_loss=0.0, constants_loss=0.0)


def gates_of(evidence: Evidence, **changes) -> dict:
    return {gate.name: gate for gate in judge(evidence, replace(Thresholds(), **changes))}


def test_a_trial_that_passes_every_gate_is_promotable() -> None:
    gates = judge(GOOD, Thresholds())
    assert is_promotable(gates)
    assert [gate.name for gate in gates] == [
        "sharpe",
        "profit_factor",
        "efficiency",
        "drawdown_ratio",
        "trades",
        "dsr",
        "causality",
        "disguise",
        "constants",
    ]
    assert all(set(gate.to_json()) >= {"value", "threshold", "op", "passed", "evaluated"} for gate in gates)


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("sharpe", replace(GOOD, oos=oos(folds=(fold(sharpe=1.19),) * 4))),
        ("profit_factor", replace(GOOD, oos=oos(folds=(fold(profit_factor=1.29),) * 4))),
        ("drawdown_ratio", replace(GOOD, oos=oos(folds=(fold(max_drawdown=0.151),) * 4))),
        ("trades", replace(GOOD, oos=oos(folds=(fold(n_trades=24),) * 4))),
        ("efficiency", replace(GOOD, in_sample=(InSample(5.1, 0.1),) * 4)),
        ("dsr", replace(GOOD, dsr=0.5)),
        ("causality", replace(GOOD, probe_changes=1)),
        ("constants", replace(GOOD, constants_loss=0.51)),
    ],
)
def test_each_gate_fails_just_beyond_its_threshold(name: str, evidence: Evidence) -> None:
    gates = judge(evidence, Thresholds())
    assert [gate.name for gate in gates if not gate.passed] == [name]
    assert all(gate.evaluated for gate in gates)
    assert failed(gates)[0].startswith(f"{name}: ")


def test_a_lower_efficiency_suffices_if_the_sharpe_gate_passes() -> None:
    weak = replace(GOOD, in_sample=(InSample(1.5 / 0.35, 0.1),) * 4)
    assert gates_of(weak)["efficiency"].passed
    low = replace(weak, oos=oos(folds=(fold(sharpe=1.1),) * 4), in_sample=(InSample(1.1 / 0.35, 0.1),) * 4)
    assert not gates_of(low)["efficiency"].passed
    assert gates_of(low)["efficiency"].threshold == 0.4


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("sharpe", replace(GOOD, oos=oos(folds=(*(fold(),) * 3, fold(sharpe=None))))),
        ("efficiency", replace(GOOD, in_sample=(*(InSample(2.0, 0.1),) * 3, InSample(-1.0, 0.1)))),
        ("dsr", replace(GOOD, dsr=None)),
        ("dsr", replace(GOOD, dsr=float("nan"))),
        ("causality", replace(GOOD, probe_changes=None)),
        ("drawdown_ratio", replace(GOOD, in_sample=(InSample(2.0, 0.0),) * 4)),
    ],
)
def test_a_gate_that_cannot_be_evaluated_fails(name: str, evidence: Evidence) -> None:
    gate = gates_of(evidence)[name]
    assert (gate.evaluated, gate.passed, gate.value) == (False, False, None)
    assert gate.reason


def test_two_negative_sharpe_ratios_have_no_efficiency() -> None:
    both = replace(GOOD, oos=oos(folds=(fold(sharpe=-2.0),) * 4), in_sample=(InSample(-1.0, 0.1),) * 4)
    assert not gates_of(both)["efficiency"].evaluated


def test_a_record_without_losses_counts_only_with_enough_trades() -> None:
    many = oos(folds=(fold(profit_factor=None, has_no_loss=True, n_trades=40),) * 4)
    gate = gates_of(replace(GOOD, oos=many))["profit_factor"]
    assert (gate.passed, gate.evaluated, gate.value) == (True, True, None)
    few = oos(folds=(fold(profit_factor=None, has_no_loss=True, n_trades=2),) * 4)
    assert not gates_of(replace(GOOD, oos=few))["profit_factor"].evaluated


def test_a_skipped_gate_is_not_a_reason() -> None:
    gates = judge(replace(GOOD, dsr=0.1, probe_changes=None), Thresholds())
    assert [reason.partition(":")[0] for reason in failed(gates)] == ["dsr"]
    assert next(gate for gate in gates if gate.name == "causality").reason == SKIPPED


def test_without_gates_no_trial_is_promotable() -> None:
    none = Thresholds(*(None for _ in fields(Thresholds)))
    assert judge(GOOD, none) == ()
    assert not is_promotable(())


def test_thresholds_are_read_from_plain_values_and_unknown_ones_are_refused() -> None:
    assert thresholds_of({"preset": "strict", "min_trades": None}) == Thresholds(
        min_dsr=0.95, min_dsr_alpha=0.95, min_trades=None, max_sharpe=4.0
    )
    for wrong in (
        {"min_sharp": 1.0},
        {"preset": "lax"},
        {"min_dsr": "0.5"},
        {"min_dsr": True},
        {"min_dsr": float("inf")},
    ):
        with pytest.raises(oo.OpenOutcryError, match="argument_invalid"):
            thresholds_of(wrong)


def test_the_incumbent_is_beaten_strictly_by_a_single_score() -> None:
    """A5: the same statistic for both, the stitched Sharpe ratio (trap 1)."""
    guard = Guard()
    assert beats(oos(1.0), None, guard) == (True, "")
    assert not beats(oos(1.0), oos(1.0), guard)[0]
    assert beats(oos(1.0001), oos(1.0), guard)[0]
    assert not beats(oos(1.1), oos(1.0), Guard(min_improvement=0.2))[0]
    assert not beats(oos(None), None, guard)[0]
    medians = oos(1.0, folds=(fold(sharpe=9.0),) * 4)
    assert not beats(medians, oos(1.1), guard)[0], "fold medians must not be compared with stitched ratios"


def test_a_drawdown_beyond_tolerance_and_floor_does_not_replace_the_incumbent() -> None:
    best = oos(1.0, 0.1)
    assert beats(oos(2.0, 0.135), best, Guard())[0]
    assert not beats(oos(2.0, 0.1351), best, Guard())[0]
    assert beats(oos(2.0, 0.01), oos(1.0, 0.0), Guard())[0], "the floor applies to a drawdown of 0"
    assert not beats(oos(2.0, 0.0101), oos(1.0, 0.0), Guard())[0]


def test_selection_sees_no_in_sample_result() -> None:
    """A9: by type."""
    names = {each.name for each in fields(OosScore)} | {each.name for each in fields(FoldScore)}
    assert not any("train" in name or "sample" in name or name.startswith("is_") for name in names)


class Candidate:
    def __init__(self, key: str, score: OosScore) -> None:
        self.key, self.oos = key, score


def test_the_short_list_keeps_the_best_of_correlated_trials() -> None:
    """A6."""
    twin = Candidate("b", replace(oos(1.0, seed=1), returns=2.0 * oos(seed=1).returns))
    kept, dropped = select_shortlist(
        [twin, Candidate("a", oos(2.0, seed=1)), Candidate("c", oos(0.5, seed=2))], Guard(), 3
    )
    assert [each.key for each in kept] == ["a", "c"]
    assert [each.key for each in dropped] == ["b"]
    kept, dropped = select_shortlist(
        [Candidate(str(seed), oos(float(seed), seed=seed)) for seed in range(5)], Guard(), 3
    )
    assert [each.key for each in kept] == ["4", "3", "2"]
    assert len(dropped) == 2


def test_the_deflated_sharpe_ratio_falls_with_the_number_of_trials() -> None:
    """A10: the same returns are more likely luck among more trials."""
    found = []
    for n_before in (0, 37, 370, 3700):
        counter = TrialCounter(PriorTrials(n_trials=n_before))
        counter.count(1, oos())
        found.append(counter.luck_of(oos()))
    assert [luck.n_trials for luck in found] == [1, 38, 371, 3701]
    ratios = [luck.dsr for luck in found]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] == found[-1].dsr_if_one > ratios[-1]


def test_code_counts_once_per_configuration() -> None:
    """A3."""
    counter = TrialCounter(PriorTrials())
    counter.count(8, oos())
    counter.count(1, None)
    assert counter.n_trials == 9
    with pytest.raises(oo.OpenOutcryError):
        counter.count(0, None)


def test_constant_returns_have_no_deflated_sharpe_ratio() -> None:
    flat = replace(oos(), returns=np.zeros(400), moments=None)
    counter = TrialCounter(PriorTrials())
    counter.count(1, flat)
    luck = counter.luck_of(flat)
    assert luck.dsr is None
    assert luck.undefined


@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=40))
def test_running_moments_equal_the_sample_deviation(ratios: list[float]) -> None:
    spread = RunningMoments()
    for ratio in ratios:
        spread = spread.with_(ratio)
    if len(ratios) >= 10:
        assert spread.deviation == pytest.approx(np.std(ratios, ddof=1), abs=1e-12)
    else:
        assert spread.deviation is None


def test_a_configuration_round_trips_through_json() -> None:
    config = ResearchConfig(seed=2**64 - 1, costs=oo.CostModel(fee_bps=3.0), goal="z\u00fcrich")
    assert ResearchConfig.of_json(config.to_json()) == config
    for wrong in ({"split": {"mode": "sideways"}}, {"budgets": {"trials": 0}}, {"gate": {}}, {"split": [1]}):
        with pytest.raises(oo.OpenOutcryError):
            ResearchConfig.of_json(wrong)


def held(seed: int = 5) -> Benchmark:
    returns = 0.001 + 0.01 * np.random.default_rng(seed).standard_normal(400)
    return Benchmark(returns, np.concatenate([[1.0], np.cumprod(1.0 + returns)]))


def track(returns: np.ndarray) -> OosScore:
    return replace(oos(), returns=returns, moments=moments_of(returns))


@given(st.floats(0.1, 5.0), st.integers(0, 2**32 - 1))
def test_market_exposure_is_not_alpha(beta: float, seed: int) -> None:
    """Beta times buy-and-hold leaves no residual; an independent part keeps its mean and loses its beta."""
    market = held()
    own = 0.002 + 0.01 * np.random.default_rng(seed).standard_normal(400)
    counter = TrialCounter(PriorTrials(n_trials=10), [market])
    assert counter.luck_of(track(beta * market.returns)).dsr_alpha is None
    left = market.residual(own + beta * market.returns)
    assert np.cov(left, market.returns)[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert left == pytest.approx(market.residual(own), abs=1e-12)
    # Equals ordinary least squares with a constant. Source: Jensen (1968).
    design = np.column_stack([np.ones(400), market.returns])
    alpha = np.linalg.lstsq(design, own, rcond=None)[0][0]
    assert market.residual(own).mean() == pytest.approx(alpha, abs=1e-12)


def test_a_constant_benchmark_removes_nothing() -> None:
    flat = Benchmark(np.zeros(400), np.ones(401))
    assert np.array_equal(flat.residual(oos().returns), oos().returns)
    luck = TrialCounter(PriorTrials(), [flat]).luck_of(oos())
    assert luck.dsr_alpha == luck.dsr


def test_cautions_about_luck_name_what_is_there() -> None:
    sure = Luck(9, 9, 0.99, 1.0, 0.99, None, 0.96, 0.1, 0.05)
    nothing = "no return is left in excess of the market"
    expected = {
        (): sure,
        (nothing,): replace(sure, dsr_alpha=None, alpha_undefined=nothing),
        ("the returns of the market over these bars are unknown",): TrialCounter(PriorTrials()).luck_of(oos()),
        ("its DSR in excess of the market is 0.300",): replace(sure, dsr_alpha=0.3),
        ("its DSR is 0.600 when deflated by the spread of the trials' Sharpe ratios",): replace(sure, dsr_spread=0.6),
    }
    for found, luck in expected.items():
        assert tuple(of_luck(luck)) == found


def test_a_missing_alpha_has_the_reason_of_its_kind() -> None:
    """Constant returns, unknown benchmarks and a multiple of a benchmark are three reasons."""
    market, flat = held(), replace(oos(), returns=np.zeros(400), moments=None)
    counter = TrialCounter(PriorTrials(), [market])
    multiple = counter.luck_of(track(2.0 * market.returns))
    assert (multiple.dsr_alpha, multiple.alpha_undefined) == (None, "no return is left in excess of the market")
    assert counter.luck_of(flat).alpha_undefined == "the returns are constant"
    assert counter.luck_of(oos()).alpha_undefined == ""
    shown = {
        gate.name: gate.reason
        for gate in judge(_evidence_of(flat, counter.luck_of(flat)), Thresholds(min_dsr_alpha=0.5))
    }
    assert (shown["dsr"], shown["dsr_alpha"]) == ("the returns are constant",) * 2


def _evidence_of(score: OosScore, luck: Luck) -> Evidence:
    return evidence_of(ValidationResult(score, GOOD.in_sample, (), 1), luck)


@pytest.mark.parametrize(
    ("new", "best", "guard", "text"),
    [
        (oos(1.905), oos(2.905), Guard(), "stitched Sharpe ratio 1.905 does not exceed the incumbent's 2.905"),
        (oos(1.0), oos(1.0), Guard(), "stitched Sharpe ratio 1.0 does not exceed the incumbent's 1.0"),
        (oos(1.00001), oos(1.00002), Guard(), "ratio 1.00001 does not exceed the incumbent's 1.00002"),
        (oos(1.1), oos(1.0), Guard(min_improvement=0.2), "1.1 does not exceed the incumbent's 1 by more than 0.2"),
        (oos(2.0, 0.2), oos(1.0, 0.1), Guard(), "its drawdown of 0.2 exceeds 0.135, the limit"),
        (oos(None), None, Guard(), "its stitched out-of-sample Sharpe ratio a year is undefined"),
    ],
)  # fmt: skip
def test_a_kept_trial_says_that_it_did_not_advance_and_why(
    new: OosScore, best: OosScore | None, guard: Guard, text: str
) -> None:
    """`kept: a Sharpe ratio above 2.905 is required; received 1.905` read as a contradiction."""
    is_better, why = beats(new, best, guard)
    assert not is_better
    assert why.startswith("not advanced: ")
    assert text in why


def test_a_failed_disguise_shows_its_parts() -> None:
    bad = replace(GOOD, disguise_loss=1.02, disguise_remark=DisguiseResult(1.02, 0.98).remark(0.25))
    (text,) = failed(judge(bad, Thresholds()))
    assert text == (
        "disguise: the relative loss of Sharpe ratio when decisions see the market in disguise must be "
        "<= 0.25; received 1.02 (1.02 with other price levels, 0.98 with noise too: "
        "the decisions may depend on price levels)"
    )


def test_a_sharpe_ratio_above_four_is_implausible_under_strict_gates() -> None:
    high = replace(GOOD, oos=oos(4.01), dsr=0.99, dsr_alpha=0.99)
    (text,) = failed(judge(high, Thresholds.preset("strict")))
    assert text.startswith("plausibility: the stitched out-of-sample Sharpe ratio a year must be <= 4; received 4.01")
    assert failed(judge(high, Thresholds())) == ()
    (caution,) = implausible(4.01, "out of sample", is_code=True)
    assert "hindsight in its code" in caution
    (caution,) = implausible(4.01, "in the holdout", is_code=False)
    assert "hindsight" not in caution, "a library strategy holds no future"
    assert list(implausible(3.99, "", is_code=True)) == list(implausible(None, "", is_code=True)) == []


@pytest.mark.parametrize(("number", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (1000, "1,000 trials")])
def test_a_count_agrees_with_its_noun(number: int, text: str) -> None:
    assert counted(number, "trial") == text
    assert counted(number, "run has", "runs have").endswith("run has" if number == 1 else "runs have")
