"""What a vector should say, from the contract's page and `tests/reference.py` alone: no engine has a part in it."""

from __future__ import annotations

import hashlib
import json
from math import nan
from typing import Any

import numpy as np
from reference import COSTS, Account, Costs, Limits, Market, lane_sum, sign

TABLES = ("open", "volume", "dividends", "splits", "tradable", "delistings")
REASONS = {
    "weight_above_100": "weight_out_of_range",
    "short_not_allowed": "short_not_allowed",
    "settled": "settled_symbol",
    "no_price": "no_price",
    "no_close": "no_price",
    "mask": "not_tradable",
    "no_volume": "no_volume",
    "cost": "cost_too_high",
}
Told = dict[str, Any]


def fill_noise(seed: int, bar: int, symbol: str) -> float:
    """Return u of section 1.6 of the page."""
    key = hashlib.sha256(b"openoutcry/fill-key/v1\0" + seed.to_bytes(8, "little")).digest()
    digest = hashlib.sha256(b"openoutcry/fill/v1\0" + key + bar.to_bytes(8, "little") + symbol.encode()).digest()
    return float((int.from_bytes(digest[:8], "little") >> 11) * 2.0**-53)


def market_of(data: Told) -> Market:
    """Return the market of a dataset as the vectors spell it."""
    tables = {name: np.array(data[name], dtype=float) for name in ("close", *TABLES) if data.get(name) is not None}
    return Market(**tables, symbols=tuple(data["symbols"]), periods_per_year=data["periods_per_year"])


class Witness(Account):
    """Tells what each step of the timeline did, as an event of the contract, and keeps average prices."""

    def __init__(self, given: Told) -> None:
        noise = lambda bar, symbol: fill_noise(given["seed"], bar, symbol)  # noqa: E731
        super().__init__(market_of(given["dataset"]), Costs(**given["costs"]), Limits(**given["limits"]), noise)
        self.average, self.told = [0.0] * len(self.h), []

    def tell(self, place: int, slug: str, i: int | None, **fields: Any) -> None:
        symbol = {} if i is None else {"symbol": self.names[i]}
        self.told.append((place, {"slug": slug} | symbol | fields))

    def decide(self, t: int, row: list[float], refused: list[Told]) -> Told:
        """Take the step that is decided at close `t` and return its info."""
        nav = self.nav
        self.told = [(0, {"slug": "refused"} | refusal) for refusal in refused]
        self.traded = 0.0
        self.step(t, row)
        gains = {name: self.part[name] for name in ("interest", "dividends", "settlement")}
        # Stable: within a step of the timeline, events stand in dataset order.
        events = [event for _, event in sorted(self.told, key=lambda item: item[0])]
        costs = {name: self.part[name] for name in COSTS}
        return {"nav": self.nav, "events": events, "costs": costs, "turnover": self.traded / nav} | gains

    def new_events(self, n: int) -> list[tuple[str, str]]:
        return [(slug, reason) for slug, _, reason in self.events[n:]]

    def target(self, i: int, w: float) -> float:
        n, allowed = len(self.events), super().target(i, w)
        for slug, reason in self.new_events(n):
            if slug == "refused":
                self.tell(1, slug, i, weight=w, reason=REASONS[reason])
            elif slug == "limited":
                self.tell(3, slug, i, reason="max_weight", requested=w, allowed=allowed)
        return allowed

    def limit_gross(self) -> None:
        n, before = len(self.events), lane_sum(abs(w) for w in self.w)
        super().limit_gross()
        if self.new_events(n):
            allowed = lane_sum(abs(w) for w in self.w)
            self.tell(4, "limited", None, reason="max_gross", requested=before, allowed=allowed)

    def act(self) -> None:
        for i, q in enumerate(self.q):
            if q != 0.0 and np.isnan(self.last["close"][i]):
                self.tell(5, "stale_price", i, price=self.m[i])
        held, ordered, split, settled = list(self.h), list(self.q), self.next["splits"], list(self.settled)
        self.average = [average / split[i] for i, average in enumerate(self.average)]
        super().act()
        for i, delisting_return in enumerate(self.next["delistings"]):
            if np.isnan(delisting_return) or settled[i]:
                continue
            if held[i] != 0.0:
                self.tell(6, "delisted", i, shares=held[i] * split[i], price=self.m[i] * (1.0 + delisting_return))
            elif ordered[i] != 0.0:
                self.tell(6, "unfilled", i, shares=ordered[i] * split[i], reason="no_price")

    def fillable(self, i: int, q: float) -> float:
        n, filled, left = len(self.events), super().fillable(i, q), q
        for slug, reason in self.new_events(n):
            if slug == "limited":
                left = sign(q) * self.limits.max_participation / self.per_share(i)
                self.tell(9, slug, i, reason="participation", requested=q, allowed=left)
            else:
                self.tell(9 if reason == "cost" else 8, slug, i, shares=left, reason=REASONS[reason])
        return filled

    def gross_over_nav(self) -> float:
        after = [h + q for h, q in zip(self.h, self.q, strict=True)]
        return lane_sum(abs(x) * m if x != 0.0 else 0.0 for x, m in zip(after, self.m, strict=True)) / self.nav

    def limit_gross_filled(self) -> None:
        requested = self.gross_over_nav()
        super().limit_gross_filled()
        if self.factor != 1.0:
            self.tell(10, "limited", None, reason="rebalanced", requested=requested, allowed=self.gross_over_nav())

    def fill(self) -> None:
        held, traded = list(self.h), [0.0] * len(self.h)
        for i, q in enumerate(self.q):
            if q != 0.0:
                f = self.p[i] * (1.0 + sign(q) * sum(self.friction(i, q)))
                traded[i] = abs(q) * f
                self.tell(11, "filled", i, shares=q, price=f)
                self.average[i] = self.averaged(i, held[i], q, f)
        super().fill()
        self.traded = lane_sum(traded)

    def averaged(self, i: int, held: float, q: float, f: float) -> float:
        if held * (held + q) <= 0.0:  # opened, or flipped
            return f
        return (self.average[i] * abs(held) + f * abs(q)) / abs(held + q) if held * q > 0.0 else self.average[i]

    def close_if_insolvent(self) -> None:
        held, n = list(self.h), len(self.events)
        super().close_if_insolvent()
        for _, reason in self.new_events(n):
            if reason == "shortfall":
                self.tell(14, "ruined", None, shortfall=self.part["shortfall"])
                continue
            for i, h in enumerate(held):
                if h != 0.0:
                    price = self.m[i] * (1.0 - sign(h) * self.costs.slippage_bps / 1e4)
                    self.tell(14, "liquidated", i, shares=h, price=price)


