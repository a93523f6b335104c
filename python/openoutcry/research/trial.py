"""A trial, and what a session hands over when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.research.acceptance_gates import NOTHING_LEFT, Gate
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.proposal_requests import TrialCard
from openoutcry.research.sealed_holdout import Seal, Verdict
from openoutcry.research.selection_luck import Luck, Memory
from openoutcry.research.short_list import Dropped
from openoutcry.research.trial_advice import Advice
from openoutcry.research.trial_scores import OosScore
from openoutcry.research.walkforward_validation import Validated

EVEN, SURE = 0.5, 0.95
"""A deflated Sharpe ratio that is as likely luck as not, and one that hardly is."""


@dataclass(frozen=True)
class Trial:
    """A configuration whose out-of-sample result was looked at.

    Attributes:
        key: SHA-256 of all that the result depends on.
        round: The round it was proposed in.
        candidate: What was evaluated.
        validated: What came of it.
        luck: How much of its score is luck, at the trials counted then.
        gates: What it had to show.
        outcome: `advanced`, `kept` or `discarded`.
        reasons: Why it did not advance.
    """

    key: str
    round: int
    candidate: Candidate
    validated: Validated
    luck: Luck
    gates: tuple[Gate, ...]
    outcome: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def oos(self) -> OosScore:
        """Its out-of-sample score."""
        return self.validated.oos

    def to_json(self) -> dict[str, Any]:
        """Return what a journal says of it before a decision."""
        return {
            "round": self.round,
            "key": self.key,
            "strategy": self.candidate.name,
            "identity": dict(self.candidate.identity),
            "tuned": list(self.candidate.tuned),
            "fold_params": [dict(each) for each in self.validated.params],
            "n_configs": self.validated.n_configs,
            "oos": self.oos.to_json(),
            "in_sample": [vars(each) for each in self.validated.in_sample],
            "luck": self.luck.to_json(),
            "gates": [gate.to_json() for gate in self.gates],
        }

    def card(self) -> TrialCard:
        """Return what proposers of later rounds are shown of it."""
        oos = self.oos
        scores = {
            "oos_sharpe": oos.sharpe,
            "oos_max_drawdown": oos.max_drawdown,
            "oos_return": oos.return_,
            "dsr": self.luck.dsr,
            "trades": float(sum(fold.n_trades for fold in oos.folds)),
        }
        return TrialCard(self.round, self.candidate.proposal.to_json(), self.outcome, self.reasons, scores)


@dataclass(frozen=True)
class Listed:
    """A candidate on the short list.

    Attributes:
        trial: Its trial.
        luck: How much of its score is luck at the trials of the whole session.
        gates: Its gates, judged again by that.
        verdict: What it did in the holdout; None where that was not opened.
    """

    trial: Trial
    luck: Luck
    gates: tuple[Gate, ...]
    verdict: Verdict | None = None

    @property
    def key(self) -> str:
        """Key of its trial."""
        return self.trial.key

    @property
    def oos(self) -> OosScore:
        """Its out-of-sample score."""
        return self.trial.oos

    @property
    def cautions(self) -> tuple[str, ...]:
        """What should make a person look twice, though every gate has passed."""
        told, luck = [], self.luck
        if luck.dsr_alpha is None:
            told.append(NOTHING_LEFT)
        elif luck.dsr_alpha <= EVEN:
            told.append(f"beyond holding the market its DSR is {luck.dsr_alpha:.3f}")
        if luck.dsr is not None and luck.dsr_spread is not None and luck.dsr_spread < SURE < luck.dsr:
            told.append(f"its DSR is {luck.dsr_spread:.3f} by how far the ratios of all trials lie apart")
        return tuple(told)

    def to_json(self) -> dict[str, Any]:
        """Return what is frozen of it, before the holdout is opened."""
        return {
            "key": self.key,
            "strategy": self.trial.candidate.name,
            "identity": dict(self.trial.candidate.identity),
            "oos": self.oos.to_json(),
            "luck": self.luck.to_json(),
            "gates": [gate.to_json() for gate in self.gates],
        }


@dataclass(frozen=True)
class Result:
    """What a session hands over.

    Attributes:
        session_id: Its name.
        start: What stood in its first event.
        trials: All trials, in order.
        history: All rounds, as proposers saw them.
        shortlist: Candidates for a person to decide on, best first.
        dropped: What could have been on the list, and why it is not.
        n_trials: Trials counted for the family of the market, earlier sessions' too.
        n_session: Those of them that this session made.
        advice: What the trials say of one another.
        tokens: Tokens used.
        stopped_reason: Why it stopped.
        memory: What it began with.
        seal: Of the holdout; None where that stayed shut.
        holdout_reuse: How often the holdout had been opened before; None where it stayed shut.
        holdout_note: Why it stayed shut; empty where it did not.
    """

    session_id: str
    start: Mapping[str, Any]
    trials: tuple[Trial, ...]
    history: tuple[TrialCard, ...]
    shortlist: tuple[Listed, ...]
    dropped: tuple[Dropped, ...]
    n_trials: int
    n_session: int
    advice: Advice
    tokens: int
    stopped_reason: str
    memory: Memory
    seal: Seal | None = None
    holdout_reuse: int | None = None
    holdout_note: str = ""
