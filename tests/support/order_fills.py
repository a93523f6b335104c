"""Fills of day orders and exits: condition, phase, price and costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt

from order_market import DayMarket, Order, Quote, Rules, ratio, sign
from reference_engine import fill_noise

PHASES = ("opens", "inside", "exits", "closes")


@dataclass(frozen=True)
class View:
    """What the orders of a symbol are compared with on a bar."""

    o: float
    close: float
    lo: float
    hi: float
    has_range: bool
    has_opens: bool
    gap: float

    def best(self, d: float) -> float:
        """Return the end of the range that an order of direction `d` likes."""
        return self.lo if d > 0.0 else self.hi

    def stopped(self, d: float, x: float) -> float:
        """Return b of a stop at x: `stop_gap` of the way to the end of the range."""
        return x + self.gap * (self.hi - x) if d > 0.0 else x - self.gap * (x - self.lo)


def view_of(market: DayMarket, rules: Rules, quote: Quote, p: float) -> View:
    """Return the view of a symbol with reference price `p`."""
    known = [price for price in (p, quote.close) if not isnan(price)]
    lo = min([*known, *([] if isnan(quote.low) else [quote.low])], default=nan)
    hi = max([*known, *([] if isnan(quote.high) else [quote.high])], default=nan)
    has_range = not (isnan(quote.low) or isnan(quote.high))
    return View(p, quote.close, lo, hi, has_range, market.open is not None, rules.costs.stop_gap)


@dataclass(frozen=True)
class Terms:
    """Costs of a symbol on a bar, and the shares that participation allows."""

    slippage: float  # slippage J
    g: float
    per_share: tuple[float, float]  # participation is abs(q) x / y

    def parts(self, q: float) -> tuple[float, float, float]:
        """Return the slippage and impact parts of c, and c."""
        impact = self.g * sqrt(abs(q))
        return self.slippage, impact, self.slippage + impact

    def c(self, q: float) -> float:
        return self.parts(q)[2]

    def participation(self, q: float) -> float:
        x, y = self.per_share
        return ratio(abs(q) * x, y)

    def cut(self, q: float, most: float) -> float:
        """Return q, cut to the participation `most`."""
        x, y = self.per_share
        return sign(q) * ratio(most * y, x) if self.participation(q) > most else q


def terms_of(rules: Rules, quote: Quote, m: float, nav: float, place: tuple[int, str]) -> Terms:
    """Return the terms of a symbol; `place` is the fill bar and the symbol's name."""
    costs = rules.costs
    u = fill_noise(rules.seed, *place) if costs.slippage_jitter else 0.5
    per_share = (m, nav) if isnan(quote.volume) else (costs.capital, quote.volume)
    g = costs.impact_bps / 1e4 * sqrt(ratio(*per_share))
    return Terms(costs.slippage_bps / 1e4 * (1.0 + costs.slippage_jitter * (2.0 * u - 1.0)), g, per_share)


def no_worse(d: float, price: float, limit: float) -> bool:
    return price <= limit if d > 0.0 else price >= limit


def through(d: float, price: float, limit: float) -> bool:
    return price < limit if d > 0.0 else price > limit


def reached(d: float, price: float, stop: float) -> bool:
    return price >= stop if d > 0.0 else price <= stop


@dataclass(frozen=True)
class Plan:
    """The phase of an order, and its price or the reason why it is not filled."""

    phase: str
    reason: str = ""
    b: float = nan
    f: float = nan  # given: a limit inside the bar
    o: float = nan  # the best b of a limit


def plan_of(order: Order, q: float, view: View, c: float) -> Plan:
    """Return the row of the fill table for an order of q shares at cost c."""
    d = sign(q)
    worst = 1.0 + d * c
    if order.at_close:
        met = isnan(order.limit_price) or no_worse(d, view.close * worst, order.limit_price)
        return Plan("closes", b=view.close) if met else Plan("closes", "limit_not_reached")
    if isnan(order.limit_price) and isnan(order.stop_price):
        return Plan("opens", b=view.o)
    if not view.has_opens:
        return Plan("inside", "no_range")
    if not isnan(order.stop_price):
        return stop_plan(order, d, view, worst)
    if no_worse(d, view.o * worst, order.limit_price):
        return Plan("opens", b=view.o)
    if through(d, view.best(d) * worst, order.limit_price):
        return Plan("inside", f=order.limit_price, o=view.o)
    return Plan("inside", "limit_not_reached" if view.has_range else "no_range")


