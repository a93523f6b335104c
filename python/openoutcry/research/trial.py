"""A trial, and the result of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.research.acceptance_gates import Gate
from openoutcry.research.cautions import implausible, of_constants, of_luck
from openoutcry.research.holdout_power import HoldoutPower
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.proposal_requests import TrialCard
from openoutcry.research.sealed_holdout import Seal, Verdict
from openoutcry.research.selection_luck import Luck, PriorTrials
from openoutcry.research.short_list import Dropped
from openoutcry.research.trial_advice import Advice
from openoutcry.research.trial_scores import OosScore
from openoutcry.research.walkforward_validation import ValidationResult


@dataclass(frozen=True)
class Trial:
    """A configuration with its out-of-sample result.

    Attributes:
        key: SHA-256 of all inputs that the result depends on.
        round: The round in which it was proposed.
        candidate: The evaluated candidate.
        validation: Its walk-forward result.
        luck: Its deflated Sharpe ratios at the number of trials counted at that time.
        gates: Its acceptance gates.
        outcome: `advanced`, `kept` or `discarded`.
        reasons: Why it did not advance.
    """

    key: str
    round: int
    candidate: Candidate
    validation: ValidationResult
    luck: Luck
    gates: tuple[Gate, ...]
    outcome: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def oos(self) -> OosScore:
        """Its out-of-sample score."""
        return self.validation.oos

    @property
    def is_code(self) -> bool:
        """Whether its strategy is generated code."""
        return self.candidate.proposal.kind == "code"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Points to check by hand that its out-of-sample score gives."""
        return tuple(implausible(self.oos.sharpe, "out of sample", is_code=self.is_code))

    def to_json(self) -> dict[str, Any]:
        """Return the payload of the journal's `trial` event."""
        found = self.candidate.information
        more: dict[str, Any] = {} if found is None else {"information": found.to_json()}
        if self.cautions:
            more["cautions"] = list(self.cautions)
        return more | {
            "round": self.round,
            "key": self.key,
            "strategy": self.candidate.name,
            "identity": dict(self.candidate.identity),
            "tuned": list(self.candidate.tuned),
            "fold_params": [dict(each) for each in self.validation.params],
            "n_configs": self.validation.n_configs,
            "oos": self.oos.to_json(),
            "in_sample": [vars(each) for each in self.validation.in_sample],
            "luck": self.luck.to_json(),
            "gates": [gate.to_json() for gate in self.gates],
        }

    def card(self) -> TrialCard:
        """Return the summary that proposers see in later rounds."""
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
class ShortlistEntry:
    """An entry of the short list.

    Attributes:
        trial: Its trial.
        luck: Its deflated Sharpe ratios at the number of trials of the complete session.
        gates: Its gates, evaluated again with `luck`.
        verdict: Its holdout result; None if the holdout was not opened.
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
        """Points to check by hand, although every gate passed."""
        verdict = (
            ()
            if self.verdict is None
            else implausible(self.verdict.sharpe, "in the holdout", is_code=self.trial.is_code)
        )
        constants = of_constants(self.trial.candidate.information, self.oos)
        return (*self.trial.cautions, *constants, *of_luck(self.luck), *verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the frozen entry, as recorded before the holdout is opened."""
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
    """Result of a session.

    Attributes:
        session_id: ID of the session.
        start: Payload of its first event.
        trials: All trials, in order.
        history: All rounds, as proposers saw them.
        shortlist: Candidates for a person to decide on, best first.
        dropped: Candidates left out of the short list, with reasons.
        n_trials: Trials counted for this family of markets, including earlier sessions.
        n_session: Trials of this session.
        advice: Statistics over all trials of the session.
        tokens: Tokens used.
        stopped_reason: Why it stopped.
        prior_trials: Prior trials from the ledger, read at the start.
        seal: Seal of the holdout; None if it stayed closed.
        holdout_reuse: Earlier openings and runs on the holdout; None if it stayed closed.
        holdout_note: Why it stayed closed; empty otherwise.
    """

    session_id: str
    start: Mapping[str, Any]
    trials: tuple[Trial, ...]
    history: tuple[TrialCard, ...]
    shortlist: tuple[ShortlistEntry, ...]
    dropped: tuple[Dropped, ...]
    n_trials: int
    n_session: int
    advice: Advice
    tokens: int
    stopped_reason: str
    prior_trials: PriorTrials
    seal: Seal | None = None
    holdout_reuse: int | None = None
    holdout_note: str = ""

    @property
    def holdout_power(self) -> HoldoutPower | None:
        """Power of the holdout as declared at the start; None without a declaration."""
        declared = self.start.get("holdout_power")
        return None if declared is None else HoldoutPower.of_json(declared)
