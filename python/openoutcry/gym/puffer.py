"""Adapter of the vector environment to PufferLib."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from openoutcry.gym.vector import OpenOutcryVectorEnv

try:
    from pufferlib import PufferEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("openoutcry.puffer needs `pip install openoutcry[puffer]`", name=error.name) from error


class OpenOutcryPufferEnv(PufferEnv):  # type: ignore[misc]
    """A native `PufferEnv` over `OpenOutcryVectorEnv`.

    Flat observations are written directly into the buffers of PufferLib.

    A step that ends an episode returns the first observation of the next one. `infos` hold the mean final `nav` of the
    episodes that ended in the step, and are empty if none did.

    `reset(seed=s)` gives sub-environment i the seed `s * num_envs + i`: PufferLib counts one seed per environment, and
    no two environments have the same episodes.

    Args:
        num_envs: Number of sub-environments, the agents of PufferLib.
        buf: Buffers of PufferLib; None to allocate them.
        seed: Seed of a `reset` without one.
        **options: Arguments of `OpenOutcryVectorEnv`; the market is `dataset`.
    """

    def __init__(self, num_envs: int = 1, buf: Any = None, seed: int = 0, **options: Any) -> None:
        mode = AutoresetMode.SAME_STEP
        self.env = OpenOutcryVectorEnv(num_envs, observation="flat", autoreset_mode=mode, copy=False, **options)
        self.single_observation_space = self.env.single_observation_space
        self.single_action_space = self.env.single_action_space
        self.num_agents = num_envs
        self._seed = seed
        super().__init__(buf)

    def reset(self, seed: int | None = None) -> tuple[npt.NDArray[np.float32], list[dict[str, float]]]:
        """Start the first episodes of a seed."""
        first = (self._seed if seed is None else seed) * self.num_agents
        self.observations[:], _ = self.env.reset(seed=first)
        self.rewards[:] = 0.0
        self.terminals[:] = self.truncations[:] = False
        return self.observations, []

    def step(self, actions: npt.NDArray[Any]) -> tuple[Any, Any, Any, Any, list[dict[str, float]]]:
        """Trade to target weights, advance one bar and write the results to the buffers."""
        weights = np.ascontiguousarray(actions)
        _, self.rewards[:], self.terminals[:], self.truncations[:], infos = self.env.step(
            weights, out=self.observations
        )
        logs = []
        if "final_info" in infos:
            final = infos["final_info"]
            logs = [{"nav": float(final["nav"][final["_nav"]].mean())}]
        return self.observations, self.rewards, self.terminals, self.truncations, logs

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


__all__ = ["OpenOutcryPufferEnv"]
