"""Dates without a close and columns without a value, which are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data import columns
from openoutcry.data.readers.market_checks import bars_with_values, left_out

# Columns in which a missing value is unknown. Without a dividend or a split, there is none.
_UNKNOWN = ("open", "high", "low", "volume", "delistings")


def without_empty(core: native.Dataset, periods_per_year: float | None) -> tuple[native.Dataset, tuple[str, ...]]:
    """Return a market of the plain form without empty dates and columns, and notices.

    Args:
        core: The market.
        periods_per_year: Bars per year as stated; None to infer them from the dates that are left.
    """
    kept = _bars_with_closes(core)
    if not kept.all():
        values = columns.values_of(core)
        kept = bars_with_values({"close": values["close"]} | _events(values))
        values["dates"] = [core.dates[bar] for bar in np.flatnonzero(kept)]
        values |= {name: cells[kept] for name, cells in values.items() if name in ("close", *columns.TABLES)}
        core = columns.native_dataset(values | {"periods_per_year": periods_per_year})
    empty = [name for name in _UNKNOWN if _is_empty(core.column(name))]
    if empty:
        values = {name: cells for name, cells in columns.values_of(core).items() if name not in empty}
        core = columns.native_dataset(values)
    return core, left_out(kept)


def _bars_with_closes(core: native.Dataset) -> npt.NDArray[np.bool_]:
    # The copy is freed before that of the next column.
    close = core.column("close")
    assert close is not None, "every dataset has closes"
    # The largest close of a bar without one is missing.
    return np.asarray(~np.isnan(np.fmax.reduce(close, axis=1)))


def _is_empty(cells: npt.NDArray[np.float64] | None) -> bool:
    return cells is not None and bool(np.isnan(np.fmax.reduce(cells, axis=None)))


def _events(values: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    names = {"dividends": "dividend", "splits": "split", "delistings": "delisting_return"}
    return {role: values[name] for name, role in names.items() if name in values}
