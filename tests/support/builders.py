"""Shared test builders: engine inputs, decisions, and test sizes."""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from markets import Costs, Limits, Market, random_market
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry import openoutcry_py as native

Array = NDArray[np.float64]
DATE_0 = np.datetime64("2000-01-03")
TABLES = ("open", "volume", "dividends", "splits", "tradable", "delistings")

# Names that JSON must escape, that sort unusually, or that take several UTF-16 units.
ODD_NAMES = ('Q"T', "back\\slash", "Ünï", "€", "\U0001f4c8", "a b", "<&>", "zero\u200bwidth", "BRK.B", "1", "null", "S")


def count(full: int, quick: int) -> int:
    """Return the size of a random test: `full` with `OPENOUTCRY_FULL=1`, else `quick`."""
    return full if os.environ.get("OPENOUTCRY_FULL") == "1" else quick


def of_template(template: str) -> str:
    """Return a regular expression for the messages of a template of `contract/errors.json`."""
    parts = string.Formatter().parse(template)
    return "".join(re.escape(text) + (".*" if field is not None else "") for text, field, _, _ in parts)


class Draw(NamedTuple):
    """A random market as engine inputs, with weights and a window."""

    dataset: oo.Dataset
    weights: Array
    window: tuple[int, int]
    costs: oo.CostModel
    limits: oo.Limits


def dates_of(n_bars: int, *, later: int = 0) -> list[str]:
    """Return daily dates, shifted by `later` days."""
    return np.datetime_as_string(DATE_0 + later + np.arange(n_bars)).tolist()


def dataset_of(market: Market, symbols: Sequence[str] = (), dates: Sequence[str] = (), **extra: Any) -> oo.Dataset:
    """Return the engine dataset of a reference market."""
    n_bars, n_symbols = np.shape(market.close)
    names = symbols or market.symbols or [f"S{i}" for i in range(n_symbols)]
    tables = {name: getattr(market, name) for name in TABLES}
    if tables["tradable"] is not None:
        tables["tradable"] = np.asarray(tables["tradable"]) != 0.0
    settings = {"periods_per_year": market.periods_per_year} | tables | extra
    return oo.Dataset.from_arrays(dates or dates_of(n_bars), names, np.asarray(market.close, dtype=float), **settings)


def costs_of(costs: Costs) -> oo.CostModel:
    """Return the engine costs of reference costs."""
    return oo.CostModel(**asdict(costs))


def limits_of(limits: Limits) -> oo.Limits:
    """Return the engine limits of reference limits."""
    most = limits.max_participation
    return oo.Limits(**asdict(limits) | {"max_participation": None if most == inf else most})


def names_of(n_symbols: int) -> list[str]:
    """Return distinct names, most of them unusual."""
    return [*ODD_NAMES, *(f"N{i}" for i in range(n_symbols))][:n_symbols]


def accepted(seed: int) -> tuple[Any, ...]:
    """Return the random market of the first accepted seed, starting from `seed`."""
    for attempt in range(seed, seed + 100):
        drawn = random_market(attempt)
        try:
            dataset_of(drawn[0])
        except oo.OpenOutcryError:
            continue
        return drawn
    raise AssertionError(f"no market of the seeds from {seed} on is accepted")


def draw(seed: int, *, odd_names: bool = False) -> Draw:
    """Return a random market that the engine accepts."""
    market, weights, start, end, costs, limits = accepted(seed)
    names = names_of(np.shape(market.close)[1]) if odd_names else ()
    return Draw(dataset_of(market, names), weights, (start, end), costs_of(costs), limits_of(limits))


def env_of(drawn: Draw, *, seed: int = 0, lookback: int = native.DEFAULT_LOOKBACK) -> native.TradingEnv:
    """Return a native environment with the JSON and the array interface."""
    dataset, _, window, costs, limits = drawn
    return native.TradingEnv.from_dataset(
        dataset._core, window=window, costs=costs, limits=limits, lookback=lookback, seed=seed
    )


def decision(orders: Iterable[tuple[str, str, float]]) -> str:
    """Return the JSON of `(symbol, action, weight)` orders."""
    fields = ({"symbol": symbol, "action": action, "target_weight": weight} for symbol, action, weight in orders)
    return json.dumps({"orders": list(fields)})


