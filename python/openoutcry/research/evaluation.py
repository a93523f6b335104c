"""Candidates evaluated, counted and judged."""

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
    """Evaluates the candidates of a session, and counts every one that it looked at.

    Args:
        setting: What the session works with.
    """

    def __init__(self, setting: Setting) -> None:
        self._it = setting
        self.counter = Counter(setting.memory, setting.ground.holdings)

    @property
    def n_left(self) -> int:
        """Trials that the budget leaves."""
        return self._it.config.budgets.trials - self.counter.n_session

    def bench(self, candidate: Candidate) -> tuple[Bench | None, tuple[str, str]]:
        """Return where a candidate is worked on, or None and why it is not.

        Why is a slug and words.
        """
        try:
            bench = self._it.workshop.bench(candidate, self.n_left)
            fault = bench.fault_before(self._it.ground)
        except OpenOutcryError as error:
            fault = ("construction", str(error))
        return (None, fault) if fault is not None else (bench, ("", ""))

    def judged(self, number: int, candidate: Candidate, key: str, validated: Validated, bench: Bench) -> Trial:
        """Count a trial and judge it; what is dear is measured last.

        Args:
            number: The round it was proposed in.
            candidate: What was evaluated.
            key: SHA-256 of all that the result depends on.
            validated: What came of it.
            bench: Where.
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
