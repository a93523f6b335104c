"""Cases of `orders.json` for the fill table: orders of a flat account.

A weight of 0.5 at NAV 1 and a close of 100 is 0.5 x 1 / 100 = 0.005 shares. `SLIP` is c = 0.01.
"""

from __future__ import annotations

from typing import Any

from vectors.cases import Case
from vectors.order_cases import Entry, Quotes, asks, entry, filled, unfilled

SLIP = {"slippage_bps": 100.0}
GAP_HALF, GAP_ALL = {"stop_gap": 0.5}, {"stop_gap": 1.0}
Q = "0.005"
THROUGH: Quotes = (100, 103, 94, 98)


def all_cases() -> list[Case]:
    """Return the cases in the order of the table."""
    return [*plain(), *closes(), *limits(), *stops(), *stop_limits(), *ranges(), *untradable()]


def plain() -> list[Case]:
    return [
        entry("plain_buy", "plain", "f = 101 x 1.01 = 102.01; b = 101.", asks("AAA", "0.5"), (101, 110, 90, 104),
              filled("AAA", Q, "102.01", 101), costs=SLIP),
        entry("plain_sell", "plain", "f = 101 x 0.99 = 99.99; b = 101.", asks("AAA", "-0.5"), (101, 110, 90, 104),
              filled("AAA", "-0.005", "99.99", 101), costs=SLIP),
        entry("plain_buy_with_a_fee", "plain O18", "fee = 0.001 x 0.005 x 102.01 = 0.00051005.", asks("AAA", "0.5"),
              (101, 110, 90, 104), filled("AAA", Q, "102.01", 101), costs=SLIP | {"fee_bps": 10.0}),
    ]  # fmt: skip


def closes() -> list[Case]:
    return [
        entry("close_buy", "close", "f = 104 x 1.01 = 105.04; b = 104, the close.", asks("AAA", "0.5", at="close"),
              (101, 110, 90, 104), filled("AAA", Q, "105.04", 104), costs=SLIP),
        entry("close_sell", "close", "f = 104 x 0.99 = 102.96.", asks("AAA", "-0.5", at="close"),
              (101, 110, 90, 104), filled("AAA", "-0.005", "102.96", 104), costs=SLIP),
        entry("close_limit_buy", "close O11", "104 x 1.01 = 105.04 <= 105.1: at 105.04, not at 105.1.",
              asks("AAA", "0.5", at="close", limit_price="105.1"), (101, 110, 90, 104),
              filled("AAA", Q, "105.04", 104), costs=SLIP),
        entry("close_limit_buy_touched", "close O11", "104 <= 104: equality is enough at the close.",
              asks("AAA", "0.5", at="close", limit_price=104), (101, 110, 90, 104), filled("AAA", Q, 104)),
        entry("close_limit_buy_not_reached", "close O11", "104 x 1.01 = 105.04 > 105, although the low is 90.",
              asks("AAA", "0.5", at="close", limit_price=105), (101, 110, 90, 104),
              unfilled("AAA", Q, "limit_not_reached"), costs=SLIP),
        entry("close_limit_sell", "close O11", "104 x 0.99 = 102.96 >= 102.9.",
              asks("AAA", "-0.5", at="close", limit_price="102.9"), (101, 110, 90, 104),
              filled("AAA", "-0.005", "102.96", 104), costs=SLIP),
        entry("close_limit_sell_not_reached", "close O11", "104 x 0.99 = 102.96 < 103, although the high is 110.",
              asks("AAA", "-0.5", at="close", limit_price=103), (101, 110, 90, 104),
              unfilled("AAA", "-0.005", "limit_not_reached"), costs=SLIP),
        entry("close_without_an_open", "close O11", "A missing open does not matter at the close.",
              asks("AAA", "0.5", at="close"), (None, 110, 90, 104), filled("AAA", Q, 104)),
        entry("close_without_a_close", "close O11", "Without a close there is no price.",
              asks("AAA", "0.5", at="close"), (101, 110, 90, None), unfilled("AAA", Q, "no_price")),
    ]  # fmt: skip


