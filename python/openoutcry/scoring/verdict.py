"""Verdicts on agents: gates with values and bounds, ranks, and boards.

`docs/score.md` defines each gate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

BENCHMARKS = ("buy-and-hold", "cash", "equal-weight", "passive-mix", "past-mix")
"""Benchmarks of the current edition of the scorer; the first edition has the first two, the second four."""


def field_of(benchmark: str) -> str:
    """Return the name of a benchmark as a part of a field of JSON."""
    return benchmark.replace("-", "_")


@dataclass(frozen=True)
class Gate:
    """A condition of eligibility.

    Attributes:
        slug: Stable name.
        passed: Whether the condition holds; None if that is unknown.
        value: Measured value; None if undefined.
        bound: Required value, if any.
        reason: Slug of the reason if the gate failed or is unknown.
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
    """Verdict on an agent, with all of its inputs.

    A value that is None has its reason in `undefined` of the same object. `docs/score.md` defines the numbers of
    `sides` and `trials`.

    Attributes:
        agent_id: Name of the agent.
        verdict: `eligible`, `not_eligible`, `insufficient` or `unknown`.
        reasons: Slugs of the reasons, without duplicates.
        because: The reasons as text.
        gates: Every gate.
        sealed: Verdict, reasons, gates and `z` on only the sealed windows; None unless the suite has both sealed and
            public windows.
        rank: Rank, 1 for the best; the agents of a band share a rank.
        z: Standard errors of the Sharpe ratio above SR0, the expected best of all trials without skill. The median
            seed, against the strictest benchmark; on only the sealed windows if the suite has both kinds.
        seed_z: The same for each seed.
        above_luck: Share of the null agents with a lower `z`.
        copy_of: Another agent with the same return series, unless this agent is known to be the original.
        digest: Digest of the record; None for returns without a record.
        n_days: Days of all windows; a year of weekly or monthly returns is 252.
        n_returns: Returns of all windows.
        n_windows: Number of windows.
        n_seeds: Number of seeds per window with distinct returns.
        n_won: Windows above the benchmark.
        periods_per_year: Bars per year.
        declared: Trials declared by the author of the agent.
        trials: Number of trials and the spread of their Sharpe ratios.
        metrics: Metrics of the mean return series of all seeds.
        sides: Against each benchmark of the edition: deflated Sharpe ratio with its inputs, errors, tests.
        markets: Annual alpha, and beta, on each market.
        windows: Results of each window.
        pass_k: Probability that k of k seeds pass, and whether all do.
        process: Sandbox tier of the runs, faults by cause, events, terminations, worst drawdown and largest exposure.
        diagnostics: Diagnostics that decide nothing: delay, common cost, capacity, decay, calibration.
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
    n_returns: int
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
    diagnostics: dict[str, Any]
    undefined: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Score:
        """Return the score of a JSON object of the scorer."""
        lists = ("reasons", "because", "seed_z", "sides", "markets", "windows")
        attributes: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in fields.items()}
        attributes["gates"] = tuple(Gate(**gate) for gate in fields["gates"])
        return cls(**attributes)

    @property
    def is_eligible(self) -> bool:
        """Whether every gate holds."""
        return self.verdict == "eligible"

    @property
    def dsr(self) -> float | None:
        """Deflated Sharpe ratio on the windows that decide the rank; None if undefined."""
        return self.ranking_gate("dsr").value

    @property
    def isolation(self) -> str | None:
        """Sandbox of the runs, None if unknown.

        The lowest tier of any run, `T0` to `T3` or `in process`, and `+ net` if any run had network access.
        """
        least: str | None = self.process["isolation"]
        return f"{least} + net" if self.process["network"] else least

    def ranking_gate(self, slug: str) -> Gate:
        """Return a gate of skill on the windows that decide the rank.

        These are the sealed windows if the suite has both sealed and public windows, otherwise all windows.
        """
        if self.sealed is None:
            return self.gate(slug)
        return next(Gate(**each) for each in self.sealed["gates"] if each["slug"] == slug)

    def gate(self, slug: str) -> Gate:
        """Return a gate by its slug."""
        gate = next((gate for gate in self.gates if gate.slug == slug), None)
        if gate is None:
            names = ", ".join(gate.slug for gate in self.gates)
            raise refusal("argument_invalid", f"`slug` must be one of {names}; received {slug!r}")
        return gate


@dataclass(frozen=True)
class Board:
    """Scores of several agents, ranked.

    Attributes:
        scores: By rank, unranked agents last.
        bands: Agent names by band, best band first. The agents of a band are not significantly different from its
            first.
        tests: Multiple-testing results by benchmark; None if there are none.
        power: Statistical power of the board, with a sentence.
        separation: Days needed to separate the first two agents; None for fewer than two ranked agents.
        luck_floor: Results of the null agents; None if none were given.
        overfit: Probability of backtest overfitting, advisory.
        undefined: Why a number is None.
        text: The board as JSON.
        edition: Edition of the scorer, which defines the benchmarks and gates; see `docs/score.md`.
        caveats: Bars per year that contradict the dates of returns or of a market, dates with missing bars, symbols
            with returns that follow those of another symbol, and what the edition and the gates do not judge.
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
    caveats: tuple[str, ...] = ()
    edition: int = 1

    @classmethod
    def from_json(cls, board: str, caveats: tuple[str, ...] = ()) -> Board:
        """Return the board of the scorer's JSON."""
        fields = json.loads(board)
        benchmarks = [name for name in BENCHMARKS if f"tests_{field_of(name)}" in fields]
        return cls(
            scores=tuple(map(Score.of, fields["scores"])),
            bands=tuple(map(tuple, fields["bands"])),
            tests={name: fields[f"tests_{field_of(name)}"] for name in benchmarks},
            undefined=fields.get("undefined", {}),
            text=board,
            caveats=caveats,
            edition=fields.get("edition", 1),
            **{name: fields[name] for name in ("power", "separation", "luck_floor", "overfit")},
        )

    @cached_property
    def eligible(self) -> tuple[Score, ...]:
        """Scores of the agents that pass every gate."""
        return tuple(score for score in self.scores if score.is_eligible)

    def __getitem__(self, agent_id: str) -> Score:
        for each in self.scores:
            if each.agent_id == agent_id:
                return each
        names = ", ".join(each.agent_id for each in self.scores)
        raise refusal("unknown_agent", f"an agent must be one of {names}; received {agent_id!r}")

    @property
    def sentence(self) -> str:
        """Comparison of the first two agents, as a sentence."""
        if self.separation is None:
            n_unranked, n_agents = sum(score.rank is None for score in self.scores), len(self.scores)
            if n_agents < 2 or not n_unranked:
                return "A comparison needs at least two agents."
            is_or_are, n_ranked = "is" if n_unranked == 1 else "are", n_agents - n_unranked
            consequence = f"{self.bands[0][0]} has no agent to be compared with" if n_ranked else "none can be compared"
            return f"{n_unranked} of {n_agents} agents {is_or_are} unranked: {consequence}."
        first, second = self.separation["first"], self.separation["second"]
        if not any({first, second} <= set(band) for band in self.bands):
            return f"{first} is ahead of {second}."
        needed, n_days = self.separation["n_needed"], self.separation["n_days"]
        if needed is None:
            return f"{first} and {second} cannot be separated: {self.separation['undefined']['n_needed']}."
        more = f"about {needed:,.0f} days" if needed > n_days else "more days, because all pairs are compared"
        return f"{first} and {second} cannot be separated on {counted(n_days, 'day')}: separating them takes {more}."
