"""View of the day orders of one symbol, on the bars that they met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openoutcry.report.views.view_checks import Floats

__all__ = ["OrderMark", "OrdersView"]


class OrderMark(NamedTuple):
    """A price on a bar.

    Kinds of prices of orders are `limit`, `stop`, `stop loss` and `take profit`. Those of fills are `purchase`, `sale`,
    and, for an exit, `stop loss` and `take profit`.
    """

    bar: int
    kind: str
    price: float


@dataclass(frozen=True)
class OrdersView:
    """Bars of a symbol with its day orders and fills.

    Prices are on the share basis of their bar.

    Attributes:
        symbol: The symbol.
        n_orders: Number of its day orders in the whole run.
        dates: ISO 8601 date or time of each bar shown.
        lows: Lowest known price of each bar, NaN for none; float64.
        highs: Highest known price of each bar.
        closes: Close of each bar.
        prices: Prices of its orders.
        fills: Its fills.
    """

    symbol: str
    n_orders: int
    dates: Sequence[str]
    lows: Floats
    highs: Floats
    closes: Floats
    prices: Sequence[OrderMark]
    fills: Sequence[OrderMark]
