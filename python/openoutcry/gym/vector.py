"""The Gymnasium vector environment over the native batch of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_bool, checked_integer, lookback_of, one_of, seed_of
from openoutcry.data.window import Edge, Window
from openoutcry.gym.action_schemes import action_scheme
from openoutcry.gym.buffers import allocate_buffers, allocate_rotating_sets
from openoutcry.gym.episode_markets import Draw, EpisodeMarkets, check_split, episode_markets
from openoutcry.gym.episodes import Episodes
from openoutcry.gym.lane_actions import joined_holds, readable, with_holds
from openoutcry.gym.lane_views import LaneViews
from openoutcry.gym.market_arguments import N_DAYS, N_SYMBOLS, Market
from openoutcry.gym.observed_columns import observed_columns
from openoutcry.gym.rendering import MODES, NavHistory, render_lane_of, render_mode_of
from openoutcry.gym.replaced_markets import replaced_markets
from openoutcry.gym.rewards import Reward, reward_scheme
from openoutcry.gym.settings import ON_INVALID, OPTIONS, checked_options, refuse_assignments
from openoutcry.gym.spaces import OBSERVATIONS, observation_space, space_of
from openoutcry.gym.step_info import LaneInfos, copied_observations
from openoutcry.gym.sub_environments import (
    batch_settings,
    changed_lanes,
    lane_seeds,
    lane_terms,
    mode_of,
    reset_mask,
    started_streams,
)
from openoutcry.openoutcry_py import CostModel, Limits, OpenOutcryError

Observation: TypeAlias = Any
_Flags: TypeAlias = npt.NDArray[np.bool_]
_Step: TypeAlias = tuple[Observation, npt.NDArray[np.float64], _Flags, _Flags, dict[str, Any]]


@refuse_assignments
class OpenOutcryVectorEnv(LaneViews, VectorEnv[Observation, npt.NDArray[Any], npt.NDArray[Any]]):  # type: ignore[misc, override]
    """Many sub-environments, stepped together.

    Sub-environment i, called lane i, equals `OpenOutcryEnv` with the same arguments: after `reset(seed=s)` it returns,
    step for step, what that environment returns after `reset(seed=s + i)`. Its k-th autoreset is the k-th `reset()`
    without a seed.

    Actions: target weights, shape `(num_envs, n)`; C-contiguous float32 or float64 is read without a copy. Observations
    are those of `OpenOutcryEnv` with a leading axis `num_envs`. Rewards are float64, terminations and truncations bool,
    all of shape `(num_envs,)`.

    `info` has the keys, types and shapes of Gymnasium's `SyncVectorEnv` of `OpenOutcryEnv`, in `reset` and `step`: a
    key `k` has a mask `_k` of its lanes. With `info="light"` it lacks `nav`, which `env.nav` returns. `info="full"`
    steps the lanes one by one, with the same bits. Keys of single steps:

    - `reset`, bool, if this step started the next episode of a lane whose episode ended in the step before. The action
      of the lane was ignored and its reward is 0: learners skip the transition.
    - `final_obs` and `final_info`, if the episode of a lane ended and this step started the next one.

    Args:
        num_envs: Number of sub-environments.
        n_symbols: As in `OpenOutcryEnv`.
        n_days: As in `OpenOutcryEnv`.
        seed: As in `OpenOutcryEnv`.
        dataset: One market for all lanes, or a sequence: lane i trades the (i mod length)-th.
        datasets: As in `OpenOutcryEnv`: the rule for the market of each episode of a lane.
        window: As in `OpenOutcryEnv`.
        within: As in `OpenOutcryEnv`.
        episode_bars: As in `OpenOutcryEnv`.
        split: As in `OpenOutcryEnv`.
        costs: One cost model for all lanes, or a sequence with one per lane.
        limits: Limits for all lanes, or a sequence with one per lane.
        observation: As in `OpenOutcryEnv`.
        lookback: As in `OpenOutcryEnv`.
        history: As in `OpenOutcryEnv`.
        mask: As in `OpenOutcryEnv`.
        features: As in `OpenOutcryEnv`.
        scale: As in `OpenOutcryEnv`.
        reward: As in `OpenOutcryEnv`.
        reward_parameter: As in `OpenOutcryEnv`.
        no_trade_band: As in `OpenOutcryEnv`.
        action: As in `OpenOutcryEnv`, with a leading axis `num_envs`.
        levels: As in `OpenOutcryEnv`.
        copy: Whether every step returns new arrays. If False, steps write into two buffers in rotation, so that a
            result is valid until the step after the next. Flat observations are then read-only sliding views of longer
            rows: a step writes only the new values, for about twice the memory. A wrapper that writes into an
            observation, such as Gymnasium's `FlattenObservation`, needs `copy=True`.
        threads: Maximum number of threads, up to 32; a small batch uses fewer.
        autoreset_mode: Handling of a lane whose episode has ended: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.
        render_mode: `ansi` or `rgb_array`: `render` returns a sequence of one frame per lane, drawn when accessed.
        render_lane: Lane of the first frame, as `RecordVideo(record_first_only=True)` records it.
        info: As in `OpenOutcryEnv`.
        on_invalid: As in `OpenOutcryEnv`, for each lane.

    Raises:
        OpenOutcryError: an argument is invalid.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [*MODES],
        "render_fps": 12,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
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
        datasets: Draw | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        within: Window | tuple[Edge, Edge] | str | None = None,
        episode_bars: int | None = None,
        split: str = "train",
        costs: CostModel | Sequence[CostModel] | None = None,
        limits: Limits | Sequence[Limits] | None = None,
        observation: str = "dict",
        lookback: int | None = None,
        history: Sequence[str] | None = None,
        mask: bool | None = None,
        features: Sequence[str] | None = None,
        scale: str = "none",
        reward: Reward = "simple",
        reward_parameter: float | None = None,
        action: str = "weights",
        levels: Sequence[float | str] | None = None,
        no_trade_band: float = 0.0,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        max_weight: float | None = None,
        allow_short: bool | None = None,
        render_mode: str | None = None,
        render_lane: int = 0,
        info: str = "light",
        on_invalid: str = "raise",
    ) -> None:
        self._num_envs = checked_integer("num_envs", num_envs, 1, 2**31 - 1)
        self._created, self._copies, self.render_mode = {}, checked_bool("copy", copy), render_mode_of(render_mode)
        self._render_lane = render_lane_of(render_lane, self.render_mode, self.num_envs)
        self._kind, self._lookback = one_of("observation", observation, OBSERVATIONS), lookback
        episodes = Episodes(window, within, episode_bars, split)
        self._markets = episode_markets((n_symbols, n_days), seed_of(seed), dataset, split, datasets, num_envs)
        terms = lane_terms(costs, limits, max_weight, allow_short, self.num_envs)
        self._reward = reward_scheme(reward, reward_parameter)
        self._observed = observed_columns(self._markets, features, scale, (self._kind, lookback, history, mask))
        self._settings = batch_settings(no_trade_band, max_episode_steps, threads, info) | {"seed": seed}
        self._scheme = action_scheme(action, levels, self._markets.n_symbols, terms[1])
        self._prepare((*terms, episodes), mode_of(autoreset_mode), on_invalid)

    def _prepare(
        self,
        changeable: tuple[tuple[CostModel, ...], tuple[Limits, ...], Episodes],
        autoreset_mode: AutoresetMode,
        on_invalid: str,
    ) -> None:
        """Add the settings that other settings determine, and create batch and spaces."""
        self._holds_invalid = one_of("on_invalid", on_invalid, ON_INVALID) == "hold"
        check_split(changeable[2], self._markets)
        self._datasets, self._reward_scheme = self._markets.datasets, self._reward.name
        self._shown = native.DEFAULT_LOOKBACK if self._lookback is None else lookback_of(self._lookback)
        self._autoreset_mode = autoreset_mode
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self._settings |= {
            "reward": self._reward.engine,
            "reward_parameter": self._reward.parameter,
            "cells_a_thread": self._cells_a_thread,
            "autoreset": autoreset_mode.name.lower(),
            "lookback": self._shown,
            "features": self._observed.native[0],
            "history": self._observed.native[1],
            "scale": self._observed.native[2],
            "mask": self._observed.mask,
            "markets": (self._markets.kind, self._markets.split),
            "observation": "history" if self._kind == "dict" and self._lookback is not None else self._kind,
        }
        self.single_action_space = space_of(self._scheme, self._markets.n_symbols, changeable[1])
        shape = self._markets.n_symbols, self._lookback, self._markets.n_bars
        self.single_observation_space = observation_space(self._kind, *shape, self._observed)
        self._layout = (self._kind, self.num_envs, self.single_observation_space)
        self._is_seeded, self._navs = False, cast("NavHistory | None", None)
        self._adopt(self._batch(self._markets, *changeable), *changeable)

    def _batch(
        self,
        markets: EpisodeMarkets,
        costs: Sequence[CostModel],
        limits: Sequence[Limits],
        episodes: Episodes,
    ) -> native.Batch:
        datasets = markets.datasets
        windows = [episodes.on(dataset, self._shown) for dataset in datasets]
        lanes = [(i % len(datasets), costs[i], limits[i]) for i in range(self.num_envs)]
        return native.Batch([each._core for each in datasets], lanes, self._settings | {"windows": windows}, 0)

    def _adopt(
        self, core: native.Batch, costs: tuple[CostModel, ...], limits: tuple[Limits, ...], episodes: Episodes
    ) -> None:
        """Use a batch with these settings."""
        self._core, self._invalid = core, None
        self._costs, self._limits, self._episodes = costs, limits, episodes
        self._infos = LaneInfos(
            core, self.datasets, self.reward_scheme, is_full=self._settings["records"],
            shows_tradable=self._markets.has_listing_changes, shows_invalid=self._holds_invalid,
        )  # fmt: skip
        # One test per step: all of these add to a step in Python.
        self._has_extras = self._infos.has_entries or self._reward.function is not None
        self._has_extras |= self.render_mode is not None or self._markets.function is not None
        self._last = self._final = None
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._last, self._final = allocate_buffers(*self._layout)[:2]
        self._rotating = None
        if not self._copies:
            self._rotating = allocate_rotating_sets(core, *self._layout, slides=not self._markets.changes)
        # The first reset replaces these with the native methods, so that steps need no check.
        self._step = core.step if self._is_seeded else self._refuse
        self._step_new = core.step_new if self._is_seeded else self._refuse

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start the next episode of every lane; with a seed, the first one.

        Args:
            seed: Seed of lane 0, where lane i has `seed + i`; or a list of one seed per lane, None to continue.
            options: `{"reset_mask": mask}` resets only the lanes of a mask, shape `(num_envs,)`, bool. The options of
                `OpenOutcryEnv.reset` hold for the lanes that are reset, from this episode on; `costs` and `limits` may
                be lists with one per lane, and window options need a reset of all lanes.

        Returns:
            Observation and `info`.

        Raises:
            OpenOutcryError: the seed, the mask or an option is invalid; the state is unchanged.
        """
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        changes = checked_options(options, ("reset_mask", *OPTIONS))
        mask = reset_mask(changes, self.num_envs, is_seeded=self._is_seeded)
        is_reset = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask.copy()
        seeds = lane_seeds(seed, is_reset, is_seeded=self._is_seeded)
        # Markets, draws and the batch first: whatever raises changes nothing.
        markets = replaced_markets(
            self._markets, changes, self._settings["seed"], self._observed, self._arguments, self.num_envs
        )
        streams = started_streams(self._core.streams, seeds)
        next_draws, later_draws = (markets.of_lanes(is_reset, streams, ahead) for ahead in (0, 1))
        if changes.keys() - {"reset_mask"}:
            changed = changed_lanes(changes, (self.costs, self.limits, self._episodes), mask)
            core = self._batch(markets, *changed)
            if markets is self._markets:
                core.restore(self._core.save())
            self._markets, self._datasets = markets, markets.datasets
            self._adopt(core, *changed)
        super().reset(seed=None if seed is None or seeds is None else seeds[0])
        self._core.set_streams(streams)
        self._core.set_next_markets(next_draws)
        self._core.reset(None, mask)
        self._core.set_next_markets(later_draws)
        self._is_seeded = True
        self._step, self._step_new = self._core.step, self._core.step_new
        if self.render_mode is not None:
            if self._navs is None or mask is None:
                self._navs = NavHistory(self._core.nav)
            self._navs.restart(self._core.nav, is_reset)
        info = self._infos.after_reset(is_reset)
        if self._rotating is None:
            return self._core.observe_new(), info
        bound, observation, *_, following = self._rotating
        self._core.observe(bound)
        self._rotating = following
        return observation, info

    def step(self, actions: Any, out: Observation = None, hold: _Flags | None = None) -> _Step:
        """Trade every lane to target weights and advance one bar.

        Args:
            actions: Target weights, shape `(num_envs, n)`, numbers, signed fractions of NAV. C-contiguous arrays of
                float32 or float64 are read without a copy.
            out: Array that the observation is written to and that is returned as the observation, such as a row of a
                rollout buffer; a dict of arrays for dict observations. None for an array of the environment.
            hold: Shape `(num_envs, n)`, bool: symbols to hold regardless of their weight; None to trade all.

        Returns:
            Observation, rewards, terminations, truncations and `info`.

        Raises:
            OpenOutcryError: an array has the wrong shape or type, a weight is not finite, or the episode of a lane is
                over and autoreset is disabled; the state is unchanged. Or the values of a reward function are
                invalid; the state is that after the step.
        """
        if self._scheme is not None:
            actions, held = self._scheme.read(actions, self.num_envs)
            hold = joined_holds(held, hold, actions.shape)
            self._core.set_brackets(self._scheme.brackets)
        try:
            rotating = self._rotating
            if out is None and rotating is not None:
                bound, observation, rewards, terminations, truncations, reset, following = rotating
                # Not `self._step(...)`: Python would first look for a method of the class.
                trade = self._step
                signals = trade(actions, hold, bound, self._last)
                # After the step: if it raises, the results of the last step stay valid.
                self._rotating = following
            elif out is None or self._kind == "flat":
                trade = self._step_new
                stepped = trade(actions, hold, self._last, out)
                observation, rewards, terminations, truncations, reset, signals = stepped
            else:
                bound, observation, rewards, terminations, truncations, reset = allocate_buffers(*self._layout, out)
                signals = self._step(actions, hold, bound, self._last)
        except OpenOutcryError as error:
            return self._step_read(error, actions, out, hold)
        info: dict[str, Any] = {}
        if signals or self._has_extras:
            # First, because a reward function may raise.
            self._fill_info(info, (terminations, truncations, reset), signals)
            if self._reward.function is not None:
                self._reward.write(rewards, self._core.figures, (terminations, truncations, reset))
        return observation, rewards, terminations, truncations, info

    def _step_read(self, error: OpenOutcryError, actions: Any, out: Any, hold: Any) -> _Step:
        """Step with actions that the batch can read; raise `error` if there are none."""
        if error.slug == "shape_mismatch":
            actions, hold = readable(error, actions, hold, (self.num_envs, self.datasets[0].n_symbols))
        elif error.slug == "weight_not_finite" and self._holds_invalid:
            actions, hold, self._invalid = with_holds(actions, hold)
        else:
            raise error
        # These actions are target weights.
        scheme, self._scheme = self._scheme, None
        try:
            return self.step(actions, out, hold)
        finally:
            self._invalid, self._scheme = None, scheme

    def __getstate__(self) -> dict[str, Any]:
        # Without the slots, which a restored environment fills again.
        return self.__dict__ | {"_saved": (self._core.save(), self._scheme)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        (lanes, self._scheme), self._created = saved["_saved"], {}
        for name in saved.keys() - {"_saved"}:
            setattr(self, name, saved[name])
        settings = (self.costs, self.limits, self._episodes)
        core = self._batch(self._markets, *settings)
        core.restore(lanes)
        self._adopt(core, *settings)
        if self.closed:
            self.close_extras()

    def _fill_info(self, info: dict[str, Any], flags: tuple[_Flags, _Flags, _Flags], signals: int) -> None:
        """Add the entries of a step to `info`.

        Bit 0 of `signals` is set if an episode ended, bit 1 if a lane was reset.
        """
        terminations, truncations, reset = flags
        # An end of an episode alone adds nothing in the default mode: most steps of a large batch have one.
        if self._has_extras:
            self._add_extras(info, flags, signals)
        if signals & 2:
            info["reset"], info["_reset"] = reset, reset
        if self._final is None or not signals & 1:
            return
        ended = terminations | truncations
        info["final_obs"], info["_final_obs"] = copied_observations(self._final, ended), ended
        info["final_info"], info["_final_info"] = self._infos.final(ended, self._invalid), ended.copy()

    def _add_extras(self, info: dict[str, Any], flags: tuple[_Flags, _Flags, _Flags], signals: int) -> None:
        """Draw the next markets, and record what the settings ask for."""
        terminations, truncations, reset = flags
        if self._final is not None:
            started = terminations | truncations
        else:
            started = reset if signals & 2 else np.zeros_like(terminations)
        if self._navs is not None:
            self._navs.add(self._core.nav, started)
        if signals & 3 and self._markets.function is not None:
            self._core.set_next_markets(self._markets.of_lanes(started, self._core.streams, 0))
        if self._infos.has_entries:
            info |= self._infos.after_step(started, self._invalid)


__all__ = ["Observation", "OpenOutcryVectorEnv"]
