"""Flat observations with `copy=False`: views that slide along longer rows, and show what new arrays would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers.vector import FlattenObservation

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.vector import OpenOutcryVectorEnv

# Rows of a few lines; rows that are fetched ahead; many symbols; rows that go past the caches.
SIZES = [(3, 4), (900, 4), (5, 30), (520, 100)]


def pair(lanes: int, n: int, **options: Any) -> tuple[OpenOutcryVectorEnv, OpenOutcryVectorEnv]:
    given: dict[str, Any] = {
        "dataset": oo.Dataset.synthetic(n, 160, 3),
        "window": "random",
        "episode_bars": 9,
        "observation": "flat",
    } | options
    return OpenOutcryVectorEnv(lanes, copy=False, **given), OpenOutcryVectorEnv(lanes, **given)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lookback", [1, 2, 3, 20, 45])
@pytest.mark.parametrize(("lanes", "n"), SIZES)
def test_what_slides_is_what_new_arrays_hold(lanes: int, n: int, lookback: int, threads: int) -> None:
    # Episodes end in some lanes and not in others, and windows reach back before the first bar.
    sliding, fresh = pair(lanes, n, lookback=lookback, threads=threads, within=(2, 160), max_episode_steps=7)
    rng = np.random.default_rng(lookback)
    assert sliding.reset(seed=1)[0].tobytes() == fresh.reset(seed=1)[0].tobytes()
    before = after = sliding.step(np.zeros((lanes, n), np.float32))[0]
    fresh.step(np.zeros((lanes, n), np.float32))
    for k in range(60):
        actions = rng.dirichlet(np.ones(n + 1), lanes)[:, :n].astype(np.float32)
        kept, before = after.tobytes(), after
        if k % 11 == 5:
            # Other arrays in between: no turn of those that slide.
            out = np.empty(after.shape, np.float32)
            assert sliding.step(actions, out=out)[0] is out
            assert out.tobytes() == fresh.step(actions)[0].tobytes()
        elif k % 17 == 8:
            mask = rng.random(lanes) < 0.5
            mask[0] = True
            after = sliding.reset(options={"reset_mask": mask})[0]
            assert after.tobytes() == fresh.reset(options={"reset_mask": mask})[0].tobytes()
        else:
            after = sliding.step(actions)[0]
            assert after.tobytes() == fresh.step(actions)[0].tobytes()
        assert before.tobytes() == kept, "what a step returned holds until the step after the next"


def test_who_writes_into_what_is_seen_again_is_refused() -> None:
    env, _ = pair(3, 4)
    observation, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="read-only"):
        observation -= 1.0
    with pytest.raises(ValueError, match="read-only"):
        env.step(np.zeros((3, 4)))[0][:] = 0.0


def test_a_wrapper_that_writes_into_what_is_seen_needs_new_arrays() -> None:
    sliding, fresh = pair(3, 4)
    with pytest.raises(ValueError, match="read-only"):
        FlattenObservation(sliding).reset(seed=0)
    assert FlattenObservation(fresh).reset(seed=0)[0].shape == fresh.observation_space.shape


def test_rows_begin_where_lines_of_the_caches_do_and_take_at_most_twice_the_memory() -> None:
    env, fresh = pair(3, 100, lookback=20)
    steps = [env.reset(seed=0)[0], *(env.step(np.zeros((3, 100)))[0] for _ in range(22))]
    assert len({each.ctypes.data for each in steps[:22]}) == 22
    assert steps[22].ctypes.data == steps[0].ctypes.data
    assert steps[0].ctypes.data % 64 == 0
    assert steps[0].strides[0] % 64 == 0
    assert steps[0].strides[0] <= 2 * fresh.reset(seed=0)[0].strides[0]


def test_a_step_that_is_refused_leaves_the_turn_as_it_was() -> None:
    env, fresh = pair(3, 4)
    for each in (env, fresh):
        each.reset(seed=0)
    good, bad = np.full((3, 4), 0.2, np.float32), np.full((3, 4), np.nan, np.float32)
    for k in range(30):
        if k % 3 == 1:
            with pytest.raises(oo.OpenOutcryError):
                env.step(bad)
        assert env.step(good)[0].tobytes() == fresh.step(good)[0].tobytes()


def test_rows_are_of_the_batch_that_they_were_made_for() -> None:
    mine, other = pair(3, 4)[0], pair(3, 4, dataset=oo.Dataset.synthetic(4, 160, 4))[0]
    for each in (mine, other):
        each.reset(seed=0)
    (bound, *_), before = mine._turns[1], other.bars.tolist()
    with pytest.raises(oo.OpenOutcryError, match="those of this batch, where they slide; received those of another"):
        other._core.step(np.zeros((3, 4)), None, bound)
    assert other.bars.tolist() == before


@pytest.mark.parametrize(
    "rows", [np.zeros((3, 5), np.float32), np.zeros((3, 176)), np.zeros((3, 352), np.float32)[:, ::2]]
)
def test_rows_that_do_not_fit_are_refused(rows: np.ndarray) -> None:
    env, _ = pair(3, 4, lookback=20)
    assert env._core.slides[0] == 176
    flags = [np.zeros(3, np.bool_) for _ in range(3)]
    with pytest.raises(oo.OpenOutcryError, match="`rows` must"):
        native.Buffers.sliding(env._core, rows, [np.zeros(3), *flags])
