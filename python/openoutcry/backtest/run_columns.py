"""Columns of the data frame of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from openoutcry.backtest.run import Run


def run_columns(run: Run) -> dict[str, npt.NDArray[Any]]:
    """Return NAV, return, turnover, costs and weights per bar, shape `(n_bars,)` each."""
    columns = {"nav": run.nav, "return": np.concatenate([[np.nan], run.returns])}
    for kind, values in {"turnover": run.turnover, **run.costs}.items():
        columns[kind] = np.concatenate([[0.0], values])
    for symbol, weights in zip(run.dataset.symbols, run.weights.T, strict=True):
        columns[f"weight_{symbol}"] = weights
    return columns
