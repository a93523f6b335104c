"""Costs by symbol and bar, and funding.

They are columns of a market in place of numbers of the cost model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import unmasked_array

CHARGES = ("half_spread_bps", "fee_bps", "borrow_bps", "funding")
"""Names of the columns."""


class Charges(TypedDict, total=False):
    """Costs by symbol in place of those of `CostModel`, and funding.

    Shape `(n_bars, n_symbols)`, or `(n_symbols,)` for all bars; NaN for the cost model, and for no funding.

    Attributes:
        half_spread_bps: In place of `slippage_bps`.
        fee_bps: In place of `fee_bps`.
        borrow_bps: Annual, in place of `borrow_bps`.
        funding: Rate of the bar that longs pay and shorts receive where it is above 0; the sum of all rates of a bar.
    """

    half_spread_bps: npt.ArrayLike
    fee_bps: npt.ArrayLike
    borrow_bps: npt.ArrayLike
    funding: npt.ArrayLike


def checked_charges(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return keyword arguments that all name charges."""
    if unknown := [name for name in given if name not in CHARGES]:
        raise TypeError(f"Dataset.from_arrays() got an unexpected keyword argument '{unknown[0]}'")
    return given


def on_all_bars(values: Any, n_bars: int, n_symbols: int) -> Any:
    """Return values, with one row of symbols repeated for every bar."""
    row = values if np.ma.isMaskedArray(values) else np.asarray(values)
    # A series of pandas has labels, which may be those of the bars.
    is_row = row.shape == (n_symbols,) and not hasattr(values, "iloc")
    return np.tile(unmasked_array("charges", row), (n_bars, 1)) if is_row else values


def of_periods(values: Mapping[str, Any], starts: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return the charges of longer bars that begin at `starts`.

    Costs are the first known ones of the period, funding is the sum of all rates.
    """
    given = {name: values[name] for name in CHARGES if values.get(name) is not None}
    return {
        name: np.add.reduceat(np.nan_to_num(table), starts, axis=0) if name == "funding" else _first(table, starts)
        for name, table in given.items()
    }


def _first(table: npt.NDArray[np.float64], starts: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the first number of each period and symbol, NaN without one."""
    bars = np.where(np.isnan(table), len(table), np.arange(len(table))[:, None])
    first = np.minimum.reduceat(bars, starts, axis=0)
    # A number of a later period is none of this one.
    ends = np.append(starts[1:], len(table))[:, None]
    found = np.take_along_axis(table, np.minimum(first, len(table) - 1), axis=0)
    return np.where(first < ends, found, np.nan)