def read(text: str, known: set[str]) -> tuple[dict[str, float], list[Told]]:
    """Return the weight of each symbol that a decision orders, NaN for a hold, and the orders refused by name."""
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


def observe(given: Told, witness: Witness, t: int) -> Told:
    """Return the observation at close `t` as section 2 of the page says it."""
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
    held = [i for i, h in enumerate(witness.h) if h != 0.0]
    positions = [{"symbol": data["symbols"][i], "shares": witness.h[i], "avg_price": witness.average[i]} for i in held]
    return {"date": data["dates"][t], "cash": witness.cash, "symbols": symbols, "portfolio": positions}


def history(data: Told, i: int, t: int, n: int) -> list[float]:
    def carried(bar: int) -> float:
        last = max(b for b in range(bar + 1) if data["close"][b][i] is not None)
        price = data["close"][last][i]
        for b in range(last + 1, t + 1):
            price /= (data["splits"][b][i] or 1.0) if data.get("splits") else 1.0
        return float(price)

    return [carried(bar) for bar in range(t - n + 1, t + 1)]


def bar_of(data: Told, item: Told) -> int:
    """Return the first bar whose agent may know an item: a day is before every time in it."""
    return sum(date < item["available_at"] for date in data["dates"])


def in_time(data: Told, name: str, symbol: str) -> list[Told]:
    return sorted(
        (item for item in data.get(name, []) if item["symbol"] == symbol), key=lambda item: item["available_at"]
    )


def known_numbers(data: Told, symbol: str, t: int) -> dict[str, float]:
    return {item["name"]: item["value"] for item in in_time(data, "fundamentals", symbol) if bar_of(data, item) <= t}


def expect(given: Told) -> tuple[Told, list[Told], list[list[float]]]:
    """Return the first observation, what each step should say, and the rows of weights that mean the decisions."""
    data, (start, end) = given["dataset"], given["window"]
    witness = Witness(given)
    for t in range(start + 1):
        witness.skip(t)
    first, steps, table = observe(given, witness, start), [], []
    for t, text in enumerate(given["decisions"], start):
        known = {
            name for i, name in enumerate(data["symbols"]) if any(row[i] is not None for row in data["close"][: t + 1])
        }
        weights, refused = read(text, known)
        row = [weights.get(name, nan) for name in data["symbols"]]
        before = witness.nav
        info = witness.decide(t, row, refused)
        done = witness.terminated or t + 2 == end
        reward = witness.nav / before - 1.0
        steps.append({"observation": observe(given, witness, t + 1), "reward": reward, "done": done, "info": info})
        table.append(row)
        if done:
            break
    assert len(steps) == len(given["decisions"]), "every decision is needed"
    return first, steps, table
