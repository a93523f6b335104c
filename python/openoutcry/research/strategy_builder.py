"""Where proposals become strategies: known ones here, code in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openoutcry.backtest.strategies import LIBRARY, Strategy, catalogue, neighbours, sample
from openoutcry.errors import refusal
from openoutcry.harness import AgentError
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.causality_check import causality_probe
from openoutcry.research.code_loader import load_strategy_from_code
from openoutcry.research.proposal_checks import Candidate, check_rationale, check_tune, check_tuned
from openoutcry.research.proposal_requests import Proposal
from openoutcry.research.proposers.round_random import seed_for
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.source_checks import check_source
from openoutcry.research.walkforward_validation import Ground, Validated, validate, validate_best

N_CUTS = 25
"""Cuts of the causality probe."""


class Workshop:
    """Turns proposals into candidates, and candidates into strategies.

    Args:
        config: What the session was told.
    """

    def __init__(self, config: ResearchConfig) -> None:
        self._config = config
        self.catalogue = catalogue()

    def check(self, raw: Mapping[str, Any]) -> Candidate:
        """Return the candidate that a proposal is.

        Raises:
            OpenOutcryError: it is none, or of a kind that is not allowed here.
        """
        proposal = Proposal.of(raw)
        if proposal.kind == "tune":
            return check_tune(proposal, self._config.max_tunable)
        check_rationale(proposal.rationale)
        return _check_code(proposal, self._config)

    def bench(self, candidate: Candidate, most: int) -> Bench:
        """Return where a candidate is worked on.

        Args:
            candidate: What is worked on.
            most: Configurations that may be tried for it.

        Raises:
            OpenOutcryError: it cannot be constructed.
        """
        return Bench(candidate, self._config, max(1, most))


class Bench:
    """One candidate at work."""

    def __init__(self, candidate: Candidate, config: ResearchConfig, most: int) -> None:
        self._candidate = candidate
        self._config = config
        self._is_code = candidate.proposal.kind == "code"
        self._grid = self._drawn(most) if self._is_code else [dict(candidate.params)]
        # What cannot be made from its params is turned away before anything is evaluated.
        self._first = self.made(self._grid[0])

    def made(self, params: Mapping[str, Any]) -> Strategy:
        """Return the strategy of params; that of code is constructed in the sandbox."""
        if not self._is_code:
            return LIBRARY[self._candidate.name](**params)
        source, unsafe = str(self._candidate.proposal.source), self._config.unsafe_no_isolation
        return load_strategy_from_code(source, params, unsafe_no_isolation=unsafe)

    def fault_before(self, ground: Ground) -> tuple[str, str] | None:
        """Return what keeps it from being evaluated, as slug and in words, or None."""
        start, end = ground.folds[0].train
        if self._first.lookback > end - start:
            wanted = f"a lookback of at most {end - start} bars, the shortest training, is required"
            return "lookback", f"{wanted}; received {self._first.lookback}"
        # What ships is held to it by tests, and probed where it passes all else.
        n_changed = self.probed(ground) if self._is_code else 0
        return (
            ("causality", f"{n_changed} of {N_CUTS} cuts of the data change a decision before them")
            if n_changed
            else None
        )

    def probed(self, ground: Ground) -> int:
        """Return how many cuts of the data change a decision that lies before them."""
        try:
            return causality_probe(self._first, ground.dataset, n_cuts=N_CUTS, seed=self._config.seed).n_changed
        except AgentError:
            # A worker that fails on a part of the data has decided otherwise there.
            return N_CUTS

    def validate(self, ground: Ground) -> Validated:
        """Validate the candidate; code is tuned anew in each fold."""
        if not self._is_code:
            return validate(ground, self._first, self._candidate.params)
        return validate_best(ground, self.made, self._grid)

    def perturbed(self, ground: Ground, validated: Validated, most: int) -> tuple[float | None, int]:
        """Return what the worst change of a param costs, and the trials it took.

        The cost is a share of the Sharpe ratio.

        Args:
            ground: Where it was validated.
            validated: What came of the candidate itself.
            most: Trials that are left; where they do not suffice nothing is measured.
        """
        base = validated.oos.sharpe
        moved = neighbours(self._candidate.ranges, dict(validated.params[-1]))
        if base is None or base <= 0.0 or not moved or len(moved) > most:
            return (0.0, 0) if not moved else (None, 0)
        sharpes = [self._sharpe(ground, params) for params in moved]
        if any(sharpe is None for sharpe in sharpes):
            return None, len(moved)
        return max(0.0, *(1.0 - sharpe / base for sharpe in sharpes if sharpe is not None)), len(moved)

    def _sharpe(self, ground: Ground, params: Mapping[str, Any]) -> float | None:
        try:
            return validate(ground, self.made(params), params).oos.sharpe
        except OpenOutcryError:
            # It broke off there, which is a trial, too.
            return None

    def _drawn(self, most: int) -> list[dict[str, Any]]:
        """Return configurations of code: its defaults, then draws from its ranges."""
        fixed, ranges = dict(self._candidate.params), self._candidate.ranges
        rng = np.random.default_rng(seed_for("inner", self._config.seed, self._candidate.identity["normalised"]))
        grid = [{name: told["default"] for name, told in ranges.items()} | fixed]
        for _ in range(4 * self._config.inner_trials):
            if len(grid) >= min(self._config.inner_trials, most):
                break
            drawn = sample(ranges, rng) | fixed
            if drawn not in grid:
                grid.append(drawn)
        return grid


def _check_code(proposal: Proposal, config: ResearchConfig) -> Candidate:
    if not config.allow_code:
        raise refusal(
            "argument_invalid", "a proposal must be of a known strategy without `--allow-code-gen`; received code"
        )
    checked = check_source(str(proposal.source))
    # All that may be searched is tuned, and what is fixed differs from its default.
    check_tuned(tuple(checked.ranges), config.max_tunable)
    identity = {"normalised": checked.normalised, "fixed": dict(proposal.params)}
    return Candidate(
        proposal,
        checked.class_name,
        identity,
        dict(proposal.params),
        tuple(checked.ranges),
        checked.ranges,
        checked.description,
    )
