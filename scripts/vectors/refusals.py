"""Cases of `reject.json`: inputs, settings and data that are refused."""

from __future__ import annotations

from typing import Any

from vectors.cases import DEFAULT_LIMITS, HOLD, Case, case, dataset, rows, says


def refused(on: str, at: str, given: Any, slug: str, name: str, about: str) -> Case:
    """Return a case: the environment, the kind of input, the input and the slug of its error."""
    return {"name": name, "about": about, "on": on, "at": at, "input": given, "expected": {"slug": slug}}


def environments() -> dict[str, Any]:
    """Return the environments by name; each executes its decisions before the refused input."""
    market = dataset(rows([100.0, 101.0, 102.0, 103.0], [20.0, 20.5, 20.0, 21.0]), dividends=[[0.0, 0.0]] * 4)
    huge = rows([1e-15 if bar % 2 == 0 else 1e15 for bar in range(20)])
    swings = [says(("AAA", 100.0 if bar % 2 == 0 else 0.0)) for bar in range(7)]
    bases = {
        "running": case(
            "", "", [], market, says(("AAA", 0.5), ("BBB", -0.25)), costs={"fee_bps": 1.0}, limits=DEFAULT_LIMITS
        ),
        "ended": case("", "", [], market, says(("AAA", 0.5)), HOLD, HOLD, limits=DEFAULT_LIMITS),
        "swinging": case("", "", [], dataset(huge), *swings, lookback=1),
    }
    return {name: base["given"] for name, base in bases.items()}


def all_cases() -> list[Case]:
    return [*refused_steps(), *refused_settings(), *refused_data()]


def refused_steps() -> list[Case]:
    table = [["NaN", 0.5], [0.5, "Infinity"], [0.5, 0.5], ["NaN", "NaN"]]
    other_costs, other_window = {"costs": {"fee_bps": 2.0}}, {"window": [0, 3]}
    swing = says(("AAA", 100.0))
    return [
        *(refused("running", "decision", text, slug, f"decision_{slug}", about) for slug, about, text in DECISIONS),
        refused("running", "weights", [0.5], "weight_count", "too_few_weights", "One weight a symbol."),
        refused(
            "running",
            "weights",
            [0.5, "NaN"],
            "weight_not_finite",
            "a_weight_that_is_nan",
            "In a step, NaN is no hold.",
        ),
        refused("running", "weights", ["-Infinity", 0.0], "weight_not_finite", "an_infinite_weight", "Never a weight."),
        refused("running", "table", table, "weight_not_finite", "an_infinity_in_a_table", "A table may hold NaN."),
        refused("ended", "decision", HOLD, "episode_over", "a_step_after_the_end", "The window is over."),
        refused("ended", "weights", [0.0, 0.0], "episode_over", "weights_after_the_end", "Through this door too."),
        refused("swinging", "decision", swing, "nav_overflow", "nav_overflow", "A NAV above 1e100."),
        refused(
            "running", "checkpoint", other_costs, "state_mismatch", "checkpoint_of_other_costs", "Under another fee."
        ),
        refused(
            "running", "checkpoint", other_window, "state_mismatch", "checkpoint_of_another_window", "One bar shorter."
        ),
    ]


def refused_settings() -> list[Case]:
    windows = [[0, 5], [3, 4], [2, 2]]
    outside = "Outside the data, or without a decision."
    return [
        *(refused("running", "window", w, "window_invalid", f"window_{w[0]}_{w[1]}", outside) for w in windows),
        *(
            refused("running", "costs", {name: value}, "cost_invalid", name, "Out of its range.")
            for name, value in COSTS
        ),
        *(
            refused("running", "limits", {name: value}, "limit_invalid", name, "Out of its range.")
            for name, value in LIMITS
        ),
    ]


def refused_data() -> list[Case]:
    return [
        *(refused("running", "dataset", data, slug, name, about) for slug, name, about, data in broken_data()),
        *(refused("running", "csv", text, slug, f"csv_{slug}", "No market.") for slug, text in TEXTS),
    ]


