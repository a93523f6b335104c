"""Views of scored boards: plain records without types of the scorer.

Every number arrives computed. `None` is undefined, and `reasons` has its reason under the same name.
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
        slug: Stable name; `score_labels.GATES` has the known ones.
        passed: Whether the condition holds; `None` if unknown.
        value: Measured value; `None` if undefined.
        bound: Required value; `None` for none.
        reason: Why the gate failed or is unknown; empty if it passed.
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
        values: Name to value; `score_labels.SIDE` has the known names.
        reasons: Name to why it is undefined.
    """

    name: str
    values: Values
    reasons: Reasons = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreWindow:
    """One window of an agent.

    Attributes:
        market: Display name of the market.
        first: First date; empty if unknown.
        last: Last date; empty if unknown.
        n_days: Number of days.
        n_seeds: Number of seeds.
        n_passed: Number of seeds that pass.
        z: Benchmark to the Sharpe ratio of active returns, in standard errors.
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
        name: Name of the agent.
        verdict: `eligible`, `not_eligible`, `insufficient` or `unknown`.
        because: Reasons of the verdict, as text.
        rank: 1 for the best; the agents of a band share a rank; `None` for an unranked agent.
        values: Name to value over all windows: `z`, `dsr`, `romano_wolf` and `above_luck`.
        reasons: Name to why it is undefined.
        seed_z: Standard errors above SR0 of each seed; `None` if undefined.
        n_won: Windows above the benchmark.
        n_trials: Number of trials used for deflation.
        sides: Against each benchmark.
        gates: Every gate.
        windows: Every window.
        pass_k: Probability that k of k seeds pass, from k = 1.
        markets: Market, annual alpha and beta, reasons.
        metrics: Metrics of the mean return series; `metric_labels.METRICS` has names and units.
        diagnostics: Diagnostics that decide nothing; `score_labels.DIAGNOSTICS` has the names.
        isolation: Sandbox tier, as text; empty if unknown.
        faults: Faults of the agent by slug; `None` if unknown.
        infrastructure_faults: Faults of infrastructure by slug; `None` if unknown.
        events: As in `RunView`.
        n_decisions: Decisions of all runs.
        copy_of: Agent with the same return series; empty for none.
        sealed: Gates of skill on only the sealed windows; empty unless the suite has sealed and public windows.
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
    diagnostics: Values
    isolation: str
    faults: Mapping[str, int] | None
    infrastructure_faults: Mapping[str, int] | None
    events: Mapping[str, Mapping[str, int]]
    n_decisions: int
    copy_of: str = ""
    sealed: Sequence[ScoreGate] = ()


@dataclass(frozen=True)
class Floor:
    """Results of the null agents on the same windows.

    Attributes:
        n_agents: Number of null agents.
        sharpe: Quantile level, 0 to 1, to the quantile of their annual Sharpe ratios over cash.
        best_z: Highest `z` among them; `None` if undefined.
        each_sharpe: Annual Sharpe ratio of each; `None` if undefined.
        each_z: `z` of each; `None` if undefined.
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
    """Multiple-testing results of the field against one benchmark.

    Attributes:
        benchmark: The benchmark.
        values: p-values by name; empty if there are none.
        reason: Why there are none.
    """

    benchmark: str
    values: Values
    reason: str = ""


@dataclass(frozen=True)
class ScoreView:
    """A scored board, as the page shows it.

    Attributes:
        title: Title of the page.
        protocol: Evaluation protocol, in one line.
        sentence: Comparison of the first two agents.
        power: Statistical power of the board, as a sentence.
        rows: By rank, unranked agents last; the page does not sort.
        floor: Null agents; `None` for none.
        tests: Multiple-testing results, per benchmark.
        overfit: Probability of backtest overfitting; `None` if undefined.
        overfit_reason: Why it is undefined.
        notices: Caveats, one sentence each.
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
            raise ValueError(f"`rows` must be sorted by rank, unranked agents last; received {ranks}")
