"""Speed of backtests, sweeps, steps, replay and reports; memory and size."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.replay import replay
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.sweep import Sweep, run_sweep
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord

Table = npt.NDArray[np.float64]

FEE, SLIPPAGE = 10.0, 5.0
# Symbols, bars, and the goal of a backtest in milliseconds.
SIZES = ((4, 2500, 0.5), (100, 2500, 5.0), (500, 5000, 30.0))
# Moving averages of a sweep of 1,000 crossovers, its bars, and its goal in milliseconds of CPU time.
SHORTS, LONGS, SWEEP_BARS, SWEEP_GOAL = range(5, 30), range(40, 200, 4), 2500, 60.0

# Bars of the run whose report is timed, and the goal in seconds.
REPORT_BARS, REPORT_GOAL = 5000, 2.0


@dataclass(frozen=True)
class Row:
    """One measurement, its goal, and the measurement of a baseline (the peer).

    `value` and `bound` are in `unit`. The value must be below the bound, or at least the bound if `at_least` is set.
    Without a bound there is no goal. `ratio` is the speed relative to the peer.
    """

    what: str
    value: float
    bound: float | None
    unit: str
    peer: str = ""
    ratio: float | None = None
    peer_is: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the goal is met."""
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value < self.bound

    @property
    def here(self) -> str:
        """The measurement as text."""
        return f"{_figure(self.value, self.at_least)}{self.unit}"

    @property
    def goal(self) -> str:
        """The goal as text."""
        if self.bound is None:
            return ""
        return f"{'>=' if self.at_least else '<'} {_figure(self.bound, self.at_least)}{self.unit}"

    def to_dict(self) -> dict[str, object]:
        """Return fields, texts and whether the goal is met, as a JSON object."""
        return asdict(self) | {"here": self.here, "goal": self.goal, "is_met": self.is_met}


def _figure(value: float, is_rate: bool) -> str:
    return f"{value:,.0f}" if is_rate and value >= 1000 else f"{value:.3g}"


def measure() -> list[Row]:
    """Return all measurements; takes several seconds."""
    speed = [*(_backtest(*size) for size in SIZES), _sweep(), _memory(), _json_steps(), _replay(), _report()]
    return [*speed, _import_time(), _wheel_size()]