def row_decision(symbols: Sequence[str], row: Iterable[float], listed: Iterable[Any]) -> str:
    """Return a row of weights as a decision. A 0 for an unlisted symbol is omitted."""
    cells = zip(symbols, row, listed, strict=True)
    return decision(
        (symbol, "sell" if weight < 0.0 else "buy", float(weight))
        for symbol, weight, is_listed in cells
        if not np.isnan(weight) and (weight != 0.0 or is_listed)
    )


class Seen(NamedTuple):
    """Observation of the array interface."""

    closes: Array
    positions: Array
    listed: NDArray[np.int8]
    history: Array
    cash: float

    def bytes(self) -> bytes:
        """Return all arrays as bytes."""
        return b"".join(part.tobytes() for part in self[:4]) + np.float64(self.cash).tobytes()


def observe(env: native.TradingEnv, n_symbols: int, lookback: int) -> Seen:
    """Return the array observation of the current bar."""
    closes, positions = np.empty(n_symbols), np.empty(n_symbols)
    listed, history = np.empty(n_symbols, dtype=np.int8), np.empty((lookback, n_symbols))
    cash = env.observe_into(closes, positions, listed, history)
    return Seen(closes, positions, listed, history, cash)


def bits(values: Any) -> Any:
    """Return floats as their bits, with one NaN."""
    array = np.array(values, dtype=np.float64)
    array[np.isnan(array)] = np.nan
    return array.view(np.int64).tolist()


def loads(text: str) -> Any:
    """Parse JSON with every number as a float: canonical JSON writes 1.0 as 1."""
    return json.loads(text, parse_int=float)


def multiset(items: Iterable[Any]) -> list[str]:
    """Return items as sorted texts, to compare them in any order."""
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def replay(rows: Sequence[str]) -> Callable[[dict[str, Any]], str]:
    """Return an agent that returns the decisions in order."""
    queue = iter(rows)
    return lambda _: next(queue)


def corrupted(rng: np.random.Generator, market: Market, bar: int) -> Market:
    """Return the market with every cell after `bar` replaced by valid garbage.

    A missing column is added, neutral up to `bar`, except opens, whose presence determines how orders fill.
    """
    shape, after = np.shape(market.close), slice(bar + 1, None)
    n_later = shape[0] - bar - 1

    def table(values: Any, neutral: float, garbage: Any) -> Array:
        kept = np.full(shape, neutral) if values is None else np.array(values, dtype=float)
        kept[after] = garbage
        return kept

    def holes(share: float, values: Any, hole: float = np.nan) -> Any:
        return np.where(rng.random((n_later, shape[1])) < share, hole, values)

    def prices() -> Any:
        return holes(0.2, 10.0 ** rng.uniform(-6.0, 6.0, (n_later, shape[1])))

    close = table(market.close, np.nan, prices())
    delistings = table(market.delistings, np.nan, np.nan)
    for i in range(shape[1]):
        settled = np.flatnonzero(np.isfinite(delistings[:, i]))
        later = [t for t in range(bar + 1, shape[0]) if np.isfinite(close[:t, i]).any()]
        if not settled.size and later and rng.random() < 0.3:
            settled = [int(rng.choice(later))]
            delistings[settled[0], i] = rng.uniform(-1.0, 0.5)
        if len(settled):
            close[settled[0] :, i] = np.nan
    dividends = table(market.dividends, 0.0, holes(0.7, prices(), 0.0))
    if market.open is None:  # a fill price is the previous close minus the dividend
        dividends[after] = np.where(np.isnan(close[bar:-1]), dividends[after], 0.99 * np.nan_to_num(close[bar:-1]))
    return Market(
        close,
        None if market.open is None else table(market.open, np.nan, prices()),
        table(market.volume, np.nan, holes(0.2, holes(0.2, 10.0 ** rng.uniform(-3.0, 12.0, (n_later, shape[1]))), 0.0)),
        dividends,
        table(market.splits, 1.0, holes(0.6, 10.0 ** rng.uniform(-3.0, 3.0, (n_later, shape[1])), 1.0)),
        table(market.tradable, 1.0, rng.random((n_later, shape[1])) < 0.7),
        delistings,
        market.symbols,
        market.periods_per_year,
    )


def truncated(market: Market, n_bars: int) -> Market:
    """Return the first bars of the market."""
    columns = {name: getattr(market, name) for name in ("close", *TABLES)}
    return replace(
        market, **{name: None if each is None else np.asarray(each)[:n_bars] for name, each in columns.items()}
    )
