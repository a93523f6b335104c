"""Views of the accounts and markets of lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import logger, spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.action_schemes import ActionScheme
from openoutcry.gym.buffers import RotatingSet, allocate_buffers
from openoutcry.gym.episode_markets import EpisodeMarkets
from openoutcry.gym.observed_columns import ObservedColumns
from openoutcry.gym.rendering import LaneFrames, NavHistory, lane_frames
from openoutcry.gym.settings import KnownArguments, Setting, assignment_hint, option_hint
from openoutcry.gym.spaces import observation_space
from openoutcry.gym.step_info import LaneInfos
from openoutcry.openoutcry_py import CostModel, Limits

_Flags: TypeAlias = npt.NDArray[np.bool_]


class LaneViews(KnownArguments):
    """Accounts and markets of the lanes of a batch."""

    # What a step reads, and what is created again: Python stores at most 30 other attributes in their fastest form.
    __slots__ = (
        "_core", "_created", "_final", "_has_extras", "_infos", "_invalid", "_last", "_rotating", "_scheme", "_step",
        "_step_new",
    )  # fmt: skip

    dataset = Setting[Dataset](option_hint("dataset"))
    """The market of lane 0, and of all lanes unless several markets were passed."""
    costs = Setting[tuple[CostModel, ...]](option_hint("costs"))
    limits = Setting[tuple[Limits, ...]](option_hint("limits"))
    num_envs = Setting[int](assignment_hint("num_envs"))
    autoreset_mode = Setting[AutoresetMode](assignment_hint("autoreset_mode"))
    render_lane = Setting[int](assignment_hint("render_lane"))
    closed: bool
    render_mode: str | None
    single_action_space: spaces.Space[Any]
    single_observation_space: spaces.Space[Any]
    _core: native.Batch
    # Spaces and windows, created on first access: the bounds of a large batch take more memory than its observations.
    _created: dict[str, Any]
    _final: Any
    _has_extras: bool
    _infos: LaneInfos
    _invalid: _Flags | None
    _kind: str
    _last: native.Buffers | None
    _markets: EpisodeMarkets
    _navs: NavHistory | None
    _observed: ObservedColumns
    # None for new arrays each step.
    _rotating: RotatingSet | None
    _scheme: ActionScheme | None
    _shown: int
    _step: Callable[..., int]
    _step_new: Callable[..., Any]

    @property
    def _dataset(self) -> Dataset:
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
    def dataset_indices(self) -> list[int]:
        """Index in `datasets` of the market of every lane."""
        return self._core.markets

    @property
    def done(self) -> _Flags:
        """Whether the episode of a lane is over, shape `(num_envs,)`."""
        return self._core.done

    def _once(self, name: str, create: Callable[[], Any]) -> Any:
        if name not in self._created:
            self._created[name] = create()
        return self._created[name]

    def _windows(self) -> Any:
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
        return np.asarray(self._once("windows", self._windows)[cursors])

    @property
    def action_space(self) -> spaces.Space[Any]:
        """Space of the actions of all lanes."""
        space: spaces.Space[Any]
        space = self._once("actions", lambda: batch_space(self.single_action_space, self.num_envs))
        return space

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of the observations of all lanes."""
        space: spaces.Space[Any]
        space = self._once("observations", lambda: batch_space(self.single_observation_space, self.num_envs))
        return space

    def render(self) -> LaneFrames | None:
        """Return one frame per lane, `render_lane` first, each drawn when accessed."""
        if self.render_mode is None or self._navs is None:
            logger.warn("`render` needs a `render_mode`, and a `reset` before it")
            return None
        shape = self.datasets[0].n_symbols, None, self._markets.n_bars
        space = observation_space("dict", *shape, self._observed)
        bound, accounts, *_ = allocate_buffers("dict", self.num_envs, space)
        self._core.observe(bound)
        markets = (self.datasets, self._core.markets, self._core.bars)
        return lane_frames(self.render_mode, self._navs, accounts, markets, self.render_lane)

    def action_masks(self) -> _Flags:
        """Return the valid choices of discrete actions, as MaskablePPO reads them.

        Shape `(num_envs, n * n_levels)`. A symbol that is not listed has one valid level: `hold`, or the one
        nearest to 0.

        Raises:
            OpenOutcryError: `argument_invalid`: the action is not discrete.
        """
        if self._scheme is None:
            raise refusal("argument_invalid", "`action_masks` needs discrete actions; received weights")
        return self._scheme.masks(self._core.tradable)

    def close_extras(self, **kwargs: Any) -> None:
        """Make further steps raise `ClosedEnvironmentError`."""
        self._step = self._step_new = self._refuse

    def _refuse(self, *_: Any) -> Any:
        if self.closed:
            raise ClosedEnvironmentError("the environment has been closed")
        message = "a step needs a running episode; received a step before the first `reset`"
        raise refusal("episode_over", message)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(dataset.name for dataset in self.datasets))
        shown = f"observation={self._kind!r}, autoreset_mode={self.autoreset_mode.name}"
        return f"OpenOutcryVectorEnv({names}, num_envs={self.num_envs}, {shown})"


__all__ = ["LaneViews"]
