"""Cases of `orders.json` for exits.

The account buys or sells 0.5 at 100 on the bar before: 0.005 shares. `SLIP` is c = 0.01.
"""

from __future__ import annotations

from vectors.cases import Case
from vectors.order_cases import FLAT, Entry, Story, asks, entry, exited, filled, first, held, limited, refused, unfilled

SLIP = {"slippage_bps": 100.0}
OUT = "-0.005"  # the exit order of the long


def all_cases() -> list[Case]:
    """Return the cases in the order of the rules."""
    return [*longs(), *shorts(), *with_costs(), *refused_exits(), *voided(), *inside_entries(), *reducing(), *rooms()]


def longs() -> list[Case]:
    both = asks("AAA", None, stop_loss=95, take_profit=105)
    return [
        held("long_stop_at_the_open", "O3", "The open 94 <= 95: b = 94.", "0.5", both, (94, 107, 91, 102),
             exited("AAA", "stop_loss", OUT, 94)),
        held("long_stop_inside", "O3", "The low 91 <= 95: b = 95.", "0.5", both, (100, 104, 91, 102),
             exited("AAA", "stop_loss", OUT, 95)),
        held("long_stop_touched", "O3", "A stop needs only a touch.", "0.5", both, (100, 104, 95, 102),
             exited("AAA", "stop_loss", OUT, 95)),
        held("long_profit_at_the_open", "O3", "The open 106 >= 105: at 106.", "0.5", both, (106, 107, 97, 102),
             exited("AAA", "take_profit", OUT, 106)),
        held("long_profit_through", "O3", "The high 107 > 105: at 105.", "0.5", both, (100, 107, 97, 102),
             exited("AAA", "take_profit", OUT, 105)),
        held("long_profit_touched", "O3", "The high 105 is not above 105: no exit, no event.", "0.5", both,
             (100, 105, 97, 102)),
        held("long_both_inside", "O3", "Both are hit; the stop is tested first.", "0.5", both, (100, 107, 91, 102),
             exited("AAA", "stop_loss", OUT, 95)),
        held("long_profit_at_the_open_before_a_stop_inside", "O3",
             "The open 106 >= 105 happens before the low 91.", "0.5", both, (106, 107, 91, 102),
             exited("AAA", "take_profit", OUT, 106)),
        held("long_stop_with_half_the_gap", "O7 O3", "b = 95 - 0.5 (95 - 91) = 93.", "0.5", both, (100, 104, 91, 102),
             exited("AAA", "stop_loss", OUT, 93), costs={"stop_gap": 0.5}),
        held("long_stop_at_the_open_has_no_gap", "O7 O3", "b = 94, the open.", "0.5", both, (94, 104, 91, 102),
             exited("AAA", "stop_loss", OUT, 94), costs={"stop_gap": 1.0}),
    ]  # fmt: skip


def shorts() -> list[Case]:
    both = asks("AAA", None, stop_loss=105, take_profit=95)
    return [
        held("short_stop_at_the_open", "O3", "The open 106 >= 105: b = 106.", "-0.5", both, (106, 107, 91, 98),
             exited("AAA", "stop_loss", "0.005", 106)),
        held("short_stop_inside", "O3", "The high 107 >= 105: b = 105.", "-0.5", both, (100, 107, 96, 98),
             exited("AAA", "stop_loss", "0.005", 105)),
        held("short_profit_at_the_open", "O3", "The open 94 <= 95: at 94.", "-0.5", both, (94, 107, 91, 98),
             exited("AAA", "take_profit", "0.005", 94)),
        held("short_profit_through", "O3", "The low 91 < 95: at 95.", "-0.5", both, (100, 104, 91, 98),
             exited("AAA", "take_profit", "0.005", 95)),
        held("short_profit_touched", "O3", "The low 95 is not below 95.", "-0.5", both, (100, 104, 95, 98)),
        held("short_both_inside", "O3", "The stop is tested first.", "-0.5", both, (100, 107, 91, 98),
             exited("AAA", "stop_loss", "0.005", 105)),
        held("short_stop_with_the_gap", "O7 O3", "b = 105 + 1 (109 - 105) = 109.", "-0.5", both, (100, 109, 96, 98),
             exited("AAA", "stop_loss", "0.005", 109), costs={"stop_gap": 1.0}),
    ]  # fmt: skip


