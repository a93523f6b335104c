"""What a gate found: a row a fact and a row a rule."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class FactRow:
    """A fact over seeds beside its band.

    Attributes:
        fact: Its name.
        median: Over seeds; None where the fact is undefined, and `reason` says why.
        low: Of the band; None where the fact has none.
        high: As `low`.
        source: Of the band.
        inside: Share of seeds inside; None without a band.
        p_value: Of one panel against the draws of the band, adjusted by Holm; None over several seeds.
        passed: None where it is printed only.
        reason: Why it is undefined or not judged.
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
    """A rule over seeds.

    Attributes:
        rule: Its name.
        family: Its family.
        net: Mean alpha-Sharpe after costs; None where it never traded.
        gross: Mean alpha-Sharpe before costs, which is tested.
        error: Standard error of `gross` over seeds; None with one seed.
        p_value: Adjusted by Holm over the rules; None with one seed.
        passed: None where it is printed only.
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
    """Facts and card of a market.

    Attributes:
        name: The market or tier.
        tier: Whose bands were asked; empty for none.
        n_seeds: Number of panels.
        n_bars: Bars of the first panel.
        facts: One row a fact.
        rules: One row a rule.
        test: `equivalence`: each rule is shown to earn nothing. `excess`: no rule is shown to earn something, which is
            all that so few seeds can tell. `none`: one path says nothing.
        best: Mean over seeds of the best rule's alpha-Sharpe after costs.
        best_of_martingale: The same of driftless i.i.d. markets.
        best_passed: Whether the best is no more than a martingale's and the margin; None where not judged.
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
        """Return the names of what is not as it must be."""
        facts = [row.fact for row in self.facts if row.passed is False]
        rules = [row.rule for row in self.rules if row.passed is False]
        return (*facts, *rules, *(["best of the rules"] if self.best_passed is False else []))

    @property
    def passed(self) -> bool:
        """Return whether nothing failed."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can say it."""
        return asdict(self) | {"passed": self.passed, "failures": list(self.failures)}
