"""Evaluation of candidates: validate, count the trial, apply the gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import Evidence, Thresholds, is_promotable, judge
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.selection_luck import Luck, TrialCounter
from openoutcry.research.session_context import SessionContext
from openoutcry.research.strategy_builder import CandidateValidator
from openoutcry.research.strategy_faults import StrategyError, described
from openoutcry.research.trial import Trial
from openoutcry.research.walkforward_validation import ValidationResult


class Evaluator:
    """Evaluates the candidates of a session and counts every trial.

    Args:
        context: Configuration and collaborators of the session.
    """

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self.counter = TrialCounter(context.prior_trials, context.setup.benchmarks)

    @property
    def n_left(self) -> int:
        """Trials left in the budget."""
        return self._context.config.budgets.trials - self.counter.n_session

    def validator(self, candidate: Candidate) -> tuple[CandidateValidator | None, tuple[str, str]]:
        """Return the validator of a candidate, or None and why it cannot be evaluated.

        The reason is a pair of slug and message.
        """
        try:
            validator = self._context.builder.validator(candidate, self.n_left)
            fault = validator.precheck(self._context.setup)
        except StrategyError as error:
            is_of_source = error.reason in ("answer", "error")
            fault = ("construction" if is_of_source else error.reason, str(error))
        except OpenOutcryError as error:
            fault = ("construction", str(error))
        return (None, fault) if fault is not None else (validator, ("", ""))

    def evaluate(
        self, number: int, candidate: Candidate, key: str, validation: ValidationResult, validator: CandidateValidator
    ) -> Trial:
        """Count a trial and apply the gates.

        The expensive measures run only if all others pass.

        Args:
            number: The round in which it was proposed.
            candidate: The evaluated candidate.
            key: SHA-256 of all inputs that the result depends on.
            validation: Its walk-forward result.
            validator: Its validator.
        """
        gates = gates_of(candidate, self._context.config.gates)
        self.counter.count(validation.n_configs, validation.oos)
        luck = self.counter.luck_of(validation.oos)
        evidence = evidence_of(validation, luck)
        # An implausible ratio is probed too: the result belongs to the second look.
        probes = ("max_probe_changes", "max_disguise_loss", "max_constants_loss")
        unprobed = ("max_perturbation_loss", "max_sharpe", *probes)
        cheap = replace(gates, **dict.fromkeys(unprobed))
        judged = judge(evidence, cheap)
        # Without cheap gates, only the probes decide.
        if not judged or is_promotable(judged):
            probed, loss = self._probed(validator, validation, gates), None
            if gates.max_perturbation_loss is not None:
                loss, n_more = validator.perturbation_loss(self._context.setup, validation, self.n_left)
                if n_more:
                    validation = replace(validation, n_configs=validation.n_configs + n_more)
                    self.counter.count(n_more, None)
                    luck = self.counter.luck_of(validation.oos)
            evidence = replace(evidence_of(validation, luck), perturbation=loss, **probed)
        return Trial(key, number, candidate, validation, luck, judge(evidence, gates))

    def _probed(self, validator: CandidateValidator, validation: ValidationResult, gates: Thresholds) -> dict[str, Any]:
        """Return the evidence of the probes."""
        found: dict[str, Any] = {}
        try:
            found["probe_changes"] = validator.causality_changes(self._context.setup)
        except StrategyError as fault:
            found["probe_fault"] = described(fault)
        if gates.max_disguise_loss is not None:
            loss, remark = validator.disguise(self._context.setup, validation)
            found |= {"disguise_loss": loss, "disguise_remark": remark}
        if gates.max_constants_loss is not None:
            loss, remark = validator.constants(self._context.setup, validation)
            found |= {"constants_loss": loss, "constants_remark": remark}
        return found


def gates_of(candidate: Candidate, gates: Thresholds) -> Thresholds:
    """Return the thresholds that apply to a candidate.

    A library strategy holds no constants of the proposer.
    """
    is_code = candidate.proposal.kind == "code"
    return gates if is_code else replace(gates, max_disguise_loss=None, max_constants_loss=None)


def evidence_of(validation: ValidationResult, luck: Luck) -> Evidence:
    """Return the evidence of a validation, without that of the probes."""
    return Evidence(
        validation.oos,
        validation.in_sample,
        luck.dsr,
        luck.dsr_alpha,
        dsr_undefined=luck.undefined,
        alpha_undefined=luck.alpha_undefined,
    )
