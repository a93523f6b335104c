"""The reference of day orders on the cases of `contract/vectors/orders.json`."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import numpy as np
from order_market import DayCosts, DayLimits, DayMarket, Order, Rules, opened
from order_reference import step

Json = dict[str, Any]
TABLES = ("close", "open", "high", "low", "volume", "dividends", "splits", "tradable", "delistings")
PRICES = ("limit_price", "stop_price", "stop_loss", "take_profit")
GAINS = ("interest", "dividends", "settlement")


def read(text: str) -> dict[str, Order]:
    """Return the orders of a decision that is valid and names each symbol once."""
    return {each["symbol"]: order_of(each) for each in json.loads(text)["orders"]}


def order_of(each: Json) -> Order:
    limit, stop, loss, profit = (each.get(name, nan) for name in PRICES)
    weight = {"hold": nan, "close": 0.0}.get(each["action"], float(each["target_weight"]))
    return Order(weight, limit, stop, loss, profit, each.get("at", "open") == "close")


def rules_of(given: Json) -> Rules:
    """Convert the costs and limits of a vector; `null` is no limit."""
    limits: Json = {name: inf if limit is None else limit for name, limit in given["limits"].items()}
    return Rules(DayCosts(**given["costs"]), DayLimits(**limits), given["seed"])


def market_of(data: Json) -> DayMarket:
    """Convert the dataset of a vector."""
    tables = {name: np.array(data[name], dtype=float) for name in TABLES if data.get(name) is not None}
    return DayMarket(**tables, symbols=tuple(data["symbols"]), periods_per_year=data["periods_per_year"])


def run_reference(given: Json) -> list[Json]:
    """Return the steps of a case in the form of its `expected.steps`."""
    market, rules, (start, end) = market_of(given["dataset"]), rules_of(given), given["window"]
    account, steps = opened(market, start), []
    for text in given["decisions"]:
        account, events, outcome = step(market, rules, account, read(text))
        held = zip(market.names(), account.h, account.average, strict=True)
        portfolio = [{"symbol": s, "shares": h, "avg_price": average} for s, h, average in held if h != 0.0]
        gains = {name: outcome.gains[name] for name in GAINS}
        info = {"nav": account.nav, "costs": outcome.costs, "turnover": outcome.turnover} | gains
        steps.append(
            {
                "observation": {"cash": account.cash, "portfolio": portfolio},
                "reward": outcome.reward,
                "info": info | {"events": events},
                "done": account.terminated or account.t == end - 1,
            }
        )
    return steps
