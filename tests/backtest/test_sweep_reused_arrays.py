"""Sweeps over arrays that are written to again: while others are made, and once the runs are there."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import openoutcry as oo

MARKET = oo.Dataset.synthetic(3, 300, 11)


def test_the_metrics_of_a_sweep_read_nothing_but_its_runs() -> None:
    table = np.full((MARKET.n_bars, MARKET.n_symbols), 0.2)
    sweep = oo.run_sweep(MARKET, [table])
    expected = oo.run_backtest(MARKET, table.copy())
    table[:] = 0.9
    assert sweep.runs[0].metrics == expected.metrics
    assert sweep.runs[0].turnover.tobytes() == expected.turnover.tobytes()


@pytest.mark.parametrize("is_given", [False, True])
def test_a_point_keeps_its_weights_though_the_next_is_written_into_the_same_array(
    is_given: bool,
) -> None:
    dataset, table = oo.Dataset.synthetic(3, 60, 1), np.zeros((60, 3))

    def filled(size: float) -> np.ndarray:
        np.add(size, 0.0, out=table)
        time.sleep(0.005)  # Others may run here, as in whatever lets go of the interpreter.
        return table

    with ThreadPoolExecutor(2) if is_given else nullcontext() as workers:
        sweep = oo.run_sweep(dataset, filled, {"size": [0.1, 0.2, 0.3]}, executor=workers, jobs=2, progress=False)
    alone = [oo.run_backtest(dataset, np.full((60, 3), size)).nav.tobytes() for size in (0.1, 0.2, 0.3)]
    assert [run.nav.tobytes() for _, run in sweep] == alone
