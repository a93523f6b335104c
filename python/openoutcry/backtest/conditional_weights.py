"""Limits, stops, exits and times of the orders of a table of weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import unmasked_array
from openoutcry.backtest.weights import aligned_table, weight_table
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

PRICES = ("limit_price", "stop_price", "stop_loss", "take_profit")
_TIMES = ("open", "close")


class OrderConditions(NamedTuple):
    """Conditions as users give them.

    Each is an array or a frame of the shape of the weights, or None.

    Attributes:
        limit_price: Highest price of a purchase, lowest price of a sale.
        stop_price: Price that makes an order active.
        stop_loss: Price at which a losing position is closed.
        take_profit: Price at which a winning position is closed.
        at: `"open"` or `"close"` for all orders, or an array of both.
    """

    limit_price: Any = None
    stop_price: Any = None
    stop_loss: Any = None
    take_profit: Any = None
    at: Any = "open"

    def given(self) -> Sequence[str]:
        """Return the names of the conditions that are given."""
        prices = [name for name in PRICES if getattr(self, name) is not None]
        return [*prices, "at"] if not isinstance(self.at, str) or self.at != "open" else prices


class ConditionalWeights(NamedTuple):
    """Target weights, and the conditions of their orders."""

    weights: Any
    conditions: OrderConditions

    def tables(self, dataset: Dataset) -> tuple[npt.NDArray[np.float64], native.Conditions]:
        """Return the weights and the conditions as arrays of shape `(n_bars, n_symbols)`.

        Raises:
            OpenOutcryError: `shape_mismatch`: one of them has another shape, other dates or other symbols.
                `unknown_time`: a time is neither `open` nor `close`.
        """
        weights = weight_table(dataset, self.weights)
        conditions: native.Conditions = {
            "limit_price": self._price(dataset, "limit_price"),
            "stop_price": self._price(dataset, "stop_price"),
            "stop_loss": self._price(dataset, "stop_loss"),
            "take_profit": self._price(dataset, "take_profit"),
            "at_close": _at_close(dataset, self.conditions.at, weights),
        }
        return weights, conditions

    def _price(self, dataset: Dataset, name: str) -> npt.NDArray[np.float64] | None:
        price = getattr(self.conditions, name)
        return None if price is None else aligned_table(dataset, price, name)


def _at_close(dataset: Dataset, at: Any, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_] | None:
    """Return which orders fill at the close.

    A single word is for the orders that are no holds.
    """
    if isinstance(at, str):
        _check_times([at])
        return None if at == "open" else ~np.isnan(weights)
    if hasattr(at, "columns") or hasattr(at, "column_names"):
        if not hasattr(at, "iloc"):
            wanted = "`at` must be `open`, `close`, an array of both, or a pandas frame"
            raise refusal("argument_invalid", f"{wanted}; received {type(at).__name__}")
        _check_times(np.asarray(at, dtype=object).ravel().tolist())
        # As numbers, so that dates and symbols are checked as those of a price.
        return np.ascontiguousarray(aligned_table(dataset, (at == "close").astype(np.float64), "at") != 0.0)
    times = unmasked_array("at", np.ma.asarray(at) if np.ma.isMaskedArray(at) else np.asarray(at, dtype=object))
    if times.shape != weights.shape:
        wanted = f"`at` must be `open`, `close`, or texts of shape {weights.shape}, that of the weights"
        raise refusal("shape_mismatch", f"{wanted}; received {times.shape}")
    _check_times(times.ravel().tolist())
    return np.ascontiguousarray(times == "close", dtype=np.bool_)


def _check_times(times: Iterable[object]) -> None:
    if unknown := [time for time in times if not isinstance(time, str) or time not in _TIMES]:
        raise refusal("unknown_time", f"`at` must be `open` or `close`; received {unknown[0]!r}")
