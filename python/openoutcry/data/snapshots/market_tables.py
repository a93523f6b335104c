"""Tables of a dataset by column name, for snapshots and comparisons."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from openoutcry.data.charges import CHARGES
from openoutcry.data.dataset import Dataset

PRICES = ("close", "open", "high", "low")
TABLES = (*PRICES, "volume", "dividends", "splits", "tradable", "delistings", *CHARGES)


def tables_of(dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    """Return the tables of a dataset by name. Shape `(n_bars, n_symbols)` each."""
    tables = {name: getattr(dataset, name) for name in TABLES}
    return {name: table for name, table in tables.items() if table is not None}
