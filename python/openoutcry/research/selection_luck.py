"""Selection bias: deflate the score of a trial by the number of trials.

Trials are counted, not declared: those of this session, and those of all earlier sessions on the same family of
markets in the ledger. Without skill, the Sharpe ratio of a trial is distributed around 0 with its own standard error,
corrected for autocorrelation. The gates use this error. The usual choice, the standard deviation across trials, also
contains differences of true Sharpe ratios: after testing a strategy and its opposite, no edge could pass. That deflated
Sharpe ratio is reported as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError, normal_cdf
from openoutcry.research.benchmark_excess import Benchmark
from openoutcry.research.trial_scores import OosScore, Series, moments_of
from openoutcry.scoring.skill import deflate, sharpe_errors

NOTHING_LEFT = "no return is left in excess of the market"
"""Why a multiple of a benchmark has no alpha."""

LEAST_TRIALS = 10
"""Trials required before the spread of their Sharpe ratios is used."""


def autocorrelation_factor(excess: Series) -> float:
    """Return the factor by which autocorrelation widens the error of a Sharpe ratio.

    At least 1: negative autocorrelation does not narrow it.

    Args:
        excess: Excess returns. Shape `(n_returns,)`, float64.
    """
    errors = sharpe_errors(excess, 1.0)
    return max(1.0, errors.hac_standard_error / errors.standard_error)


@dataclass(frozen=True)
class RunningMoments:
    """Count, mean and sum of squared deviations of Sharpe ratios per bar.

    All ratios are over the same number of returns.
    """

    n: int = 0
    mean: float = 0.0
    m2: float = 0.0

    def with_(self, sharpe: float) -> RunningMoments:
        """Return the moments with one more ratio."""
        n = self.n + 1
        away = sharpe - self.mean
        mean = self.mean + away / n
        return RunningMoments(n, mean, self.m2 + away * (sharpe - mean))

    @property
    def deviation(self) -> float | None:
        """Standard deviation; None for fewer than `LEAST_TRIALS` ratios."""
        return sqrt(self.m2 / (self.n - 1)) if self.n >= LEAST_TRIALS else None


@dataclass(frozen=True)
class PriorTrials:
    """Prior trials of the ledger, read at the start of a session.

    Attributes:
        n_trials: Trials that the ledger counts for the family of the market.
        spread: Moments of the Sharpe ratios over as many returns as a trial of this session has.
        prior: Results of earlier sessions, as text for prompts; None in the first session.
        holdout_spent: Earlier openings of the holdout.
        holdout_looks: Runs that cover a day of the holdout.
    """

    n_trials: int = 0
    spread: RunningMoments = RunningMoments()
    prior: str | None = None
    holdout_spent: int = 0
    holdout_looks: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {
            "n_trials": self.n_trials,
            "spread": vars(self.spread),
            "prior": self.prior,
            "holdout_spent": self.holdout_spent,
            "holdout_looks": self.holdout_looks,
        }

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> PriorTrials:
        """Return the object that `to_json` wrote."""
        spread = values["spread"]
        return cls(
            int(values["n_trials"]),
            RunningMoments(int(spread["n"]), float(spread["mean"]), float(spread["m2"])),
            values["prior"],
            int(values["holdout_spent"]),
            int(values["holdout_looks"]),
        )


@dataclass(frozen=True)
class Luck:
    """Deflated Sharpe ratios of a trial (Bailey and Lopez de Prado, 2014).

    Attributes:
        n_trials: Trials counted, including this one.
        n_session: Trials of this session.
        dsr: Deflated Sharpe ratio at `n_trials`; None if undefined. The gates use it.
        dsr_if_one: The same for a single trial.
        dsr_spread: The same with the standard deviation of the trials' ratios, from `LEAST_TRIALS` on; reported only.
        dsr_n_eff: The same with clusters of this session's trials instead of trials; reported only, at the end.
        dsr_alpha: Deflated Sharpe ratio of the returns in excess of beta times a benchmark, the
            minimum over benchmarks; None if no return is left.
        sr0: Expected maximum Sharpe ratio per bar of the trials without skill.
        sigma: Standard error per bar of a Sharpe ratio without skill.
        undefined: Why there is no ratio.
        alpha_undefined: Why there is no `dsr_alpha`.
    """

    n_trials: int
    n_session: int
    dsr: float | None
    dsr_if_one: float | None
    dsr_spread: float | None
    dsr_n_eff: float | None
    dsr_alpha: float | None
    sr0: float | None
    sigma: float | None
    undefined: str = ""
    alpha_undefined: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
        return dict(vars(self))


class TrialCounter:
    """Counts the trials of a session in addition to prior trials.

    Args:
        prior_trials: Prior trials of the ledger.
        benchmarks: Benchmark returns over the bars of the trials; empty if unknown.
    """

    def __init__(self, prior_trials: PriorTrials, benchmarks: Sequence[Benchmark] = ()) -> None:
        self._holdings = benchmarks
        self._before = prior_trials.n_trials
        self._spread = prior_trials.spread
        self.n_session = 0

    @property
    def n_before(self) -> int:
        """Trials of other sessions."""
        return self._before

    @property
    def n_trials(self) -> int:
        """All trials."""
        return self._before + self.n_session

    def raise_prior_count(self, n_before: int) -> None:
        """Raise the count of other sessions' trials to `n_before`."""
        self._before = max(self._before, n_before)

    def count(self, n_configs: int, oos: OosScore | None) -> None:
        """Count a trial and its configurations.

        Args:
            n_configs: Configurations with a result, at least 1.
            oos: Score of the trial; None if it failed with an exception.
        """
        if n_configs < 1:
            raise refusal("argument_invalid", f"a trial must count at least 1 configuration; received {n_configs}")
        self.n_session += n_configs
        if oos is not None and oos.moments is not None:
            self._spread = self._spread.with_(oos.moments.sharpe)

    def luck_of(self, oos: OosScore, n_eff: int | None = None) -> Luck:
        """Return the deflated Sharpe ratios of a score at the trials counted so far.

        Args:
            oos: The score.
            n_eff: Clusters of this session's trials, if known.
        """
        if oos.moments is None:
            return self._undefined("the returns are constant")
        try:
            sigma = sharpe_errors(oos.returns, 1.0).hac_standard_error
            found = deflate(oos.moments, self.n_trials, spread=sigma)
            alone = deflate(oos.moments, 1)
            spread = deflate(oos.moments, self.n_trials, spread=self._spread.deviation)
            fewer = None if n_eff is None else deflate(oos.moments, self._before + n_eff, spread=sigma)
            wider = autocorrelation_factor(oos.returns)
        except OpenOutcryError as error:
            return self._undefined(str(error))
        one, two, three = (normal_cdf(each.z / wider) for each in (found, alone, spread))
        four = None if fewer is None else normal_cdf(fewer.z / wider)
        alpha, missing = self._dsr_alpha(oos.returns)
        return Luck(
            self.n_trials, self.n_session, one, two, three, four, alpha, found.sr0, found.sigma, alpha_undefined=missing
        )

    def _dsr_alpha(self, excess: Series) -> tuple[float | None, str]:
        if not self._holdings:
            return None, "the returns of the market over these bars are unknown"
        # Buy-and-hold drifts into the winners: rebalancing to equal weights earns an excess over it without skill.
        beyond = [self._dsr_beyond(benchmark, excess) for benchmark in self._holdings]
        missing = [why for _, why in beyond if why]
        known = [dsr for dsr, _ in beyond if dsr is not None]
        return (None, missing[0]) if missing else (min(known), "")

    def _dsr_beyond(self, benchmark: Benchmark, excess: Series) -> tuple[float | None, str]:
        left = benchmark.residual(excess)
        moments = moments_of(left)
        if moments is None:
            return None, NOTHING_LEFT
        try:
            sigma = sharpe_errors(left, 1.0).hac_standard_error
            return normal_cdf(deflate(moments, self.n_trials, spread=sigma).z / autocorrelation_factor(left)), ""
        except OpenOutcryError as error:
            return None, f"the excess over the market has no deflated Sharpe ratio: {error}"

    def _undefined(self, why: str) -> Luck:
        return Luck(self.n_trials, self.n_session, None, None, None, None, None, None, None, why, why)
