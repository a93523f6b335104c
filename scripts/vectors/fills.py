"""Cases of `step.json` from the fill on: execution, accrual, marks, the end."""

from __future__ import annotations

from vectors.cases import DEFAULT_LIMITS, HOLD, SYMBOLS, Case, case, close, dataset, rows, says

RATES = {"cash_bps": 252.0, "financing_bps": 504.0, "borrow_bps": 1008.0}


def all_cases() -> list[Case]:
    """Return the cases in the order of the timeline."""
    return [*executing(), *rebalancing(), *filling(), *holding(), *shorting(), *ending(), *showing()]


def executing() -> list[Case]:
    return [
        case(
            "untradable",
            "No open, no close, forbidden, no volume: each order is dropped, and not carried over.",
            [8],
            dataset(
                rows([1.0] * 3, [1.0, None, 1.0], [1.0] * 3, [1.0] * 3),
                open=rows([1.0, None, 1.0], *[[1.0] * 3] * 3),
                tradable=rows([True] * 3, [True] * 3, [True, False, True], [True] * 3),
                volume=rows(*[[1e9] * 3] * 3, [1e9, 0.0, 1e9]),
            ),
            says(*((name, 0.25) for name in SYMBOLS[:4])),
            HOLD,
        ),
        case(
            "participation",
            "An order is cut to its share of the volume, or of NAV where the bar has no volume.",
            [9],
            dataset([[1.0, 2.0]] * 3, volume=[[500.0, None]] * 3),
            says(("AAA", 0.5), ("BBB", -0.5)),
            says(close("AAA")),
            costs={"capital": 10000.0},
            limits={"max_participation": 0.125},
        ),
        case(
            "cost_too_high",
            "Slippage and impact that reach half the price fill nothing; a smaller order is filled.",
            [9],
            dataset([[4.0]] * 3),
            says(("AAA", 1.0)),
            says(("AAA", 0.25)),
            costs={"slippage_bps": 1000.0, "impact_bps": 4000.0},
        ),
        case(
            "cost_too_high_after_participation",
            "The cost is that of what participation left of the order.",
            [9],
            dataset([[4.0, 4.0]] * 2, volume=[[4.0, 100.0]] * 2),
            says(("AAA", 1.0), ("BBB", 1.0)),
            costs={"impact_bps": 4000.0, "capital": 1000.0},
            limits={"max_participation": 1.0},
        ),
    ]


def rebalancing() -> list[Case]:
    stuck = rows([True, True, False], [True] * 3, [True] * 3)
    flat = rows([1.0] * 3, [1.0] * 3, [1.0] * 3)
    return [
        case(
            "a_blocked_sale_funds_no_purchase",
            "A sale that failed scales the purchases and shorts beside it.",
            [8, 10],
            dataset(flat, tradable=stuck),
            says(("AAA", 0.75)),
            says(close("AAA"), ("BBB", 0.5), ("CCC", -0.5)),
            limits=DEFAULT_LIMITS,
        ),
        case(
            "flips_cut_by_participation",
            "One is cut before zero, one beyond it; all that is new is scaled.",
            [9, 10],
            dataset(flat, volume=rows([1e9, 1e9, 3.0], [1e9, 1e9, 7.0], [1e9] * 3)),
            says(("AAA", 0.5), ("BBB", 0.25)),
            says(("AAA", -0.05), ("BBB", -0.3), ("CCC", 0.4)),
            costs={"capital": 1.0},
            limits=DEFAULT_LIMITS | {"max_participation": 0.0625, "max_gross": 0.75},
        ),
    ]


def filling() -> list[Case]:
    return [
        case(
            "flips",
            "Long to short and back: shares cross zero in one fill, which sets the average price.",
            [11],
            dataset(rows([10.0, 11.0, 9.0, 10.0, 10.0]), open=rows([10.0, 10.5, 10.0, 9.5, 10.0])),
            says(("AAA", 0.5)),
            says(("AAA", -0.5)),
            says(("AAA", -0.75)),
            says(("AAA", 0.25)),
            costs={"fee_bps": 1.0, "slippage_bps": 2.0},
        ),
        case(
            "impact_by_volume",
            "Fee, slippage and impact of a fill, a bar with volume and one without.",
            [11],
            dataset([[2.0]] * 3, volume=[[400.0], [400.0], [None]]),
            says(("AAA", 0.5)),
            says(("AAA", -0.25)),
            costs={"fee_bps": 80.0, "slippage_bps": 100.0, "impact_bps": 200.0, "capital": 10000.0},
        ),
        case(
            "jitter",
            "The noise of the slippage is a hash of the fill seed, the bar and the symbol.",
            [11],
            dataset([[2.0, 30.0]] * 4),
            says(("AAA", 0.5), ("BBB", -0.25)),
            says(("AAA", -0.5)),
            says(close("BBB")),
            costs={"slippage_bps": 50.0, "slippage_jitter": 0.8},
            seed=7,
        ),
    ]


def holding() -> list[Case]:
    flat = rows([1.0] * 4)
    return [
        case(
            "interest_on_cash",
            "Idle cash earns, the proceeds of a short earn nothing, and the short pays.",
            [12],
            dataset(flat),
            says(("AAA", 0.5)),
            says(("AAA", -0.5)),
            HOLD,
            costs=RATES,
        ),
        case(
            "debt_pays_financing",
            "Borrowed cash pays `financing_bps`.",
            [12],
            dataset(flat),
            says(("AAA", 2.0)),
            HOLD,
            costs=RATES,
        ),
        case(
            "a_negative_rate",
            "A negative cash rate is paid on idle cash.",
            [12],
            dataset(flat),
            HOLD,
            says(("AAA", 0.5)),
            costs={"cash_bps": -252.0},
        ),
    ]


