"""Trades of runs: their profits add up to the gain of the account, and statistics match direct counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from builders import draw

import openoutcry as oo
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
        if stats.n_open or run.ending.startswith("ruined") or not stats.n_trades:
            continue
        profit = sum(trade.profit for trade in stats.trades)
        scale = sum(trade.entry for trade in stats.trades)
        assert profit == pytest.approx(run.nav[-1] - 1.0, abs=1e-12 * (1.0 + scale)), seed
        n_closed += stats.n_trades
        n_actions |= {event["slug"] for event in run.events}
        n_actions |= {kind for kind in ("dividends", "splits") if getattr(dataset, kind) is not None}
    print(f"{n_closed} trades, with {sorted(n_actions)}")
    assert n_closed > 200
    assert {"delisted", "dividends", "liquidated", "splits"} <= n_actions


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
        ((1, 0, "gift", 1.0, 10.0, 0.0), "a movement must be a fill, dividend or split"),
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
