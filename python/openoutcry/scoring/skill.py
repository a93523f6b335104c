"""Skill statistics of one return series, such as the deflated Sharpe ratio.

`docs/skill.md` has formulas and sources. Sharpe ratios of `Moments`, `Trials` and `Deflated` are per bar; functions
with `periods_per_year` return annual ones. An undefined number is None, with its reason in `undefined`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import check_same_rows, checked_integer, unmasked_array
from openoutcry.data.label_dates import in_row_order
from openoutcry.errors import refusal
from openoutcry.scoring.return_dates import caveats_of_series

Series = npt.NDArray[np.float64]

MAX_COUNT = 2**63 - 1


@dataclass(frozen=True)
class Moments:
    """Moments that determine the standard error of a Sharpe ratio, per bar.

    Attributes:
        n_returns: Number of returns.
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
        return checked_integer("n_returns", self.n_returns, 0, MAX_COUNT), self.sharpe, self.skew, self.kurtosis


@dataclass(frozen=True)
class SharpeErrors:
    """An annual Sharpe ratio with its standard errors.

    Attributes:
        sharpe: Sharpe ratio, annual.
        standard_error: Standard error for independent returns, with skewness and kurtosis.
        hac_standard_error: Standard error robust to autocorrelation over `lags` bars.
        autocorrelation: First-order autocorrelation of the returns.
        lags: Number of lags.
        caveats: Stated bars per year that contradict the dates of a pandas index, or dates with missing bars.
    """

    sharpe: float
    standard_error: float
    hac_standard_error: float
    autocorrelation: float
    lags: int
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trials:
    """Selection statistics of a ledger of trials of one length.

    Attributes:
        n_trials: Number of trials, copies included.
        n_returns: Returns of each trial.
        n_spread: Trials counted in the spread: those that correlate at most 0.95 with every earlier one.
        spread: Standard deviation of their Sharpe ratios per bar; None for fewer than two.
        n_eff: Clusters by average linkage at a correlation of 0.5; reported only.
        undefined: Why a number is None.
    """

    n_trials: int
    n_returns: int
    n_spread: int
    spread: float | None
    n_eff: int | None
    undefined: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, returns: Any) -> Trials:
        """Return the statistics of return series in trial order.

        Args:
            returns: Shape `(n_trials, n_returns)`.
        """
        table = np.ascontiguousarray(numbers("returns", returns, 2), dtype=np.float64)
        return cls(**native.trials(table))


@dataclass(frozen=True)
class Deflated:
    """A deflated Sharpe ratio with all of its inputs, per bar.

    Attributes:
        n_trials: Number of trials used for deflation.
        n_eff: Clusters of trials; None without a ledger; reported only.
        sigma: Standard deviation of the trials' Sharpe ratios, at least `1 / sqrt(n_returns - 1)`.
        sr0: Expected maximum Sharpe ratio of the trials without skill.
        psr: Probability that the true Sharpe ratio is above 0.
        dsr: Probability that the true Sharpe ratio is above `sr0`.
        z: Standard errors of the Sharpe ratio above `sr0`; boards rank by it.
        moments: Moments of the return series.
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
    """Annual Sharpe ratios of rolling windows, oldest first.

    Attributes:
        ratios: Shape `(n_returns - n_window + 1,)`, float64; NaN where the returns of a window are constant.
        errors: Standard errors, same shape; NaN where undefined.
        worst: Lowest ratio; None if all are undefined.
        worst_at: Index of the first return of its window.
        undefined: Why a number is None.
        caveats: As in `SharpeErrors`.
    """

    ratios: Series
    errors: Series
    worst: float | None
    worst_at: int | None
    undefined: dict[str, str]
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Regression:
    """Ordinary least squares regression of returns on a benchmark, with an intercept.

    Attributes:
        alpha: Intercept: mean return per bar not explained by the benchmark.
        beta: Slope: exposure to the benchmark.
        alpha_error: Standard error of `alpha`.
        r_squared: Share of the variance explained by the benchmark.
        active: Return less `beta` times the benchmark's, shape `(n_returns,)`, float64; its mean is `alpha`.
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
    """Difference of returns from a benchmark, annual.

    Attributes:
        excess: Mean difference of returns.
        tracking_error: Standard deviation of the difference.
        information_ratio: `excess / tracking_error`.
        caveats: As in `SharpeErrors`.
    """

    excess: float
    tracking_error: float
    information_ratio: float
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decay:
    """Decay of a Sharpe ratio from in sample to out of sample.

    Attributes:
        in_sample: Annual Sharpe ratio in sample.
        out_of_sample: Annual Sharpe ratio out of sample.
        decay: Relative loss, `1 - out_of_sample / in_sample`; None unless `in_sample` is above 0.
        z: Difference in standard errors.
        undefined: Why a number is None.
        caveats: As in `SharpeErrors`.
    """

    in_sample: float
    out_of_sample: float
    decay: float | None
    z: float | None
    undefined: dict[str, str]
    caveats: tuple[str, ...] = ()


