"""Store of trials: what a session writes to the ledger and looks up in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from openoutcry.errors import refusal
from openoutcry.harness.sandbox import this_host
from openoutcry.ledger import Ledger, Market
from openoutcry.ledger.jsonl_view import append_view, read_view
from openoutcry.ledger.run_settings import setting_digest
from openoutcry.records.chained_log import now
from openoutcry.research.acceptance_gates import failed
from openoutcry.research.ledger_trials import TrialMetadata, entry_of, failed_entry, holdout_entry
from openoutcry.research.proposal_checks import Candidate, digest_of
from openoutcry.research.sealed_holdout import HoldoutVault, Seal
from openoutcry.research.selection_luck import PriorTrials, RunningMoments
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_journal import STOPPED
from openoutcry.research.trial import ShortlistEntry, Trial
from openoutcry.research.walkforward_validation import ValidationSetup
from openoutcry.untrusted.counted_nouns import counted


class TrialStore(Protocol):
    """Stores trials once each, and looks them up."""

    def count(self, recorded_count: int | None = None) -> int:
        """Return the trials of other sessions on the same family of markets.

        Args:
            recorded_count: Count that the journal recorded when its session stopped; None without one.

        Raises:
            OpenOutcryError: `state_mismatch`: the count is higher now, and the ledger has no stop of the session.
        """

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return the run of another session with this trial key, and its scores."""

    def check(self, keys: Iterable[str]) -> None:
        """Check that a session has all trials that the ledger holds of it.

        Args:
            keys: Keys of the session's trials.

        Raises:
            OpenOutcryError: `state_mismatch`: the ledger holds trials that the session does not count.
        """

    def anchor(self, event: str, head: str) -> None:
        """Record the current hash of the journal in the ledger.

        Raises:
            OpenOutcryError: `state_mismatch`: the ledger holds another hash for this event.
        """

    def add(self, trial: Trial) -> None:
        """Add a trial."""

    def add_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Add a trial that failed with an exception."""

    def open_holdout(self, seal: Seal, held: Sequence[Market]) -> int:
        """Record the opening of a holdout; return its earlier openings and runs.

        Args:
            seal: Seal of the holdout.
            held: The complete market and the bars of the holdout (`HoldoutVault.markets`).

        Raises:
            OpenOutcryError: the holdout is already spent, or there is no ledger.
        """

    def add_holdout_result(self, listed: ShortlistEntry, seal: Seal) -> None:
        """Add the holdout result of a candidate."""


class NullTrialStore:
    """A store without a ledger, for replays and sessions that record nothing."""

    def count(self, recorded_count: int | None = None) -> int:
        """Return the recorded count, or 0."""
        return recorded_count or 0

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return None."""
        return None

    def check(self, keys: Iterable[str]) -> None:
        """Do nothing."""

    def anchor(self, event: str, head: str) -> None:
        """Do nothing."""

    def add(self, trial: Trial) -> None:
        """Do nothing."""

    def add_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Do nothing."""

    def open_holdout(self, seal: Seal, held: Sequence[Market]) -> int:
        """Refuse: without a ledger, a second opening could not be detected."""
        wanted = "a ledger is required to open a holdout, which is opened once"
        raise refusal("argument_invalid", f"{wanted}; received a session without one")

    def add_holdout_result(self, listed: ShortlistEntry, seal: Seal) -> None:
        """Do nothing."""


class LedgerTrialStore:
    """Stores trials in the ledger.

    Args:
        ledger: The ledger, opened for this session; its own trials do not count as earlier ones.
        setup: Market, folds, costs and limits.
        config: Configuration of the session.
        folder: Folder of the five-field list of runs.
    """

    def __init__(self, ledger: Ledger, setup: ValidationSetup, config: ResearchConfig, folder: Path) -> None:
        self._ledger = ledger
        self._setup = setup
        self._config = config
        self._folder = folder
        self._market = Market.of(setup.dataset)

    def count(self, recorded_count: int | None = None) -> int:
        """Return the trials of other sessions by now, or when this session stopped."""
        if recorded_count is not None and self._ledger.anchored(STOPPED, self._ledger.session) is not None:
            return recorded_count
        n_trials = self._ledger.count(self._market, but_session=self._ledger.session).n
        if recorded_count is not None and n_trials > recorded_count:
            wanted = f"session {self._ledger.session[:8]} must count {counted(n_trials, 'trial')} of other sessions"
            raise refusal("state_mismatch", f"{wanted}; received a journal that stopped at {recorded_count}")
        return n_trials if recorded_count is None else recorded_count

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return the run of another session with this trial key, and its scores."""
        run_id = self._ledger.known(key, but_session=self._ledger.session)
        if run_id is None:
            return None
        n_trials = self._ledger.compare([run_id])[0][0]
        scores = {"oos_sharpe": n_trials.sharpe_ratio, "oos_max_drawdown": n_trials.max_drawdown}
        return run_id, scores | {"oos_return": n_trials.pnl_return}

    def check(self, keys: Iterable[str]) -> None:
        """Check that a session has all trials that the ledger holds of it.

        A truncated or rewritten journal would count fewer.
        """
        lost = self._ledger.tried(self._ledger.session).difference(keys)
        if lost:
            wanted = f"session {self._ledger.session[:8]} must have all trials that the ledger holds of it"
            raise refusal("state_mismatch", f"{wanted}; received a journal without {len(lost)} of them")

    def anchor(self, event: str, head: str) -> None:
        """Record the current hash of the journal in the ledger."""
        self._ledger.anchor(event, head)

    def add(self, trial: Trial) -> None:
        """Add a trial."""
        metadata = replace(self._about(trial.candidate, trial.key), reasons=failed(trial.gates))
        entry = entry_of(metadata, self._setup, trial.validation)
        self._ledger.add([entry])
        if entry.run_id not in {each.run_id for each in read_view(self._folder)[0]}:
            append_view(self._folder, entry, now())

    def add_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Add a trial that failed with an exception: it counts and is not ranked."""
        self._ledger.add([failed_entry(self._about(candidate, key), self._setup, detail)])

    def open_holdout(self, seal: Seal, held: Sequence[Market]) -> int:
        """Record the opening of a holdout; return its earlier openings and runs.

        Runs are those of sessions without a holdout, and manual runs.
        """
        digest, burn = digest_of(seal.to_json()), self._config.burn_holdout
        n_opened = self._ledger.open_holdout(self._market, seal.window, seal=digest, burn=burn, held=held)
        return n_opened + self._ledger.looks(self._market, seal.window, held)

    def add_holdout_result(self, listed: ShortlistEntry, seal: Seal) -> None:
        """Add the holdout result of a candidate, excluded from rankings and prompts."""
        verdict = listed.verdict
        assert verdict is not None, "the candidate has a holdout result"
        metadata = self._about(listed.trial.candidate, listed.key)
        self._ledger.add([holdout_entry(metadata, self._setup, verdict, seal.window)])

    def _about(self, candidate: Candidate, key: str) -> TrialMetadata:
        source, isolation = candidate.proposal.source, None
        if source is not None:
            isolation = "none" if self._config.unsafe_no_isolation else this_host().tier.name
        return TrialMetadata(self._ledger.session, key, candidate.identity, candidate.description, source, isolation)


def prior_trials_of(ledger: Ledger, setup: ValidationSetup, vault: HoldoutVault) -> PriorTrials:
    """Return the prior trials of a market from the ledger.

    Args:
        ledger: The ledger.
        setup: Market, folds, costs and limits.
        vault: Vault of the holdout.
    """
    market = Market.of(setup.dataset)
    n_trials = ledger.count(market)
    n_returns = sum(fold.test[1] - fold.test[0] - 1 for fold in setup.folds)
    spent = looks = 0
    if vault.window is not None:
        # Only compared: nothing of the holdout is recorded before its opening.
        held = vault.markets()
        spent, looks = len(ledger.openings(market, vault.window, held)), ledger.looks(market, vault.window, held)
    # Runs over days of the holdout, or later ones, know about it. Trials here end with the research window, so later
    # sessions do not learn of the holdout through them.
    prior = ledger.prior_results(
        market, through=setup.dataset.dates[-1], setting=setting_digest(setup.costs, setup.limits)
    )
    return PriorTrials(n_trials.n, RunningMoments(*n_trials.sharpes_at(n_returns)), prior, spent, looks)