def with_costs() -> list[Case]:
    stop, profit = asks("AAA", None, stop_loss=95), asks("AAA", None, take_profit=105)
    return [
        held("long_stop_pays_its_cost", "O1 O3", "f = 95 x 0.99 = 94.05.", "0.5", stop, (100, 104, 91, 102),
             exited("AAA", "stop_loss", OUT, "94.05", 95), costs=SLIP),
        held("long_profit_pays_its_cost", "O1 O3", "107 x 0.99 = 105.93 > 105: f = 105, b = 105 / 0.99.", "0.5",
             profit, (100, 107, 97, 102), exited("AAA", "take_profit", OUT, 105, "105/0.99"), costs=SLIP),
        held("long_profit_ask_through_bid_not", "O1 O3", "106 x 0.99 = 104.94 <= 105.", "0.5", profit,
             (100, 106, 97, 102), costs=SLIP),
        held("long_profit_bid_not_at_the_open", "O1 O3",
             "106 x 0.99 = 104.94 < 105 at the open; 107 x 0.99 > 105 inside: at 105.", "0.5", profit,
             (106, 107, 97, 102), exited("AAA", "take_profit", OUT, 105, "105/0.99"), costs=SLIP),
        held("short_profit_pays_its_cost", "O1 O3", "93 x 1.01 = 93.93 < 95: f = 95, b = 95 / 1.01.", "-0.5",
             asks("AAA", None, take_profit=95), (100, 104, 93, 98),
             exited("AAA", "take_profit", "0.005", 95, "95/1.01"), costs=SLIP),
        held("an_exit_pays_the_fee", "O18", "fee = 0.002 x 0.005 x 95 = 0.00095.", "0.5", stop, (100, 104, 91, 102),
             exited("AAA", "stop_loss", OUT, 95), costs={"fee_bps": 20.0}),
        held("a_plain_order_and_its_stop", "O3", "Bought at 101 at the open, stopped at 95.", "0.25",
             asks("AAA", "0.5", stop_loss=95), (101, 104, 91, 102), filled("AAA", "0.0025", 101),
             exited("AAA", "stop_loss", OUT, 95)),
        held("a_plain_order_opens_behind_its_stop", "O3", "Bought at 94, and 94 <= 95: sold at 94.", "0.25",
             asks("AAA", "0.5", stop_loss=95), (94, 104, 91, 102), filled("AAA", "0.0025", 94),
             exited("AAA", "stop_loss", OUT, 94)),
    ]  # fmt: skip


def refused_exits() -> list[Case]:
    crossed = "exits_crossed"
    return [
        held("long_exits_crossed", "O3", "Not 105 < 95 for a long: order and exits are refused.", "0.5",
             asks("AAA", "0.75", stop_loss=105, take_profit=95), (100, 110, 90, 102), refused("AAA", "0.75", crossed)),
        held("long_exits_equal", "O3", "Not 100 < 100.", "0.5", asks("AAA", "0.75", stop_loss=100, take_profit=100),
             (100, 110, 90, 102), refused("AAA", "0.75", crossed)),
        held("short_exits_crossed", "O3", "A short's profit lies below its stop.", "-0.5",
             asks("AAA", "-0.75", stop_loss=95, take_profit=105), (100, 110, 90, 102),
             refused("AAA", "-0.75", crossed)),
        held("exits_of_a_hold_crossed", "O3", "The sign is that of the weight held, 0.5.", "0.5",
             asks("AAA", None, stop_loss=105, take_profit=95), (100, 110, 90, 102), refused("AAA", "0.5", crossed)),
        held("exits_of_a_refused_order", "O3", "The order is refused, and its stop at 95 with it.", "0.5",
             asks("AAA", 101, stop_loss=95), (100, 104, 91, 102), refused("AAA", 101, "weight_out_of_range")),
    ]  # fmt: skip


