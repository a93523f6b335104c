"""Views of a research session, as plain records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from openoutcry.report.charts.equity_charts import Line
from openoutcry.report.views.run_view import Provenance
from openoutcry.report.views.search_view import SearchView


@dataclass(frozen=True)
class GateMark:
    """One gate of one trial.

    Attributes:
        name: Name of the gate.
        value: Measured value; None if undefined.
        bound: Required bound, such as `>= 1.2`.
        passed: Whether the trial passed the gate.
        reason: Why the value is None.
    """

    name: str
    value: float | None
    bound: str
    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class RoundRow:
    """One round: a proposal and its outcome.

    Attributes:
        number: Number of the round, from 1.
        name: The strategy.
        params: Its parameters, as text.
        rationale: Hypothesis of the proposer.
        outcome: `advanced`, `kept`, `discarded`, `rejected` or `crashed`.
        reasons: Why it did not advance.
        sharpe: Annual Sharpe ratio out of sample; None if undefined or not evaluated.
        drawdown: Maximum drawdown out of sample, from 0 to 1; None if not evaluated.
        dsr: Deflated Sharpe ratio, for the trials counted up to this round.
        gates: Gates of the trial; empty if it was not evaluated.
        source: Source code, if the strategy is code.
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
        params: Its parameters, as text.
        sharpe: Annual Sharpe ratio out of sample.
        drawdown: Maximum drawdown out of sample, from 0 to 1.
        dsr: Deflated Sharpe ratio, for all trials counted.
        dsr_if_one: Deflated Sharpe ratio for a single trial.
        dsr_alpha: Deflated Sharpe ratio of the alpha over the market.
        holdout: Result in the holdout, as text.
        passed: Whether it passed the holdout; None if the holdout stayed closed.
        cautions: Points to check by hand.
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
    """A research session.

    Attributes:
        goal: Goal stated by the user.
        market: Name and period of the research window.
        session_id: Identifier of the session.
        stopped: Why the session stopped, as text.
        n_trials: Trials counted for the market family.
        n_session: Trials of this session.
        n_eff: Clusters of the session's trials; None if unknown.
        pbo: Probability of backtest overfitting; None if unknown.
        spa: Hansen's SPA p-value against cash; None if unknown.
        tokens: Tokens used.
        shortlist: Candidates, best first.
        dropped: Trials that were excluded from the short list, with the reason.
        rounds: All rounds in order.
        lines: NAV series out of sample, the last one drawn on top.
        caption: Caption of the NAV chart.
        holdout: State of the holdout, as a sentence.
        prior: Findings of earlier sessions, as shown to proposers; empty in the first session.
        notices: Caveats of the data.
        holdout_notes: Power of the holdout and limits of its count, one sentence each.
        provenance: Conditions and versions of the session.
        search: Parameter maps, history and folds.
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
    caption: str
    holdout: str
    prior: str
    notices: Sequence[str]
    holdout_notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=lambda: Provenance(()))
    search: SearchView = field(default_factory=SearchView)
