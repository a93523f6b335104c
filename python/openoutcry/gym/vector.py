"""The Gymnasium vector environment over the native batch of accounts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, lookback_of, seed_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.gym.buffers import allocate_buffer_sets, allocate_buffers
from openoutcry.gym.environment import N_DAYS, N_SYMBOLS, Market, has_listing_changes
from openoutcry.gym.episodes import Episodes, finite
from openoutcry.gym.observed_columns import observed_columns
from openoutcry.gym.rewards import Reward, reward_scheme
from openoutcry.gym.spaces import action_space, observation_of, observation_space
from openoutcry.gym.sub_environments import datasets_of, lane_terms, mode_of
from openoutcry.openoutcry_py import CostModel, Limits

Observation: TypeAlias = Any
_Flags: TypeAlias = npt.NDArray[np.bool_]
_Step: TypeAlias = tuple[Observation, npt.NDArray[np.float64], _Flags, _Flags, dict[str, Any]]

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class OpenOutcryVectorEnv(VectorEnv[Observation, npt.NDArray[Any], npt.NDArray[Any]]):
    """Many sub-environments, stepped together.

    Sub-environment i, called lane i, equals `OpenOutcryEnv` with the same arguments: after `reset(seed=s)` it returns,
    step for step, what that environment returns after `reset(seed=s + i)`. Its k-th autoreset is the k-th `reset()`
    without a seed.

    Actions: target weights, shape `(num_envs, n)`, float32 or float64, C-contiguous. Observations are those of
    `OpenOutcryEnv` with a leading axis `num_envs`. Rewards are float64, terminations and truncations bool, all of shape
    `(num_envs,)`. `info` of a step holds the keys below, if they apply; a key `k` has a mask `_k` of its lanes.

    - `reset`, bool, if this step started the next episode of a lane whose episode ended in the step before. The action
      of the lane was ignored and its reward is 0: learners skip the transition.
    - `final_obs` and `final_info` (`nav`, `date`), if the episode of a lane ended and this step started the next one.
    - `tradable`, `(num_envs, n)` bool, in a market with listings or delistings: the symbols that can be traded.

    `info` of `reset` holds the `reward_scheme`.

    Args:
        num_envs: Number of sub-environments.
        n_symbols: As in `OpenOutcryEnv`.
        n_days: As in `OpenOutcryEnv`.
        seed: As in `OpenOutcryEnv`.
        dataset: One market for all lanes, or a sequence with equal numbers of symbols: lane i trades the
            (i mod length)-th.
        window: As in `OpenOutcryEnv`.
        within: As in `OpenOutcryEnv`.
        episode_bars: As in `OpenOutcryEnv`.
        split: As in `OpenOutcryEnv`.
        costs: One cost model for all lanes, or a sequence with one per lane.
        limits: Limits for all lanes, or a sequence with one per lane.
        observation: As in `OpenOutcryEnv`.
        lookback: As in `OpenOutcryEnv`.
        features: As in `OpenOutcryEnv`.
        scale: As in `OpenOutcryEnv`.
        reward: As in `OpenOutcryEnv`.
        reward_parameter: As in `OpenOutcryEnv`.
        no_trade_band: As in `OpenOutcryEnv`.
        copy: Whether every step returns new arrays. If False, steps write into two buffers in rotation, so that a
            result is valid until the step after the next. Flat observations are then read-only sliding views of longer
            rows: a step writes only the new values, for about twice the memory. A wrapper that writes into an
            observation, such as Gymnasium's `FlattenObservation`, needs `copy=True`.
        threads: Maximum number of threads, up to 32; a small batch uses fewer.
        autoreset_mode: Handling of a lane whose episode has ended: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.

    Raises:
        OpenOutcryError: an argument is invalid.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    # Lanes times symbols per thread: stepping fewer takes less time than waking a thread.
    _cells_a_thread = 4096

    def __init__(
        self,
        num_envs: int = 1,
        n_symbols: int | Market = N_SYMBOLS,
        n_days: int = N_DAYS,
        seed: int = 7,
        *,
        dataset: Market | Sequence[Market] | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        within: Window | tuple[Edge, Edge] | str | None = None,
        episode_bars: int | None = None,
        split: str = "train",
        costs: CostModel | Sequence[CostModel] | None = None,
        limits: Limits | Sequence[Limits] | None = None,
        observation: str = "dict",
        lookback: int | None = None,
        features: Sequence[str] | None = None,
        scale: str = "none",
        reward: Reward = "simple",
        reward_parameter: float | None = None,
        no_trade_band: float = 0.0,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        max_weight: float | None = None,
        allow_short: bool | None = None,
    ) -> None:
        self.num_envs = checked_integer("num_envs", num_envs, 1, 2**31 - 1)
        self._kind, self._lookback, self._copies = observation_of(observation), lookback, copy
        episodes = Episodes(window, within, episode_bars, split)
        self.datasets = datasets_of((n_symbols, n_days), seed_of(seed), dataset, split, self.num_envs)
        self.costs, self.limits = lane_terms(costs, limits, max_weight, allow_short, self.num_envs)
        self.autoreset_mode = mode_of(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._reward = reward_scheme(reward, reward_parameter)
        self.reward_scheme = self._reward.name
        most = max_episode_steps
        settings = {
            "reward_parameter": self._reward.parameter,
            "no_trade_band": finite("no_trade_band", no_trade_band),
            "max_episode_steps": None if most is None else checked_integer("max_episode_steps", most, 1, 2**31 - 1),
            "threads": checked_integer("threads", threads, 1, 32),
            "cells_a_thread": self._cells_a_thread,
            "seed": seed,
        }
        self._observed = observed_columns(self.datasets, features, scale)
        self._core = self._batch(episodes, settings)
        self._prepare()

    def _batch(self, episodes: Episodes, settings: dict[str, Any]) -> native.Batch:
        if self._kind == "cursor" and len(self.datasets) > 1:
            message = "`observation` must be dict or flat with several datasets, as a cursor indexes one dataset"
            raise refusal("argument_invalid", f"{message}; received cursor and {len(self.datasets)} datasets")
        self._shown = native.DEFAULT_LOOKBACK if self._lookback is None else lookback_of(self._lookback)
        windows = [episodes.on(dataset, self._shown) for dataset in self.datasets]
        starts = [start for start, *_ in windows]
        self._has_listing_changes = any(map(has_listing_changes, self.datasets, starts))
        # One test per step: both add to a step in Python.
        self._has_extras = self._has_listing_changes or self._reward.function is not None
        settings |= {
            "windows": windows,
            "autoreset": _MODES[self.autoreset_mode],
            "reward": self._reward.engine,
            "lookback": self._shown,
            "features": self._observed.native[0],
            "scale": self._observed.native[1],
            "observation": "history" if self._kind == "dict" and self._lookback is not None else self._kind,
        }
        lanes = [(i % len(self.datasets), self.costs[i], self.limits[i]) for i in range(self.num_envs)]
        return native.Batch([dataset._core for dataset in self.datasets], lanes, settings, 0)

    def _prepare(self) -> None:
        n, n_bars = self.datasets[0].n_symbols, max(dataset.n_bars for dataset in self.datasets)
        self.single_action_space = action_space(n, list(dict.fromkeys(self.limits)))
        self.single_observation_space = observation_space(self._kind, n, self._lookback, n_bars, self._observed)
        self._layout = (self._kind, self.num_envs, self.single_observation_space)
        self._is_seeded = False
        self._last: native.Buffers | None = None
        self._final: Observation = None
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._last, self._final = allocate_buffers(*self._layout)[:2]
        if not self._copies:
            self._buffer_sets, self._next_set = allocate_buffer_sets(self._core, *self._layout), 0
        # The first reset replaces these with the native methods, so that steps need no check.
        self._step: Callable[..., int] = self._refuse
        self._step_new: Callable[..., Any] = self._refuse

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the next episode of every lane; with a seed, the first one.

        Args:
            seed: Seed of lane 0; lane i has `seed + i`.
            options: `{"reset_mask": mask}` resets only the lanes of a mask, shape `(num_envs,)`, bool.

        Returns:
            Observation and `info`.

        Raises:
            OpenOutcryError: the seed or the mask is invalid; the state is unchanged.
        """
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        most = 2**64 - self.num_envs
        first = None if seed is None else checked_integer("seed", seed, 0, most)
        mask = self._reset_mask(options)
        super().reset(seed=seed)
        if first is None and not self._is_seeded:
            first = secrets.randbelow(most + 1)
        self._core.reset(first, mask)
        self._is_seeded = True
        self._step, self._step_new = self._core.step, self._core.step_new
        is_reset = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask.copy()
        info: dict[str, Any] = {"reward_scheme": np.full(self.num_envs, self.reward_scheme, dtype=object)}
        info["_reward_scheme"] = is_reset
        if self._has_listing_changes:
            info["tradable"], info["_tradable"] = self._core.tradable, is_reset
        if self._copies:
            return self._core.observe_new(), info
        bound, observation, *_, following = self._buffer_sets[self._next_set]
        self._core.observe(bound)
        self._next_set = following
        return observation, info

    def step(self, actions: npt.NDArray[Any], out: Observation = None, hold: _Flags | None = None) -> _Step:
        """Trade every lane to target weights and advance one bar.

        Args:
            actions: Target weights, shape `(num_envs, n)`, float32 or float64, signed fractions of NAV, C-contiguous.
            out: Array that the observation is written to and that is returned as the observation, such as a row of a
                rollout buffer; a dict of arrays for dict observations. None for an array of the environment.
            hold: Shape `(num_envs, n)`, bool: symbols to hold regardless of their weight; None to trade all.

        Returns:
            Observation, rewards, terminations, truncations and `info`.

        Raises:
            OpenOutcryError: an array has the wrong shape, dtype or layout, a weight is not finite, or the episode of a
                lane is over and autoreset is disabled; the state is unchanged. Or the values of a reward function are
                invalid; the state is that after the step.
        """
        if out is None and not self._copies:
            buffers = self._buffer_sets[self._next_set]
            bound, observation, rewards, terminations, truncations, reset, following = buffers
            # Not `self._step(...)`: Python would first look for a method of the class.
            trade = self._step
            signals = trade(actions, hold, bound, self._last)
            # After the step: if it raises, the results of the last step stay valid.
            self._next_set = following
        elif out is None or self._kind == "flat":
            trade = self._step_new
            stepped = trade(actions, hold, self._last, out)
            observation, rewards, terminations, truncations, reset, signals = stepped
        else:
            bound, observation, rewards, terminations, truncations, reset = allocate_buffers(*self._layout, out)
            signals = self._step(actions, hold, bound, self._last)
        info: dict[str, Any] = {}
        if signals or self._has_extras:
            if self._reward.function is not None:
                self._reward.write(rewards, self._core.figures, (terminations, truncations, reset))
            self._fill_info(info, (terminations, truncations, reset), signals)
        return observation, rewards, terminations, truncations, info

    def close_extras(self, **kwargs: Any) -> None:
        """Make further steps raise `ClosedEnvironmentError`."""
        self._step = self._step_new = self._refuse

    @cached_property
    def action_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Space of the actions of all lanes."""
        # Created on first access: the bounds of a large batch take more memory than its observations.
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Space of the observations of all lanes."""
        return batch_space(self.single_observation_space, self.num_envs)

    @property
    def dataset(self) -> Dataset:
        """The market of lane 0, and of all lanes unless several markets were passed."""
        return self.datasets[0]

    @property
    def nav(self) -> npt.NDArray[np.float64]:
        """NAV of every lane, shape `(num_envs,)`; 1 at the start of an episode."""
        return self._core.nav

    @property
    def cash(self) -> npt.NDArray[np.float64]:
        """Cash of every lane, shape `(num_envs,)`."""
        return self._core.cash

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Signed shares, shape `(num_envs, n)`."""
        return self._core.shares

    @property
    def bars(self) -> npt.NDArray[np.int64]:
        """Index of every lane's bar in its dataset, shape `(num_envs,)`."""
        return self._core.bars

    @property
    def done(self) -> _Flags:
        """Whether the episode of a lane is over, shape `(num_envs,)`."""
        return self._core.done

    @cached_property
    def _histories(self) -> Any:
        bars = self._core.market_bars(0)
        padded = np.concatenate([np.zeros((self._shown - 1, bars.shape[1]), dtype=np.float32), bars])
        return np.lib.stride_tricks.sliding_window_view(padded, self._shown, axis=0).transpose(0, 2, 1)

    def histories(self, cursors: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the log returns up to the bars of cursors.

        The returns equal those of a flat observation, shape `(..., lookback, n)`, float32, oldest first. `cursors` are
        values of `cursor` observations of this environment.
        """
        if len(self.datasets) > 1:
            message = "`histories` needs one dataset, as a cursor indexes one dataset"
            raise refusal("argument_invalid", f"{message}; received {len(self.datasets)} datasets")
        return np.asarray(self._histories[cursors])

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(dataset.name for dataset in self.datasets))
        shown = f"observation={self._kind!r}, autoreset_mode={self.autoreset_mode.name}"
        return f"OpenOutcryVectorEnv({names}, num_envs={self.num_envs}, {shown})"

    def __reduce__(self) -> Any:
        hint = "hint: pickle a function that creates it"
        raise TypeError(f"an OpenOutcryVectorEnv can be neither pickled nor copied; {hint}")

    def _refuse(self, *_: Any) -> Any:
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        message = "a step needs a running episode; received a step before the first `reset`"
        raise refusal("episode_over", message)

    def _fill_info(self, info: dict[str, Any], flags: tuple[_Flags, _Flags, _Flags], signals: int) -> None:
        """Add the entries of a step to `info`.

        Bit 0 of `signals` is set if an episode ended, bit 1 if a lane was reset.
        """
        terminations, truncations, reset = flags
        if self._has_listing_changes:
            info["tradable"], info["_tradable"] = self._core.tradable, np.ones(self.num_envs, dtype=np.bool_)
        if signals & 2:
            info["reset"], info["_reset"] = reset, reset
        if self._final is None or not signals & 1:
            return
        ended = terminations | truncations
        # `np.empty` fills arrays of objects with None.
        shown, finals, dates = self._final, np.empty(self.num_envs, dtype=object), np.empty(self.num_envs, dtype=object)
        navs, lanes = np.zeros(self.num_envs), np.flatnonzero(ended).tolist()
        for lane, (nav, bar) in zip(lanes, self._core.ended(lanes), strict=True):
            final = {k: v[lane].copy() for k, v in shown.items()} if isinstance(shown, dict) else shown[lane].copy()
            finals[lane], navs[lane] = final, nav
            dates[lane] = self.datasets[lane % len(self.datasets)].dates[bar]
        info["final_obs"], info["_final_obs"] = finals, ended
        info["final_info"] = {"nav": navs, "_nav": ended.copy(), "date": dates, "_date": ended.copy()}
        info["_final_info"] = ended.copy()

    def _reset_mask(self, options: dict[str, Any] | None) -> _Flags | None:
        if options is None or "reset_mask" not in options:
            return None
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            received = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
            message = f"`reset_mask` must be an array of bool and shape ({self.num_envs},); received {received}"
            raise refusal("shape_mismatch", message)
        if not mask.any():
            raise refusal("argument_invalid", "`reset_mask` must select at least one lane; received none")
        if not self._is_seeded and not mask.all():
            message = "the first `reset` must select all lanes"
            raise refusal("argument_invalid", f"{message}; received a mask of {int(mask.sum())}")
        return mask


__all__ = ["Observation", "OpenOutcryVectorEnv"]
