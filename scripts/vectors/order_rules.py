"""Cases of `orders.json` for phases, cash accounts, accrual and actions.

Every symbol is at 100 before; 0.5 is 0.005 shares at NAV 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from vectors.cases import DEFAULT_LIMITS, Case
from vectors.order_cases import (
    FLAT,
    Entry,
    Number,
    Quotes,
    Story,
    asks,
    entry,
    exited,
    filled,
    first,
    held,
    limited,
    unfilled,
)

CASH = {"cash_account": True, "allow_short": False}
RATES = {"cash_bps": 252.0, "financing_bps": 504.0, "borrow_bps": 1008.0}  # 0.0001, 0.0002 and 0.0004 a bar
WIDE: Quotes = (100, 107, 91, 102)
MASK = [[True, True], [True, True], [False, True]]


def all_cases() -> list[Case]:
    """Return the cases in the order of the rules."""
    return [*phases(), *rebalancing(), *cash_accounts(), *accruals(), *actions()]


def pair(
    name: str, rules: str, about: str, weight: Number, placed: Sequence[Entry], entries: Sequence[Entry], **more: Any
) -> Case:
    """Return a case of two symbols and an account that holds `weight` of AAA."""
    bars = more.pop("bars", (WIDE, WIDE))
    story = Story(name, rules, about, 2, **more)
    story.bar([asks("AAA", weight)], [FLAT, FLAT], [first(story, weight)])
    return story.bar(placed, bars, entries).case()


def phases() -> list[Case]:
    placed = [
        asks("AAA", "0.2", at="close"),
        asks("BBB", "0.2", limit_price=95),
        asks("CCC", "0.2", stop_loss=92),
        asks("DDD", "0.2"),
    ]
    fills = [
        filled("CCC", "0.002", 100),
        filled("DDD", "0.002", 100),
        filled("BBB", "0.002", 95),
        exited("CCC", "stop_loss", "-0.002", 92),
        filled("AAA", "0.002", 102),
    ]
    all_four = Story("four_phases", "O8 O18", "Opens, inside, exits, closes; 0.001 of 0.968 traded is the fee.", 4,
                     costs={"fee_bps": 10.0}).bar(placed, [WIDE] * 4, fills)  # fmt: skip
    missed = [
        asks("AAA", "0.2", at="close", limit_price=101),
        asks("BBB", "0.2", limit_price=90),
        asks("CCC", "0.2"),
    ]
    drops = [
        unfilled("CCC", "0.002", "not_tradable"),
        unfilled("BBB", "0.002", "limit_not_reached"),
        unfilled("AAA", "0.002", "limit_not_reached"),
    ]
    tradable = [[True] * 3, [True, True, False]]
    dropped = Story("unfilled_in_the_order_of_the_phases", "O8", "Each stands in its phase: CCC opens, BBB inside, AAA "
                    "closes.", 3, tradable=tradable).bar(missed, [WIDE] * 3, drops)  # fmt: skip
    return [all_four.case(), dropped.case()]


def rebalancing() -> list[Case]:
    cut = limited("rebalanced", "1.5", 1)
    default: Entry = {"limits": DEFAULT_LIMITS}
    return [
        pair("a_sale_at_the_close_funds_no_purchase_at_the_open", "O8", "keep 0.5 + add 1 > 1: half of BBB.", "0.5",
             [asks("AAA", 0, at="close"), asks("BBB", 1)],
             [cut, filled("BBB", "0.005", 100), filled("AAA", "-0.005", 102)], **default),
        pair("an_inside_sale_funds_no_purchase_at_the_open", "O8", "keep 0.5 + add 1 > 1, although 105 is hit later.",
             "0.5", [asks("AAA", 0, limit_price=105), asks("BBB", 1)],
             [cut, filled("BBB", "0.005", 100), filled("AAA", "-0.005", 105)], **default),
        pair("a_sale_at_the_open_funds_an_inside_purchase", "O8", "keep 0 + add 1 <= 1: all of BBB at 95.", "0.5",
             [asks("AAA", 0), asks("BBB", 1, limit_price=95)],
             [filled("AAA", "-0.005", 100), filled("BBB", "0.01", 95)], **default),
        pair("an_inside_sale_funds_no_inside_purchase", "O8", "Their order is unknown: keep 0.5 + add 1 > 1.", "0.5",
             [asks("AAA", 0, limit_price=105), asks("BBB", 1, limit_price=95)],
             [cut, filled("AAA", "-0.005", 105), filled("BBB", "0.005", 95)], **default),
        pair("an_inside_sale_funds_a_purchase_at_the_close", "O8", "keep 0 + add 1 <= 1: all of BBB at 102.", "0.5",
             [asks("AAA", 0, limit_price=105), asks("BBB", 1, at="close")],
             [filled("AAA", "-0.005", 105), filled("BBB", "0.01", 102)], **default),
        pair("a_sale_and_a_purchase_at_the_close", "O8", "One phase: keep 0 + add 1 <= 1.", "0.5",
             [asks("AAA", 0, at="close"), asks("BBB", 1, at="close")],
             [filled("AAA", "-0.005", 102), filled("BBB", "0.01", 102)], **default),
        pair("an_inside_sale_that_failed_funds_no_purchase_at_the_close", "O8", "108 is not reached: half of BBB.",
             "0.5", [asks("AAA", 0, limit_price=108), asks("BBB", 1, at="close")],
             [unfilled("AAA", "-0.005", "limit_not_reached"), cut, filled("BBB", "0.005", 102)], **default),
        pair("a_sale_at_the_open_that_failed_funds_no_inside_purchase", "O8", "AAA is not tradable: half of BBB.",
             "0.5", [asks("AAA", 0), asks("BBB", 1, limit_price=95)],
             [unfilled("AAA", "-0.005", "not_tradable"), cut, filled("BBB", "0.005", 95)],
             tradable=MASK, **default),
        pair("an_inside_flip_makes_its_own_room", "O8 O12", "z = 0.005, new 0.01: keep 0 + add 1 <= 1.", "0.5",
             [asks("AAA", -1, stop_price=95)], [filled("AAA", "-0.015", 95)], **default),
        pair("without_a_sale_nothing_is_rebalanced", "O8", "Both purchases are within max_gross.", "0.5",
             [asks("BBB", "0.5", limit_price=95)], [filled("BBB", "0.005", 95)], **default),
        pair("an_order_left_to_an_exit_funds_no_inside_purchase", "O4 O8",
             "0.0025 of AAA wait for the stop: keep 0.5 + add 0.75 > 1, so two thirds of BBB.", "0.5",
             [asks("AAA", "0.25", limit_price=105, stop_loss=95), asks("BBB", "0.75", limit_price=96)],
             [unfilled("AAA", "-0.0025", "exited"), limited("rebalanced", "1.25", 1), filled("BBB", "0.005", 96),
              exited("AAA", "stop_loss", "-0.005", 95)], **default),
    ]  # fmt: skip


def cash_accounts() -> list[Case]:
    slip, fee = {"slippage_bps": 100.0}, {"fee_bps": 100.0}
    base: Entry = {"limits": CASH}
    return [
        entry("cash_buys_less_after_slippage", "O14", "need = 0.01 x 101 = 1.01 > 1: q = 0.01 / 1.01.", asks("AAA", 1),
              WIDE, limited("cash", "1.01", 1), filled("AAA", "0.01/1.01", 101, 100), costs=slip, **base),
        entry("cash_buys_less_after_fees", "O14", "need = 0.01 x 100 x 1.01 = 1.01.", asks("AAA", 1), WIDE,
              limited("cash", "1.01", 1), filled("AAA", "0.01/1.01", 100), costs=fee, **base),
        entry("cash_buys_all_that_it_can_pay", "O14", "need = 1 <= 1.", asks("AAA", 1), WIDE,
              filled("AAA", "0.01", 100), **base),
        entry("cash_buys_at_a_limit", "O14", "need = 0.02 x 95 = 1.9 > 1: q = 0.02 / 1.9 at 95, b = 95 / 1.01.",
              asks("AAA", 2, limit_price=95), WIDE, limited("cash", "1.9", 1),
              filled("AAA", "0.02/1.9", 95, "95/1.01"), costs=slip, **base),
        entry("cash_buys_at_a_smaller_impact", "O14",
              "sqrt(1e6 / 20000 x 0.02) = 1: need = 0.02 x 112.5 = 2.25; then c = 0.125 / 1.5 at 0.02 / 2.25.",
              asks("AAA", 2), WIDE, limited("cash", "2.25", 1), filled("AAA", "0.02/2.25", "1300/12", 100, 0),
              costs={"impact_bps": 1250.0}, volume=[[20000.0], [20000.0]], **base),
        pair("cash_of_a_sale_of_the_phase", "O14", "have = 0 + 0.01 x 98; need = 1: q = 0.01 x 0.98.", 1,
             [asks("AAA", 0), asks("BBB", 1)],
             [limited("cash", 1, "0.98"), filled("AAA", "-0.01", 98), filled("BBB", "0.0098", 100)],
             bars=((98, 107, 91, 102), WIDE), **base),
        pair("cash_of_a_sale_less_its_fee", "O14",
             "NAV 0.995, q = 0.00995: have = 0.495 + 0.5 x 0.99 = 0.99; need = 0.995 x 1.01 = 1.00495.", "0.5",
             [asks("AAA", 0), asks("BBB", 1)],
             [limited("cash", "1.00495", "0.99"), filled("AAA", "-0.005", 100),
              filled("BBB", "0.0098505/1.00495", 100)], costs=fee, **base),
        pair("cash_of_an_inside_sale_buys_nothing_inside", "O14 O8", "have = 0: BBB is not bought.", 1,
             [asks("AAA", 0, limit_price=105), asks("BBB", "0.5", limit_price=95)],
             [limited("cash", "0.475", 0), filled("AAA", "-0.01", 105)], **base),
        pair("cash_of_a_sale_at_the_open_buys_inside", "O14 O8", "have = 1; need = 0.475.", 1,
             [asks("AAA", 0), asks("BBB", "0.5", limit_price=95)],
             [filled("AAA", "-0.01", 100), filled("BBB", "0.005", 95)], **base),
        pair("cash_of_an_exit_buys_at_the_close", "O14 O8", "have = 0.95; need = 0.01 x 102 = 1.02.", 1,
             [asks("AAA", None, stop_loss=95), asks("BBB", 1, at="close")],
             [exited("AAA", "stop_loss", "-0.01", 95), limited("cash", "1.02", "0.95"),
              filled("BBB", "0.0095/1.02", 102)], **base),
        pair("cash_of_a_sale_at_the_close_buys_at_the_close", "O14", "have = 1.02; need = 1.04: q = 0.0102 / 1.04.", 1,
             [asks("AAA", 0, at="close"), asks("BBB", 1, at="close")],
             [limited("cash", "1.04", "1.02"), filled("AAA", "-0.01", 102), filled("BBB", "0.0102/1.04", 104)],
             bars=(WIDE, (100, 107, 91, 104)), **base),
        pair("cash_without_a_purchase", "O14", "A phase without a purchase is not limited.", "0.5",
             [asks("AAA", "0.25")], [filled("AAA", "-0.0025", 100)], **base),
    ]  # fmt: skip


def accrual(
    name: str, about: str, placed: Sequence[Entry], bars: Sequence[Quotes], entries: Sequence[Sequence[Entry]],
    amounts: Sequence[dict[str, Number]],
) -> Case:  # fmt: skip
    """Return a case of one symbol with rates.

    Each step has an order, a bar, events and amounts.
    """
    story = Story(name, "O5", about, costs=RATES)
    for order, bar, events, money in zip(placed, bars, entries, amounts, strict=True):
        story.bar([order], [bar], events, **money)
    return story.case()


def accruals() -> list[Case]:
    bar: Quotes = (101, 107, 91, 100)
    return [
        accrual("a_short_sold_at_the_close", "S = 0.005 x 101; b = min(1, 1.5) - 0.505 = 0.495.",
                [asks("AAA", "-0.5", at="close")], [bar], [[filled("AAA", "-0.005", 100)]],
                [{"interest": "0.0000495", "borrow": "0.000202"}]),
        accrual("a_short_stopped_inside", "A owes 0.505 and has 1.4999; Z has 1.4999 - 0.525 = 0.9749: b = 0.4699.",
                [asks("AAA", "-0.5"), asks("AAA", None, stop_loss=105)], [FLAT, bar],
                [[filled("AAA", "-0.005", 100)], [exited("AAA", "stop_loss", "0.005", 105)]],
                [{"interest": "0.0001", "borrow": "0.0002"}, {"interest": "0.00004699", "borrow": "0.000202"}]),
        accrual("a_short_sold_and_covered_inside", "S = 0.005 x 100; b = min(1.525, 1.05) - 0.5 = 0.55.",
                [asks("AAA", "-0.5", limit_price=105, take_profit=95)], [(100, 107, 93, 94)],
                [[filled("AAA", "-0.005", 105), exited("AAA", "take_profit", "0.005", 95)]],
                [{"interest": "0.000055", "borrow": "0.0002"}]),
        accrual("debt_of_a_purchase_at_the_close", "b = min(1, -1) = -1.", [asks("AAA", 2, at="close")], [bar],
                [[filled("AAA", "0.02", 100)]], [{"financing": "0.0002"}]),
        accrual("debt_of_a_long_stopped_inside", "b = min(-1.0002, 0.8998) = -1.0002.",
                [asks("AAA", 2), asks("AAA", None, stop_loss=95)], [FLAT, (100, 107, 91, 100)],
                [[filled("AAA", "0.02", 100)], [exited("AAA", "stop_loss", "-0.02", 95)]],
                [{"financing": "0.0002"}, {"financing": "0.00020004"}]),
        accrual("a_plain_bar_accrues_as_before", "S = 0.005 x 101; b = 1.505 - 0.505 = 1.", [asks("AAA", "-0.5")],
                [bar], [[filled("AAA", "-0.005", 101)]], [{"interest": "0.0001", "borrow": "0.000202"}]),
    ]  # fmt: skip


def actions() -> list[Case]:
    split = Story("a_split_divides_the_limit", "O17", "95 / 2 = 47.5 for 0.005 x 2 shares.", splits=[[None], [2.0]])
    split.bar([asks("AAA", "0.5", limit_price=95)], [(50, 52, 46, 51)], [filled("AAA", "0.01", "47.5")],
              splits={"AAA": 2})  # fmt: skip
    settled = Story("a_settlement_voids_the_limit", "O17", "0.005 shares are not bought.", delistings=[[None], [-0.2]])
    settled.bar([asks("AAA", "0.5", limit_price=95)], [(None, None, None, None)],
                [unfilled("AAA", "0.005", "no_price")])  # fmt: skip
    dividend = Story("a_dividend_moves_no_stop", "O17", "95.5 is above 95; 0.005 x 5 is received.",
                     dividends=[[None], [None], [5.0]])  # fmt: skip
    dividend.bar([asks("AAA", "0.5")], [FLAT], [first(dividend, "0.5")])
    dividend.bar([asks("AAA", None, stop_loss=95)], [(96, 98, "95.5", 97)], [], dividends=Fraction(1, 40))
    return [
        split.case(),
        settled.case(),
        dividend.case(),
        held("a_partial_exit_keeps_the_average_price", "O13", "0.0025 bought at 104: (100 + 104) / 2 = 102 is kept.",
             "0.25", asks("AAA", "0.5", stop_loss=95), (104, 107, 91, 102), filled("AAA", "0.0025", 104),
             limited("participation", "-0.005", "-0.00125", "AAA"), exited("AAA", "stop_loss", "-0.00125", 95),
             costs={"capital": 1.0}, limits={"max_participation": 0.125}, volume=[[1e9], [1e9], [0.03]]),
    ]  # fmt: skip
