"""Trades of runs: their profits add up to the gain of the account, and statistics match direct counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from builders import draw

import openoutcry as oo
from openoutcry.backtest.trade_list import round_trips
from openoutcry.backtest.trades import Movement, Trade, annual_costs, trades_from_movements, trades_of

FREE = oo.CostModel(fee_bps=3.0, slippage_bps=5.0, financing_bps=0.0, borrow_bps=0.0, cash_bps=0.0)

LIMITS = (oo.Limits(), oo.Limits(max_weight=5.0, max_gross=5.0, maintenance_margin=0.3))


def closing(dataset: oo.Dataset, seed: int) -> oo.Run:
    """Return a run of random weights that sells everything at the end."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.0, np.nan, 0.3, -0.3, 0.1], (dataset.n_bars, dataset.n_symbols))
    weights[dataset.n_bars // 2 :: 3] = np.nan
    weights[-3:] = 0.0
    return oo.run_backtest(dataset, weights, (0, dataset.n_bars), FREE, oo.Limits.off())


@pytest.mark.parametrize("seed", range(10))
def test_profits_add_up_to_the_gain_of_the_account_if_no_position_is_open(seed: int) -> None:
    run = closing(oo.Dataset.synthetic(3, 90, seed), seed)
    stats = trades_of(run)
    assert stats.n_open == 0
    assert stats.n_trades > 10
    assert sum(trade.profit for trade in stats.trades) == pytest.approx(run.nav[-1] - 1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_profits_of_day_orders_add_up_to_the_gain_of_the_account(seed: int) -> None:
    rng, data = np.random.default_rng(seed), oo.Dataset.synthetic(3, 90, seed)
    weights = rng.choice([np.nan, 0.3, -0.3, 0.0], data.close.shape)
    weights[-3:] = 0.0
    side = np.where(weights < 0.0, -1.0, 1.0)
    prices = {"stop_loss": data.close * (1.0 - 0.02 * side), "take_profit": data.close * (1.0 + 0.02 * side)}
    prices["limit_price"] = data.close * (1.0 + rng.normal(0.0, 0.01, data.close.shape))
    bare = np.isnan(weights) | (weights == 0.0)
    for array in prices.values():
        array[bare] = np.nan
    run = oo.run_backtest(data, weights, (0, 90), FREE, oo.Limits.off(), **prices)  # type: ignore[arg-type]
    stats = trades_of(run)
    assert {"order", "stop_loss", "take_profit"} <= {trade.end for trade in stats.trades}
    assert stats.n_open == 0
    assert sum(trade.profit for trade in stats.trades) == pytest.approx(run.nav[-1] - 1.0, abs=1e-12)
    exits = sum(event["slug"] == "exited" for event in run.events)
    assert sum(trade.end in {"stop_loss", "take_profit"} for trade in stats.trades) == exits
    for trade, listed in zip(stats.trades, round_trips(run), strict=True):
        assert np.isfinite([listed.entry_price, listed.exit_price, listed.quantity]).all()
        assert listed.profit == trade.profit * run.cost_model.capital


def test_dividends_splits_settlements_and_liquidations_belong_to_their_trades() -> None:
    n_closed, n_actions = 0, set()
    for seed in range(400):
        drawn = draw(seed)
        dataset, (start, end) = drawn.dataset, drawn.window
        weights = drawn.weights.copy()
        weights[: end - 2] *= 1.0 + 5.0 * (seed % 2)
        weights[end - 2] = 0.0
        costs = oo.CostModel(fee_bps=3.0, financing_bps=0.0, borrow_bps=0.0, cash_bps=0.0)
        try:
            run = oo.run_backtest(dataset, weights, (start, end), costs, LIMITS[seed % 2])
        except oo.OpenOutcryError:
            continue
        stats = trades_of(run)
        if stats.n_open or not stats.n_trades:
            continue
        profit = sum(trade.profit for trade in stats.trades)
        scale = sum(trade.entry for trade in stats.trades)
        gain = run.nav[-1] - 1.0 - run.gains["shortfall"].sum()
        assert profit == pytest.approx(gain, abs=1e-12 * (1.0 + scale)), seed
        n_closed += stats.n_trades
        n_actions |= {event["slug"] for event in run.events}
        n_actions |= {kind for kind in ("dividends", "splits") if getattr(dataset, kind) is not None}
    print(f"{n_closed} trades, with {sorted(n_actions)}")
    assert n_closed > 200
    assert {"delisted", "dividends", "liquidated", "ruined", "splits"} <= n_actions


def test_statistics_match_direct_counts() -> None:
    run = closing(oo.Dataset.synthetic(3, 250, 1), 1)
    stats = trades_of(run)
    profits = np.array([trade.profit for trade in stats.trades])
    wins, losses = profits[profits > 0.0], profits[profits < 0.0]
    assert stats.win_rate == len(wins) / len(profits)
    assert stats.profit_factor == pytest.approx(wins.sum() / -losses.sum(), rel=1e-12)
    assert stats.average_win == pytest.approx(wins.mean(), rel=1e-12)
    assert stats.average_loss == pytest.approx(losses.mean(), rel=1e-12)
    assert (stats.max_win, stats.max_loss) == (wins.max(), losses.min())
    held = [trade.closed - trade.opened for trade in stats.trades]
    assert stats.average_duration == pytest.approx(np.mean(held), rel=1e-12)
    assert {trade.is_long for trade in stats.trades} == {True, False}
    assert [trade.closed for trade in stats.trades] == sorted(trade.closed for trade in stats.trades)


def test_annual_costs_by_kind_add_up_to_the_metric_cost() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(3, 250, 1), "random", costs=oo.CostModel(impact_bps=20.0))
    by_kind = annual_costs(run)
    assert set(by_kind) == {"fee", "slippage", "impact", "financing", "borrow", "liquidation"}
    assert sum(by_kind.values()) == pytest.approx(run.metrics["cost"], rel=1e-12)
    assert min(by_kind["fee"], by_kind["slippage"], by_kind["impact"]) > 0.0
    paid = run.costs["fee"] / run.nav[:-1]
    assert by_kind["fee"] == pytest.approx(paid.mean() * run.dataset.periods_per_year, rel=1e-12)


def test_an_open_position_does_not_count_as_a_trade() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(2, 60, 1), "buy-and-hold")
    stats = trades_of(run)
    assert (stats.n_trades, stats.n_open, stats.trades) == (0, 2, ())
    assert stats.win_rate is None
    assert stats.undefined["win_rate"] == "a trade is required; received none"