def cpu_seconds(work: Callable[[], object], repeats: int = 7) -> float:
    """Return the median CPU time of a call, after a warm-up call."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        calls = 0
        while calls == 0 or time.process_time() - start < 0.05:
            work()
            calls += 1
        times.append((time.process_time() - start) / calls)
    return median(times)


def _market(n_symbols: int, n_bars: int) -> tuple[Dataset, Table, Table]:
    random = np.random.default_rng(7)
    close = 100.0 * np.exp(np.cumsum(random.normal(0.0, 0.01, (n_bars, n_symbols)), axis=0))
    weights = random.dirichlet(np.ones(n_symbols), n_bars) * 0.98
    dates = np.datetime64("2000-01-03") + np.arange(n_bars)
    return Dataset.from_arrays(dates, [f"S{i:03d}" for i in range(n_symbols)], close), close, weights


def numpy_backtest(close: Table, weights: Table) -> Table:
    """Return the NAV of target weights: a numpy loop over bars, linear costs."""
    n_bars, n_symbols = close.shape
    cash, shares = 1.0, np.zeros(n_symbols)
    nav = np.ones(n_bars)
    for bar in range(n_bars - 1):
        order = weights[bar] * nav[bar] / close[bar] - shares
        price = close[bar] * (1.0 + np.sign(order) * SLIPPAGE / 1e4)
        cash -= order @ price + FEE / 1e4 * (np.abs(order) @ price)
        shares = shares + order
        nav[bar + 1] = cash + shares @ close[bar + 1]
    return nav


def _backtest(n_symbols: int, n_bars: int, goal: float) -> Row:
    dataset, close, weights = _market(n_symbols, n_bars)
    costs, limits = CostModel(fee_bps=FEE, slippage_bps=SLIPPAGE, financing_bps=0.0, borrow_bps=0.0), Limits()
    here = cpu_seconds(lambda: run_backtest(dataset, weights, (0, n_bars), costs, limits))
    peer = cpu_seconds(lambda: numpy_backtest(close, weights), repeats=3)
    difference = np.abs(
        run_backtest(dataset, weights, (0, n_bars), costs, limits).nav / numpy_backtest(close, weights) - 1.0
    )
    assert difference.max() < 1e-9, "the peer must do the same work"
    what = f"run_backtest, weights {n_symbols} x {n_bars}"
    return Row(what, here * 1e3, goal, " ms", f"{peer * 1e3:.1f} ms", peer / here, "numpy loop, linear costs")


def _sweep() -> Row:
    dataset, close, _ = _market(1, SWEEP_BARS)
    tables = crossovers(close)
    all_columns = np.ascontiguousarray(np.concatenate(tables, axis=1))
    costs, limits = CostModel(fee_bps=FEE, slippage_bps=SLIPPAGE, financing_bps=0.0, borrow_bps=0.0), Limits()

    def sweep() -> Sweep:
        return run_sweep(dataset, tables, window=(0, SWEEP_BARS), costs=costs, limits=limits, progress=False)

    here = cpu_seconds(sweep, repeats=5)
    peer = cpu_seconds(lambda: numpy_sweep(close[:, 0], all_columns), repeats=3)
    navs = np.stack([run.nav for run in sweep().runs], axis=1)
    difference = np.abs(navs / numpy_sweep(close[:, 0], all_columns) - 1.0)
    assert difference.max() < 1e-9, "the peer must do the same work"
    what = f"run_sweep, {len(tables):,} crossovers x {SWEEP_BARS:,} bars"
    peer_is = "numpy, all runs in one loop, linear costs"
    return Row(what, here * 1e3, SWEEP_GOAL, " ms", f"{peer * 1e3:.0f} ms", peer / here, peer_is)


def crossovers(close: Table) -> list[Table]:
    """Return weights for each pair of a short and a long moving average.

    A weight is 1 while the short average is above the long one, and else 0.
    """
    sums = np.vstack([np.zeros((1, close.shape[1])), np.cumsum(close, axis=0)])
    means = {n: np.full_like(close, np.nan) for n in {*SHORTS, *LONGS}}
    for n, mean in means.items():
        mean[n - 1 :] = (sums[n:] - sums[:-n]) / n
    return [(means[short] > means[long]).astype(np.float64) for short in SHORTS for long in LONGS]


def numpy_sweep(close: Table, weights: Table) -> Table:
    """Return the NAV of each column of weights in one asset: a numpy loop.

    It has linear costs and steps all columns together.
    """
    n_bars, n_runs = weights.shape
    cash, shares = np.ones(n_runs), np.zeros(n_runs)
    nav = np.ones((n_bars, n_runs))
    for bar in range(n_bars - 1):
        order = weights[bar] * nav[bar] / close[bar] - shares
        price = close[bar] * (1.0 + np.sign(order) * SLIPPAGE / 1e4)
        cash = cash - order * price - FEE / 1e4 * np.abs(order) * price
        shares = shares + order
        nav[bar + 1] = cash + shares * close[bar + 1]
    return nav


def _memory() -> Row:
    # The peak memory of a process never falls, so the engine and the baseline run in separate processes.
    def grown(backtest: str) -> float:
        code = f"from openoutcry.benchmarks import engine_speed as e; print(e.peak_growth(e.{backtest}))"
        # Return freed arrays to the system at once: otherwise a run would reuse their memory and not raise the peak.
        env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=env)
        return float(done.stdout) / 2**20

    n_symbols, n_bars, _ = SIZES[-1]
    here, peer, copy = grown("engine_backtest"), grown("loop_backtest"), 2 * n_symbols * n_bars * 8 / 2**20
    what = f"peak memory without the inputs, {n_symbols} x {n_bars}"
    return Row(what, here, copy, " MiB", f"{peer:.1f} MiB", None, "numpy loop; the goal is one copy")


def engine_backtest(dataset: Dataset, close: Table, weights: Table) -> object:
    """Run weights through the engine."""
    return run_backtest(dataset, weights, (0, len(close)))


def loop_backtest(dataset: Dataset, close: Table, weights: Table) -> object:
    """Run weights through the numpy loop."""
    return numpy_backtest(close, weights)


def peak_growth(backtest: Callable[[Dataset, Table, Table], object]) -> int:
    """Return the bytes by which the largest backtest raises the peak memory.

    A small backtest runs before it.
    """
    backtest(*_market(4, 50))
    inputs = _market(*SIZES[-1][:2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Creating the inputs used temporary arrays. Fill that memory first, so that the run cannot reuse it.
    current = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
    slack = np.ones(max(0, before - current) * 1024 // 8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    backtest(*inputs)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    del slack
    return grown * 1024


def _json_steps() -> Row:
    env = native.TradingEnv(4, 2500, 0)
    orders = [{"symbol": f"S{i:03d}", "action": "buy", "target_weight": 0.2 + 0.02 * i} for i in range(4)]
    decision = json.dumps({"orders": orders})

    def episode() -> None:
        env.reset()
        done = False
        while not done:
            _, _, done, _ = env.step(decision)

    here = 2480 / cpu_seconds(episode)
    peer = 2480 / cpu_seconds(lambda: _python_json_steps(decision), repeats=3)
    what = "JSON steps per second, 4 symbols x 20 closes"
    return Row(what, here, 3e5, "", f"{peer:,.0f}", here / peer, "numpy loop with json", at_least=True)


def _python_json_steps(decision: str) -> None:
    _, close, _ = _market(4, 2500)
    cash, shares = 1.0, np.zeros(4)
    for bar in range(19, 2499):
        weights = np.array([order["target_weight"] for order in json.loads(decision)["orders"]])
        nav = cash + shares @ close[bar]
        order = weights * nav / close[bar] - shares
        cash, shares = cash - order @ close[bar], shares + order
        history = close[bar - 18 : bar + 2].T.tolist()
        symbols = [{"symbol": f"S{i:03d}", "close_history": history[i]} for i in range(4)]
        json.dumps({"date": "2000-01-03", "cash": cash, "symbols": symbols, "portfolio": []})


def _replay() -> Row:
    """Replay a record of many runs in parallel, by the wall clock."""
    dataset, close, _ = _market(1, SWEEP_BARS)
    tables = crossovers(close)[::63]
    runs = [run_backtest(dataset, table, (19, SWEEP_BARS), capture=True) for table in tables]
    record = RunRecord.join("crossovers", [run.record for run in runs])
    n_steps = len(runs) * (SWEEP_BARS - 20)
    assert replay(record, dataset).n_steps == n_steps, "every step must be replayed"

    def rate(work: Callable[[], object], repeats: int) -> float:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return n_steps / min(times)

    here = rate(lambda: replay(record, dataset), 15)
    text = record.to_json()
    peer = rate(lambda: _python_chain(json.loads(text)), 2)
    what = f"replay, steps per second, {len(runs)} runs of 1 symbol x 20 closes"
    return Row(what, here, 1e6, "", f"{peer:,.0f}", here / peer, "hash chain only, json and hashlib", at_least=True)


def _report() -> Row:
    """Write the report of a long run, by the wall clock."""
    dataset, _, weights = _market(4, REPORT_BARS)

    def captured() -> Run:
        return run_backtest(dataset, weights, (0, REPORT_BARS), capture=True)

    def seconds(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.html"
        # A new run each time, since a run caches its results.
        runs = [captured(), captured()]
        here = min(seconds(partial(run.report, path)) for run in runs)
    peer = min(seconds(captured) for _ in range(2))
    what = f"report, {REPORT_BARS:,} bars x 4 symbols"
    return Row(what, here, REPORT_GOAL, " s", f"{peer * 1e3:.0f} ms", None, "the captured run of the report")


def _python_chain(record: dict[str, Any]) -> None:
    for run in record["runs"]:
        link = run["link"]
        for step in run["steps"]:
            fields = {name: value for name, value in step.items() if name != "link"} | {"previous": link}
            text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            link = hashlib.sha256(text.encode()).hexdigest()
            assert len(link) == len(step["link"])


def _import_time() -> Row:
    def seconds(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(8)]
        return median(float(run.stdout) for run in runs[1:])

    here, peer = seconds("openoutcry"), seconds("numpy")
    there = f"{peer * 1e3:.0f} ms"
    return Row("import openoutcry", here * 1e3, 100.0, " ms", there, peer / here, "import numpy only")


def _wheel_size() -> Row:
    """Compress the installed package like a wheel, without caches."""
    root = Path(native.__file__).parent
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in sorted(root.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(root))
    return Row("the package, compressed", packed.tell() / 1e6, 8.0, " MB")
