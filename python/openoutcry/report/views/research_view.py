"""What the page of a session of research shows, as plain records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from openoutcry.report.charts.equity_charts import Line
from openoutcry.report.views.run_view import Provenance


@dataclass(frozen=True)
class GateMark:
    """One gate of one trial.

    Attributes:
        name: What it is called.
        value: What was measured; None where nothing could be.
        bound: What was required, such as `>= 1.2`.
        passed: Whether it passed.
        reason: Why there was no value.
    """

    name: str
    value: float | None
    bound: str
    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class RoundRow:
    """One round: what was proposed, and what became of it.

    Attributes:
        number: The round, from 1.
        name: The strategy.
        params: Its params, in words.
        rationale: Why it should have worked.
        outcome: `advanced`, `kept`, `discarded`, `rejected` or `crashed`.
        reasons: Why it did not advance.
        sharpe: Out-of-sample Sharpe ratio a year; None where undefined or not evaluated.
        drawdown: Deepest fall out of sample, from 0 to 1; None where not evaluated.
        dsr: Deflated Sharpe ratio at the trials counted then.
        gates: What it had to show; empty where it was not evaluated.
        source: Its source, where it is code.
    """

    number: int
    name: str
    params: str
    rationale: str
    outcome: str
    reasons: Sequence[str] = ()
    sharpe: float | None = None
    drawdown: float | None = None
    dsr: float | None = None
    gates: Sequence[GateMark] = ()
    source: str = ""


@dataclass(frozen=True)
class ListedRow:
    """One candidate of the short list.

    Attributes:
        name: The strategy.
        params: Its params, in words.
        sharpe: Out-of-sample Sharpe ratio a year.
        drawdown: Deepest fall out of sample, from 0 to 1.
        dsr: Deflated Sharpe ratio at all trials counted.
        dsr_if_one: What it would be had only one trial been declared.
        dsr_alpha: The deflated Sharpe ratio of what is left beyond holding the market.
        holdout: What it did in the holdout, in words.
        passed: Whether it passed there; None where that stayed shut.
        cautions: What should make a person look twice.
    """

    name: str
    params: str
    sharpe: float | None
    drawdown: float
    dsr: float | None
    dsr_if_one: float | None
    dsr_alpha: float | None
    holdout: str
    passed: bool | None
    cautions: Sequence[str] = ()


@dataclass(frozen=True)
class ResearchView:
    """A session of research.

    Attributes:
        goal: What the person wanted.
        market: Name and span of the research window.
        session_id: Name of the session.
        stopped: Why it stopped, in words.
        n_trials: Trials counted for the family of the market.
        n_session: Those of them that this session made.
        n_eff: Clusters of the session's trials; None if unknown.
        pbo: Probability of backtest overfitting of choosing the best trial; None if unknown.
        spa: P-value that no trial beats cash; None if unknown.
        tokens: Tokens used.
        shortlist: Candidates, best first.
        dropped: What could have been on the list, and why it is not.
        rounds: All rounds in order.
        lines: Tracks out of sample, the last one drawn on top.
        lines_told: What the tracks are, in a sentence.
        holdout: What became of the holdout, in a sentence.
        prior: What earlier sessions had learned, as proposers were shown it; empty in the first one.
        notices: What a reader must know about the data.
        provenance: What was run.
    """

    goal: str
    market: str
    session_id: str
    stopped: str
    n_trials: int
    n_session: int
    n_eff: int | None
    pbo: float | None
    spa: float | None
    tokens: int
    shortlist: Sequence[ListedRow]
    dropped: Sequence[str]
    rounds: Sequence[RoundRow]
    lines: Sequence[Line]
    lines_told: str
    holdout: str
    prior: str
    notices: Sequence[str]
    provenance: Provenance = field(default_factory=lambda: Provenance(()))