def stop_plan(order: Order, d: float, view: View, worst: float) -> Plan:
    """Return the row of a stop or a stop-limit."""
    if reached(d, view.o, order.stop_price):
        plan = Plan("opens", b=view.o)
    elif reached(d, view.best(-d), order.stop_price):
        plan = Plan("inside", b=view.stopped(d, order.stop_price))
    else:
        return Plan("inside", "stop_not_reached" if view.has_range else "no_range")
    met = isnan(order.limit_price) or no_worse(d, plan.b * worst, order.limit_price)
    return plan if met else Plan("inside", "limit_not_reached")


@dataclass(frozen=True)
class Exit:
    """The exit of a position: its reason, and b, or f if the price is given."""

    reason: str
    b: float = nan
    f: float = nan
    at_open: bool = False


@dataclass(frozen=True)
class Position:
    """A position before its exit.

    `entry` is b of an inside fill that added to it, NaN without one; `was_held` is whether some of it was held at the
    open.
    """

    h: float
    entry: float = nan
    filled_inside: bool = False
    was_held: bool = False


def exit_of(position: Position, order: Order, view: View, c: float) -> Exit | None:
    """Return the first exit row that applies, for exit shares with cost c."""
    d = -sign(position.h)
    worst, stop, profit = 1.0 + d * c, order.stop_loss, order.take_profit
    if not position.filled_inside and reached(d, view.o, stop):
        return Exit("stop_loss", b=view.o, at_open=True)
    if not position.filled_inside and no_worse(d, view.o * worst, profit):
        return Exit("take_profit", b=view.o, at_open=True)
    entered = not isnan(position.entry)
    if reached(d, view.best(-d), stop):
        worst_of = min if d < 0.0 else max
        x = stop if not entered else worst_of(stop, position.entry)
        x = worst_of(x, view.o) if entered and position.was_held else x
        return Exit("stop_loss", b=view.stopped(d, x))
    if entered and no_worse(d, position.entry * worst, profit):
        if position.was_held and not no_worse(d, view.o * worst, profit):
            return Exit("take_profit", f=profit)
        worst_of = min if d < 0.0 else max
        return Exit("take_profit", b=worst_of(position.entry, view.o) if position.was_held else position.entry)
    if through(d, (view.close if entered else view.best(d)) * worst, profit):
        return Exit("take_profit", f=profit)
    return None


def needs_range(position: Position, order: Order, view: View) -> bool:
    """Return whether exits that were not met could not be tested for lack of a range."""
    testable = view.has_range and view.has_opens
    tests = not isnan(order.stop_loss) or (isnan(position.entry) and not isnan(order.take_profit))
    return tests and not testable


def exit_takes_all(order: Order, q: float, exit_: Exit | None, view: View, terms: tuple[float, float]) -> bool:
    """Return whether an exit takes the shares of a reducing inside order.

    Args:
        order: The order, with a stop, a limit or both.
        q: Its shares.
        exit_: The exit of the position if the order did not exist.
        view: The bar.
        terms: Stop of the position, and its limit on the profit.
    """
    stop, profit = terms
    d = sign(q)
    if reached(d, view.best(-d), stop):
        return True
    if exit_ is None or exit_.reason != "take_profit":
        return False
    is_limit = isnan(order.stop_price)
    return exit_.at_open or (is_limit and no_worse(-d, profit, order.limit_price))


@dataclass(frozen=True)
class Fill:
    """An executed order: shares, price, price before cost, and the parts of its cost."""

    i: int
    q: float
    f: float
    b: float
    slippage: float
    impact: float
    phase: str
    reason: str = ""


def fill_of(i: int, q: float, plan: Plan | Exit, terms: Terms, phase: str) -> Fill:
    """Return the fill of q shares at the price of a plan."""
    slippage, impact, c = terms.parts(q)
    reason = plan.reason if isinstance(plan, Exit) else ""
    worst = 1.0 + sign(q) * c
    if isnan(plan.f):
        parts = abs(q) * plan.b * slippage, abs(q) * plan.b * impact
        return Fill(i, q, plan.b * worst, plan.b, *parts, phase, reason)
    b = plan.f / worst
    if isinstance(plan, Plan) and b * sign(q) > plan.o * sign(q):
        # A cut made the cost so small that the order fills at the open at its cost, below the limit.
        return Fill(i, q, plan.o * worst, plan.o, abs(q) * plan.o * slippage, abs(q) * plan.o * impact, phase, reason)
    total = abs(q) * abs(plan.f - b)
    parts = (total * (slippage / c), total * (impact / c)) if c != 0.0 else (0.0, 0.0)
    return Fill(i, q, plan.f, b, *parts, phase, reason)
