"""Whether anybody in a field of agents has skill: tests by resampling of days.

Returns are simple, per day, and over the benchmark where a test says so. Every draw is a function of `seed`.
`windows` says how many days each window has, in order; without it all days are one window. `docs/field.md` says what
each test tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]

# Resamples where none are asked for: the error of a p-value of 5 % is half a percent.
N_DRAWS = 2_000


@dataclass(frozen=True)
class MeanTest:
    """Whether the mean of a series over windows is above 0.

    Attributes:
        mean: Mean return per day.
        p_value: Probability of such a mean, or a higher one, where the true one is 0.
        sign_flip: The same by the signs of the windows' sums; None for fewer than eight windows.
        block_length: Days of a block, on average.
    """

    mean: float
    p_value: float
    sign_flip: float | None
    block_length: float


@dataclass(frozen=True)
class SharpeInterval:
    """A Sharpe ratio a year, or the difference of two, and where the true one lies.

    Attributes:
        estimate: What the sample says, a year.
        standard_error: Standard error of the estimate, a year.
        low: Lower end of the interval, a year.
        high: Upper end of the interval, a year.
        p_value: Probability of such an estimate, on either side, where the true one is 0.
        block_length: Days of a block.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    block_length: int


@dataclass(frozen=True, eq=False)
class FieldTests:
    """What a field says about its best agent, and about each; p-values but for two.

    Attributes:
        reality_check: White's, that nobody beats the benchmark.
        spa_lower: Hansen's, where all agents that lose are left out.
        spa_consistent: Hansen's, where those that lose by far are left out.
        spa_upper: Hansen's, where every agent counts as though it broke even.
        statistics: Studentised mean of each agent. Shape `(n_agents,)`.
        alone: Of each agent by itself. Shape `(n_agents,)`.
        romano_wolf: Of each agent, adjusted so that any false claim counts. Shape `(n_agents,)`.
        block_length: Days of a block, on average.
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
        probability: Share of halves of the days whose best agent is at most in the middle of the other half.
        logits: Logit of the relative rank of the best agent, a half each. Shape `(n_halves,)`.
    """

    probability: float
    logits: Array


@dataclass(frozen=True)
class Pair:
    """Two agents, and whether their Sharpe ratios differ.

    Attributes:
        first: Place of the first agent.
        second: Place of the second agent.
        difference: Sharpe ratio a year of the first less that of the second.
        p_value: Probability of such a difference, either way, where there is none.
        adjusted: The same where any false difference among all pairs counts.
    """

    first: int
    second: int
    difference: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class Bands:
    """Agents in bands, of each those that cannot be told from its first.

    Attributes:
        bands: Places of the agents of each band, best first.
        pairs: Every pair, by places.
        block_length: Days of a block.
    """

    bands: tuple[tuple[int, ...], ...]
    pairs: tuple[Pair, ...]
    block_length: int