def shorting() -> list[Case]:
    return [
        case(
            "a_short_without_a_price",
            "A short accrues on the reference price, and on its mark where there is none.",
            [12],
            dataset(rows([1.0, 1.0, 4.0, 4.0]), open=rows([1.0, 1.0, 2.0, None])),
            says(("AAA", -0.25)),
            HOLD,
            HOLD,
            costs=RATES,
        ),
        case(
            "a_short_that_cannot_trade",
            "A short accrues on the reference price of a bar that forbids trading too.",
            [8, 12],
            dataset(
                rows([1.0, 1.0, 4.0, 4.0]),
                open=rows([1.0, 1.0, 2.0, 5.0]),
                tradable=rows([True, True, False, True]),
                volume=rows([1e9, 1e9, 1e9, 0.0]),
            ),
            says(("AAA", -0.125)),
            says(close("AAA")),
            HOLD,
            costs=RATES,
        ),
        case(
            "a_halted_position",
            "A position without a close keeps its mark, is still held, and cannot be sold.",
            [8, 13],
            dataset(rows([1.0, 2.0, None, 3.0]), open=rows([1.0, 1.0, 9.0, 2.5])),
            says(("AAA", 1.0)),
            says(close("AAA")),
            says(close("AAA")),
        ),
    ]


def ending() -> list[Case]:
    costs = {"fee_bps": 100.0, "slippage_bps": 100.0}
    return [
        case(
            "liquidation",
            "Below the maintenance margin all is closed at the mark, slipped and with a fee.",
            [14],
            dataset(rows([1.0, 0.6, 5.0], [1.0, 1.1, 1.0]), open=rows([1.0, 1.0, 5.0], [1.0, 1.0, 1.0])),
            says(("AAA", 2.0), ("BBB", -0.5)),
            costs=costs,
            limits={"maintenance_margin": 0.25},
        ),
        case(
            "liquidation_then_ruin",
            "What the liquidation costs can ruin what the margin left.",
            [14],
            dataset([[1.0], [0.53], [1.0]], open=[[1.0], [1.0], [1.0]]),
            says(("AAA", 2.0)),
            costs=costs,
            limits={"maintenance_margin": 0.25},
        ),
        case(
            "ruin",
            "A negative NAV is written off, and ends the episode.",
            [14, 15],
            dataset([[1.0], [0.25], [9.0]], open=[[1.0], [1.0], [9.0]]),
            says(("AAA", 2.0)),
        ),
        case(
            "ruin_by_settlement",
            "A NAV of exactly 0 is ruin too, without a shortfall.",
            [6, 14],
            dataset([[1.0], [1.0], [None]], delistings=[[None], [None], [-1.0]]),
            says(("AAA", 1.0)),
            HOLD,
        ),
        case(
            "the_window_ends_before_the_data",
            "The window's last bar ends the episode; its last decision is rewarded.",
            [15],
            dataset([[1.0], [1.5], [2.0], [3.0], [6.0]]),
            says(("AAA", 1.0)),
            HOLD,
            window=[1, 4],
            lookback=2,
        ),
    ]


def showing() -> list[Case]:
    known = [
        ("AAA", "2024-01-02", "eps", 1.5),
        ("AAA", "2024-01-04", "eps", 1.25),
        ("AAA", "2023-06-30", "book", 40.0),
        ("BBB", "2024-01-02", "eps", -0.5),
        ("AAA", "2024-01-03T18:00:00", "€", 3.0),
        ("AAA", "2024-02-01", "eps", 9.0),
        ("AAA", "2024-01-02", "\U0001f4c8", 1.0),
        ("AAA", "2024-01-02", "\ue000", 2.0),
    ]
    heard = [
        ("AAA", "2024-01-02", 'says "buy"'),
        ("AAA", "2024-01-03T09:00:00", "line\nbreak, \u2028 and \x07"),
        ("BBB", "2024-01-02", "lists on Friday"),
        ("BBB", "2024-01-05", "listed"),
        ("AAA", "2024-02-01", "later"),
    ]
    several = dataset(
        rows([10.0, 11.0, None, 5.25, 5.5], [None, None, None, 7.0, 7.5]),
        splits=rows([1.0, 1.0, 2.0, 1.0, 1.0], [1.0] * 5),
        fundamentals=[dict(zip(("symbol", "available_at", "name", "value"), item, strict=True)) for item in known],
        news=[dict(zip(("symbol", "available_at", "headline"), item, strict=True)) for item in heard],
    )
    odd = dataset([[1e-7, 123456789012.5], [1.5e-7, 1e21 / 1e7]], periods_per_year=98280.0)
    odd |= {"symbols": ['Ünï "Q"', "\U0001f4c8\\"], "dates": ["2024-01-02T09:30:00Z", "2024-01-02T09:31:00Z"]}
    return [
        case(
            "point_in_time",
            "A listing, a halt, a split, restated numbers and news, each from when it is known.",
            [6, 13],
            several,
            says(("AAA", 0.5), ("BBB", 0.1)),
            HOLD,
            HOLD,
            says(("BBB", 0.5)),
            lookback=3,
        ),
        case(
            "odd_names_and_numbers",
            "Names are escaped and numbers laid out as RFC 8785 says; bars may be minutes.",
            [13],
            odd,
            says(('Ünï "Q"', 0.5), ("\U0001f4c8\\", -0.25)),
            costs={"cash_bps": 100.0},
        ),
    ]
