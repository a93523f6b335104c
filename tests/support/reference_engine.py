"""The reference engine: the fifteen steps of section 1.4 of `contract/README.md`, in order.

It implements the text and shares no code with the engine. Names are those of the page: float64 arrays over symbols, NaN
for missing values. Numbers in comments, and the first argument of `emit`, are step numbers.
"""

from __future__ import annotations

from copy import copy
from hashlib import sha256
from math import isfinite
from typing import Any

import numpy as np
from markets import Array, Bar, Costs, Limits, Market
from numpy import isnan, maximum, minimum, sign, sqrt, where

GAINS = ("carry", "trade", "dividends", "settlement", "interest", "shortfall")
COSTS = ("fee", "slippage", "impact", "financing", "borrow", "liquidation")


def lane_sum(terms: Any, part: Any = True) -> float:
    """Return the sum of section 1.3 over the symbols in `part`."""
    lane = [0.0] * 8
    for i, term in enumerate(where(part, terms, 0.0).tolist()):
        lane[i % 8] += term
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


def fill_noise(seed: int, bar: int, symbol: str) -> float:
    """Return u of section 1.6."""
    key = sha256(b"openoutcry/fill-key/v1\0" + seed.to_bytes(8, "little")).digest()
    draw = sha256(b"openoutcry/fill/v1\0" + key + bar.to_bytes(8, "little") + symbol.encode()).digest()
    return (int.from_bytes(draw[:8], "little") >> 11) * 2.0**-53


