"""What a board of agents can see, before anybody is ranked on it.

Of normal returns without autocorrelation: real ones need more bars. The formulas are in `docs/skill.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from openoutcry import openoutcry_py as native
from openoutcry.arguments import whole


@dataclass(frozen=True)
class Power:
    """What a board can see; Sharpe ratios are a year.

    Attributes:
        n_returns: Returns of each agent.
        n_agents: Agents that are compared.
        periods_per_year: Bars a year.
        sharpe: True ratio that should be seen.
        size: How often a field without skill may be taken for one with it.
        power: How often the skill must be seen.
        standard_error: That of the ratio of an agent without skill.
        best_expected: Ratio that the best agent shows, expected, where none has skill.
        best_quantile: Ratio that the best agent passes in a share `size` of fields without skill.
        min_sharpe: Least true ratio that is seen, every agent tested; None where no ratio is.
        min_gap: Least true gap between two uncorrelated agents that is seen, that pair alone tested.
        n_needed: Returns that it takes to see `sharpe`.
        years_needed: The same in years.
        tracks_needed: The same in tracks as long as those of the board.
        sentence: What a board says that cannot separate its agents.
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
    """Return what a board of `n_agents` over `n_returns` can see.

    Args:
        n_returns: Returns of each agent, at least 2.
        n_agents: Agents that are compared, at least 1.
        periods_per_year: Bars a year.
        sharpe: True Sharpe ratio a year that should be seen, above 0.
        size: How often a field without skill may be taken for one with it, inside (0, 1).
        power: How often the skill must be seen, inside (0, 1).

    Raises:
        OpenOutcryError: `argument_invalid`: a number is out of its range.
    """
    field = (whole("n_returns", n_returns, 2, 2**53), whole("n_agents", n_agents, 1, 2**53))
    return Power(**native.power(field, periods_per_year, sharpe, size, power))
