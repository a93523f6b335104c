"""What was found, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from openoutcry.audits.contamination.arm_runs import Trial
from openoutcry.audits.contamination.arms import ARMS, Tracks
from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.audits.contamination.findings_text import basis_points, sentence
from openoutcry.audits.contamination.paired_differences import Difference, difference_of
from openoutcry.data.dataset import Dataset

KINDS = ("name", "path")
"""As it is less in disguise: what knowing the name is worth. Less on twins: what knowing the path is worth."""

CONCLUSIONS = ("not_found", "contaminated", "not_judged", "unclear")
"""Nothing was found; both kinds were; it cannot be judged; one kind was, which who remembers nothing may earn, too.

In the order of the exit codes of `openoutcry contamination`.
"""

MOST_FAULTS = 0.05
"""Share of an arm's answers above which it tells of faults, not of what an agent knows."""

GROSS_APART = 0.05
"""Shares of NAV by which arms differ in what is held before it is said."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether an agent remembers a market, and what that is worth to it.

    Attributes:
        agent: What it is called.
        dataset: Name of the market.
        periods_per_year: Bars a year.
        design: How it was tried.
        tracks: What it earned on each window.
        name: What a bar earned as it is, less in disguise.
        path: What a bar earned as it is, less on twins by the bar that moved them.
        adjusted: p-values by kind, by Hochberg over those there are; None where there is none.
        learning: What a bar earned in later runs of the windows as they are, less in the first; None for one run.
        faults: Answers that were held for a fault, by arm and slug.
        notices: What a reader must know of the trial.
    """

    agent: str
    dataset: str
    periods_per_year: float
    design: Design
    tracks: tuple[Tracks, ...]
    name: Difference
    path: Difference
    adjusted: dict[str, float | None]
    learning: Difference | None
    faults: dict[str, dict[str, int]]
    notices: tuple[str, ...]

    @property
    def found(self) -> tuple[str, ...]:
        """Kinds whose adjusted p-value is at most the level.

        None where the arms cannot be compared, for so many answers were faults, or later runs knew of earlier ones.
        """
        return () if self._too_faulty is not None or self._too_learned is not None else self._rejected

    @property
    def _rejected(self) -> tuple[str, ...]:
        return tuple(kind for kind, p in self.adjusted.items() if p is not None and p <= self.design.level)

    @property
    def complaint(self) -> str | None:
        """Why the agent cannot be judged; None if it can."""
        undefined = [each for each in (self.name, self.path) if each.p_value is None and not each.is_rounding]
        if undefined and not self._rejected:
            return self._too_faulty or undefined[0].undefined["p_value"]
        return self._too_faulty or self._too_learned

    @property
    def _too_faulty(self) -> str | None:
        for arm, runs in self.means.items():
            n_faults, n_asked = sum(self.faults.get(arm, {}).values()), len(runs) * self.n_bars
            if n_faults > MOST_FAULTS * n_asked:
                most = f"at most {100.0 * MOST_FAULTS:g} % of the answers in each arm may be held for faults"
                return f"{most}; received {n_faults:,} of {n_asked:,} in the arm `{arm}`"
        return None

    @property
    def _too_learned(self) -> str | None:
        each = self.learning
        if not self._rejected or each is None or each.p_value is None or each.p_value > self.design.level:
            return None
        received = f"{basis_points(each.mean)} bp a bar in later ones than in the first (p = {each.p_value:.2g})"
        hint = "it learns from run to run; begin it anew for each, or run each window once (`n_repeats`, `--repeats`)"
        return f"runs of the same path must earn no more for having been made later; received {received}; hint: {hint}"

    @property
    def conclusion(self) -> str:
        """What is to be made of it, one of `CONCLUSIONS`."""
        if self.complaint is not None:
            return "not_judged"
        return ("not_found", "unclear", "contaminated")[len(self.found)]

    @property
    def exit_code(self) -> int:
        """The conclusion as a number."""
        return CONCLUSIONS.index(self.conclusion)

    @property
    def is_contaminated(self) -> bool:
        """Return whether knowing the name and knowing the path are both worth something."""
        return self.conclusion == "contaminated"

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        if self.complaint is not None:
            return f"{self.agent} cannot be judged: {self.complaint}"
        told = sentence(self.agent, (self.name, self.path), self.found, self.design)
        return f"{told}; {self.gross_told}" if self.found and self.gross_told else told

    @property
    def windows(self) -> tuple[tuple[str, str], ...]:
        """First and last date that was earned on, of each window."""
        return tuple((each.dates[0], each.dates[-1]) for each in self.tracks)

    @property
    def first_date(self) -> str:
        """Date of the first decision."""
        return self.tracks[0].first_date

    @property
    def n_bars(self) -> int:
        """Bars of all windows that were earned on."""
        return sum(len(each.dates) for each in self.tracks)

    @property
    def means(self) -> dict[str, tuple[float, ...]]:
        """Mean return per bar over all windows, by arm, of each of its runs of a window."""
        return {
            arm: tuple(np.concatenate([getattr(each, arm) for each in self.tracks], axis=1).mean(axis=1).tolist())
            for arm in ARMS
        }

    @property
    def gross(self) -> dict[str, float]:
        """Mean gross exposure at the closes of all windows, by arm, as a share of NAV."""
        sizes = [len(each.dates) for each in self.tracks]
        return {arm: float(np.average([each.gross[arm] for each in self.tracks], weights=sizes)) for arm in ARMS}

    @property
    def gross_told(self) -> str:
        """What is held in each arm, in words; empty where it is the same."""
        gross = self.gross
        if max(gross.values()) - min(gross.values()) <= GROSS_APART:
            return ""
        named, masked, twins = (f"{gross[arm]:.2f}" for arm in ARMS)
        return f"it holds {named} of NAV as it is, {masked} in disguise and {twins} on twins"

    @property
    def n_twins_below(self) -> int:
        """Twins on which less was earned than on the windows as they are."""
        named = float(np.mean(self.means["named"]))
        return sum(mean < named for mean in self.means["twins"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tracks, as JSON has it."""
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
            "complaint": self.complaint,
            "conclusion": self.conclusion,
            "found": list(self.found),
            "is_contaminated": self.is_contaminated,
            "verdict": self.sentence,
            "notices": list(self.notices),
        }

    def __str__(self) -> str:
        head = f"{self.agent} on {self.dataset}, {len(self.tracks)} windows, {self.n_bars} bars; basis points a bar"
        return "\n".join([head, *(self._line(kind) for kind in KINDS), self.sentence])

    def _line(self, kind: str) -> str:
        each, adjusted = {"name": self.name, "path": self.path}[kind], self.adjusted[kind]
        interval = f"{basis_points(each.low)} to {basis_points(each.high)}"
        p_value = "—" if adjusted is None else f"{adjusted:.2g}"
        return f"{kind:6} {basis_points(each.mean):>8}  [{interval}]  p {p_value}"


def judged(agent: str, market: Dataset, trial: Trial, tracks: Sequence[Tracks], notices: Sequence[str]) -> Verdict:
    """Return the verdict on what an agent earned.

    Args:
        agent: What it is called.
        market: The market that it may remember.
        trial: How it was tried.
        tracks: What it earned on each window.
        notices: What a reader must know of the agent.
    """
    design, sizes = trial.design, [len(each.dates) for each in tracks]
    less = {
        "name": [each.named.mean(axis=0) - each.masked.mean(axis=0) for each in tracks],
        "path": [each.named.mean(axis=0) - each.twins_by_source.mean(axis=0) for each in tracks],
    }
    if design.n_repeats > 1:
        less["learning"] = [each.named[1:].mean(axis=0) - each.named[0] for each in tracks]
    found = {
        kind: difference_of(np.concatenate(rows), sizes, design.level, design.n_draws, design.seed)
        for kind, rows in less.items()
    }
    return Verdict(
        agent=agent,
        dataset=market.name,
        periods_per_year=market.periods_per_year,
        design=design,
        tracks=tuple(tracks),
        name=found["name"],
        path=found["path"],
        adjusted=dict(zip(KINDS, adjusted(found["name"].p_value, found["path"].p_value), strict=True)),
        learning=found.get("learning"),
        faults={arm: trial.faults_of(arm) for arm in ARMS if trial.faults_of(arm)},
        notices=(*notices, *_notices(market)),
    )


def adjusted(name: float | None, path: float | None) -> tuple[float | None, float | None]:
    """Return p-values so that either is at most the level as rarely as the level says.

    Where both were at most the level, both are. This holds of tests that depend positively, as two do that share an
    arm; that both are at most the level where either should not be is as rare whatever they depend on.

    Source: Hochberg (1988).
    """
    if name is None or path is None:
        return name, path
    return min(2.0 * name, max(name, path)), min(2.0 * path, max(name, path))


def _notices(market: Dataset) -> list[str]:
    lanes = {"fundamentals": market.fundamentals, "news": market.news}
    told = [f"{len(items)} {lane}" for lane, items in lanes.items() if items]
    return [f"{' and '.join(told)} items left out of every arm: a disguise cannot show them"] if told else []