def limits() -> list[Case]:
    def buy(name: str, about: str, limit: str, bar: Quotes, *entries: Entry, **more: Any) -> Case:
        return entry(name, "limit O1", about, asks("AAA", "0.5", limit_price=limit), bar, *entries, **more)

    def sell(name: str, about: str, limit: str, bar: Quotes, *entries: Entry, **more: Any) -> Case:
        return entry(name, "limit O1", about, asks("AAA", "-0.5", limit_price=limit), bar, *entries, **more)

    missed = unfilled("AAA", Q, "limit_not_reached")
    short_missed = unfilled("AAA", "-0.005", "limit_not_reached")
    return [
        buy("limit_buy_at_the_open", "98 x 1.01 = 98.98 <= 99: at 98.98.", "99", ("98", "103", "94", "102"),
            filled("AAA", Q, "98.98", 98), costs=SLIP),
        buy("limit_buy_equal_to_the_open", "98 <= 98.", "98", ("98", "103", "94", "102"), filled("AAA", Q, 98)),
        buy("limit_buy_through", "100 > 95 and 94 < 95: at 95.", "95", ("100", "103", "94", "102"),
            filled("AAA", Q, 95)),
        buy("limit_buy_touched", "The low 95 is not below 95: a touch is no fill.", "95", ("100", "103", "95", "102"),
            missed),
        buy("limit_buy_through_with_costs", "94 x 1.01 = 94.94 < 95: f = 95, b = 95 / 1.01.", "95",
            ("100", "103", "94", "102"), filled("AAA", Q, 95, "95/1.01"), costs=SLIP),
        buy("limit_buy_bid_through_ask_not", "94.5 < 95 but 94.5 x 1.01 = 95.445 >= 95.", "95",
            ("100", "103", "94.5", "102"), missed, costs=SLIP),
        buy("limit_buy_between_open_and_ask", "95 <= 95.5 < 95 x 1.01 = 95.95; 94 x 1.01 < 95.5: f = 95.5.", "95.5",
            ("95", "103", "94", "102"), filled("AAA", Q, "95.5", "95.5/1.01"), costs=SLIP),
        buy("limit_buy_through_with_a_fee", "fee = 0.002 x 0.005 x 95 = 0.00095.", "95", ("100", "103", "94", "102"),
            filled("AAA", Q, 95), costs={"fee_bps": 20.0}),
        buy("limit_buy_through_with_impact",
            "g sqrt(q) = 0.5 sqrt(1e6 / 2e8) sqrt(0.005) = 0.0025 of c = 0.0125: a fifth of the cost is impact.", "95",
            ("100", "103", "90", "102"), filled("AAA", Q, 95, "95/1.0125", "0.8"),
            costs=SLIP | {"impact_bps": 5000.0}, volume=[[200000000.0], [200000000.0]]),
        sell("limit_sell_at_the_open", "102 x 0.99 = 100.98 >= 100: at 100.98.", "100", ("102", "106", "97", "98"),
             filled("AAA", "-0.005", "100.98", 102), costs=SLIP),
        sell("limit_sell_equal_to_the_open", "102 >= 102.", "102", ("102", "106", "97", "98"),
             filled("AAA", "-0.005", 102)),
        sell("limit_sell_through", "100 < 105 and 106 > 105: at 105.", "105", ("100", "106", "97", "98"),
             filled("AAA", "-0.005", 105)),
        sell("limit_sell_touched", "The high 105 is not above 105.", "105", ("100", "105", "97", "98"), short_missed),
        sell("limit_sell_through_with_costs", "107 x 0.99 = 105.93 > 105: f = 105, b = 105 / 0.99.", "105",
             ("100", "107", "97", "98"), filled("AAA", "-0.005", 105, "105/0.99"), costs=SLIP),
        sell("limit_sell_ask_through_bid_not", "106 > 105 but 106 x 0.99 = 104.94 <= 105.", "105",
             ("100", "106", "97", "98"), short_missed, costs=SLIP),
    ]  # fmt: skip


