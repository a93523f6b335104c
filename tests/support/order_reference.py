"""The reference of day orders: the fifteen steps of contract 1.1 in plain Python.

It implements the text and shares no code with the engine. Numbers in comments are step numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any

from order_fills import Fill, plan_of, terms_of, view_of
from order_market import HOLD, Account, DayMarket, Order, Orders, Rules, check, lane_sum, sign
from order_phases import Desk, Event, Ticket, exit_all, toward_zero, trade

MAX_NAV = 1e100


@dataclass(frozen=True)
class Outcome:
    """Reward and money of a step. `trade` is the two sums of the identity."""

    reward: float
    turnover: float
    costs: dict[str, float]
    gains: dict[str, float]
    trade: float
    fills: tuple[Fill, ...]


def step(market: DayMarket, rules: Rules, account: Account, orders: Orders) -> tuple[Account, list[Event], Outcome]:
    """Return the account at the next close, the events, and the outcome."""
    check(orders)
    if account.nav > MAX_NAV:
        raise OverflowError("nav_overflow")
    return Step(market, rules, account, orders).run()


class Step:
    """One step of an account."""

    def __init__(self, market: DayMarket, rules: Rules, account: Account, orders: Orders) -> None:
        self.market, self.rules, self.before = market, rules, account
        self.names, self.t = market.names(), account.t + 1
        self.orders = [orders.get(name, HOLD) for name in self.names]
        self.unknown = {name: order for name, order in orders.items() if name not in self.names}
        self.last, self.quotes = market.quotes(account.t), market.quotes(self.t)
        self.h, self.m, self.cash = list(account.h), list(account.m), account.cash
        self.average, self.settled = list(account.average), list(account.settled)
        self.events: list[Event] = []
        self.refused: set[int] = set()
        self.costs = dict.fromkeys(("fee", "slippage", "impact", "financing", "borrow", "liquidation"), 0.0)
        self.gains = dict.fromkeys(("interest", "dividends", "settlement", "shortfall"), 0.0)
        self.terminated = False

    def emit(self, slug: str, i: int = -1, **fields: Any) -> None:
        self.events.append({"slug": slug} | ({} if i < 0 else {"symbol": self.names[i]}) | fields)

    def run(self) -> tuple[Account, list[Event], Outcome]:
        nav = self.before.nav
        cur = [h * m / nav if h != 0.0 else 0.0 for h, m in zip(self.h, self.m, strict=True)]
        w = self.limit(cur, self.decide(cur))
        q = self.act(self.size(cur, w))
        h0, m0 = list(self.h), list(self.m)
        desk = self.desk(w, q)
        trade(desk, "opens")
        trade(desk, "inside")
        early = desk.cash, list(desk.h)
        exit_all(desk)
        trade(desk, "closes")
        self.take(desk, h0)
        self.accrue([view.o for view in desk.views], early)
        self.mark()
        held = lane_sum({i: h * (self.m[i] - m0[i]) for i, h in enumerate(h0) if h != 0.0})
        gain = held + sum(fill.q * (self.m[fill.i] - fill.b) for fill in desk.fills)
        self.close_if_insolvent()
        outcome = Outcome(
            self.nav / nav - 1.0, sum(desk.traded, 0.0) / nav, self.costs, self.gains, gain, tuple(desk.fills)
        )
        after = (self.t, self.cash, self.nav, tuple(self.h), tuple(self.m), tuple(self.settled), tuple(self.average))
        return Account(*after, self.terminated), self.events, outcome

    def refusal(self, i: int, cur: float) -> str:
        """Return the first reason to refuse an order."""
        order, limits = self.orders[i], self.rules.limits
        w = cur if isnan(order.weight) else order.weight
        if not isnan(order.weight):
            if isnan(self.m[i]) and w != 0.0:
                return "unknown_symbol"
            if abs(w) > 100.0:
                return "weight_out_of_range"
            if w < 0.0 and not limits.allow_short:
                return "short_not_allowed"
            if self.settled[i] and w != 0.0:
                return "settled_symbol"
        loss, profit = order.stop_loss, order.take_profit
        both = not (isnan(loss) or isnan(profit))
        crossed = (w > 0.0 and not loss < profit) or (w < 0.0 and not profit < loss)
        return "exits_crossed" if both and crossed else ""

    def decide(self, cur: list[float]) -> list[float]:  # 1
        for name, order in self.unknown.items():
            self.emit("refused", symbol=name, weight=order.weight, reason="unknown_symbol")
        w = [c if isnan(order.weight) else order.weight for c, order in zip(cur, self.orders, strict=True)]
        for i, weight in enumerate(w):
            reason = self.refusal(i, cur[i])
            if reason:
                self.emit("refused", i, weight=weight, reason=reason)
                self.refused.add(i)
                w[i] = cur[i]
        return w

    def limit(self, cur: list[float], w: list[float]) -> list[float]:  # 2, 3, 4
        limits = self.rules.limits
        k = [abs(c) if sign(x) == sign(c) else 0.0 for x, c in zip(w, cur, strict=True)]
        for i, x in enumerate(w):
            if abs(x) > k[i] and abs(x) > limits.max_weight:
                w[i] = sign(x) * max(limits.max_weight, k[i])
                self.emit("limited", i, reason="max_weight", requested=x, allowed=w[i])
        b = [min(abs(x), each) for x, each in zip(w, k, strict=True)]
        a = [abs(x) - each for x, each in zip(w, b, strict=True)]
        added, kept = lane_sum(dict(enumerate(a))), lane_sum(dict(enumerate(b)))
        if added > 0.0 and added + kept > limits.max_gross * (1.0 + 1e-6):
            scale = max(0.0, limits.max_gross - kept) / added
            self.emit("limited", reason="max_gross", requested=added + kept, allowed=kept + added * scale)
            w = [sign(x) * (b[i] + a[i] * scale) for i, x in enumerate(w)]
        return w

    def size(self, cur: list[float], w: list[float]) -> list[float]:  # 5
        q = [0.0] * len(w)
        for i, x in enumerate(w):
            if x != cur[i]:
                q[i] = (x * self.before.nav) / self.m[i] - self.h[i]
            if q[i] != 0.0 and isnan(self.last[i].close):
                self.emit("stale_price", i, price=self.m[i])
        return q

    def act(self, q: list[float]) -> list[float]:  # 6
        dividends = lane_sum({i: h * self.quotes[i].dividend for i, h in enumerate(self.h) if h != 0.0})
        self.cash += dividends
        self.gains["dividends"] = dividends
        paid, gained = {}, {}
        for i, quote in enumerate(self.quotes):
            self.h[i], q[i] = self.h[i] * quote.split, q[i] * quote.split
            self.m[i], self.average[i] = self.m[i] / quote.split, self.average[i] / quote.split
            if not quote.settles:
                continue
            h, m, growth = self.h[i], self.m[i], 1.0 + quote.delisting_return
            if h != 0.0:
                self.emit("delisted", i, shares=h, price=m * growth)
                paid[i], gained[i] = h * m * growth, h * m * quote.delisting_return
            elif q[i] != 0.0:
                self.emit("unfilled", i, shares=q[i], reason="no_price")
            self.h[i], q[i], self.settled[i] = 0.0, 0.0, True
        self.cash += lane_sum(paid)
        self.gains["settlement"] = lane_sum(gained)
        return q

    def reference_price(self, i: int) -> float:  # 7
        quote = self.quotes[i]
        return quote.open if self.market.open is not None else (self.last[i].close - quote.dividend) / quote.split

    def barred(self, i: int, price: float) -> str:  # 8
        quote = self.quotes[i]
        if isnan(price) or isnan(quote.close):
            return "no_price"
        return "not_tradable" if not quote.tradable else "no_volume" if quote.volume == 0.0 else ""

    def desk(self, w: list[float], q: list[float]) -> Desk:
        """Return the desk on which the orders are planned and executed."""
        rules, nav, places = self.rules, self.before.nav, range(len(self.names))
        opens = [self.reference_price(i) for i in places]
        views = [view_of(self.market, rules, self.quotes[i], opens[i]) for i in places]
        terms = [terms_of(rules, self.quotes[i], self.m[i], nav, (self.t, self.names[i])) for i in places]
        barred = [self.barred(i, opens[i]) for i in places]
        desk = Desk(rules, self.names, self.cash, nav, self.h, self.m, views, terms, barred)
        for i in places:
            order = self.orders[i].divided(self.quotes[i].split)
            if q[i] != 0.0:
                desk.tickets[i] = self.ticket(desk, i, order, q[i])
            if order.has_exits and i not in self.refused and not self.settled[i]:
                desk.exits[i] = sign(w[i]), order
        return desk

    def ticket(self, desk: Desk, i: int, order: Order, sized: float) -> Ticket:
        """Return an order, cut by participation (9), with its row of the fill table."""
        q = desk.terms[i].cut(sized, self.rules.limits.max_participation)
        # A refused order has no shares, so its fields are never read.
        plan = plan_of(order, sized, desk.views[i], desk.terms[i].c(q))
        reason = self.barred(i, self.quotes[i].close if order.at_close else desk.views[i].o)
        return Ticket(order, sized, q, plan, reason, toward_zero(sized, self.h[i]))

    def take(self, desk: Desk, held: list[float]) -> None:
        """Take over the fills; `held` is what was held before them."""
        held = list(held)
        for fill in desk.fills:
            before = held[fill.i]
            self.average[fill.i] = averaged(self.average[fill.i], before, fill.q, fill.f)
            held[fill.i] = before + fill.q
        self.cash, self.h = desk.cash, desk.h
        self.events += desk.events
        sums = {"fee": desk.fees, "slippage": desk.slippage, "impact": desk.impact}
        self.costs |= {kind: sum(parts, 0.0) for kind, parts in sums.items()}

    def accrue(self, p: list[float], early: tuple[float, list[float]]) -> None:  # 12
        rates, ppy = self.rules.costs, self.market.periods_per_year
        cash, h = early
        owed = {i: max(-h[i], -self.h[i]) for i in range(len(h)) if min(h[i], self.h[i]) < 0.0}
        short = lane_sum({i: x * (self.m[i] if isnan(p[i]) else p[i]) for i, x in owed.items()})
        b = min(cash, self.cash) - short
        interest = b * ((rates.cash_bps if b >= 0.0 else rates.financing_bps) / 1e4) / ppy
        borrow = short * (rates.borrow_bps / 1e4) / ppy
        self.cash = self.cash + interest - borrow
        self.costs["borrow"] = borrow
        if b >= 0.0:
            self.gains["interest"] = interest
        else:
            self.costs["financing"] = -interest

    def mark(self) -> None:  # 13
        for i, quote in enumerate(self.quotes):
            if not isnan(quote.close):
                self.m[i] = quote.close
        self.nav = self.cash + lane_sum({i: h * self.m[i] for i, h in enumerate(self.h) if h != 0.0})
        if not isfinite(self.nav):
            raise OverflowError("nav_overflow")

    def close_if_insolvent(self) -> None:  # 14
        margin, costs = self.rules.limits.maintenance_margin, self.rules.costs
        held = {i: h for i, h in enumerate(self.h) if h != 0.0}
        if margin > 0.0 and self.nav < margin * lane_sum({i: abs(h) * self.m[i] for i, h in held.items()}):
            slippage = costs.slippage_bps / 1e4
            price = {i: self.m[i] * (1.0 - sign(h) * slippage) for i, h in held.items()}
            for i, h in held.items():
                self.emit("liquidated", i, shares=h, price=price[i])
            fee = costs.fee_bps / 1e4 * lane_sum({i: abs(h) * price[i] for i, h in held.items()})
            self.costs["liquidation"] = lane_sum({i: abs(h) * self.m[i] * slippage for i, h in held.items()}) + fee
            self.nav = self.cash = self.cash + (lane_sum({i: h * price[i] for i, h in held.items()}) - fee)
            self.h, self.terminated = [0.0] * len(self.h), True
        if self.nav <= 0.0:
            self.emit("ruined", shortfall=-self.nav)
            self.gains["shortfall"] = -self.nav
            self.cash, self.nav, self.h, self.terminated = 0.0, 0.0, [0.0] * len(self.h), True


def averaged(average: float, held: float, q: float, f: float) -> float:
    """Return the average price of a position after a fill."""
    if held * (held + q) <= 0.0:  # opened, closed or flipped
        return f
    return (average * abs(held) + f * abs(q)) / abs(held + q) if held * q > 0.0 else average
