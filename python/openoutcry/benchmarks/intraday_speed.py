"""Speed and memory of minute bars, compared with vectorbt, raptorbt and numpy.

All run in one process, in turns; times are CPU time, the least of a few rounds. A peer that is not installed has no
row of its own goal.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from openoutcry.backtest.parameter_grid import Params
from openoutcry.backtest.run import run_backtest
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.backtest.sweep import run_sweep
from openoutcry.benchmarks import intraday_peers as peers
from openoutcry.benchmarks.engine_speed import Row
from openoutcry.benchmarks.intraday_peers import FEE, SLIPPAGE, Table, Work
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel

# Bars of a long run, and of one compared with vectorbt or in a sweep; bars between orders of sparse weights.
LONG, SHORT, SPARSE = 1_000_000, 200_000, 720
POINTS, PEER_BARS = 1000, 20_000
# Bars of the run for memory, in a process of its own.
LONGEST = 10_000_000
ROUNDS = 3
# Sweeps of the strategies with native weights: 40 points each.
STRATEGY_GRIDS: dict[str, Params] = {
    "trend": {"fast": [5, 10, 20, 40, 60], "slow": [65, 80, 100, 125, 150, 200, 250, 300]},
    "mean-reversion": {"window": [10, 20, 40, 60, 120], "width": [0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]},
    "momentum": {"skip": [0, 1, 5, 10, 21], "window": [25, 40, 60, 90, 120, 180, 252, 300]},
}

COSTS = CostModel(fee_bps=1e4 * FEE, slippage_bps=1e4 * SLIPPAGE)
# Costs of trades only: nothing accrues on a bar without one.
TRADE_COSTS = CostModel(fee_bps=1e4 * FEE, slippage_bps=1e4 * SLIPPAGE, financing_bps=0.0, borrow_bps=0.0)

_MEMORY = """
import json, os, sys, time
import numpy as np
import openoutcry as oo

def kilobytes(name):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))

