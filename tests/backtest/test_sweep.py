"""Sweeps: the same runs in the same order on every executor."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo

MARKET = oo.Dataset.synthetic(3, 300, 11)
COSTS = oo.CostModel(fee_bps=5.0, slippage_bps=3.0, slippage_jitter=0.5, impact_bps=20.0)
GRID = {"short": [2, 5, 9], "long": [20, 40]}


def crossover(short: int, long: int) -> np.ndarray:
    """Return weights in symbols whose short average is above the long one."""
    sums = np.vstack([np.zeros(MARKET.n_symbols), np.cumsum(MARKET.close, axis=0)])

    def mean(n: int) -> np.ndarray:
        means = np.full_like(MARKET.close, np.nan)
        means[n - 1 :] = (sums[n:] - sums[:-n]) / n
        return means

    return (mean(short) > mean(long)) / MARKET.n_symbols


class Chaser:
    """A stateful agent: it buys symbols that rose since its last call, and one that does not exist."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.last: dict[str, float] = {}

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        closes = {view["symbol"]: view["close_history"][-1] for view in observation["symbols"]}
        rising = [name for name, close in closes.items() if close > self.last.get(name, close)]
        self.last = closes
        names = [*rising, "NOTHING"]
        return {
            "orders": [{"symbol": name, "action": "buy", "target_weight": self.weight / len(names)} for name in names]
        }


def anything(kind: str, weight: float) -> Any:
    """Return weights, an agent, a baseline or its name."""
    return {
        "weights": np.full((MARKET.n_bars, MARKET.n_symbols), weight),
        "agent": Chaser(weight),
        "baseline": oo.agents.random(3),
        "name": "momentum",
    }[kind]


# A sweep of arrays and agents needs a window.
LATE = (19, None)
ANYTHING = {"kind": ["weights", "agent", "baseline", "name"], "weight": [0.1, 0.3]}


def failing(short: int) -> np.ndarray:
    if short == 5:
        raise ValueError("no such average")
    return crossover(short, 20)


def infinite(short: int) -> np.ndarray:
    return np.full((MARKET.n_bars, MARKET.n_symbols), np.inf if short == 5 else 0.2)


@contextmanager
def ray() -> Iterator[str]:
    pytest.importorskip("ray")
    # Functions of this file are pickled by module name, which a worker must be able to import.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield "ray"


EXECUTORS: dict[str, Callable[[], Any]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    "ray": ray,
}


def same(sweep: oo.sweep.Sweep, other: oo.sweep.Sweep) -> None:
    assert sweep.params == other.params
    for run, twin in zip(sweep.runs, other.runs, strict=True):
        assert run.name == twin.name
        assert run.nav.tobytes() == twin.nav.tobytes()
        assert run.decisions.tobytes() == twin.decisions.tobytes()
        assert run.events == twin.events
        assert run.metrics == twin.metrics
        assert {kind: paid.tobytes() for kind, paid in run.costs.items()} == {
            kind: paid.tobytes() for kind, paid in twin.costs.items()
        }


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_a_sweep_equals_its_backtests_in_grid_order(jobs: int) -> None:
    sweep = oo.run_sweep(MARKET, crossover, GRID, costs=COSTS, seed=3, window=(40, 290), jobs=jobs)
    expected = [{"short": short, "long": long} for short in GRID["short"] for long in GRID["long"]]
    assert list(sweep.params) == expected
    assert len(sweep) == 6
    for params, run in sweep:
        alone = oo.run_backtest(MARKET, crossover(**params), (40, 290), COSTS, seed=3)
        assert run.nav.tobytes() == alone.nav.tobytes()
        assert run.metrics == alone.metrics
        assert run.events == alone.events
        assert run.name == f"short={params['short']}, long={params['long']}"
        assert (run.window, run.seed, run.cost_model) == (alone.window, 3, COSTS)


