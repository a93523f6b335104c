"""Views of the accounts and markets of lanes."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.settings import KnownArguments, Setting

_Flags: TypeAlias = npt.NDArray[np.bool_]


class LaneViews(KnownArguments):
    """Accounts and markets of the lanes of a batch."""

    datasets = Setting[tuple[Dataset, ...]]("create another environment")
    _core: native.Batch
    _shown: int

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


__all__ = ["LaneViews"]
