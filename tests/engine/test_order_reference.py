"""Test properties of the reference of day orders on random markets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isnan
from typing import Any

import numpy as np
import pytest
from builders import costs_of, count, dataset_of, limits_of
from markets import random_market
from order_fills import Fill
from order_inputs import DayDraw, day_market, day_rules, random_day
from order_market import Account, DayCosts, DayLimits, DayMarket, Order, OrderError, Orders, Rules, check, opened, sign
from order_phases import Event
from order_reference import Outcome, step

import openoutcry as oo

pytestmark = pytest.mark.once

N_DRAWS = count(10_000, 350)
N_PLAIN = count(2_000, 120)
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Bar:
    """One step of a draw."""

    draw: DayDraw
    before: Account
    orders: dict[str, Order]
    after: Account
    events: list[Event]
    outcome: Outcome

    @property
    def names(self) -> tuple[str, ...]:
        return self.draw.market.names()

    @property
    def scale(self) -> float:
        """The amount of money to which rounding is relative."""
        gross = [abs(x * y) for a in (self.before, self.after) for x, y in zip(a.h, a.m, strict=True) if x != 0.0]
        traded = [abs(fill.q) * fill.f for fill in self.outcome.fills]
        return max(self.before.nav, sum(gross), sum(traded))

    def order(self, fill: Fill) -> Order:
        return self.orders[self.names[fill.i]].divided(self.draw.market.quotes(self.after.t)[fill.i].split)

    def held(self) -> list[float]:
        """Return the shares after corporate actions and before fills."""
        quotes = self.draw.market.quotes(self.after.t)
        return [0.0 if x.settles else h * x.split for h, x in zip(self.before.h, quotes, strict=True)]

    def marks(self) -> list[float]:
        quotes = self.draw.market.quotes(self.after.t)
        return [m / x.split for m, x in zip(self.before.m, quotes, strict=True)]


def walk(draw: DayDraw) -> Iterator[Bar]:
    account, names = opened(draw.market, draw.start), draw.market.names()
    while account.t < draw.end - 1 and not account.terminated:
        before, orders = account, draw.table.orders(names, account.t)
        account, events, outcome = step(draw.market, draw.rules, account, orders)
        yield Bar(draw, before, orders, account, events, outcome)


@pytest.fixture(scope="module")
def bars() -> list[Bar]:
    return [bar for draw in map(random_day, range(N_DRAWS)) for bar in walk(draw)]


def fills_of(bars: list[Bar]) -> Iterator[tuple[Bar, Fill]]:
    return ((bar, fill) for bar in bars for fill in bar.outcome.fills)


def was_scaled(bar: Bar) -> bool:
    return any(event.get("reason") in {"rebalanced", "cash"} for event in bar.events)


def leaves_below_its_entry(bar: Bar, fill: Fill) -> bool:
    """Whether a profit is taken at a price worse than its inside entry."""
    entry = next((x.b for x in bar.outcome.fills if x.i == fill.i and x.phase == "inside"), None)
    return fill.reason == "take_profit" and entry is not None and (fill.b - entry) * sign(fill.q) > 0.0


def test_the_price_before_cost_lies_in_the_range_of_the_bar(bars: list[Bar]) -> None:
    outside = []
    for bar, fill in fills_of(bars):
        quote, market = bar.draw.market.quotes(bar.after.t)[fill.i], bar.draw.market
        before = market.quotes(bar.before.t)[fill.i].close
        p = quote.open if market.open is not None else (before - quote.dividend) / quote.split
        known = [x for x in (p, quote.close, quote.low, quote.high) if not isnan(x)]
        # A limit that steps 9 and 10 were sized for, and that is scaled later, has a smaller cost at the same price.
        free = was_scaled(bar) and bar.draw.rules.costs.impact_bps > 0.0
        within = min(known) * (1.0 - TOLERANCE) <= fill.b <= max(known) * (1.0 + TOLERANCE)
        if not (within or free or leaves_below_its_entry(bar, fill)):
            outside.append((bar.draw.rules.seed, bar.after.t, fill))
    assert outside == []


def test_no_order_is_filled_beyond_its_limit(bars: list[Bar]) -> None:
    beyond, n_limits = [], 0
    for bar, fill in fills_of(bars):
        limit = bar.order(fill).limit_price
        if fill.phase != "exits" and not isnan(limit):
            n_limits += 1
            beyond += [(bar.draw.rules.seed, bar.after.t, fill)] if sign(fill.q) * (fill.f - limit) > 0.0 else []
    assert beyond == []
    assert n_limits > N_DRAWS


def test_a_profit_is_taken_at_its_price_or_at_the_open(bars: list[Bar]) -> None:
    worse = []
    for bar, fill in fills_of(bars):
        profit = bar.order(fill).take_profit
        if fill.reason == "take_profit" and sign(fill.q) * (fill.f - profit) > 0.0:
            worse.append(fill)
    assert worse == []


def test_stops_are_filled_no_better_than_at_their_price(bars: list[Bar]) -> None:
    better = []
    for bar, fill in fills_of(bars):
        order = bar.order(fill)
        price = order.stop_loss if fill.reason == "stop_loss" else order.stop_price
        stopped = fill.reason == "stop_loss" or (fill.phase in {"opens", "inside"} and not isnan(price))
        better += [fill] if stopped and sign(fill.q) * (price - fill.b) > 0.0 else []
    assert better == []


def test_the_identity_accounts_for_every_step(bars: list[Bar]) -> None:
    differing = []
    for bar in bars:
        gains, costs = bar.outcome.gains, bar.outcome.costs
        gain = bar.outcome.trade + sum(gains.values()) - sum(costs.values())
        error = abs(bar.after.nav - bar.before.nav - gain)
        scale = max(bar.scale, *(abs(x) for x in (*gains.values(), *costs.values())))
        differing += [(bar.draw.rules.seed, bar.after.t, error / scale)] if error > TOLERANCE * scale else []
    assert differing == []


def test_the_order_of_the_orders_changes_no_bit(bars: list[Bar]) -> None:
    for bar in bars[::7]:
        reversed_orders = dict(reversed(bar.orders.items()))
        received = step(bar.draw.market, bar.draw.rules, bar.before, reversed_orders)
        assert repr(received) == repr((bar.after, bar.events, bar.outcome))


def permuted(market: DayMarket, order: list[int]) -> DayMarket:
    tables = ("close", "open", "high", "low", "volume", "dividends", "splits", "tradable", "delistings")
    columns = {name: getattr(market, name) for name in tables}
    given = {name: np.asarray(cells) for name, cells in columns.items() if cells is not None}
    moved: dict[str, Any] = {name: cells[:, order] for name, cells in given.items()}
    return replace(market, **moved, symbols=tuple(market.names()[i] for i in order))


def test_the_order_of_the_symbols_changes_only_roundings(bars: list[Bar]) -> None:
    for bar in bars[::7]:
        order = np.random.default_rng(bar.after.t).permutation(len(bar.names)).tolist()
        a = bar.before
        h, m, average = (tuple(x[i] for i in order) for x in (a.h, a.m, a.average))
        account = replace(a, h=h, m=m, average=average, settled=tuple(a.settled[i] for i in order))
        after, events, _ = step(permuted(bar.draw.market, order), bar.draw.rules, account, bar.orders)
        assert abs(after.nav - bar.after.nav) <= TOLERANCE * bar.scale
        assert kinds(bar, events) == kinds(bar, bar.events)
        shares = [after.h[order.index(i)] for i in range(len(order))]
        errors = [abs(x - y) * z for x, y, z in zip(shares, bar.after.h, bar.after.m, strict=True) if x or y]
        assert max(errors, default=0.0) <= TOLERANCE * bar.scale


def kinds(bar: Bar, events: list[Event]) -> list[tuple[str, str, str]]:
    """Return the events by name; shares worth a rounding are left out."""
    marks = dict(zip(bar.names, bar.marks(), strict=True))
    found = []
    for event in events:
        shares = event.get("shares", inf) * marks.get(event.get("symbol", ""), 1.0)
        if abs(shares) > TOLERANCE * bar.scale:
            found.append((event["slug"], event.get("symbol", ""), event.get("reason", "")))
    return sorted(found)


def test_a_symbol_trades_no_more_than_its_participation_over_all_phases(bars: list[Bar]) -> None:
    for bar in bars:
        most, capital = bar.draw.rules.limits.max_participation, bar.draw.rules.costs.capital
        traded: Counter[int] = Counter()
        for fill in bar.outcome.fills:
            volume = bar.draw.market.quotes(bar.after.t)[fill.i].volume
            per_share = bar.marks()[fill.i] / bar.before.nav if isnan(volume) else capital / volume
            traded[fill.i] += abs(fill.q) * per_share  # type: ignore[assignment]
        assert max(traded.values(), default=0.0) <= most * (1.0 + TOLERANCE)


def test_gross_stays_in_its_room_after_every_phase(bars: list[Bar]) -> None:
    beyond = []
    for bar in bars:
        h, m, nav = bar.held(), bar.marks(), bar.before.nav
        room = max(bar.draw.rules.limits.max_gross * nav, gross(h, m))
        for phase in ("opens", "inside", "exits", "closes"):
            for fill in bar.outcome.fills:
                h[fill.i] += fill.q if fill.phase == phase else 0.0
            # Step 4 leaves targets within 1e-6 of the limit as they are.
            beyond += [(bar.draw.rules.seed, bar.after.t, phase)] if gross(h, m) > room * (1.0 + 1.1e-6) else []
    assert beyond == []


def gross(h: list[float], m: list[float]) -> float:
    return sum(abs(x) * y for x, y in zip(h, m, strict=True) if x != 0.0)


def test_a_cash_account_never_spends_more_than_its_cash() -> None:
    n_limited = 0
    for seed in range(N_DRAWS // 4):
        draw = random_day(seed)
        costs = replace(draw.rules.costs, cash_bps=0.0, financing_bps=0.0, borrow_bps=0.0)
        limits = replace(draw.rules.limits, cash_account=True, allow_short=False, max_gross=inf, max_weight=inf)
        for bar in walk(replace(draw, rules=Rules(costs, limits, seed))):
            assert bar.after.cash >= -TOLERANCE * bar.before.nav
            n_limited += any(event.get("reason") == "cash" for event in bar.events)
    assert n_limited > 5


def test_exits_leave_the_side_that_they_protect(bars: list[Bar]) -> None:
    for bar, fill in fills_of(bars):
        if fill.phase == "exits":
            held = bar.held()[fill.i] + sum(
                x.q for x in bar.outcome.fills if x.i == fill.i and x.phase in {"opens", "inside"}
            )
            assert sign(held) == -sign(fill.q)
            assert abs(fill.q) <= abs(held)


def test_plain_orders_give_the_bits_of_the_engine() -> None:
    n_compared = 0
    for seed in range(N_PLAIN):
        market, weights, start, end, costs, limits = random_market(seed)
        try:
            dataset = dataset_of(market)
        except oo.OpenOutcryError:
            continue
        run = oo.run_backtest(dataset, weights, (start, end), costs_of(costs), limits_of(limits), seed=seed)
        day, rules = day_market(market), day_rules(costs, limits, seed)
        account, names = opened(day, start), day.names()
        while account.t < end - 1 and not account.terminated:
            orders: Orders = dict(zip(names, map(Order, weights[account.t].tolist()), strict=True))
            account, events, outcome = step(day, rules, account, orders)
            k = account.t - start
            assert (run.nav[k], run.turnover[k - 1]) == (account.nav, outcome.turnover), seed
            money = {name: column[k - 1] for name, column in [*run.costs.items(), *run.gains.items()]}
            assert outcome.costs | outcome.gains == {name: money[name] for name in outcome.costs | outcome.gains}
            assert [x for x in events if x["slug"] != "filled"] == reported(run, k - 1)
        n_compared += 1
    assert n_compared > N_PLAIN / 2


def reported(run: oo.Run, k: int) -> list[dict[str, Any]]:
    events = [event for event in run.events if event["decision"] == k]
    return [{name: x for name, x in event.items() if name not in {"decision", "bar"}} for event in events]


CONFLICTS = {
    "a price of 0": (Order(0.5, limit_price=0.0), "order_price_invalid"),
    "a price below the smallest": (Order(0.5, stop_price=1e-16), "order_price_invalid"),
    "a price above the largest": (Order(0.5, take_profit=1e16), "order_price_invalid"),
    "an infinite price": (Order(0.5, stop_loss=inf), "order_price_invalid"),
    "a stop at the close": (Order(0.5, stop_price=1.0, at_close=True), "conflicting_fields"),
    "exits of an order at the close": (Order(0.5, stop_loss=1.0, at_close=True), "conflicting_fields"),
    "exits of a close": (Order(0.0, take_profit=1.0), "conflicting_fields"),
    "a limit of a hold": (Order(limit_price=1.0), "conflicting_fields"),
    "a hold at the close": (Order(at_close=True), "conflicting_fields"),
    "an infinite weight": (Order(inf), "weight_not_finite"),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_orders_that_cannot_be_a_decision_are_refused_as_a_whole(name: str) -> None:
    order, slug = CONFLICTS[name]
    with pytest.raises(OrderError, match=slug):
        check({"A": Order(0.5), "B": order})


def test_a_gap_is_a_part_and_a_cash_account_has_no_shorts() -> None:
    for gap in (-0.1, 1.1):
        with pytest.raises(ValueError, match="cost_invalid"):
            Rules(DayCosts(stop_gap=gap))
    with pytest.raises(ValueError, match="limit_invalid"):
        Rules(limits=DayLimits(cash_account=True))


def test_a_close_takes_a_limit_a_stop_and_a_time() -> None:
    check({"A": Order(0.0, limit_price=1.0, stop_price=1e-15), "B": Order(0.0, limit_price=1e15, at_close=True)})


EVENTS = {
    "refused": ("unknown_symbol", "settled_symbol", "weight_out_of_range", "short_not_allowed", "exits_crossed"),
    "limited": ("max_weight", "max_gross", "participation", "rebalanced", "cash"),
    "unfilled": (
        *("no_price", "not_tradable", "no_volume", "cost_too_high"),
        *("limit_not_reached", "stop_not_reached", "no_range", "exited"),
    ),
    "exited": ("stop_loss", "take_profit"),
}


def test_the_random_orders_reach_every_event_and_phase(bars: list[Bar]) -> None:
    found = Counter((event["slug"], event.get("reason")) for bar in bars for event in bar.events)
    expected: set[Any] = {(slug, reason) for slug, reasons in EVENTS.items() for reason in reasons}
    expected |= {(slug, None) for slug in ("stale_price", "delisted", "filled", "liquidated", "ruined")}
    assert set(found) == expected
    phases = Counter(fill.phase for _, fill in fills_of(bars))
    assert {each: n for each, n in [*found.items(), *phases.items()] if n < 5} == {}
    assert set(phases) == {"opens", "inside", "exits", "closes"}


def test_events_of_later_phases_stand_behind_those_of_earlier_ones(bars: list[Bar]) -> None:
    rank = {"opens": 0, "inside": 1, "exits": 2, "closes": 3}
    for bar in bars:
        phase_of = {(fill.i, fill.q): rank[fill.phase] for fill in bar.outcome.fills}
        places = {name: i for i, name in enumerate(bar.names)}
        executed = [e for e in bar.events if e["slug"] in {"filled", "exited"}]
        phases = [phase_of[places[e["symbol"]], e["shares"]] for e in executed]
        assert all(x <= y for x, y in pairwise(phases))
