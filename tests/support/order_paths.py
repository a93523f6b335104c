"""Fills of one symbol's order and exits along a path of prices.

A path is a list of turning points; prices are continuous between them. It knows nothing of phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isnan

from order_fills import no_worse, reached, through
from order_market import Order, sign


@dataclass
class Walk:
    """An account on its way along a path. `q` is the order that is not filled yet."""

    h: float
    q: float
    order: Order
    target: float  # the sign of the positions that the exits belong to
    cash: float = 0.0

    def fill(self, q: float, price: float) -> None:
        self.h, self.cash = self.h + q, self.cash - q * price

    def enter(self, price: float) -> None:
        """Execute the order at a price."""
        q, self.q = self.q, 0.0
        self.fill(q, price)

    def leave(self, price: float) -> None:
        """Execute an exit at a price; a reducing order has nothing left to reduce."""
        if sign(self.q) == -sign(self.h):
            self.q = 0.0
        self.fill(-self.h, price)

    @property
    def protected(self) -> bool:
        return self.h != 0.0 and sign(self.h) == self.target

    def trigger(self, price: float) -> None:
        """Execute a stop that is reached; a stop-limit is looked at once."""
        if isnan(self.order.limit_price) or no_worse(sign(self.q), price, self.order.limit_price):
            self.enter(price)
        self.q = 0.0

    def settle_at(self, price: float) -> None:
        """Execute exits that are met where the path is."""
        d = -sign(self.h)
        if self.protected and (reached(d, price, self.order.stop_loss) or no_worse(d, price, self.order.take_profit)):
            self.leave(price)

    def start(self, o: float) -> None:
        """Execute what the open decides."""
        order, d = self.order, sign(self.q)
        if self.q == 0.0 or order.at_close:
            pass
        elif not isnan(order.stop_price):
            if reached(d, o, order.stop_price):
                self.trigger(o)
        elif isnan(order.limit_price) or no_worse(d, o, order.limit_price):
            self.enter(o)
        self.settle_at(o)

    def levels(self, x: float, y: float) -> list[tuple[float, str]]:
        """Return the prices between x and y at which something happens, with what happens."""
        order, d, found = self.order, sign(self.q), []
        if self.protected:
            away = -sign(self.h)
            if reached(away, y, order.stop_loss):
                found.append((order.stop_loss, "stop_loss"))
            if through(away, y, order.take_profit):
                found.append((order.take_profit, "take_profit"))
        if self.q != 0.0 and not order.at_close:
            if not isnan(order.stop_price):
                if reached(d, y, order.stop_price):
                    found.append((order.stop_price, "stop"))
            elif through(d, y, order.limit_price):
                found.append((order.limit_price, "limit"))
        return [(level, what) for level, what in found if min(x, y) <= level <= max(x, y)]

    def move(self, x: float, y: float) -> None:
        """Walk from price x to price y."""
        while levels := self.levels(x, y):
            x, what = min(levels, key=lambda each: abs(each[0] - x))
            if what == "stop":
                self.trigger(x)
            elif what == "limit":
                self.enter(x)
            else:
                self.leave(x)
            self.settle_at(x)

    def finish(self, close: float) -> float:
        """Execute an order at the close, and return cash and shares at that price."""
        limit = self.order.limit_price
        if self.order.at_close and (isnan(limit) or no_worse(sign(self.q), close, limit)):
            self.enter(close)
        return self.cash + self.h * close


def value_on(path: list[float], h: float, q: float, order: Order, target: float) -> float:
    """Return cash and shares at the last price of a path, without costs."""
    walk = Walk(h, q, order, target)
    walk.start(path[0])
    for x, y in pairwise(path):
        walk.move(x, y)
    return walk.finish(path[-1])