def voided() -> list[Case]:
    return [
        entry("exits_without_a_position", "O3", "The limit is not reached, so there is nothing to protect.",
              asks("AAA", "0.5", limit_price=90, stop_loss=95), (100, 104, 91, 102),
              unfilled("AAA", "0.005", "limit_not_reached")),
        held("exits_of_a_failed_order_protect_what_is_held", "O3", "The limit 90 is not reached; the stop sells 0.005.",
             "0.5", asks("AAA", 1, limit_price=90, stop_loss=95), (100, 104, 91, 102),
             unfilled("AAA", "0.005", "limit_not_reached"), exited("AAA", "stop_loss", OUT, 95)),
        held("exits_of_a_flip_cut_before_zero", "O3",
             "Participation cuts the sale of 0.01 to 0.1 x 0.04 = 0.004: a long is left, and the stop is a short's.",
             "0.5", asks("AAA", "-0.5", stop_loss=105), (100, 110, 97, 102),
             limited("participation", "-0.01", "-0.004", "AAA"), filled("AAA", "-0.004", 100),
             costs={"capital": 1.0}, limits={"max_participation": 0.1}, volume=[[1e9], [1e9], [0.04]]),
        held("exits_on_a_bar_without_trading", "O3", "The mask forbids the exit; shares are the position's.", "0.5",
             asks("AAA", None, stop_loss=95), (100, 104, 91, 102), unfilled("AAA", "0.005", "not_tradable"),
             tradable=[[True], [True], [False]]),
        held("stop_of_a_position_before_an_addition_inside", "O3", "The open 94 is past the stop 95: all at 94.", "0.5",
             asks("AAA", "0.8", stop_price=96, stop_loss=95), (94, 104, 91, 102),
             filled("AAA", "0.003", 96), exited("AAA", "stop_loss", "-0.008", 94)),
        held("profit_between_open_and_entry", "O2", "On the way to the entry at 104: sold at 101.", "0.5",
             asks("AAA", "0.8", stop_price=104, take_profit=101), (99, 105, 91, 95),
             filled("AAA", "0.003", 104), exited("AAA", "take_profit", "-0.008", 101)),
        held("profit_below_open_and_entry", "O2", "The profit 96 is passed at the open 99 and the entry 97.", "0.5",
             asks("AAA", "0.8", limit_price=97, take_profit=96), (99, 104, 91, 95),
             filled("AAA", "0.003", 97), exited("AAA", "take_profit", "-0.008", 97)),
        held("exit_without_a_range", "O10", "The low is missing, and min(100, 102) > 95; shares are the position's.",
             "0.5", asks("AAA", None, stop_loss=95), (100, 104, None, 102), unfilled("AAA", "0.005", "no_range")),
        held("exit_reached_by_the_close", "O10", "lo = min(100, 94) = 94 <= 95 without a low.", "0.5",
             asks("AAA", None, stop_loss=95), (100, 104, None, 94), exited("AAA", "stop_loss", OUT, 95)),
        held("exit_at_the_open_without_a_range", "O10", "A test decided at the open needs no range.", "0.5",
             asks("AAA", None, stop_loss=95), (94, None, None, 102), exited("AAA", "stop_loss", OUT, 94)),
        held("exit_without_an_open_column", "O10", "The low 91 is below 95, but there is no open.", "0.5",
             asks("AAA", None, stop_loss=95), (None, 104, 91, 102), unfilled("AAA", "0.005", "no_range"), opens=False),
        split_case(),
        settlement_case(),
    ]  # fmt: skip


def split_case() -> Case:
    about = "After 2 for 1 the stop 95 is 47.5: 0.01 shares leave at 47.5."
    story = Story("a_split_divides_the_stop", "O17", about, splits=[[None], [None], [2.0]])
    story.bar([asks("AAA", "0.5")], [FLAT], [first(story, "0.5")])
    sold = exited("AAA", "stop_loss", "-0.01", "47.5")
    return story.bar([asks("AAA", None, stop_loss=95)], [(50, 52, 46, 51)], [sold], splits={"AAA": 2}).case()


def settlement_case() -> Case:
    about = "A settlement voids the exits; 0.005 shares are paid 100 x 0.8."
    story = Story("a_settlement_voids_the_stop", "O3 O17", about, delistings=[[None], [None], [-0.2]])
    story.bar([asks("AAA", "0.5")], [FLAT], [first(story, "0.5")])
    paid = {"slug": "delisted", "symbol": "AAA", "shares": 0.005, "price": 80.0}
    story.bar([asks("AAA", None, stop_loss=95)], [(None, None, None, None)], [paid],
              settled=("AAA",), settlement="-0.1", released="0.5")  # fmt: skip
    return story.case()