def test_the_trade_that_ruins_an_account_is_a_losing_trade() -> None:
    close = np.array([[100.0], [100.0], [40.0], [40.0]])
    data = oo.Dataset.from_arrays([f"2024-01-0{day}" for day in range(1, 5)], ["A"], close, close)
    run = oo.run_backtest(data, np.full((4, 1), 2.0), (0, 4), oo.CostModel.zero(), oo.Limits.off())
    stats = trades_of(run)
    assert run.ending == "ruined on 2024-01-03"
    assert stats.trades == (Trade(0, 1, 2, True, 2.0, pytest.approx(-1.2), "ruined"),)  # type: ignore[arg-type]
    assert (stats.win_rate, stats.n_open) == (0.0, 0)
    assert stats.trades[0].profit == pytest.approx(run.nav[-1] - 1.0 - run.gains["shortfall"].sum())
    (listed,) = round_trips(run)
    assert (listed.exit_price, listed.end) == (40.0, "ruined")


def test_a_ruin_closes_a_position_at_its_mark_on_the_share_basis_of_the_bar() -> None:
    close = np.array([[100.0, 100.0], [100.0, 100.0], [np.nan, 1.0], [50.0, 1.0]])
    splits = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    dates = [f"2024-01-0{day}" for day in range(1, 5)]
    data = oo.Dataset.from_arrays(dates, ["A", "B"], close, close, splits=splits)
    run = oo.run_backtest(data, np.tile([0.5, 2.0], (4, 1)), (0, 4), oo.CostModel.zero(), oo.Limits.off())
    held, lost = sorted(round_trips(run))
    assert (held.symbol, held.exit_price, held.profit) == ("A", 50.0, pytest.approx(0.0))
    assert (lost.symbol, lost.exit_price, lost.end) == ("B", 1.0, "ruined")