n_bars, sparse, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
close = np.random.default_rng(0).standard_normal((n_bars, 1))
close *= 3e-4
np.cumsum(close, axis=0, out=close)
np.exp(close, out=close)
weights = np.full((n_bars, 1), np.nan)
weights[::sparse] = np.where(np.arange(len(weights[::sparse])) % 2, 0.2, 0.7)[:, None]
dates = np.datetime64("2000-01-01T00:00") + np.arange(n_bars)
arrays = close.nbytes + weights.nbytes + dates.nbytes
before = kilobytes("VmRSS") * 1024 - arrays
run = oo.run_backtest(oo.Dataset.from_arrays(dates, ["A"], close, periods_per_year=525_600.0), weights)
run.metrics
peak = kilobytes("VmHWM") * 1024 - before
start = time.process_time()
size = os.path.getsize(run.report(place))
spent = time.process_time() - start
whole = kilobytes("VmHWM") * 1024 - before
print(json.dumps([peak / arrays, whole / arrays, spent, size / 1e6]))
"""


def measure(advance: Callable[[], object] = lambda: None) -> list[Row]:
    """Return all measurements; takes some minutes.

    Args:
        advance: Called after each group of measurements.
    """
    rows: list[Row] = []
    for group in GROUPS:
        rows += group()
        advance()
    return rows


def market(n_bars: int, n_symbols: int) -> Dataset:
    """Return a random walk of minute bars."""
    closes = 100.0 * np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 3e-4, (n_bars, n_symbols)), axis=0))
    dates = np.datetime64("2015-01-01T00:00") + np.arange(n_bars)
    symbols = [f"S{place}" for place in range(n_symbols)]
    return Dataset.from_arrays(dates, symbols, closes, periods_per_year=peers.MINUTES)


def weights(dataset: Dataset, every: int) -> Table:
    """Return target weights on every `every`-th bar, and holds between.

    They are large and small in turns.
    """
    table = np.full((dataset.n_bars, dataset.n_symbols), np.nan)
    n_rows = len(table[::every])
    table[::every] = np.where(np.arange(n_rows) % 2 == 0, 0.7, 0.2)[:, None] / dataset.n_symbols
    return table


def seconds(*works: Work) -> list[float]:
    """Return the least CPU seconds of each, called in turns."""
    least = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            start = time.process_time()
            work()
            least[place] = min(least[place], time.process_time() - start)
    return least


def compared(what: str, here: Work, peer: Work | None, name: str, goal: float) -> Row:
    """Return the row of a piece of work that should be `goal` times as fast as a peer."""
    if peer is None:
        return Row(what, seconds(here)[0], None, " s", peer_is=f"{name}: not installed")
    ours, theirs = seconds(here, peer)
    return Row(what, ours, theirs / goal, " s", f"{theirs:.3g} s", theirs / ours, name)


def _metrics() -> list[Row]:
    dataset = market(LONG, 1)
    table = weights(dataset, 1)
    trade = partial(run_backtest, dataset, table, costs=TRADE_COSTS)
    what = f"run and all metrics, 1 x {LONG:,}, every bar"
    rows = [compared(what, lambda: trade().metrics, peers.raptorbt(dataset.close), "raptorbt and its metrics", 1.5)]
    alone, both = seconds(trade, lambda: trade().metrics)
    return [*rows, Row(f"all metrics after a run, 1 x {LONG:,}", (both - alone) / alone, 0.5, " x run")]


def _statistics() -> list[Row]:
    rows = []
    for n_symbols in (1, 8):
        dataset = market(SHORT, n_symbols)
        for every, kind in ((1, "every bar"), (SPARSE, f"1 in {SPARSE}")):
            table = weights(dataset, every)

            def here(dataset: Dataset = dataset, table: Table = table) -> object:
                run = run_backtest(dataset, table, costs=TRADE_COSTS)
                return [run.metric(name) for name in ("sharpe", "max_drawdown", "return")]

            peer = peers.vectorbt(dataset.close, table)
            what = f"run and 3 metrics, {n_symbols} x {SHORT:,}, {kind}"
            rows.append(compared(what, here, peer, "vectorbt, Rust engine", 2.0))
    return rows


def _holds() -> list[Row]:
    dataset = market(LONG, 8)
    dense, sparse = weights(dataset, 1), weights(dataset, SPARSE)
    rows = []
    for costs, kind, goal in ((TRADE_COSTS, "nothing accrues", 5.0), (CostModel(), "default costs", 2.0)):
        here, all_bars = (partial(run_backtest, dataset, table, costs=costs) for table in (sparse, dense))
        what = f"orders on 1 bar in {SPARSE}, 8 x {LONG:,}, {kind}"
        rows.append(compared(what, here, all_bars, "orders on every bar", goal))
    return rows


def _sweep() -> list[Row]:
    dataset = market(SHORT, 1)
    on_off = weights(dataset, 1) * (np.arange(SHORT) % 2 == 0)[:, None]
    sizes = np.linspace(0.1, 1.0, POINTS)

    def sweep(jobs: int) -> object:
        return run_sweep(
            dataset, lambda size: on_off * size, {"size": list(sizes)}, costs=TRADE_COSTS, metric="sharpe", jobs=jobs
        )

    few = market(PEER_BARS, 1)
    ours, theirs = seconds(lambda: sweep(1), lambda: peers.numpy_sharpe(few.close, sizes))
    rate, peer_rate = POINTS * SHORT / ours / 1e6, POINTS * PEER_BARS / theirs / 1e6
    what = f"sweep of {POINTS:,} points x {SHORT:,}, Sharpe"
    rows = [Row(what, rate, 60.0, " M bars/s", f"{peer_rate:.3g}", rate / peer_rate, "numpy, all points at once", True)]
    times = {}
    for jobs in (1, 2):
        start = time.perf_counter()
        sweep(jobs)
        times[jobs] = time.perf_counter() - start
    return [*rows, Row("the same on two threads", times[1] / times[2], 1.8, " x of one", at_least=True)]


def _strategies() -> list[Row]:
    """Return sweeps of library strategies by name.

    They are compared with functions that return the strategies.
    """
    rows = []
    for n_symbols in (1, 8):
        dataset = market(SHORT, n_symbols)
        for name, grid in STRATEGY_GRIDS.items():

            def sweep(of: Any, dataset: Dataset = dataset, grid: Params = grid) -> object:
                return run_sweep(dataset, of, grid, window=(0, SHORT), costs=TRADE_COSTS, metric="sharpe", jobs=1)

            what = f"sweep of {name} by name, {n_symbols} x {SHORT:,}, Sharpe"
            here, peer = partial(sweep, name), partial(sweep, LIBRARY[name])
            rows.append(compared(what, here, peer, "the same through Python", 10.0))
    return rows


def _longest() -> list[Row]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        command = [sys.executable, "-c", _MEMORY, str(LONGEST), str(SPARSE), f"{place}/report.html"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    memory, whole, spent, size = json.loads(printed.splitlines()[-1])
    what = f"1 x {LONGEST:,}"
    return [
        Row(f"peak memory of dataset, run and metrics, {what}", memory, 2.5, " x arrays"),
        Row(f"peak memory of all and the report, {what}", whole, 2.5, " x arrays"),
        Row(f"report, {what}", spent, 10.0, " s"),
        Row(f"size of the report, {what}", size, 3.0, " MB"),
    ]


GROUPS: tuple[Callable[[], list[Row]], ...] = (_metrics, _statistics, _holds, _sweep, _strategies, _longest)
