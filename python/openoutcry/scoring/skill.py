"""Whether a track is luck: errors of its Sharpe ratio, and what trials do to it.

Formulas, sources and what each number means are in `docs/skill.md`. Ratios of `Moments`, `Trials` and `Deflated` are
per bar; what takes `periods_per_year` is a year. What cannot be computed is refused, or None with its reason in
`undefined`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import plain, whole
from openoutcry.errors import refusal

Series = npt.NDArray[np.float64]

MOST = 2**63 - 1


@dataclass(frozen=True)
class Moments:
    """What the error of a Sharpe ratio depends on, per bar.

    Attributes:
        n_returns: Returns that the others are of.
        sharpe: Sharpe ratio per bar.
        skew: Population skewness.
        kurtosis: Raw population kurtosis, 3 for a normal distribution.
    """

    n_returns: int
    sharpe: float
    skew: float = 0.0
    kurtosis: float = 3.0

    @classmethod
    def of(cls, excess: Any) -> Moments:
        """Return the moments of excess or active returns, shape `(n_returns,)`."""
        return cls(*native.moments(series("excess", excess)))

    def _given(self) -> tuple[int, float, float, float]:
        return whole("n_returns", self.n_returns, 0, MOST), self.sharpe, self.skew, self.kurtosis


@dataclass(frozen=True)
class SharpeErrors:
    """A Sharpe ratio a year with its standard errors.

    Attributes:
        sharpe: The ratio a year.
        standard_error: Its error where returns do not depend on those before, skew and kurtosis counted.
        hac_standard_error: Its error with autocorrelation over `lags` bars.
        autocorrelation: The first one of the returns.
        lags: Bars back that dependence is counted over.
    """

    sharpe: float
    standard_error: float
    hac_standard_error: float
    autocorrelation: float
    lags: int


@dataclass(frozen=True)
class Trials:
    """What a ledger of tracks of one length says about selection.

    Attributes:
        n_trials: Tracks, copies too.
        n_returns: Returns of each.
        n_spread: Tracks whose ratios count in the spread: those that correlate at most 0.95 with every one before.
        spread: Standard deviation of their Sharpe ratios per bar; None for fewer than two.
        n_eff: Clusters by average linkage at a correlation of 0.5, reported only.
        undefined: Why a number is None.
    """

    n_trials: int
    n_returns: int
    n_spread: int
    spread: float | None
    n_eff: int | None
    undefined: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tracks: Any) -> Trials:
        """Return what tracks say, shape `(n_trials, n_returns)`, first trial first."""
        table = np.ascontiguousarray(numbers("tracks", tracks, 2), dtype=np.float64)
        return cls(**native.trials(table))


@dataclass(frozen=True)
class Deflated:
    """A deflated Sharpe ratio with everything that it was made of, per bar.

    Attributes:
        n_trials: Trials counted; they gate.
        n_eff: Clusters of trials, None where no ledger was given; reported only.
        sigma: Deviation of the ratios of trials, at least `1 / sqrt(n_returns - 1)`.
        sr0: Ratio that the best of the trials is expected to show without skill.
        psr: Probability that the true ratio is above 0.
        dsr: Probability that the true ratio is above `sr0`.
        z: Standard errors between the ratio and `sr0`: what ranks.
        moments: Those of the track.
    """

    n_trials: int
    n_eff: int | None
    sigma: float
    sr0: float
    psr: float
    dsr: float
    z: float
    moments: Moments


@dataclass(frozen=True)
class Rolling:
    """Sharpe ratios a year of windows that roll by one bar, oldest first.

    Attributes:
        ratios: Shape `(n_returns - n_window + 1,)`; NaN where a window does not vary.
        errors: Standard error of each, of the same shape; NaN where it is undefined.
        worst: The lowest, None if there is none.
        worst_at: First return of its window.
        undefined: Why a number is None.
    """

    ratios: Series
    errors: Series
    worst: float | None
    worst_at: int | None
    undefined: dict[str, str]


@dataclass(frozen=True)
class Regression:
    """A track as a line in a benchmark, by least squares with an intercept.

    Attributes:
        alpha: Mean return per bar that the benchmark does not explain.
        beta: Units of the benchmark held.
        alpha_error: Standard error of `alpha`.
        r_squared: Share of the variance that the benchmark explains.
        active: Return less `beta` times the benchmark's, shape `(n_returns,)`; its mean is `alpha`.
        undefined: Why a number is None.
    """

    alpha: float
    beta: float
    alpha_error: float | None
    r_squared: float | None
    active: Series
    undefined: dict[str, str]


@dataclass(frozen=True)
class Tracking:
    """How a track differs from a benchmark, a year.

    Attributes:
        excess: Mean difference of returns.
        tracking_error: Standard deviation of the difference.
        information_ratio: The first over the second.
    """

    excess: float
    tracking_error: float
    information_ratio: float


@dataclass(frozen=True)
class Decay:
    """What is left of a Sharpe ratio on returns that it was not chosen on.

    Attributes:
        in_sample: Ratio a year on the returns it was chosen on.
        out_of_sample: Ratio a year on the others.
        decay: Share of it that is gone; None unless there was one above 0.
        z: Standard errors of the difference.
        undefined: Why a number is None.
    """

    in_sample: float
    out_of_sample: float
    decay: float | None
    z: float | None
    undefined: dict[str, str]


class Bin(NamedTuple):
    """Orders whose confidence lies in [low, high), the last with its upper edge."""

    low: float
    high: float
    n_orders: int
    confidence: float | None
    hit_rate: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Calibration:
    """How well stated confidence agrees with what came.

    Attributes:
        n_stated: Orders that are counted.
        n_absent: Orders without a confidence.
        n_flat: Orders with one, of weight 0: they took no direction.
        confidence: Mean confidence.
        hit_rate: Share that came true.
        brier: Mean squared difference of the two: 0 is best, 0.25 is what 0.5 always gets.
        brier_skill: One less the score over that of stating the hit rate always; None where all or none came true.
        expected_error: Mean difference of confidence and hit rate over the bins, by count.
        bins: Equal bins over [0, 1].
        undefined: Why a number is None.
    """

    n_stated: int
    n_absent: int
    n_flat: int
    confidence: float
    hit_rate: float
    brier: float
    expected_error: float
    brier_skill: float | None
    bins: tuple[Bin, ...]
    undefined: dict[str, str]


def sharpe_errors(excess: Any, periods_per_year: float = 252.0, lags: int | None = None) -> SharpeErrors:
    """Return the Sharpe ratio a year with its standard errors.

    `lags` is by default the whole part of `4 (n_returns / 100)^(2/9)`.
    """
    counted = None if lags is None else whole("lags", lags, 0, MOST)
    return SharpeErrors(**native.sharpe_errors(series("excess", excess), periods_per_year, counted))


def probabilistic_sharpe(moments: Moments, benchmark: float = 0.0) -> float:
    """Return the probability that the true Sharpe ratio is above `benchmark`, per bar."""
    return native.probabilistic_sharpe(moments._given(), benchmark)[0]


def z_score(moments: Moments, benchmark: float = 0.0) -> float:
    """Return how many standard errors a Sharpe ratio lies above `benchmark`, per bar."""
    return native.probabilistic_sharpe(moments._given(), benchmark)[1]


def expected_max(n_trials: int) -> float:
    """Return the best of `n_trials` ratios without skill, expected, in deviations."""
    return native.expected_max(whole("n_trials", n_trials, 0, MOST))


def deflate(moments: Moments, trials: Trials | int, *, declared: int = 0, spread: float | None = None) -> Deflated:
    """Return the probability that a ratio is more than the best of its trials' luck.

    Args:
        moments: Those of the track.
        trials: What the ledger says, of tracks as long as this one; or the number of trials, where no more is known.
        declared: Trials made beside those of the ledger; they add to it.
        spread: Standard deviation per bar of the trials' Sharpe ratios, where `trials` is a number and it is known.

    Raises:
        OpenOutcryError: `argument_invalid`: the lengths differ, or the ratio has no precision.
    """
    counted = trials if isinstance(trials, Trials) else None
    if counted is not None and spread is not None:
        raise refusal("argument_invalid", f"`spread` must be left out where there is a ledger; received {spread!r}")
    n_trials = whole("trials", trials if counted is None else counted.n_trials, 0, MOST)
    found = native.deflate(
        moments._given(),
        n_trials + whole("declared", declared, 0, MOST),
        moments.n_returns if counted is None else counted.n_returns,
        spread if counted is None else counted.spread,
        None if counted is None else counted.n_eff,
    )
    return Deflated(**found, moments=moments)


def min_track_record(moments: Moments, benchmark: float = 0.0, confidence: float = 0.95) -> float:
    """Return how many returns it takes to tell a ratio from `benchmark`, per bar."""
    return native.min_track_record(moments._given(), benchmark, confidence)


def min_backtest_years(n_trials: int, sharpe: float) -> float:
    """Return the years below which the best of many shows `sharpe` a year by luck."""
    return native.min_backtest_years(whole("n_trials", n_trials, 0, MOST), sharpe)


def rolling_sharpe(excess: Any, n_window: int, periods_per_year: float = 252.0) -> Rolling:
    """Return the Sharpe ratio a year of every window of returns, and the worst."""
    window = whole("n_window", n_window, 0, MOST)
    return Rolling(**native.rolling_sharpe(series("excess", excess), window, periods_per_year))


def regress(returns: Any, benchmark: Any) -> Regression:
    """Return a track as a line in a benchmark of the same bars."""
    return Regression(**native.regress(series("returns", returns), series("benchmark", benchmark)))


def tracking(returns: Any, benchmark: Any, periods_per_year: float = 252.0) -> Tracking:
    """Return how a track differs from a benchmark of the same bars, a year.

    Raises:
        OpenOutcryError: `argument_invalid`: the difference has a standard deviation below 1e-8 per bar.
    """
    return Tracking(**native.tracking(series("returns", returns), series("benchmark", benchmark), periods_per_year))


def decay(in_sample: Any, out_of_sample: Any, periods_per_year: float = 252.0) -> Decay:
    """Return what is left of a Sharpe ratio on returns that it was not chosen on."""
    inside, outside = series("in_sample", in_sample), series("out_of_sample", out_of_sample)
    return Decay(**native.decay(inside, outside, periods_per_year))


def at_cost(returns: Any, cost: Any, turnover: Any, cost_bps: float) -> Series:
    """Return the returns that a track would have had at `cost_bps` of its turnover.

    What it paid, `cost`, is added back; both are shares of the NAV before the bar. Moments of it are cost-normalised.
    """
    return native.at_cost(series("returns", returns), series("cost", cost), series("turnover", turnover), cost_bps)


def break_even_bps(returns: Any, cost: Any, turnover: Any) -> float:
    """Return the cost, in bps of turnover, that leaves a mean return of 0."""
    return native.break_even_bps(series("returns", returns), series("cost", cost), series("turnover", turnover))


def calibrate(orders: Iterable[Sequence[float | None]], n_bins: int = 10) -> Calibration:
    """Return how well stated confidence agrees with what came.

    Args:
        orders: Of each its confidence or None, target weight, price of the fill, and close of the bar of the fill.
        n_bins: Equal bins over [0, 1].
    """
    stated = [tuple(order) for order in orders]
    found = native.calibrate(stated, whole("n_bins", n_bins, 1, 1000))  # type: ignore[arg-type]
    return Calibration(**found | {"bins": tuple(Bin(*each) for each in found["bins"])})


def series(name: str, values: Any) -> Series:
    """Return numbers in a row, float64."""
    return np.ascontiguousarray(numbers(name, values, 1), dtype=np.float64)


def numbers(name: str, values: Any, n_axes: int) -> npt.NDArray[Any]:
    """Return an array of real numbers of `n_axes`."""
    array = plain(name, values)
    if array.ndim != n_axes or array.dtype.kind not in "fiu":
        wanted = f"`{name}` must be an array of numbers in {n_axes} dimension{'s' * (n_axes > 1)}"
        raise refusal("shape_mismatch", f"{wanted}; received shape {array.shape} of {array.dtype}")
    return array