def test_an_exit_ends_its_trade_by_its_reason() -> None:
    close, open_ = np.array([[100.0], [100.0], [104.0], [95.0]]), np.full((4, 1), 100.0)
    high, low = np.maximum(close, open_) + 2.0, np.minimum(close, open_) - 2.0
    dates = [f"2024-01-0{day}" for day in range(1, 5)]
    data = oo.Dataset.from_arrays(dates, ["A"], close, open_, high, low)
    run = oo.run_backtest(
        data,
        np.array([[-0.5], [0.5], [0.5], [np.nan]]),
        (0, 4),
        FREE,
        oo.Limits.off(),
        stop_loss=np.array([[np.nan], [96.0], [96.0], [np.nan]]),
        take_profit=np.array([[np.nan], [105.0], [105.0], [np.nan]]),
    )
    stats = trades_of(run)
    # The order of the second bar reverses the short position, and its long one is closed in the same bar.
    assert [(each.opened, each.closed, each.is_long, each.end) for each in stats.trades] == [
        (1, 2, False, "order"),
        (2, 2, True, "take_profit"),
        (3, 3, True, "stop_loss"),
    ]
    assert sum(each.profit for each in stats.trades) == pytest.approx(run.nav[-1] - 1.0, abs=1e-12)
    short, won, lost = round_trips(run)
    assert (short.exit_price, won.entry_price, won.exit_price) == pytest.approx((100.05, 100.05, 105.0))
    assert lost.exit_price == pytest.approx(96.0 * (1.0 - 5e-4))


def test_a_settlement_and_a_margin_call_end_their_trades() -> None:
    movements: list[Movement] = [
        (1, 0, "order", 1.0, 10.0, 0.0),
        (2, 0, "settled", -1.0, 5.0, 0.0),
        (3, 0, "fill", 1.0, 10.0, 0.0),
        (4, 0, "liquidated", -1.0, 5.0, 0.0),
        (4, 0, "ruin", 5.0, 0.0, 0.0),
    ]
    assert [each.end for each in trades_from_movements(movements, 1).trades] == ["settled", "liquidated"]


def test_a_reversal_is_two_trades_on_one_bar() -> None:
    movements: list[Movement] = [
        (1, 0, "fill", 1.0, 10.0, 0.0),
        (2, 0, "fill", -3.0, 12.0, 0.0),
        (4, 0, "split", 2.0, 0, 0),
    ]
    movements += [(4, 0, "dividend", 0.5, 0.0, 0.0), (5, 0, "fill", 4.0, 5.0, 0.5)]
    stats = trades_from_movements(movements, 1)
    assert stats.trades == (Trade(0, 1, 2, True, 10.0, 2.0), Trade(0, 2, 5, False, 24.0, 24.0 - 2.0 - 20.5))
    assert stats.profit_factor is None
    assert stats.undefined["profit_factor"] == "a trade with a loss is required; received none"


@pytest.mark.parametrize(
    ("movement", "message"),
    [
        ((1, 1, "fill", 1.0, 10.0, 0.0), "a symbol index must be below 1; received 1"),
        ((1, 0, "gift", 1.0, 10.0, 0.0), "a movement must be a fill, dividend, split or ruin"),
        ((1, 0, "fill", math.nan, 10.0, 0.0), "finite returns"),
        ((1.7, 0, "fill", 1.0, 10.0, 0.0), "`bar` must be an integer from 0 to .*; received 1.7"),
        ((math.nan, 0, "fill", 1.0, 10.0, 0.0), "`bar` must be an integer"),
        ((1, -1, "fill", 1.0, 10.0, 0.0), "`symbol` must be an integer from 0 to .*; received -1"),
        ((1, 0, "fill", "1", 10.0, 0.0), "three numbers; received '1'"),
        ((1, 0, "fill", 1.0, 10.0), "must have 6 values: .*; received 5"),
    ],
)
def test_an_invalid_movement_is_refused(movement: Any, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message):
        trades_from_movements([movement], 1)
    with pytest.raises(oo.OpenOutcryError, match="in ascending order of bars"):
        trades_from_movements([(2, 0, "fill", 1.0, 1.0, 0.0), (1, 0, "fill", 1.0, 1.0, 0.0)], 1)
