"""Rewards can be learned from: a small policy trained on one split earns more on another."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from builders import count

pytestmark = pytest.mark.once

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import verifiers_reinforce as example  # noqa: E402

MARKET = "crisis"
N_EPISODES, N_ROWS = count(2_400, 1_200), count(300, 150)


def test_a_policy_trained_on_one_split_earns_more_on_another() -> None:
    start = np.zeros((len(example.ACTIONS), example.N_FEATURES))
    before = example.judge(MARKET, start, N_ROWS)
    trained = example.train(MARKET, N_EPISODES, seed=0)
    after = example.judge(MARKET, trained, N_ROWS)
    gain, low, _ = example.interval(after - before)
    assert low > 0.1
    assert gain > 0.2
    # A copy of the benchmark earns 0 on each row.
    assert example.interval(after)[1] > 0.0


def test_training_is_deterministic_and_uses_its_own_split() -> None:
    twice = [example.train(MARKET, 64, seed=1) for _ in range(2)]
    assert np.array_equal(*twice)
    assert not np.array_equal(twice[0], example.train(MARKET, 64, seed=2))
    rows = [example.row_of(MARKET, split, 0) for split in ("train", "validation")]
    closes = [example.row_markets.draw(row, 0).close for row in rows]
    assert not np.array_equal(*closes)


def test_valid_decisions_are_learned() -> None:
    """Between two equal actions, the valid decision avoids the format penalty."""
    row = example.row_of(MARKET, "train", 0)
    first = example.prompt(row, "text", example.TERMS)

    def only(action: str) -> np.ndarray:
        parameters = np.zeros((len(example.ACTIONS), example.N_FEATURES))
        parameters[example.ACTIONS.index(action), 0] = 100.0
        return parameters

    rng = np.random.default_rng(0)
    silent, still = (example.play(row, first, only(action), rng) for action in ("no decision", "hold"))
    assert still.reward - silent.reward == pytest.approx(0.05 * row.horizon)
