"""Test the reference engine: worked examples, the accounting identity, and branch coverage."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from builders import count
from markets import Array, Costs, Limits, Market, random_market
from reference_engine import COSTS, GAINS, Account, fill_noise, lane_sum, run

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.once]

N_MARKETS = count(2000, 700)  # the engine is compared with the reference on 2,000 markets in every run
OFF = Limits(max_weight=inf, max_gross=inf)
Event = tuple[str, "str | None", "str | None"]


class Run:
    """The accounts of a run as lists, per close or, `part` and `events`, per step."""

    def __init__(self, account: Account, weights: Any, end: int) -> None:
        self.accounts = run(account, weights, end)
        self.nav, self.cash = [each.nav for each in self.accounts], [each.cash for each in self.accounts]
        self.h, self.m = [each.h.tolist() for each in self.accounts], [each.m.tolist() for each in self.accounts]
        self.steps = self.accounts[1:]
        self.part = [step.part for step in self.steps]
        self.events = [[named(event) for event in step.events if event["slug"] != "filled"] for step in self.steps]


def named(event: dict[str, Any]) -> Event:
    return event["slug"], event.get("symbol"), event.get("reason")


Draw = tuple[Any, Run]


def account_of(draw: Any) -> Account:
    market, _, start, _, costs, limits = draw
    return Account(market, costs, limits, start, seed=7)


@pytest.fixture(scope="module")
def draws() -> list[Draw]:
    return [(draw, Run(account_of(draw), draw[1], draw[3])) for draw in map(random_market, range(N_MARKETS))]


def go(market: Market, weights: Any, costs: Costs | None = None, limits: Limits = OFF) -> Run:
    """Run a small market over all its bars; decisions beyond the rows are holds."""
    rows = np.array(weights, dtype=float)
    padded = np.vstack([rows, np.full((len(market.close) - len(rows), rows.shape[1]), nan)])
    return Run(Account(market, costs or Costs(), limits, 0, seed=7), padded, len(market.close))


def column(*values: float) -> list[list[float]]:
    return [[value] for value in values]


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-14, abs=1e-15)


def test_a_sum_has_eight_accumulators() -> None:
    # Lane 0 holds 1e16 - 1e16 = 0 before lane 4 adds its 1. From left to right 1e16 + 1 rounds to 1e16: 0.
    values = [1e16, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1e16]
    assert lane_sum(values) == 1.0
    assert lane_sum([]) == 0.0
    # ((0+4)+(2+6)) + ((1+5)+(3+7)): 2**53 in lane 0 absorbs a lone 1, but not lanes 1 and 3 summed to 2 before.
    assert lane_sum([2.0**53, 1.0, 0.0, 1.0]) == 2.0**53 + 2.0


def test_orders_are_refused_individually_and_the_position_is_held() -> None:
    market = Market(np.array([[1.0, 1.0, nan, 1.0], [1.0, 1.0, nan, nan], [1.0, 1.0, 1.0, nan]]),
                    delistings=np.array([[nan] * 4, [nan, nan, nan, 0.0], [nan] * 4]))  # fmt: skip
    result = go(market, [[100.5, -0.1, 0.2, 0.3], [100.0, -0.0, 0.0, 0.5]], limits=replace(OFF, allow_short=False))
    refused = [("refused", "S0", "weight_out_of_range"), ("refused", "S1", "short_not_allowed")]
    assert result.events[0] == [*refused, ("refused", "S2", "unknown_symbol"), ("unfilled", "S3", "no_price")]
    assert result.events[1] == [("refused", "S3", "settled_symbol")]
    assert result.h[1] == [0.0] * 4
    assert result.h[2] == [100.0, 0.0, 0.0, 0.0]


def test_an_infinite_weight_is_an_error() -> None:
    with pytest.raises(ValueError, match="weight_not_finite"):
        go(Market(column(1.0, 1.0)), [[inf]])


def test_a_halted_symbol_is_sized_on_its_stale_mark_on_todays_share_basis() -> None:
    market = Market(column(8.0, nan, 5.0), open=column(8.0, nan, 5.0), splits=column(1.0, 2.0, 1.0))
    result = go(market, [[nan], [0.5]])
    # m = 8 / 2 = 4 after the split in the halt, q = 0.5 * 1 / 4 = 0.125, paid at 5: cash 1 - 0.625.
    assert result.events == [[], [("stale_price", "S0", None)]]
    assert result.h[2] == [0.125]
    assert result.cash[2] == 0.375
    # The mark follows the split in a halt on the window's first bar too.
    assert Run(Account(market, Costs(), OFF, start=1), column(nan, 0.5, nan), 3).h == [[0.0], [0.125]]


def test_max_weight_reduces_a_new_weight_but_not_an_existing_one() -> None:
    close, opens = np.ones((4, 2)), np.ones((4, 2))
    close[1:, 0] = opens[2:, 0] = 4.0
    market = Market(close, opens)
    result = go(market, [[0.8, nan], [0.9, nan], [0.7, -0.9]], limits=replace(OFF, max_weight=0.5))
    # Bar 1: 0.8 is cut to 0.5, q = 0.5; at 4 NAV = 0.5 + 2 = 2.5 and cur = 2 / 2.5 = 0.8.
    assert result.h[1] == [0.5, 0.0]
    # Bar 2: 0.9 adds, and is cut to max(0.5, 0.8) = cur: no trade.
    assert result.steps[1].sized.tolist() == [0.0, 0.0]
    # Bar 3: 0.7 reduces, so it stands: 0.7 * 2.5 / 4 = 0.4375. A new short of 0.9 is cut to 0.5 * 2.5 / 1.
    assert result.h[3] == near([0.4375, -1.25])
    cut = ("limited", "S0", "max_weight")
    assert result.events == [[cut], [cut], [("limited", "S1", "max_weight")]]


def test_max_gross_scales_additions_and_keeps_existing_positions() -> None:
    market = Market(np.ones((3, 3)))
    result = go(market, [[0.5, 0.25, 0.0], [nan, -0.25, 0.75]], limits=replace(OFF, max_gross=1.0))
    # b = 0.5 (held), a = 0.25 (the flip, whole) + 0.75 (new) = 1: scale = (1 - 0.5) / 1.
    assert result.h[1] == [0.5, 0.25, 0.0]
    assert result.h[2] == [0.5, -0.125, 0.375]
    assert result.events == [[], [("limited", None, "max_gross")]]


def test_max_gross_adds_nothing_if_existing_positions_exceed_it() -> None:
    market = Market(np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [2.0, 1.0]]))
    result = go(market, [[-0.9, nan], [nan, nan], [-20.0, 0.3]], limits=replace(OFF, max_gross=1.0))
    # At 2 the short is -1.8 of NAV 0.1: B = 18 > 1, so both orders add nothing.
    assert result.nav[2] == near(0.1)
    assert result.h[3] == [-0.9, 0.0]


def test_a_rounding_of_max_gross_is_not_limited() -> None:
    result = go(Market(np.ones((2, 2))), [[0.5, 0.5000009]], limits=Limits())
    assert result.events == [[]]
    assert result.h[1] == [0.5, 0.5000009]


def test_an_order_is_sized_at_the_close_filled_at_the_next_open_and_marked_at_the_next_close() -> None:
    result = go(Market(column(100.0, 120.0), open=column(99.0, 110.0)), [[0.5]])
    # q = 0.5 / 100 = 0.005; cash = 1 - 0.005 * 110 = 0.45; NAV = 0.45 + 0.005 * 120 = 1.05.
    assert result.h[1] == near([0.005])
    assert result.cash[1] == near(0.45)
    assert result.nav[1] == near(1.05)
    assert result.part[0]["trade"] == near(0.005 * 10.0)


def test_dividends_are_paid_before_the_split_and_the_order_follows_the_split() -> None:
    market = Market(column(100.0, 100.0, 50.0), open=column(100.0, 100.0, 48.0),
                    dividends=column(0.0, 0.0, 2.0), splits=column(1.0, 1.0, 2.0))  # fmt: skip
    result = go(market, [[0.5], [0.75]])
    # Bar 2: 0.005 shares get 2 each = 0.01. q = 0.75 / 100 - 0.005 = 0.0025, after the split 0.005 at 48 = 0.24.
    assert result.part[1]["dividends"] == near(0.01)
    assert result.h[2] == near([0.015])
    assert result.cash[2] == near(0.5 + 0.01 - 0.24)
    # carry: 0.01 shares from 50 to 48; trade: 0.015 from 48 to 50. 1 + 0.01 - 0.02 + 0.03.
    assert result.part[1]["carry"] == near(-0.02)
    assert result.nav[2] == near(1.02)


def test_a_short_pays_the_dividend_and_the_settlement() -> None:
    market = Market(column(100.0, 100.0, 90.0, nan), dividends=column(0.0, 0.0, 4.0, 0.0),
                    delistings=column(nan, nan, nan, -0.5))  # fmt: skip
    result = go(market, [[-0.5], [nan], [-0.9]])
    # Sold 0.005 at 100: cash 1.5. Dividend -0.02: 1.48. Settled at 90 * 0.5: -0.225. The order is gone.
    assert result.cash[2] == near(1.48)
    assert result.cash[3] == result.nav[3] == near(1.255)
    assert result.part[2]["settlement"] == near(-0.005 * 90.0 * -0.5)
    assert result.events[2] == [("delisted", "S0", None)]


def test_data_without_opens_fills_at_the_close_less_the_dividend_over_the_split() -> None:
    market = Market(column(100.0, 50.0), dividends=column(0.0, 4.0), splits=column(1.0, 2.0))
    result = go(market, [[0.5]])
    # p = (100 - 4) / 2 = 48; q = 0.005 * 2 = 0.01; cash = 1 - 0.48; NAV = 0.52 + 0.5.
    assert result.cash[1] == near(0.52)
    assert result.nav[1] == near(1.02)


@pytest.mark.parametrize(
    ("field", "values", "reason"),
    [
        ("open", (1.0, nan, 1.0), "no_price"),
        ("close", (1.0, nan, 1.0), "no_price"),
        ("tradable", (1.0, 0.0, 1.0), "not_tradable"),
        ("volume", (1.0, 0.0, 1e9), "no_volume"),
    ],
)
def test_an_order_that_cannot_trade_is_dropped_and_not_carried_over(field: str, values: Any, reason: str) -> None:
    market = replace(Market(column(1.0, 1.0, 1.0), open=column(1.0, 1.0, 1.0)), **{field: np.array(column(*values))})
    result = go(market, [[0.5], [nan]])
    assert result.events == [[("unfilled", "S0", reason)], []]
    assert result.h[2] == [0.0]


def test_participation_cuts_an_order_to_its_share_of_volume_or_of_nav() -> None:
    market = Market(np.array([[1.0, 2.0]] * 2), volume=np.array([[500.0, nan]] * 2))
    result = go(market, [[0.5, -0.5]], Costs(capital=1e4), replace(OFF, max_participation=0.125))
    # 0.5 * 1e4 / 500 = 10 times the volume: cut to 0.125 * 500 / 1e4. Without volume: 0.125 * NAV 1 / 2.
    assert result.h[1] == near([0.00625, -0.0625])
    assert result.events == [[("limited", "S0", "participation"), ("limited", "S1", "participation")]]


def test_an_order_that_costs_half_its_price_is_not_filled() -> None:
    # g = 0.4 * sqrt(m / NAV) = 0.4 * 2, sqrt(0.25) = 0.5: c = 0.1 + 0.4.
    result = go(Market(column(4.0, 4.0)), [[1.0]], Costs(slippage_bps=1000.0, impact_bps=4000.0))
    assert result.events == [[("unfilled", "S0", "cost_too_high")]]
    assert result.nav[1] == 1.0


def test_a_blocked_sale_scales_down_the_purchases_it_would_have_funded() -> None:
    market = Market(np.ones((3, 3)), tradable=np.array([[1, 1, 1], [1, 1, 1], [0, 1, 1]]))
    result = go(market, [[0.75, 0.0, 0.0], [0.0, 0.5, -0.5]], limits=Limits())
    # The sale of 0.75 is dropped: room = max(1, 0.75) - 0.75 = 0.25 for purchases of 1.
    assert result.events[1] == [("unfilled", "S0", "not_tradable"), ("limited", None, "rebalanced")]
    assert result.h[2] == [0.75, 0.125, -0.125]


def test_a_partial_flip_keeps_its_closing_part() -> None:
    market = Market(np.ones((3, 2)), volume=np.array([[1e9, 1e9], [1e9, 1e9], [7.0, 1e9]]))
    limits = Limits(max_participation=0.0625)
    flipped = go(market, [[0.25, nan], [-0.5, 0.5]], Costs(capital=1.0), limits)
    # q = -0.75 is cut to -0.0625 * 7 = -0.4375: all of the 0.25 toward zero, 0.1875 beyond it.
    assert flipped.h[2] == [-0.1875, 0.5]
    assert flipped.events[1] == [("limited", "S0", "participation")]
    market.volume[2, 0] = 3.0
    stuck = go(market, [[0.25, nan], [-0.25, 0.75]], Costs(capital=1.0), replace(limits, max_gross=0.8125))
    # Step 4: a = 0.25 + 0.75, b = 0: scale 0.8125. q is cut to -0.1875, of the 0.25 toward zero.
    # Held after it: 0.0625. Room: 0.8125 - 0.0625 = 0.75 for 0.609375: no rescale.
    assert stuck.h[2] == [0.0625, 0.609375]
    assert stuck.events[1] == [("limited", None, "max_gross"), ("limited", "S0", "participation")]


def test_a_fill_pays_slippage_jitter_impact_and_a_fee_on_the_slipped_price() -> None:
    costs = Costs(fee_bps=80.0, slippage_bps=100.0, impact_bps=200.0, capital=1e4)
    market = Market(column(2.0, 2.0), volume=column(400.0, 400.0))
    result = go(market, [[0.5]], costs)
    # q = 0.25; g = 0.02 * sqrt(1e4 / 400) = 0.1; c = 0.01 + 0.1 * 0.5 = 0.06.
    # f = 2 * 1.06 = 2.12; fee = 0.008 * 0.25 * 2.12 = 0.00424; cash = 1 - 0.53 - 0.00424.
    assert result.cash[1] == near(0.46576)
    assert result.part[0]["slippage"] == near(0.25 * 2.0 * 0.01)
    assert result.part[0]["impact"] == near(0.25 * 2.0 * 0.05)
    assert result.part[0]["fee"] == near(0.00424)
    assert result.steps[0].turnover == near(0.53)
    jittery = go(market, [[0.5]], replace(costs, slippage_jitter=0.5))
    jitter = 1.0 + 0.5 * (2.0 * fill_noise(7, 1, "S0") - 1.0)
    assert jittery.part[0]["slippage"] == near(0.25 * 2.0 * 0.01 * jitter)


def test_the_noise_of_a_fill_follows_the_contract() -> None:
    assert fill_noise(7, 20, "AAA") == 0.21732766463408715


def test_debt_pays_financing_and_a_short_pays_borrow_while_its_proceeds_earn_nothing() -> None:
    costs = Costs(cash_bps=252.0, financing_bps=504.0, borrow_bps=504.0)
    levered = go(Market(column(1.0, 1.0)), [[2.0]], costs)
    # cash = 1 - 2 = -1: 1 * 0.0504 / 252 = 0.0002.
    assert levered.nav[1] == near(1.0 - 0.0002)
    short = go(Market(column(1.0, 1.0)), [[-1.0]], costs)
    # cash = 2, S = 1, b = 1: 0.0252 / 252 = 0.0001 earned, 0.0504 / 252 = 0.0002 paid.
    assert short.nav[1] == near(1.0 + 0.0001 - 0.0002)
    assert [short.part[0][name] for name in ("interest", "borrow")] == near([0.0001, 0.0002])


def test_a_short_accrues_on_its_reference_price_or_without_one_on_its_mark() -> None:
    for reference_price, price in ((2.0, 2.0), (nan, 1.0)):
        market = Market(column(1.0, 1.0, 4.0), open=column(1.0, 1.0, reference_price))
        result = go(market, [[-0.5], [nan]], Costs(borrow_bps=252.0))
        assert result.part[1]["borrow"] == near(0.5 * price * 0.0252 / 252.0)


def test_a_halted_position_is_marked_at_its_last_close() -> None:
    result = go(Market(column(1.0, 2.0, nan), open=column(1.0, 1.0, 9.0)), [[1.0], [nan]])
    assert result.nav == [1.0, 2.0, 2.0]
    assert result.part[1]["carry"] == -result.part[1]["trade"] == 7.0


def test_below_the_maintenance_margin_all_positions_are_closed_at_the_mark() -> None:
    market = Market(column(1.0, 0.6, 5.0, 5.0), open=column(1.0, 1.0, 5.0, 5.0))
    costs = Costs(fee_bps=100.0, slippage_bps=100.0)
    free = go(market, [[2.0]], limits=replace(OFF, maintenance_margin=0.25))
    # NAV = -1 + 2 * 0.6 = 0.2, below 0.25 * 1.2 = 0.3.
    assert free.nav == near([1.0, 0.2])
    paid = go(market, [[2.0]], costs, replace(OFF, maintenance_margin=0.25))
    # Bought 2 at 1.01 with a fee of 0.0202: cash -1.0402. Sold at 0.594: 1.188, fee 0.01188.
    assert paid.nav == near([1.0, -1.0402 + 1.188 - 0.01188])
    assert paid.part[0]["liquidation"] == near(0.012 + 0.01188)
    assert paid.events == [[("liquidated", "S0", None)]]


def test_a_negative_nav_is_written_off_and_ends_the_run() -> None:
    market = Market(column(1.0, 0.25, 9.0), open=column(1.0, 1.0, 9.0))
    result = go(market, [[2.0], [1.0]])
    # NAV = -1 + 2 * 0.25 = -0.5.
    assert result.part[0]["shortfall"] == 0.5
    assert result.nav == [1.0, 0.0]
    assert result.steps[0].terminated
    worthless = go(Market(column(1.0, 1.0, nan), delistings=column(nan, nan, -1.0)), [[1.0], [nan]])
    assert worthless.events[1] == [("delisted", "S0", None), ("ruined", None, None)]
    assert worthless.part[1]["shortfall"] == 0.0


def test_a_nav_that_is_not_finite_refuses_the_step() -> None:
    prices = column(*[1e-15, 1e15] * 12)
    with pytest.raises(OverflowError, match="nav_overflow"):
        go(Market(prices), [[1.0], [0.0]] * 12)


def gross(account: Account) -> float:
    return sum(abs(h) * m for h, m in zip(account.h.tolist(), account.m.tolist(), strict=True) if h != 0.0)


def unexplained(before: Account, after: Account) -> float:
    """Return the residual of the accounting identity for a change of NAV."""
    gains, costs = (sum(after.part[name] for name in names) for names in (GAINS, COSTS))
    return after.nav - before.nav - (gains - costs)


def test_the_identity_holds_on_every_step_of_the_random_markets(draws: list[Draw]) -> None:
    failed = []
    for seed, (_, result) in enumerate(draws):
        for before, after in pairwise(result.accounts):
            scale = max(before.nav, gross(before), gross(after))
            if not abs(unexplained(before, after)) <= 1e-12 * scale:
                failed.append((seed, after.t, unexplained(before, after)))
    assert failed == []


def test_gross_at_sizing_prices_never_exceeds_the_limit_or_its_previous_value(draws: list[Draw]) -> None:
    for (*_, limits), result in draws:
        for before, after in pairwise(result.accounts):
            bar = after.bars[after.t]
            h = np.where(bar.settles, 0.0, before.h + after.filled / bar.split)
            most = max(limits.max_gross * before.nav, gross(before))
            assert float(np.abs(h[h != 0.0]) @ before.m[h != 0.0]) <= most * (1.0 + 2e-6)


def test_a_longer_window_does_not_change_the_steps_before(draws: list[Draw]) -> None:
    for draw, result in draws[:300]:
        _, weights, start, end, *_ = draw
        if end - start > 2:
            shorter = Run(account_of(draw), weights, end - 1)
            n = end - 1 - start
            assert (shorter.nav, shorter.part) == (result.nav[:n], result.part[: n - 1])


def order_branches(before: Account, after: Account) -> dict[str, Array]:
    """Return which symbols took each branch that an order can take."""
    market, bar, sized, filled = after.market, after.bars[after.t], after.sized, after.filled
    h = np.where(bar.settles, 0.0, before.h * bar.split)
    flip, halted = (sized * h < 0.0) & (abs(sized) > abs(h)), np.isnan(bar.close)
    return {
        "flip filled in full": flip & (filled == sized),
        "flip cut beyond zero": flip & (abs(h) < abs(filled)) & (abs(filled) < abs(sized)),
        "flip cut before zero": flip & (filled != 0.0) & (abs(filled) < abs(h)),
        "flip dropped": flip & (filled == 0.0),
        "sale cut": (sized * h < 0.0) & (filled != 0.0) & (abs(filled) < abs(sized)) & (abs(sized) <= abs(h)),
        "split in a halt": (h != 0.0) & halted & (bar.split != 1.0),
        "filled in a cell without volume": (filled != 0.0) & (market.volume is not None) & np.isnan(bar.volume),
        "short without a reference price": (h < 0.0) & (market.open is not None) & np.isnan(bar.open),
        "long settled": bar.settles & (before.h > 0.0),
        "short settled": bar.settles & (before.h < 0.0),
    }


def branches(before: Account, after: Account) -> Counter[str]:
    """Count the branches that a step took."""
    taken = order_branches(before, after)
    found = Counter({name: int(which.sum()) for name, which in taken.items() if which.any()})
    found.update(name for name, value in after.part.items() if value != 0.0)
    slugs = {event["slug"] for event in after.events}
    found.update(" ".join(filter(None, (event["slug"], event.get("reason")))) for event in after.events)
    found.update(["liquidated, then ruined"] if {"liquidated", "ruined"} <= slugs else [])
    adds = (abs(after.h) > abs(before.h) * after.bars[after.t].split) | (after.h * before.h < 0.0)
    rebalanced = ("limited", None, "rebalanced") in map(named, after.events)
    found.update(["rebalanced to nothing new"] if rebalanced and not (adds & (after.filled != 0.0)).any() else [])
    return found


EVENTS = {
    "refused": ("weight_out_of_range", "short_not_allowed", "unknown_symbol", "settled_symbol"),
    "limited": ("max_weight", "max_gross", "participation", "rebalanced"),
    "unfilled": ("no_price", "not_tradable", "no_volume", "cost_too_high"),
}


def test_the_random_markets_reach_every_branch(draws: list[Draw]) -> None:
    steps = [pair for _, result in draws for pair in pairwise(result.accounts)]
    expected = {f"{slug} {reason}" for slug, reasons in EVENTS.items() for reason in reasons}
    expected |= {"stale_price", "delisted", "filled", "liquidated", "ruined", "liquidated, then ruined"}
    expected |= {*GAINS, *COSTS, *order_branches(*steps[0]), "rebalanced to nothing new"}
    found: Counter[str] = Counter()
    for step in steps:
        found.update(branches(*step))
    assert set(found) == expected
    assert {branch: n for branch, n in found.items() if n < 5} == {}
