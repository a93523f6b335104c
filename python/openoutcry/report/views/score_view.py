"""What the page of a scored board is drawn from: plain records.

No types of the scorer. Every number arrives computed. One that is `None` is undefined, and its reason comes with it,
under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["FieldTest", "Floor", "ScoreGate", "ScoreRow", "ScoreSide", "ScoreView", "ScoreWindow", "Values"]

Values = Mapping[str, float | None]
Reasons = Mapping[str, str]


@dataclass(frozen=True)
class ScoreGate:
    """A condition of eligibility.

    Attributes:
        slug: Its stable name; names the page has words for are in `score_words.py`.
        passed: Whether it holds; `None` where that is not known.
        value: What was found; `None` is undefined.
        bound: What it was held against; `None` for nothing.
        reason: Why it does not hold, or is not known to; empty where it holds.
        undefined: Why `value` is `None`.
    """

    slug: str
    passed: bool | None
    value: float | None
    bound: float | None
    reason: str = ""
    undefined: str = ""


@dataclass(frozen=True)
class ScoreSide:
    """An agent against one benchmark.

    Attributes:
        name: The benchmark.
        values: Name to value; names the page knows are in `score_words.py`.
        reasons: Name to why it is undefined.
    """

    name: str
    values: Values
    reasons: Reasons = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreWindow:
    """One window of an agent.

    Attributes:
        market: What people call its market.
        first: Its first date; empty if unknown.
        last: Its last date; empty if unknown.
        n_days: Its returns.
        n_seeds: Runs of it.
        n_passed: Runs of it that pass.
        z: Benchmark to standard errors of the ratio of active returns above 0.
        values: `return` and `vol`.
        reasons: Benchmark, or name of a value, to why it is undefined.
    """

    market: str
    first: str
    last: str
    n_days: int
    n_seeds: int
    n_passed: int
    z: Values
    values: Values
    reasons: Reasons = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreRow:
    """An agent of the board.

    Attributes:
        name: What it is called.
        verdict: `eligible`, `not_eligible`, `insufficient` or `unknown`.
        because: Why, in words.
        rank: 1 for the best; agents of a band share it; `None` for an agent that has none.
        values: Name to value, of the agent as a whole: `z`, `dsr`, `romano_wolf`, `above_luck` and what
            `score_words.py` knows.
        reasons: Name to why it is undefined.
        seed_z: Standard errors above the luck of trials, of each seed; undefined ones are `None`.
        n_won: Windows above the benchmark.
        n_trials: Trials that it was chosen out of.
        sides: Against each benchmark.
        gates: Every gate.
        windows: Every window.
        pass_k: Probability that k of k seeds pass, from 1 up.
        markets: Name to alpha and beta, a year.
        metrics: Statistics of the track; names and units are in `metrics.py`.
        beside: What decides nothing; names are in `score_words.py`.
        isolation: How far it was locked in, in words; empty where nobody can tell.
        faults: Answers that were no decisions, by slug; `None` where nobody can tell.
        infrastructure_faults: Decisions held as the agent could not be reached, by slug; `None` as above.
        events: As in `RunView`.
        n_decisions: Decisions of all runs.
        copy_of: The agent whose track it has; empty for none.
        sealed: Gates of skill on the sealed windows alone; empty where there are no others beside them.
    """

    name: str
    verdict: str
    because: Sequence[str]
    rank: int | None
    values: Values
    reasons: Reasons
    seed_z: Sequence[float | None]
    n_won: int
    n_trials: int
    sides: Sequence[ScoreSide]
    gates: Sequence[ScoreGate]
    windows: Sequence[ScoreWindow]
    pass_k: Sequence[float]
    markets: Sequence[tuple[str, Values, Reasons]]
    metrics: Values
    beside: Values
    isolation: str
    faults: Mapping[str, int] | None
    infrastructure_faults: Mapping[str, int] | None
    events: Mapping[str, Mapping[str, int]]
    n_decisions: int
    copy_of: str = ""
    sealed: Sequence[ScoreGate] = ()


@dataclass(frozen=True)
class Floor:
    """What agents without skill show on the same windows.

    Attributes:
        n_agents: How many they are.
        sharpe: Quantile, 0 to 1, to the annual Sharpe ratio over cash that this share of them stays below.
        best_z: Standard errors of the best of them above the luck of trials; `None` is undefined.
        each_sharpe: The ratio of each of them; `None` is undefined.
        each_z: The same standard errors of each of them.
    """

    n_agents: int
    sharpe: Mapping[float, float]
    best_z: float | None
    each_sharpe: Sequence[float | None] = ()
    each_z: Sequence[float | None] = ()

    def __post_init__(self) -> None:
        for level in self.sharpe:
            if not 0.0 <= level <= 1.0:
                raise ValueError(f"a quantile of `sharpe` must lie in 0 to 1; received {level}")


@dataclass(frozen=True)
class FieldTest:
    """Whether anybody of the field beats a benchmark.

    Attributes:
        benchmark: The benchmark.
        values: p-values by name; empty where there are none.
        reason: Why there are none.
    """

    benchmark: str
    values: Values
    reason: str = ""


@dataclass(frozen=True)
class ScoreView:
    """A scored board, as the page shows it.

    Attributes:
        title: Head of the page.
        protocol: What agents were held to, in a line.
        sentence: What can be said of the first two agents.
        power: What a board of so many agents can see at all.
        rows: By rank, those without one last; the page does not sort.
        floor: Agents without skill; `None` for none.
        tests: Tests of the field.
        overfit: Probability that the best is so by overfitting; `None` is undefined.
        overfit_reason: Why it is undefined.
        notices: What a reader must know, one sentence each.
    """

    title: str
    protocol: str
    sentence: str
    power: str
    rows: Sequence[ScoreRow]
    floor: Floor | None = None
    tests: Sequence[FieldTest] = ()
    overfit: float | None = None
    overfit_reason: str = ""
    notices: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("`rows` must hold at least 1 agent; received 0")
        ranks = [float("inf") if row.rank is None else row.rank for row in self.rows]
        if ranks != sorted(ranks):
            raise ValueError(f"`rows` must be by rank, those without one last; received {ranks}")
