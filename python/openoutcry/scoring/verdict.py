"""Verdicts on agents: gates with what they were decided on, and ranks.

`docs/score.md` says what each gate asks and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from openoutcry.errors import refusal


@dataclass(frozen=True)
class Gate:
    """A condition of eligibility.

    Attributes:
        slug: Its stable name.
        passed: Whether it holds; None where that is not known.
        value: What was found; None where it is undefined.
        bound: What it was held against, if anything.
        reason: Slug of why it does not hold, or is not known to.
        undefined: Why a number is None.
    """

    slug: str
    passed: bool | None
    value: float | None
    bound: float | None
    reason: str | None
    undefined: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """Everything that the verdict on an agent was made of.

    What is None has its reason in `undefined`, here or in the dictionary that it stands in. Each number of `sides` and
    `trials` is what `docs/score.md` calls it.

    Attributes:
        agent_id: What the agent is called.
        verdict: `eligible`, `not_eligible`, `insufficient` or `unknown`.
        reasons: Slugs of why, each once.
        because: The reasons in words.
        gates: Every gate.
        sealed: Verdict, reasons, gates and `z` on the sealed windows alone; None where there are no others beside them.
        rank: Place, 1 for the best; agents that cannot be told from the first of their band share one.
        z: Standard errors above the luck of trials, of the typical seed and the benchmark where they are fewer; on the
            sealed windows alone where they are fewer there.
        seed_z: The same for each seed.
        above_luck: Share of the luck floor that `z` is above.
        copy_of: Another agent whose track it has, unless it is known to have made it.
        digest: Digest of its record, None for returns alone.
        n_days: Returns of all windows.
        n_windows: Windows.
        n_seeds: Seeds of each window that change something.
        n_won: Windows above the benchmark.
        periods_per_year: Bars a year.
        declared: Trials that its maker declares.
        trials: Out of how many trials it was chosen, and their spread.
        metrics: Statistics of the track, of the seeds' mean.
        sides: Against buy-and-hold and cash: deflated ratio with its inputs, errors, tests.
        markets: Alpha and beta on each market, a year.
        windows: Each window by itself.
        pass_k: Probability that k of k seeds pass, and whether all do.
        process: How the runs were locked in, faults by whose they are, events, terminations, worst drawdown and largest
            exposure.
        beside: What decides nothing: delay, common cost, capacity, decay, calibration.
        undefined: Why a number is None.
    """

    agent_id: str
    verdict: str
    reasons: tuple[str, ...]
    because: tuple[str, ...]
    gates: tuple[Gate, ...]
    sealed: dict[str, Any] | None
    rank: int | None
    z: float | None
    seed_z: tuple[float | None, ...]
    above_luck: float | None
    copy_of: str | None
    digest: str | None
    n_days: int
    n_windows: int
    n_seeds: int
    n_won: int
    periods_per_year: float
    declared: int
    trials: dict[str, Any]
    metrics: dict[str, Any]
    sides: tuple[dict[str, Any], ...]
    markets: tuple[dict[str, Any], ...]
    windows: tuple[dict[str, Any], ...]
    pass_k: dict[str, Any]
    process: dict[str, Any]
    beside: dict[str, Any]
    undefined: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Score:
        """Return the score of a JSON object of the scorer."""
        lists = ("reasons", "because", "seed_z", "sides", "markets", "windows")
        kept: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in fields.items()}
        kept["gates"] = tuple(Gate(**each) for each in fields["gates"])
        return cls(**kept)

    @property
    def is_eligible(self) -> bool:
        """Whether every gate holds."""
        return self.verdict == "eligible"

    @property
    def dsr(self) -> float | None:
        """Deflated Sharpe ratio on the windows that rank, None where it is undefined."""
        return self.ranking_gate("dsr").value

    @property
    def isolation(self) -> str | None:
        """How far the runs were locked in, in words, None where nobody can tell.

        The least tier of any run, `T0` to `T3` or `in process`, and `+ net` where one could reach a network.
        """
        least: str | None = self.process["isolation"]
        return f"{least} + net" if self.process["network"] else least

    def ranking_gate(self, slug: str) -> Gate:
        """Return a gate of skill on the windows that rank.

        These are the sealed ones alone where the suite has others beside them, and all windows elsewhere.
        """
        if self.sealed is None:
            return self.gate(slug)
        return next(Gate(**each) for each in self.sealed["gates"] if each["slug"] == slug)

    def gate(self, slug: str) -> Gate:
        """Return a gate by its name."""
        found = next((gate for gate in self.gates if gate.slug == slug), None)
        if found is None:
            names = ", ".join(gate.slug for gate in self.gates)
            raise refusal("argument_invalid", f"`slug` must be one of {names}; received {slug!r}")
        return found


@dataclass(frozen=True)
class Board:
    """Agents judged together.

    Attributes:
        scores: By rank, those without one last.
        bands: Names of agents that cannot be told from the first of each band, best band first.
        tests: Tests of the field, by benchmark; None where there are none.
        power: What a board of so many agents can see at all, with a sentence.
        separation: What it takes to tell the first two apart, None for fewer than two.
        luck_floor: What agents without skill show, and each of them; None where none were given.
        overfit: Probability of backtest overfitting, advisory.
        undefined: Why a number is None.
        text: The board as JSON.
    """

    scores: tuple[Score, ...]
    bands: tuple[tuple[str, ...], ...]
    tests: dict[str, dict[str, Any] | None]
    power: dict[str, Any] | None
    separation: dict[str, Any] | None
    luck_floor: dict[str, Any] | None
    overfit: float | None
    undefined: dict[str, str] = field(repr=False)
    text: str = field(repr=False)

    @classmethod
    def from_json(cls, board: str) -> Board:
        """Return the board of the scorer's JSON."""
        fields = json.loads(board)
        return cls(
            scores=tuple(map(Score.of, fields["scores"])),
            bands=tuple(map(tuple, fields["bands"])),
            tests={"buy-and-hold": fields["tests_buy_and_hold"], "cash": fields["tests_cash"]},
            undefined=fields.get("undefined", {}),
            text=board,
            **{name: fields[name] for name in ("power", "separation", "luck_floor", "overfit")},
        )

    @cached_property
    def eligible(self) -> tuple[Score, ...]:
        """Scores of the agents that every gate holds for."""
        return tuple(score for score in self.scores if score.is_eligible)

    def __getitem__(self, agent_id: str) -> Score:
        for each in self.scores:
            if each.agent_id == agent_id:
                return each
        names = ", ".join(each.agent_id for each in self.scores)
        raise refusal("unknown_agent", f"an agent must be one of {names}; received {agent_id!r}")

    @property
    def sentence(self) -> str:
        """What the board can say of its first two agents, in words."""
        if self.separation is None:
            n_unranked, n_agents = sum(score.rank is None for score in self.scores), len(self.scores)
            if n_agents < 2 or not n_unranked:
                return "There are no two agents to tell apart."
            have, left = "has" if n_unranked == 1 else "have", n_agents - n_unranked
            to_tell = f"there is nobody to tell {self.bands[0][0]} from" if left else "there is nobody to tell apart"
            return f"{n_unranked} of {n_agents} agents {have} no rank: {to_tell}."
        first, second = self.separation["first"], self.separation["second"]
        if not any({first, second} <= set(band) for band in self.bands):
            return f"{first} is ahead of {second}."
        needed, n_days = self.separation["n_needed"], self.separation["n_days"]
        if needed is None:
            return f"{first} and {second} cannot be told apart: {self.separation['undefined']['n_needed']}."
        more = f"{needed:,.0f} days would" if needed > n_days else "more than these days, for so many pairs, would"
        return f"{first} and {second} cannot be told apart on {n_days:,} days; {more} tell them apart."