def stops() -> list[Case]:
    buy, sell = asks("AAA", "0.5", stop_price=105), asks("AAA", "-0.5", stop_price=95)
    up: Quotes = (100, 109, 97, 104)
    down: Quotes = (100, 103, 91, 96)
    return [
        entry("stop_buy_at_the_open", "stop", "The open 106 is past 105: b = 106.", buy, (106, 109, 97, 104),
              filled("AAA", Q, 106)),
        entry("stop_buy_inside", "stop", "The high 109 reaches 105: b = 105.", buy, up, filled("AAA", Q, 105)),
        entry("stop_buy_touched", "stop", "The high is 105: a stop needs only a touch.", buy, (100, 105, 97, 104),
              filled("AAA", Q, 105)),
        entry("stop_buy_not_reached", "stop", "The high is 104.9.", buy, (100, "104.9", 97, 104),
              unfilled("AAA", Q, "stop_not_reached")),
        entry("stop_buy_with_costs", "stop O1", "f = 105 x 1.01 = 106.05.", buy, up,
              filled("AAA", Q, "106.05", 105), costs=SLIP),
        entry("stop_buy_half_the_gap", "stop O7", "b = 105 + 0.5 (109 - 105) = 107.", buy, up,
              filled("AAA", Q, 107), costs=GAP_HALF),
        entry("stop_buy_all_of_the_gap", "stop O7", "b = 105 + 1 (109 - 105) = 109; f = 109 x 1.01 = 110.09.", buy, up,
              filled("AAA", Q, "110.09", 109), costs=GAP_ALL | SLIP),
        entry("stop_buy_at_the_open_has_no_gap", "stop O7", "A stop past the open is filled at the open.", buy,
              (106, 109, 97, 104), filled("AAA", Q, 106), costs=GAP_ALL),
        entry("stop_sell_at_the_open", "stop", "The open 94 is past 95: b = 94.", sell, (94, 103, 91, 96),
              filled("AAA", "-0.005", 94)),
        entry("stop_sell_inside", "stop", "The low 91 reaches 95: b = 95.", sell, down, filled("AAA", "-0.005", 95)),
        entry("stop_sell_touched", "stop", "The low is 95.", sell, (100, 103, 95, 96), filled("AAA", "-0.005", 95)),
        entry("stop_sell_not_reached", "stop", "The low is 95.1.", sell, (100, 103, "95.1", 96),
              unfilled("AAA", "-0.005", "stop_not_reached")),
        entry("stop_sell_with_costs", "stop O1", "f = 95 x 0.99 = 94.05.", sell, down,
              filled("AAA", "-0.005", "94.05", 95), costs=SLIP),
        entry("stop_sell_half_the_gap", "stop O7", "b = 95 - 0.5 (95 - 91) = 93.", sell, down,
              filled("AAA", "-0.005", 93), costs=GAP_HALF),
    ]  # fmt: skip


def stop_limits() -> list[Case]:
    def buy(limit: str) -> Entry:
        return asks("AAA", "0.5", stop_price=105, limit_price=limit)

    sell = asks("AAA", "-0.5", stop_price=95, limit_price=94)
    missed = unfilled("AAA", Q, "limit_not_reached")
    up: Quotes = (100, 109, 97, 104)
    return [
        entry("stop_limit_buy_inside", "stop-limit", "105 x 1.01 = 106.05 <= 107: at 106.05.", buy("107"), up,
              filled("AAA", Q, "106.05", 105), costs=SLIP),
        entry("stop_limit_buy_at_the_stop", "stop-limit", "105 <= 105 without costs.", buy("105"), up,
              filled("AAA", Q, 105)),
        entry("stop_limit_buy_at_the_stop_with_costs", "stop-limit O22", "105 x 1.01 = 106.05 > 105: never filled.",
              buy("105"), up, unfilled("AAA", Q, "limit_not_reached"), costs=SLIP),
        entry("stop_limit_buy_at_the_open", "stop-limit", "106 >= 105, and 106 <= 107: at 106.", buy("107"),
              (106, 109, 97, 104), filled("AAA", Q, 106)),
        entry("stop_limit_buy_opens_above_its_limit", "stop-limit",
              "Triggered at 108 > 107; the later 97 is not looked at.", buy("107"), (108, 109, 97, 104), missed),
        entry("stop_limit_buy_gaps_over_its_limit", "stop-limit O7", "b = 105 + 1 (109 - 105) = 109 > 107.",
              buy("107"), up, missed, costs=GAP_ALL),
        entry("stop_limit_buy_not_triggered", "stop-limit", "The high is 104.", buy("107"), (100, 104, 97, 101),
              unfilled("AAA", Q, "stop_not_reached")),
        entry("stop_limit_sell_inside", "stop-limit", "95 x 0.99 = 94.05 >= 94.", sell, (100, 103, 91, 96),
              filled("AAA", "-0.005", "94.05", 95), costs=SLIP),
        entry("stop_limit_sell_opens_below_its_limit", "stop-limit", "Triggered at 93 < 94.", sell, (93, 103, 91, 96),
              unfilled("AAA", "-0.005", "limit_not_reached")),
    ]  # fmt: skip


