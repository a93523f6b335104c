"""Random markets with ranges, and random tables of day orders."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from markets import Array, Costs, Limits, Market, Shape, chance, draw_open, pick, random_market
from numpy.random import Generator
from order_market import DayCosts, DayLimits, DayMarket, Order, Rules

PRICES = ("limit_price", "stop_price", "stop_loss", "take_profit")


@dataclass(frozen=True)
class OrderTable:
    """Orders of every bar: arrays of shape `(n_bars, n_symbols)`, NaN for none."""

    weight: Array
    limit_price: Array
    stop_price: Array
    stop_loss: Array
    take_profit: Array
    at_close: Any

    def orders(self, names: tuple[str, ...], t: int) -> dict[str, Order]:
        """Return the orders that are decided at the close of bar `t`."""
        columns = [getattr(self, name)[t].tolist() for name in ("weight", *PRICES, "at_close")]
        return {name: Order(*cells) for name, cells in zip(names, zip(*columns, strict=True), strict=True)}


@dataclass(frozen=True)
class DayDraw:
    """A random run of day orders."""

    market: DayMarket
    table: OrderTable
    start: int
    end: int
    rules: Rules


def day_market(market: Market, high: Any = None, low: Any = None) -> DayMarket:
    """Return a market of the 1.0 reference with ranges."""
    return DayMarket(**{name: getattr(market, name) for name in market.__dataclass_fields__}, high=high, low=low)


def day_rules(costs: Costs, limits: Limits, seed: int = 0) -> Rules:
    """Return costs and limits of the 1.0 reference as rules."""
    return Rules(DayCosts(**asdict(costs)), DayLimits(**asdict(limits)), seed)


def volatility(close: Array) -> Array:
    """Return the scale of a symbol's moves over a bar, at least 0.001."""
    moves = np.abs(np.diff(np.log(close), axis=0))
    moves = np.where(np.isfinite(moves), moves, 0.0)
    return np.asarray(np.maximum(np.median(moves, axis=0), 1e-3))


def marks(market: Market) -> Array:
    """Return the last close up to each bar, on the share basis of that bar."""
    table, mark = np.empty(np.shape(market.close)), np.full(np.shape(market.close)[1], np.nan)
    for t, close in enumerate(market.close):
        ratio = 1.0 if market.splits is None else np.nan_to_num(market.splits[t], nan=1.0)
        mark = table[t] = np.where(np.isnan(close), mark / ratio, close)
    return table


def draw_range(rng: Generator, market: Market, scale: Array) -> tuple[Any, Any]:
    """Return highs and lows.

    Some markets have none, miss cells, or do not contain open and close.
    """
    if chance(rng, 0.1):
        return None, None
    opens = market.close if market.open is None else market.open
    reach = scale * np.abs(rng.standard_normal((2, *market.close.shape)))
    if chance(rng, 0.15):
        reach *= rng.choice([1.0, -0.3], reach.shape)
    high, low = np.fmax(opens, market.close) * np.exp(reach[0]), np.fmin(opens, market.close) * np.exp(-reach[1])
    if chance(rng, 0.3):
        high[rng.random(high.shape) < 0.1] = np.nan
        low[rng.random(low.shape) < 0.1] = np.nan
    return high, low


def draw_price(rng: Generator, mark: Array, scale: Array, probability: float) -> Array:
    """Return prices around the last close, NaN where there is no mark or no order."""
    prices = mark * np.exp(scale * rng.normal(0.0, 1.0, mark.shape))
    return np.where(rng.random(mark.shape) < probability, prices, np.nan)


def draw_table(rng: Generator, weights: Array, mark: Array, scale: Array) -> OrderTable:
    """Return orders without conflicting fields; some exits are crossed."""
    shape: Shape = weights.shape
    limit, stop = (draw_price(rng, mark, scale, p) for p in (pick(rng, 0.0, 0.3, 0.5), pick(rng, 0.0, 0.25, 0.4)))
    likely = pick(rng, 0.0, 0.4, 0.7)
    away = np.where(rng.random(shape) < 0.95, 1.0, -1.0) * np.where(weights < 0.0, -1.0, 1.0)
    loss, profit = (
        np.where(rng.random(shape) < likely, mark * np.exp(away * side * scale * rng.gamma(1.5, 1.0, shape)), np.nan)
        for side in (-1.0, 1.0)
    )
    held, flat = np.isnan(weights), weights == 0.0
    at_close = (rng.random(shape) < pick(rng, 0.0, 0.2)) & ~held
    stop = np.where(at_close | held, np.nan, stop)
    limit = np.where(held, np.nan, limit)
    loss, profit = (np.where(at_close | flat, np.nan, each) for each in (loss, profit))
    return OrderTable(weights, limit, stop, loss, profit, at_close)


def random_day(seed: int) -> DayDraw:
    """Return a market with ranges, orders and rules drawn from `seed`."""
    market, weights, start, end, costs, limits = random_market(seed)
    rng = np.random.default_rng([seed, 36])
    if market.open is None and chance(rng, 0.7):
        opens = draw_open(rng, np.array(market.close), market.splits)
        market = replace(market, open=opens)
    scale = volatility(market.close)
    high, low = draw_range(rng, market, scale)
    rules = day_rules(costs, limits, seed)
    cash_account = chance(rng, 0.3)
    rules = Rules(
        replace(rules.costs, stop_gap=pick(rng, 0.0, 0.0, 0.5, 1.0)),
        replace(rules.limits, cash_account=cash_account, allow_short=limits.allow_short and not cash_account),
        seed,
    )
    return DayDraw(day_market(market, high, low), draw_table(rng, weights, marks(market), scale), start, end, rules)
