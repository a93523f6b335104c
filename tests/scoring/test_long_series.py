"""Statistics of long series, which read them once: the same numbers as the formulas over whole tables."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.report.charts.downsampling import decimate
from openoutcry.report.charts.flag_runs import flag_runs
from openoutcry.scoring.benchmark_comparison import rolling_beta, rolling_sortino, rolling_volatility
from openoutcry.scoring.least_squares import fit
from openoutcry.scoring.null_agents import _blocks, _plan_of

RNG = np.random.default_rng(3)
SERIES = [RNG.normal(1e-4, 0.01, 500), np.where(RNG.random(700) < 0.8, 0.0, RNG.normal(0.0, 3e-4, 700))]
OTHERS = [RNG.normal(1e-4, 0.01, 500), np.repeat(RNG.normal(0.0, 3e-4, 7), 100)]


def sums(values: Any, n_window: int) -> Any:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[n_window:] - total[:-n_window]


@pytest.mark.parametrize("n_window", [2, 20, 250])
@pytest.mark.parametrize("place", [0, 1])
def test_rolling_statistics_have_the_bits_of_differences_of_running_sums(place: int, n_window: int) -> None:
    own, other = SERIES[place], OTHERS[place]
    before = np.full(n_window - 1, np.nan)

    centred = own - own.mean()
    mean, square = (sums(each, n_window) / n_window for each in (centred, centred * centred))
    variance = np.maximum(square - mean**2, 0.0) * (n_window / (n_window - 1))
    wanted = np.concatenate([before, np.sqrt(variance * 252.0)])
    assert np.array_equal(rolling_volatility(own, n_window, 252.0), wanted, equal_nan=True)

    losses = np.minimum(own, 0.0)
    mean, square = (sums(each, n_window) / n_window for each in (own, losses * losses))
    least = 4.0 * np.finfo(np.float64).eps * float((losses * losses).sum()) / n_window
    deviation = np.sqrt(np.where(square > least, square, np.nan))
    wanted = np.concatenate([before, mean / deviation * np.sqrt(252.0)])
    assert np.array_equal(rolling_sortino(own, n_window, 252.0), wanted, equal_nan=True)

    against = other - other.mean()
    means = [sums(each, n_window) / n_window for each in (centred, against, centred * against, against * against)]
    covariance, variance = means[2] - means[0] * means[1], means[3] - means[1] ** 2
    beta = np.divide(covariance, variance, out=np.full(len(variance), np.nan), where=variance > 1e-8**2)
    assert np.array_equal(rolling_beta(own, other, n_window).beta, np.concatenate([before, beta]), equal_nan=True)


@pytest.mark.parametrize("lags", [0, 1, 12, 30])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_regression_is_that_of_a_table_of_all_columns(n_columns: int, lags: int) -> None:
    rng = np.random.default_rng(n_columns)
    columns = rng.normal(0.0, 3e-4, (9_000, n_columns))
    values = columns.sum(axis=1) + np.convolve(rng.normal(1e-6, 2e-4, 9_002), [1.0, 0.5, -0.2], "valid")
    design = np.column_stack([np.ones(len(values)), columns])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ (design.T @ values)
    scores = design * (values - design @ coefficients)[:, None]
    middle = scores.T @ scores
    for lag in range(1, lags + 1):
        lagged = scores[lag:].T @ scores[:-lag]
        middle = middle + (1.0 - lag / (lags + 1.0)) * (lagged + lagged.T)
    line = fit(values, columns, lags)
    assert line.coefficients == pytest.approx(coefficients, rel=1e-11, abs=1e-16)
    assert line.hac_errors == pytest.approx(np.sqrt(np.diag(inverse @ middle @ inverse)), rel=1e-11)


def test_a_regression_of_few_rows_has_at_most_as_many_lags() -> None:
    rng = np.random.default_rng(0)
    values, columns = rng.normal(size=5), rng.normal(size=(5, 1))
    # Lags beyond the rows have no products; their number is that of the weights.
    assert fit(values, columns, 9).hac_errors == pytest.approx(_hac(values, columns, 9), rel=1e-9)


def _hac(values: Any, columns: Any, lags: int) -> Any:
    design = np.column_stack([np.ones(len(values)), columns])
    inverse = np.linalg.inv(design.T @ design)
    scores = design * (values - design @ (inverse @ (design.T @ values)))[:, None]
    middle = scores.T @ scores
    for lag in range(1, min(lags, len(scores) - 1) + 1):
        lagged = scores[lag:].T @ scores[:-lag]
        middle = middle + (1.0 - lag / (lags + 1.0)) * (lagged + lagged.T)
    return np.sqrt(np.diag(inverse @ middle @ inverse))


def test_runs_of_flags_and_places_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(1)
    for n, share in [(0, 0.5), (1, 0.0), (1, 1.0), (7, 0.5), (64, 0.0), (999, 0.001), (1000, 0.02), (1003, 0.9)]:
        flags = rng.random(n) < share
        padded = [False, *flags.tolist(), False]
        edges = [place for place in range(n + 1) if padded[place] != padded[place + 1]]
        assert [each.tolist() for each in flag_runs(flags)] == [edges[::2], edges[1::2]]
        places = native.places_below(np.where(flags, 0.2, 0.5), 0.5)
        assert places.tolist() == [place for place, flag in enumerate(flags) if flag]
        gains, losses = native.signed_sums(np.where(flags, 0.25, -0.5))
        lengths = [[b - a for a, b in zip(*ends, strict=True)] for ends in map(flag_runs, (flags, ~flags))]
        assert gains == (0.25 * flags.sum(), flags.sum(), max(lengths[0], default=0))
        assert losses == (-0.5 * (~flags).sum(), (~flags).sum(), max(lengths[1], default=0))


def test_decimation_keeps_the_extremes_of_a_last_bucket_that_is_shorter() -> None:
    rng = np.random.default_rng(2)
    for n, budget in [(1001, 20), (997, 100), (1000, 20), (57, 4), (101, 2)]:
        values = rng.normal(size=n).cumsum()
        size = -(-n // max(budget // 2, 1))
        wanted = {0, n - 1}
        for first in range(0, n, size):
            part = values[first : first + size]
            wanted |= {first + int(part.argmin()), first + int(part.argmax())}
        assert decimate(values, budget).tolist() == sorted(wanted)


def test_returns_are_riskless_only_if_all_are() -> None:
    flat, varied = np.full(50_000, 1e-9), RNG.normal(0.0, 1e-3, 50_000)
    late = np.concatenate([flat[:-5000], varied[:5000]])
    assert native.is_riskless(flat)
    assert not native.is_riskless(varied)
    assert not native.is_riskless(late)
    # A part that varies by rounding is no risk; one that varies among many that do not is.
    assert native.is_riskless(1e-12 * varied)
    assert not native.is_riskless(np.concatenate([varied[:100], flat]))


def test_the_exposure_of_one_symbol_is_that_of_its_column_beside_flat_ones() -> None:
    weights = np.concatenate([RNG.normal(size=50), [0.0, -0.0]])[:, None]
    table = np.hstack([weights, np.zeros((52, 2))])
    for exposure in (native.gross_exposure, native.net_exposure):
        assert exposure(weights).tobytes() == exposure(table).tobytes()
        assert exposure(np.asfortranarray(table)).tobytes() == exposure(table).tobytes()


def _run(n_bars: int) -> oo.Run:
    close = np.exp(np.cumsum(np.random.default_rng(5).normal(0.0, 3e-4, n_bars)))[:, None]
    dates = np.datetime64("2020-01-01T00:00") + np.arange(n_bars)
    weights = np.full((n_bars, 1), np.nan)
    weights[::300, 0] = np.where(np.arange(len(weights[::300])) % 2, 0.2, 0.7)
    return oo.run_backtest(oo.Dataset.from_arrays(dates, ["A"], close, periods_per_year=525_600.0), weights)


def test_random_agents_write_each_block_to_rows_without_orders() -> None:
    run = _run(40_000)
    rngs = [np.random.default_rng(9) for _ in range(2)]
    plans = [_plan_of(run, rng) for rng in rngs]
    assert plans[0] is not None
    assert plans[1] is not None
    place, found = 0, 0
    for block in _blocks(plans[0], rngs[0]):
        for rows in block:
            alone = np.full(rows.shape, np.nan)
            plans[1].write(alone, place, rngs[1])
            assert np.array_equal(rows, alone, equal_nan=True)
            found += int(np.isfinite(rows).sum())
        place += len(block[0])
    assert (place, found > 0) == (39_999, True)


def test_a_run_of_a_table_makes_no_text_of_its_dates() -> None:
    tracemalloc.start()
    try:
        run = _run(30_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / len(run.nav) < 60.0  # a text per date takes more
    assert "dates" not in run.dataset.__dict__
