"""Flat observations with `copy=False`: sliding views that equal the arrays of `copy=True`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers.vector import FlattenObservation

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.vector import OpenOutcryVectorEnv

# Short rows; rows with prefetching; many symbols; rows stored past the caches.
SIZES = [(3, 4), (900, 4), (5, 30), (520, 100)]


def pair(lanes: int, n: int, **options: Any) -> tuple[OpenOutcryVectorEnv, OpenOutcryVectorEnv]:
    arguments: dict[str, Any] = {
        "dataset": oo.Dataset.synthetic(n, 160, 3),
        "window": "random",
        "episode_bars": 9,
        "observation": "flat",
    } | options
    return OpenOutcryVectorEnv(lanes, copy=False, **arguments), OpenOutcryVectorEnv(lanes, **arguments)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lookback", [1, 2, 3, 20, 45])
@pytest.mark.parametrize(("lanes", "n"), SIZES)
def test_sliding_views_equal_new_arrays(lanes: int, n: int, lookback: int, threads: int) -> None:
    # Episodes end in some lanes and not in others, and windows reach back before the first bar.
    sliding, fresh = pair(lanes, n, lookback=lookback, threads=threads, within=(2, 160), max_episode_steps=7)
    rng = np.random.default_rng(lookback)
    assert sliding.reset(seed=1)[0].tobytes() == fresh.reset(seed=1)[0].tobytes()
    before = after = sliding.step(np.zeros((lanes, n), np.float32))[0]
    fresh.step(np.zeros((lanes, n), np.float32))
    for k in range(60):
        actions = rng.dirichlet(np.ones(n + 1), lanes)[:, :n].astype(np.float32)
        saved, before = after.tobytes(), after
        if k % 11 == 5:
            # A step into `out` must not advance the buffer rotation.
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
        assert before.tobytes() == saved, "a result must stay valid until the step after the next"


def test_sliding_views_are_read_only() -> None:
    env, _ = pair(3, 4)
    observation, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="read-only"):
        observation -= 1.0
    with pytest.raises(ValueError, match="read-only"):
        env.step(np.zeros((3, 4)))[0][:] = 0.0


def test_a_wrapper_that_writes_into_observations_needs_copies() -> None:
    sliding, fresh = pair(3, 4)
    with pytest.raises(ValueError, match="read-only"):
        FlattenObservation(sliding).reset(seed=0)
    assert FlattenObservation(fresh).reset(seed=0)[0].shape == fresh.observation_space.shape


def test_rows_are_aligned_to_cache_lines_and_take_at_most_twice_the_memory() -> None:
    env, fresh = pair(3, 100, lookback=20)
    steps = [env.reset(seed=0)[0], *(env.step(np.zeros((3, 100)))[0] for _ in range(22))]
    assert len({each.ctypes.data for each in steps[:22]}) == 22
    assert steps[22].ctypes.data == steps[0].ctypes.data
    assert steps[0].ctypes.data % 64 == 0
    assert steps[0].strides[0] % 64 == 0
    assert steps[0].strides[0] <= 2 * fresh.reset(seed=0)[0].strides[0]


def test_a_refused_step_does_not_advance_the_buffer_rotation() -> None:
    env, fresh = pair(3, 4)
    for each in (env, fresh):
        each.reset(seed=0)
    good, bad = np.full((3, 4), 0.2, np.float32), np.full((3, 4), np.nan, np.float32)
    for k in range(30):
        if k % 3 == 1:
            with pytest.raises(oo.OpenOutcryError):
                env.step(bad)
        assert env.step(good)[0].tobytes() == fresh.step(good)[0].tobytes()


def test_buffers_of_another_batch_are_refused() -> None:
    mine, other = pair(3, 4)[0], pair(3, 4, dataset=oo.Dataset.synthetic(4, 160, 4))[0]
    for each in (mine, other):
        each.reset(seed=0)
    (bound, *_), before = mine._rotating, other.bars.tolist()
    with pytest.raises(oo.OpenOutcryError, match="sliding observations of this batch"):
        other._core.step(np.zeros((3, 4)), None, bound)
    assert other.bars.tolist() == before


@pytest.mark.parametrize(
    "rows", [np.zeros((3, 5), np.float32), np.zeros((3, 176)), np.zeros((3, 352), np.float32)[:, ::2]]
)
def test_rows_that_do_not_fit_are_refused(rows: np.ndarray) -> None:
    env, _ = pair(3, 4, lookback=20)
    assert env._core.sliding_layout[0] == 176
    flags = [np.zeros(3, np.bool_) for _ in range(3)]
    with pytest.raises(oo.OpenOutcryError, match="`rows` must"):
        native.Buffers.sliding(env._core, rows, [np.zeros(3), *flags])
