"""What a session writes to memory, and what it looks up there."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.chain import now
from openoutcry.dataset import Dataset
from openoutcry.jail import this_host
from openoutcry.ledger import Ledger, LedgerRun, Market, RunMetricsSummary, Track, rules_of
from openoutcry.ledger.making import engine_version
from openoutcry.ledger.summary import interval_of
from openoutcry.ledger.view import append_view, read_view
from openoutcry.research.checking import Candidate, digest_of
from openoutcry.research.config import ResearchConfig
from openoutcry.research.holdout import HoldoutVault, Seal
from openoutcry.research.luck import Memory, Spread
from openoutcry.research.scores import OosScore
from openoutcry.research.trial import Listed, Trial
from openoutcry.research.validation import Ground


class Recall(Protocol):
    """Where trials are written to, once each, and looked up."""

    def known(self, key: str) -> str | None:
        """Return which run of an earlier session was the trial of a key, if one was."""

    def remember(self, trial: Trial) -> None:
        """Write a trial down."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Write down a trial that broke off."""

    def open_holdout(self, seal: Seal) -> int:
        """Write down that a holdout is opened, and return how often it was before.

        Raises:
            OpenOutcryError: it is spent.
        """

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Write down what a candidate did in the holdout."""


class NoRecall:
    """Remembers nothing: for replays, and for whoever wants no ledger."""

    def known(self, key: str) -> str | None:
        """Return None."""
        return None

    def remember(self, trial: Trial) -> None:
        """Do nothing."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Do nothing."""

    def open_holdout(self, seal: Seal) -> int:
        """Return 0."""
        return 0

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Do nothing."""


class LedgerRecall:
    """Writes to the ledger of runs, and looks up there.

    Args:
        ledger: The ledger, whose session is this one: its own trials are no earlier ones.
        ground: What it is made on.
        config: What the session was told.
        folder: Where the five-field list of runs goes.
    """

    def __init__(self, ledger: Ledger, ground: Ground, config: ResearchConfig, folder: Path) -> None:
        self._ledger = ledger
        self._ground = ground
        self._config = config
        self._folder = folder
        self._market = Market.of(ground.dataset)

    def known(self, key: str) -> str | None:
        """Return which run of an earlier session was the trial of a key."""
        return self._ledger.known(key, but_session=self._ledger.session)

    def remember(self, trial: Trial) -> None:
        """Write a trial down."""
        candidate, oos = trial.candidate, trial.oos
        run_id = run_id_of(self._ledger.session, trial.key)
        moments = oos.moments
        entry = replace(
            self._entry(run_id, trial.key, candidate, summary_of(oos, self._ground.dataset, run_id)),
            track=None if moments is None else Track(*moments._given()),
            returns=oos.returns,
            first=oos.dates[0],
            n_configs=trial.validated.n_configs,
        )
        self._ledger.add([entry])
        if run_id not in {each.run_id for each in read_view(self._folder)[0]}:
            append_view(self._folder, entry, now())

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Write down a trial that broke off: it counts, and is ranked nowhere."""
        run_id = run_id_of(self._ledger.session, key)
        summary = RunMetricsSummary(run_id, "failed", interval_of(self._ground.dataset.dates))
        error = (detail.splitlines() or [""])[0][:500]
        self._ledger.add([replace(self._entry(run_id, key, candidate, summary), error=error)])

    def open_holdout(self, seal: Seal) -> int:
        """Write down that a holdout is opened, and return how often it was before."""
        return self._ledger.open_holdout(
            self._market,
            seal.window,
            seal=digest_of(seal.to_json()),
            burn=self._config.burn_holdout,
        )

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Write down what a candidate did in the holdout, for no ranking or prompt."""
        verdict = listed.verdict
        assert verdict is not None, "what is remembered has been judged"
        run_id = run_id_of(self._ledger.session, f"holdout {listed.key}")
        summary = RunMetricsSummary(
            run_id,
            "done",
            interval_of(self._ground.dataset.dates),
            sharpe_ratio=verdict.sharpe,
            max_drawdown=verdict.max_drawdown,
            pnl_return=verdict.return_,
        )
        # The trial has been counted; this is the same one on other bars.
        entry = self._entry(run_id, listed.key, listed.trial.candidate, summary)
        self._ledger.add([replace(entry, kind="holdout", window=seal.window, holdout_touched=True)])

    def _entry(self, run_id: str, key: str, candidate: Candidate, summary: RunMetricsSummary) -> LedgerRun:
        ground, source = self._ground, candidate.proposal.source
        isolation = None
        if source is not None:
            isolation = "none" if self._config.unsafe_no_isolation else this_host().tier.name
        return LedgerRun(
            run_id,
            key,
            dict(candidate.identity),
            self._market,
            (ground.dataset.dates[ground.folds[0].test[0]], ground.dataset.dates[ground.folds[-1].test[1] - 1]),
            summary,
            kind="trial",
            interval=summary.candle_interval,
            rules=rules_of(ground.costs, ground.limits, 0),
            engine_version=engine_version(),
            description=candidate.description,
            source=source,
            source_sha=None if source is None else hashlib.sha256(source.encode()).hexdigest(),
            isolation=isolation,
        )


def run_id_of(session_id: str, key: str) -> str:
    """Return the id of a session's run, the same when it is made again."""
    return str(uuid.uuid5(uuid.UUID(session_id), key))


def memory_of(ledger: Ledger, ground: Ground, vault: HoldoutVault) -> Memory:
    """Return what a session takes over from a ledger.

    Args:
        ledger: The ledger.
        ground: What the session is made on.
        vault: What knows of its holdout.
    """
    market = Market.of(ground.dataset)
    found = ledger.count(market)
    n_returns = sum(fold.test[1] - fold.test[0] - 1 for fold in ground.folds)
    spent = 0 if vault.window is None else ledger.holdout_opens(market, vault.window)
    return Memory(found.n, Spread(*found.sharpes_at(n_returns)), ledger.prior_results(market), spent)


def summary_of(oos: OosScore, dataset: Dataset, run_id: str) -> RunMetricsSummary:
    """Return the 17 numbers of a trial, of all its tests one after another."""
    found, undefined = native.summarize(np.ascontiguousarray(oos.returns), periods_per_year=dataset.periods_per_year)
    wins = [profit for profit in oos.profits if profit > 0.0]
    losses = [profit for profit in oos.profits if profit < 0.0]
    numbers: dict[str, Any] = {
        "total_positions": len(oos.profits),
        "win_rate": len(wins) / len(oos.profits) if oos.profits else None,
        "profit_factor": sum(wins) / -sum(losses) if losses else None,
        "sharpe_ratio": oos.sharpe,
        "sortino_ratio": found["sortino"],
        "calmar_ratio": found["calmar"],
        "max_drawdown": oos.max_drawdown,
        "pnl_return": oos.return_,
        "avg_win": sum(wins) / len(wins) if wins else None,
        "avg_loss": sum(losses) / len(losses) if losses else None,
        "max_win": max(wins, default=None),
        "max_loss": min(losses, default=None),
    }
    return RunMetricsSummary(run_id, "done", interval_of(dataset.dates), **numbers, undefined=undefined)
