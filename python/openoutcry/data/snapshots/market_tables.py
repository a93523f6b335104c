"""The numbers of a market by column, as snapshots hold and comparisons walk them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from openoutcry import Dataset

PRICES = ("close", "open", "high", "low")
TABLES = (*PRICES, "volume", "dividends", "splits", "tradable", "delistings")


def tables_of(dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    """Return the tables that a market has, by name.

    Each has shape `(n_bars, n_symbols)`.
    """
    every = {name: getattr(dataset, name) for name in TABLES}
    return {name: table for name, table in every.items() if table is not None}
