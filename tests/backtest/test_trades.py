"""Trades of runs: their profits are what the account gained, and their numbers those of a plain count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from builders import draw

import openoutcry as oo
from openoutcry.backtest.trades import Movement, Trade, costs_a_year, trades_of, trades_of_movements

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
def test_trades_bring_what_the_account_gained_where_nothing_is_left_open(seed: int) -> None:
    run = closing(oo.Dataset.synthetic(3, 90, seed), seed)
    found = trades_of(run)
    assert found.n_open == 0
    assert found.n_trades > 10
    assert sum(trade.profit for trade in found.trades) == pytest.approx(run.nav[-1] - 1.0, abs=1e-12)


def test_dividends_splits_settlements_and_calls_belong_to_their_trades() -> None:
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
        found = trades_of(run)
        if found.n_open or run.ending.startswith("ruined") or not found.n_trades:
            continue
        profit = sum(trade.profit for trade in found.trades)
        scale = sum(trade.entry for trade in found.trades)
        assert profit == pytest.approx(run.nav[-1] - 1.0, abs=1e-12 * (1.0 + scale)), seed
        n_closed += found.n_trades
        n_actions |= {event["slug"] for event in run.events}
        n_actions |= {kind for kind in ("dividends", "splits") if getattr(dataset, kind) is not None}
    print(f"{n_closed} trades, with {sorted(n_actions)}")
    assert n_closed > 200
    assert {"delisted", "dividends", "liquidated", "splits"} <= n_actions


def test_the_numbers_are_those_of_a_plain_count() -> None:
    run = closing(oo.Dataset.synthetic(3, 250, 1), 1)
    found = trades_of(run)
    profits = np.array([trade.profit for trade in found.trades])
    wins, losses = profits[profits > 0.0], profits[profits < 0.0]
    assert found.win_rate == len(wins) / len(profits)
    assert found.profit_factor == pytest.approx(wins.sum() / -losses.sum(), rel=1e-12)
    assert found.average_win == pytest.approx(wins.mean(), rel=1e-12)
    assert found.average_loss == pytest.approx(losses.mean(), rel=1e-12)
    assert (found.max_win, found.max_loss) == (wins.max(), losses.min())
    held = [trade.closed - trade.opened for trade in found.trades]
    assert found.average_duration == pytest.approx(np.mean(held), rel=1e-12)
    assert {trade.is_long for trade in found.trades} == {True, False}
    assert [trade.closed for trade in found.trades] == sorted(trade.closed for trade in found.trades)


def test_costs_are_told_apart_and_add_up_to_all() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(3, 250, 1), "random", costs=oo.CostModel(impact_bps=20.0))
    apart = costs_a_year(run)
    assert set(apart) == {"fee", "slippage", "impact", "financing", "borrow", "liquidation"}
    assert sum(apart.values()) == pytest.approx(run.metrics["cost"], rel=1e-12)
    assert min(apart["fee"], apart["slippage"], apart["impact"]) > 0.0
    paid = run.costs["fee"] / run.nav[:-1]
    assert apart["fee"] == pytest.approx(paid.mean() * run.dataset.periods_per_year, rel=1e-12)


def test_a_position_that_stays_open_is_no_trade() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(2, 60, 1), "buy-and-hold")
    found = trades_of(run)
    assert (found.n_trades, found.n_open, found.trades) == (0, 2, ())
    assert found.win_rate is None
    assert found.undefined["win_rate"] == "a trade is required; received none"


def test_a_flip_is_two_trades_on_one_bar() -> None:
    movements: list[Movement] = [
        (1, 0, "fill", 1.0, 10.0, 0.0),
        (2, 0, "fill", -3.0, 12.0, 0.0),
        (4, 0, "split", 2.0, 0, 0),
    ]
    movements += [(4, 0, "dividend", 0.5, 0.0, 0.0), (5, 0, "fill", 4.0, 5.0, 0.5)]
    found = trades_of_movements(movements, 1)
    assert found.trades == (Trade(0, 1, 2, True, 10.0, 2.0), Trade(0, 2, 5, False, 24.0, 24.0 - 2.0 - 20.5))
    assert found.profit_factor is None
    assert found.undefined["profit_factor"] == "a trade with a loss is required; received none"


@pytest.mark.parametrize(
    ("movement", "told"),
    [
        ((1, 1, "fill", 1.0, 10.0, 0.0), "a symbol must be below 1; received 1"),
        ((1, 0, "gift", 1.0, 10.0, 0.0), "a movement must be a fill, dividend or split"),
        ((1, 0, "fill", math.nan, 10.0, 0.0), "finite returns"),
    ],
)
def test_a_movement_that_is_none_is_refused(movement: Movement, told: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=told):
        trades_of_movements([movement], 1)
    with pytest.raises(oo.OpenOutcryError, match="in the order of bars"):
        trades_of_movements([(2, 0, "fill", 1.0, 1.0, 0.0), (1, 0, "fill", 1.0, 1.0, 0.0)], 1)
