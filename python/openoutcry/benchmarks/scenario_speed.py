"""Speed of the scenario generator compared with a numpy loop, and of a leak check."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck import check
from openoutcry.benchmarks.engine_speed import Row, cpu_seconds
from openoutcry.scenarios.scenario import NAMES, Scenario, ScenarioSpec

Table = npt.NDArray[np.float64]

# Goals: symbol-bars per second on one core for each tier and family, and seconds for a leak check.
PACE_GOAL, LEAK_GOAL = 5e6, 10.0
ROUNDS, ROUND_SECONDS = 12, 0.08
LEAK_BARS, LEAK_SYMBOLS = 2_500, 20


def measure(report: Callable[[Row], None] | None = None) -> list[Row]:
    """Return the rows of all tiers and families, and of a leak check.

    Takes about half a minute.

    Args:
        report: Receives each row when it is measured.
    """
    rows: list[Row] = []
    for work in (*(lambda name=name: pace(name) for name in NAMES), leak_check):
        rows.append(work())
        if report is not None:
            report(rows[-1])
    return rows


def pace(name: str) -> Row:
    """Return the speed of a tier or family, in symbol-bars per second of CPU time.

    The baseline generates closes only. Both run in turns, and the fastest call of each counts.
    """
    spec = ScenarioSpec(name)
    scenario, shape = Scenario(spec), (spec.n_days, spec.n_symbols)
    here, peer = best_of(scenario._core.dataset, lambda: garch(*shape))
    cells = spec.n_symbols * spec.n_days
    what = f"scenario {name}, {spec.n_symbols} x {spec.n_days:,}, symbol-bars per second"
    peer_is = "numpy GARCH(1,1)-t, closes only"
    return Row(what, cells / here, PACE_GOAL, "", f"{cells / peer:,.0f}", peer / here, peer_is, at_least=True)


def best_of(*works: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of the fastest call of each function, measured in turns."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            first = before = time.process_time()
            while before - first < ROUND_SECONDS:
                work()
                after = time.process_time()
                best[place], before = min(best[place], after - before), after
    return best


def garch(n_days: int, n_symbols: int, seed: int = 0) -> Table:
    """Return closes of GARCH(1,1) with Student t noise: a numpy loop over days.

    Shape `(n_days, n_symbols)`. Source: Bollerslev (1987).
    """
    degrees, omega, alpha, beta = 8.0, 2e-6, 0.08, 0.9
    noise = np.random.default_rng(seed).standard_t(degrees, (n_days, n_symbols)) * np.sqrt((degrees - 2.0) / degrees)
    moves = np.empty((n_days, n_symbols))
    variance = np.full(n_symbols, omega / (1.0 - alpha - beta))
    for day in range(n_days):
        moves[day] = np.sqrt(variance) * noise[day]
        variance = omega + alpha * moves[day] ** 2 + beta * variance
    return np.asarray(np.round(100.0 * np.exp(np.cumsum(moves, axis=0)), 2))


def leak_check() -> Row:
    """Return the row of a leak check of a pipeline with 100 columns."""
    spec = ScenarioSpec("hard", n_symbols=LEAK_SYMBOLS, n_days=LEAK_BARS, late_listings=0.0, delisting_rate=0.0)
    frame = np.array(Scenario(spec).dataset().close)
    start = time.process_time()
    report = check(features, frame, kind="pipeline")
    here = time.process_time() - start
    assert report.is_clean, "the pipeline must only look back"
    assert len(report.columns) == 5 * LEAK_SYMBOLS, "the pipeline must return five columns per symbol"
    once = cpu_seconds(lambda: features(frame), repeats=3)
    what = f"leakcheck, {LEAK_BARS:,} x {LEAK_SYMBOLS} into {len(report.columns)} columns"
    peer_is = f"one run of the pipeline; the check runs it {report.n_runs} times"
    return Row(what, here, LEAK_GOAL, " s", f"{once * 1e3:.1f} ms", None, peer_is)


def features(close: Table) -> Table:
    """Return five backward-looking features of each column of closes."""
    change = np.full_like(close, np.nan)
    change[1:] = close[1:] / close[:-1] - 1.0
    momentum = np.full_like(close, np.nan)
    momentum[20:] = close[20:] / close[:-20] - 1.0
    mean, _ = _rolling(close, 20)
    _, deviation = _rolling(change, 20)
    longer, spread = _rolling(close, 60)
    return np.hstack([change, momentum, close / mean - 1.0, deviation, (close - longer) / spread])


def _rolling(table: Table, n: int) -> tuple[Table, Table]:
    # NaN in the first n - 1 rows.
    mean, deviation = np.full_like(table, np.nan), np.full_like(table, np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(table, n, axis=0)
    mean[n - 1 :], deviation[n - 1 :] = windows.mean(axis=-1), windows.std(axis=-1)
    return mean, deviation
