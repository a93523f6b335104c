"""A vector environment for Stable-Baselines3, which takes none of Gymnasium's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from openoutcry.errors import refusal

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("openoutcry.sb3 needs `pip install openoutcry[train]`", name=error.name) from error


class OpenOutcryVecEnv(VecEnv):  # type: ignore[misc]
    """A `VecEnv` of Stable-Baselines3 over `OpenOutcryVectorEnv`.

    `infos` are empty for lanes whose episode goes on. For one that ended they hold what the batch's `final_info` does,
    `terminal_observation`, and `TimeLimit.truncated`: whether the end was the window's and no ruin.

    `seed(s)` gives lane i the seed `s + i` at the next `reset`. The lanes are one object: an attribute is read and
    written for all of them, and a method is called once, its result standing for each lane asked for.

    Args:
        env: A vector environment with `autoreset_mode=AutoresetMode.SAME_STEP`. `copy=False` is safe, since
            Stable-Baselines3 copies what it keeps; torch then warns of flat observations, which are read-only.

    Raises:
        OpenOutcryError: the environment resets in another mode.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise refusal(
                "argument_invalid", f"`env` must have autoreset_mode=AutoresetMode.SAME_STEP; received {mode}"
            )
        self.env = env
        self._actions: npt.NDArray[Any] | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Begin the next episode of every lane, or the first ones of a seed."""
        if any(self._options):
            raise refusal("argument_invalid", f"options must be none, for lanes have none; received {self._options}")
        observation, infos = self.env.reset(seed=self._seeds[0])
        self.reset_infos = [_of_lane(infos, lane) for lane in range(self.num_envs)]
        self._reset_seeds()
        return observation

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = np.ascontiguousarray(actions)

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Take the step."""
        observation, rewards, terminations, truncations, infos = self.env.step(self._actions)
        dones = terminations | truncations
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for lane in map(int, np.flatnonzero(dones)):
            each[lane] = _of_lane(infos["final_info"], lane)
            each[lane]["terminal_observation"] = infos["final_obs"][lane]
            each[lane]["TimeLimit.truncated"] = bool(truncations[lane] and not terminations[lane])
        return observation, rewards.astype(np.float32), dones, each

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment, once for each lane asked for."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which all lanes share.

        Raises:
            OpenOutcryError: only some of the lanes are asked for.
        """
        if (lanes := sorted(self._get_indices(indices))) != list(range(self.num_envs)):
            raise refusal("argument_invalid", f"`indices` must be all lanes, which share {attr_name}; received {lanes}")
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environment once; return its result for each lane."""
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [result] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each lane asked for: a lane has no wrapper of its own."""
        return [False] * len(list(self._get_indices(indices)))


def _of_lane(infos: dict[str, Any], lane: int) -> dict[str, Any]:
    """Return what infos say of a lane."""
    return {key: infos[key][lane] for key in infos if f"_{key}" in infos and infos[f"_{key}"][lane]}


__all__ = ["OpenOutcryVecEnv"]
