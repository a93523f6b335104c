"""Sweeps that keep one metric of each run."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from test_sweep import COSTS, EXECUTORS, GRID, LATE, MARKET, anything, crossover

import openoutcry as oo

METRIC_ITEMS: dict[str, Any] = {"kind": ["weights", "agent", "baseline", "name"], "weight": [0.1, 0.0, 0.3]}


@pytest.mark.parametrize("metric", ["sharpe", "max_drawdown", "turnover"])
@pytest.mark.parametrize("name", ["threads", "processes"])
def test_a_sweep_of_one_metric_has_the_values_of_the_runs_in_every_executor(name: str, metric: str) -> None:
    runs = oo.run_sweep(MARKET, anything, METRIC_ITEMS, window=LATE, costs=COSTS)
    seen: list[Any] = []
    with EXECUTORS[name]() as executor:
        sweep = oo.run_sweep(
            MARKET, anything, METRIC_ITEMS, window=LATE, costs=COSTS, metric=metric, executor=executor,
            on_result=lambda index, params, value: seen.append((index, params, value)),
        )  # fmt: skip
    values = [run.metrics[metric] for run in runs.runs]
    assert sweep.values() == sweep.values(metric) == runs.values(metric) == values
    assert seen == list(zip(range(12), runs.params, values, strict=True))
    assert (sweep.metric, runs.metric, len(sweep)) == (metric, None, 12)
    params, best = sweep.best()
    expected, run = runs.best(metric)
    assert params == expected
    assert best.nav.tobytes() == run.nav.tobytes()
    assert repr(sweep) == repr(runs)
    with pytest.raises(oo.OpenOutcryError, match=rf"`metric` must be '{metric}'; received 'vol'; hint: `run_sweep"):
        sweep.best("vol")


def test_a_run_that_was_not_kept_is_made_again_when_it_is_read() -> None:
    sweep = oo.run_sweep(MARKET, crossover, GRID, costs=COSTS, metric="return")
    runs = oo.run_sweep(MARKET, crossover, GRID, costs=COSTS)
    for (params, again), (expected, run) in zip(sweep, runs, strict=True):
        assert (params, again.name, again.metrics) == (expected, run.name, run.metrics)
        assert again.nav.tobytes() == run.nav.tobytes()
    assert [run.nav[-1] for run in sweep.runs[-2:]] == [run.nav[-1] for run in runs.runs[-2:]]
    pytest.importorskip("pandas")
    assert list(sweep.to_frame()["return"]) == sweep.values()
    assert list(sweep.to_frame().columns) == ["short", "long", "return"]


def test_a_point_that_gives_other_weights_when_it_is_run_again_is_refused() -> None:
    weights = [crossover(short, 20) for short in (2, 5)]
    sweep = oo.run_sweep(MARKET, weights, metric="sharpe")
    weights[1] *= 0.5
    weights[1][::7] = 0.0
    assert sweep.runs[0].metric("sharpe") == sweep.values()[0]
    with pytest.raises(oo.OpenOutcryError, match="the same decisions for the same params are required") as caught:
        sweep.runs[1]
    assert caught.value.slug == "state_mismatch"


def test_a_metric_that_does_not_exist_is_refused_before_anything_runs() -> None:
    called: list[int] = []
    with pytest.raises(oo.OpenOutcryError, match=r'`metric` must be one of .*; received "luck"'):
        oo.run_sweep(MARKET, lambda short: called.append(short), {"short": [1]}, metric="luck")
    assert not called
    with pytest.raises(oo.OpenOutcryError, match="`metric` must be"):
        oo.run_sweep(MARKET, crossover, GRID, metric=5)  # type: ignore[arg-type]
    with pytest.raises(oo.OpenOutcryError, match="`metric` must be one of"):
        oo.run_sweep(MARKET, crossover, GRID).best("")


# Prints the growth of peak memory in the memory of one table of weights.
SWEEP_MEMORY = """
import numpy as np
import openoutcry as oo

def kilobytes(key):
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith(key)))

close = 50.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 1e-3, (200_000, 1)), axis=0))
market = oo.Dataset.from_arrays(np.datetime64("2020-01-01T00:00") + np.arange(200_000), ["A"], close)
weights = np.full((market.n_bars, 1), 0.5)
oo.run_sweep(market, lambda size: weights * size, {"size": [0.1]}, jobs=1, metric="sharpe")
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # resets the peak to the current use
before = kilobytes("VmRSS")
grid = {"size": [k / 80 for k in range(80)]}
sweep = oo.run_sweep(market, lambda size: weights * size, grid, jobs=1, metric="sharpe")
assert len(sweep.values()) == 80
print((kilobytes("VmHWM") - before) * 1024 / weights.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_sweep_of_one_metric_takes_the_memory_of_eight_runs() -> None:
    printed = subprocess.run([sys.executable, "-c", SWEEP_MEMORY], capture_output=True, text=True, check=True).stdout
    # The weights and the NAV of eight tables, of 80.
    assert float(printed) < 30
