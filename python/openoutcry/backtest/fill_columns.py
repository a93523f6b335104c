"""Fills of a run as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset

__all__ = ["FillColumns", "fill_columns"]

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FillColumns = tuple[Places, Places, Floats, Floats]
"""Bar, symbol, shares and price of each fill, ordered by bar, phase of the bar, and symbol."""


def fill_columns(fills: FillColumns, dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    """Return the columns `date, bar, symbol, shares, price` of fills, in their order."""
    bars, symbols, shares, prices = fills
    dates = dataset._core.dates
    return {
        "date": np.array([dates[bar] for bar in bars.tolist()], dtype=f"U{len(dates[0])}"),
        "bar": bars,
        "symbol": np.asarray(dataset.symbols)[symbols],
        "shares": shares,
        "price": prices,
    }
