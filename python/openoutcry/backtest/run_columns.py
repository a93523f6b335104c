"""Columns of the data frame of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset

Floats = npt.NDArray[np.float64]


class _Run(Protocol):
    """The parts of a run that are columns of its frame."""

    dataset: Dataset

    @property
    def nav(self) -> Floats: ...
    @property
    def returns(self) -> Floats: ...
    @property
    def turnover(self) -> Floats: ...
    @property
    def costs(self) -> Mapping[str, Floats]: ...
    @property
    def weights(self) -> Floats: ...


def run_columns(run: _Run) -> dict[str, npt.NDArray[Any]]:
    """Return NAV, return, turnover, costs and weights per bar, shape `(n_bars,)` each."""
    columns = {"nav": run.nav, "return": np.concatenate([[np.nan], run.returns])}
    for kind, values in {"turnover": run.turnover, **run.costs}.items():
        columns[kind] = np.concatenate([[0.0], values])
    for symbol, weights in zip(run.dataset.symbols, run.weights.T, strict=True):
        columns[f"weight_{symbol}"] = weights
    return columns
