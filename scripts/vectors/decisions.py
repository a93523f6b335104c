"""Cases of `step.json` up to the fill: decisions, limits, actions and prices."""

from __future__ import annotations

from vectors.cases import DEFAULT_LIMITS, HOLD, SYMBOLS, Case, case, close, dataset, order, rows, says


def all_cases() -> list[Case]:
    """Return the cases in the order of the timeline."""
    return [*deciding(), *refusing(), *limiting(), *sizing(), *acting(), *pricing()]


def deciding() -> list[Case]:
    flat = dataset(rows([100.0, 102.0, 101.0, 104.0]), open=rows([100.0, 101.0, 103.0, 100.0]))
    return [
        case(
            "worked_example",
            "The example of the page: buy half, with fee and slippage.",
            [1, 5, 7, 11, 13, 15],
            dataset([[100.0], [102.0]], open=[[100.0], [101.0]]),
            says(("AAA", 0.5)),
            costs={"fee_bps": 10.0, "slippage_bps": 5.0},
            limits=DEFAULT_LIMITS,
        ),
        case(
            "hold_and_close_win_over_the_weight",
            "A weight beside `hold` or `close` sizes nothing, however large.",
            [1],
            flat,
            says(("AAA", 0.5)),
            says(order("AAA", "hold", 250.0)),
            says(order("AAA", "close", 0.75)),
        ),
        case(
            "buy_and_sell_are_labels",
            "The weight decides, whatever the label; optional fields size nothing.",
            [1, 5],
            flat,
            says(order("AAA", "sell", 0.5, confidence=0.0, rationale="why")),
            '\n{"reasoning": "odd", "orders": [{"target_weight": -5E-1, "action": "buy", "symbol": "\\u0041AA"}]} ',
            HOLD,
        ),
    ]


def refusing() -> list[Case]:
    four = dataset(
        rows([10.0, 11.0, 12.0, 12.0], [20.0, 20.0, 21.0, 22.0], [5.0, 5.0, None, None], [None, None, 7.0, 8.0]),
        open=rows([10.0, 10.5, 11.5, 12.0], [20.0, 20.0, 20.0, 22.0], [5.0, 5.0, None, None], [None, None, 7.0, 7.5]),
        delistings=rows([None] * 4, [None] * 4, [None, None, 0.0, None], [None] * 4),
    )
    return [
        case(
            "orders_refused_one_by_one",
            "Each reason for which one order is refused, beside orders that are not.",
            [1],
            four,
            says(("AAA", 0.25), ("ZZZ", 0.1), ("DDD", 0.1), close("DDD"), ("BBB", 0.1), ("BBB", 0.2), ("CCC", 101.0)),
            says(("AAA", -0.25), ("CCC", 0.5), ("ZZZ", 0.1), ("ZZZ", 0.1)),
            says(("CCC", 0.5), ("AAA", -100.5), ("DDD", 0.25), ("BBB", -0.25)),
            limits={"allow_short": False},
        ),
        case(
            "nothing_to_hold_or_close",
            "`hold`, `close` and w = 0 of a settled symbol are nothing, and no event.",
            [1],
            four,
            HOLD,
            HOLD,
            says(close("CCC"), order("BBB", "hold", 0.0)),
        ),
    ]


def limiting() -> list[Case]:
    drift = dataset(
        rows([1.0, 4.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0]), open=rows([1.0, 1.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0])
    )
    flat = dataset(rows([1.0] * 3, [1.0] * 3, [1.0] * 3))
    return [
        case(
            "max_weight",
            "A new weight is cut; one that has drifted above the limit is kept, and may be reduced.",
            [2, 3],
            drift,
            says(("AAA", 0.8)),
            says(("AAA", 0.9)),
            says(("AAA", 0.7), ("BBB", -0.9)),
            limits={"max_weight": 0.5},
        ),
        case(
            "max_gross",
            "What is held stays, what is added is scaled; a flip adds all of its new side.",
            [4],
            flat,
            says(("AAA", 0.5), ("BBB", 0.25)),
            says(("BBB", -0.25), ("CCC", 0.75)),
            limits={"max_gross": 1.0},
        ),
        case(
            "max_gross_is_used_up",
            "Held gross above the limit leaves no room, and is not sold either.",
            [4],
            dataset(rows([1.0, 1.0, 1.5, 1.5], [1.0] * 4)),
            says(("AAA", -0.875)),
            HOLD,
            says(("AAA", -9.0), ("BBB", 0.3)),
            limits={"max_gross": 1.0},
        ),
    ]


