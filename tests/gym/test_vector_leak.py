"""No observation of any kind depends on a bar after its decision."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from builders import accepted, corrupted, costs_of, count, dataset_of, limits_of
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

DRAWS = settings(max_examples=count(1_000, 60))
SEEDS = st.integers(0, 2**32 - 1)
PLACES = st.integers(0, 1000)
KINDS = ("dict", "flat", "cursor")


def transcript(dataset: oo.Dataset, options: dict[str, Any], actions: np.ndarray, last: int) -> list[Any]:
    """Return all outputs of vector and scalar environment up to the close of bar `last`."""
    vec = OpenOutcryVectorEnv(1, dataset=dataset, **options)
    env = OpenOutcryEnv(dataset=dataset, **options)
    seen: list[Any] = [(pickle.dumps(vec.reset(seed=0)[0]), pickle.dumps(env.reset(seed=0)[0]))]
    for action in actions:
        if vec.bars[0] == last or vec.done[0]:
            break
        shown, rewards, terminations, truncations, _ = vec.step(action[np.newaxis])
        one, reward, terminated, truncated, info = env.step(action)
        batch = pickle.dumps((shown, rewards, terminations, truncations, vec._core.tradable, vec.nav))
        info.pop("tradable", None)  # present only if the data has a delisting column, which one market may lack
        seen.append((batch, pickle.dumps((one, reward, terminated, truncated, info))))
    return seen


@pytest.mark.parametrize("kind", KINDS)
@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_replacing_every_later_row_changes_no_output(kind: str, seed: int, place: int) -> None:
    market, _, start, end, costs, limits = accepted(seed)
    rng = np.random.default_rng(seed)
    last = start + place * (end - 1 - start) // 1000
    own = dataset_of(market)
    try:
        other = dataset_of(corrupted(rng, market, last))
    except oo.OpenOutcryError:  # not a valid market, for example a fill price below 0
        return
    actions = rng.normal(0.0, 0.5, (end - start, own.n_symbols)).astype(np.float32)
    options: dict[str, Any] = {"window": (start, end), "costs": costs_of(costs), "limits": limits_of(limits)}
    # By default the mask depends on whether the market has a delisting column, which one of the two may lack.
    options |= {
        "observation": kind,
        "lookback": 5,
        "reward": "differential-sharpe",
        "no_trade_band": 0.02,
        "mask": True,
    }
    assert transcript(own, options, actions, last) == transcript(other, options, actions, last)


def test_the_check_detects_a_change_of_the_next_row() -> None:
    market, _, start, end, *_ = accepted(3)
    actions = np.zeros((end - start, np.shape(market.close)[1]), np.float32)
    own, other = dataset_of(market), dataset_of(corrupted(np.random.default_rng(0), market, start))
    options: dict[str, Any] = {"window": (start, end), "observation": "flat", "lookback": 5}
    assert transcript(own, options, actions, start + 1) != transcript(other, options, actions, start + 1)
    assert transcript(own, options, actions, start) == transcript(other, options, actions, start)
