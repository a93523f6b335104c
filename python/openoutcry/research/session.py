"""The loop: propose, check, validate, keep or discard, until a budget ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.checking import Candidate, canonical
from openoutcry.research.config import ResearchConfig
from openoutcry.research.entries import trial_key_of
from openoutcry.research.gates import Evidence, failed, is_promotable, judge
from openoutcry.research.incumbent import beats
from openoutcry.research.journal import Blobs, DivergedError, Journal
from openoutcry.research.luck import Counter, Memory
from openoutcry.research.proposers.prompt import prompt_of
from openoutcry.research.proposing import Ask, Attempt, MarketCard, Proposer, Reply, TokenMeter, TrialCard, Usage
from openoutcry.research.recall import Recall
from openoutcry.research.trial import Trial
from openoutcry.research.validation import Ground, Validated
from openoutcry.research.workshop import Bench, Workshop

SESSION_VERSION = 1
# Reasons to stop that depend on more than the rounds before: a clock, a person, a model's reserve.
_OUTSIDE = ("cancelled", "time_budget", "token_budget")


@dataclass(frozen=True)
class Setting:
    """What a session works with.

    Attributes:
        session_id: Its name.
        config: What it was told.
        ground: The research window with its folds.
        card: What a proposer may know of the market.
        proposer: What proposes.
        workshop: What turns proposals into strategies.
        memory: What the ledger remembers.
        recall: Where trials are written to, and looked up.
        blobs: Where prompts and returns are kept.
        is_over: Tells whether time is up.
        cancelled: Set, from any thread, to stop after the round.
        on_event: Called with each event and its payload.
    """

    session_id: str
    config: ResearchConfig
    ground: Ground
    card: MarketCard
    proposer: Proposer
    workshop: Workshop
    memory: Memory
    recall: Recall
    blobs: Blobs
    is_over: Callable[[], bool] = lambda: False
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_event: Callable[[str, Mapping[str, Any]], object] = lambda event, payload: None


class Rounds:
    """The rounds of a session, up to the reason to stop.

    Args:
        setting: What it works with.
        journal: Where events go, or come from.
    """

    def __init__(self, setting: Setting, journal: Journal) -> None:
        self._it = setting
        self._journal = journal
        self._meter = TokenMeter(setting.config.budgets.tokens)
        self.counter = Counter(setting.memory, setting.ground.holding)
        self.trials: list[Trial] = []
        self.history: list[TrialCard] = []
        self.best: Trial | None = None
        self._n_dry = self._n_mute = 0
        self._keys: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return self._meter.used

    def run(self) -> str:
        """Go through rounds until there is a reason to stop, and return it."""
        while True:
            ask = self._ask()
            if (reason := self._stop(ask)) is not None:
                return reason
            if self._round(ask):
                return "proposer_exhausted"

    def _stop(self, ask: Ask) -> str | None:
        budgets = self._it.config.budgets
        if self._n_dry >= budgets.dry_rounds:
            return "proposer_failed" if self._n_mute >= budgets.dry_rounds else "dry_rounds"
        if (stood := self._journal.peek("stopped")) is not None and stood["reason"] in _OUTSIDE:
            return str(stood["reason"])
        # What was asked before has been paid for, and its model need not be there.
        is_new = not self._journal.is_replaying
        if self._meter.is_spent or (is_new and not self._meter.affords(self._it.proposer.reserve(ask))):
            return "token_budget"
        if self.counter.n_session >= budgets.trials:
            return "trial_budget"
        if ask.round >= budgets.most_rounds:
            return "round_budget"
        if is_new and self._it.is_over():
            return "time_budget"
        return "cancelled" if is_new and self._it.cancelled.is_set() else None

    def _ask(self) -> Ask:
        it = self._it
        return Ask(
            round=len(self.history),
            goal=it.config.goal,
            market=it.card,
            catalogue=it.workshop.catalogue,
            history=tuple(self.history),
            prior=it.memory.prior,
            allow_code=it.config.allow_code,
            max_tunable=it.config.max_tunable,
            seed=it.config.seed,
        )

    def _round(self, ask: Ask) -> bool:
        """Go through one round, and return whether it was the last proposal."""
        reply = self._replied(ask)
        if reply.is_exhausted:
            return True
        self._n_mute = self._n_mute + 1 if reply.fault in ("provider", "budget") else 0
        if reply.proposal is None:
            self._reject(ask, None, reply.fault or "parse", reply.detail)
            return False
        try:
            candidate = self._it.workshop.check(reply.proposal)
        except OpenOutcryError as error:
            self._reject(ask, reply.proposal, "hygiene", str(error))
            return False
        n_inner = self._it.config.inner_trials if candidate.proposal.kind == "code" else 1
        key = trial_key_of(candidate.identity, self._it.ground, n_inner)
        if (earlier := self._earlier(key)) is not None:
            self._keys.setdefault(key, ask.round)
            self._repeat(ask, reply.proposal, *earlier)
            return False
        self._keys[key] = ask.round
        self._try(ask, reply.proposal, candidate, key)
        return False

    def _replied(self, ask: Ask) -> Reply:
        """Return what was proposed, from the record while there is any."""
        prompt = str(prompt_of(ask, self._it.config.training_cutoff))
        stood = self._journal.peek("proposal")
        if stood is not None:
            reply = _reply_of(stood)
            for attempt in reply.attempts:
                self._meter.spend(attempt.usage)
        elif self._journal.is_replaying:
            raise DivergedError("a round came and no proposal was recorded", self._journal.seq)
        else:
            reply = _plain(self._it.proposer.propose(ask, self._meter))
        payload = {
            "round": ask.round,
            "proposer": str(stood["proposer"]) if stood is not None else self._it.proposer.name,
            "proposal": None if reply.proposal is None else dict(reply.proposal),
            "fault": reply.fault,
            "detail": reply.detail,
            "is_exhausted": reply.is_exhausted,
            "prompt_sha256": self._it.blobs.put(prompt.encode("utf-8", "replace")),
            "shown_sha256": self._it.blobs.put(reply.prompt.encode("utf-8", "replace"))
            if stood is None
            else stood["shown_sha256"],
            "attempts": [_attempt_json(each) for each in reply.attempts],
            "tokens": self._meter.used,
        }
        self._tell("proposal", payload)
        return reply

    def _earlier(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return which trial was the same, here or in the ledger, and its scores."""
        if key in self._keys:
            found = next((card for card in self.history if card.round == self._keys[key]), None)
            return f"round {self._keys[key] + 1}", {} if found is None else found.scores
        if self._journal.is_replaying:
            stood = self._journal.peek("reject")
            known = stood is not None and stood["duplicate_of"] is not None
            return (str(stood["duplicate_of"]), stood["scores"]) if stood is not None and known else None
        return self._it.recall.known(key)

    def _try(self, ask: Ask, proposal: Mapping[str, Any], candidate: Candidate, key: str) -> None:
        """Evaluate a candidate, which counts from the first result on."""
        ground, most = self._it.ground, self._it.config.budgets.trials - self.counter.n_session
        try:
            bench = self._it.workshop.bench(candidate, most)
            fault = bench.fault_before(ground)
        except OpenOutcryError as error:
            fault = ("construction", str(error))
        if fault is not None:
            self._reject(ask, proposal, *fault)
            return
        try:
            validated = bench.validate(ground)
        except Exception as error:  # noqa: BLE001 whatever it was, results may have been looked at
            self._crash(ask, proposal, candidate, key, f"{type(error).__name__}: {error}")
            return
        self._decide(self._judged(ask, candidate, key, validated, bench))

    def _judged(self, ask: Ask, candidate: Candidate, key: str, validated: Validated, bench: Bench) -> Trial:
        """Count a trial and judge it; what is dear is measured last."""
        config = self._it.config
        self.counter.count(validated.n_configs, validated.oos)
        luck = self.counter.luck_of(validated.oos)
        evidence = Evidence(validated.oos, validated.in_sample, luck.dsr, luck.dsr_alpha)
        cheap = replace(config.gates, max_perturbation_loss=None, max_probe_changes=None)
        if is_promotable(judge(evidence, cheap)):
            evidence = replace(evidence, probe_changes=bench.probed(self._it.ground))
            left = config.budgets.trials - self.counter.n_session
            if config.gates.max_perturbation_loss is not None:
                loss, n_more = bench.perturbed(self._it.ground, validated, left)
                if n_more:
                    validated = replace(validated, n_configs=validated.n_configs + n_more)
                    self.counter.count(n_more, None)
                    luck = self.counter.luck_of(validated.oos)
                evidence = replace(evidence, perturbation=loss, dsr=luck.dsr, dsr_alpha=luck.dsr_alpha)
        gates = judge(evidence, config.gates)
        trial = Trial(key, ask.round, candidate, validated, luck, gates)
        self._it.blobs.put(validated.oos.returns.astype("<f8").tobytes())
        # First: once anybody can see it, it has been looked at, and a session that is cut may never go on.
        self._it.recall.remember(trial)
        self._tell("trial", trial.to_json())
        return trial

    def _decide(self, trial: Trial) -> None:
        reasons = failed(trial.gates)
        outcome, before = "discarded", self.best
        if is_promotable(trial.gates):
            is_better, why = beats(trial.oos, before.oos if before else None, self._it.config.guard)
            outcome, reasons = ("advanced", ()) if is_better else ("kept", (why,))
        trial = replace(trial, outcome=outcome, reasons=tuple(reasons))
        if outcome == "advanced":
            self.best = trial
        self._n_dry = 0 if outcome == "advanced" else self._n_dry + 1
        self.trials.append(trial)
        self.history.append(_card(trial))
        payload = {
            "round": trial.round,
            "key": trial.key,
            "outcome": outcome,
            "reasons": list(reasons),
            "incumbent_before": before.key if before else None,
            "incumbent": self.best.key if self.best else None,
        }
        self._tell("decision", payload | self._state())

    def _reject(self, ask: Ask, proposal: Mapping[str, Any] | None, reason: str, detail: str) -> None:
        self._n_dry += 1
        self.history.append(TrialCard(ask.round, proposal, "rejected", (f"{reason}: {detail}",)))
        told = {"round": ask.round, "reason": reason, "detail": detail, "duplicate_of": None, "scores": {}}
        self._tell("reject", told | self._state())

    def _repeat(self, ask: Ask, proposal: Mapping[str, Any], earlier: str, scores: Mapping[str, float | None]) -> None:
        """Turn away what was evaluated before, and tell what came of it."""
        self._n_dry += 1
        detail = f"it was evaluated before, as {earlier}"
        self.history.append(TrialCard(ask.round, proposal, "rejected", (f"duplicate: {detail}",), scores))
        # Of the ledger a replay has to be told.
        told = {"round": ask.round, "reason": "duplicate", "detail": detail, "duplicate_of": earlier}
        self._tell("reject", told | {"scores": dict(scores)} | self._state())

    def _crash(self, ask: Ask, proposal: Mapping[str, Any], candidate: Candidate, key: str, detail: str) -> None:
        """Count what broke off: results may have been looked at."""
        self.counter.count(1, None)
        self._n_dry += 1
        self.history.append(TrialCard(ask.round, proposal, "crashed", (detail,)))
        self._it.recall.remember_crash(key, candidate, detail)
        self._tell("crash", {"round": ask.round, "key": key, "detail": detail} | self._state())

    def _state(self) -> dict[str, Any]:
        return {"n_dry": self._n_dry, "n_session": self.counter.n_session, "n_trials": self.counter.n_trials}

    def _tell(self, event: str, payload: Mapping[str, Any]) -> None:
        self._journal.tell(event, payload)
        self._it.on_event(event, payload)


