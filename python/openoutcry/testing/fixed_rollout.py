"""Runs of a vector environment over fixed actions, and what a lane must show."""

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

from openoutcry.testing.value_comparison import Array, first, kind, not_array

Vector = VectorEnv[Any, Any, Any]
Scalar = gym.Env[Any, Any]
SEED = 2024


class VectorEnvError(AssertionError):
    """A vector environment does not do what Gymnasium asks of it.

    Attributes:
        check: The name of the check that found it.
    """

    def __init__(self, check: str, message: str) -> None:
        super().__init__(f"{check}: {message}")
        self.check = check


@dataclass(frozen=True)
class Turn:
    """What one call handed out: a step, or a reset of the lanes of `mask`."""

    observation: Any
    infos: Any
    mask: Array
    rewards: Any = None
    terminations: Any = None
    truncations: Any = None

    @property
    def parts(self) -> dict[str, Any]:
        """What was handed out, by name."""
        names = ("observation", "rewards", "terminations", "truncations", "infos")
        return {name: part for name in names if (part := getattr(self, name)) is not None}

    @property
    def is_step(self) -> bool:
        """Whether it was a step."""
        return self.rewards is not None

    @property
    def done(self) -> Array:
        """The lanes whose episode has ended."""
        ended: Array = self.terminations | self.truncations
        return ended


@dataclass
class Subject:
    """A vector environment in one mode, and the `actions[t][lane]` of every run."""

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
        """Return the lanes that slow checks look at: the first, one between, and the last."""
        n = self.env.num_envs
        return sorted({0, n // 2, n - 1})

    def turns(
        self,
        seed: int = SEED,
        actions: Sequence[Sequence[Any]] | None = None,
        before: Callable[[int], None] = lambda t: None,
        env: Vector | None = None,
    ) -> Iterator[Turn]:
        """Yield what a run hands out, without copying it.

        It is a reset, the steps, with resets between them where the mode asks for it, and a bare reset.
        """
        env = self.env if env is None else env
        every = np.ones(env.num_envs, dtype=np.bool_)
        yield Turn(*env.reset(seed=seed), every)
        done = ~every
        for t, lanes in enumerate(self.actions if actions is None else actions):
            if self.mode is AutoresetMode.DISABLED and done.any():
                # A copy: what was handed out must not be what is handed in.
                yield Turn(*env.reset(options={"reset_mask": done.copy()}), done)
            before(t)
            turn = stepped(env.step(self.batch(lanes)), env.num_envs)
            done = turn.done.copy()
            yield turn
        yield Turn(*env.reset(), every)

    def stream(self, lane: int, turns: Iterator[Turn]) -> list[dict[str, Any]]:
        """Return what a run shows one lane."""
        return [self.shown(lane, turn) for turn in turns if turn.mask[lane]]

    def shown(self, lane: int, turn: Turn) -> dict[str, Any]:
        """Return what one call shows one lane, copied."""
        infos = lane_info(turn.infos, lane)
        found: dict[str, Any] = {"observation": deepcopy(self.lanes(turn.observation)[lane])}
        if turn.is_step:
            found["reward"] = float(turn.rewards[lane])
            found["terminated"] = bool(turn.terminations[lane])
            found["truncated"] = bool(turn.truncations[lane])
        found |= {key: deepcopy(infos.pop(key)) for key in ("final_obs", "final_info") if key in infos}
        return found | {"info": deepcopy(infos)}


def stepped(returned: Any, n: int) -> Turn:
    """Return the turn of a step, refusing what no other check could read."""
    if not isinstance(returned, tuple) or len(returned) != 5:
        wanted = "`step` must return (observation, rewards, terminations, truncations, infos)"
        received = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else kind(returned)
        raise VectorEnvError("step", f"{wanted}; received {received}")
    observation, rewards, terminations, truncations, infos = returned
    fault = None
    if not isinstance(rewards, np.ndarray) or not np.issubdtype(rewards.dtype, np.floating) or rewards.shape != (n,):
        fault = f"rewards must be an array of floats ({n},); received {kind(rewards)}"
    elif not isinstance(infos, dict):
        fault = f"infos must be a dict; received {kind(infos)}"
    else:
        flags = (("terminations", terminations), ("truncations", truncations))
        fault = first(not_array(each, np.bool_, (n,), name) for name, each in flags)
    if fault is not None:
        raise VectorEnvError("step", fault)
    return Turn(observation, infos, np.ones(n, dtype=np.bool_), rewards, terminations, truncations)


def refuses(call: Callable[[], Any]) -> bool:
    """Return whether a call raises anything."""
    with suppress(Exception):
        call()
        return False
    return True


def lane_info(infos: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """Return the info of one lane, as a scalar environment gives it."""
    found = {}
    for key, value in infos.items():
        mask = infos.get(f"_{key}")
        if mask is not None and mask[lane]:
            found[key] = lane_info(value, lane) if isinstance(value, Mapping) else value[lane]
    return found


def scalar_stream(env: Scalar, seed: int, actions: Sequence[Any], mode: AutoresetMode) -> Iterator[dict[str, Any]]:
    """Yield what a lane must show in a mode if it is this scalar environment."""
    ended = False
    yield _began(env.reset(seed=seed))
    for action in actions:
        if ended and mode is AutoresetMode.NEXT_STEP:
            ended = False
            # The step that resets: its action does nothing.
            yield _began(env.reset()) | {"reward": 0.0, "terminated": False, "truncated": False}
            continue
        if ended and mode is AutoresetMode.DISABLED:
            yield _began(env.reset())
        observation, reward, terminated, truncated, info = env.step(action)
        found = {"observation": observation, "info": info}
        ended = terminated or truncated
        if ended and mode is AutoresetMode.SAME_STEP:
            final = deepcopy({"final_obs": observation, "final_info": info})
            found = _began(env.reset()) | final
        yield found | {"reward": float(reward), "terminated": bool(terminated), "truncated": bool(truncated)}
    yield _began(env.reset())


def _began(returned: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    return {"observation": returned[0], "info": returned[1]}