DECISIONS = [
    ("bad_json", "Cut short.", '{"orders":[{"symbol":"AAA","action":"buy","target_weight":0.5}'),
    ("missing_field", "A weight is required beside `hold` too.", '{"orders":[{"symbol":"AAA","action":"hold"}]}'),
    ("unknown_field", "A field the page does not name.", '{"orders":[],"leverage":2}'),
    ("duplicate_field", "Equal values do not excuse it.", '{"orders":[],"orders":[]}'),
    (
        "wrong_type",
        "A number in quotes is a string.",
        '{"orders":[{"symbol":"AAA","action":"buy","target_weight":"0.5"}]}',
    ),
    ("unknown_action", "Actions are lower case.", '{"orders":[{"symbol":"AAA","action":"BUY","target_weight":0.5}]}'),
    (
        "confidence_out_of_range",
        "Above 1.",
        '{"orders":[{"symbol":"AAA","action":"buy","target_weight":0.5,"confidence":1.5}]}',
    ),
]

COSTS = [
    ("fee_bps", -1.0),
    ("slippage_bps", "NaN"),
    ("slippage_jitter", 1.5),
    ("impact_bps", "Infinity"),
    ("financing_bps", -0.5),
    ("cash_bps", "Infinity"),
    ("borrow_bps", -2.0),
    ("capital", 0.0),
]

LIMITS = [("max_weight", -0.5), ("max_gross", "NaN"), ("max_participation", -0.1), ("maintenance_margin", 1.0)]

TEXTS = [
    ("field_unparsable", "date,symbol,close\n2024-01-02,AAA,1O0\n2024-01-03,AAA,100\n"),
    ("dataset_too_small", "date,symbol,close\n2024-01-02,AAA,100\n"),
    ("duplicate_row", "date,symbol,close\n2024-01-02,AAA,100\n2024-01-02,AAA,100\n"),
    ("missing_column", "date,symbol,open\n2024-01-02,AAA,100\n2024-01-03,AAA,100\n"),
    ("unknown_column", "date,symbol,close,adj_close\n2024-01-02,AAA,100,100\n2024-01-03,AAA,1,1\n"),
]


def broken_data() -> list[tuple[str, str, str, dict[str, Any]]]:
    def but(**columns: Any) -> dict[str, Any]:
        return dataset([[100.0, 20.0], [101.0, 21.0], [102.0, 22.0]]) | columns

    day, ones, none = "2024-01-03", [1.0, 1.0], [None, None]
    settled = [none, [-0.5, None], none]
    unlisted = [[None, 20.0], [None, 21.0], [None, 22.0]]
    return [
        ("date_invalid", "no_such_day", "February 30th.", but(dates=["2024-01-02", "2024-02-30", "2024-03-01"])),
        ("date_order", "dates_out_of_order", "A day before the last.", but(dates=[day, "2024-01-02", "2024-01-04"])),
        (
            "date_order",
            "two_forms_of_date",
            "A day, then times.",
            but(dates=["2024-01-02", f"{day}T00:00:00", f"{day}T10:00:00"]),
        ),
        ("duplicate_symbol", "duplicate_symbol", "One name twice.", but(symbols=["AAA", "AAA"])),
        ("symbol_invalid", "a_space_around_a_name", "Names are trimmed.", but(symbols=["AAA", " BBB"])),
        (
            "price_invalid",
            "a_price_of_0",
            "Prices are positive.",
            but(close=[[100.0, 20.0], [0.0, 21.0], [102.0, 22.0]]),
        ),
        (
            "price_invalid",
            "a_price_of_1e16",
            "Prices end at 1e15.",
            but(open=[[100.0, 20.0], [1e16, 21.0], [102.0, 22.0]]),
        ),
        ("value_invalid", "a_split_of_0", "Splits are positive.", but(splits=[ones, [0.0, 1.0], ones])),
        (
            "value_invalid",
            "a_dividend_of_the_price",
            "It leaves no price.",
            but(dividends=[[0.0, 0.0], [100.0, 0.0], [0.0, 0.0]]),
        ),
        ("value_invalid", "a_negative_volume", "Volumes are 0 or more.", but(volume=[ones, [-1.0, 1.0], ones])),
        ("value_invalid", "a_volume_of_1e19", "Volumes end at 1e18.", but(volume=[ones, [1e19, 1.0], ones])),
        ("value_invalid", "a_return_below_minus_1", "Nobody pays in.", but(delistings=[none, none, [-1.5, None]])),
        ("value_invalid", "settled_before_a_close", "It never listed.", but(close=unlisted, delistings=settled)),
        ("close_after_settlement", "a_close_after_settlement", "It is gone.", but(delistings=settled)),
        ("shape_mismatch", "a_table_too_short", "Two rows for three.", but(open=[[100.0, 20.0], [101.0, 21.0]])),
    ]
