"""Expected outputs of vectors, computed without the engine.

Implements `contract/README.md` on `tests/support/reference_engine.py`.
"""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import numpy as np
from markets import Costs, Limits, Market
from reference_engine import COSTS, Account

TABLES = ("open", "volume", "dividends", "splits", "tradable", "delistings")
JsonObject = dict[str, Any]


def market_of(data: JsonObject) -> Market:
    """Convert the dataset of a vector."""
    tables = {name: np.array(data[name], dtype=float) for name in ("close", *TABLES) if data.get(name) is not None}
    return Market(**tables, symbols=tuple(data["symbols"]), periods_per_year=data["periods_per_year"])


class Witness(Account):
    """An account that also tracks average prices and returns the `info` of each step."""

    def __init__(self, given: JsonObject) -> None:
        limits = Limits(**{name: inf if limit is None else limit for name, limit in given["limits"].items()})
        super().__init__(
            market_of(given["dataset"]), Costs(**given["costs"]), limits, given["window"][0], given["seed"]
        )
        self.average = dict.fromkeys(self.names, 0.0)

    def step_info(self, row: list[float], refused: list[JsonObject]) -> JsonObject:
        """Execute a step and return its info.

        Args:
            row: Weight of each symbol; NaN is a hold.
            refused: Orders refused by name, which a row of weights cannot express.
        """
        held = self.h * self.bars[self.t + 1].split
        self.step(row)
        for name, split in zip(self.names, self.bars[self.t].split.tolist(), strict=True):
            self.average[name] /= split
        for event in self.events:
            if event["slug"] == "filled":
                name = event["symbol"]
                h, q = float(held[self.names.index(name)]), event["shares"]
                self.average[name] = averaged(self.average[name], h, q, event["price"])
        gains = {name: self.part[name] for name in ("interest", "dividends", "settlement")}
        costs = {name: self.part[name] for name in COSTS}
        events = [{"slug": "refused"} | refusal for refusal in refused] + self.events
        return {"nav": self.nav, "events": events, "costs": costs, "turnover": self.turnover} | gains


def averaged(average: float, held: float, q: float, f: float) -> float:
    """Return the average price of a position after a fill."""
    if held * (held + q) <= 0.0:  # opened, or flipped
        return f
    return (average * abs(held) + f * abs(q)) / abs(held + q) if held * q > 0.0 else average


def read(text: str, known: set[str]) -> tuple[dict[str, float], list[JsonObject]]:
    """Return the weight of each symbol, NaN for a hold, and the orders refused by name."""
    orders = json.loads(text)["orders"]
    named = [order["symbol"] for order in orders]
    weights, refused = {}, []
    for order in orders:
        symbol = order["symbol"]
        if symbol not in known or named.count(symbol) > 1:
            reason = "duplicate_order" if symbol in known else "unknown_symbol"
            refused.append({"symbol": symbol, "weight": order["target_weight"], "reason": reason})
        else:
            weights[symbol] = {"hold": nan, "close": 0.0}.get(order["action"], order["target_weight"])
    return weights, refused


def observe(given: JsonObject, witness: Witness, t: int) -> JsonObject:
    """Return the observation at close `t` (section 2 of `contract/README.md`)."""
    data, lookback = given["dataset"], given["lookback"]
    symbols = []
    for i, name in enumerate(data["symbols"]):
        closed = [bar for bar in range(t + 1) if data["close"][bar][i] is not None]
        if not closed or witness.settled[i]:
            continue
        view = {"symbol": name, "close_history": history(data, i, t, min(lookback, t - closed[0] + 1))}
        fundamentals = known_numbers(data, name, t)
        news = [item["headline"] for item in in_time(data, "news", name) if t - lookback < bar_of(data, item) <= t]
        symbols.append(
            view | ({"fundamentals": fundamentals} if fundamentals else {}) | ({"news": news} if news else {})
        )
    held = [(name, h) for name, h in zip(witness.names, witness.h.tolist(), strict=True) if h != 0.0]
    positions = [{"symbol": name, "shares": h, "avg_price": witness.average[name]} for name, h in held]
    return {"date": data["dates"][t], "cash": witness.cash, "symbols": symbols, "portfolio": positions}


def history(data: JsonObject, i: int, t: int, n: int) -> list[float]:
    def carried(bar: int) -> float:
        last = max(b for b in range(bar + 1) if data["close"][b][i] is not None)
        price = data["close"][last][i]
        for b in range(last + 1, t + 1):
            price /= (data["splits"][b][i] or 1.0) if data.get("splits") else 1.0
        return float(price)

    return [carried(bar) for bar in range(t - n + 1, t + 1)]


def bar_of(data: JsonObject, item: JsonObject) -> int:
    """Return the first bar at which an item is known; a date sorts before all times of its day."""
    return sum(date < item["available_at"] for date in data["dates"])


def in_time(data: JsonObject, name: str, symbol: str) -> list[JsonObject]:
    return sorted(
        (item for item in data.get(name, []) if item["symbol"] == symbol), key=lambda item: item["available_at"]
    )


def known_numbers(data: JsonObject, symbol: str, t: int) -> dict[str, float]:
    return {item["name"]: item["value"] for item in in_time(data, "fundamentals", symbol) if bar_of(data, item) <= t}


def expect(given: JsonObject) -> tuple[JsonObject, list[JsonObject], list[list[float]]]:
    """Return the first observation, the expected result of each step, and rows of weights."""
    data, (start, end) = given["dataset"], given["window"]
    witness = Witness(given)
    first, steps, table = observe(given, witness, start), [], []
    for t, text in enumerate(given["decisions"], start):
        known = {
            name for i, name in enumerate(data["symbols"]) if any(row[i] is not None for row in data["close"][: t + 1])
        }
        weights, refused = read(text, known)
        row = [weights.get(name, nan) for name in data["symbols"]]
        info = witness.step_info(row, refused)
        done = witness.terminated or t + 2 == end
        step = {"observation": observe(given, witness, t + 1), "reward": witness.reward}
        steps.append(step | {"done": done, "info": info})
        table.append(row)
        if done:
            break
    assert len(steps) == len(given["decisions"]), "every decision is needed"
    return first, steps, table
