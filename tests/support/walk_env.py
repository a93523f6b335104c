"""A small environment, a vector environment that follows every convention, and ones that violate one each."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv


class Walk(gymnasium.Env[dict[str, Any], np.ndarray]):
    """A random walk from a random start; ends far from 0 or after ten steps."""

    observation_space = spaces.Dict(place=spaces.Box(-9, 9, (2,), np.float32), turns=spaces.Discrete(100))
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.turns = self.np_random.normal(size=2).astype(np.float32), 0
        return self.look(), {"far": abs(float(self.place[0]))}

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + action + self.np_random.normal(size=2), -9, 9).astype(np.float32)
        self.turns += 1
        far = abs(float(self.place[0]))
        return self.look(), far, far > 3, self.turns == 10, {"far": far, "where": {"turns": self.turns}}

    def look(self) -> dict[str, Any]:
        return {"place": self.place.copy(), "turns": np.int64(self.turns)}


class Lanes(SyncVectorEnv):
    """`SyncVectorEnv` that also raises for invalid actions and steps of ended lanes before any lane moves."""

    # A class attribute, so that a subclass is one line.
    n_lanes = 3

    def __init__(self, autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP, copy: bool = True) -> None:
        super().__init__([Walk] * self.n_lanes, copy=copy, autoreset_mode=autoreset_mode)

    def step(self, actions: Any) -> Any:
        if not self.action_space.contains(actions):
            raise ValueError("actions must be of the action space")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._autoreset_envs.any():
            raise ValueError("a lane is over")
        return super().step(actions)


class Altered(Lanes):
    """Returns the result of each step, changed by `alter`."""

    def step(self, actions: Any) -> Any:
        return self.alter(*super().step(actions))


class SharedMemory(Lanes):
    def __init__(self, **options: Any) -> None:
        super().__init__(copy=False, **options)


class SharedRewards(Altered):
    def alter(self, observation: Any, rewards: Any, *rest: Any) -> Any:
        self.kept = getattr(self, "kept", rewards)
        self.kept[:] = rewards
        return (observation, self.kept, *rest)


class LateInfo(Altered):
    """Returns the same list in every info, and appends to it later."""

    def reset(self, **options: Any) -> Any:
        self.all = []
        return super().reset(**options)

    def alter(self, *parts: Any) -> Any:
        self.all.append(1)
        parts[4]["turns"] = np.full(self.num_envs, None, object)
        parts[4]["turns"][0] = self.all
        parts[4]["_turns"] = np.arange(self.num_envs) == 0
        return parts


class ReadsBack(Altered):
    last: Any = None

    def step(self, actions: Any) -> Any:
        if self.last is not None:
            for env, place in zip(self.envs, self.last, strict=True):
                env.place = place.copy()
        returned = super().step(actions)
        self.last = returned[0]["place"]
        return returned

    def reset(self, **options: Any) -> Any:
        returned = super().reset(**options)
        self.last = returned[0]["place"]
        return returned

    def alter(self, *parts: Any) -> Any:
        return parts


class WritesActions(Lanes):
    def step(self, actions: Any) -> Any:
        returned = super().step(actions)
        actions *= 0.5
        return returned


class IgnoresSeed(Lanes):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None, options=options)


class OneSeed(Lanes):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else [seed] * self.num_envs, options=options)


class InstanceSeed(Lanes):
    made = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        type(self).made += 1
        self.number = self.made

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else seed + self.number, options=options)


class NoAutoreset(Lanes):
    def step(self, actions: Any) -> Any:
        self._autoreset_envs[:] = False
        return super().step(actions)


class SilentAutoreset(Lanes):
    """Resets and steps at once, with an action that must be ignored."""

    def step(self, actions: Any) -> Any:
        for lane in np.flatnonzero(self._autoreset_envs):
            self.envs[lane].reset()
        self._autoreset_envs[:] = False
        return super().step(actions)


class ActsOnReset(Altered):
    def step(self, actions: Any) -> Any:
        self.before, self.actions = self._autoreset_envs.copy(), actions
        return super().step(actions)

    def alter(self, observation: Any, *rest: Any) -> Any:
        for lane in np.flatnonzero(self.before):
            self.envs[lane].place += self.actions[lane]
            observation["place"][lane] = self.envs[lane].place
        return (observation, *rest)


class GoesOn(Lanes):
    def step(self, actions: Any) -> Any:
        self._autoreset_envs[:] = False
        return super().step(actions)


class ResetsAll(Lanes):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if options and "reset_mask" in options:
            super().reset(options={"reset_mask": options["reset_mask"].copy()})
            return super().reset()
        return super().reset(seed=seed, options=options)


class AnyMask(Lanes):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            options = {"reset_mask": np.resize(mask, self.num_envs).astype(np.bool_)}
        return super().reset(seed=seed, options=options)


class FinalObsIsNew(Altered):
    def alter(self, observation: Any, *rest: Any) -> Any:
        if "final_obs" in rest[-1]:
            for lane in np.flatnonzero(rest[-1]["_final_obs"]):
                rest[-1]["final_obs"][lane] = deepcopy(self._env_obs[lane])
        return (observation, *rest)


class FinalObsIsOld(Altered):
    last: Any = None

    def alter(self, observation: Any, *rest: Any) -> Any:
        if "final_obs" in rest[-1] and self.last is not None:
            for lane in np.flatnonzero(rest[-1]["_final_obs"]):
                rest[-1]["final_obs"][lane] = {key: part[lane].copy() for key, part in self.last.items()}
        self.last = deepcopy(observation)
        return (observation, *rest)

    def reset(self, **options: Any) -> Any:
        returned = super().reset(**options)
        self.last = deepcopy(returned[0])
        return returned


class NoFinalObs(Altered):
    def alter(self, *parts: Any) -> Any:
        parts[4].pop("final_obs", None), parts[4].pop("_final_obs", None)
        return parts


class WrongFinalMask(Altered):
    def alter(self, *parts: Any) -> Any:
        if "_final_info" in parts[4]:
            parts[4]["_final_info"][:] = True
        return parts


class WrongDtype(Altered):
    def alter(self, observation: Any, *rest: Any) -> Any:
        return ({**observation, "place": observation["place"].astype(np.float64)}, *rest)


class WrongShape(Altered):
    def alter(self, observation: Any, *rest: Any) -> Any:
        return ({**observation, "place": observation["place"].T.copy()}, *rest)


class MissingKey(Altered):
    def alter(self, observation: Any, *rest: Any) -> Any:
        return ({"place": observation["place"]}, *rest)


class OutOfBounds(Altered):
    def alter(self, observation: Any, *rest: Any) -> Any:
        observation["place"][1, 0] = 12
        return (observation, *rest)


class ListOfRewards(Altered):
    def alter(self, observation: Any, rewards: Any, *rest: Any) -> Any:
        return (observation, list(rewards), *rest)


class MissingReward(Altered):
    def alter(self, observation: Any, rewards: Any, *rest: Any) -> Any:
        rewards[0] = np.nan
        return (observation, rewards, *rest)


class FlagsAreNumbers(Altered):
    def alter(self, observation: Any, rewards: Any, terminations: Any, *rest: Any) -> Any:
        return (observation, rewards, terminations.astype(np.int8), *rest)


class FourParts(Altered):
    def alter(self, observation: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        return observation, rewards, terminations | truncations, infos


class InfoWithoutMask(Altered):
    def alter(self, *parts: Any) -> Any:
        del parts[4]["_far"]
        return parts


class InfoIsList(Altered):
    def alter(self, *parts: Any) -> Any:
        parts[4]["far"] = list(parts[4].get("far", []))
        return parts


class WrongInfo(Altered):
    def alter(self, *parts: Any) -> Any:
        if "far" in parts[4]:
            parts[4]["far"] = parts[4]["far"] + 1
        return parts


class WrongSpace(Lanes):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.observation_space = self.single_observation_space


class ModeIsText(Lanes):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.metadata = {**self.metadata, "autoreset_mode": "NextStep"}


class ResetAlone(Lanes):
    def reset(self, **options: Any) -> Any:
        return super().reset(**options)[0]


class TakesAnything(Lanes):
    def step(self, actions: Any) -> Any:
        return super().step(np.resize(np.nan_to_num(actions), (self.num_envs, 2)).astype(np.float32))


class MovesFirst(SyncVectorEnv):
    """Steps the lanes before the one with an invalid action."""

    def __init__(self, autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> None:
        super().__init__([Careful] * 3, autoreset_mode=autoreset_mode)

    def step(self, actions: Any) -> Any:
        if len(actions) > self.num_envs:
            raise ValueError("too many")
        if len(actions) < self.num_envs:
            super().step(np.resize(actions, (self.num_envs, 2)))
            raise ValueError("too few")
        return super().step(actions)


class Careful(Walk):
    def step(self, action: np.ndarray) -> Any:
        if not self.action_space.contains(action):
            raise ValueError("the action must be of the action space")
        return super().step(action)


class Slow(Walk):
    """Differs from the lanes."""

    def step(self, action: np.ndarray) -> Any:
        return super().step(action * np.float32(0.5))


class NoVector:
    num_envs = 3
