"""Fills of a run as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset

__all__ = ["fill_columns"]


def fill_columns(fills: Sequence[tuple[int, int, float, float]], dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    """Return the columns `date, bar, symbol, shares, price` of fills, in their order."""
    columns = list(zip(*fills, strict=True)) or [()] * 4
    bars, symbols = (np.asarray(column, dtype=np.int64) for column in columns[:2])
    dates = dataset._core.dates
    return {
        "date": np.array([dates[bar] for bar in bars.tolist()], dtype=f"U{len(dates[0])}"),
        "bar": bars,
        "symbol": np.asarray(dataset.symbols)[symbols],
        "shares": np.asarray(columns[2], dtype=np.float64),
        "price": np.asarray(columns[3], dtype=np.float64),
    }
