"""The list of trades: dates, prices, sizes and profits in account currency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.backtest.trade_list import RoundTrip, open_positions, payoff_of, round_trips
from openoutcry.backtest.trades import trades_of

DATES = [f"2020-01-0{day}" for day in range(1, 8)]
CLOSE = [[10.0, 20.0], [10.0, 20.0], [11.0, 20.0], [12.0, 19.0], [12.0, 18.0], [12.0, 18.0], [12.0, 18.0]]
DATA = oo.Dataset.from_arrays(DATES, ["A", "B"], CLOSE, CLOSE)


def run_of(weights: list[list[float]], fee_bps: float = 0.0) -> oo.Run:
    costs = oo.CostModel(
        fee_bps=fee_bps, slippage_bps=0.0, financing_bps=0.0, borrow_bps=0.0, cash_bps=0.0, capital=1000.0
    )
    return oo.run_backtest(DATA, weights, (0, 7), costs, oo.Limits.off())


def profits_of(trips: Sequence[RoundTrip]) -> np.ndarray:
    return np.array([each.profit for each in trips])


def test_a_trade_has_its_dates_prices_size_and_profit_in_account_currency() -> None:
    nan = float("nan")
    run = run_of([[0.5, -0.5], [nan, nan], [nan, nan], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    a, b = sorted(round_trips(run))
    assert a[:6] == ("A", "long", DATES[1], DATES[4], 10.0, 12.0)
    assert b[:6] == ("B", "short", DATES[1], DATES[4], 20.0, 18.0)
    assert (a.quantity, a.notional, a.profit, a.return_, a.n_bars) == pytest.approx((50.0, 500.0, 100.0, 0.2, 3))
    assert (b.quantity, b.notional, b.profit, b.return_) == pytest.approx((25.0, 500.0, 50.0, 0.1))
    assert run.nav[-1] == pytest.approx(1.15)
    assert payoff_of(profits_of(round_trips(run))) == (None, pytest.approx(75.0))


def test_a_flip_closes_one_trade_and_opens_another_at_the_price_of_its_fill() -> None:
    run = run_of([[0.5, 0.0], [-0.5, 0.0], *[[0.0, 0.0]] * 5], fee_bps=10.0)
    long, short = round_trips(run)
    assert (long.side, short.side) == ("long", "short")
    assert long.exit_date == short.entry_date == DATES[2]
    assert long.exit_price == short.entry_price == 11.0
    assert sum(each.profit for each in (long, short)) == pytest.approx((run.nav[-1] - 1.0) * 1000.0)


def test_a_position_at_the_last_close_is_no_trade() -> None:
    run = run_of([[0.5, -0.25], *[[float("nan")] * 2] * 6])
    assert round_trips(run) == ()
    assert payoff_of(profits_of(())) == (None, None)
    assert [(each.symbol, each.side) for each in open_positions(run)] == [("A", "long"), ("B", "short")]
    assert sum(each.weight for each in open_positions(run)) == pytest.approx(run.weights[-1].sum())


def test_profits_of_the_list_are_those_of_the_statistics_of_trades() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(3, 200, 1), "momentum")
    trips, found = round_trips(run), trades_of(run)
    profits = np.array([each.profit for each in trips]) / run.cost_model.capital
    assert found.win_rate == (profits > 0.0).mean()
    assert found.profit_factor == pytest.approx(profits[profits > 0].sum() / -profits[profits < 0].sum())
    payoff, expectancy = payoff_of(profits_of(trips))
    assert payoff == pytest.approx(found.average_win / -found.average_loss)  # type: ignore[operator]
    assert expectancy == pytest.approx(profits.mean() * run.cost_model.capital)
    assert all(isinstance(each, RoundTrip) and each.entry_date < each.exit_date for each in trips)


def test_a_settlement_is_the_exit_of_its_trade() -> None:
    close = [[10.0], [10.0], [12.0], [float("nan")], [float("nan")]]
    delistings = np.full((5, 1), np.nan)
    delistings[3] = -0.5
    data = oo.Dataset.from_arrays(DATES[:5], ["A"], close, delistings=delistings)
    weights = [[0.5], *[[float("nan")]] * 4]
    (trade,) = round_trips(oo.run_backtest(data, weights, (0, 5), oo.CostModel.zero()))
    assert (trade.exit_date, trade.exit_price) == (DATES[3], pytest.approx(6.0))
