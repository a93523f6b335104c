"""Compare the reference of day orders with the extreme paths of a bar."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf, isnan, nan

import numpy as np
import pytest
from builders import count
from markets import pick
from order_fills import reached
from order_market import Account, DayCosts, DayLimits, DayMarket, Order, Rules, sign
from order_paths import value_on
from order_reference import Outcome, step

pytestmark = pytest.mark.once

N_BARS = count(100_000, 4_000)
LIMITS = DayLimits(max_weight=inf, max_gross=inf)


@dataclass(frozen=True)
class Case:
    """One order on one bar of one symbol: its value by rule and by path."""

    order: Order
    h: float
    bar: tuple[float, float, float, float]  # open, high, low, close
    received: float
    paths: tuple[float, float]  # o-l-h-c, o-h-l-c
    outcome: Outcome
    slugs: frozenset[str]

    @property
    def adds_behind_its_stop(self) -> bool:
        """Whether an inside fill added to a position that the open had stopped."""
        d = -sign(self.h)
        adds = any(fill.phase == "inside" and sign(fill.q) == -d for fill in self.outcome.fills)
        return self.h != 0.0 and adds and reached(d, self.bar[0], self.order.stop_loss)

    @property
    def is_stop_limit(self) -> bool:
        return not (isnan(self.order.limit_price) or isnan(self.order.stop_price))

    @property
    def is_above(self) -> bool:
        return self.received > max(self.paths) + 1e-12


def draw_order(rng: np.random.Generator, h: float) -> Order:
    def price() -> float:
        return float(100.0 * np.exp(rng.normal(0.0, 0.03)))

    weight = pick(rng, nan, 0.5, -0.5, 1.0, -1.0, 2.0, 0.0)
    if weight == 0.0 or rng.random() < 0.1:
        has_limit = not isnan(weight) and rng.random() < 0.5
        return Order(weight, limit_price=price() if has_limit else nan, at_close=not isnan(weight))
    order = Order(weight, stop_loss=price() if rng.random() < 0.6 else nan, take_profit=price())
    order = replace(order, take_profit=nan) if rng.random() < 0.4 else order
    if isnan(weight) or rng.random() < 0.2:
        return order
    kind = int(rng.integers(3))
    return replace(order, limit_price=price() if kind != 1 else nan, stop_price=price() if kind != 0 else nan)


def draw_bar(rng: np.random.Generator) -> tuple[float, float, float, float]:
    o, c = (float(100.0 * np.exp(rng.normal(0.0, 0.02))) for _ in range(2))
    reach = np.exp(0.02 * np.abs(rng.standard_normal(2)))
    return o, float(max(o, c) * reach[0]), float(min(o, c) / reach[1]), c


def draw_case(seed: int, gap: float) -> Case:
    rng = np.random.default_rng(seed)
    h = pick(rng, 0.0, 0.01, -0.01)
    order, bar = draw_order(rng, h), draw_bar(rng)
    o, high, low, close = bar
    market = DayMarket([[100.0], [close]], open=[[100.0], [o]], high=[[100.0], [high]], low=[[100.0], [low]])
    account = Account(0, 1.0 - h * 100.0, 1.0, (h,), (100.0,), (False,), (100.0,))
    rules = Rules(DayCosts(stop_gap=gap), LIMITS)
    after, events, outcome = step(market, rules, account, {"S0": order})
    refused = any(event["slug"] == "refused" for event in events)
    cur = h * 100.0
    w = cur if isnan(order.weight) else order.weight
    q = 0.0 if refused or w == cur else w / 100.0 - h
    kept = Order() if refused else order
    paths = [value_on([o, *ends, close], h, q, kept, sign(w)) for ends in ((low, high), (high, low))]
    values = account.cash + paths[0], account.cash + paths[1]
    slugs = frozenset(str(event.get("reason") or event["slug"]) for event in events)
    return Case(order, h, bar, after.cash + after.h[0] * close, values, outcome, slugs)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [draw_case(seed, 0.0) for seed in range(N_BARS)]


def test_the_result_is_never_above_the_better_path(cases: list[Case]) -> None:
    assert [case for case in cases if case.is_above and not case.adds_behind_its_stop] == []


def test_with_a_gap_the_result_is_never_above_the_better_path() -> None:
    drawn = [draw_case(seed, gap) for seed in range(N_BARS // 8) for gap in (0.5, 1.0)]
    # A stop-limit that jumps over its limit is not on a continuous path.
    comparable = [case for case in drawn if not (case.is_stop_limit or case.adds_behind_its_stop)]
    assert [case for case in comparable if case.is_above] == []


def test_a_bracket_on_a_position_held_from_the_open_gives_the_worse_path(cases: list[Case]) -> None:
    held = [case for case in cases if isnan(case.order.limit_price) and isnan(case.order.stop_price)]
    differing = [case for case in held if abs(case.received - min(case.paths)) > 1e-12]
    assert differing == []
    assert len(held) > N_BARS / 20


def test_a_single_conditional_entry_gives_a_path_of_the_bar(cases: list[Case]) -> None:
    """Without exits one order is filled on both paths alike."""
    plain = [case for case in cases if not case.order.has_exits]
    assert [case for case in plain if abs(case.received - case.paths[0]) > 1e-12] == []
    assert [case for case in plain if abs(case.paths[1] - case.paths[0]) > 1e-12] == []
    assert len(plain) > N_BARS / 20


def test_the_paths_reach_every_kind_of_fill_and_differ(cases: list[Case]) -> None:
    found = Counter(slug for case in cases for slug in case.slugs)
    found["paths differ"] = sum(abs(case.paths[0] - case.paths[1]) > 1e-9 for case in cases)
    found["between"] = sum(case.received < min(case.paths) - 1e-9 for case in cases)
    wanted = {"filled", "stop_loss", "take_profit", "exited", "limit_not_reached", "stop_not_reached"}
    missing = {slug: found[slug] for slug in {*wanted, "exits_crossed", "paths differ"} if found[slug] < 20}
    assert missing == {}