def ranges() -> list[Case]:
    limit, stop = asks("AAA", "0.5", limit_price=95), asks("AAA", "0.5", stop_price=105)
    no_range = unfilled("AAA", Q, "no_range")
    return [
        entry("limit_without_a_low", "limit O10", "lo = min(100, 98) = 98: not reached, and the low is missing.", limit,
              (100, 103, None, 98), no_range),
        entry("limit_reached_by_the_close", "limit O10", "lo = min(100, 94) = 94 < 95 without a low.", limit,
              (100, 103, None, 94), filled("AAA", Q, 95)),
        entry("limit_at_the_open_without_a_range", "limit O10", "A test decided at the open needs no range.", limit,
              (94, None, None, 98), filled("AAA", Q, 94)),
        entry("limit_without_a_high", "limit O10", "One of the two is missing, and 95 is not reached.", limit,
              (100, None, 96, 98), no_range),
        entry("limit_reached_without_a_high", "limit O10", "lo = 94 < 95.", limit, (100, None, 94, 98),
              filled("AAA", Q, 95)),
        entry("stop_without_a_high", "stop O10", "hi = max(100, 103) = 103: not reached, and the high is missing.",
              stop, (100, None, 97, 103), no_range),
        entry("stop_reached_by_the_close", "stop O10", "hi = max(100, 106) = 106 >= 105.", stop,
              (100, None, 97, 106), filled("AAA", Q, 105)),
        entry("low_above_the_open", "limit O10", "lo = min(96, 94.5, 97) = 94.5: the open belongs to the range.",
              asks("AAA", "0.5", limit_price=95), (96, 103, 97, "94.5"), filled("AAA", Q, 95)),
        entry("high_below_the_close", "stop O10", "hi = max(104, 100, 106) = 106.", stop, (100, 104, 97, 106),
              filled("AAA", Q, 105)),
        entry("limit_without_an_open_column", "limit O10", "The low 90 is below 95, but there is no open.", limit,
              (None, 103, 90, 98), no_range, opens=False),
        entry("stop_without_an_open_column", "stop O10", "The high 110 is above 105.", stop, (None, 110, 97, 98),
              no_range, opens=False),
        entry("close_without_an_open_column", "close O10", "An order at the close works.",
              asks("AAA", "0.5", at="close"), (None, 103, 97, 98), filled("AAA", Q, 98), opens=False),
        entry("plain_without_an_open_column", "plain O10", "p is the close before, 100.", asks("AAA", "0.5"),
              (None, 103, 97, 98), filled("AAA", Q, 100), opens=False),
    ]  # fmt: skip


def untradable() -> list[Case]:
    limit, bar = asks("AAA", "0.5", limit_price=95), THROUGH
    return [
        entry("limit_not_tradable", "limit", "The mask comes before the limit, which 94 would meet.", limit, bar,
              unfilled("AAA", Q, "not_tradable"), tradable=[[True], [False]]),
        entry("limit_without_volume", "limit", "A volume of 0.", limit, bar, unfilled("AAA", Q, "no_volume"),
              volume=[[1e9], [0.0]]),
        entry("limit_without_an_open", "limit", "One missing open is no price.", limit, (None, 103, 94, 98),
              unfilled("AAA", Q, "no_price")),
        entry("limit_with_a_cost_too_high", "limit", "c = 0.6: 100 x 1.6 = 160 <= 200, then c >= 0.5.",
              asks("AAA", "0.5", limit_price=200), bar, unfilled("AAA", Q, "cost_too_high"),
              costs={"slippage_bps": 6000.0}),
    ]  # fmt: skip
