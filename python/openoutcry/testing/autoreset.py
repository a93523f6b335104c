"""What a vector environment must do at the end of an episode, in each mode."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from openoutcry.testing.fixed_rollout import SEED, Subject, Turn, VectorEnvError, refuses, stepped
from openoutcry.testing.value_comparison import Array, difference, kind, misfit, not_array, runs_differ
from openoutcry.testing.vector_env_checks import require


def check_autoreset(subject: Subject) -> None:
    """Check the mode that the metadata name."""
    if not any(turn.is_step and turn.done.any() for turn in subject.turns()):
        message = f"an episode must end within {subject.n_steps} steps to be checked; received none that did"
        raise VectorEnvError("autoreset", f"{message}; hint: a larger `n_steps`, or skip=('autoreset',)")
    checks = {
        AutoresetMode.NEXT_STEP: _next_step,
        AutoresetMode.SAME_STEP: _same_step,
        AutoresetMode.DISABLED: _disabled,
    }
    checks[subject.mode](subject)


def _next_step(subject: Subject) -> None:
    ended = np.zeros(subject.env.num_envs, dtype=np.bool_)
    others, after = [list(lanes) for lanes in subject.actions], []
    steps = (turn for turn in subject.turns() if turn.is_step)
    for t, turn in enumerate(steps):
        for lane in map(int, np.flatnonzero(ended)):
            where = f"[{lane}] of step {t}, which only resets the lane (NEXT_STEP),"
            require("autoreset", difference(0.0, float(turn.rewards[lane]), f"rewards{where}"))
            for name in ("terminations", "truncations"):
                require("autoreset", difference(False, bool(getattr(turn, name)[lane]), f"{name}{where}"))
            others[t][lane] = subject.actions[(t + 1) % subject.n_steps][lane]
            after.append(lane)
        ended = turn.done.copy()
    for lane in sorted(set(after) & set(subject.some_lanes())):
        wanted = subject.stream(lane, subject.turns())
        received = subject.stream(lane, subject.turns(actions=others))
        run = f"lane {lane}, whose actions differ only in steps that reset it (NEXT_STEP)"
        require("autoreset", runs_differ(wanted, received, run))


def _same_step(subject: Subject) -> None:
    n, space = subject.env.num_envs, subject.env.single_observation_space
    went_on, varies = True, False
    start = None
    for t, turn in enumerate(each for each in subject.turns() if each.is_step):
        done, infos = turn.done, turn.infos
        lanes = [deepcopy(lane) for lane in subject.lanes(turn.observation)]
        start = lanes[0] if start is None else start
        varies = varies or difference(start, lanes[0], "") is not None
        for key in ("final_obs", "final_info"):
            mask = infos.get(f"_{key}", None if done.any() else np.zeros(n, dtype=np.bool_))
            name = f"infos['_{key}'] of step {t} (SAME_STEP)"
            require("autoreset", not_array(mask, np.bool_, (n,), name) or difference(done, mask, name))
        for lane in map(int, np.flatnonzero(done)):
            final = _final(infos["final_obs"], lane, n)
            require("autoreset", misfit(space, final, f"infos['final_obs'][{lane}] of step {t}"))
            went_on = went_on and difference(lanes[lane], final, "") is None
    if went_on and varies:
        wanted = "the observation of a step that ends an episode must be the next one's first (SAME_STEP)"
        raise VectorEnvError("autoreset", f"{wanted}; received the one in infos['final_obs']")


def _final(final: Any, lane: int, n: int) -> Any:
    if not isinstance(final, np.ndarray) or final.shape[:1] != (n,):
        raise VectorEnvError("autoreset", f"infos['final_obs'] must be an array of {n}; received {kind(final)}")
    return final[lane]


def _until_done(subject: Subject) -> tuple[Turn, int]:
    """Step a new run until an episode ends; return that turn and its number."""
    subject.env.reset(seed=SEED)
    for t, lanes in enumerate(subject.actions):
        turn = stepped(subject.env.step(subject.batch(lanes)), subject.env.num_envs)
        if turn.done.any():
            return turn, t
    raise VectorEnvError("autoreset", "the same run must end an episode again; received none that did")


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
    require("autoreset", misfit(env.observation_space, observation, "the observation of a reset with a mask"))
    for lane, (old, new) in enumerate(zip(before, subject.lanes(observation), strict=True)):
        if not done[lane]:
            fault = difference(old, new, "observation")
            require("autoreset", fault and f"in lane {lane}, left out by the mask of a reset (DISABLED), {fault}")
