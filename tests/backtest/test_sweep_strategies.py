"""Sweeps of library strategies: the native weights have the bits of the Python strategies."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from builders import bits, count, dataset_of
from markets import Market
from rare_markets import rare_market

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.strategies import LIBRARY, Strategy, rolling_windows, sample
from openoutcry.backtest.strategies.rolling_windows import Array

NATIVE = ("trend", "mean-reversion", "momentum")
# The edges of the ranges; short windows for small markets.
EDGES: dict[str, list[dict[str, Any]]] = {
    "trend": [
        {"fast": 2, "slow": 65},
        {"fast": 60, "slow": 65, "side": "long-short"},
        {"fast": 2, "slow": 300, "side": "long-short"},
        {"fast": 50, "slow": 70, "side": "long-short"},
    ],
    "mean-reversion": [
        {"window": 5, "width": 0.5, "side": "long"},
        {"window": 120, "width": 4.0},
        {"window": 16, "width": 1.25},
        {"window": 17, "width": 1.25, "side": "long"},
    ],
    "momentum": [
        {"window": 25, "skip": 0, "share": 0.1},
        {"window": 25, "skip": 21, "share": 0.5, "side": "long-short"},
        {"window": 300, "skip": 3},
        {"window": 40, "skip": 2, "share": 0.35, "side": "long-short"},
    ],
}


def points_of(name: str, rng: np.random.Generator, n_drawn: int) -> list[dict[str, Any]]:
    return EDGES[name] + [sample(LIBRARY[name].PARAM_RANGES, rng) for _ in range(n_drawn)]


def flat_market(rng: np.random.Generator, n_bars: int, n_symbols: int) -> oo.Dataset:
    """Return closes of few values, so that averages differ by their rounding alone."""
    levels = rng.choice([0.1, 0.1, 0.11, 0.13], (n_bars // 110 + 1, n_symbols))
    closes = np.repeat(levels, 110, axis=0)[:n_bars]
    closes[1::2] *= 1.1
    closes[rng.random(closes.shape) < 0.002] = np.nan
    return dataset_of(Market(closes))


def long_market() -> oo.Dataset:
    """Return a market of more than one block of bars, with splits at their edge."""
    rng, n_bars = np.random.default_rng(6), 4096 + 330
    splits = np.ones((n_bars, 3))
    splits[[4000, 4095, 4096, 4100], [0, 1, 0, 0]] = [2.0, 3.0, 0.5, 7.0]
    closes = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, splits.shape), axis=0)) / np.cumprod(splits, axis=0)
    closes[4090:4097, 2] = closes[:40, 1] = np.nan
    return dataset_of(Market(closes, splits=splits))


def markets() -> Iterator[oo.Dataset]:
    rng = np.random.default_rng(1)
    for seed in range(count(40, 3)):
        yield rare_market(seed, 110 + 150 * (seed % 3), 1 + seed % 9)
        yield flat_market(rng, 340, 1 + seed % 3)
    yield rare_market(99, 130, 30)
    yield long_market()


def assert_weights_are_those_of_python(dataset: oo.Dataset, name: str, grid: list[dict[str, Any]]) -> None:
    window = (0, dataset.n_bars)
    sweep = oo.run_sweep(dataset, name, grid, window=window)
    for params, run in sweep:
        # The decisions after ruin are not kept.
        n_rows = dataset.n_bars - 1 if run.terminated_at is None else run.terminated_at + 1
        expected = LIBRARY[name](**params).table(dataset)[:n_rows]
        assert bits(run.decisions[:n_rows]) == bits(expected), (name, params)


@pytest.mark.parametrize("name", NATIVE)
def test_native_weights_have_the_bits_of_python(name: str) -> None:
    rng = np.random.default_rng(7)
    for dataset in markets():
        assert_weights_are_those_of_python(dataset, name, points_of(name, rng, 3))


@pytest.mark.parametrize("name", NATIVE)
def test_native_weights_of_part_of_a_market_have_the_bits_of_python(name: str) -> None:
    dataset, rng = rare_market(5, 300, 4), np.random.default_rng(3)
    for _ in range(count(60, 6)):
        start = int(rng.integers(0, 290))
        end = int(rng.integers(start + 2, 301))
        sweep = oo.run_sweep(dataset, name, points_of(name, rng, 1), window=(start, end))
        for params, run in sweep:
            assert run.terminated_at is None
            assert bits(run.decisions) == bits(LIBRARY[name](**params).table(dataset)[start : end - 1])


@pytest.mark.parametrize("name", NATIVE)
def test_the_native_module_computes_the_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = oo.run_sweep(rare_market(3), name, EDGES[name], window=(0, 110), metric="return").values()

    def refuse(*_: Any) -> None:
        raise AssertionError("a table in Python")

    monkeypatch.setattr(Strategy, "table", refuse)
    for metric in ("return", None):
        sweep = oo.run_sweep(rare_market(3), name, EDGES[name], window=(0, 110), metric=metric)
        assert sweep.values("return") == expected


def backwards(rows: Any) -> Array:
    added: Array = sum(reversed(list(rows)))
    return added


@pytest.mark.parametrize("name", ["trend", "mean-reversion"])
def test_another_order_of_additions_would_be_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The markets of these tests show the order in which a window is added."""
    dataset = flat_market(np.random.default_rng(1), 340, 2)
    assert_weights_are_those_of_python(dataset, name, EDGES[name])
    for total in (backwards, lambda rows: np.sum(np.stack(list(rows), axis=-1), axis=-1)):
        monkeypatch.setattr(rolling_windows, "total", total)
        with pytest.raises(AssertionError):
            assert_weights_are_those_of_python(dataset, name, EDGES[name])


