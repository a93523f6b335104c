"""Test that bars per year which the dates do not show stay unknown, and that no annual number uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.data.snapshots import snapshot_files
from openoutcry.openoutcry_py import TradingEnv

FREE = oo.CostModel.zero()
N = 60
ANNUAL = ("cagr", "vol", "sharpe", "sharpe_se", "sortino", "calmar", "turnover", "cost")
REASON = "a known number of bars per year is required; received dates that do not show it"


def dates() -> list[str]:
    """Return bars at no regular distance, as those of volume bars."""
    seconds = np.cumsum(np.random.default_rng(0).integers(30, 3_000, N))
    start = np.datetime64("2024-01-02T14:30:00")
    return [str(start + np.timedelta64(int(second), "s")) for second in seconds]


def market(**more: Any) -> oo.Dataset:
    rng = np.random.default_rng(1)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, (N, 2)), axis=0))
    return oo.Dataset.from_arrays(dates(), ["A", "B"], close, open=close * 1.001, **more)


def text_of(dataset: oo.Dataset) -> str:
    rows = [",".join([date, *map(repr, row)]) for date, row in zip(dataset.dates, dataset.close.tolist(), strict=True)]
    return "\n".join(["date,A,B", *rows]) + "\n"


def test_the_number_is_none_in_every_reader_and_survives_every_copy(tmp_path: Path) -> None:
    dataset = market()
    path = snapshot_files.freeze(dataset, tmp_path, "test")
    copies = [
        oo.Dataset.from_bytes(dataset.to_bytes()),
        snapshot_files.load(path),
        dataset.select(["A", "B"]),
        market(periods_per_year=float("nan")),
    ]
    assert {copy.fingerprint for copy in copies} == {dataset.fingerprint}
    cuts = [
        dataset.head(20),
        dataset.between(5, 30),
        dataset.masked(3, "levels"),
        oo.Dataset.from_csv(text_of(dataset)),
    ]
    assert [each.periods_per_year for each in (dataset, *copies, *cuts)] == [None] * 9
    assert dataset.fingerprint not in {market(periods_per_year=number).fingerprint for number in (1, 252, 365)}
    assert all(sum("hint: state `periods_per_year`" in notice for notice in each.notices) == 1 for each in cuts[:2])


@pytest.mark.parametrize("rate", ["financing_bps", "cash_bps", "borrow_bps"])
def test_an_annual_rate_is_refused_by_every_interface(rate: str) -> None:
    dataset, costs = market(), oo.CostModel(**{"financing_bps": 0, "cash_bps": 0, "borrow_bps": 0} | {rate: 5})
    doors: dict[str, Any] = {
        "backtest": lambda: oo.run_backtest(dataset, "buy-and-hold", costs=costs),
        "weights": lambda: oo.run_backtest(dataset, np.ones((N, 2)) / 2, window=(0, N), costs=costs),
        "sweep": lambda: oo.run_sweep(dataset, [np.ones((N, 2)) / 2], window=(0, N), costs=costs, progress=False),
        "environment": lambda: oo.OpenOutcryEnv(dataset=dataset, costs=costs),
        "batch": lambda: oo.OpenOutcryVectorEnv(2, dataset=dataset, costs=costs),
    }
    for name, door in doors.items():
        with pytest.raises(oo.OpenOutcryError, match=f"for annual rates; received `{rate}` 5") as refused:
            door()
        assert refused.value.slug == "cost_invalid", name
        assert "hint: state `periods_per_year`" in str(refused.value)


def test_default_costs_have_annual_rates_and_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`financing_bps` 100"):
        oo.run_backtest(market(), "buy-and-hold")


def test_a_run_without_annual_rates_has_no_annual_numbers_but_all_others() -> None:
    costs = oo.CostModel(financing_bps=0, borrow_bps=0)
    unknown, known = (
        oo.run_backtest(each, "momentum", costs=costs) for each in (market(), market(periods_per_year=252))
    )
    assert np.array_equal(unknown.nav, known.nav)
    assert {name: unknown.undefined[name] for name in ANNUAL} == dict.fromkeys(ANNUAL, REASON)
    others = [name for name in known.metrics if name not in ANNUAL]
    assert [unknown.metrics[name] for name in others] == [known.metrics[name] for name in others]
    assert "unknown bars per year" in repr(unknown)


def test_a_record_replays_and_every_path_has_the_same_bits() -> None:
    dataset, weights = market(), np.random.default_rng(2).uniform(-0.5, 0.5, (N, 2))
    run = oo.run_backtest(dataset, weights, window=(0, N), costs=FREE, capture=True)
    assert run.record is not None
    assert oo.replay(run.record, dataset).verified
    rules: dict[str, Any] = {"costs": FREE, "limits": oo.Limits(), "lookback": 20, "seed": 0}
    core = TradingEnv.from_dataset(dataset._core, window=(0, N), **rules)
    core.reset()
    vector = oo.OpenOutcryVectorEnv(2, dataset=dataset, window=(0, N), costs=FREE)
    vector.reset(seed=0)
    single = oo.OpenOutcryEnv(dataset=dataset, window=(0, N), costs=FREE)
    single.reset(seed=0)
    for bar in range(N - 1):
        orders = [
            {"symbol": symbol, "action": "buy", "target_weight": weight}
            for symbol, weight in zip("AB", weights[bar].tolist(), strict=True)
        ]
        reward = core.step(json.dumps({"orders": orders}))[1]
        lanes = vector.step(np.tile(weights[bar], (2, 1)))[1]
        assert reward == lanes[0] == lanes[1] == single.step(weights[bar])[1] == run.returns[bar]


def test_a_record_without_bars_per_year_cannot_be_scored() -> None:
    run = oo.run_backtest(market(), "momentum", costs=FREE, capture=True)
    assert run.record is not None
    with pytest.raises(oo.OpenOutcryError, match="without a known number of bars per year; hint: load the market"):
        oo.score(run.record, dataset=market())


@pytest.mark.parametrize(
    ("periods", "rate"), [(252, 0.04), (365, 0.011), (12, -0.02), (None, 0.04), (4, 0.05), (2, 0.051), (1, 0.26)]
)
def test_the_risk_free_rate_of_a_year_is_no_return_of_a_bar(periods: float | None, rate: float) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"`risk_free` at row 0 .* received {rate}; hint: divide") as refused:
        market(periods_per_year=periods, risk_free=np.full(N, rate))
    assert refused.value.slug == "value_invalid"


@pytest.mark.parametrize(("periods", "rate"), [(1, 0.2), (2, 0.05), (4, 0.025), (252, 0.0002), (12, 0.0099)])
def test_a_risk_free_return_of_a_bar_is_accepted(periods: float, rate: float) -> None:
    found = market(periods_per_year=periods, risk_free=np.full(N, rate)).risk_free
    assert found is not None
    assert found.tolist() == [rate] * N
