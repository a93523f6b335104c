"""Build strategies from proposals: from the library, or from code in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openoutcry.backtest.strategies import LIBRARY, Strategy, catalogue, neighbours, sample
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import EARLIER_GATES_VERSION, EARLIER_THRESHOLDS_VERSION, GATES_VERSION
from openoutcry.research.causality_check import causality_probe
from openoutcry.research.code_loader import load_strategy_from_code
from openoutcry.research.constant_probe import constant_probe
from openoutcry.research.constant_redraws import Redrawn
from openoutcry.research.disguise_probe import disguise_probe, earlier_disguise_probe
from openoutcry.research.proposal_checks import Candidate, check_rationale, check_tune, check_tuned
from openoutcry.research.proposal_requests import Proposal
from openoutcry.research.proposers.round_random import seed_for
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.source_checks import check_source
from openoutcry.research.source_information import check_information
from openoutcry.research.strategy_faults import StrategyError, described
from openoutcry.research.walkforward_validation import ValidationResult, ValidationSetup, validate, validate_best
from openoutcry.untrusted.counted_nouns import counted

N_CUTS = 25
"""Cuts of the causality probe."""


class StrategyBuilder:
    """Turns proposals into candidates, and candidates into validators.

    Args:
        config: Configuration of the session.
        gates_version: Version of the gates; an earlier one, to replay a journal, has its own budgets and probes.
    """

    def __init__(self, config: ResearchConfig, gates_version: int = GATES_VERSION) -> None:
        self._config, self.gates_version = config, gates_version
        self.catalogue = catalogue()

    def check(self, raw: Mapping[str, Any]) -> Candidate:
        """Return the candidate of a proposal.

        Raises:
            OpenOutcryError: the proposal is invalid, or its kind is not allowed.
        """
        proposal = Proposal.of(raw)
        if proposal.kind == "tune":
            return check_tune(proposal, self._config.max_tunable)
        check_rationale(proposal.rationale)
        return _check_code(proposal, self._config, earlier_gates=self.gates_version <= EARLIER_GATES_VERSION)

    def validator(self, candidate: Candidate, most: int) -> CandidateValidator:
        """Return the validator of a candidate.

        Args:
            candidate: The candidate.
            most: Maximum number of configurations to evaluate.

        Raises:
            OpenOutcryError: the strategy cannot be constructed.
        """
        return CandidateValidator(candidate, self._config, max(1, most), self.gates_version)


class CandidateValidator:
    """Builds and validates the strategies of one candidate."""

    def __init__(self, candidate: Candidate, config: ResearchConfig, most: int, gates_version: int) -> None:
        self._earlier_gates = gates_version <= EARLIER_GATES_VERSION
        self._earlier_words = gates_version <= EARLIER_THRESHOLDS_VERSION
        self._candidate = candidate
        self._config = config
        self._is_code = candidate.proposal.kind == "code"
        self._grid = self._drawn(most) if self._is_code else [dict(candidate.params)]
        # Params that no strategy accepts are rejected before any evaluation.
        self._first = self.build(self._grid[0])
        self._n_changed: int | None = None

    def build(self, params: Mapping[str, Any]) -> Strategy:
        """Return the strategy of params; generated code is constructed in the sandbox."""
        if not self._is_code:
            return LIBRARY[self._candidate.name](**params)
        source, unsafe = str(self._candidate.proposal.source), self._config.unsafe_no_isolation
        return load_strategy_from_code(source, params, unsafe_no_isolation=unsafe, earlier_gates=self._earlier_gates)

    def precheck(self, setup: ValidationSetup) -> tuple[str, str] | None:
        """Return slug and message of a refusal before evaluation, or None."""
        start, end = setup.folds[0].train
        if self._first.lookback > end - start:
            wanted = (
                f"a lookback of at most {counted(end - start, 'bar')}, the length of the shortest training, is required"
            )
            return "lookback", f"{wanted}; received {self._first.lookback}"
        # Library strategies are checked by tests, and are probed only if all other gates pass.
        try:
            n_changed = self.causality_changes(setup) if self._is_code else 0
        except StrategyError as fault:
            return fault.reason, str(fault).removeprefix(f"{fault.slug}: ")
        changes = "cut of the data changes" if n_changed == 1 else "cuts of the data change"
        return ("causality", f"{n_changed} of {N_CUTS} {changes} a decision before") if n_changed else None

    def causality_changes(self, setup: ValidationSetup) -> int:
        """Return the number of cuts of the data that change a decision before them.

        Raises:
            StrategyError: the strategy failed, which says nothing about causality.
        """
        if self._n_changed is None:
            probed = causality_probe(self._first, setup.dataset, n_cuts=N_CUTS, seed=self._config.seed)
            self._n_changed = probed.n_changed
        return self._n_changed

    def disguise(self, setup: ValidationSetup, validation: ValidationResult) -> tuple[float | None, str]:
        """Return the loss of Sharpe ratio on the market in disguise, with a remark."""
        try:
            probe = earlier_disguise_probe if self._earlier_gates else disguise_probe
            found = probe(setup, validation, self.build, self._config.seed)
        except OpenOutcryError as error:
            return None, described(error)
        return found.loss, found.earlier_remark if self._earlier_words else found.remark(
            self._config.gates.max_disguise_loss
        )

    def constants(self, setup: ValidationSetup, validation: ValidationResult) -> tuple[float | None, str]:
        """Return the loss of Sharpe ratio with other constants, with a remark."""
        source, unsafe = str(self._candidate.proposal.source), self._config.unsafe_no_isolation

        def build(other: Redrawn) -> Strategy:
            return load_strategy_from_code(
                other.source, other.params, unsafe_no_isolation=unsafe, earlier_gates=self._earlier_gates
            )

        return constant_probe(setup, validation, (source, self._candidate.ranges), build, self._config.seed)

    def validate(self, setup: ValidationSetup) -> ValidationResult:
        """Validate the candidate; generated code is tuned in each fold."""
        if not self._is_code:
            return validate(setup, self._first, self._candidate.params)
        return validate_best(setup, self.build, self._grid)

    def perturbation_loss(
        self, setup: ValidationSetup, validation: ValidationResult, most: int
    ) -> tuple[float | None, int]:
        """Return the largest Sharpe loss under a change of one param, and trials used.

        The loss is relative to the Sharpe ratio.

        Args:
            setup: Market, folds, costs and limits.
            validation: Walk-forward result of the candidate.
            most: Trials left; nothing is measured if they do not suffice.
        """
        base = validation.oos.sharpe
        moved = neighbours(self._candidate.ranges, dict(validation.params[-1]))
        if base is None or base <= 0.0 or not moved or len(moved) > most:
            return (0.0, 0) if not moved else (None, 0)
        sharpes = [self._sharpe(setup, params) for params in moved]
        if any(sharpe is None for sharpe in sharpes):
            return None, len(moved)
        return max(0.0, *(1.0 - sharpe / base for sharpe in sharpes if sharpe is not None)), len(moved)

    def _sharpe(self, setup: ValidationSetup, params: Mapping[str, Any]) -> float | None:
        try:
            return validate(setup, self.build(params), params).oos.sharpe
        except OpenOutcryError:
            # A failed configuration counts as a trial.
            return None

    def _drawn(self, most: int) -> list[dict[str, Any]]:
        """Return configurations of generated code: defaults, then random draws."""
        fixed, ranges = dict(self._candidate.params), self._candidate.ranges
        rng = np.random.default_rng(seed_for("inner", self._config.seed, self._candidate.identity["normalised"]))
        grid = [{name: spec["default"] for name, spec in ranges.items()} | fixed]
        for _ in range(4 * self._config.inner_trials):
            if len(grid) >= min(self._config.inner_trials, most):
                break
            drawn = sample(ranges, rng) | fixed
            if drawn not in grid:
                grid.append(drawn)
        return grid


def _check_code(proposal: Proposal, config: ResearchConfig, *, earlier_gates: bool) -> Candidate:
    if not config.allow_code:
        raise refusal(
            "argument_invalid", "a proposal must be of a library strategy without `--allow-code-gen`; received code"
        )
    checked = check_source(str(proposal.source), earlier_gates=earlier_gates)
    # All ranges are tuned, and fixed params differ from their defaults.
    check_tuned(tuple(checked.ranges), config.max_tunable)
    check_information(checked.information, proposal.params)
    identity = {"normalised": checked.normalised, "fixed": dict(proposal.params)}
    return Candidate(
        proposal,
        checked.class_name,
        identity,
        dict(proposal.params),
        tuple(checked.ranges),
        checked.ranges,
        checked.description,
        checked.information,
    )