def _plain(reply: Reply) -> Reply:
    """Return a reply whose proposal reads as it will from the journal."""
    reply = replace(reply, detail=_text(reply.detail), prompt=_text(reply.prompt))
    if reply.proposal is None:
        return reply
    try:
        read = json.loads(canonical(reply.proposal))
        if isinstance(read, dict):
            return replace(reply, proposal=read)
        return replace(
            reply, proposal=None, fault="parse", detail="a proposal must be an object; received another value"
        )
    except (OpenOutcryError, TypeError, ValueError, RecursionError) as error:
        return replace(reply, proposal=None, fault="parse", detail=f"a proposal must be JSON; received {error}")


def _text(told: str) -> str:
    # Half a surrogate pair has no bytes in UTF-8.
    return told.encode("utf-8", "replace").decode("utf-8")


def _card(trial: Trial) -> TrialCard:
    oos = trial.oos
    scores = {
        "oos_sharpe": oos.sharpe,
        "oos_max_drawdown": oos.max_drawdown,
        "oos_return": oos.return_,
        "dsr": trial.luck.dsr,
        "trades": float(sum(fold.n_trades for fold in oos.folds)),
    }
    return TrialCard(trial.round, trial.candidate.proposal.to_json(), trial.outcome, trial.reasons, scores)


def _attempt_json(attempt: Attempt) -> dict[str, Any]:
    told = {name: _text(value) if isinstance(value, str) else value for name, value in vars(attempt).items()}
    return {**told, "usage": vars(attempt.usage)}


def _reply_of(stood: Mapping[str, Any]) -> Reply:
    attempts = tuple(Attempt(**{**each, "usage": Usage(**each["usage"])}) for each in stood["attempts"])
    return Reply(stood["proposal"], stood["fault"], stood["detail"], stood["is_exhausted"], attempts)
