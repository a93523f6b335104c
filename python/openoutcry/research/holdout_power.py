"""Power of the holdout test: how often skill and luck pass it.

The test requires a Sharpe ratio above 0 and a probabilistic Sharpe ratio of `LEAST_PSR`. Both hold if the measured
ratio exceeds its critical value, so normal returns without autocorrelation give a closed form. The drawdown limit is
not part of it and can only lower the probabilities. The formula is in `docs/research.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from openoutcry.arguments import checked_integer
from openoutcry.openoutcry_py import normal_cdf, normal_quantile
from openoutcry.research.sealed_holdout import LEAST_PSR
from openoutcry.research.session_config import LEAST_HOLDOUT
from openoutcry.scoring.power import power

WANTED = 0.8
"""Power of a holdout of the advised length."""
DETECTED = 1.2
"""True annual Sharpe ratio to detect, unless the `sharpe` gate requires another one."""
LARGEST_SHARE = 0.5
"""Largest share of a market for a holdout; a longer one would leave less for research."""


@dataclass(frozen=True)
class HoldoutPower:
    """Power of the holdout test at a number of bars, before the drawdown limit.

    Attributes:
        n_bars: Bars of the holdout.
        periods_per_year: Bars per year.
        sharpe: True annual Sharpe ratio to detect.
        power: Probability that a strategy with this ratio passes.
        luck: Probability that a strategy with a true ratio of 0 passes.
        advised_bars: Fewest bars at which the power is `WANTED`.
        fits: Whether the market is long enough for a holdout of that length.
    """

    n_bars: int
    periods_per_year: float
    sharpe: float
    power: float
    luck: float
    advised_bars: int
    fits: bool

    @property
    def is_short(self) -> bool:
        """Whether the holdout is shorter than advised."""
        return self.n_bars < self.advised_bars

    @property
    def sentence(self) -> str:
        """The two probabilities, as a sentence."""
        chances = f"passes with a probability of {self.power:.0%}, and luck with {self.luck:.0%}"
        return (
            f"Over {self.n_bars:,} bars, a true Sharpe ratio of {self.sharpe:g} {chances}, before the drawdown limit."
        )

    @property
    def notice(self) -> str:
        """Advice for a holdout that is too short; empty otherwise."""
        if not self.is_short:
            return ""
        wanted = f"The holdout is short: a probability of {WANTED:.0%} needs {self.advised_bars:,} bars"
        if self.fits:
            return f"{wanted}, `--holdout-bars {self.advised_bars}`."
        return f"{wanted}, more than half of this market."

    def passes(self, sharpe: float | None) -> float | None:
        """Return the probability that a true annual ratio passes; None for None."""
        if sharpe is None:
            return None
        return pass_probability(self.n_bars - 1, sharpe, self.periods_per_year)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> HoldoutPower:
        """Return the object that `to_json` wrote."""
        return cls(**values)


def holdout_power(
    n_bars: int, periods_per_year: float, *, sharpe: float = DETECTED, market_bars: int | None = None
) -> HoldoutPower:
    """Compute the power of the holdout test.

    Args:
        n_bars: Bars of the holdout, at least 3.
        periods_per_year: Bars per year.
        sharpe: True annual Sharpe ratio to detect, above 0.
        market_bars: Bars of the complete market; None if there is no limit.

    Raises:
        OpenOutcryError: `argument_invalid`: a number is out of range.
    """
    n_returns = checked_integer("n_bars", n_bars, 3, 2**53) - 1
    # The exact rule is within a few returns of the formula for a critical value without skill.
    design = power(n_returns, 1, periods_per_year=periods_per_year, sharpe=sharpe, size=1.0 - LEAST_PSR, power=WANTED)
    needed = max(2, int(design.n_needed) - 8)
    while pass_probability(needed, sharpe, periods_per_year) < WANTED:
        needed += 1
    advised = max(LEAST_HOLDOUT, needed + 1)
    return HoldoutPower(
        n_bars,
        float(periods_per_year),
        float(sharpe),
        pass_probability(n_returns, sharpe, periods_per_year),
        pass_probability(n_returns, 0.0, periods_per_year),
        advised,
        market_bars is None or advised <= LARGEST_SHARE * market_bars,
    )


def pass_probability(n_returns: int, sharpe: float, periods_per_year: float) -> float:
    """Return the probability that a true annual Sharpe ratio passes the test.

    The drawdown limit is not part of it.

    Args:
        n_returns: Returns of the holdout, at least 2.
        sharpe: True annual Sharpe ratio.
        periods_per_year: Bars per year.
    """
    per_bar, quantile = sharpe / sqrt(periods_per_year), normal_quantile(LEAST_PSR)
    # z = SR sqrt(T - 1) / sqrt(1 + SR^2 / 2) reaches the quantile at this ratio.
    critical = quantile / sqrt(n_returns - 1.0 - quantile * quantile / 2.0)
    return normal_cdf((per_bar - critical) * sqrt((n_returns - 1.0) / (1.0 + per_bar * per_bar / 2.0)))
