"""Multiple testing over a field of agents, by block bootstrap.

Returns are simple, per day, and over the benchmark where a test requires it. Resamples depend on `seed` alone.
`windows` gives the days of each window in order; without it all days are one window. `docs/multiple-testing.md`
explains each test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import check_same_rows
from openoutcry.data.label_dates import in_row_order
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]

# Default resamples: the standard error of a p-value of 5 % is half a percentage point.
N_DRAWS = 2_000


@dataclass(frozen=True)
class MeanTest:
    """Result of a one-sided test that the mean of a series over windows is above 0.

    Attributes:
        mean: Mean return per day.
        p_value: One-sided bootstrap p-value; the null hypothesis is a mean of 0.
        sign_flip: p-value of the sign-flip test on the windows' sums; None for fewer than eight windows.
        block_length: Mean block length, in days.
    """

    mean: float
    p_value: float
    sign_flip: float | None
    block_length: float


@dataclass(frozen=True)
class SharpeInterval:
    """Confidence interval of an annual Sharpe ratio, or of the difference of two.

    Attributes:
        estimate: Sample estimate, annual.
        standard_error: Standard error of the estimate, annual.
        low: Lower end of the interval, annual.
        high: Upper end of the interval, annual.
        p_value: Two-sided p-value; the null hypothesis is 0.
        block_length: Block length, in days.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    block_length: int


@dataclass(frozen=True, eq=False)
class FieldTests:
    """Tests of a field of agents against a benchmark. p-values, unless noted.

    Attributes:
        reality_check: White's Reality Check; the null hypothesis is that no agent beats the benchmark.
        spa_lower: Hansen's SPA test, lower bound: agents with a negative mean are excluded.
        spa_consistent: Hansen's consistent SPA test: agents far below the benchmark are excluded.
        spa_upper: Hansen's SPA test, upper bound: every agent is recentred to a mean of 0.
        statistics: Studentised mean of each agent; not a p-value. Shape `(n_agents,)`, float64.
        alone: p-value of each agent, unadjusted. Shape `(n_agents,)`, float64.
        romano_wolf: p-value of each agent, adjusted for the familywise error rate. Shape `(n_agents,)`, float64.
        block_length: Mean block length, in days; not a p-value.
    """

    reality_check: float
    spa_lower: float
    spa_consistent: float
    spa_upper: float
    statistics: Array
    alone: Array
    romano_wolf: Array
    block_length: float


@dataclass(frozen=True, eq=False)
class Overfit:
    """The probability of backtest overfitting.

    Attributes:
        probability: Share of in-sample halves whose best agent ranks at or below the median out of sample.
        logits: Logit of the out-of-sample relative rank of the best agent. Shape `(n_halves,)`, float64.
    """

    probability: float
    logits: Array


@dataclass(frozen=True)
class Pair:
    """Test of the difference of two Sharpe ratios.

    Attributes:
        first: Column of the first agent.
        second: Column of the second agent.
        difference: Annual Sharpe ratio of the first less that of the second.
        p_value: Two-sided p-value of the pair alone.
        adjusted: p-value adjusted for the familywise error rate over all pairs.
    """

    first: int
    second: int
    difference: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class Bands:
    """Bands of agents; each holds those not significantly different from its leader.

    Attributes:
        bands: Columns of the agents of each band, best first.
        pairs: Every pair, by columns.
        block_length: Block length, in days.
    """

    bands: tuple[tuple[int, ...], ...]
    pairs: tuple[Pair, ...]
    block_length: int


def block_length(returns: npt.ArrayLike, *, windows: Sequence[int] | None = None, of_sharpe: bool = False) -> float:
    """Estimate the optimal mean block length of the stationary bootstrap, in days.

    For several agents it is the mean over agents.

    Args:
        returns: Shape `(n_days,)` or `(n_days, n_agents)`.
        windows: Days of each window.
        of_sharpe: Optimise for Sharpe ratios instead of means.

    Raises:
        OpenOutcryError: there are fewer than 12 days, or returns do not vary.

    Source: Politis and White (2004), corrected by Patton, Politis and White (2009).
    """
    panel = _panel(returns)
    return native.block_length(panel, _windows(panel, windows), of_sharpe=of_sharpe)


