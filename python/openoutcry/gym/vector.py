"""Many accounts in step: one Gymnasium vector environment over the native batch."""

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
from openoutcry.arguments import lookback_of, seed_of, whole
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.gym.buffers import slot_of, turns_of
from openoutcry.gym.environment import N_DAYS, N_SYMBOLS, comes_and_goes
from openoutcry.gym.episodes import Episodes, finite, scheme_of
from openoutcry.gym.spaces import action_space, observation_of, observation_space
from openoutcry.gym.sub_environments import Market, datasets_of, mode_of, terms_of
from openoutcry.openoutcry_py import CostModel, Limits

Observation: TypeAlias = Any
_Flags: TypeAlias = npt.NDArray[np.bool_]
_Stepped: TypeAlias = tuple[Observation, npt.NDArray[np.float64], _Flags, _Flags, dict[str, Any]]

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class OpenOutcryVectorEnv(VectorEnv[Observation, npt.NDArray[Any], npt.NDArray[Any]]):
    """Many markets to trade bar by bar, stepped together.

    Lane i is `OpenOutcryEnv` with the same arguments: after `reset(seed=s)` it plays, step for step, what that plays
    after `reset(seed=s + i)`, and its k-th autoreset is that one's k-th bare `reset`.

    Actions: target weights, shape `(num_envs, n)`, float32 or float64, C-contiguous. Observations are those of
    `OpenOutcryEnv` with one more axis in front. Rewards are float64, terminations and truncations bool, all
    `(num_envs,)`. `info` of a step is empty but for what follows; a key `k` has a mask `_k` of the lanes it is about.

    - `reset`, bool, if this very step began the next episode of some lane, its last one having ended in the step
      before. The lane's action did nothing and its reward is 0: learners leave the transition out.
    - `final_obs` and `final_info` (`nav`, `date`), if a lane's episode ended and the same step began the next.
    - `tradable`, `(num_envs, n)` bool, in a market where symbols come and go: what can be held.

    `info` of `reset` names the `reward_scheme`.

    Args:
        num_envs: Number of lanes.
        n_symbols: As in `OpenOutcryEnv`, like all arguments that are not named here.
        n_days: As in `OpenOutcryEnv`.
        seed: As in `OpenOutcryEnv`.
        dataset: One for all lanes, or a sequence of as many symbols each: lane i then trades the (i mod length)-th.
        window: As in `OpenOutcryEnv`.
        within: As in `OpenOutcryEnv`.
        episode_bars: As in `OpenOutcryEnv`.
        split: As in `OpenOutcryEnv`.
        costs: For all lanes, or a sequence of one a lane.
        limits: For all lanes, or a sequence of one a lane.
        observation: As in `OpenOutcryEnv`.
        lookback: As in `OpenOutcryEnv`.
        reward: As in `OpenOutcryEnv`.
        reward_parameter: As in `OpenOutcryEnv`.
        no_trade_band: As in `OpenOutcryEnv`.
        copy: Whether every step returns new arrays. False: two sets of arrays are written in turn, so that what a step
            returned holds until the step after the next. Flat observations are then read-only views of rows that are
            longer: they slide along them, so that a step writes what is new, and take about twice the memory. A wrapper
            that writes into an observation, such as Gymnasium's `FlattenObservation`, needs new arrays.
        threads: Threads that share the lanes at most, up to 32; a batch with less work than wakes a thread uses fewer.
        autoreset_mode: What happens to a lane whose episode has ended: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        max_episode_steps: Steps after which an episode is truncated; None for none.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.

    Raises:
        OpenOutcryError: an argument cannot be used.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    # Lanes times symbols that are worth a thread: fewer are stepped in less time than it takes to wake one.
    _cells_a_thread = 4096

    def __init__(
        self,
        num_envs: int = 1,
        n_symbols: int = N_SYMBOLS,
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
        reward: str = "simple",
        reward_parameter: float | None = None,
        no_trade_band: float = 0.0,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        max_weight: float | None = None,
        allow_short: bool | None = None,
    ) -> None:
        self.num_envs = whole("num_envs", num_envs, 1, 2**31 - 1)
        self._kind, self._lookback, self._copies = observation_of(observation), lookback, copy
        episodes = Episodes(window, within, episode_bars, split)
        self.datasets = datasets_of((n_symbols, n_days), seed_of(seed), dataset, split, self.num_envs)
        self.costs, self.limits = terms_of(costs, limits, max_weight, allow_short, self.num_envs)
        self.autoreset_mode = mode_of(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.reward_scheme, parameter = scheme_of(reward, reward_parameter)
        most = max_episode_steps
        settings = {
            "reward_parameter": parameter,
            "no_trade_band": finite("no_trade_band", no_trade_band),
            "max_episode_steps": None if most is None else whole("max_episode_steps", most, 1, 2**31 - 1),
            "threads": whole("threads", threads, 1, 32),
            "cells_a_thread": self._cells_a_thread,
            "seed": seed,
        }
        self._core = self._batch(episodes, settings)
        self._prepare()

    def _batch(self, episodes: Episodes, settings: dict[str, Any]) -> native.Batch:
        if self._kind == "cursor" and len(self.datasets) > 1:
            message = "`observation` must be dict or flat where lanes trade several datasets, for a cursor names a bar"
            raise refusal("argument_invalid", f"{message}; received cursor and {len(self.datasets)} datasets")
        self._shown = native.DEFAULT_LOOKBACK if self._lookback is None else lookback_of(self._lookback)
        windows = [episodes.on(each, self._shown) for each in self.datasets]
        starts = [start for start, *_ in windows]
        self._comes_and_goes = any(map(comes_and_goes, self.datasets, starts))
        settings |= {
            "windows": windows,
            "autoreset": _MODES[self.autoreset_mode],
            "reward": self.reward_scheme,
            "lookback": self._shown,
            "observation": "history" if self._kind == "dict" and self._lookback is not None else self._kind,
        }
        lanes = [(i % len(self.datasets), self.costs[i], self.limits[i]) for i in range(self.num_envs)]
        return native.Batch([each._core for each in self.datasets], lanes, settings, 0)

    def _prepare(self) -> None:
        n, n_bars = self.datasets[0].n_symbols, max(each.n_bars for each in self.datasets)
        self.single_action_space = action_space(n, list(dict.fromkeys(self.limits)))
        self.single_observation_space = observation_space(self._kind, n, self._lookback, n_bars)
        self._layout = (self._kind, self.num_envs, self.single_observation_space)
        self._is_seeded = False
        self._last: native.Buffers | None = None
        self._final: Observation = None
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._last, self._final = slot_of(*self._layout)[:2]
        if not self._copies:
            self._turns, self._turn = turns_of(self._core, *self._layout), 0
        # Replaced by the native methods at the first reset, so that no step pays for asking.
        self._step: Callable[..., int] = self._refuse
        self._step_new: Callable[..., Any] = self._refuse

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode of every lane; with a seed, its first.

        Args:
            seed: Seed of lane 0; lane i has `seed + i`.
            options: `{"reset_mask": mask}` resets the lanes that are set in it, shape `(num_envs,)`, bool.

        Raises:
            OpenOutcryError: the seed or the mask cannot be used; no lane has moved.
        """
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        most = 2**64 - self.num_envs
        first = None if seed is None else whole("seed", seed, 0, most)
        mask = self._mask_of(options)
        super().reset(seed=seed)
        if first is None and not self._is_seeded:
            first = secrets.randbelow(most + 1)
        self._core.reset(first, mask)
        self._is_seeded = True
        self._step, self._step_new = self._core.step, self._core.step_new
        about = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask.copy()
        info: dict[str, Any] = {"reward_scheme": np.full(self.num_envs, self.reward_scheme, dtype=object)}
        info["_reward_scheme"] = about
        if self._comes_and_goes:
            info["tradable"], info["_tradable"] = self._core.tradable, about
        if self._copies:
            return self._core.observe_new(), info
        bound, observation, *_, after = self._turns[self._turn]
        self._core.observe(bound)
        self._turn = after
        return observation, info

    def step(self, actions: npt.NDArray[Any], out: Observation = None, hold: _Flags | None = None) -> _Stepped:
        """Trade every lane to target weights and move on by one bar.

        Args:
            actions: Target weights, shape `(num_envs, n)`, float32 or float64, signed fractions of NAV, C-contiguous.
            out: Where the observation is written and what is returned for it, such as a row of a rollout: an array of
                the observation's shape and dtype, or a dict of them; None for one of the environment's own.
            hold: Shape `(num_envs, n)`, bool: symbols to leave as they are, whatever their weight says; None for none.

        Raises:
            OpenOutcryError: an array has the wrong shape, dtype or layout, a weight is not finite, or a lane's episode
                is over and autoreset is disabled; no lane has moved.
        """
        if out is None and not self._copies:
            bound, observation, rewards, terminations, truncations, reset, after = self._turns[self._turn]
            # Not `self._step(...)`, which Python looks up as a method of the class before it finds it here.
            trade = self._step
            said = trade(actions, hold, bound, self._last)
            # Only now: a step that is refused leaves what the last one returned.
            self._turn = after
        elif out is None or self._kind == "flat":
            trade = self._step_new
            made = trade(actions, hold, self._last, out)
            observation, rewards, terminations, truncations, reset, said = made
        else:
            bound, observation, rewards, terminations, truncations, reset = slot_of(*self._layout, out)
            said = self._step(actions, hold, bound, self._last)
        info: dict[str, Any] = {}
        if said or self._comes_and_goes:
            self._tell(info, (terminations, truncations, reset), said)
        return observation, rewards, terminations, truncations, info

    def close_extras(self, **kwargs: Any) -> None:
        """Refuse to be stepped from now on."""
        self._step = self._step_new = self._refuse

    @cached_property
    def action_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """The weights of all lanes."""
        # Made when asked for: the bounds of a large batch take more memory than its observations.
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """What all lanes are shown."""
        return batch_space(self.single_observation_space, self.num_envs)

    @property
    def dataset(self) -> Dataset:
        """The market of lane 0, which is that of all lanes unless several were given."""
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
        returns = self._core.returns(0)
        padded = np.concatenate([np.zeros((self._shown - 1, returns.shape[1]), dtype=np.float32), returns])
        return np.lib.stride_tricks.sliding_window_view(padded, self._shown, axis=0).transpose(0, 2, 1)

    def histories(self, cursors: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the log returns up to the bars of cursors.

        They are those of a flat observation, shape `(..., lookback, n)`, float32, oldest first. `cursors` are what this
        environment has shown.
        """
        if len(self.datasets) > 1:
            message = "`histories` needs lanes of one dataset, for a cursor names a bar"
            raise refusal("argument_invalid", f"{message}; received {len(self.datasets)} datasets")
        return np.asarray(self._histories[cursors])

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(each.name for each in self.datasets))
        shown = f"observation={self._kind!r}, autoreset_mode={self.autoreset_mode.name}"
        return f"OpenOutcryVectorEnv({names}, num_envs={self.num_envs}, {shown})"

    def __reduce__(self) -> Any:
        hint = "hint: pickle what makes it instead"
        raise TypeError(f"an OpenOutcryVectorEnv can be neither pickled nor copied; {hint}")

    def _refuse(self, *_: Any) -> Any:
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        message = "a step needs a running episode; received a step before the first `reset`"
        raise refusal("episode_over", message)

    def _tell(self, info: dict[str, Any], flags: tuple[_Flags, _Flags, _Flags], said: int) -> None:
        """Add to `info` what a step has to tell beside its results."""
        terminations, truncations, reset = flags
        if self._comes_and_goes:
            info["tradable"], info["_tradable"] = self._core.tradable, np.ones(self.num_envs, dtype=np.bool_)
        if said & 2:
            info["reset"], info["_reset"] = reset, reset
        if self._final is None or not said & 1:
            return
        ended = terminations | truncations
        # An empty array of objects holds None.
        shown, finals, dates = self._final, np.empty(self.num_envs, dtype=object), np.empty(self.num_envs, dtype=object)
        navs, lanes = np.zeros(self.num_envs), np.flatnonzero(ended).tolist()
        for lane, (nav, bar) in zip(lanes, self._core.ended(lanes), strict=True):
            each = {k: v[lane].copy() for k, v in shown.items()} if isinstance(shown, dict) else shown[lane].copy()
            finals[lane], navs[lane] = each, nav
            dates[lane] = self.datasets[lane % len(self.datasets)].dates[bar]
        info["final_obs"], info["_final_obs"] = finals, ended
        info["final_info"] = {"nav": navs, "_nav": ended.copy(), "date": dates, "_date": ended.copy()}
        info["_final_info"] = ended.copy()

    def _mask_of(self, options: dict[str, Any] | None) -> _Flags | None:
        if options is None or "reset_mask" not in options:
            return None
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            received = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
            message = f"`reset_mask` must be an array of bool and shape ({self.num_envs},); received {received}"
            raise refusal("shape_mismatch", message)
        if not mask.any():
            raise refusal("argument_invalid", "`reset_mask` must be set in at least one lane; received none")
        if not self._is_seeded and not mask.all():
            message = "the first `reset` must be of all lanes"
            raise refusal("argument_invalid", f"{message}; received a mask of {int(mask.sum())}")
        return mask


__all__ = ["Observation", "OpenOutcryVectorEnv"]