def inside_entries() -> list[Case]:
    def bracket(weight: str, **fields: str | int) -> Entry:
        return asks("AAA", weight, **fields)

    bought, buy = filled("AAA", "0.005", 95), bracket("0.5", limit_price=95, stop_loss=92, take_profit=105)
    return [
        entry("inside_entry_stopped", "O2 O3", "Bought at 95; the low 91 <= 92: sold at 92.", buy, (100, 107, 91, 103),
              bought, exited("AAA", "stop_loss", OUT, 92)),
        entry("inside_entry_profit_only_by_the_high", "O2", "The high 107 may be before the entry: kept.", buy,
              (100, 107, 94, 103), bought),
        entry("inside_entry_profit_by_the_close", "O2", "The close 106 > 105 is after the entry: sold at 105.", buy,
              (100, 107, 94, 106), bought, exited("AAA", "take_profit", OUT, 105)),
        entry("inside_entry_profit_close_touched", "O2", "The close 105 is not above 105.", buy, (100, 107, 94, 105),
              bought),
        entry("inside_entry_stop_above_it", "O3", "x = min(98, 95) = 95: a stop cannot sell above the market.",
              bracket("0.5", limit_price=95, stop_loss=98), (100, 103, 94, 102), bought,
              exited("AAA", "stop_loss", OUT, 95)),
        entry("inside_entry_stop_above_it_with_a_gap", "O3 O7", "x = 95; b = 95 - 0.5 (95 - 91) = 93.",
              bracket("0.5", limit_price=95, stop_loss=98), (100, 103, 91, 102), bought,
              exited("AAA", "stop_loss", OUT, 93), costs={"stop_gap": 0.5}),
        entry("inside_stop_entry_and_low_before_it", "O2 O3", "The low 91 may be after the entry at 105: sold at 92.",
              bracket("0.5", stop_price=105, stop_loss=92), (100, 107, 91, 106), filled("AAA", "0.005", 105),
              exited("AAA", "stop_loss", OUT, 92)),
        entry("inside_short_entry_stop_below_it", "O3", "x = max(102, 105) = 105.",
              bracket("-0.5", limit_price=105, stop_loss=102), (100, 106, 97, 98), filled("AAA", OUT, 105),
              exited("AAA", "stop_loss", "0.005", 105)),
        entry("inside_short_entry_profit_by_the_close", "O2", "The close 94 < 95: bought at 95.",
              bracket("-0.5", limit_price=105, take_profit=95), (100, 106, 93, 94), filled("AAA", OUT, 105),
              exited("AAA", "take_profit", "0.005", 95)),
        held("inside_addition_to_a_long", "O4", "All 0.0075 count as entered inside: the high 107 takes no profit.",
             "0.5", bracket("0.75", limit_price=95, take_profit=105), (100, 107, 94, 103),
             filled("AAA", "0.0025", 95)),
        held("inside_addition_after_a_profit_at_the_open", "O3 O4", "106 >= 105, but all is entered inside.",
             "0.5", bracket("0.75", limit_price=104, take_profit=105), (106, 107, 103, 104),
             filled("AAA", "0.0025", 104)),
        held("inside_addition_stopped", "O4 O3", "x = min(92, 95); all 0.0075 are sold at 92.", "0.5",
             bracket("0.75", limit_price=95, stop_loss=92), (100, 104, 91, 103), filled("AAA", "0.0025", 95),
             exited("AAA", "stop_loss", "-0.0075", 92)),
    ]  # fmt: skip


def reducing() -> list[Case]:
    def less(**fields: str | int) -> Entry:
        return asks("AAA", "0.25", **fields)

    left = unfilled("AAA", "-0.0025", "exited")
    return [
        held("reducing_limit_and_stop", "O4", "Limit 105 and stop 95 are both hit: the stop takes all.", "0.5",
             less(limit_price=105, stop_loss=95), (100, 107, 91, 102), left, exited("AAA", "stop_loss", OUT, 95)),
        held("reducing_limit_without_the_stop", "O4", "The stop 95 is not hit: 0.0025 at 105.", "0.5",
             less(limit_price=105, stop_loss=95), (100, 107, 96, 102), filled("AAA", "-0.0025", 105)),
        held("reducing_stop_and_stop_loss", "O4", "Stop 97 and stop_loss 95 are both hit.", "0.5",
             less(stop_price=97, stop_loss=95), (100, 104, 91, 102), left, exited("AAA", "stop_loss", OUT, 95)),
        held("reducing_stop_without_the_stop_loss", "O4", "The low 96 reaches 97, not 95.", "0.5",
             less(stop_price=97, stop_loss=95), (100, 104, 96, 102), filled("AAA", "-0.0025", 97)),
        held("reducing_limit_behind_the_profit", "O4", "Every path meets 103 before 105: the profit takes all.", "0.5",
             less(limit_price=105, take_profit=103), (100, 107, 97, 102), left,
             exited("AAA", "take_profit", OUT, 103)),
        held("reducing_limit_before_the_profit", "O4", "105 is met before 106: 0.0025 each.", "0.5",
             less(limit_price=105, take_profit=106), (100, 107, 97, 102), filled("AAA", "-0.0025", 105),
             exited("AAA", "take_profit", "-0.0025", 106)),
        held("reducing_limit_of_a_short_behind_the_profit", "O4", "Every path meets 97 before 95.", "-0.5",
             asks("AAA", "-0.25", limit_price=95, take_profit=97), (100, 104, 93, 98),
             unfilled("AAA", "0.0025", "exited"), exited("AAA", "take_profit", "0.005", 97)),
        held("a_buy_of_less_is_a_sale", "O12", "buy 0.25 from 0.5 sells: 105 is a price to reach from below.", "0.5",
             less(limit_price=105), (100, 107, 97, 102), filled("AAA", "-0.0025", 105)),
        held("price_fields_of_an_order_without_shares", "O12", "0.5 is held: the limit has no effect.",
             "0.5", asks("AAA", "0.5", limit_price=105, stop_loss=95), (100, 107, 91, 102),
             exited("AAA", "stop_loss", OUT, 95)),
        held("a_close_with_a_limit", "O11 O12", "close takes a limit: 0.005 at 105.", "0.5",
             asks("AAA", 0, limit_price=105), (100, 107, 97, 102), filled("AAA", OUT, 105)),
        held("a_close_with_a_stop", "O11 O12", "close takes a stop: 0.005 at 95.", "0.5", asks("AAA", 0, stop_price=95),
             (100, 104, 91, 102), filled("AAA", OUT, 95)),
        held("a_close_at_the_close", "O11", "close takes at: 0.005 at 102.", "0.5", asks("AAA", 0, at="close"),
             (100, 104, 91, 102), filled("AAA", OUT, 102)),
        held("a_flip_with_a_stop", "O12", "One order of 0.01 at one price, 95.", "0.5",
             asks("AAA", "-0.5", stop_price=95), (100, 104, 91, 94), filled("AAA", "-0.01", 95)),
    ]  # fmt: skip


