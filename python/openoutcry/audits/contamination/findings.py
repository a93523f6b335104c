"""Verdict of the contamination test: differences, p-values and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from openoutcry.audits.contamination.arm_runs import Trial
from openoutcry.audits.contamination.arms import ARMS, ArmReturns
from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.audits.contamination.findings_text import basis_points, sentence
from openoutcry.audits.contamination.paired_differences import Difference, difference_of
from openoutcry.data.columns import known_periods
from openoutcry.data.dataset import Dataset
from openoutcry.untrusted.counted_nouns import counted

KINDS = ("name", "path")
"""Effects: `name` is the return in the named arm less the masked arm, `path` the same less the twins."""

CONCLUSIONS = ("not_found", "contaminated", "not_judged", "unclear")
"""Conclusions in the order of the exit codes of `openoutcry contamination`.

`unclear` is a single effect, which an agent without memorization may show too.
"""

MAX_FAULTS = 0.05
"""Maximum share of decisions of an arm that may default to hold because of faults."""

MAX_GROSS_DIFFERENCE = 0.05
"""Difference of gross exposure between arms, a fraction of NAV, above which the verdict reports it."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Result of the contamination test of one agent on one market.

    Attributes:
        agent: Name of the agent.
        dataset: Name of the market.
        periods_per_year: Bars per year.
        design: Design of the experiment.
        returns: Returns of the agent on each window.
        name: Return per bar in the named arm less the masked arm.
        path: Return per bar in the named arm less the twins, paired by the source bar.
        adjusted: P-values by kind, adjusted by Hochberg; None where undefined.
        learning: Return per bar in later named runs less the first; None for a single named run.
        faults: Number of decisions that defaulted to hold, by arm and slug.
        notices: Remarks on the experiment.
    """

    agent: str
    dataset: str
    periods_per_year: float
    design: Design
    returns: tuple[ArmReturns, ...]
    name: Difference
    path: Difference
    adjusted: dict[str, float | None]
    learning: Difference | None
    faults: dict[str, dict[str, int]]
    notices: tuple[str, ...]

    @property
    def found(self) -> tuple[str, ...]:
        """Kinds with an adjusted p-value of at most the level.

        Empty if the arms cannot be compared because of faults or of learning between runs.
        """
        return () if self._too_faulty is not None or self._too_learned is not None else self._rejected

    @property
    def _rejected(self) -> tuple[str, ...]:
        return tuple(kind for kind, p in self.adjusted.items() if p is not None and p <= self.design.level)

    @property
    def not_judged(self) -> str | None:
        """Why the agent cannot be judged; None if it can."""
        undefined = [each for each in (self.name, self.path) if each.p_value is None and not each.is_rounding]
        if undefined and not self._rejected:
            return self._too_faulty or undefined[0].undefined["p_value"]
        return self._too_faulty or self._too_learned

    @property
    def _too_faulty(self) -> str | None:
        for arm, runs in self.means.items():
            n_faults, n_decisions = sum(self.faults.get(arm, {}).values()), len(runs) * self.n_bars
            if n_faults > MAX_FAULTS * n_decisions:
                required = (
                    f"at most {100.0 * MAX_FAULTS:g} % of the decisions in each arm may default to hold after a fault"
                )
                return f"{required}; received {n_faults:,} of {n_decisions:,} in the arm `{arm}`"
        return None

    @property
    def _too_learned(self) -> str | None:
        each = self.learning
        if not self._rejected or each is None or each.p_value is None or each.p_value > self.design.level:
            return None
        received = f"{basis_points(each.mean)} bp per bar more (p = {each.p_value:.2g})"
        hint = "the agent learns between runs; start a new one for each run, or run each window once (`--repeats 1`)"
        return f"later runs on the same path must not earn more than the first; received {received}; hint: {hint}"

    @property
    def conclusion(self) -> str:
        """One of `CONCLUSIONS`."""
        if self.not_judged is not None:
            return "not_judged"
        return ("not_found", "unclear", "contaminated")[len(self.found)]

    @property
    def exit_code(self) -> int:
        """Exit code of the conclusion."""
        return CONCLUSIONS.index(self.conclusion)

    @property
    def is_contaminated(self) -> bool:
        """Whether both the name and the path effect are significant."""
        return self.conclusion == "contaminated"

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        if self.not_judged is not None:
            return f"{self.agent} cannot be judged: {self.not_judged}"
        text = sentence(self.agent, (self.name, self.path), self.found, self.design)
        return f"{text}; {self.gross_note}" if self.found and self.gross_note else text

    @property
    def windows(self) -> tuple[tuple[str, str], ...]:
        """First and last return date of each window."""
        return tuple((each.dates[0], each.dates[-1]) for each in self.returns)

    @property
    def first_date(self) -> str:
        """Date of the first decision."""
        return self.returns[0].first_date

    @property
    def n_bars(self) -> int:
        """Number of returns over all windows."""
        return sum(len(each.dates) for each in self.returns)

    @property
    def means(self) -> dict[str, tuple[float, ...]]:
        """Mean return per bar over all windows, by arm and run."""
        return {
            arm: tuple(np.concatenate([getattr(each, arm) for each in self.returns], axis=1).mean(axis=1).tolist())
            for arm in ARMS
        }

    @property
    def gross(self) -> dict[str, float]:
        """Mean gross exposure at the closes of all windows by arm, a fraction of NAV."""
        sizes = [len(each.dates) for each in self.returns]
        return {arm: float(np.average([each.gross[arm] for each in self.returns], weights=sizes)) for arm in ARMS}

    @property
    def gross_note(self) -> str:
        """Text about a difference in gross exposure between arms; empty without one."""
        gross = self.gross
        if max(gross.values()) - min(gross.values()) <= MAX_GROSS_DIFFERENCE:
            return ""
        named, masked, twins = (f"{gross[arm]:.2f}" for arm in ARMS)
        return f"its gross exposure is {named} of NAV in the named arm, {masked} masked and {twins} on twins"

    @property
    def n_twins_below(self) -> int:
        """Number of twins with a lower mean return than the named arm."""
        named = float(np.mean(self.means["named"]))
        return sum(mean < named for mean in self.means["twins"])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the returns as JSON types."""
        differences = {"name": self.name, "path": self.path}
        return {
            "agent": self.agent,
            "dataset": self.dataset,
            "windows": [list(window) for window in self.windows],
            "n_bars": self.n_bars,
            "periods_per_year": self.periods_per_year,
            "design": self.design.to_dict(),
            "means": {arm: list(means) for arm, means in self.means.items()},
            "gross": self.gross,
            "n_twins_below": self.n_twins_below,
            "differences": {
                kind: differences[kind].to_dict() | {"adjusted_p_value": self.adjusted[kind]} for kind in KINDS
            },
            "learning": None if self.learning is None else self.learning.to_dict(),
            "faults": self.faults,
            "complaint": self.not_judged,
            "conclusion": self.conclusion,
            "found": list(self.found),
            "is_contaminated": self.is_contaminated,
            "verdict": self.sentence,
            "notices": list(self.notices),
        }

    def __str__(self) -> str:
        head = f"{self.agent} on {self.dataset}, {counted(len(self.returns), 'window')}"
        head += f", {counted(self.n_bars, 'bar')}; basis points per bar"
        return "\n".join([head, *(self._line(kind) for kind in KINDS), self.sentence])

    def _line(self, kind: str) -> str:
        each, adjusted = {"name": self.name, "path": self.path}[kind], self.adjusted[kind]
        interval = f"{basis_points(each.low)} to {basis_points(each.high)}"
        p_value = "—" if adjusted is None else f"{adjusted:.2g}"
        return f"{kind:6} {basis_points(each.mean):>8}  [{interval}]  p {p_value}"


