"""Evaluation of candidates: validate, count the trial, apply the gates."""

from __future__ import annotations

from dataclasses import replace

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import Evidence, is_promotable, judge
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.selection_luck import Luck, TrialCounter
from openoutcry.research.session_context import SessionContext
from openoutcry.research.strategy_builder import CandidateValidator
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
        gates = self._context.config.gates
        self.counter.count(validation.n_configs, validation.oos)
        luck = self.counter.luck_of(validation.oos)
        evidence = _evidence(validation, luck)
        cheap = replace(gates, max_perturbation_loss=None, max_probe_changes=None)
        if is_promotable(judge(evidence, cheap)):
            causality_changes, loss = validator.causality_changes(self._context.setup), None
            if gates.max_perturbation_loss is not None:
                loss, n_more = validator.perturbation_loss(self._context.setup, validation, self.n_left)
                if n_more:
                    validation = replace(validation, n_configs=validation.n_configs + n_more)
                    self.counter.count(n_more, None)
                    luck = self.counter.luck_of(validation.oos)
            evidence = replace(_evidence(validation, luck), perturbation=loss, probe_changes=causality_changes)
        return Trial(key, number, candidate, validation, luck, judge(evidence, gates))


def _evidence(validation: ValidationResult, luck: Luck) -> Evidence:
    return Evidence(validation.oos, validation.in_sample, luck.dsr, luck.dsr_alpha)