def rooms() -> list[Case]:
    stop = asks("AAA", None, stop_loss=95)
    tenth: Entry = {"costs": {"capital": 1.0}, "limits": {"max_participation": 0.1}}
    return [
        held("exit_cut_by_participation", "O13", "0.1 x 0.04 = 0.004 of 0.005 are sold; 0.001 stays.", "0.5", stop,
             (100, 104, 91, 102), limited("participation", OUT, "-0.004", "AAA"),
             exited("AAA", "stop_loss", "-0.004", 95), volume=[[1e9], [1e9], [0.04]], **tenth),
        held("exit_after_a_fill_of_the_bar", "O13",
             "The open used 0.0025 of 0.1 x 0.06 = 0.006; 0.0035 of 0.0075 are sold.", "0.5",
             asks("AAA", "0.75", stop_loss=95), (100, 104, 91, 102), filled("AAA", "0.0025", 100),
             limited("participation", "-0.0075", "-0.0035", "AAA"), exited("AAA", "stop_loss", "-0.0035", 95),
             volume=[[1e9], [1e9], [0.06]], **tenth),
        exit_without_room(),
        impact("exit_with_a_cost_too_high", "g sqrt(0.005) = 0.6 sqrt(1e6 / 5000) sqrt(0.005) = 0.6: held.",
               6000.0, "100.3", 5000.0, unfilled("AAA", "0.005", "cost_too_high")),
        impact("exit_pays_the_impact_of_its_shares",
               "g sqrt(0.005) = 0.5 sqrt(1e6 / 5e7) sqrt(0.005) = 0.005: f = 95 x 0.995 = 94.525.",
               5000.0, "100.25", 5e7, exited("AAA", "stop_loss", OUT, "94.525", 95, 0)),
    ]  # fmt: skip


def exit_without_room() -> Case:
    about = "The open used all of 0.125 x 0.015625 = 0.001953125, so nothing of 0.006953125 is sold."
    return held(
        "exit_with_nothing_left_to_trade", "O13", about, "0.5", asks("AAA", "0.75", stop_loss=95), (100, 104, 91, 102),
        limited("participation", "0.0025", "0.001953125", "AAA"), filled("AAA", "0.001953125", 100),
        limited("participation", "-0.006953125", 0, "AAA"),
        costs={"capital": 1.0}, limits={"max_participation": 0.125}, volume=[[1e9], [1e9], [0.015625]],
    )  # fmt: skip


def impact(name: str, about: str, bps: float, bought: str, volume: float, *entries: Entry) -> Case:
    """Return a case of a stop that pays impact.

    On the bar before, sqrt(1e6 / 2e8) sqrt(0.005) = 0.005.
    """
    story = Story(name, "O13", about, costs={"impact_bps": bps}, volume=[[2e8], [2e8], [volume]])
    story.bar([asks("AAA", "0.5")], [FLAT], [filled("AAA", "0.005", bought, 100, 0)])
    return story.bar([asks("AAA", None, stop_loss=95)], [(100, 104, 91, 102)], entries).case()
