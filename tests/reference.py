"""Transcribe the bar timeline of the design (section 2) in plain floats.

Written from the text alone, it shares no code with the engine. Numbers in comments are the fifteen steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isnan, nan, sqrt
from typing import Any

import numpy as np

GAINS = ("carry", "trade", "dividends", "settlement", "interest", "shortfall")
COSTS = ("fee", "slippage", "impact", "financing", "borrow", "liquidation")
Noise = Callable[[int, str], float]
ABSENT = {"close": nan, "open": nan, "volume": nan, "dividends": 0.0, "splits": 1.0, "tradable": 1.0, "delistings": nan}


@dataclass(frozen=True)
class Market:
    """Arrays of shape `(n_bars, n_symbols)`; `None` where the dataset has no such field."""

    close: Any
    open: Any = None
    volume: Any = None
    dividends: Any = None
    splits: Any = None
    tradable: Any = None
    delistings: Any = None
    symbols: tuple[str, ...] = ()
    periods_per_year: float = 252.0


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
    max_weight: float | None = 1.0
    max_gross: float | None = 1.0
    allow_short: bool = True
    max_participation: float | None = None
    maintenance_margin: float | None = 0.0


@dataclass
class Result:
    """Lists per bar of the window, and per step, where step k fills at bar `start + k + 1`."""

    nav: list[float] = field(default_factory=list)
    cash: list[float] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)
    marks: list[list[float]] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=list)
    events: list[list[tuple[str, str | None, str]]] = field(default_factory=list)
    orders: list[tuple[list[float], list[float], float]] = field(default_factory=list)  # q after 6, after 10, factor
    terminated: bool = False
    terminated_at: int | None = None  # dataset bar

    def identity_residual(self, step: int) -> float:
        """Return what the identity of the design leaves unexplained."""
        part = self.steps[step]
        explained = sum(part[name] for name in GAINS) - sum(part[name] for name in COSTS)
        return self.nav[step + 1] - self.nav[step] - explained


def lane_sum(values: Iterable[float]) -> float:
    lane = [0.0] * 8
    for i, value in enumerate(values):
        lane[i % 8] += value
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


def sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


class Account:
    """Holds cash, shares `h`, marks `m` and NAV; `step` takes them from close `t` to close `t + 1`."""

    def __init__(self, market: Market, costs: Costs, limits: Limits, noise: Noise | None) -> None:
        self.market, self.costs, self.noise, self.rows = market, costs, noise, {}
        shape = np.shape(market.close)
        n = shape[1]
        for name, absent in ABSENT.items():
            values = getattr(market, name)
            array = np.full(shape, absent) if values is None else np.array(values, dtype=float)
            self.rows[name] = np.where(np.isnan(array), absent, array).tolist()
        limited = ("max_weight", "max_gross", "max_participation")
        self.limits = replace(limits, **{name: inf for name in limited if getattr(limits, name) is None})
        self.each, self.names = range(n), market.symbols or tuple(f"S{i}" for i in range(n))
        self.cash, self.nav, self.terminated = 1.0, 1.0, False
        self.h, self.m, self.settled = [0.0] * n, [nan] * n, [False] * n

    def skip(self, t: int) -> None:  # a bar up to the window's first: marks follow closes and splits, nothing trades
        for i in self.each:
            close = self.rows["close"][t][i]
            self.m[i] = self.m[i] / self.rows["splits"][t][i] if isnan(close) else close
            self.settled[i] = self.settled[i] or not isnan(self.rows["delistings"][t][i])

    def step(self, t: int, row: list[float]) -> None:
        self.last = {name: rows[t] for name, rows in self.rows.items()}
        self.next = {name: rows[t + 1] for name, rows in self.rows.items()}
        self.bar, self.events, self.factor, self.part = t + 1, [], 1.0, dict.fromkeys((*GAINS, *COSTS), 0.0)
        self.h, self.m, self.q, self.sized = list(self.h), list(self.m), [0.0] * len(row), [0.0] * len(row)
        if self.terminated:  # 15
            return
        self.live = [not self.settled[i] and not isnan(self.m[i]) for i in self.each]
        self.cur = [self.h[i] * self.m[i] / self.nav if self.live[i] else 0.0 for i in self.each]  # 2
        self.w = [self.target(i, row[i]) for i in self.each]  # 1, 2, 3
        self.limit_gross()  # 4
        for i in self.each:  # 5, where a target equal to `cur` trades nothing
            if self.w[i] != self.cur[i]:
                self.q[i] = self.w[i] * self.nav / self.m[i] - self.h[i]
        self.act()  # 6
        self.p = self.next["open"]  # 7
        if self.market.open is None:
            close, dividend, split = self.last["close"], self.next["dividends"], self.next["splits"]
            self.p = [(close[i] - dividend[i]) / split[i] for i in self.each]
        self.sized, self.q = self.q, [self.fillable(i, self.q[i]) for i in self.each]  # 8, 9
        self.limit_gross_filled()  # 10
        self.fill()  # 11
        self.accrue()  # 12
        self.mark()  # 13
        self.close_if_insolvent()  # 14

    def event(self, slug: str, i: int | None, reason: str) -> None:
        self.events.append((slug, None if i is None else self.names[i], reason))

    def held_sum(self, term: Callable[[int], float]) -> float:  # a symbol that never closed has no mark to multiply
        return lane_sum(term(i) if self.h[i] != 0.0 else 0.0 for i in self.each)

    def target(self, i: int, w: float) -> float:
        cur, reason = self.cur[i], None
        if isnan(w):  # a hold
            return cur
        if abs(w) > 100.0:  # 1
            reason = "weight_above_100"
        elif w < 0.0 and not self.limits.allow_short:
            reason = "short_not_allowed"
        elif w != 0.0 and not self.live[i]:
            reason = "settled" if self.settled[i] else "never_closed"
        if reason:
            self.event("refused", i, reason)
        if reason or not self.live[i]:
            return cur
        if isnan(self.last["close"][i]):  # 2
            self.event("stale_price", i, "halted")
        same = sign(w) == sign(cur)
        reducing = w == 0.0 or (same and abs(w) <= abs(cur))
        if not reducing and abs(w) > self.limits.max_weight:  # 3
            self.event("limited", i, "max_weight")
            return sign(w) * max(self.limits.max_weight, abs(cur) if same else 0.0)
        return w

    def limit_gross(self) -> None:
        w, cur, max_gross = self.w, self.cur, self.limits.max_gross
        b = [min(abs(w[i]), abs(cur[i])) if sign(w[i]) == sign(cur[i]) else 0.0 for i in self.each]
        a = [abs(w[i]) - b[i] for i in self.each]
        total_a, total_b = lane_sum(a), lane_sum(b)
        if total_a > 0.0 and total_a + total_b > max_gross * (1.0 + 1e-6):
            scale = max(0.0, max_gross - total_b) / total_a
            self.w = [sign(w[i]) * (b[i] + a[i] * scale) for i in self.each]
            self.event("limited", None, "max_gross")

    def act(self) -> None:
        h, m, q, split = self.h, self.m, self.q, self.next["splits"]
        self.part["dividends"] = self.held_sum(lambda i: h[i] * self.next["dividends"][i])  # before the split
        paid, gained = [0.0] * len(h), [0.0] * len(h)
        for i, delisting_return in enumerate(self.next["delistings"]):
            h[i], q[i], m[i] = h[i] * split[i], q[i] * split[i], m[i] / split[i]
            if not isnan(delisting_return) and not self.settled[i]:
                if self.live[i]:
                    paid[i], gained[i] = h[i] * m[i] * (1.0 + delisting_return), h[i] * m[i] * delisting_return
                    self.event("delisted", i, "settlement")
                h[i], q[i], self.settled[i], self.live[i] = 0.0, 0.0, True, False
        self.part["settlement"] = lane_sum(gained)
        self.cash = self.cash + self.part["dividends"] + lane_sum(paid)

    def per_share(self, i: int) -> float:  # turns |q| into participation (9), and its root scales impact (11)
        volume = self.next["volume"][i]
        return self.m[i] / self.nav if isnan(volume) else self.costs.capital / volume

    def friction(self, i: int, q: float) -> tuple[float, float]:  # the two terms of c in 11
        u = self.noise(self.bar, self.names[i]) if self.noise else 0.5
        jitter = 1.0 + self.costs.slippage_jitter * (2.0 * u - 1.0)
        g = self.costs.impact_bps / 1e4 * sqrt(self.per_share(i))
        return self.costs.slippage_bps / 1e4 * jitter, g * sqrt(abs(q))

    def fillable(self, i: int, q: float) -> float:
        if q == 0.0:
            return 0.0
        failures = {  # 8
            "no_price": not isfinite(self.p[i]),
            "no_close": isnan(self.next["close"][i]),
            "mask": not self.next["tradable"][i],
            "no_volume": self.next["volume"][i] <= 0.0,
        }
        reason = next((name for name, fails in failures.items() if fails), None)
        if not reason:  # 9
            if abs(q) * self.per_share(i) > self.limits.max_participation:
                q = sign(q) * self.limits.max_participation / self.per_share(i)
                self.event("limited", i, "max_participation")
            reason = "cost" if sum(self.friction(i, q)) >= 0.5 else None
        if reason:
            self.event("unfilled", i, reason)
        return 0.0 if reason else q

    def limit_gross_filled(self) -> None:
        h, q, each = self.h, self.q, self.each
        held, asked = ([min(abs(x[i]), abs(h[i])) if x[i] * h[i] < 0.0 else 0.0 for i in each] for x in (q, self.sized))
        if any(held[i] < asked[i] for i in each):
            m = [self.m[i] if self.live[i] else 0.0 for i in each]
            away = [abs(q[i]) - held[i] for i in each]
            before, added = lane_sum(abs(h[i]) * m[i] for i in each), lane_sum(away[i] * m[i] for i in each)
            room = max(self.limits.max_gross * self.nav, before) - lane_sum((abs(h[i]) - held[i]) * m[i] for i in each)
            if added > room:
                self.factor = max(0.0, room) / added
                self.q = [sign(q[i]) * (held[i] + self.factor * away[i]) for i in each]

    def fill(self) -> None:
        spent, fee, slippage, impact = ([0.0] * len(self.q) for _ in range(4))
        for i, q in enumerate(self.q):
            if q != 0.0:
                terms = self.friction(i, q)
                f = self.p[i] * (1.0 + sign(q) * (terms[0] + terms[1]))
                fee[i] = self.costs.fee_bps / 1e4 * abs(q) * f
                spent[i] = q * f + fee[i]
                slippage[i], impact[i] = abs(q) * self.p[i] * terms[0], abs(q) * self.p[i] * terms[1]
        self.cash -= lane_sum(spent)
        self.part.update(fee=lane_sum(fee), slippage=lane_sum(slippage), impact=lane_sum(impact))
        self.p = [self.p[i] if isfinite(self.p[i]) else self.m[i] for i in self.each]  # for 12 and the identity
        self.part["carry"] = self.held_sum(lambda i: self.h[i] * (self.p[i] - self.m[i]))
        self.h = [self.h[i] + self.q[i] for i in self.each]

    def accrue(self) -> None:
        short = self.held_sum(lambda i: max(0.0, -self.h[i]) * self.p[i])
        b, ppy = self.cash - short, self.market.periods_per_year
        earned = b * ((self.costs.cash_bps if b >= 0.0 else self.costs.financing_bps) / 1e4) / ppy
        self.part["borrow"] = short * (self.costs.borrow_bps / 1e4) / ppy
        self.part["interest"], self.part["financing"] = (earned, 0.0) if b >= 0.0 else (0.0, -earned)
        self.cash = self.cash + earned - self.part["borrow"]

    def mark(self) -> None:
        self.m = [self.m[i] if isnan(close) else close for i, close in enumerate(self.next["close"])]
        self.part["trade"] = self.held_sum(lambda i: self.h[i] * (self.m[i] - self.p[i]))
        self.nav = self.cash + self.held_sum(lambda i: self.h[i] * self.m[i])

    def close_if_insolvent(self) -> None:
        def paid(i: int) -> float:  # for the shares of a symbol, before fees
            return self.h[i] * (self.m[i] * (1.0 - sign(self.h[i]) * self.costs.slippage_bps / 1e4))

        gross, flat = self.held_sum(lambda i: abs(self.h[i]) * self.m[i]), [0.0] * len(self.h)
        if self.limits.maintenance_margin and self.nav < self.limits.maintenance_margin * gross:
            fees = self.held_sum(lambda i: self.costs.fee_bps / 1e4 * abs(paid(i)))
            self.part["liquidation"] = self.held_sum(lambda i: self.h[i] * self.m[i] - paid(i)) + fees
            self.nav = self.cash = self.cash + self.held_sum(paid) - fees
            self.h, self.terminated = flat, True
            self.event("terminated", None, "maintenance_margin")
        if self.nav <= 0.0:
            self.part["shortfall"] = -self.nav
            self.nav, self.cash, self.h, self.terminated = 0.0, 0.0, flat, True
            self.event("terminated", None, "shortfall")


def run(
    market: Market, weights: Any, start: int, end: int, costs: Costs, limits: Limits, noise: Noise | None = None
) -> Result:
    """Run the decisions of rows `start` to `end - 2` over the window `[start, end)`.

    Args:
        weights: Target weights. Shape `(n_bars, n_symbols)`, signed fraction of NAV, NaN is a hold.
        noise: Gives u of step 11 from the dataset bar of the fill and the symbol's name; u is 0.5 without it.

    Raises:
        ValueError: a weight is infinite.
    """
    account, result, rows = Account(market, costs, limits, noise), Result(), np.array(weights, dtype=float)
    if np.isinf(rows[start : end - 1]).any():
        raise ValueError("weights must be finite or NaN; received an infinity")
    for t in range(end):
        if t <= start:
            account.skip(t)
        else:
            account.step(t - 1, rows[t - 1].tolist())
            result.steps.append(account.part)
            result.events.append(account.events)
            result.orders.append((account.sized, account.q, account.factor))
            if account.terminated and not result.terminated:
                result.terminated, result.terminated_at = True, t
        if t >= start:
            result.nav.append(account.nav)
            result.cash.append(account.cash)
            result.shares.append(list(account.h))
            result.marks.append(list(account.m))
    return result
