"""`run_backtest` and `Run`: accepted inputs, rejected inputs, and consistency of the results."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from builders import Array, bits, draw, replay

import openoutcry as oo

nan, inf = np.nan, np.inf
MARKET = oo.Dataset.synthetic(3, 60, 11)
WINDOW = (5, 50)


def weights_of(dataset: oo.Dataset = MARKET, seed: int = 0) -> Array:
    """Return long and short weights with holds, below any limit."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-0.3, 0.3, (dataset.n_bars, dataset.n_symbols))
    weights[rng.random(weights.shape) < 0.3] = nan
    return weights


def run(weights: Any, **options: Any) -> oo.Run:
    return oo.run_backtest(MARKET, weights, **({"window": WINDOW} | options))


def test_nav_starts_at_one_and_has_a_value_per_bar_of_the_window() -> None:
    done = run(weights_of())
    assert done.nav[0] == 1.0
    assert done.nav.shape == (45,)
    assert done.returns.shape == done.turnover.shape == (44,)
    assert {column.shape for column in [*done.costs.values(), *done.gains.values()]} == {(44,)}
    assert (done.weights.shape, done.decisions.shape) == ((45, 3), (44, 3))
    assert done.dates == MARKET.dates[5:50]
    assert (done.window, done.seed, done.terminated_at) == (oo.Window(5, 50), 0, None)
    assert (done.cost_model, done.limits) == (oo.CostModel(), oo.Limits())
    np.testing.assert_array_equal(done.returns, done.nav[1:] / done.nav[:-1] - 1.0)


def test_row_k_is_the_decision_of_bar_k() -> None:
    weights = np.full((60, 3), nan)
    weights[20, 1] = 0.5
    trades = run(weights).trades
    assert {name: column.tolist() for name, column in trades.items() if name != "price"} == {
        "date": [MARKET.dates[21]],
        "bar": [21],
        "symbol": ["S001"],
        "shares": [0.5 / MARKET.close[20, 1]],
    }


