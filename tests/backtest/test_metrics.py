"""Metrics of a run: the same bits however the run was made, alone and together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import bits, dates_of

import openoutcry as oo
from openoutcry import openoutcry_py as native

NAMES = tuple(oo.run_backtest(oo.data.load("ecb-fx"), "equal-weight", (0, 60)).metrics)


def market_of(n_symbols: int, seed: int, volatility: float = 0.02) -> oo.Dataset:
    random = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(random.normal(0.0, volatility, (300, n_symbols)), axis=0))
    rates = np.full(300, 1e-4) if seed % 2 else None
    return oo.Dataset.from_arrays(dates_of(300), [f"S{i}" for i in range(n_symbols)], close, risk_free=rates)


def table_of(market: oo.Dataset, seed: int) -> np.ndarray[Any, Any]:
    """Return random weights; every third row holds."""
    random = np.random.default_rng(seed)
    table = random.uniform(-1.0, 1.0, market.close.shape) / market.close.shape[1]
    table[random.random(len(table)) < 1 / 3] = np.nan
    return table


def by_formula(run: oo.Run) -> dict[str, float]:
    """Return the means of the trades of a run from its arrays."""
    paid = sum(column for column in run.costs.values())
    before, year = run.nav[:-1], run.dataset.periods_per_year or np.nan
    shares = np.divide(paid, before, out=np.zeros_like(before), where=before != 0.0)
    held = run.weights[1:]
    return {
        "turnover": float(run.turnover.mean() * year),
        "cost": float(shares.mean() * year),
        "exposure": float(np.abs(held).sum(axis=1).mean()),
        "net_exposure": float(held.sum(axis=1).mean()),
    }


@pytest.mark.parametrize("n_symbols", [1, 3, 8, 21])
@pytest.mark.parametrize("ruined", [False, True])
def test_metrics_are_equal_for_a_table_a_sweep_a_record_and_a_callable(n_symbols: int, ruined: bool) -> None:
    market = market_of(n_symbols, n_symbols, 0.4 if ruined else 0.02)
    tables = [table_of(market, seed) * (3.0 if ruined else 1.0) for seed in range(9)]
    settings: dict[str, Any] = {"limits": oo.Limits(max_gross=3.0)}
    alone = [oo.run_backtest(market, table, **settings) for table in tables]
    assert any(run.terminated_at is not None for run in alone) == ruined
    together, fault = native.run_tables(market._core, tables, alone[0]._settings)
    assert fault is None
    for run, core, table in zip(alone, together, tables, strict=True):
        captured = oo.run_backtest(market, table, capture=True, **settings)
        assert bits(list(run.metrics.values())) == bits(list(core.metrics()[0].values()))
        assert run.metrics == captured.metrics
        for name, expected in by_formula(run).items():
            assert run.metrics[name] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_metric_alone_is_that_of_the_summary_in_every_kind_of_run() -> None:
    market = market_of(2, 1)
    for agent in (table_of(market, 5), "equal-weight", "hold-cash"):
        summary = oo.run_backtest(market, agent).metrics
        run = oo.run_backtest(market, agent)
        assert {name: run.metric(name) for name in NAMES} == summary
        assert "metrics" not in run.__dict__
    assert run.metrics == {name: run.metric(name) for name in NAMES}
    assert run.metric("calmar") is None


def test_an_unknown_metric_is_refused_with_the_names_of_all() -> None:
    run = oo.run_backtest(market_of(1, 2), "equal-weight")
    for _ in range(2):
        with pytest.raises(oo.OpenOutcryError, match=r"`metric` must be one of return, cagr, .*; received \"alpha\""):
            run.metric("alpha")
        assert run.metrics


def test_a_sweep_ranks_without_other_metrics() -> None:
    market = market_of(1, 4)
    tables = {"seed": list(range(9))}
    sweep = oo.run_sweep(market, lambda seed: table_of(market, seed), tables)
    _, best = sweep.best("sharpe")
    assert best.metric("sharpe") == max(run.metric("sharpe") for _, run in sweep)
    assert not any("_summary" in run.__dict__ for _, run in sweep)
