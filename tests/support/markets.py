"""Markets, costs and limits of the reference engine, and random ones that reach rare branches of a step.

Each feature is present or absent independently, so that seeds cover unusual combinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Shape = tuple[int, int]


class Bar(NamedTuple):
    """One bar, as arrays over symbols. NaN is missing if the field has no neutral value."""

    close: Array
    open: Array
    volume: Array
    dividend: Array
    split: Array
    tradable: Flags
    delisting_return: Array
    settles: Flags


@dataclass(frozen=True)
class Market:
    """Arrays of shape `(n_bars, n_symbols)`; None if the market does not have the field."""

    close: Any
    open: Any = None
    volume: Any = None
    dividends: Any = None
    splits: Any = None
    tradable: Any = None
    delistings: Any = None
    symbols: tuple[str, ...] = ()
    periods_per_year: float = 252.0

    def names(self) -> tuple[str, ...]:
        return self.symbols or tuple(f"S{i}" for i in range(np.shape(self.close)[1]))

    def bars(self) -> list[Bar]:
        def table(values: Any, neutral: float) -> Array:
            cells = np.full(np.shape(self.close), np.nan) if values is None else np.array(values, dtype=float)
            return np.where(np.isnan(cells), neutral, cells)

        close, opens, volume, ends = (
            table(each, np.nan) for each in (self.close, self.open, self.volume, self.delistings)
        )
        tradable = table(self.tradable, 1.0) != 0.0
        columns = close, opens, volume, table(self.dividends, 0.0), table(self.splits, 1.0), tradable, ends
        return [Bar(*rows) for rows in zip(*columns, ~np.isnan(ends), strict=True)]


@dataclass(frozen=True)
class Costs:
    fee_bps: float = 0.0
    slippage_bps: float = 0.0
    slippage_jitter: float = 0.0
    impact_bps: float = 0.0
    financing_bps: float = 0.0
    cash_bps: float = 0.0
    borrow_bps: float = 0.0
    capital: float = 1e6


@dataclass(frozen=True)
class Limits:
    """Limits; infinity means none."""

    max_weight: float = 1.0
    max_gross: float = 1.0
    allow_short: bool = True
    max_participation: float = inf
    maintenance_margin: float = 0.0


def chance(rng: Generator, probability: float) -> bool:
    return bool(rng.random() < probability)


def pick(rng: Generator, *values: float) -> float:
    return values[int(rng.integers(len(values)))]


def size(rng: Generator, low: float, high: float, absurd: float) -> float:
    """Return zero, a log-uniform size in `[low, high)`, or rarely an extreme one."""
    if chance(rng, 0.35):
        return 0.0
    return absurd * float(rng.uniform(0.5, 1.0)) if chance(rng, 0.12) else low * float((high / low) ** rng.random())


def draw_splits(rng: Generator, shape: Shape) -> Array | None:
    if chance(rng, 0.5):
        return None
    ratio = rng.choice([2.0, 4.0, 0.5, 0.25, 1.5, 3.0, 1e-4], shape, p=[0.2, 0.1, 0.2, 0.1, 0.2, 0.15, 0.05])
    splits = np.where(rng.random(shape) < 0.06, ratio, 1.0)
    splits[0] = 1.0
    return np.where(rng.random(shape) < 0.1, np.nan, splits) if chance(rng, 0.3) else splits


def draw_close(rng: Generator, shape: Shape, splits: Array | None) -> Array:
    volatility = 10.0 ** rng.uniform(-3.0, -1.0, shape[1])
    steps = volatility * rng.standard_normal(shape)
    if chance(rng, 0.35):  # jumps large enough to ruin a levered account
        steps += np.where(rng.random(shape) < 0.05, rng.normal(0.0, 0.9, shape), 0.0)
    close = 10.0 ** rng.uniform(-3.0, 4.0, shape[1]) * np.exp(np.cumsum(steps, axis=0))
    return close if splits is None else close / np.cumprod(np.nan_to_num(splits, nan=1.0), axis=0)


def draw_open(rng: Generator, close: Array, splits: Array | None) -> Array | None:
    if chance(rng, 0.35):
        return None
    gap = rng.normal(0.0, pick(rng, 0.0, 0.003, 0.02, 0.3), close.shape)
    before = np.vstack([close[:1], close[:-1]]) / (1.0 if splits is None else np.nan_to_num(splits, nan=1.0))
    opens = before * np.exp(gap)
    return np.where(rng.random(close.shape) < 0.05, np.nan, opens) if chance(rng, 0.3) else opens


def draw_volume(rng: Generator, close: Array, capital: float) -> Array | None:
    if chance(rng, 0.45):
        return None
    # Relative to the account, so that participation ranges from zero to several times the volume.
    volume = capital / close * 10.0 ** rng.uniform(-1.5, 3.0, close.shape[1]) * rng.lognormal(0.0, 0.7, close.shape)
    for missing in (0.0, np.nan):
        if chance(rng, 0.5):
            volume[rng.random(close.shape) < 0.08] = missing
    return volume


def halt(rng: Generator, close: Array, opens: Array | None) -> None:
    """Remove closes in runs of bars; their opens stay about half the time."""
    halted = rng.random(close.shape) < pick(rng, 0.05, 0.2)
    for bar in range(1, len(close)):
        halted[bar] |= halted[bar - 1] & (rng.random(close.shape[1]) < 0.3)
    close[halted] = np.nan
    if opens is not None:
        opens[halted & (rng.random(close.shape) < 0.5)] = np.nan


def list_and_delist(rng: Generator, close: Array, opens: Array | None) -> Array | None:
    """Remove bars before listings and from settlements; return the settlements."""
    n_bars, n_symbols = close.shape
    delistings = np.full(close.shape, np.nan)
    late, never, settle = (chance(rng, p) for p in (0.4, 0.2, 0.5))
    for i in range(n_symbols):
        listed, settled = int(rng.integers(0, n_bars)) if late and chance(rng, 0.3) else 0, n_bars
        if never and chance(rng, 0.2):
            listed = n_bars
        if settle and chance(rng, 0.4):
            bar = int(rng.integers(1, n_bars))
            if np.isfinite(close[listed:bar, i]).any():
                settled, delistings[bar, i] = bar, pick(rng, -1.0, 0.0, 0.2, rng.uniform(-1.0, 0.2))
        for prices in (close, opens):
            if prices is not None:
                prices[:listed, i] = prices[settled:, i] = np.nan
    return delistings if settle else None


def draw_dividends(rng: Generator, close: Array, splits: Array | None, delistings: Array | None) -> Array | None:
    if chance(rng, 0.5):
        return None
    ratio = np.ones(close.shape) if splits is None else np.nan_to_num(splits, nan=1.0)
    dividends = np.where(rng.random(close.shape) < 0.1, np.nan if chance(rng, 0.3) else 0.0, 0.0)
    mark = np.full(
        close.shape[1], np.nan
    )  # the last close on the share basis of the bar, an upper bound of the dividend
    settled = np.zeros(close.shape[1], dtype=bool)
    for bar in range(len(close)):
        paying = np.isfinite(mark) & ~settled & (rng.random(close.shape[1]) < 0.1)
        part = rng.uniform(0.001, 0.9 if chance(rng, 0.1) else 0.05, close.shape[1])
        dividends[bar, paying] = (part * mark)[paying]
        mark = np.where(np.isfinite(close[bar]), close[bar], mark / ratio[bar])
        if delistings is not None:
            settled |= np.isfinite(delistings[bar])
    return dividends


def draw_rows(rng: Generator, shape: Shape) -> Array:
    style, noise = int(rng.integers(5)), rng.standard_normal(shape)
    if style == 0:  # float32 softmax: sums to one only up to rounding
        weights = np.exp(noise).astype(np.float32)
        return (weights / weights.sum(axis=1, keepdims=True, dtype=np.float32)).astype(np.float64)
    if style == 1:
        noise = np.abs(noise)
    gross = rng.uniform(1.0, 5.0, (shape[0], 1)) if style >= 3 else rng.uniform(0.1, 1.3, (shape[0], 1))
    return noise / np.abs(noise).sum(axis=1, keepdims=True) * gross


def draw_weights(rng: Generator, shape: Shape) -> Array:
    weights = draw_rows(rng, shape)
    for value, probability in ((0.0, 0.2), (np.nan, 0.3)):
        if chance(rng, 0.5):
            weights[rng.random(shape) < probability] = value
    if chance(rng, 0.1):
        weights[rng.random(shape) < 0.05] = pick(rng, 100.0, 101.0, -150.0)
    if chance(rng, 0.4):
        for bar in range(1, shape[0]):
            if chance(rng, 0.6):
                weights[bar] = weights[bar - 1]
    return weights


def draw_costs(rng: Generator) -> Costs:
    return Costs(
        fee_bps=size(rng, 0.1, 30.0, 500.0),
        slippage_bps=size(rng, 0.5, 50.0, 6000.0),
        slippage_jitter=pick(rng, 0.0, 0.0, 0.5, 1.0),
        impact_bps=size(rng, 1.0, 300.0, 8000.0),
        financing_bps=size(rng, 50.0, 1000.0, 50_000.0),
        cash_bps=size(rng, 10.0, 500.0, 20_000.0),
        borrow_bps=size(rng, 20.0, 3000.0, 50_000.0),
        capital=float(10.0 ** rng.uniform(3.0, 9.0)),
    )


def draw_limits(rng: Generator) -> Limits:
    return Limits(
        max_weight=pick(rng, 1.0, inf, inf, 0.5, 0.1),
        max_gross=pick(rng, 1.0, 1.0, inf, inf, 0.5, 2.0),
        allow_short=chance(rng, 0.8),
        max_participation=inf if chance(rng, 0.4) else pick(rng, 1.0, 0.3, 0.1, 0.03),
        maintenance_margin=pick(rng, 0.0, 0.0, 0.1, 0.3),
    )


def random_market(seed: int) -> tuple[Market, Array, int, int, Costs, Limits]:
    """Return a market, weights, `start`, `end`, costs and limits drawn from `seed`."""
    rng = np.random.default_rng(seed)
    near_eight = chance(rng, 0.4)
    shape = (int(rng.integers(3, 41)), int(rng.integers(7, 11) if near_eight else rng.integers(1, 21)))
    costs, limits, weights = draw_costs(rng), draw_limits(rng), draw_weights(rng, shape)
    splits = draw_splits(rng, shape)
    close = draw_close(rng, shape, splits)
    opens, volume = draw_open(rng, close, splits), draw_volume(rng, close, costs.capital)
    if chance(rng, 0.5):
        halt(rng, close, opens)
    delistings = list_and_delist(rng, close, opens)
    dividends = draw_dividends(rng, close, splits, delistings)
    if delistings is not None and splits is not None:  # a settled symbol has no later actions
        splits[np.vstack([np.zeros((1, shape[1])), np.isfinite(delistings)[:-1]]).cumsum(axis=0) > 0.0] = 1.0
    tradable = rng.random(shape) > pick(rng, 0.03, 0.3) if chance(rng, 0.4) else None
    names = tuple(f"S{i:02d}" for i in range(shape[1]))
    ppy = pick(rng, 252.0, 365.0, 52.0, 12.0)
    start = int(rng.integers(0, shape[0] - 1)) if chance(rng, 0.5) else 0
    end = int(rng.integers(start + 2, shape[0] + 1)) if chance(rng, 0.3) else shape[0]
    market = Market(close, opens, volume, dividends, splits, tradable, delistings, names, ppy)
    return market, weights, start, end, costs, limits
