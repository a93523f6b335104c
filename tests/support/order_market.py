"""Markets, rules, orders and accounts of the reference of day orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isnan, nan
from typing import Any

import numpy as np
from markets import Costs, Limits, Market

LANES = 8


@dataclass(frozen=True)
class Quote:
    """One symbol on one bar. NaN is missing if the field has no neutral value."""

    close: float
    open: float
    high: float
    low: float
    volume: float
    dividend: float
    split: float
    tradable: bool
    delisting_return: float

    @property
    def settles(self) -> bool:
        return not isnan(self.delisting_return)


@dataclass(frozen=True)
class DayMarket(Market):
    """A market with the ranges that conditional orders are compared with."""

    high: Any = None
    low: Any = None

    def quotes(self, t: int) -> list[Quote]:
        """Return the quotes of bar `t`, one per symbol."""
        return self.table[t]

    @cached_property
    def table(self) -> list[list[Quote]]:
        return [self.read(t) for t in range(len(self.close))]

    def read(self, t: int) -> list[Quote]:
        def row(values: Any, neutral: float = nan) -> list[float]:
            cells = [nan] * len(self.close[t]) if values is None else np.array(values[t], dtype=float).tolist()
            return [neutral if isnan(cell) else cell for cell in cells]

        columns = (
            *(row(values) for values in (self.close, self.open, self.high, self.low, self.volume)),
            row(self.dividends, 0.0),
            row(self.splits, 1.0),
            [cell != 0.0 for cell in row(self.tradable, 1.0)],
            row(self.delistings),
        )
        return [Quote(*cells) for cells in zip(*columns, strict=True)]


@dataclass(frozen=True)
class DayCosts(Costs):
    """`stop_gap` is the part of the overshoot that an inside stop loses."""

    stop_gap: float = 0.0


@dataclass(frozen=True)
class DayLimits(Limits):
    """With `cash_account` no purchase makes cash negative."""

    cash_account: bool = False


@dataclass(frozen=True)
class Rules:
    """Costs, limits and the fill seed of a run."""

    costs: DayCosts = field(default_factory=DayCosts)
    limits: DayLimits = field(default_factory=lambda: DayLimits(max_weight=inf, max_gross=inf))
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.costs.stop_gap <= 1.0:
            raise ValueError("cost_invalid")
        if self.limits.cash_account and self.limits.allow_short:
            raise ValueError("limit_invalid")


@dataclass(frozen=True)
class Order:
    """An order of one symbol. A NaN weight holds; a NaN price is none."""

    weight: float = nan
    limit_price: float = nan
    stop_price: float = nan
    stop_loss: float = nan
    take_profit: float = nan
    at_close: bool = False

    @property
    def prices(self) -> tuple[float, ...]:
        return self.limit_price, self.stop_price, self.stop_loss, self.take_profit

    @property
    def has_exits(self) -> bool:
        return not (isnan(self.stop_loss) and isnan(self.take_profit))

    @property
    def is_plain(self) -> bool:
        return all(isnan(price) for price in self.prices) and not self.at_close

    def divided(self, split: float) -> Order:
        """Return the order on the share basis after a split."""
        limit, stop, loss, profit = (price / split for price in self.prices)
        return Order(self.weight, limit, stop, loss, profit, self.at_close)


HOLD = Order()
Orders = Mapping[str, Order]


class OrderError(ValueError):
    """A decision that is refused as a whole; the text is the slug."""


def check(orders: Orders) -> None:
    """Raise the slug of the first order that cannot be part of a decision."""
    for order in orders.values():
        if order.weight in (inf, -inf):
            raise OrderError("weight_not_finite")
        if any(not (isnan(price) or 1e-15 <= price <= 1e15) for price in order.prices):
            raise OrderError("order_price_invalid")
        conditional = not (isnan(order.limit_price) and isnan(order.stop_price)) or order.at_close
        conflicts = (
            order.at_close and not isnan(order.stop_price),
            order.has_exits and (order.at_close or order.weight == 0.0),
            isnan(order.weight) and conditional,
        )
        if any(conflicts):
            raise OrderError("conflicting_fields")


@dataclass(frozen=True)
class Account:
    """The account at the close of bar `t`."""

    t: int
    cash: float
    nav: float
    h: tuple[float, ...]
    m: tuple[float, ...]
    settled: tuple[bool, ...]
    average: tuple[float, ...]
    terminated: bool = False


def opened(market: DayMarket, start: int) -> Account:
    """Return the account with which an episode starts at the close of bar `start`."""
    n_symbols = len(market.names())
    m, settled = [nan] * n_symbols, [False] * n_symbols
    for t in range(start + 1):
        for i, quote in enumerate(market.quotes(t)):
            m[i] = m[i] / quote.split if isnan(quote.close) else quote.close
            settled[i] |= quote.settles
    flat = (0.0,) * n_symbols
    return Account(start, 1.0, 1.0, flat, tuple(m), tuple(settled), flat)


def sign(x: float) -> float:
    return float((x > 0.0) - (x < 0.0))


def lane_sum(terms: Mapping[int, float]) -> float:
    """Return the sum of section 1.3 over terms by the place of their symbol."""
    lane = [0.0] * LANES
    for i in sorted(terms):
        lane[i % LANES] += terms[i]
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


def ratio(x: float, y: float) -> float:
    """Return x / y as IEEE defines it; y may be 0."""
    return x / y if y != 0.0 else (nan if x == 0.0 or isnan(x) else inf * sign(x))