class Account:
    """Cash, NAV, shares `h` and marks `m` at the close of bar `t`."""

    def __init__(self, market: Market, costs: Costs, limits: Limits, start: int, seed: int = 0) -> None:
        self.market, self.costs, self.limits, self.seed = market, costs, limits, seed
        self.bars, self.names = market.bars(), market.names()
        self.t, self.cash, self.nav, self.terminated = start, 1.0, 1.0, False
        self.h, self.m, self.settled = np.zeros(len(self.names)), np.full(len(self.names), np.nan), False
        for bar in self.bars[: start + 1]:
            self.m, self.settled = where(isnan(bar.close), self.m / bar.split, bar.close), self.settled | bar.settles

    def emit(self, step: int, slug: str, orders: Any, reasons: dict[str | None, Any], **numbers: Array) -> Array:
        """Add events for orders with a reason, the first that applies, and return their mask."""
        which = orders & np.logical_or.reduce(list(reasons.values()))
        for i in which.nonzero()[0].tolist():
            reason = next(reason for reason, applies in reasons.items() if applies[i])
            event = {"slug": slug, "symbol": self.names[i]} | {name: float(x[i]) for name, x in numbers.items()}
            self.emitted.append((step, i, event | ({"reason": reason} if reason else {})))
        return which

    def emit_all(self, step: int, slug: str, **fields: Any) -> None:
        self.emitted.append((step, len(self.h), {"slug": slug} | fields))

    @np.errstate(all="ignore")
    def step(self, weights: Any) -> None:
        """Advance to the next close with a row of weights; NaN is a hold."""
        last, bar, before = self.bars[self.t], self.bars[self.t + 1], self.nav
        self.t, self.emitted, self.part = self.t + 1, [], dict.fromkeys((*GAINS, *COSTS), 0.0)
        cur = where(self.h != 0.0, self.h * self.m / self.nav, 0.0)
        w = self.limit(cur, self.decide(cur, np.array(weights, dtype=float)))
        q = where(w == cur, 0.0, w * self.nav / self.m - self.h)  # 5
        self.emit(5, "stale_price", q != 0.0, {None: isnan(last.close)}, price=self.m)
        self.sized = self.act(bar, q)
        p = (last.close - bar.dividend) / bar.split if self.market.open is None else bar.open  # 7
        q, slippage, g = self.participate(bar, self.drop_untradable(bar, p, self.sized))
        self.filled = self.rebalance(self.sized, q)
        p = where((self.filled == 0.0) & isnan(p), self.m, p)
        self.fill(p, self.filled, slippage, g)
        self.accrue(p)
        self.mark(bar, p)
        self.close_if_insolvent()
        self.reward = self.nav / before - 1.0  # 15
        self.events = [event for *_, event in sorted(self.emitted, key=lambda each: each[:2])]

    def decide(self, cur: Array, w: Array) -> Array:  # 1
        if np.isinf(w).any():
            raise ValueError("weight_not_finite")
        reasons = {
            "unknown_symbol": isnan(self.m) & (w != 0.0),
            "weight_out_of_range": abs(w) > 100.0,
            "short_not_allowed": (w < 0.0) & (not self.limits.allow_short),
            "settled_symbol": self.settled & (w != 0.0),
        }
        return where(isnan(w) | self.emit(1, "refused", ~isnan(w), reasons, weight=w), cur, w)

    def limit(self, cur: Array, w: Array) -> Array:  # 2, 3, 4
        max_weight, max_gross = self.limits.max_weight, self.limits.max_gross
        k = where(sign(w) == sign(cur), abs(cur), 0.0)  # the part of the current weight with the sign of w
        reducing = abs(w) <= k
        above, allowed = {"max_weight": abs(w) > max_weight}, sign(w) * maximum(max_weight, k)
        w = where(self.emit(3, "limited", ~reducing, above, requested=w, allowed=allowed), allowed, w)
        b = minimum(abs(w), k)
        a = abs(w) - b
        added, kept = lane_sum(a), lane_sum(b)
        if added > 0.0 and added + kept > max_gross * (1.0 + 1e-6):
            scale = max(0.0, max_gross - kept) / added
            self.emit_all(4, "limited", reason="max_gross", requested=added + kept, allowed=kept + added * scale)
            w = sign(w) * (b + a * scale)
        return w

    def act(self, bar: Bar, q: Array) -> Array:  # 6
        self.part["dividends"] = lane_sum(self.h * bar.dividend)
        self.h, self.m, q = self.h * bar.split, self.m / bar.split, q * bar.split
        h, m, paid = self.h, self.m, self.m * (1.0 + bar.delisting_return)
        self.emit(6, "delisted", h != 0.0, {None: bar.settles}, shares=h, price=paid)
        self.emit(6, "unfilled", (h == 0.0) & (q != 0.0), {"no_price": bar.settles}, shares=q)
        self.part["settlement"] = lane_sum(h * m * bar.delisting_return, bar.settles)
        self.cash = self.cash + self.part["dividends"] + lane_sum(h * paid, bar.settles)
        self.h, self.settled = where(bar.settles, 0.0, h), self.settled | bar.settles
        return where(bar.settles, 0.0, q)

    def drop_untradable(self, bar: Bar, p: Array, q: Array) -> Array:  # 8
        no_price = isnan(p) | isnan(bar.close)
        reasons = {"no_price": no_price, "not_tradable": ~bar.tradable, "no_volume": bar.volume == 0.0}
        return where(self.emit(8, "unfilled", q != 0.0, reasons, shares=q), 0.0, q)

    def participate(self, bar: Bar, q: Array) -> tuple[Array, Array, Array]:  # 9
        costs, most, jitter = self.costs, self.limits.max_participation, self.costs.slippage_jitter
        per_share = where(isnan(bar.volume), self.m / self.nav, costs.capital / bar.volume)
        above, allowed = {"participation": abs(q) * per_share > most}, sign(q) * most / per_share
        q = where(self.emit(9, "limited", q != 0.0, above, requested=q, allowed=allowed), allowed, q)
        u = np.array([fill_noise(self.seed, self.t, name) if jitter else 0.5 for name in self.names])
        slippage = costs.slippage_bps / 1e4 * (1.0 + jitter * (2.0 * u - 1.0))
        g = where(q != 0.0, costs.impact_bps / 1e4 * sqrt(per_share), 0.0)
        dear = {"cost_too_high": slippage + g * sqrt(abs(q)) >= 0.5}
        return where(self.emit(9, "unfilled", q != 0.0, dear, shares=q), 0.0, q), slippage, g

    def rebalance(self, sized: Array, q: Array) -> Array:  # 10
        h, m, nav, held = self.h, self.m, self.nav, self.h != 0.0
        z, wanted = (where(sign(x) == -sign(h), minimum(abs(x), abs(h)), 0.0) for x in (q, sized))
        keep, add = lane_sum((abs(h) - z) * m, held), lane_sum((abs(q) - z) * m, q != 0.0)
        room = max(self.limits.max_gross * nav, lane_sum(abs(h) * m, held))
        if (z < wanted).any() and keep + add > room:
            scale = (room - keep) / add
            allowed = (keep + add * scale) / nav
            self.emit_all(10, "limited", reason="rebalanced", requested=(keep + add) / nav, allowed=allowed)
            q = sign(q) * (z + (abs(q) - z) * scale)
        return q

    def fill(self, p: Array, q: Array, slippage: Array, g: Array) -> None:  # 11
        impact, orders = g * sqrt(abs(q)), q != 0.0
        f = p * (1.0 + sign(q) * (slippage + impact))
        self.emit(11, "filled", orders, {None: orders}, shares=q, price=f)
        traded = lane_sum(abs(q) * f, orders)
        fee = self.costs.fee_bps / 1e4 * traded
        self.cash -= lane_sum(q * f, orders) + fee
        slipped, pushed = (lane_sum(abs(q) * p * x, orders) for x in (slippage, impact))
        self.part |= {"fee": fee, "slippage": slipped, "impact": pushed}
        self.part["carry"] = lane_sum(self.h * (p - self.m), self.h != 0.0)
        self.h, self.turnover = self.h + q, traded / self.nav

    def accrue(self, p: Array) -> None:  # 12
        rates, ppy = self.costs, self.market.periods_per_year
        short = lane_sum(-self.h * p, self.h < 0.0)
        b = self.cash - short
        interest = b * ((rates.cash_bps if b >= 0.0 else rates.financing_bps) / 1e4) / ppy
        borrow = short * (rates.borrow_bps / 1e4) / ppy
        self.part |= {"borrow": borrow} | ({"interest": interest} if b >= 0.0 else {"financing": -interest})
        self.cash = self.cash + interest - borrow

    def mark(self, bar: Bar, p: Array) -> None:  # 13
        self.m = where(isnan(bar.close), self.m, bar.close)
        self.part["trade"] = lane_sum(self.h * (self.m - p), self.h != 0.0)
        self.nav = self.cash + lane_sum(self.h * self.m, self.h != 0.0)
        if not isfinite(self.nav):
            raise OverflowError("nav_overflow")

    def close_if_insolvent(self) -> None:  # 14
        h, m, held, margin = self.h, self.m, self.h != 0.0, self.limits.maintenance_margin
        if margin > 0.0 and self.nav < margin * lane_sum(abs(h) * m, held):
            price = m * (1.0 - sign(h) * self.costs.slippage_bps / 1e4)
            fee = self.costs.fee_bps / 1e4 * lane_sum(abs(h) * price, held)
            self.emit(14, "liquidated", held, {None: held}, shares=h, price=price)
            self.part["liquidation"] = lane_sum(h * (m - price), held) + fee
            self.nav = self.cash = self.cash + lane_sum(h * price, held) - fee
            self.h, self.terminated = np.zeros(len(h)), True
        if self.nav <= 0.0:
            self.emit_all(14, "ruined", shortfall=-self.nav)
            self.part["shortfall"] = -self.nav
            self.cash, self.nav, self.h, self.terminated = 0.0, 0.0, np.zeros(len(h)), True


def run(account: Account, weights: Any, end: int) -> list[Account]:
    """Return the account at each close before `end`, until it terminates."""
    accounts = [account]
    while accounts[-1].t < end - 1 and not accounts[-1].terminated:
        accounts.append(copy(accounts[-1]))
        accounts[-1].step(weights[accounts[-1].t])
    return accounts