def test_a_nan_holds_shares_as_an_agent_without_an_order_does() -> None:
    weights = np.full((60, 3), nan)
    weights[5] = [0.5, -0.25, 0.0]
    held = run(weights)
    assert held.trades["bar"].tolist() == [6, 6]
    first = {"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.5}]}
    first["orders"] += [{"symbol": "S001", "action": "sell", "target_weight": -0.25}]
    agent = replay([json.dumps(first), *['{"orders":[]}'] * 43])
    assert bits(run(agent).nav) == bits(held.nav)
    assert bits(held.decisions[1:]) == bits(np.full((43, 3), nan))


@pytest.mark.parametrize("value", [inf, -inf])
@pytest.mark.parametrize("place", [(5, 0), (17, 2), (48, 1)])
def test_an_infinity_is_refused_with_its_bar_and_symbol(place: tuple[int, int], value: float) -> None:
    weights = weights_of()
    weights[place] = value
    with pytest.raises(oo.OpenOutcryError, match=rf"weights\[{place[0]}, {place[1]}\].*{value}") as refused:
        run(weights)
    assert refused.value.slug == "weight_not_finite"


def test_rows_outside_the_window_are_ignored() -> None:
    weights, expected = weights_of(), bits(run(weights_of()).nav)
    for garbage in (inf, nan, 1e308, -50.0):
        weights[:5] = weights[49:] = garbage
        assert bits(run(weights).nav) == expected


def frozen(weights: Array) -> Array:
    weights = weights.copy()
    weights.flags.writeable = False
    return weights


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "read-only": frozen,
    "every second": lambda weights: np.repeat(np.repeat(weights, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda weights: weights[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda weights: weights.T.copy().T,
    "big endian": lambda weights: weights.astype(">f8"),
    "lists": lambda weights: weights.tolist(),
    "pandas": lambda weights: pd.DataFrame(weights, columns=MARKET.symbols),
    "polars": lambda weights: pl.DataFrame(weights, schema=list(MARKET.symbols)),
    "pyarrow": lambda weights: pa.table(list(weights.T), names=list(MARKET.symbols)),
    "record batch": lambda weights: pa.RecordBatch.from_arrays(list(weights.T.copy()), names=list(MARKET.symbols)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_of_the_same_weights_gives_the_same_bits(layout: str) -> None:
    assert bits(run(LAYOUTS[layout](weights_of())).nav) == bits(run(weights_of()).nav)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.uint8])
def test_smaller_types_widen_exactly(kind: Any) -> None:
    weights = np.random.default_rng(2).uniform(0.0, 3.0, (60, 3)).astype(kind)
    options: dict[str, Any] = {"limits": oo.Limits.off()}
    assert bits(run(weights, **options).nav) == bits(run(weights.astype(np.float64), **options).nav)


def test_the_weights_are_read_once_and_never_written() -> None:
    weights = weights_of()
    before, done = weights.tobytes(), run(weights)
    assert weights.tobytes() == before
    expected = bits(done.weights)
    again = run(weights)
    weights[:] = 0.123
    assert bits(again.weights) == expected
    assert bits(again.decisions) == bits(done.decisions)


@pytest.mark.parametrize("shape", [(45, 3), (44, 3), (3, 60), (60, 4), (60, 2), (61, 3), (0, 3)])
def test_weights_of_another_shape_are_refused_with_both(shape: tuple[int, int]) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        run(np.zeros(shape))
    assert refused.value.slug == "shape_mismatch"
    assert "(60, 3)" in str(refused.value)
    assert str(shape) in str(refused.value)


@pytest.mark.parametrize(
    "weights",
    [np.zeros(60), np.zeros((60, 3, 1)), 0.5, np.zeros((60, 3), dtype=bool), [["a"] * 3] * 60, [[None] * 3] * 60, None],
    ids=["1-d", "3-d", "scalar", "bool", "text", "object", "none"],
)
def test_an_argument_that_is_neither_weights_nor_an_agent_is_refused(weights: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"an agent.* of shape \(60, 3\)") as refused:
        run(weights)
    assert refused.value.slug == "shape_mismatch"


@pytest.mark.parametrize("columns", [["S001", "S000", "S002"], ["S000", "S001", "X"], ["S000", "S001"]])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_frame_of_other_columns_is_refused(columns: list[str], make: Any) -> None:
    frame = make({name: np.zeros(60) for name in columns})
    with pytest.raises(oo.OpenOutcryError, match=f"S000, S001, S002; received {', '.join(columns)}") as refused:
        run(frame)
    assert refused.value.slug == "shape_mismatch"


@pytest.mark.parametrize("fee_bps", [0.0, 25.0])
@pytest.mark.parametrize("slippage_bps", [0.0, 40.0])
def test_nav_weights_and_turnover_follow_from_the_trades(fee_bps: float, slippage_bps: float) -> None:
    costs = oo.CostModel(fee_bps=fee_bps, slippage_bps=slippage_bps, financing_bps=0.0, borrow_bps=0.0)
    done = run(weights_of(seed=4), costs=costs)
    cash, shares, close = 1.0, np.zeros(3), MARKET.close[5:50]
    nav, weights, turnover, fees = [1.0], [shares], [], []
    place = {symbol: i for i, symbol in enumerate(MARKET.symbols)}
    for step in range(1, 45):
        traded = 0.0
        for k in np.flatnonzero(done.trades["bar"] == 5 + step):
            i, q, price = place[done.trades["symbol"][k]], done.trades["shares"][k], done.trades["price"][k]
            assert price == pytest.approx(MARKET.open[5 + step, i] * (1.0 + np.sign(q) * slippage_bps / 1e4), rel=1e-15)
            cash -= q * price + fee_bps / 1e4 * abs(q) * price
            shares = shares + q * np.eye(3)[i]
            traded += abs(q) * price
        turnover.append(traded / nav[-1])
        fees.append(fee_bps / 1e4 * traded)
        nav.append(cash + shares @ close[step])
        weights.append(shares * close[step] / nav[-1])
    np.testing.assert_allclose(done.nav, nav, rtol=1e-12, atol=0)
    np.testing.assert_allclose(done.weights, weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(done.turnover, turnover, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(done.costs["fee"], fees, rtol=1e-12, atol=1e-18)
    assert done.trades["date"].tolist() == [MARKET.dates[bar] for bar in done.trades["bar"]]


@pytest.mark.parametrize("seed", range(8))
def test_a_delayed_run_is_the_run_of_the_decisions_one_bar_later(seed: int) -> None:
    drawn = draw(seed)
    done = oo.run_backtest(*drawn, seed=seed)
    start, end = drawn.window
    shifted = np.full(drawn.weights.shape, nan)
    shifted[start + 1 : end - 1] = drawn.weights[start : end - 2]
    later, expected = done.delayed(), oo.run_backtest(drawn.dataset, shifted, *drawn[2:], seed=seed)
    assert bits(later.nav) == bits(expected.nav)
    assert bits(later.weights) == bits(expected.weights)
    assert bits(later.decisions) == bits(expected.decisions)
    assert later.events == expected.events
    assert later.window == done.window


def test_a_delayed_agent_run_has_the_same_decisions_one_bar_later() -> None:
    done = run("momentum")
    later = done.delayed()
    assert bits(later.decisions[1:]) == bits(done.decisions[:-1])
    assert "momentum" in later.name


def test_a_ruined_account_stays_at_zero_and_does_not_trade() -> None:
    close = np.array([[1.0], [1.0], [3.0], [1.0], [1.0]])
    dataset = oo.Dataset.from_arrays(MARKET.dates[:5], ["A"], close)
    done = oo.run_backtest(dataset, np.full((5, 1), -1.0), (0, 5), oo.CostModel.zero(), oo.Limits.off())
    assert done.nav.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert done.returns.tolist() == [0.0, -1.0, 0.0, 0.0]
    assert done.terminated_at == 1
    assert done.gains["shortfall"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert [event["slug"] for event in done.events] == ["ruined"]
    assert done.weights[2:].tolist() == [[0.0]] * 3
    assert done.trades["bar"].tolist() == [1]


WINDOWS: list[tuple[Any, tuple[int, int]]] = [
    (None, (0, 60)),
    ((5, 50), (5, 50)),
    ((None, 50), (0, 50)),
    ((5, None), (5, 60)),
    ("5:50", (5, 50)),
    (" 5 : 50 ", (5, 50)),
    (":50", (0, 50)),
    ("5:", (5, 60)),
    (":", (0, 60)),
    (("2000-01-10", "2000-02-01"), (5, 21)),
    ("2000-01-08:2000-01-29", (5, 20)),
    ("2000-01-10:9999-01-01", (5, 60)),
    ("1900-01-01:30", (0, 30)),
    (oo.Window(5, "2000-02-01"), (5, 21)),
    (oo.Window(), (0, 60)),
    ((0, 2), (0, 2)),
    ((58, 60), (58, 60)),
]


@pytest.mark.parametrize(("window", "bars"), WINDOWS, ids=str)
def test_a_window_may_be_bars_or_dates(window: Any, bars: tuple[int, int]) -> None:
    done = run(weights_of(), window=window)
    assert done.window == oo.Window(*bars)
    assert done.dates == MARKET.dates[slice(*bars)]


@pytest.mark.parametrize(
    "window",
    [(5, 61), (5, 6), (5, 5), (50, 5), (59, 60), (60, 60), ("2030-01-01", None), (None, "1900-01-01")],
    ids=str,
)
def test_a_window_beyond_the_data_or_without_a_decision_is_refused(window: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="60 bars") as refused:
        run(weights_of(), window=window)
    assert refused.value.slug == "window_invalid"


@pytest.mark.parametrize("window", ["5", "5:6:7", "a:b", "5-50", "2000-1-1:", (-1, 50), (True, 50), ("x", 50), "-5:50"])
def test_a_window_that_cannot_be_parsed_is_refused(window: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="window") as refused:
        run(weights_of(), window=window)
    assert refused.value.slug == "window_invalid"


@pytest.mark.parametrize("window", [5, [5, 50], (5, 50, 1), {"start": 5}, (5.7, 50), (5, 50.0)], ids=str)
def test_a_window_of_another_type_is_refused(window: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"[Ww]indow"):
        run(weights_of(), window=window)


def test_the_defaults_are_those_of_a_liquid_daily_market_without_leverage() -> None:
    costs = {"fee_bps": 1.0, "slippage_bps": 2.0, "slippage_jitter": 0.0, "impact_bps": 0.0}
    costs |= {"financing_bps": 100.0, "cash_bps": 0.0, "borrow_bps": 25.0, "capital": 1e6}
    limits = {"max_weight": 1.0, "max_gross": 1.0, "allow_short": True, "max_participation": None}
    assert oo.CostModel().to_dict() == costs
    assert oo.Limits().to_dict() == limits | {"maintenance_margin": 0.0}
    assert set(oo.CostModel.zero().to_dict().values()) == {0.0, 1e6}
    assert oo.Limits.off().to_dict() == limits | {"max_weight": inf, "max_gross": inf, "maintenance_margin": 0.0}


@pytest.mark.parametrize("field", oo.CostModel().to_dict())
@pytest.mark.parametrize("value", [-1.0, nan, inf])
def test_a_cost_out_of_range_is_refused_with_its_name(field: str, value: float) -> None:
    if (field, value) == ("cash_bps", -1.0):
        assert oo.CostModel(cash_bps=value).cash_bps == -1.0
        return
    with pytest.raises(oo.OpenOutcryError, match=f"`{field}` must be .*; received") as refused:
        oo.CostModel(**{field: value})
    assert refused.value.slug == "cost_invalid"


@pytest.mark.parametrize("field", ["max_weight", "max_gross", "max_participation", "maintenance_margin"])
@pytest.mark.parametrize("value", [-0.1, nan])
def test_a_limit_out_of_range_is_refused_with_its_name(field: str, value: float) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"`{field}` must be .*; received") as refused:
        oo.Limits(**{field: value})
    assert refused.value.slug == "limit_invalid"


def test_an_exception_of_an_agent_passes_unchanged() -> None:
    class OwnError(Exception):
        pass

    raised = OwnError("mine")

    def agent(_: Any) -> Any:
        raise raised

    with pytest.raises(OwnError) as caught:
        run(agent)
    assert caught.value is raised
    for kind in (KeyboardInterrupt, SystemExit):
        raised = kind()
        with pytest.raises(kind):
            run(agent)


ORDER = {"symbol": "S000", "action": "buy", "target_weight": 0.5}
BAD: dict[str, tuple[Any, str]] = {
    "nothing": (None, "wrong_type"),
    "a list": ([], "wrong_type"),
    "not JSON": ("buy everything", "bad_json"),
    "cut short": ('{"orders":[', "bad_json"),
    "no orders": ({}, "missing_field"),
    "no weight": ({"orders": [{"symbol": "S000", "action": "buy"}]}, "missing_field"),
    "NaN": ({"orders": [ORDER | {"target_weight": nan}]}, "weight_not_finite"),
    "infinity": ({"orders": [ORDER | {"target_weight": inf}]}, "weight_not_finite"),
    "NaN in words": ('{"orders":[{"symbol":"S000","action":"buy","target_weight":NaN}]}', "bad_json"),
    "NaN of a confidence": ({"orders": [ORDER | {"confidence": nan}]}, "bad_json"),
    "text for a weight": ({"orders": [ORDER | {"target_weight": "0.5"}]}, "wrong_type"),
    "unknown action": ({"orders": [ORDER | {"action": "BUY"}]}, "unknown_action"),
    "unknown field": ({"orders": [ORDER | {"stop": 1.0}]}, "unknown_field"),
    "confidence": ({"orders": [ORDER | {"confidence": 2}]}, "confidence_out_of_range"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_decision_of_an_agent_is_refused_with_its_slug(name: str) -> None:
    decision, slug = BAD[name]
    with pytest.raises(oo.OpenOutcryError) as refused:
        run(lambda _: decision)
    assert refused.value.slug == slug


def test_an_agent_may_return_json_text_or_numpy_numbers() -> None:
    decisions = [json.dumps({"orders": [ORDER]}), {"orders": [ORDER | {"target_weight": np.float64(0.5)}]}]
    assert len({run(lambda _, decision=decision: decision).nav.tobytes() for decision in decisions}) == 1


def test_the_seed_matters_only_with_jitter() -> None:
    for jitter, n in ((0.0, 1), (0.5, 4)):
        costs = oo.CostModel(slippage_jitter=jitter)
        assert len({run(weights_of(), costs=costs, seed=seed).nav.tobytes() for seed in (0, 1, 7, 2**64 - 1)}) == n


def test_threads_share_a_dataset_without_changing_a_bit() -> None:
    expected = [run(weights_of(seed=seed)).nav.tobytes() for seed in range(16)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: run(weights_of(seed=seed)).nav.tobytes(), range(16))) == expected


PEAK = """
import numpy as np, openoutcry as oo
def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))
random = np.random.default_rng(0)
close = 50.0 * np.exp(np.cumsum(random.normal(0.0, 0.01, (5000, 500)), axis=0))
dates = np.datetime64("1990-01-01") + np.arange(5000)
dataset = oo.Dataset.from_arrays(dates, [f"S{i}" for i in range(500)], close)
weights = random.dirichlet(np.ones(500), 5000)
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # resets the peak to the current use
before = kilobytes("VmRSS")
run = oo.run_backtest(dataset, weights)
assert np.isfinite(run.nav).all() and len(run.events) >= 0
print((kilobytes("VmHWM") - before) * 1024 - weights.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_a_run_of_weights_needs_at_most_one_copy_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", PEAK], check=True, capture_output=True, text=True)
    beyond = int(done.stdout)
    print(f"500 x 5,000: peak {beyond / 1e6:+.1f} MB from one copy")
    assert beyond < 8e6
