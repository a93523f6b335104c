"""Gates of the second edition: a delay of one bar, and windows that are judged together."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from builders import Array, count

import openoutcry as oo
from openoutcry.audits.score_attacks.attack_markets import Stage, stage
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.verdict import Board, Score

pytestmark = pytest.mark.once

YEAR = 252
FEW = {"draws": {"replicates": 199}}


def judged(at: Stage, weights: Array, **config: Any) -> Board:
    return at.judge(at.record("agent", weights), config=FEW | config)


def lagged_copy(seed: int, noise: float = 0.0) -> tuple[Stage, Array]:
    """Return a market with a symbol that is another one a day late, and the agent that trades it."""
    random = np.random.default_rng(seed)
    moves = 0.01 * random.standard_normal((8 * YEAR, 4))
    moves[1:, 1] = moves[:-1, 0] + noise * random.standard_normal(8 * YEAR - 1)
    at = stage(random, n_windows=8, moves=moves)
    weights = np.zeros((at.dataset.n_bars, 4))
    weights[1:, 1] = np.sign(at.returns()[:, 0])
    return at, weights


def reversal(seed: int, phi: float) -> tuple[Stage, Array]:
    """Return a market with an autocorrelation of `phi`, and the agent that trades it daily."""
    random = np.random.default_rng([seed, 7])
    moves = 0.01 * random.standard_normal((8 * YEAR, 4))
    for day in range(1, len(moves)):
        moves[day] += phi * moves[day - 1]
    at = stage(random, n_windows=8, moves=moves)
    weights = np.zeros((at.dataset.n_bars, 4))
    weights[1:] = np.sign(phi) * np.sign(at.returns()) / 4.0
    return at, weights


# A delay of one bar


@pytest.mark.parametrize("seed", range(count(20, 2)))
def test_a_lagged_copy_is_eligible_in_the_first_edition_only(seed: int) -> None:
    at, weights = lagged_copy(seed)
    first = judged(at, weights, edition=1)
    assert first["agent"].is_eligible
    assert "delay" not in {gate.slug for gate in first["agent"].gates}
    assert "delay" not in first["agent"].diagnostics
    second = judged(at, weights)["agent"]
    assert (second.verdict, second.reasons) == ("not_eligible", ("delay_implausible",))
    assert second.gate("delay").bound == 10.0
    assert second.gate("delay").value == second.diagnostics["delay"]["lost"]
    assert second.diagnostics["delay"]["lost"] > 20.0


def test_the_lost_ratio_is_that_of_a_record_with_the_decisions_one_bar_later() -> None:
    at, weights = reversal(1, 0.1)
    now = judged(at, weights)["agent"]
    late = np.vstack([np.zeros((1, 4)), weights[:-1]])
    # Each window starts in cash, so the delayed run has no position on its first day.
    late[[start for start, _ in at.windows]] = 0.0
    found, strictest = now.diagnostics["delay"], judged(at, late)["agent"].sides[3]
    assert now.sides[3]["name"] == "passive-mix"
    assert found["sharpe"] == pytest.approx(now.sides[3]["sharpe"])
    assert found["delayed"] == pytest.approx(strictest["sharpe"], rel=1e-6)
    assert found["lost"] == pytest.approx(found["sharpe"] - max(found["delayed"], 0.0))


@pytest.mark.parametrize("seed", range(count(20, 2)))
def test_an_honest_daily_reversal_has_a_warning_at_most(seed: int) -> None:
    board = judged(*reversal(seed, -0.1))
    found = board["agent"]
    assert found.is_eligible
    assert found.reasons == ("delay_sensitive",)
    assert found.gate("delay").passed
    assert any("stale prices" in caveat for caveat in board.caveats)


@pytest.mark.parametrize("seed", range(count(20, 2)))
def test_a_signal_of_several_days_has_no_warning(seed: int) -> None:
    random = np.random.default_rng([seed, 3])
    signal = np.zeros((8 * YEAR + 1, 4))
    for day in range(1, len(signal)):
        signal[day] = 0.9 * signal[day - 1] + random.standard_normal(4)
    moves = 0.01 * random.standard_normal((8 * YEAR, 4)) + 0.001 * np.sign(signal[:-1])
    at = stage(random, n_windows=8, moves=moves)
    found = judged(at, np.sign(signal) / 4.0)["agent"]
    assert found.is_eligible
    assert found.reasons == ()


def test_a_noisy_copy_is_eligible_with_a_warning_and_named_by_the_market() -> None:
    board = judged(*lagged_copy(1, noise=0.025))
    assert board["agent"].is_eligible
    assert board["agent"].reasons == ("delay_sensitive",)
    assert any("the returns of S1 follow those of S0 by 1 bar" in caveat for caveat in board.caveats)


def test_a_suite_can_allow_a_larger_loss() -> None:
    at, weights = lagged_copy(2)
    assert judged(at, weights, gates={"max_delay_loss": 40.0})["agent"].is_eligible


def test_returns_without_decisions_have_no_delay() -> None:
    days = 0.001 + 0.01 * np.random.default_rng(0).standard_normal(1_008)
    board = oo.score({"agent": days}, periods_per_year=252, windows=[252] * 4, config=FEW)
    gate = board["agent"].gate("delay")
    assert (gate.passed, gate.value, gate.reason) == (None, None, "no_trace")


# Windows that are judged together

POOLED = {"gates": {"windows": "pooled"}}


def convex(random: np.random.Generator, n_days: int, daily: float) -> Array:
    """Return a style that pays daily, and gains 8 % on one day of a hundred.

    At -0.0001 its true annual ratio is 0.0007 / 0.00797 x sqrt(252) = 1.39, at -0.0008 it is 0.
    """
    return np.where(random.random(n_days) < 0.01, 0.08, 0.0) + daily + 0.0003 * random.standard_normal(n_days)


def of_days(days: Array, held: Array, n_windows: int, **config: Any) -> Score:
    windows = [len(days) // n_windows] * n_windows
    return oo.score(
        {"agent": days + held}, periods_per_year=252, windows=windows, benchmark=held, config=FEW | config
    ).scores[0]


def is_passed(score: Score) -> bool:
    return set(score.reasons) <= {"no_suite", "no_trace", "no_passive"}


def test_a_convex_style_is_eligible_only_if_windows_are_judged_together() -> None:
    n, passed, each, lost = count(300, 20), 0, 0, 0
    for seed in range(n):
        random = np.random.default_rng([seed, 48])
        held = 0.0003 + 0.01 * random.standard_normal(48 * 42)
        days = convex(random, 48 * 42, -0.0001)
        lost += int((days.reshape(48, -1).sum(axis=1) < 0.0).sum())
        passed += is_passed(of_days(days, held, 48, **POOLED))
        each += is_passed(of_days(days, held, 48))
    print(f"convex, ratio 1.39, 48 windows of 42 days: {passed / n:.1%} pooled, {each / n:.1%} each, of {n}")
    assert lost / n > 27
    # 1 of 300 in the full run.
    assert each / n < 0.02
    assert passed / n > 0.85


@pytest.mark.parametrize("kind", ["fair convex", "normal", "heavy"])
def test_luck_is_nominal_if_windows_are_judged_together(kind: str) -> None:
    n, passed = count(1_000, 25), 0
    for seed in range(n):
        random = np.random.default_rng([seed, 24])
        n_days = 24 * 63
        held = 0.0003 + 0.01 * random.standard_normal(n_days)
        wave = np.exp(0.5 * np.sin(np.arange(n_days) / 20.0 + random.uniform(0.0, 6.0)))
        days = {
            "fair convex": lambda random, n_days, _: convex(random, n_days, -0.0008),
            "normal": lambda random, n_days, _: 0.01 * random.standard_normal(n_days),
            "heavy": lambda random, n_days, wave: 0.01 * wave * random.standard_t(4.0, n_days),
        }[kind](random, n_days, wave)
        passed += is_passed(of_days(days, held, 24, **POOLED))
    print(f"{kind}, 24 windows of 63 days: {passed / n:.1%} of {n} pass without skill")
    assert passed / n <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / n)


def test_one_lucky_window_carries_no_pooled_result() -> None:
    random = np.random.default_rng(4)
    held = 0.0003 + 0.01 * random.standard_normal(12 * 126)
    days = 0.001 * random.standard_normal(12 * 126)
    days[:126] += 0.004
    found = of_days(days, held, 12, **POOLED)
    assert "one_window" in found.reasons
    rest = days[126:]
    # Over buy-and-hold the series is that of a regression, so the value is near this one.
    z = rest.mean() / rest.std() * np.sqrt(len(rest))
    assert found.gate("without_best").value == pytest.approx(z, abs=0.4)


def test_pooled_windows_must_be_many_and_replace_the_gates_of_each() -> None:
    random = np.random.default_rng(5)
    held = 0.0003 + 0.01 * random.standard_normal(11 * 63)
    few = of_days(0.002 + 0.01 * random.standard_normal(11 * 63), held, 11, **POOLED)
    assert few.verdict == "insufficient"
    assert (few.gate("pooled_windows").value, few.gate("pooled_windows").bound) == (11.0, 12.0)
    assert not {"window_below", "window_wins"} & {gate.slug for gate in few.gates}
    default = of_days(0.01 * random.standard_normal(11 * 63), held, 11)
    assert not {"pooled_windows", "without_best"} & {gate.slug for gate in default.gates}


def test_the_board_says_how_windows_are_judged_and_what_it_means_for_convex_styles() -> None:
    random = np.random.default_rng([0, 48])
    held = 0.0003 + 0.01 * random.standard_normal(48 * 42)
    days, windows = convex(random, 48 * 42, -0.0001) + held, [42] * 48

    def board(**config: Any) -> Board:
        return oo.score({"agent": days}, periods_per_year=252, windows=windows, benchmark=held, config=FEW | config)

    (pooled,) = board(**POOLED).caveats
    assert pooled.startswith("the windows are judged together (`windows: pooled`)")
    (each,) = board().caveats
    assert "a convex style, which loses a little in most windows, cannot be eligible" in each
    assert each.endswith("a suite with the gate `windows: pooled` judges it on all days together")
    first, *others = board(edition=1).caveats
    assert first.startswith("the board has scorer edition 1, in which equal-weight, passive-mix, past-mix")
    assert others == [each]


def test_a_board_of_agents_without_skill_says_nothing_of_convex_styles() -> None:
    random = np.random.default_rng([0, 49])
    held = 0.0003 + 0.01 * random.standard_normal(12 * 63)
    agents = {"held": held, "cash": np.zeros_like(held), "noise": 0.01 * random.standard_normal(12 * 63)}
    board = oo.score(agents, periods_per_year=252, windows=[63] * 12, benchmark=held, config=FEW)
    assert {"too_few_wins", "window_below"} & {reason for score in board.scores for reason in score.reasons}
    assert not [text for text in board.caveats if "convex style" in text]


def test_a_suite_states_how_windows_are_judged() -> None:
    mine = json.loads(Suite.load("default").to_json())
    mine |= {"name": "convex", "gates": {"windows": "pooled", "min_pooled": 24}}
    suite = Suite.from_json(json.dumps(mine))
    assert suite.gates == {"windows": "pooled", "min_pooled": 24}
    assert suite.digest != Suite.load("default").digest
    with pytest.raises(oo.OpenOutcryError, match="min_pooled"):
        Suite.from_json(json.dumps(mine | {"gates": {"min_pooled": 1}}))
    with pytest.raises(oo.OpenOutcryError, match="windows"):
        Suite.from_json(json.dumps(mine | {"gates": {"windows": "some"}}))