def sizing() -> list[Case]:
    return [
        case(
            "a_rounding_of_max_gross",
            "Weights that exceed 1 by the rounding of float32 are not limited.",
            [4],
            dataset(rows([1.0, 1.0], [1.0, 1.0])),
            says(("AAA", 0.5), ("BBB", 0.5000009)),
            limits=DEFAULT_LIMITS,
        ),
        case(
            "stale_price",
            "A halted symbol is sized on its last close, on the share basis after a split in the halt.",
            [5, 6],
            dataset(rows([8.0, None, 5.0]), open=rows([8.0, None, 5.0]), splits=rows([1.0, 2.0, 1.0])),
            HOLD,
            says(("AAA", 0.5)),
        ),
        case(
            "nine_symbols",
            "Sums over symbols run in eight lanes.",
            [4, 13],
            dataset(
                [
                    [3.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0],
                    [3.1, 6.9, 11.3, 12.7, 17.9, 18.1, 23.3, 29.9, 30.1],
                ]
            ),
            says(*((name, 0.1 + 0.01 * i) for i, name in enumerate(SYMBOLS[:9]))),
            costs={"fee_bps": 7.0},
            limits=DEFAULT_LIMITS,
        ),
    ]


def acting() -> list[Case]:
    dividend = dataset(
        rows([100.0, 100.0, 50.0, 51.0], [40.0, 40.0, 39.0, 38.0]),
        open=rows([100.0, 100.0, 48.0, 50.0], [40.0, 40.0, 40.0, 39.0]),
        dividends=rows([0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 1.0, None]),
        splits=rows([1.0, 1.0, 2.0, None], [1.0] * 4),
    )
    settled = dataset(
        rows([100.0, 100.0, 90.0, None], [50.0, 50.0, 60.0, 60.0], [10.0, 10.0, 10.0, None]),
        delistings=rows([None, None, None, -0.3], [None] * 3 + [0.25], [None, None, None, -1.0]),
    )
    return [
        case(
            "dividends_then_split",
            "A long receives and a short pays, per share before the split.",
            [6],
            dividend,
            says(("AAA", 0.5), ("BBB", -0.5)),
            says(("AAA", 0.75)),
            says(close("BBB")),
        ),
        case(
            "a_split_by_three",
            "Shares, mark and average price move to the new basis; the history shown does too.",
            [6, 13],
            dataset(
                rows([99.0, 100.0, 33.0, 34.0]), open=rows([99.0, 100.0, 33.5, 33.0]), splits=rows([1.0, 1.0, 3.0, 1.0])
            ),
            says(("AAA", 0.3)),
            says(("AAA", 0.6)),
            says(("AAA", 0.2)),
            costs={"fee_bps": 3.0},
        ),
        case(
            "settlement",
            "Longs and shorts are settled at the mark times 1 + R; the close of that bar is ignored.",
            [6],
            settled,
            says(("AAA", 0.5), ("BBB", -0.5)),
            HOLD,
            says(("AAA", 0.9), ("CCC", 0.25)),
        ),
    ]


def pricing() -> list[Case]:
    return [
        case(
            "close_to_close",
            "Without opens an order fills at the close it was decided on, less dividend, over split.",
            [6, 7],
            dataset([[100.0], [50.0], [51.0]], dividends=[[0.0], [4.0], [0.0]], splits=[[1.0], [2.0], [1.0]]),
            says(("AAA", 0.5)),
            says(("AAA", 0.25)),
        ),
        case(
            "close_to_close_after_a_halt",
            "Without opens, no close is no price on the next bar either.",
            [7, 8],
            dataset(rows([10.0, None, 11.0, 12.0])),
            HOLD,
            says(("AAA", 0.5)),
            says(("AAA", 0.5)),
        ),
    ]
