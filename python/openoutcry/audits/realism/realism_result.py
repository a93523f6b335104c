"""Result of the realism gate: one row for each fact and each rule."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class FactRow:
    """A stylized fact over seeds, and its band.

    Attributes:
        fact: Name of the fact.
        median: Median over seeds; None where the fact is undefined for the reason in `reason`.
        low: Lower end of the band; None without a band.
        high: Upper end of the band; None without a band.
        source: Source of the band.
        inside: Share of seeds inside the band, 0 to 1; None without a band.
        p_value: P-value of a single panel against the draws of the band, adjusted by Holm; None with several seeds.
        passed: Whether the fact passed; None where it is not tested.
        reason: Why the fact is undefined or not tested.
    """

    fact: str
    median: float | None
    low: float | None = None
    high: float | None = None
    source: str = ""
    inside: float | None = None
    p_value: float | None = None
    passed: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class RuleRow:
    """A trading rule over seeds.

    Attributes:
        rule: Name of the rule.
        family: Family of the rule.
        net: Mean annual alpha-Sharpe after costs; None where the rule never traded.
        gross: Mean annual alpha-Sharpe before costs, the tested value.
        error: Standard error of `gross` over seeds; None with one seed.
        p_value: P-value adjusted by Holm over the rules; None with one seed.
        passed: Whether the rule passed; None where it is not tested.
    """

    rule: str
    family: str
    net: float | None
    gross: float | None
    error: float | None = None
    p_value: float | None = None
    passed: bool | None = None


@dataclass(frozen=True)
class Verdict:
    """Facts and rules of a market.

    Attributes:
        name: Name of the market or tier.
        tier: Tier that supplied the bands; empty for none.
        n_seeds: Number of panels.
        n_bars: Bars of the first panel.
        facts: One row for each fact.
        rules: One row for each rule.
        test: `equivalence`: a rule passes if its alpha is significantly within the bound. `excess`: a rule passes
            unless its alpha is significantly beyond the bound, the only test with power for few seeds. `none`: one
            panel has no power.
        best: Mean over seeds of the best rule's alpha-Sharpe after costs.
        best_of_martingale: The same on driftless i.i.d. markets.
        best_passed: Whether `best` exceeds `best_of_martingale` by at most the bound; None where not tested.
    """

    name: str
    tier: str
    n_seeds: int
    n_bars: int
    facts: tuple[FactRow, ...]
    rules: tuple[RuleRow, ...]
    test: str
    best: float | None
    best_of_martingale: float | None
    best_passed: bool | None

    @property
    def failures(self) -> tuple[str, ...]:
        """Return the names of failed facts and rules."""
        facts = [row.fact for row in self.facts if row.passed is False]
        rules = [row.rule for row in self.rules if row.passed is False]
        return (*facts, *rules, *(["best of the rules"] if self.best_passed is False else []))

    @property
    def passed(self) -> bool:
        """Return whether nothing failed."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return asdict(self) | {"passed": self.passed, "failures": list(self.failures)}