RULES = {
    "defaults": (oo.CostModel(), oo.Limits()),
    "free": (oo.CostModel.zero(), oo.Limits.off()),
    "long only": (oo.CostModel(fee_bps=10.0, slippage_bps=5.0, cash_bps=50.0), oo.Limits(allow_short=False)),
    "impact": (oo.CostModel(impact_bps=50.0, borrow_bps=40.0), oo.Limits(max_participation=0.2, max_weight=0.5)),
    "jitter": (COSTS, oo.Limits(max_gross=1.5)),
    "margin": (oo.CostModel(slippage_bps=20.0), oo.Limits(max_gross=8.0, max_weight=8.0, maintenance_margin=0.3)),
}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("n_symbols", [1, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_tables_run_together_equal_each_run_alone_to_the_bit(n_symbols: int, rules: str, scale: float) -> None:
    costs, limits = RULES[rules]
    market = oo.Dataset.synthetic(n_symbols, 90, 5)
    rng = np.random.default_rng(n_symbols)
    tables = rng.uniform(-scale, scale, (19, market.n_bars, n_symbols)) / n_symbols
    tables[rng.random(tables.shape) < 0.3] = np.nan
    tables[::3] = np.abs(tables[::3])
    tables[5] = 1.0 / n_symbols
    sweep = oo.run_sweep(market, tables, window=(3, 90), costs=costs, limits=limits, seed=9, jobs=1)
    for table, run in zip(tables, sweep.runs, strict=True):
        alone = oo.run_backtest(market, table, (3, 90), costs, limits, 9)
        assert run.nav.tobytes() == alone.nav.tobytes()
        assert run.events == alone.events
        assert run.terminated_at == alone.terminated_at
        assert run.turnover.tobytes() == alone.turnover.tobytes()
        assert run.trades["shares"].tobytes() == alone.trades["shares"].tobytes()


def test_tables_with_gaps_and_corporate_actions_run_together_equal_each_run_alone_to_the_bit() -> None:
    rng = np.random.default_rng(2)
    close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (120, 4)), axis=0))
    opens = close * np.exp(rng.normal(0.0, 0.01, close.shape))
    close[40:44, 1] = opens[40:44, 1] = np.nan
    close[:10, 2] = opens[:10, 2] = np.nan
    dividends, splits = np.zeros_like(close), np.ones_like(close)
    dividends[60, 0], splits[70, 3] = 0.5, 2.0
    dates = np.datetime64("2010-01-04") + np.arange(120)
    market = oo.Dataset.from_arrays(dates, list("ABCD"), close, open=opens, dividends=dividends, splits=splits)
    tables = rng.uniform(-0.3, 0.3, (16, 120, 4))
    tables[:, :10, 2] = 0.0
    for run, table in zip(oo.run_sweep(market, tables, jobs=1).runs, tables, strict=True):
        alone = oo.run_backtest(market, table)
        assert run.nav.tobytes() == alone.nav.tobytes()
        assert run.events == alone.events
        assert run.costs["borrow"].tobytes() == alone.costs["borrow"].tobytes()


@pytest.mark.parametrize("name", EXECUTORS)
def test_the_executor_changes_no_bit_and_no_order(name: str) -> None:
    here = oo.run_sweep(MARKET, anything, ANYTHING, window=LATE, costs=COSTS, seed=5)
    reported = []
    with EXECUTORS[name]() as executor:
        there = oo.run_sweep(
            MARKET,
            anything,
            ANYTHING,
            window=LATE,
            costs=COSTS,
            seed=5,
            jobs=2,
            executor=executor,
            on_result=lambda *result: reported.append(result),
        )
    same(here, there)
    assert any(event["slug"] == "refused" for event in there.runs[2].events)
    assert [index for index, _, _ in reported] == list(range(8))
    assert [params for _, params, _ in reported] == list(there.params)
    assert [run for _, _, run in reported] == list(there.runs)


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize(("make", "error"), [(failing, ValueError), (infinite, oo.OpenOutcryError)])
def test_an_error_names_its_point_and_is_raised_after_the_runs_before_it(name: str, make: Any, error: type) -> None:
    reported = []
    with EXECUTORS[name]() as executor, pytest.raises(error) as caught:
        oo.run_sweep(
            MARKET,
            make,
            {"short": [3, 4, 5, 6, 5]},
            jobs=2,
            executor=executor,
            on_result=lambda index, params, run: reported.append((index, params)),
        )
    assert caught.value.__notes__ == ["in run 2 of 5, short=5"]
    assert reported == [(0, {"short": 3}), (1, {"short": 4})]
    if error is oo.OpenOutcryError:
        assert caught.value.slug == "weight_not_finite"


def test_an_error_in_the_middle_of_a_block_loses_no_run_before_it() -> None:
    reported = []

    def make(point: int) -> np.ndarray:
        if point == 130:
            raise KeyError(point)
        return np.full((MARKET.n_bars, MARKET.n_symbols), 0.001 * point)

    with pytest.raises(KeyError) as caught:
        oo.run_sweep(MARKET, make, {"point": range(200)}, on_result=lambda index, *_: reported.append(index))
    assert reported == list(range(130))
    assert caught.value.__notes__ == ["in run 130 of 200, point=130"]


def test_an_error_of_on_result_ends_the_sweep() -> None:
    def full(index: int, params: dict, run: oo.Run) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        oo.run_sweep(MARKET, crossover, GRID, on_result=full)


class ImmediateExecutor(Executor):
    """Run each call at once, treated like another process."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(work(*args))
        return future


def test_a_liquidation_on_an_executor_is_reproduced_in_this_process() -> None:
    costs, limits = RULES["margin"]
    table = np.full((MARKET.n_bars, MARKET.n_symbols), [2.6, 2.6, -2.6])
    runs = [
        oo.run_sweep(MARKET, [table, table], costs=costs, limits=limits, executor=executor).runs[1]
        for executor in (None, ImmediateExecutor())
    ]
    assert runs[0].terminated_at is not None
    assert runs[0].nav.tobytes() == runs[1].nav.tobytes()
    assert runs[0].events == runs[1].events
    assert runs[0].terminated_at == runs[1].terminated_at


class ForgingExecutor(Executor):
    """Run each call at once and report a different NAV."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        block = work(*args)
        nav = block.results[0].nav.copy()
        nav[7] *= 1.0 + 1e-15
        future.set_result(replace(block, results=[replace(block.results[0], nav=nav), *block.results[1:]]))
        return future


