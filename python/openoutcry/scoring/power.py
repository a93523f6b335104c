"""Statistical power of a comparison of N agents over T returns.

Assumes normal returns without autocorrelation; real returns need more bars. The formulas are in `docs/skill.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer


@dataclass(frozen=True)
class Power:
    """Statistical power of a comparison. Sharpe ratios are annual.

    Attributes:
        n_returns: Returns of each agent.
        n_agents: Agents that are compared.
        periods_per_year: Bars per year.
        sharpe: True Sharpe ratio to detect.
        size: Familywise error rate: probability of a false positive among agents without skill.
        power: Probability of detecting a true Sharpe ratio of `sharpe`.
        standard_error: Standard error of the Sharpe ratio of an agent without skill.
        best_expected: Expected Sharpe ratio of the best agent if no agent has skill.
        best_quantile: Sharpe ratio that the best of `n_agents` without skill exceeds with probability `size`.
        min_sharpe: Minimum detectable Sharpe ratio, every agent tested; None if no ratio is detectable.
        min_gap: Minimum detectable difference between two uncorrelated agents, only that pair tested.
        n_needed: Returns needed to detect `sharpe`.
        years_needed: The same in years.
        tracks_needed: The same in multiples of `n_returns`.
        sentence: Summary for a board that cannot separate its agents.
        undefined: Why a number is None.
    """

    n_returns: int
    n_agents: int
    periods_per_year: float
    sharpe: float
    size: float
    power: float
    standard_error: float
    best_expected: float
    best_quantile: float
    min_gap: float
    n_needed: float
    years_needed: float
    tracks_needed: float
    min_sharpe: float | None
    sentence: str
    undefined: dict[str, str]


def power(
    n_returns: int,
    n_agents: int,
    *,
    periods_per_year: float = 252.0,
    sharpe: float = 1.0,
    size: float = 0.05,
    power: float = 0.8,
) -> Power:
    """Compute the statistical power of a comparison of `n_agents` over `n_returns`.

    Args:
        n_returns: Returns of each agent, at least 2.
        n_agents: Agents that are compared, at least 1.
        periods_per_year: Bars per year; 252, days of a stock exchange, since a plan has no dates to infer it from.
        sharpe: True annual Sharpe ratio to detect, above 0.
        size: Familywise error rate, inside (0, 1).
        power: Required probability of detection, inside (0, 1).

    Raises:
        OpenOutcryError: `argument_invalid`: a number is out of range.
    """
    field = (checked_integer("n_returns", n_returns, 2, 2**53), checked_integer("n_agents", n_agents, 1, 2**53))
    return Power(**native.power(field, periods_per_year, sharpe, size, power))
