"""Checks of each autoreset mode: behaviour at the end of an episode."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from openoutcry.testing.fixed_rollout import SEED, CallResult, Subject, VectorEnvError, parse_step, refuses
from openoutcry.testing.value_comparison import (
    Array,
    array_mismatch,
    difference,
    runs_difference,
    space_mismatch,
    type_name,
)
from openoutcry.testing.vector_env_checks import require


def check_autoreset(subject: Subject) -> None:
    """Check the autoreset mode of the metadata."""
    if not any(result.is_step and result.done.any() for result in subject.rollout()):
        message = f"an episode must end within {subject.n_steps} steps to be checked; received none"
        raise VectorEnvError("autoreset", f"{message}; hint: pass a larger `n_steps`, or skip=('autoreset',)")
    checks = {
        AutoresetMode.NEXT_STEP: _next_step,
        AutoresetMode.SAME_STEP: _same_step,
        AutoresetMode.DISABLED: _disabled,
    }
    checks[subject.mode](subject)


def _next_step(subject: Subject) -> None:
    ended = np.zeros(subject.env.num_envs, dtype=np.bool_)
    others, after = [list(lanes) for lanes in subject.actions], []
    steps = (result for result in subject.rollout() if result.is_step)
    for t, result in enumerate(steps):
        for lane in map(int, np.flatnonzero(ended)):
            where = f"[{lane}] of step {t}, which only resets the lane (NEXT_STEP),"
            require("autoreset", difference(0.0, float(result.rewards[lane]), f"rewards{where}"))
            for name in ("terminations", "truncations"):
                require("autoreset", difference(False, bool(getattr(result, name)[lane]), f"{name}{where}"))
            others[t][lane] = subject.actions[(t + 1) % subject.n_steps][lane]
            after.append(lane)
        ended = result.done.copy()
    for lane in sorted(set(after) & set(subject.some_lanes())):
        wanted = subject.lane_results(lane, subject.rollout())
        received = subject.lane_results(lane, subject.rollout(actions=others))
        run = f"lane {lane}, whose actions differ only in steps that reset it (NEXT_STEP)"
        require("autoreset", runs_difference(wanted, received, run))


def _same_step(subject: Subject) -> None:
    n, space = subject.env.num_envs, subject.env.single_observation_space
    is_unchanged, varies = True, False
    start = None
    for t, result in enumerate(each for each in subject.rollout() if each.is_step):
        done, infos = result.done, result.infos
        lanes = [deepcopy(lane) for lane in subject.lanes(result.observation)]
        start = lanes[0] if start is None else start
        varies = varies or difference(start, lanes[0], "") is not None
        for key in ("final_obs", "final_info"):
            mask = infos.get(f"_{key}", None if done.any() else np.zeros(n, dtype=np.bool_))
            name = f"infos['_{key}'] of step {t} (SAME_STEP)"
            require("autoreset", array_mismatch(mask, np.bool_, (n,), name) or difference(done, mask, name))
        for lane in map(int, np.flatnonzero(done)):
            final = _final(infos["final_obs"], lane, n)
            require("autoreset", space_mismatch(space, final, f"infos['final_obs'][{lane}] of step {t}"))
            is_unchanged = is_unchanged and difference(lanes[lane], final, "") is None
    if is_unchanged and varies:
        wanted = "the observation of a step that ends an episode must be the first of the next episode (SAME_STEP)"
        raise VectorEnvError("autoreset", f"{wanted}; received the one in infos['final_obs']")


def _final(final: Any, lane: int, n: int) -> Any:
    if not isinstance(final, np.ndarray) or final.shape[:1] != (n,):
        raise VectorEnvError("autoreset", f"infos['final_obs'] must be an array of {n}; received {type_name(final)}")
    return final[lane]


def _until_done(subject: Subject) -> tuple[CallResult, int]:
    """Step a new rollout until an episode ends; return that result and its index."""
    subject.env.reset(seed=SEED)
    for t, lanes in enumerate(subject.actions):
        result = parse_step(subject.env.step(subject.batch(lanes)), subject.env.num_envs)
        if result.done.any():
            return result, t
    raise VectorEnvError("autoreset", "the same rollout must end an episode again; received none")


def _disabled(subject: Subject) -> None:
    env, n = subject.env, subject.env.num_envs
    _, t = _until_done(subject)
    if not refuses(lambda: env.step(subject.batch(subject.actions[t]))):
        message = "`step` must refuse while the episode of a lane is over (DISABLED); received a step"
        raise VectorEnvError("autoreset", message)
    last, _ = _until_done(subject)
    done, before = last.done.copy(), deepcopy(subject.lanes(last.observation))
    wrong: dict[str, Array] = {
        f"of {n + 1} lanes": np.ones(n + 1, dtype=np.bool_),
        "of integers": done.astype(np.int64),
        "of no lane": np.zeros(n, dtype=np.bool_),
    }
    for what, mask in wrong.items():
        if not refuses(partial(env.reset, options={"reset_mask": mask})):
            raise VectorEnvError("autoreset", f"`reset` must refuse a mask {what} (DISABLED); received a reset")
    observation, _ = env.reset(options={"reset_mask": done.copy()})
    require("autoreset", space_mismatch(env.observation_space, observation, "the observation of a reset with a mask"))
    for lane, (old, new) in enumerate(zip(before, subject.lanes(observation), strict=True)):
        if not done[lane]:
            fault = difference(old, new, "observation")
            require("autoreset", fault and f"in lane {lane}, left out by the mask of a reset (DISABLED), {fault}")
