"""Adapter of the vector environment to Stable-Baselines3."""

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

    `infos[i]` is empty unless the episode of sub-environment i ended in the step. It then holds the fields of
    `final_info`, `terminal_observation`, and `TimeLimit.truncated`: whether the window ended, rather than the account.

    `seed(s)` gives sub-environment i the seed `s + i` at the next `reset`. All sub-environments are one object: an
    attribute is shared, and a method is called once, with its result repeated for each requested index. MaskablePPO of
    sb3-contrib reads `action_masks`; the result has one row per index.

    Args:
        env: A vector environment with `autoreset_mode=AutoresetMode.SAME_STEP`. `copy=False` is safe, since
            Stable-Baselines3 copies observations; torch then warns that flat observations are read-only.

    Raises:
        OpenOutcryError: `env` has another autoreset mode.
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
        """Start the next episode of every sub-environment, or the first ones of a seed."""
        if any(self._options):
            raise refusal(
                "argument_invalid", f"options must be empty, as they are not supported; received {self._options}"
            )
        observation, infos = self.env.reset(seed=self._seeds[0])
        self.reset_infos = [_lane_info(infos, lane) for lane in range(self.num_envs)]
        self._reset_seeds()
        return observation

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions for `step_wait`."""
        self._actions = np.ascontiguousarray(actions)

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Step with the stored actions."""
        observation, rewards, terminations, truncations, infos = self.env.step(self._actions)
        dones = terminations | truncations
        lane_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for lane in map(int, np.flatnonzero(dones)):
            lane_infos[lane] = _lane_info(infos["final_info"], lane)
            lane_infos[lane]["terminal_observation"] = infos["final_obs"][lane]
            lane_infos[lane]["TimeLimit.truncated"] = bool(truncations[lane] and not terminations[lane])
        return observation, rewards.astype(np.float32), dones, lane_infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment, repeated for each requested index."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which all sub-environments share.

        Raises:
            OpenOutcryError: `indices` are not all sub-environments.
        """
        if (lanes := sorted(self._get_indices(indices))) != list(range(self.num_envs)):
            raise refusal("argument_invalid", f"`indices` must be all, as {attr_name} is shared; received {lanes}")
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environment once; return its result for each index.

        For `action_masks`, the result of an index is the row of its sub-environment.
        """
        result, lanes = getattr(self.env, method_name)(*method_args, **method_kwargs), list(self._get_indices(indices))
        return [result[lane] for lane in lanes] if method_name == "action_masks" else [result] * len(lanes)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each requested index: sub-environments have no wrappers."""
        return [False] * len(list(self._get_indices(indices)))


def _lane_info(infos: dict[str, Any], lane: int) -> dict[str, Any]:
    """Return the info of one sub-environment."""
    shown = [key for key in infos if f"_{key}" in infos and infos[f"_{key}"][lane]]
    return {key: _lane_info(infos[key], lane) if isinstance(infos[key], dict) else infos[key][lane] for key in shown}


__all__ = ["OpenOutcryVecEnv"]
