"""Sweeps over arrays that are overwritten during the sweep or after it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import openoutcry as oo

MARKET = oo.Dataset.synthetic(3, 300, 11)


def test_overwriting_the_weights_after_a_sweep_changes_no_metric() -> None:
    table = np.full((MARKET.n_bars, MARKET.n_symbols), 0.2)
    sweep = oo.run_sweep(MARKET, [table])
    expected = oo.run_backtest(MARKET, table.copy())
    table[:] = 0.9
    assert sweep.runs[0].metrics == expected.metrics
    assert sweep.runs[0].turnover.tobytes() == expected.turnover.tobytes()


@pytest.mark.parametrize("is_given", [False, True])
def test_a_function_may_write_every_point_into_the_same_array(
    is_given: bool,
) -> None:
    dataset, table = oo.Dataset.synthetic(3, 60, 1), np.zeros((60, 3))

    def filled(size: float) -> np.ndarray:
        np.add(size, 0.0, out=table)
        time.sleep(0.005)  # Releases the interpreter, so that other threads run here.
        return table

    with ThreadPoolExecutor(2) if is_given else nullcontext() as workers:
        sweep = oo.run_sweep(dataset, filled, {"size": [0.1, 0.2, 0.3]}, executor=workers, jobs=2, progress=False)
    alone = [oo.run_backtest(dataset, np.full((60, 3), size)).nav.tobytes() for size in (0.1, 0.2, 0.3)]
    assert [run.nav.tobytes() for _, run in sweep] == alone