def test_ties_of_returns_are_in_the_order_of_symbols() -> None:
    for n_symbols in (5, 40):
        closes = np.full((60, n_symbols), 50.0)
        closes[30:, ::3] = 60.0
        assert_weights_are_those_of_python(dataset_of(Market(closes)), "momentum", EDGES["momentum"])


@pytest.mark.parametrize("name", [*LIBRARY])
@pytest.mark.parametrize("metric", ["sharpe", "turnover", None])
def test_a_sweep_by_name_is_that_of_a_function(name: str, metric: str | None) -> None:
    dataset, seen = rare_market(11, 140, 3), []
    rng = np.random.default_rng(2)
    grid = [sample(LIBRARY[name].PARAM_RANGES, rng) for _ in range(11)]
    terms: dict[str, Any] = {"window": (20, 140), "costs": oo.CostModel(fee_bps=3.0), "metric": metric}
    by_name = oo.run_sweep(
        dataset, name, grid, jobs=2, on_result=lambda index, params, one: seen.append((index, params)), **terms
    )
    by_function = oo.run_sweep(dataset, LIBRARY[name], grid, **terms)
    assert seen == list(enumerate(by_name.params))
    assert by_name.values() == by_function.values()
    for (params, run), (expected, other) in zip(by_name, by_function, strict=True):
        assert (params, run.name, run.window, run.lookback) == (expected, other.name, other.window, other.lookback)
        assert (run.strategy, repr(run), run.metrics) == (other.strategy, repr(other), other.metrics)
        assert bits(run.nav) == bits(other.nav)


def test_a_sweep_by_name_has_the_same_numbers_in_other_processes() -> None:
    dataset = rare_market(4, 140, 3)
    for metric in ("sharpe", None):
        here = oo.run_sweep(dataset, "trend", EDGES["trend"], window=(0, 140), metric=metric)
        with ProcessPoolExecutor(1) as executor:
            there = oo.run_sweep(dataset, "trend", EDGES["trend"], window=(0, 140), metric=metric, executor=executor)
        assert here.values() == there.values()
        assert [bits(run.nav) for run in here.runs] == [bits(run.nav) for run in there.runs]


def test_points_with_other_default_windows_are_refused_after_the_first() -> None:
    dataset, seen = oo.Dataset.synthetic(2, 700, 1), []
    grid = {"slow": [100, 200], "fast": [5]}
    for metric in ("sharpe", None):
        with pytest.raises(oo.OpenOutcryError, match="one window is required") as caught:
            oo.run_sweep(dataset, "trend", grid, metric=metric, on_result=lambda index, *_: seen.append(index))
        assert "run 1 of 2" in caught.value.__notes__[0]
    assert seen == [0, 0]


def test_an_invalid_point_is_refused_after_the_results_before_it() -> None:
    dataset, seen = oo.Dataset.synthetic(2, 300, 1), []
    grid = [{"fast": 5}, {"fast": 6}, {"fast": 99}, {"fast": 7}]
    with pytest.raises(oo.OpenOutcryError, match="`fast` must be an integer from 2 to 60"):
        oo.run_sweep(
            dataset, "trend", grid, window=(0, 300), metric="sharpe", on_result=lambda index, *_: seen.append(index)
        )
    assert seen == [0, 1]


def test_a_strategy_without_native_weights_is_not_added() -> None:
    dataset = oo.Dataset.synthetic(2, 100, 1)
    tables = native.TableRuns(dataset._core, settings_of(dataset, None, (None, None), 0, 20))
    assert not tables.add_strategy("risk-parity", {"window": 20})
    assert len(tables) == 0
    assert tables.add_strategy("trend", {"fast": 2, "slow": 65, "side": "long"})
    assert len(tables) == 1