def evaluate(
    agent: str, market: Dataset, trial: Trial, returns: Sequence[ArmReturns], notices: Sequence[str]
) -> Verdict:
    """Test the differences between arms and return the verdict.

    Args:
        agent: Name of the agent.
        market: The market that it may have memorized.
        trial: The finished experiment.
        returns: Returns of the agent on each window.
        notices: Remarks on the agent.
    """
    design, sizes = trial.design, [len(each.dates) for each in returns]
    paired = {
        "name": [each.named.mean(axis=0) - each.masked.mean(axis=0) for each in returns],
        "path": [each.named.mean(axis=0) - each.twins_by_source.mean(axis=0) for each in returns],
    }
    if design.n_repeats > 1:
        paired["learning"] = [each.named[1:].mean(axis=0) - each.named[0] for each in returns]
    differences = {
        kind: difference_of(np.concatenate(rows), sizes, design.level, design.n_draws, design.seed)
        for kind, rows in paired.items()
    }
    return Verdict(
        agent=agent,
        dataset=market.name,
        periods_per_year=known_periods(market, "annual differences"),
        design=design,
        returns=tuple(returns),
        name=differences["name"],
        path=differences["path"],
        adjusted=dict(zip(KINDS, adjusted(differences["name"].p_value, differences["path"].p_value), strict=True)),
        learning=differences.get("learning"),
        faults={arm: trial.faults_of(arm) for arm in ARMS if trial.faults_of(arm)},
        notices=(*notices, *_notices(market)),
    )


def adjusted(name: float | None, path: float | None) -> tuple[float | None, float | None]:
    """Adjust two p-values by Hochberg's step-up method.

    The probability that either rejects falsely is at most the level for positively dependent tests, such as two that
    share an arm. The probability that both reject when one null hypothesis is true is at most the level under any
    dependence.

    Source: Hochberg (1988).
    """
    if name is None or path is None:
        return name, path
    return min(2.0 * name, max(name, path)), min(2.0 * path, max(name, path))


def _notices(market: Dataset) -> list[str]:
    items_by_kind = {"fundamentals": market.fundamentals, "news": market.news}
    counts = [f"{len(items)} {kind}" for kind, items in items_by_kind.items() if items]
    return [f"{' and '.join(counts)} items removed from every arm: they cannot be masked"] if counts else []