def mean_test(
    returns: npt.ArrayLike,
    windows: Sequence[int],
    *,
    seed: int,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> MeanTest:
    """Test whether the mean of returns over windows is above 0.

    Args:
        returns: Shape `(n_days,)`.
        windows: Days of each window; blocks stay inside them.
        seed: Seed of the resamples.
        n_draws: Number of resamples.
        block_length: Mean block length, in days; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than two windows or 250 days, or returns do not vary.

    Source: Politis and Romano (1994).
    """
    panel = _panel(returns)
    result = native.mean_test(panel, list(windows), n_draws=n_draws, seed=seed, block_length=block_length)
    return MeanTest(*result)


def sharpe_interval(
    returns: npt.ArrayLike,
    *,
    periods_per_year: float,
    seed: int,
    windows: Sequence[int] | None = None,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> SharpeInterval:
    """Compute a two-sided Sharpe ratio interval by studentised block bootstrap.

    Args:
        returns: Excess returns. Shape `(n_days,)`.
        periods_per_year: Days per year.
        seed: Seed of the resamples.
        windows: Days of each window; blocks stay inside them.
        level: Confidence level.
        n_draws: Number of resamples.
        block_length: Block length in days, rounded up, at most a tenth of all days; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 days, or returns do not vary.

    Source: Götze and Künsch (1996); Ledoit and Wolf (2008).
    """
    panel = _panel(returns)
    if panel.shape[1] != 1:
        raise refusal("shape_mismatch", f"returns of one agent are required; received shape {panel.shape}")
    return _interval(panel, windows, periods_per_year, seed, level, n_draws, block_length)


def sharpe_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    periods_per_year: float,
    seed: int,
    windows: Sequence[int] | None = None,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> SharpeInterval:
    """Compute a two-sided interval of the difference of two Sharpe ratios.

    Args:
        first: Excess returns. Shape `(n_days,)`.
        second: Excess returns on the same days. Shape `(n_days,)`.
        periods_per_year: Days per year.
        seed: Seed of the resamples.
        windows: Days of each window; blocks stay inside them.
        level: Confidence level.
        n_draws: Number of resamples.
        block_length: Block length in days, rounded up, at most a tenth of all days; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 days; returns are constant, or the two series are copies.

    Source: Ledoit and Wolf (2008).
    """
    check_same_rows(first=first, second=second)
    pair = [np.asarray(in_row_order(returns), dtype=np.float64) for returns in (first, second)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        shapes = " and ".join(str(returns.shape) for returns in pair)
        message = f"returns of two agents on the same days are required; received shapes {shapes}"
        raise refusal("shape_mismatch", message)
    return _interval(np.column_stack(pair), windows, periods_per_year, seed, level, n_draws, block_length)


def field_tests(
    returns: npt.ArrayLike,
    *,
    seed: int,
    windows: Sequence[int] | None = None,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> FieldTests:
    """Test whether any agent of a field beats the benchmark, and which ones do.

    Args:
        returns: Returns over the benchmark, on common days. Shape `(n_days, n_agents)`.
        seed: Seed of the resamples.
        windows: Days of each window; blocks stay inside them.
        n_draws: Number of resamples.
        block_length: Mean block length, in days; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 days; or returns of an agent are constant.

    Source: White (2000); Hansen (2005); Romano and Wolf (2005, 2016).
    """
    panel = _panel(returns)
    days = _windows(panel, windows)
    return FieldTests(**native.field_tests(panel, days, n_draws=n_draws, seed=seed, block_length=block_length))


def holm(p_values: npt.ArrayLike) -> Array:
    """Adjust p-values for the familywise error rate.

    Args:
        p_values: Shape `(n_tests,)`.

    Source: Holm (1979).
    """
    return native.holm(_vector(p_values))


def benjamini_hochberg(p_values: npt.ArrayLike) -> Array:
    """Adjust p-values for the false discovery rate.

    Valid for independent or positively dependent p-values.

    Args:
        p_values: Shape `(n_tests,)`.

    Source: Benjamini and Hochberg (1995).
    """
    return native.benjamini_hochberg(_vector(p_values))


def overfit(returns: npt.ArrayLike, *, n_blocks: int = 16) -> Overfit:
    """Estimate the probability of backtest overfitting (PBO).

    Advisory: on noise alone it is 1/2 with a standard deviation of about 0.2.

    Args:
        returns: Shape `(n_days, n_agents)`.
        n_blocks: Number of blocks of days, even, at most 24; every choice of half of them is one split.

    Raises:
        OpenOutcryError: there are fewer than two agents, or returns of an agent are constant in some half.

    Source: Bailey, Borwein, Lopez de Prado and Zhu (2017).
    """
    return Overfit(*native.overfit(_panel(returns), n_blocks))


def tie_bands(
    returns: npt.ArrayLike,
    *,
    periods_per_year: float,
    seed: int,
    windows: Sequence[int] | None = None,
    rank_by: Sequence[float] | None = None,
    level: float = 0.05,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> Bands:
    """Group agents into bands whose Sharpe ratios are not significantly different.

    Args:
        returns: Excess returns on common days. Shape `(n_days, n_agents)`.
        periods_per_year: Days per year.
        seed: Seed of the resamples.
        windows: Days of each window; blocks stay inside them.
        rank_by: Ranking score, higher is better; Sharpe ratios if None. Shape `(n_agents,)`.
        level: Familywise error rate over all pairs.
        n_draws: Number of resamples, whatever the number of pairs.
        block_length: Block length in days, rounded up, at most a tenth of all days; estimated if None.

    Raises:
        OpenOutcryError: there are fewer than two agents or 250 days, returns are constant, or `n_draws` is too small
            for any pair to be significant.

    Source: Ledoit and Wolf (2008); Romano and Wolf (2005); Besag and Clifford (1991).
    """
    panel = _panel(returns)
    bands, pairs, days = native.tie_bands(
        panel,
        _windows(panel, windows),
        periods_per_year=periods_per_year,
        level=level,
        n_draws=n_draws,
        seed=seed,
        rank_by=None if rank_by is None else [float(score) for score in rank_by],
        block_length=block_length,
    )
    return Bands(tuple(tuple(band) for band in bands), tuple(Pair(*pair) for pair in pairs), days)


def _interval(
    panel: Array,
    windows: Sequence[int] | None,
    periods_per_year: float,
    seed: int,
    level: float,
    n_draws: int,
    block_length: float | None,
) -> SharpeInterval:
    interval = native.sharpe_interval(
        panel,
        _windows(panel, windows),
        periods_per_year=periods_per_year,
        level=level,
        n_draws=n_draws,
        seed=seed,
        block_length=block_length,
    )
    return SharpeInterval(*interval)


def _panel(returns: npt.ArrayLike) -> Array:
    panel = np.asarray(in_row_order(returns), dtype=np.float64)
    if panel.ndim not in (1, 2):
        raise refusal("shape_mismatch", f"`returns` must have one or two axes; received shape {panel.shape}")
    return panel.reshape(len(panel), -1)


def _vector(p_values: npt.ArrayLike) -> Array:
    vector = np.asarray(p_values, dtype=np.float64)
    if vector.ndim != 1:
        raise refusal("shape_mismatch", f"`p_values` must have one axis; received shape {vector.shape}")
    return vector


def _windows(panel: Array, windows: Sequence[int] | None) -> list[int]:
    return [len(panel)] if windows is None else list(windows)