class Bin(NamedTuple):
    """One calibration bin: orders with a confidence in [low, high).

    The last bin includes its upper edge.
    """

    low: float
    high: float
    n_orders: int
    confidence: float | None
    hit_rate: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Calibration:
    """Calibration of stated confidence against outcomes.

    Attributes:
        n_stated: Orders counted.
        n_absent: Orders without a confidence.
        n_flat: Orders with a confidence but weight 0, which have no direction.
        confidence: Mean confidence.
        hit_rate: Share of orders with outcome 1.
        brier: Brier score: 0 is perfect, a constant confidence of 0.5 scores 0.25.
        brier_skill: Brier skill score against always stating the hit rate; None if all outcomes are equal.
        expected_error: Expected calibration error, weighted by count.
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


def sharpe_errors(excess: Any, periods_per_year: float, lags: int | None = None) -> SharpeErrors:
    """Return the annual Sharpe ratio with its standard errors.

    `lags` defaults to `floor(4 (n_returns / 100)^(2/9))`.
    """
    counted = None if lags is None else checked_integer("lags", lags, 0, MAX_COUNT)
    found = native.sharpe_errors(series("excess", excess), periods_per_year, counted)
    return SharpeErrors(**found, caveats=caveats_of_series(periods_per_year, excess=excess))


def probabilistic_sharpe(moments: Moments, benchmark: float = 0.0) -> float:
    """Return the probability that the true Sharpe ratio is above `benchmark`, per bar."""
    return native.probabilistic_sharpe(moments._given(), benchmark)[0]


def z_score(moments: Moments, benchmark: float = 0.0) -> float:
    """Return the standard errors of a Sharpe ratio above `benchmark`, per bar."""
    return native.probabilistic_sharpe(moments._given(), benchmark)[1]


def expected_max(n_trials: int) -> float:
    """Return the expected maximum of `n_trials` standard normal variables."""
    return native.expected_max(checked_integer("n_trials", n_trials, 0, MAX_COUNT))


def deflate(moments: Moments, trials: Trials | int, *, declared: int = 0, spread: float | None = None) -> Deflated:
    """Compute the deflated Sharpe ratio.

    Args:
        moments: Moments of the return series.
        trials: Statistics of a ledger with series of the same length; or only the number of trials.
        declared: Trials in addition to those of the ledger.
        spread: Standard deviation per bar of the trials' Sharpe ratios, if `trials` is a number and it is known.

    Raises:
        OpenOutcryError: `argument_invalid`: the lengths differ, or the standard error is undefined.

    Source: Bailey and Lopez de Prado (2014).
    """
    ledger = trials if isinstance(trials, Trials) else None
    if ledger is not None and spread is not None:
        raise refusal("argument_invalid", f"`spread` must be None if `trials` is a ledger; received {spread!r}")
    n_trials = checked_integer("trials", trials if ledger is None else ledger.n_trials, 0, MAX_COUNT)
    deflated = native.deflate(
        moments._given(),
        n_trials + checked_integer("declared", declared, 0, MAX_COUNT),
        moments.n_returns if ledger is None else ledger.n_returns,
        spread if ledger is None else ledger.spread,
        None if ledger is None else ledger.n_eff,
    )
    return Deflated(**deflated, moments=moments)


def min_track_record(moments: Moments, benchmark: float = 0.0, confidence: float = 0.95) -> float:
    """Return the minimum track record length (MinTRL) against `benchmark`, in returns."""
    return native.min_track_record(moments._given(), benchmark, confidence)


def min_backtest_years(n_trials: int, sharpe: float) -> float:
    """Return the minimum backtest length (MinBTL), in years, for an annual `sharpe`."""
    return native.min_backtest_years(checked_integer("n_trials", n_trials, 0, MAX_COUNT), sharpe)


def rolling_sharpe(excess: Any, n_window: int, periods_per_year: float) -> Rolling:
    """Return the annual Sharpe ratio of every rolling window, and the lowest."""
    window = checked_integer("n_window", n_window, 0, MAX_COUNT)
    found = native.rolling_sharpe(series("excess", excess), window, periods_per_year)
    return Rolling(**found, caveats=caveats_of_series(periods_per_year, excess=excess))


def regress(returns: Any, benchmark: Any) -> Regression:
    """Regress returns on the benchmark returns of the same bars."""
    check_same_rows(returns=returns, benchmark=benchmark)
    return Regression(**native.regress(series("returns", returns), series("benchmark", benchmark)))


def tracking(returns: Any, benchmark: Any, periods_per_year: float) -> Tracking:
    """Return the annual tracking statistics against a benchmark on the same bars.

    Raises:
        OpenOutcryError: `argument_invalid`: the difference has a standard deviation below 1e-8 per bar.
    """
    check_same_rows(returns=returns, benchmark=benchmark)
    found = native.tracking(series("returns", returns), series("benchmark", benchmark), periods_per_year)
    return Tracking(**found, caveats=caveats_of_series(periods_per_year, returns=returns))


def decay(in_sample: Any, out_of_sample: Any, periods_per_year: float) -> Decay:
    """Compare the Sharpe ratio in sample with the one out of sample."""
    inside, outside = series("in_sample", in_sample), series("out_of_sample", out_of_sample)
    caveats = caveats_of_series(periods_per_year, in_sample=in_sample, out_of_sample=out_of_sample)
    return Decay(**native.decay(inside, outside, periods_per_year) | {"caveats": caveats})


def at_cost(returns: Any, cost: Any, turnover: Any, cost_bps: float) -> Series:
    """Restate returns at a cost of `cost_bps` per unit of turnover.

    Adds back the paid `cost` and deducts the new one, to first order. `cost` and `turnover` are fractions of the NAV
    before the bar, shape `(n_returns,)`.
    """
    check_same_rows(returns=returns, cost=cost, turnover=turnover)
    return native.at_cost(series("returns", returns), series("cost", cost), series("turnover", turnover), cost_bps)


def break_even_bps(returns: Any, cost: Any, turnover: Any) -> float:
    """Return the cost, in bps of turnover, that leaves a mean return of 0."""
    check_same_rows(returns=returns, cost=cost, turnover=turnover)
    return native.break_even_bps(series("returns", returns), series("cost", cost), series("turnover", turnover))


def calibrate(orders: Iterable[Sequence[float | None]], n_bins: int = 10) -> Calibration:
    """Compute the calibration of stated confidence.

    Args:
        orders: Per order: confidence or None, target weight, fill price, close of the fill bar.
        n_bins: Number of equal bins over [0, 1].
    """
    stated = [tuple(order) for order in orders]
    calibration = native.calibrate(stated, checked_integer("n_bins", n_bins, 1, 1000))  # type: ignore[arg-type]
    return Calibration(**calibration | {"bins": tuple(Bin(*fields) for fields in calibration["bins"])})


def series(name: str, values: Any) -> Series:
    """Return a one-dimensional array, float64."""
    return np.ascontiguousarray(numbers(name, values, 1), dtype=np.float64)


def numbers(name: str, values: Any, n_axes: int) -> npt.NDArray[Any]:
    """Return an array of real numbers with `n_axes` dimensions.

    Raises:
        OpenOutcryError: `date_order`: rows of a pandas object are not in the order of its index.
    """
    array = unmasked_array(name, in_row_order(values))
    if array.ndim != n_axes or array.dtype.kind not in "fiu":
        wanted = f"`{name}` must be an array of numbers in {n_axes} dimension{'s' * (n_axes > 1)}"
        raise refusal("shape_mismatch", f"{wanted}; received shape {array.shape} of {array.dtype}")
    return array
