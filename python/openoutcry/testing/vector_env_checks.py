"""Checks of `check_vector_env` that hold in every autoreset mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from openoutcry.testing.fixed_rollout import SEED, CallResult, Subject, VectorEnvError, refuses, scalar_results
from openoutcry.testing.value_comparison import (
    Array,
    array_mismatch,
    arrays,
    difference,
    first_fault,
    runs_difference,
    space_mismatch,
    type_name,
)

# Number of earlier results compared with a new one; buffers that rotate are few.
_RECENT = 4


def require(check: str, fault: str | None) -> None:
    """Raise `VectorEnvError` if there is a fault."""
    if fault is not None:
        raise VectorEnvError(check, fault)


def check_attributes(env: Any) -> None:
    """Check the class and the attributes that every other check needs."""
    if not isinstance(env, VectorEnv):
        raise VectorEnvError("spaces", f"a gymnasium.vector.VectorEnv is required; received {type_name(env)}")
    n = getattr(env, "num_envs", None)
    if type(n) is not int or n < 1:
        raise VectorEnvError("spaces", f"`num_envs` must be an int of at least 1; received {n!r}")
    mode = env.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise VectorEnvError("spaces", f"metadata['autoreset_mode'] must be an AutoresetMode; received {mode!r}")
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        if not isinstance(space := getattr(env, name, None), spaces.Space):
            raise VectorEnvError("spaces", f"`{name}` must be a space; received {type_name(space)}")


def check_spaces(subject: Subject) -> None:
    """Check that each batched space is the batch of its single space."""
    env = subject.env
    for name in ("observation_space", "action_space"):
        wanted, received = batch_space(getattr(env, f"single_{name}"), env.num_envs), getattr(env, name)
        if wanted != received:
            message = f"`{name}` must be batch_space(single_{name}, {env.num_envs}), {wanted}"
            raise VectorEnvError("spaces", f"{message}; received {received}")


def check_reset(subject: Subject) -> None:
    """Check the results of `reset`."""
    for seed in (SEED, None):
        returned = subject.env.reset(seed=seed)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise VectorEnvError("reset", f"`reset` must return (observation, infos); received {type_name(returned)}")
        require("reset", _outside(subject, returned[0], f"the observation of reset(seed={seed})"))
        require("reset", None if isinstance(returned[1], dict) else f"infos must be a dict; received {returned[1]!r}")


def check_step(subject: Subject) -> None:
    """Check that steps return finite numbers within their spaces.

    `parse_step` checks the structure.
    """
    for t, result in enumerate(each for each in subject.rollout() if each.is_step):
        require("step", _outside(subject, result.observation, f"the observation of step {t}"))
        if not np.isfinite(result.rewards).all():
            raise VectorEnvError("step", f"the rewards of step {t} must be finite; received {result.rewards}")


def _outside(subject: Subject, observation: Any, name: str) -> str | None:
    env = subject.env
    fault = space_mismatch(env.observation_space, observation, name)
    if fault is not None:
        return fault
    lanes = enumerate(subject.lanes(observation))
    return first_fault(space_mismatch(env.single_observation_space, lane, f"lane {i} of {name}") for i, lane in lanes)


def check_infos(subject: Subject) -> None:
    """Check that infos are arrays with one row per lane, and have masks."""
    for result in subject.rollout():
        require("infos", _layout(result.infos, subject.env.num_envs, "infos"))


def _layout(infos: Mapping[str, Any], n: int, name: str) -> str | None:
    for key, value in infos.items():
        if f"_{key}" not in infos:
            if key.startswith("_") and key[1:] in infos:
                fault = array_mismatch(value, np.bool_, (n,), f"the mask {name}[{key!r}]")
            else:
                fault = f"{name}[{key!r}] must have a mask of lanes, {name}['_{key}']; received none"
        elif isinstance(value, Mapping):
            fault = _layout(value, n, f"{name}[{key!r}]")
        elif isinstance(value, np.ndarray) and value.shape[:1] == (n,):
            fault = None
        else:
            fault = f"{name}[{key!r}] must be a dict or an array of {n} rows, one per lane; received {type_name(value)}"
        if fault is not None:
            return fault
    return None


def check_seeding(subject: Subject) -> None:
    """Check that a seed fixes the results, also in another instance."""
    wanted = [deepcopy(result.parts) for result in subject.rollout()]
    again = (result.parts for result in subject.rollout())
    require("seeding", runs_difference(wanted, again, "a second rollout of the same seed and actions"))
    if subject.make is not None:
        other = subject.make()
        try:
            elsewhere = (result.parts for result in subject.rollout(env=other))
            require("seeding", runs_difference(wanted, elsewhere, "the same rollout in another instance"))
        finally:
            other.close()


def check_lane_seeds(subject: Subject) -> None:
    """Check that lane i of `reset(seed=s)` equals lane 0 of `reset(seed=s + i)`."""
    for lane in subject.some_lanes()[1:]:
        wanted = subject.lane_results(lane, subject.rollout())
        turned = [[*lanes[lane:], *lanes[:lane]] for lanes in subject.actions]
        received = subject.lane_results(0, subject.rollout(SEED + lane, turned))
        run = f"lane 0 of reset(seed={SEED + lane}), which is lane {lane} of reset(seed={SEED})"
        require("lane_seeds", runs_difference(wanted, received, run))


def check_copies(subject: Subject) -> None:
    """Check that returned arrays never change and are not read back."""
    recent: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for t, result in enumerate(subject.rollout()):
        parts = result.parts
        for age, (old, before) in enumerate(reversed(recent), 1):
            old_arrays = dict(_arrays(old))
            for name, array in _arrays(parts):
                if name in old_arrays and np.shares_memory(array, old_arrays[name]):
                    message = f"{name} of call {t} must have its own memory; received that of call {t - age}"
                    raise VectorEnvError("copies", f"{message}; hint: `copy=True`")
            fault = first_fault(difference(before[part], old[part], part) for part in before)
            require("copies", fault and f"in the results of call {t - age}, after call {t}, {fault}")
        recent = [*recent[1 - _RECENT :], (parts, deepcopy(parts))]
    for lane in subject.some_lanes():
        wanted = subject.lane_results(lane, subject.rollout())
        received = subject.lane_results(lane, _overwritten_rollout(subject))
        run = f"lane {lane}, in a rollout whose old observations are overwritten"
        require("copies", runs_difference(wanted, received, run))


def _arrays(parts: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    return (found for name, part in parts.items() for found in arrays(part, name))


def _overwritten_rollout(subject: Subject) -> Iterator[CallResult]:
    for result in subject.rollout():
        yield result
        for _, array in arrays({"observation": result.observation, "rewards": result.rewards}, ""):
            if array.flags.writeable and array.dtype != object:
                array.fill(1)


def check_wrong_actions(subject: Subject) -> None:
    """Check that `step` raises for actions of a wrong shape and for NaN."""
    for what, wrong in _wrong_actions(subject):
        subject.env.reset(seed=SEED)
        before = deepcopy(wrong)
        if not refuses(partial(subject.env.step, wrong)):
            raise VectorEnvError("wrong_actions", f"`step` must refuse {what}; received a step")
        require("wrong_actions", difference(before, wrong, f"{what}, after the error,"))


def _wrong_actions(subject: Subject) -> Iterator[tuple[str, Any]]:
    lanes, space, n = subject.actions[0], subject.env.single_action_space, subject.env.num_envs
    yield f"actions of {n + 1} lanes instead of {n}", subject.batch([*lanes, lanes[0]])
    if n > 1:
        yield f"actions of {n - 1} lanes instead of {n}", subject.batch(lanes[:-1])
    if isinstance(space, spaces.Box):
        right = np.asarray(subject.batch(lanes))
        yield "actions of one more axis", right[..., None]
        if np.issubdtype(right.dtype, np.floating):
            yield "actions that are not numbers", np.full_like(right, np.nan)


def check_unmoved(subject: Subject) -> None:
    """Check that invalid actions change no lane, and steps do not write to actions."""
    wrong = [actions for _, actions in _wrong_actions(subject)]

    def refused(t: int) -> None:
        for actions in wrong if t == 2 else ():
            refuses(partial(subject.env.step, actions))

    for lane in subject.some_lanes():
        wanted = subject.lane_results(lane, subject.rollout())
        received = subject.lane_results(lane, subject.rollout(before=refused))
        require("unmoved", runs_difference(wanted, received, f"lane {lane}, in a rollout with invalid actions"))
    subject.env.reset(seed=SEED)
    actions = subject.batch(subject.actions[0])
    before = deepcopy(actions)
    subject.env.step(actions)
    require("unmoved", difference(before, actions, "the actions after the step"))


def check_scalar(subject: Subject) -> None:
    """Check that lanes equal scalar environments; compare infos on common keys."""
    if subject.scalar is None:
        return
    for lane in subject.some_lanes():
        env = subject.scalar(lane)
        actions = [lanes[lane] for lanes in subject.actions]
        wanted = [deepcopy(each) for each in scalar_results(env, SEED + lane, actions, subject.mode)]
        env.close()
        received = subject.lane_results(lane, subject.rollout())
        for a, b in zip(wanted, received, strict=False):
            for key in {"info", "final_info"} & a.keys() & b.keys():
                common = a[key].keys() & b[key].keys()
                a[key], b[key] = ({name: each[key][name] for name in sorted(common)} for each in (a, b))
        run = f"lane {lane}, compared with the scalar environment of seed {SEED + lane}"
        require("scalar", runs_difference(wanted, received, run))