def test_a_nav_of_an_executor_that_does_not_follow_from_its_decisions_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="the same NAV for the same decisions is required") as caught:
        oo.run_sweep(MARKET, crossover, GRID, executor=ForgingExecutor())
    assert caught.value.slug == "state_mismatch"
    assert "on bar 7 of the window" in str(caught.value)


def test_a_list_of_agents_and_weights_needs_no_grid() -> None:
    items = ["momentum", oo.agents.equal_weight(), Chaser(0.5), crossover(5, 20), crossover(5, 40).tolist()]
    sweep = oo.run_sweep(MARKET, items, window=LATE)
    assert [run.name for run in sweep.runs] == ["momentum", "equal-weight", "Chaser", "weights", "weights"]
    assert list(sweep.params) == [{"item": index} for index in range(5)]
    for item, run in zip([*items[:2], Chaser(0.5), *items[3:]], sweep.runs, strict=True):
        assert run.nav.tobytes() == oo.run_backtest(MARKET, item, LATE).nav.tobytes()


def test_a_grid_may_be_a_list_of_points() -> None:
    points = [{"short": 9, "long": 20}, {"short": 2, "long": 50}]
    sweep = oo.run_sweep(MARKET, crossover, points)
    assert list(sweep.params) == points
    points[0]["short"] = 1
    assert sweep.params[0]["short"] == 9


def test_best_returns_the_highest_defined_metric() -> None:
    def cash_or_not(weight: float) -> np.ndarray:
        return np.full((MARKET.n_bars, MARKET.n_symbols), weight)

    sweep = oo.run_sweep(MARKET, cash_or_not, {"weight": [0.0, 0.1, 0.2, 0.3]})
    assert sweep.runs[0].metrics["sharpe"] is None
    sharpes = [run.metrics["sharpe"] for run in sweep.runs[1:]]
    params, run = sweep.best()
    assert run is sweep.runs[1 + sharpes.index(max(sharpes))]
    assert params == {"weight": [0.1, 0.2, 0.3][sharpes.index(max(sharpes))]}
    assert sweep.best("sharpe", highest=False)[1].metrics["sharpe"] == min(sharpes)
    with pytest.raises(oo.OpenOutcryError, match="`metric` must be one of"):
        sweep.best("luck")
    with pytest.raises(oo.OpenOutcryError, match="`sharpe` must be defined in at least one run"):
        oo.run_sweep(MARKET, cash_or_not, {"weight": [0.0]}).best()


def test_a_frame_has_one_row_per_run() -> None:
    pytest.importorskip("pandas")
    sweep = oo.run_sweep(MARKET, crossover, GRID)
    frame = sweep.to_frame()
    assert list(frame.columns[:2]) == ["short", "long"]
    assert list(frame["long"]) == [20, 40] * 3
    assert list(frame["sharpe"]) == [run.metrics["sharpe"] for run in sweep.runs]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((crossover, None), "must be a list of weights and agents if there is no grid"),
        (("momentum", None), "must be a list of weights and agents if there is no grid"),
        ((["momentum"], {"a": [1]}), "must be a callable that takes the params of a point"),
        ((crossover, {"short": 3}), r"`grid\['short'\]` must be a list of values; received 3"),
        ((crossover, {"short": "35"}), r"`grid\['short'\]` must be a list of values"),
        ((crossover, [3]), r"`grid\[0\]` must be a dict of params; received 3"),
        ((crossover, {"short": []}), "a sweep must have at least one point"),
        (([], None), "a sweep must have at least one point"),
    ],
)
def test_invalid_points_and_grids_are_refused(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message) as caught:
        oo.run_sweep(MARKET, *arguments)
    assert caught.value.slug == "argument_invalid"


@pytest.mark.parametrize(
    ("setting", "slug"),
    [
        ({"jobs": 0}, "argument_invalid"),
        ({"executor": "cluster"}, "argument_invalid"),
        ({"window": (5, 6)}, "window_invalid"),
        ({"costs": 3}, "cost_invalid"),
        ({"seed": -1}, "argument_invalid"),
    ],
)
def test_a_setting_is_refused_before_anything_runs(setting: dict[str, Any], slug: str) -> None:
    def never(**_: Any) -> np.ndarray:
        raise AssertionError

    with pytest.raises(oo.OpenOutcryError) as caught:
        oo.run_sweep(MARKET, never, GRID, **setting)
    assert caught.value.slug == slug


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_progress_bar_is_drawn_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        oo.run_sweep(MARKET, crossover, GRID)
        shown[stream.isatty()] = stream.getvalue()
    assert "6/6" in shown[True]
    assert shown[False] == ""
    monkeypatch.setattr(sys, "stderr", quiet := Terminal())
    oo.run_sweep(MARKET, crossover, GRID, progress=False)
    assert quiet.getvalue() == ""


def test_a_sweep_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    oo.run_sweep(MARKET, crossover, GRID, jobs=4)
    assert threading.active_count() == before
