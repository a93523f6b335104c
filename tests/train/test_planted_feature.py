"""PPO finds a feature with an edge, and nothing in the same values in another order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO

import openoutcry as oo
from openoutcry.gym import evaluate
from openoutcry.sb3 import OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

N_BARS = 2000


def sharpe_of_a_learner(*, is_shuffled: bool, seed: int) -> float:
    """Return the Sharpe ratio of PPO on the last 800 bars, which it has not seen."""
    rng = np.random.default_rng(seed)
    change = 0.01 * rng.normal(size=N_BARS)
    hint = 0.4 * np.append(change[1:], 0.0) / 0.01 + rng.normal(size=N_BARS)
    hint = rng.permutation(hint) if is_shuffled else hint
    dates = np.arange("2001-01-01", N_BARS, dtype="datetime64[D]")
    close = 100.0 * np.exp(np.cumsum(change))[:, np.newaxis]
    market = oo.Dataset.from_arrays(dates, ["ACME"], close, features={"hint": hint[:, np.newaxis]})
    free = oo.CostModel(fee_bps=0.0, slippage_bps=0.0)
    settings = {"observation": "flat", "lookback": 1, "action": "parts", "costs": free}
    lanes = OpenOutcryVectorEnv(
        32, dataset=market, window="random", within=(0, 1200), episode_bars=100, reward={"simple": 100.0},
        autoreset_mode=AutoresetMode.SAME_STEP, **settings,
    )  # fmt: skip
    torch.set_num_threads(1)
    arguments = {"n_steps": 32, "batch_size": 256, "gamma": 0.0, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", OpenOutcryVecEnv(lanes), seed=seed, device="cpu", **arguments)
    model.learn(40_000)
    return float(evaluate(model, market, (1200, N_BARS), **settings).values("sharpe")[0])


@pytest.mark.parametrize("seed", [0, 1])
def test_ppo_finds_a_planted_feature_and_not_a_shuffled_one(seed: int) -> None:
    # The sign of the hint has a Sharpe ratio of about 0.29 sqrt(365) = 5.6 a year; luck has a deviation of 0.7.
    assert sharpe_of_a_learner(is_shuffled=False, seed=seed) > 3.0
    assert abs(sharpe_of_a_learner(is_shuffled=True, seed=seed)) < 2.4
