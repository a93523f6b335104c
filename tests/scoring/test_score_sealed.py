"""Gates on sealed windows alone: hindsight is not eligible, and skill keeps its power."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from builders import Array, count

import openoutcry as oo
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation
from openoutcry.scoring.verdict import Score

pytestmark = pytest.mark.once

YEAR = 252.0
# The shape of the default suite: three public windows, and two of each of four sealed markets.
PUBLIC, SEALED = [2_283, 2_304, 2_515], [1_249, 1_250] * 4
LENGTHS = [*PUBLIC, *SEALED]


def suite_of(lengths: list[int], n_public: int, **more: Any) -> dict[str, Any]:
    """Return the scorer settings of a suite with its first windows public."""
    edges = np.cumsum([0, *lengths]).tolist()
    windows = [
        {"start": start, "end": end + 1, "sealed": place >= n_public}
        for place, (start, end) in enumerate(pairwise(edges))
    ]
    return {"windows": windows, "draws": {"replicates": 199}, **more}


def days_of(seed: int, public: float, sealed: float, lengths: list[int] = LENGTHS) -> tuple[Array, Array]:
    """Return returns with one annual Sharpe ratio on three windows and another after them, and buy-and-hold."""
    random = np.random.default_rng([seed, 11])
    ratios = np.repeat([public, sealed], [sum(lengths[:3]), sum(lengths[3:])])
    days = 0.01 * (random.standard_normal(len(ratios)) + ratios / np.sqrt(YEAR))
    return days, 0.01 * random.standard_normal(len(ratios)) + 0.01 * 0.5 / np.sqrt(YEAR)


def judged(days: Array, held: Array, n_public: int, lengths: list[int] = LENGTHS) -> Score:
    board = oo.score(
        {"a": days}, periods_per_year=252, windows=lengths, benchmark=held, config=suite_of(lengths, n_public)
    )
    return board["a"]


def passes(score: Score) -> bool:
    """Return whether all gates pass that returns alone can pass."""
    return score.reasons == ("no_passive", "no_trace")


def test_hindsight_on_public_windows_is_not_eligible_and_skill_keeps_its_power() -> None:
    n = count(200, 3)
    found = {name: [0, 0] for name in ("hindsight", "half", "one")}
    for seed in range(n):
        for name, public, sealed in (("hindsight", 6.0, 0.0), ("half", 0.5, 0.5), ("one", 1.0, 1.0)):
            days = days_of(seed, public, sealed)
            for place, n_public in enumerate((len(PUBLIC), 0)):
                found[name][place] += passes(judged(*days, n_public))
    for name, (gated, without) in found.items():
        print(f"{name}: eligible {gated / n:.1%} of {n}, {without / n:.1%} where nobody asks for sealed windows")
    assert found["hindsight"][0] / n <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / n)
    assert found["one"][0] >= 0.95 * n - 1
    assert found["half"][0] >= found["half"][1] - 0.35 * n


def test_the_sealed_gate_names_the_failed_gates() -> None:
    lengths = [126] * 11
    days, held = days_of(3, 12.0, 0.0, lengths)
    score = judged(days, held, 3, lengths)
    assert score.sealed is not None
    gate = score.gate("sealed")
    assert (score.verdict, gate.passed, gate.reason) == ("not_eligible", False, "not_on_sealed")
    failed = [each["slug"] for each in score.sealed["gates"] if each["passed"] is not True]
    assert gate.value == len(failed) > 0
    assert "dsr" in failed
    assert (score.sealed["n_windows"], score.sealed["n_days"]) == (8, 8 * 126)
    assert score.z == score.sealed["z"] < 1.0
    assert score.dsr == score.ranking_gate("dsr").value != score.gate("dsr").value


@pytest.mark.parametrize("public", [6.0, 0.0, -1.0])
def test_public_windows_do_not_affect_other_agents(public: float) -> None:
    lengths = [126] * 11
    agents = {str(seed): days_of(seed, 1.0, ratio, lengths)[0] for seed, ratio in enumerate((4.0, 3.0, 1.0, 0.0))}
    held = days_of(9, 0.5, 0.5, lengths)[1]
    moved = {name: days_of(7, public, 0.0, lengths)[0] if name in "02" else days for name, days in agents.items()}
    for name, days in moved.items():
        days[378:] = agents[name][378:]
    floor = {f"luck-{seed}": days_of(seed + 20, 0.0, 0.0, lengths)[0] for seed in range(8)}
    config = suite_of(lengths, 3, luck_floor=list(floor))
    before, after = (
        oo.score(each | floor, periods_per_year=252, windows=lengths, benchmark=held, config=config)
        for each in (agents, moved)
    )
    assert len(before.bands) > 1
    same = ("bands", "separation", "tests", "overfit", "power", "sentence")
    assert [getattr(before, name) for name in same] == [getattr(after, name) for name in same]
    for name in agents:
        one, other = before[name], after[name]
        names = ("rank", "z", "seed_z", "dsr", "above_luck", "copy_of", "sealed")
        assert [getattr(one, each) for each in names] == [getattr(other, each) for each in names]


def test_a_stolen_sealed_series_is_a_copy_whatever_its_public_windows() -> None:
    lengths = [126] * 11
    honest, held = days_of(1, 1.0, 3.0, lengths)
    thief = np.concatenate([days_of(2, 6.0, 0.0, lengths)[0][:378], honest[378:]])
    other = days_of(3, 1.0, 1.0, lengths)[0]
    agents = {"honest": honest, "thief": thief, "other": other}
    config = suite_of(lengths, 3)
    board = oo.score(agents, periods_per_year=252, windows=lengths, benchmark=held, config=config)
    assert {score.agent_id: score.copy_of for score in board.scores} == {
        "honest": "thief",
        "thief": "honest",
        "other": None,
    }
    assert [score.agent_id for score in board.scores if score.rank is not None] == ["other"]
    known = oo.score(
        agents, periods_per_year=252, windows=lengths, benchmark=held, config=config | {"originals": ["honest"]}
    )
    assert (known["honest"].rank, known["honest"].copy_of) == (1, None)
    assert (known["thief"].rank, known["thief"].verdict) == (None, "not_eligible")
    assert "copy" in known["thief"].reasons


def test_trials_count_equally_on_sealed_windows() -> None:
    lengths = [126] * 11
    random = np.random.default_rng(0)
    held = 0.01 * random.standard_normal(sum(lengths))
    agents = {str(place): 0.01 * random.standard_normal(len(held)) + 0.001 for place in range(5)}
    config = suite_of(lengths, 3, trials={"n_trials": 70})
    board = oo.score(agents, periods_per_year=252, windows=lengths, benchmark=held, config=config)
    alone = oo.score(
        {name: days[378:] for name, days in agents.items()},
        periods_per_year=252,
        windows=lengths[3:],
        benchmark=held[378:],
        config={"trials": {"n_trials": 70}, "draws": {"replicates": 199}},
    )
    for score in board.scores:
        assert score.sealed is not None
        assert score.sealed["z"] == pytest.approx(alone[score.agent_id].z, rel=1e-12)


def test_a_suite_marks_its_sealed_windows() -> None:
    suite, keys = Suite.load().seal()
    windows = Evaluation(suite, keys).config()["windows"]
    assert sorted(each["sealed"] for each in windows) == [False] * 3 + [True] * 8


def test_public_windows_are_reported_and_no_agent_is_eligible_without_a_suite() -> None:
    lengths = [252] * 4
    days, held = days_of(1, 3.0, 3.0, lengths)
    assert judged(days, held, 4, lengths).reasons == ("no_passive", "no_trace", "public_windows")
    assert judged(days, held, 0, lengths).reasons == ("no_passive", "no_trace")
    board = oo.score({"a": days}, periods_per_year=252, windows=lengths, benchmark=held)
    assert set(board["a"].reasons) == {"no_passive", "no_trace", "no_suite"}
    assert board["a"].gate("protocol").passed is None
    assert (board["a"].rank, board["a"].sealed) == (1, None)