def block_length(returns: npt.ArrayLike, *, windows: Sequence[int] | None = None, of_sharpe: bool = False) -> float:
    """Return the mean days of a block that suits returns.

    It is for the stationary bootstrap; of a panel it is the mean over agents.

    Args:
        returns: Shape `(n_days,)` or `(n_days, n_agents)`.
        windows: Days of each window.
        of_sharpe: Whether it is to suit Sharpe ratios instead of means.

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
        seed: What the draws are a function of.
        n_draws: Resamples.
        block_length: Days of a block, on average; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than two windows or 250 days, or returns do not vary.

    Source: Politis and Romano (1994).
    """
    panel = _panel(returns)
    found = native.mean_test(panel, list(windows), n_draws=n_draws, seed=seed, block_length=block_length)
    return MeanTest(*found)


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
    """Return a two-sided interval of a Sharpe ratio, by a studentised block bootstrap.

    Args:
        returns: Excess returns. Shape `(n_days,)`.
        periods_per_year: Days a year.
        seed: What the draws are a function of.
        windows: Days of each window; blocks stay inside them.
        level: How often the interval should hold the true ratio.
        n_draws: Resamples.
        block_length: Days of a block, at most a tenth of all, rounded up; estimated if None.

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
    """Return a two-sided interval of the difference of two Sharpe ratios.

    Args:
        first: Excess returns. Shape `(n_days,)`.
        second: Excess returns on the same days. Shape `(n_days,)`.
        periods_per_year: Days a year.
        seed: What the draws are a function of.
        windows: Days of each window; blocks stay inside them.
        level: How often the interval should hold the true difference.
        n_draws: Resamples.
        block_length: Days of a block, at most a tenth of all, rounded up; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 days, returns do not vary, or the tracks are copies.

    Source: Ledoit and Wolf (2008).
    """
    tracks = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    if tracks[0].ndim != 1 or tracks[0].shape != tracks[1].shape:
        shapes = " and ".join(str(each.shape) for each in tracks)
        raise refusal(
            "shape_mismatch", f"returns of two agents on the same days are required; received shapes {shapes}"
        )
    return _interval(np.column_stack(tracks), windows, periods_per_year, seed, level, n_draws, block_length)


def field_tests(
    returns: npt.ArrayLike,
    *,
    seed: int,
    windows: Sequence[int] | None = None,
    n_draws: int = N_DRAWS,
    block_length: float | None = None,
) -> FieldTests:
    """Test whether anybody in a field beats the benchmark, and who.

    Args:
        returns: Returns over the benchmark, on common days. Shape `(n_days, n_agents)`.
        seed: What the draws are a function of.
        windows: Days of each window; blocks stay inside them.
        n_draws: Resamples.
        block_length: Days of a block, on average; estimated if None.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 days, or returns of an agent do not vary.

    Source: White (2000); Hansen (2005); Romano and Wolf (2005, 2016).
    """
    panel = _panel(returns)
    days = _windows(panel, windows)
    return FieldTests(**native.field_tests(panel, days, n_draws=n_draws, seed=seed, block_length=block_length))


def holm(p_values: npt.ArrayLike) -> Array:
    """Return p-values adjusted so that any false rejection is as rare as the level.

    Args:
        p_values: Shape `(n_tests,)`.

    Source: Holm (1979).
    """
    return native.holm(_vector(p_values))


def benjamini_hochberg(p_values: npt.ArrayLike) -> Array:
    """Return p-values adjusted so that the share of false rejections is the level.

    It holds for p-values that are independent or positively dependent.

    Args:
        p_values: Shape `(n_tests,)`.

    Source: Benjamini and Hochberg (1995).
    """
    return native.benjamini_hochberg(_vector(p_values))


def overfit(returns: npt.ArrayLike, *, n_blocks: int = 16) -> Overfit:
    """Return the probability of backtest overfitting of choosing the best of a field.

    It is advisory: on noise alone it is 1/2 with a standard deviation of about 0.2.

    Args:
        returns: Shape `(n_days, n_agents)`.
        n_blocks: Blocks of days, half of which are chosen in every way; even, at most 24.

    Raises:
        OpenOutcryError: there are fewer than two agents, or one does not vary in some half.

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
    """Return the bands of agents whose Sharpe ratios cannot be told apart.

    Args:
        returns: Excess returns on common days. Shape `(n_days, n_agents)`.
        periods_per_year: Days a year.
        seed: What the draws are a function of.
        windows: Days of each window; blocks stay inside them.
        rank_by: What the best agent has most of; Sharpe ratios if None. Shape `(n_agents,)`.
        level: Share of fields of equal agents in which any two may be told apart.
        n_draws: Resamples, of any count of pairs.
        block_length: Days of a block, at most a tenth of all, rounded up; estimated if None.

    Raises:
        OpenOutcryError: there are fewer than two agents or 250 days, returns do not vary, or `n_draws` cannot tell any
            two apart.

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
        rank_by=None if rank_by is None else [float(each) for each in rank_by],
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
    found = native.sharpe_interval(
        panel,
        _windows(panel, windows),
        periods_per_year=periods_per_year,
        level=level,
        n_draws=n_draws,
        seed=seed,
        block_length=block_length,
    )
    return SharpeInterval(*found)


def _panel(returns: npt.ArrayLike) -> Array:
    panel = np.asarray(returns, dtype=np.float64)
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
