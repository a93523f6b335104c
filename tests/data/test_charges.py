"""Costs by symbol and funding: columns of a market in place of numbers of the cost model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.backtest.trades import trades_of
from openoutcry.data.charges import CHARGES

RNG = np.random.default_rng(36)
N_BARS, N_SYMBOLS = 60, 3
CLOSE = 100.0 * np.exp(np.cumsum(RNG.normal(0.0, 0.02, (N_BARS, N_SYMBOLS)), axis=0))
OPEN = np.vstack([CLOSE[:1], CLOSE[:-1]]) * np.exp(RNG.normal(0.0, 0.004, (N_BARS, N_SYMBOLS)))
DATES = oo.Dataset.synthetic(1, N_BARS).dates
SYMBOLS = ["A", "B", "C"]
WEIGHTS = RNG.uniform(-0.6, 0.6, (N_BARS, N_SYMBOLS))
COSTS = oo.CostModel(fee_bps=3.0, slippage_bps=4.0, borrow_bps=80.0, financing_bps=200.0, cash_bps=50.0)


def market(**charges: Any) -> oo.Dataset:
    return oo.Dataset.from_arrays(DATES, SYMBOLS, CLOSE, open=OPEN, **charges)


def run(dataset: oo.Dataset, costs: oo.CostModel = COSTS, **settings: Any) -> oo.Run:
    return oo.run_backtest(dataset, WEIGHTS, costs=costs, limits=oo.Limits(max_gross=3.0), **settings)


def test_columns_that_equal_the_cost_model_give_its_bits() -> None:
    own = market(half_spread_bps=[4.0] * 3, fee_bps=np.full(CLOSE.shape, 3.0), borrow_bps=[80.0] * 3, funding=[0.0] * 3)
    assert np.array_equal(run(own).nav, run(market()).nav)
    assert own.fingerprint != market().fingerprint


def test_cells_without_a_number_have_that_of_the_cost_model() -> None:
    empty = {name: np.full(CLOSE.shape, np.nan) for name in CHARGES}
    assert np.array_equal(run(market(**empty)).nav, run(market()).nav)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [("half_spread_bps", "slippage_bps", 11.0), ("fee_bps", "fee_bps", 7.0), ("borrow_bps", "borrow_bps", 300.0)],
)
def test_a_constant_column_agrees_with_that_constant_of_the_cost_model(name: str, field: str, value: float) -> None:
    costs = oo.CostModel(**COSTS.to_dict() | {field: value})
    np.testing.assert_allclose(run(market(**{name: [value] * 3})).nav, run(market(), costs).nav, rtol=1e-12)


def test_a_fee_of_one_symbol_is_charged_on_its_trades_alone() -> None:
    free, costs = run(market(), oo.CostModel.zero()), oo.CostModel.zero()
    charged = run(market(fee_bps=[np.nan, 100.0, np.nan]), costs)
    first = {k: v[: np.searchsorted(charged.trades["bar"], 2)] for k, v in charged.trades.items()}
    traded = np.abs(first["shares"] * first["price"])[first["symbol"] == "B"].sum()
    assert charged.costs["fee"][0] == pytest.approx(0.01 * traded, rel=1e-12)
    assert free.costs["fee"].sum() == 0.0


def test_funding_of_a_perpetual_is_that_worked_by_hand() -> None:
    """A long of 2 BTC at a mark of 30,000 and a rate of 0.01 % pays 6 USDT each 8 hours."""
    close = np.full((4, 1), 30_000.0)
    funding = np.array([[0.0], [0.0001], [0.0001], [-0.0002]])
    days = [f"2024-01-0{day}" for day in range(1, 5)]
    perpetual = oo.Dataset.from_arrays(days, ["BTC"], close, open=close, funding=funding)
    capital = 60_000.0
    long = oo.run_backtest(perpetual, np.full((4, 1), 1.0), costs=oo.CostModel.zero())
    assert capital * long.gains["funding"][0] == pytest.approx(-6.0, abs=1e-9)
    assert long.nav[1] == pytest.approx(1.0 - 6.0 / capital, rel=1e-15)
    short = oo.run_backtest(perpetual, np.full((4, 1), -1.0), costs=oo.CostModel.zero())
    assert capital * short.gains["funding"][0] == pytest.approx(6.0, abs=1e-9)
    assert short.gains["funding"][2] < 0.0
    assert "funding" not in run(market()).gains


def test_funding_arbitrage_earns_the_funding_alone() -> None:
    """Long spot and short perpetual on one price path: only the rates are left."""
    path = np.repeat(CLOSE[:, :1], 2, axis=1)
    rates = RNG.uniform(-0.001, 0.003, N_BARS)
    funding = np.column_stack([np.full(N_BARS, np.nan), rates])
    both = oo.Dataset.from_arrays(DATES, ["SPOT", "PERP"], path, open=path, funding=funding)
    weights = np.full((N_BARS, 2), np.nan)
    weights[0] = 0.5, -0.5
    held = oo.run_backtest(both, weights, costs=oo.CostModel.zero())
    # The position is sized at the first close, and filled at the next open, which is that of the path.
    shares = 0.5 / path[0, 0]
    earned = shares * path[1:, 0] * rates[1:]
    np.testing.assert_allclose(held.nav[1:], 1.0 + np.cumsum(earned), rtol=1e-12)


def test_an_order_that_opens_inside_and_one_that_closes_inside_both_pay_for_the_bar() -> None:
    close, high, low = np.full((3, 1), 100.0), np.full((3, 1), 110.0), np.full((3, 1), 90.0)
    funding = np.array([[0.0], [0.01], [0.01]])
    days = ["2024-01-01", "2024-01-02", "2024-01-03"]
    bars = oo.Dataset.from_arrays(days, ["X"], close, open=close, high=high, low=low, funding=funding)
    weights, free = np.array([[0.5], [0.0], [np.nan]]), oo.CostModel.zero()
    limit = np.array([[95.0], [105.0], [np.nan]])
    run_ = oo.run_backtest(bars, weights, costs=free, limit_price=limit)
    assert run_.event_counts == {"filled": 2}
    assert run_.gains["funding"][0] == pytest.approx(-0.005 * 100.0 * 0.01, rel=1e-12)
    assert run_.gains["funding"][1] < 0.0


def test_charges_stay_with_the_market_through_every_copy() -> None:
    tables = {name: RNG.uniform(0.0, 0.01, CLOSE.shape) for name in CHARGES}
    whole = market(**tables)
    part = whole.between(5, 40).select(["C", "A"])
    again = oo.Dataset.from_bytes(whole.to_bytes())
    padded = whole.with_features({"x": CLOSE})
    for name in CHARGES:
        assert np.array_equal(getattr(part, name), tables[name][5:40][:, [2, 0]])
        assert np.array_equal(getattr(again, name), tables[name])
        assert np.array_equal(getattr(padded, name), tables[name])
        assert sorted(getattr(whole.masked(7), name)[3]) == sorted(tables[name][3])
    assert again == whole


def test_longer_bars_sum_funding_and_keep_the_costs_of_their_first_bar() -> None:
    tables = {name: RNG.uniform(0.0, 0.01, CLOSE.shape) for name in CHARGES}
    weekly = market(**tables).resample("1w")
    n_first = int(np.flatnonzero(np.array(DATES) == weekly.dates[0])[0]) + 1
    np.testing.assert_allclose(weekly.funding[0], tables["funding"][:n_first].sum(axis=0), rtol=1e-12)
    assert np.array_equal(weekly.fee_bps[0], tables["fee_bps"][0])
    assert np.array_equal(weekly.half_spread_bps[1], tables["half_spread_bps"][n_first])


@pytest.mark.parametrize(
    ("name", "value", "slug"),
    [
        ("half_spread_bps", 10_000.0, "value_invalid"),
        ("fee_bps", -1.0, "value_invalid"),
        ("borrow_bps", np.inf, "value_invalid"),
        ("funding", 1.5, "funding_invalid"),
    ],
)
def test_a_charge_out_of_range_is_refused_with_its_place(name: str, value: float, slug: str) -> None:
    table = np.zeros(CLOSE.shape)
    table[4, 1] = value
    with pytest.raises(oo.OpenOutcryError, match=rf"`{name}` at row 4 .* column \"B\"") as refused:
        market(**{name: table})
    assert refused.value.slug == slug


def test_another_shape_and_another_name_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`fee_bps`"):
        market(fee_bps=[1.0, 2.0])
    with pytest.raises(TypeError, match="'fees_bps'"):
        market(fees_bps=[1.0] * 3)


def test_a_borrow_fee_needs_a_known_number_of_bars_a_year() -> None:
    unknown = oo.Dataset.from_arrays(DATES, SYMBOLS, CLOSE, periods_per_year=np.nan, borrow_bps=[0.0, 20.0, np.nan])
    free = oo.CostModel.zero()
    with pytest.raises(oo.OpenOutcryError, match="`borrow_bps` 20"):
        oo.run_backtest(unknown, WEIGHTS, costs=free)


def test_a_record_of_a_market_with_charges_replays() -> None:
    own = market(half_spread_bps=[1.0, 2.0, 3.0], funding=[0.0001, np.nan, -0.0001])
    record = run(own, capture=True).record
    assert record.headers[0]["contract_version"] == "1.1"
    assert not oo.replay(record, own).differences
    assert run(market(), capture=True).record.headers[0]["contract_version"] == "1.0"


def test_trades_pay_the_commissions_of_their_symbols() -> None:
    charged = run(market(fee_bps=[np.nan, 100.0, 0.0]), oo.CostModel(fee_bps=10.0, slippage_bps=0.0))
    free = run(market(fee_bps=[0.0, 0.0, 0.0]), oo.CostModel(fee_bps=0.0, slippage_bps=0.0))
    paid = charged.trades["shares"] * charged.trades["price"]
    rates = np.select([charged.trades["symbol"] == "A", charged.trades["symbol"] == "B"], [0.001, 0.01], 0.0)
    assert charged.costs["fee"].sum() == pytest.approx((np.abs(paid) * rates).sum(), rel=1e-12)
    profits = [sum(trade.profit for trade in trades_of(each).trades) for each in (charged, free)]
    assert profits[0] < profits[1]
