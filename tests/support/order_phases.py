"""Phases of a bar: steps 9 to 11 of a phase, exits, and the cash account."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any

from order_fills import (
    Fill,
    Plan,
    Position,
    Terms,
    View,
    exit_of,
    exit_takes_all,
    fill_of,
    needs_range,
)
from order_market import Order, Rules, lane_sum, sign

Event = dict[str, Any]
COST_TOO_HIGH = 0.5
RANK = {"unfilled": 0, "cut": 1, "rebalanced": 2, "cash": 3, "filled": 4}


@dataclass
class Ticket:
    """The order of a symbol: shares sized, shares after step 9, and its plan."""

    order: Order
    sized: float
    q: float
    plan: Plan
    barred: str  # the reason of step 8
    wanted: float  # toward-zero shares as sized
    done: float = 0.0  # toward-zero shares executed


@dataclass
class Desk:
    """An account during the fills of a bar.

    `m` and `nav` are those of close t, on the new share basis.
    """

    rules: Rules
    names: tuple[str, ...]
    cash: float
    nav: float
    h: list[float]
    m: list[float]
    views: list[View]
    terms: list[Terms]
    barred: list[str]
    tickets: dict[int, Ticket] = field(default_factory=dict)
    exits: dict[int, tuple[float, Order]] = field(default_factory=dict)  # the sign of the target, the prices
    fills: list[Fill] = field(default_factory=list)
    fees: list[float] = field(default_factory=list)
    traded: list[float] = field(default_factory=list)
    slippage: list[float] = field(default_factory=list)
    impact: list[float] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    pending: list[tuple[int, int, Event]] = field(default_factory=list)

    @property
    def fee_rate(self) -> float:
        return self.rules.costs.fee_bps / 1e4

    def emit(self, rank: str, i: int, slug: str, **fields: Any) -> None:
        """Add an event of the phase; `i` is the place of its symbol, -1 for none."""
        named = {} if i < 0 else {"symbol": self.names[i]}
        self.pending.append((RANK[rank], i, {"slug": slug} | named | fields))

    def end_phase(self) -> None:
        """Report the events of the phase in their order."""
        self.events += [event for *_, event in sorted(self.pending, key=lambda each: each[:2])]
        self.pending = []


def trade(desk: Desk, phase: str) -> None:
    """Execute the orders of a phase."""
    mine = {i: ticket for i, ticket in desk.tickets.items() if ticket.plan.phase == phase}
    live = {i: cut(desk, i, ticket) for i, ticket in mine.items() if not fails(desk, i, ticket)}
    live = rebalance(desk, phase, {i: q for i, q in live.items() if q != 0.0})
    live = fund(desk, phase, live)
    fills = [fill_of(i, q, mine[i].plan, desk.terms[i], phase) for i, q in live.items() if q != 0.0]
    for fill in fills:
        desk.emit("filled", fill.i, "filled", shares=fill.q, price=fill.f)
    settle(desk, fills)
    desk.end_phase()


def fails(desk: Desk, i: int, ticket: Ticket) -> bool:
    """Report an order that step 8 or its own test drops."""
    reason = ticket.barred or ticket.plan.reason
    if not reason and ticket.plan.phase == "inside" and is_left_to_the_exit(desk, i, ticket):
        reason = "exited"
    if reason:
        desk.emit("unfilled", i, "unfilled", shares=ticket.sized, reason=reason)
    return bool(reason)


def is_left_to_the_exit(desk: Desk, i: int, ticket: Ticket) -> bool:
    """Return whether the exit of the position takes all of a reducing order."""
    h, order, view = desk.h[i], ticket.order, desk.views[i]
    reduces = sign(ticket.q) == -sign(h) and abs(ticket.q) <= abs(h)
    if not reduces or i not in desk.exits or desk.exits[i][0] != sign(h):
        return False
    shares = desk.terms[i].cut(-h, exit_room(desk, i))
    found = exit_of(Position(h), order, view, desk.terms[i].c(shares))
    return exit_takes_all(order, ticket.q, found, view, (order.stop_loss, order.take_profit))


def cut(desk: Desk, i: int, ticket: Ticket) -> float:
    """Return the shares that step 9 leaves of an order."""
    if desk.terms[i].participation(ticket.sized) > desk.rules.limits.max_participation:
        desk.emit("cut", i, "limited", reason="participation", requested=ticket.sized, allowed=ticket.q)
    if ticket.q != 0.0 and desk.terms[i].c(ticket.q) >= COST_TOO_HIGH:
        desk.emit("cut", i, "unfilled", shares=ticket.q, reason="cost_too_high")
        return 0.0
    return ticket.q


def toward_zero(q: float, h: float) -> float:
    return min(abs(q), abs(h)) if sign(q) == -sign(h) else 0.0


def rebalance(desk: Desk, phase: str, live: dict[int, float]) -> dict[int, float]:
    """Scale what is new in a phase if a sale of the bar failed, was cut, or waits."""
    h, m = desk.h, desk.m
    z = {i: toward_zero(q, h[i]) for i, q in live.items()}
    # The order of inside fills is unknown: an order that only reduces makes no room for another.
    freed = {i: x for i, x in z.items() if phase != "inside" or abs(live[i]) > x}
    short_of = any(ticket.done + freed.get(i, 0.0) < ticket.wanted for i, ticket in desk.tickets.items())
    keep = lane_sum({i: (abs(x) - freed.get(i, 0.0)) * m[i] for i, x in enumerate(h) if x != 0.0})
    add = lane_sum({i: (abs(q) - z[i]) * m[i] for i, q in live.items()})
    held = lane_sum({i: abs(x) * m[i] for i, x in enumerate(h) if x != 0.0})
    room = max(desk.rules.limits.max_gross * desk.nav, held)
    if not short_of or not keep + add > room:
        return live
    scale = (room - keep) / add
    sums = {"requested": (keep + add) / desk.nav, "allowed": (keep + add * scale) / desk.nav}
    desk.emit("rebalanced", -1, "limited", reason="rebalanced", **sums)
    return {i: sign(q) * (z[i] + (abs(q) - z[i]) * scale) for i, q in live.items()}


def fund(desk: Desk, phase: str, live: dict[int, float]) -> dict[int, float]:
    """Scale the purchases of a phase of a cash account to the cash that pays for them."""
    buys = [i for i, q in live.items() if q > 0.0]
    if not desk.rules.limits.cash_account or not buys:
        return live
    fee, tickets = desk.fee_rate, desk.tickets
    fills = {i: fill_of(i, q, tickets[i].plan, desk.terms[i], phase) for i, q in live.items() if q != 0.0}
    need = lane_sum({i: (fills[i].q * fills[i].f) * (1.0 + fee) for i in buys})
    sales = {} if phase == "inside" else {i: fill for i, fill in fills.items() if fill.q < 0.0}
    have = max(0.0, desk.cash + lane_sum({i: (abs(x.q) * x.f) * (1.0 - fee) for i, x in sales.items()}))
    if not need > have:
        return live
    desk.emit("cash", -1, "limited", reason="cash", requested=need, allowed=have)
    scale = have / need
    return {i: q * scale if q > 0.0 else q for i, q in live.items()}


def exit_room(desk: Desk, i: int) -> float:
    """Return the participation that the fills of a symbol leave for its exit."""
    used = sum((desk.terms[i].participation(fill.q) for fill in desk.fills if fill.i == i), 0.0)
    return max(0.0, desk.rules.limits.max_participation - used)


def exit_all(desk: Desk) -> None:
    """Execute the exits that are met."""
    fills = [fill for i in desk.exits if (fill := exit_fill(desk, i)) is not None]
    for fill in fills:
        desk.emit("filled", fill.i, "exited", reason=fill.reason, shares=fill.q, price=fill.f)
    settle(desk, fills)
    desk.end_phase()


def held_at_the_open(desk: Desk, i: int) -> float:
    """Return the shares of a symbol before its fills inside the bar."""
    return desk.h[i] - sum(fill.q for fill in desk.fills if fill.i == i and fill.phase == "inside")


def exit_fill(desk: Desk, i: int) -> Fill | None:
    """Return the fill of the exit of a position, and report what hinders it."""
    (target, order), view, h = desk.exits[i], desk.views[i], desk.h[i]
    if h == 0.0 or sign(h) != target:
        return None
    if desk.barred[i]:
        desk.emit("unfilled", i, "unfilled", shares=h, reason=desk.barred[i])
        return None
    inside = [fill for fill in desk.fills if fill.i == i and fill.phase == "inside"]
    entry = next((fill.b for fill in inside if sign(fill.q) == sign(h)), nan)
    position = Position(h, entry, bool(inside), held_at_the_open(desk, i) * sign(h) > 0.0)
    room = exit_room(desk, i)
    shares = desk.terms[i].cut(-h, room)
    found = exit_of(position, order, view, desk.terms[i].c(shares)) if view.has_opens else None
    if found is None:
        if needs_range(position, order, view):
            desk.emit("unfilled", i, "unfilled", shares=h, reason="no_range")
        return None
    if desk.terms[i].participation(h) > room:
        desk.emit("cut", i, "limited", reason="participation", requested=-h, allowed=shares)
    if shares == 0.0:
        return None
    if desk.terms[i].c(shares) >= COST_TOO_HIGH:
        desk.emit("cut", i, "unfilled", shares=h, reason="cost_too_high")
        return None
    return fill_of(i, shares, found, desk.terms[i], "exits")


def settle(desk: Desk, fills: list[Fill]) -> None:
    """Pay for the fills of a phase and add them to the account."""
    if not fills:
        return
    traded = lane_sum({x.i: abs(x.q) * x.f for x in fills})
    fee = desk.fee_rate * traded
    desk.cash -= lane_sum({x.i: x.q * x.f for x in fills}) + fee
    desk.traded.append(traded)
    desk.fees.append(fee)
    desk.slippage.append(lane_sum({x.i: x.slippage for x in fills}))
    desk.impact.append(lane_sum({x.i: x.impact for x in fills}))
    for fill in fills:
        before = desk.h[fill.i]
        desk.h[fill.i] = before + fill.q
        if fill.i in desk.tickets and fill.phase != "exits":
            desk.tickets[fill.i].done = toward_zero(fill.q, before)
    desk.fills += fills
