"""The research loop: propose, check, validate and decide within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import EARLIER_THRESHOLDS_VERSION, failed, is_promotable
from openoutcry.research.evaluation import Evaluator
from openoutcry.research.incumbent import beats
from openoutcry.research.ledger_trials import trial_key_of
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter, TrialCard
from openoutcry.research.proposers.prompts import prompt_of
from openoutcry.research.recorded_replies import attempt_json, plain, reply_of
from openoutcry.research.session_context import SessionContext
from openoutcry.research.session_journal import ENVIRONMENT, DivergedError, Journal
from openoutcry.research.strategy_faults import described
from openoutcry.research.trial import Trial

# Stop reasons that the recorded rounds alone do not determine: wall clock, user, token reserve of the model.
_OUTSIDE = ("cancelled", "time_budget", "token_budget")


class ResearchLoop:
    """Runs the rounds of a session until it stops.

    Args:
        context: Configuration and collaborators of the session.
        journal: Records events, or supplies recorded ones.
    """

    def __init__(self, context: SessionContext, journal: Journal) -> None:
        self._context = context
        self._journal = journal
        self._meter = TokenMeter(context.config.budgets.tokens)
        self._evaluator = Evaluator(context)
        self.counter = self._evaluator.counter
        self.trials: list[Trial] = []
        self.history: list[TrialCard] = []
        self.tried: set[str] = set()
        self.best: Trial | None = None
        self._n_dry = self._n_mute = 0
        self._seconds = 0.0
        self._live_since: float | None = None
        self._keys: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return self._meter.used

    def run(self) -> str:
        """Run rounds until the session stops, and return the stop reason."""
        while True:
            request = self._request()
            if (reason := self._stop(request)) is not None:
                return reason
            if self._round(request):
                return "proposer_exhausted"

    def _stop(self, request: ProposalRequest) -> str | None:
        budgets = self._context.config.budgets
        if self._n_dry >= budgets.dry_rounds:
            return "proposer_failed" if self._n_mute >= budgets.dry_rounds else "dry_rounds"
        if (recorded := self._journal.peek("stopped")) is not None and recorded["reason"] in _OUTSIDE:
            return str(recorded["reason"])
        # A recorded proposal is already paid for, and a replay needs no model.
        is_new = not self._journal.is_replaying
        if self._meter.is_spent or (is_new and not self._meter.affords(self._context.proposer.reserve(request))):
            return "token_budget"
        if self.counter.n_session >= budgets.trials:
            return "trial_budget"
        if request.round >= budgets.most_rounds:
            return "round_budget"
        if is_new and budgets.seconds is not None and self._elapsed() >= budgets.seconds:
            return "time_budget"
        return "cancelled" if is_new and self._context.cancelled.is_set() else None

    def _elapsed(self) -> float:
        """Return the seconds spent on the session, including those before an interruption."""
        if self._live_since is None:
            self._live_since = self._context.clock()
        return self._seconds + self._context.clock() - self._live_since

    def _request(self) -> ProposalRequest:
        context = self._context
        return ProposalRequest(
            round=len(self.history),
            goal=context.config.goal,
            market=context.card,
            catalogue=context.builder.catalogue,
            history=tuple(self.history),
            prior=context.prior_trials.prior,
            allow_code=context.config.allow_code,
            max_tunable=context.config.max_tunable,
            seed=context.config.seed,
            has_earlier_words=context.builder.gates_version <= EARLIER_THRESHOLDS_VERSION,
        )

    def _round(self, request: ProposalRequest) -> bool:
        """Run one round, and return whether the proposer is exhausted."""
        reply = self._propose(request)
        if reply.is_exhausted:
            return True
        self._n_mute = self._n_mute + 1 if reply.fault in ("provider", "budget") else 0
        if reply.proposal is None:
            self._reject(request, None, reply.fault or "parse", reply.detail)
            return False
        try:
            candidate = self._context.builder.check(reply.proposal)
        except OpenOutcryError as error:
            self._reject(request, reply.proposal, "hygiene", str(error))
            return False
        n_inner = self._context.config.inner_trials if candidate.proposal.kind == "code" else 1
        key = trial_key_of(candidate.identity, self._context.setup, n_inner)
        if (earlier := self._earlier(key)) is not None:
            self._keys.setdefault(key, request.round)
            self._repeat(request, reply.proposal, *earlier)
            return False
        self._keys[key] = request.round
        self._evaluate(request, reply.proposal, candidate, key)
        return False

    def _propose(self, request: ProposalRequest) -> ProposalReply:
        """Return the proposer's reply, from the journal while recorded events are left."""
        prompt = str(prompt_of(request, self._context.config.training_cutoff))
        recorded = self._journal.peek("proposal")
        if recorded is not None:
            reply = reply_of(recorded)
            self._seconds = float(recorded[ENVIRONMENT]["seconds"])
            for attempt in reply.attempts:
                self._meter.spend(attempt.usage)
        elif self._journal.is_replaying:
            raise DivergedError("no proposal was recorded for this round", self._journal.seq)
        else:
            reply = plain(self._context.proposer.propose(request, self._meter))
        payload = {
            "round": request.round,
            "proposer": str(recorded["proposer"]) if recorded is not None else self._context.proposer.name,
            "proposal": None if reply.proposal is None else dict(reply.proposal),
            "fault": reply.fault,
            "detail": reply.detail,
            "is_exhausted": reply.is_exhausted,
            "prompt_sha256": self._context.blobs.put(prompt.encode("utf-8", "replace")),
            "shown_sha256": self._context.blobs.put(reply.prompt.encode("utf-8", "replace"))
            if recorded is None
            else recorded["shown_sha256"],
            "attempts": [attempt_json(each) for each in reply.attempts],
            "tokens": self._meter.used,
            ENVIRONMENT: {"seconds": round(self._elapsed(), 3) if recorded is None else self._seconds},
        }
        self._journal.record("proposal", payload)
        return reply

    def _earlier(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return the earlier trial with this key, in session or ledger, and its scores."""
        if key in self._keys:
            earlier_card = next((card for card in self.history if card.round == self._keys[key]), None)
            return f"round {self._keys[key] + 1}", {} if earlier_card is None else earlier_card.scores
        if self._journal.is_replaying:
            recorded = self._journal.peek("reject")
            known = recorded is not None and recorded["duplicate_of"] is not None
            return (str(recorded["duplicate_of"]), recorded["scores"]) if recorded is not None and known else None
        return self._context.trial_store.known(key)

    def _evaluate(self, request: ProposalRequest, proposal: Mapping[str, Any], candidate: Candidate, key: str) -> None:
        """Evaluate a candidate; it counts as a trial as soon as a result exists."""
        validator, fault = self._evaluator.validator(candidate)
        if validator is None:
            self._reject(request, proposal, *fault)
            return
        self.tried.add(key)
        try:
            validation = validator.validate(self._context.setup)
        except Exception as error:  # noqa: BLE001 any failure counts: results may have been seen
            self._crash(request, proposal, candidate, key, described(error))
            return
        trial = self._evaluator.evaluate(request.round, candidate, key, validation, validator)
        self._context.blobs.put(trial.oos.returns.astype("<f8").tobytes())
        # The ledger is written before the journal: an interrupted session must not lose a trial whose result was seen.
        self._context.trial_store.add(trial)
        self._journal.record("trial", trial.to_json())
        self._decide(trial)

    def _decide(self, trial: Trial) -> None:
        reasons = failed(trial.gates)
        outcome, before = "discarded", self.best
        if is_promotable(trial.gates):
            is_better, why = beats(trial.oos, before.oos if before else None, self._context.config.guard)
            outcome, reasons = ("advanced", ()) if is_better else ("kept", (why,))
        trial = replace(trial, outcome=outcome, reasons=tuple(reasons))
        if outcome == "advanced":
            self.best = trial
        self._n_dry = 0 if outcome == "advanced" else self._n_dry + 1
        self.trials.append(trial)
        self.history.append(trial.card())
        payload = {
            "round": trial.round,
            "key": trial.key,
            "outcome": outcome,
            "reasons": list(reasons),
            "incumbent_before": before.key if before else None,
            "incumbent": self.best.key if self.best else None,
        }
        self._journal.record("decision", payload | self._state())

    def _reject(self, request: ProposalRequest, proposal: Mapping[str, Any] | None, reason: str, detail: str) -> None:
        self._n_dry += 1
        self.history.append(TrialCard(request.round, proposal, "rejected", (f"{reason}: {detail}",)))
        payload = {"round": request.round, "reason": reason, "detail": detail, "duplicate_of": None, "scores": {}}
        self._journal.record("reject", payload | self._state())

    def _repeat(
        self, request: ProposalRequest, proposal: Mapping[str, Any], earlier: str, scores: Mapping[str, float | None]
    ) -> None:
        """Reject a proposal that was evaluated before, and report the earlier scores."""
        self._n_dry += 1
        detail = f"already evaluated as {earlier}"
        self.history.append(TrialCard(request.round, proposal, "rejected", (f"duplicate: {detail}",), scores))
        # A replay has no ledger, so the event carries the scores.
        payload = {"round": request.round, "reason": "duplicate", "detail": detail, "duplicate_of": earlier}
        self._journal.record("reject", payload | {"scores": dict(scores)} | self._state())

    def _crash(
        self, request: ProposalRequest, proposal: Mapping[str, Any], candidate: Candidate, key: str, detail: str
    ) -> None:
        """Count a trial that failed with an exception: results may have been seen."""
        self.counter.count(1, None)
        self._n_dry += 1
        self.history.append(TrialCard(request.round, proposal, "crashed", (detail,)))
        self._context.trial_store.add_crash(key, candidate, detail)
        self._journal.record("crash", {"round": request.round, "key": key, "detail": detail} | self._state())

    def _state(self) -> dict[str, Any]:
        return {"n_dry": self._n_dry, "n_session": self.counter.n_session, "n_trials": self.counter.n_trials}
