"""How much of a trial's score the best of all trials would show by luck.

Trials are counted, never declared: those of this session, and those that the ledger remembers for the same family of
markets from all sessions before. Without skill, a trial's ratio lies around 0 as far as its own standard error says, so
that is the yardstick of what gates, autocorrelation counted. The deviation of the trials' ratios from one another, the
usual one, also holds how far true ratios lie apart: where one strategy has an edge and its opposite was tried, too, no
edge however sure would pass. Its deflated ratio stands beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError, normal_cdf
from openoutcry.research.benchmark_excess import Holding
from openoutcry.research.trial_scores import OosScore, Series, moments_of
from openoutcry.scoring.skill import deflate, sharpe_errors

LEAST_TRIALS = 10
"""Trials from which on their own ratios say how far ratios without skill lie apart."""


def widening(excess: Series) -> float:
    """Return how many times wider autocorrelation makes the error of a Sharpe ratio.

    At least 1: gains that follow losses are no reason to be surer.

    Args:
        excess: Excess returns, shape `(n_returns,)`.
    """
    errors = sharpe_errors(excess, 1.0)
    return max(1.0, errors.hac_standard_error / errors.standard_error)


@dataclass(frozen=True)
class Spread:
    """Count, mean and sum of squared deviations of Sharpe ratios per bar.

    All of them are of one number of returns.
    """

    n: int = 0
    mean: float = 0.0
    m2: float = 0.0

    def with_(self, sharpe: float) -> Spread:
        """Return the same with one more."""
        n = self.n + 1
        away = sharpe - self.mean
        mean = self.mean + away / n
        return Spread(n, mean, self.m2 + away * (sharpe - mean))

    @property
    def deviation(self) -> float | None:
        """Standard deviation; None for fewer than `LEAST_TRIALS`."""
        return sqrt(self.m2 / (self.n - 1)) if self.n >= LEAST_TRIALS else None


@dataclass(frozen=True)
class Memory:
    """What a session takes over from the ledger when it begins.

    Attributes:
        n_trials: Trials that the ledger counts for the family of the market.
        spread: Of those whose returns are as many as a trial's of this session.
        prior: What earlier sessions learned, as a text for prompts; None in the first one.
        holdout_spent: How often the holdout has been opened before.
        holdout_looks: Runs that have seen a day of it.
    """

    n_trials: int = 0
    spread: Spread = Spread()
    prior: str | None = None
    holdout_spent: int = 0
    holdout_looks: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the memory as plain values."""
        return {
            "n_trials": self.n_trials,
            "spread": vars(self.spread),
            "prior": self.prior,
            "holdout_spent": self.holdout_spent,
            "holdout_looks": self.holdout_looks,
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Memory:
        """Read what `to_json` returned."""
        spread = told["spread"]
        return cls(
            int(told["n_trials"]),
            Spread(int(spread["n"]), float(spread["mean"]), float(spread["m2"])),
            told["prior"],
            int(told["holdout_spent"]),
            int(told["holdout_looks"]),
        )


@dataclass(frozen=True)
class Luck:
    """A Sharpe ratio deflated by the trials that it was found among.

    Attributes:
        n_trials: Trials counted, this one too.
        n_session: Those of them that this session made.
        dsr: Deflated Sharpe ratio at `n_trials`; None if undefined. It gates.
        dsr_if_one: The same had only one trial been declared.
        dsr_spread: The same by the deviation of the trials' own ratios, from `LEAST_TRIALS` on; reported.
        dsr_n_eff: The same with clusters of this session's trials in place of them; reported, once they are known.
        dsr_alpha: The first of what is left of the returns beyond beta times a way to hold the market, the least for
            all ways; None if nothing is.
        sr0: Ratio per bar that the best of the trials would show without skill.
        sigma: Standard error per bar of a ratio without skill that this rests on.
        undefined: Why there is no ratio.
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

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
        return dict(vars(self))


class Counter:
    """Counts the trials of a session beside those that the ledger remembers.

    Args:
        memory: What the ledger remembers.
        holdings: Ways to hold the market over the bars of the trials; none where that is unknown.
    """

    def __init__(self, memory: Memory, holdings: Sequence[Holding] = ()) -> None:
        self._holdings = holdings
        self._before = memory.n_trials
        self._spread = memory.spread
        self.n_session = 0

    @property
    def n_before(self) -> int:
        """Trials that others made."""
        return self._before

    @property
    def n_trials(self) -> int:
        """All trials."""
        return self._before + self.n_session

    def go_on_from(self, n_before: int) -> None:
        """Take note of how many trials others have made by now, never fewer."""
        self._before = max(self._before, n_before)

    def count(self, n_configs: int, oos: OosScore | None) -> None:
        """Count a trial, or the configurations that it stands for.

        Args:
            n_configs: Configurations whose results were looked at, at least 1.
            oos: Its score; None where it broke off.
        """
        if n_configs < 1:
            raise refusal("argument_invalid", f"a trial must stand for at least 1; received {n_configs}")
        self.n_session += n_configs
        if oos is not None and oos.moments is not None:
            self._spread = self._spread.with_(oos.moments.sharpe)

    def luck_of(self, oos: OosScore, n_eff: int | None = None) -> Luck:
        """Return how much of a score is luck, at the trials counted so far.

        Args:
            oos: The score.
            n_eff: Clusters of this session's trials, where they are known.
        """
        if oos.moments is None:
            return self._undefined("the returns do not vary")
        try:
            sigma = sharpe_errors(oos.returns, 1.0).hac_standard_error
            found = deflate(oos.moments, self.n_trials, spread=sigma)
            alone = deflate(oos.moments, 1)
            spread = deflate(oos.moments, self.n_trials, spread=self._spread.deviation)
            fewer = None if n_eff is None else deflate(oos.moments, self._before + n_eff, spread=sigma)
            wider = widening(oos.returns)
        except OpenOutcryError as error:
            return self._undefined(str(error))
        one, two, three = (normal_cdf(each.z / wider) for each in (found, alone, spread))
        four = None if fewer is None else normal_cdf(fewer.z / wider)
        alpha = self._dsr_alpha(oos.returns)
        return Luck(self.n_trials, self.n_session, one, two, three, four, alpha, found.sr0, found.sigma)

    def _dsr_alpha(self, excess: Series) -> float | None:
        # What was bought comes to be what rose most: to keep it in equal parts gains on that without any skill.
        beyond = [self._dsr_beyond(holding, excess) for holding in self._holdings]
        known = [dsr for dsr in beyond if dsr is not None]
        return min(known) if known and len(known) == len(beyond) else None

    def _dsr_beyond(self, holding: Holding, excess: Series) -> float | None:
        left = holding.taken_from(excess)
        moments = moments_of(left)
        if moments is None:
            return None
        try:
            sigma = sharpe_errors(left, 1.0).hac_standard_error
            return normal_cdf(deflate(moments, self.n_trials, spread=sigma).z / widening(left))
        except OpenOutcryError:
            return None

    def _undefined(self, why: str) -> Luck:
        return Luck(self.n_trials, self.n_session, None, None, None, None, None, None, None, why)
