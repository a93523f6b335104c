"""Rollouts over fixed actions, and the expected results of a lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from openoutcry.testing.value_comparison import Array, array_mismatch, first_fault, type_name

Vector = VectorEnv[Any, Any, Any]
Scalar = gym.Env[Any, Any]
SEED = 2024


class VectorEnvError(AssertionError):
    """Raised if a vector environment violates a Gymnasium convention.

    Attributes:
        check: Name of the check that failed.
    """

    def __init__(self, check: str, message: str) -> None:
        super().__init__(f"{check}: {message}")
        self.check = check


@dataclass(frozen=True)
class CallResult:
    """Result of one call: a step, or a reset of the lanes of `mask`."""

    observation: Any
    infos: Any
    mask: Array
    rewards: Any = None
    terminations: Any = None
    truncations: Any = None

    @property
    def parts(self) -> dict[str, Any]:
        """Returned values by name."""
        names = ("observation", "rewards", "terminations", "truncations", "infos")
        return {name: part for name in names if (part := getattr(self, name)) is not None}

    @property
    def is_step(self) -> bool:
        """Whether the call was a step."""
        return self.rewards is not None

    @property
    def done(self) -> Array:
        """Lanes whose episode has ended."""
        ended: Array = self.terminations | self.truncations
        return ended


@dataclass
class Subject:
    """A vector environment under test, and the `actions[t][lane]` of every rollout."""

    env: Vector
    n_steps: int
    make: Callable[[], Vector] | None = None
    scalar: Callable[[int], Scalar] | None = None
    actions: list[list[Any]] = field(init=False)
    mode: AutoresetMode = field(init=False)

    def __post_init__(self) -> None:
        space = deepcopy(self.env.single_action_space)
        space.seed(SEED)
        lanes = range(self.env.num_envs)
        self.actions = [[space.sample() for _ in lanes] for _ in range(self.n_steps)]
        self.mode = self.env.metadata["autoreset_mode"]

    def batch(self, lanes: Sequence[Any]) -> Any:
        """Return the actions of lanes as one batch."""
        space = self.env.single_action_space
        empty: Any = create_empty_array(space, n=len(lanes))
        return concatenate(space, lanes, empty)

    def lanes(self, observation: Any) -> list[Any]:
        """Return the observation of each lane."""
        return list(iterate(self.env.observation_space, observation))

    def some_lanes(self) -> list[int]:
        """Return the lanes of slow checks: the first, a middle and the last one."""
        n = self.env.num_envs
        return sorted({0, n // 2, n - 1})

    def rollout(
        self,
        seed: int = SEED,
        actions: Sequence[Sequence[Any]] | None = None,
        before: Callable[[int], None] = lambda t: None,
        env: Vector | None = None,
    ) -> Iterator[CallResult]:
        """Yield the results of a rollout, without copies.

        A rollout is a reset, the steps, resets in between if the mode needs them, and a reset without a seed.
        """
        env = self.env if env is None else env
        all_lanes = np.ones(env.num_envs, dtype=np.bool_)
        yield CallResult(*env.reset(seed=seed), all_lanes)
        done = ~all_lanes
        for t, lanes in enumerate(self.actions if actions is None else actions):
            if self.mode is AutoresetMode.DISABLED and done.any():
                # A copy: a returned array must not be passed as an argument.
                yield CallResult(*env.reset(options={"reset_mask": done.copy()}), done)
            before(t)
            result = parse_step(env.step(self.batch(lanes)), env.num_envs)
            done = result.done.copy()
            yield result
        yield CallResult(*env.reset(), all_lanes)

    def lane_results(self, lane: int, results: Iterator[CallResult]) -> list[dict[str, Any]]:
        """Return the results of a rollout for one lane."""
        return [self.shown(lane, result) for result in results if result.mask[lane]]

    def shown(self, lane: int, result: CallResult) -> dict[str, Any]:
        """Return a copy of the result of one call for one lane."""
        infos = lane_info(result.infos, lane)
        values: dict[str, Any] = {"observation": deepcopy(self.lanes(result.observation)[lane])}
        if result.is_step:
            values["reward"] = float(result.rewards[lane])
            values["terminated"] = bool(result.terminations[lane])
            values["truncated"] = bool(result.truncations[lane])
        values |= {key: deepcopy(infos.pop(key)) for key in ("final_obs", "final_info") if key in infos}
        return values | {"info": deepcopy(infos)}


def parse_step(returned: Any, n: int) -> CallResult:
    """Return the result of a step after checking its structure."""
    if not isinstance(returned, tuple) or len(returned) != 5:
        wanted = "`step` must return (observation, rewards, terminations, truncations, infos)"
        received = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else type_name(returned)
        raise VectorEnvError("step", f"{wanted}; received {received}")
    observation, rewards, terminations, truncations, infos = returned
    fault = None
    if not isinstance(rewards, np.ndarray) or not np.issubdtype(rewards.dtype, np.floating) or rewards.shape != (n,):
        fault = f"rewards must be an array of floats ({n},); received {type_name(rewards)}"
    elif not isinstance(infos, dict):
        fault = f"infos must be a dict; received {type_name(infos)}"
    else:
        flags = (("terminations", terminations), ("truncations", truncations))
        fault = first_fault(array_mismatch(each, np.bool_, (n,), name) for name, each in flags)
    if fault is not None:
        raise VectorEnvError("step", fault)
    return CallResult(observation, infos, np.ones(n, dtype=np.bool_), rewards, terminations, truncations)


def refuses(call: Callable[[], Any]) -> bool:
    """Return whether a call raises anything."""
    with suppress(Exception):
        call()
        return False
    return True


def lane_info(infos: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """Return the info of one lane, in the form of a scalar environment."""
    values = {}
    for key, value in infos.items():
        mask = infos.get(f"_{key}")
        if mask is not None and mask[lane]:
            values[key] = lane_info(value, lane) if isinstance(value, Mapping) else value[lane]
    return values


def scalar_results(env: Scalar, seed: int, actions: Sequence[Any], mode: AutoresetMode) -> Iterator[dict[str, Any]]:
    """Yield the results of a lane in a mode if it equals this scalar environment."""
    ended = False
    yield _reset_result(env.reset(seed=seed))
    for action in actions:
        if ended and mode is AutoresetMode.NEXT_STEP:
            ended = False
            # This step only resets; its action is ignored.
            yield _reset_result(env.reset()) | {"reward": 0.0, "terminated": False, "truncated": False}
            continue
        if ended and mode is AutoresetMode.DISABLED:
            yield _reset_result(env.reset())
        observation, reward, terminated, truncated, info = env.step(action)
        values = {"observation": observation, "info": info}
        ended = terminated or truncated
        if ended and mode is AutoresetMode.SAME_STEP:
            final = deepcopy({"final_obs": observation, "final_info": info})
            values = _reset_result(env.reset()) | final
        yield values | {"reward": float(reward), "terminated": bool(terminated), "truncated": bool(truncated)}
    yield _reset_result(env.reset())


def _reset_result(returned: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    return {"observation": returned[0], "info": returned[1]}
