"""Evaluation of candidates: validate, count the trial, apply the gates."""

from __future__ import annotations

from dataclasses import replace

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import Evidence, is_promotable, judge
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.selection_luck import Counter, Luck
from openoutcry.research.session_context import Setting
from openoutcry.research.strategy_builder import Bench
from openoutcry.research.trial import Trial
from openoutcry.research.walkforward_validation import Validated


class Evaluator:
    """Evaluates the candidates of a session and counts every trial.

    Args:
        setting: Configuration and collaborators of the session.
    """

    def __init__(self, setting: Setting) -> None:
        self._it = setting
        self.counter = Counter(setting.memory, setting.ground.holdings)

    @property
    def n_left(self) -> int:
        """Trials left in the budget."""
        return self._it.config.budgets.trials - self.counter.n_session

    def bench(self, candidate: Candidate) -> tuple[Bench | None, tuple[str, str]]:
        """Return the validator of a candidate, or None and why it cannot be evaluated.

        The reason is a pair of slug and message.
        """
        try:
            bench = self._it.workshop.bench(candidate, self.n_left)
            fault = bench.fault_before(self._it.ground)
        except OpenOutcryError as error:
            fault = ("construction", str(error))
        return (None, fault) if fault is not None else (bench, ("", ""))

    def judged(self, number: int, candidate: Candidate, key: str, validated: Validated, bench: Bench) -> Trial:
        """Count a trial and apply the gates; the expensive measures run only if all others pass.

        Args:
            number: The round in which it was proposed.
            candidate: The evaluated candidate.
            key: SHA-256 of all inputs that the result depends on.
            validated: Its walk-forward result.
            bench: Its validator.
        """
        gates = self._it.config.gates
        self.counter.count(validated.n_configs, validated.oos)
        luck = self.counter.luck_of(validated.oos)
        evidence = _evidence(validated, luck)
        cheap = replace(gates, max_perturbation_loss=None, max_probe_changes=None)
        if is_promotable(judge(evidence, cheap)):
            probed, loss = bench.probed(self._it.ground), None
            if gates.max_perturbation_loss is not None:
                loss, n_more = bench.perturbed(self._it.ground, validated, self.n_left)
                if n_more:
                    validated = replace(validated, n_configs=validated.n_configs + n_more)
                    self.counter.count(n_more, None)
                    luck = self.counter.luck_of(validated.oos)
            evidence = replace(_evidence(validated, luck), perturbation=loss, probe_changes=probed)
        return Trial(key, number, candidate, validated, luck, judge(evidence, gates))


def _evidence(validated: Validated, luck: Luck) -> Evidence:
    return Evidence(validated.oos, validated.in_sample, luck.dsr, luck.dsr_alpha)
