"""What every vector environment must do; a check raises where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from openoutcry.testing.fixed_rollout import SEED, Subject, Turn, VectorEnvError, refuses, scalar_stream
from openoutcry.testing.value_comparison import Array, arrays, difference, first, kind, misfit, not_array, runs_differ

# Turns whose arrays are compared with those of a new one: buffers used in turn are few.
_KEPT = 4


def require(check: str, fault: str | None) -> None:
    """Raise a fault that was found."""
    if fault is not None:
        raise VectorEnvError(check, fault)


def check_attributes(env: Any) -> None:
    """Check what every other check relies on: the class and its attributes."""
    if not isinstance(env, VectorEnv):
        raise VectorEnvError("spaces", f"a gymnasium.vector.VectorEnv is required; received {kind(env)}")
    n = getattr(env, "num_envs", None)
    if type(n) is not int or n < 1:
        raise VectorEnvError("spaces", f"`num_envs` must be an int from 1 on; received {n!r}")
    mode = env.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise VectorEnvError("spaces", f"metadata['autoreset_mode'] must be an AutoresetMode; received {mode!r}")
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        if not isinstance(space := getattr(env, name, None), spaces.Space):
            raise VectorEnvError("spaces", f"`{name}` must be a space; received {kind(space)}")


def check_spaces(subject: Subject) -> None:
    """Check that each batched space is the batch of the single one."""
    env = subject.env
    for name in ("observation_space", "action_space"):
        wanted, received = batch_space(getattr(env, f"single_{name}"), env.num_envs), getattr(env, name)
        if wanted != received:
            message = f"`{name}` must be batch_space(single_{name}, {env.num_envs}), {wanted}"
            raise VectorEnvError("spaces", f"{message}; received {received}")


def check_reset(subject: Subject) -> None:
    """Check what `reset` returns."""
    for seed in (SEED, None):
        returned = subject.env.reset(seed=seed)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise VectorEnvError("reset", f"`reset` must return (observation, infos); received {kind(returned)}")
        require("reset", _outside(subject, returned[0], f"the observation of reset(seed={seed})"))
        require("reset", None if isinstance(returned[1], dict) else f"infos must be a dict; received {returned[1]!r}")


def check_step(subject: Subject) -> None:
    """Check that steps return numbers in bounds; `stepped` has seen to the rest."""
    for t, turn in enumerate(each for each in subject.turns() if each.is_step):
        require("step", _outside(subject, turn.observation, f"the observation of step {t}"))
        if not np.isfinite(turn.rewards).all():
            raise VectorEnvError("step", f"the rewards of step {t} must be finite; received {turn.rewards}")


def _outside(subject: Subject, observation: Any, name: str) -> str | None:
    env = subject.env
    fault = misfit(env.observation_space, observation, name)
    if fault is not None:
        return fault
    lanes = enumerate(subject.lanes(observation))
    return first(misfit(env.single_observation_space, lane, f"lane {i} of {name}") for i, lane in lanes)


def check_infos(subject: Subject) -> None:
    """Check that infos are arrays of a row per lane, each beside its mask."""
    for turn in subject.turns():
        require("infos", _layout(turn.infos, subject.env.num_envs, "infos"))


def _layout(infos: Mapping[str, Any], n: int, name: str) -> str | None:
    for key, value in infos.items():
        if f"_{key}" not in infos:
            if key.startswith("_") and key[1:] in infos:
                fault = not_array(value, np.bool_, (n,), f"the mask {name}[{key!r}]")
            else:
                fault = f"{name}[{key!r}] must have a mask of lanes beside it, {name}['_{key}']; received none"
        elif isinstance(value, Mapping):
            fault = _layout(value, n, f"{name}[{key!r}]")
        elif isinstance(value, np.ndarray) and value.shape[:1] == (n,):
            fault = None
        else:
            fault = f"{name}[{key!r}] must be a dict or an array of {n} rows, one per lane; received {kind(value)}"
        if fault is not None:
            return fault
    return None


def check_seeding(subject: Subject) -> None:
    """Check that one seed gives one run, again and in another instance."""
    wanted = [deepcopy(turn.parts) for turn in subject.turns()]
    again = (turn.parts for turn in subject.turns())
    require("seeding", runs_differ(wanted, again, "a second run of the same seed and actions"))
    if subject.make is not None:
        other = subject.make()
        try:
            elsewhere = (turn.parts for turn in subject.turns(env=other))
            require("seeding", runs_differ(wanted, elsewhere, "the same run in another instance"))
        finally:
            other.close()


def check_lane_seeds(subject: Subject) -> None:
    """Check that lane i of `reset(seed=s)` is lane 0 of `reset(seed=s + i)`."""
    for lane in subject.some_lanes()[1:]:
        wanted = subject.stream(lane, subject.turns())
        turned = [[*lanes[lane:], *lanes[:lane]] for lanes in subject.actions]
        received = subject.stream(0, subject.turns(SEED + lane, turned))
        run = f"lane 0 of reset(seed={SEED + lane}), which is lane {lane} of reset(seed={SEED})"
        require("lane_seeds", runs_differ(wanted, received, run))


def check_copies(subject: Subject) -> None:
    """Check that what was handed out never changes and is not read back."""
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for t, turn in enumerate(subject.turns()):
        parts = turn.parts
        for age, (old, before) in enumerate(reversed(kept), 1):
            held = dict(_arrays(old))
            for name, array in _arrays(parts):
                if name in held and np.shares_memory(array, held[name]):
                    message = f"{name} of call {t} must be memory of its own; received that of call {t - age}"
                    raise VectorEnvError("copies", f"{message}; hint: `copy=True`")
            fault = first(difference(before[part], old[part], part) for part in before)
            require("copies", fault and f"in what call {t - age} handed out, once call {t} had returned, {fault}")
        kept = [*kept[1 - _KEPT :], (parts, deepcopy(parts))]
    for lane in subject.some_lanes():
        wanted = subject.stream(lane, subject.turns())
        received = subject.stream(lane, _scribbled(subject))
        run = f"lane {lane}, in a run whose old observations are written to"
        require("copies", runs_differ(wanted, received, run))


def _arrays(parts: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    return (found for name, part in parts.items() for found in arrays(part, name))


def _scribbled(subject: Subject) -> Iterator[Turn]:
    for turn in subject.turns():
        yield turn
        for _, array in arrays({"observation": turn.observation, "rewards": turn.rewards}, ""):
            if array.flags.writeable and array.dtype != object:
                array.fill(1)


def check_wrong_actions(subject: Subject) -> None:
    """Check that actions of a wrong shape, or that are no numbers, are refused."""
    for what, wrong in _wrong_actions(subject):
        subject.env.reset(seed=SEED)
        before = deepcopy(wrong)
        if not refuses(partial(subject.env.step, wrong)):
            raise VectorEnvError("wrong_actions", f"`step` must refuse {what}; received a step")
        require("wrong_actions", difference(before, wrong, f"{what}, once refused,"))


def _wrong_actions(subject: Subject) -> Iterator[tuple[str, Any]]:
    lanes, space, n = subject.actions[0], subject.env.single_action_space, subject.env.num_envs
    yield f"actions of {n + 1} lanes where there are {n}", subject.batch([*lanes, lanes[0]])
    if n > 1:
        yield f"actions of {n - 1} lanes where there are {n}", subject.batch(lanes[:-1])
    if isinstance(space, spaces.Box):
        right = np.asarray(subject.batch(lanes))
        yield "actions of one more axis", right[..., None]
        if np.issubdtype(right.dtype, np.floating):
            yield "actions that are not numbers", np.full_like(right, np.nan)


def check_unmoved(subject: Subject) -> None:
    """Check that refused actions move no lane, and that no step writes to any."""
    wrong = [actions for _, actions in _wrong_actions(subject)]

    def refused(t: int) -> None:
        for actions in wrong if t == 2 else ():
            refuses(partial(subject.env.step, actions))

    for lane in subject.some_lanes():
        wanted = subject.stream(lane, subject.turns())
        received = subject.stream(lane, subject.turns(before=refused))
        require("unmoved", runs_differ(wanted, received, f"lane {lane}, in a run with actions that are refused"))
    subject.env.reset(seed=SEED)
    actions = subject.batch(subject.actions[0])
    before = deepcopy(actions)
    subject.env.step(actions)
    require("unmoved", difference(before, actions, "the actions after the step"))


def check_scalar(subject: Subject) -> None:
    """Check that lanes are scalar environments; infos where both have the key."""
    if subject.scalar is None:
        return
    for lane in subject.some_lanes():
        env = subject.scalar(lane)
        actions = [lanes[lane] for lanes in subject.actions]
        wanted = [deepcopy(each) for each in scalar_stream(env, SEED + lane, actions, subject.mode)]
        env.close()
        received = subject.stream(lane, subject.turns())
        for a, b in zip(wanted, received, strict=False):
            for key in {"info", "final_info"} & a.keys() & b.keys():
                common = a[key].keys() & b[key].keys()
                a[key], b[key] = ({name: each[key][name] for name in sorted(common)} for each in (a, b))
        run = f"lane {lane}, which is the scalar environment of seed {SEED + lane}"
        require("scalar", runs_differ(wanted, received, run))
