"""What a session writes to memory, and what it looks up there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from openoutcry.errors import refusal
from openoutcry.harness.sandbox import this_host
from openoutcry.ledger import Ledger, Market
from openoutcry.ledger.jsonl_view import append_view, read_view
from openoutcry.records.chained_log import now
from openoutcry.research.ledger_trials import About, entry_of, failed_entry, holdout_entry
from openoutcry.research.proposal_checks import Candidate, digest_of
from openoutcry.research.sealed_holdout import HoldoutVault, Seal
from openoutcry.research.selection_luck import Memory, Spread
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_journal import STOPPED
from openoutcry.research.trial import Listed, Trial
from openoutcry.research.walkforward_validation import Ground


class Recall(Protocol):
    """Where trials are written to, once each, and looked up."""

    def count(self, told: int | None = None) -> int:
        """Return how many trials of the family of the market others have made by now.

        Args:
            told: How many a journal says there were when its session stopped; None where it does not say.

        Raises:
            OpenOutcryError: `state_mismatch`: there are more, and nobody has noted that it stopped.
        """

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return which run of another session was the trial of a key, and its scores."""

    def check(self, keys: Iterable[str]) -> None:
        """See that a session has all trials that are remembered of it.

        Args:
            keys: Keys of those that it has.

        Raises:
            OpenOutcryError: `state_mismatch`: it made others, which it does not count.
        """

    def anchor(self, event: str, head: str) -> None:
        """Note the hash that the journal has come to.

        Raises:
            OpenOutcryError: `state_mismatch`: it had another one there.
        """

    def remember(self, trial: Trial) -> None:
        """Write a trial down."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Write down a trial that broke off."""

    def open_holdout(self, seal: Seal) -> int:
        """Write down that a holdout is opened, and return how often its days were seen.

        Raises:
            OpenOutcryError: it is spent, or nothing remembers that it is.
        """

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Write down what a candidate did in the holdout."""


class NoRecall:
    """Remembers nothing: for replays, and for whoever wants no ledger."""

    def count(self, told: int | None = None) -> int:
        """Return what is told, or 0."""
        return told or 0

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return None."""
        return None

    def check(self, keys: Iterable[str]) -> None:
        """Do nothing."""

    def anchor(self, event: str, head: str) -> None:
        """Do nothing."""

    def remember(self, trial: Trial) -> None:
        """Do nothing."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Do nothing."""

    def open_holdout(self, seal: Seal) -> int:
        """Refuse: without a ledger it would be opened for the first time every time."""
        wanted = "a ledger is required to open a holdout, which is opened once"
        raise refusal("argument_invalid", f"{wanted}; received a session without one")

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

    def count(self, told: int | None = None) -> int:
        """Return how many trials others have made by now, or had when the session stopped."""
        if told is not None and self._ledger.anchored(STOPPED, self._ledger.session) is not None:
            return told
        found = self._ledger.count(self._market, but_session=self._ledger.session).n
        if told is not None and found > told:
            wanted = f"session {self._ledger.session[:8]} must count all {found} trials that others made"
            raise refusal("state_mismatch", f"{wanted}; received a journal that stopped at {told}")
        return found if told is None else told

    def known(self, key: str) -> tuple[str, Mapping[str, float | None]] | None:
        """Return which run of another session was the trial of a key, and its scores."""
        run_id = self._ledger.known(key, but_session=self._ledger.session)
        if run_id is None:
            return None
        found = self._ledger.compare([run_id])[0][0]
        scores = {"oos_sharpe": found.sharpe_ratio, "oos_max_drawdown": found.max_drawdown}
        return run_id, scores | {"oos_return": found.pnl_return}

    def check(self, keys: Iterable[str]) -> None:
        """See that a session has all trials that are remembered of it.

        A journal that lost its end, or was written anew without some of them, would count fewer.
        """
        lost = self._ledger.tried(self._ledger.session).difference(keys)
        if lost:
            wanted = f"session {self._ledger.session[:8]} must have all trials that the ledger has of it"
            raise refusal("state_mismatch", f"{wanted}; received a journal without {len(lost)} of them")

    def anchor(self, event: str, head: str) -> None:
        """Note the hash that the journal has come to."""
        self._ledger.anchor(event, head)

    def remember(self, trial: Trial) -> None:
        """Write a trial down."""
        entry = entry_of(self._about(trial.candidate, trial.key), self._ground, trial.validated)
        self._ledger.add([entry])
        if entry.run_id not in {each.run_id for each in read_view(self._folder)[0]}:
            append_view(self._folder, entry, now())

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Write down a trial that broke off: it counts, and is ranked nowhere."""
        self._ledger.add([failed_entry(self._about(candidate, key), self._ground, detail)])

    def open_holdout(self, seal: Seal) -> int:
        """Write down that a holdout is opened, and return how often its days were seen.

        That is by sessions that opened it, and by runs of sessions without a holdout or by hand.
        """
        digest, burn = digest_of(seal.to_json()), self._config.burn_holdout
        n_opened = self._ledger.open_holdout(self._market, seal.window, seal=digest, burn=burn)
        return n_opened + self._ledger.looks(self._market, seal.window)

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Write down what a candidate did in the holdout, for no ranking or prompt."""
        verdict = listed.verdict
        assert verdict is not None, "what is remembered has been judged"
        about = self._about(listed.trial.candidate, listed.key)
        self._ledger.add([holdout_entry(about, self._ground, verdict, seal.window)])

    def _about(self, candidate: Candidate, key: str) -> About:
        source, isolation = candidate.proposal.source, None
        if source is not None:
            isolation = "none" if self._config.unsafe_no_isolation else this_host().tier.name
        return About(self._ledger.session, key, candidate.identity, candidate.description, source, isolation)


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
    spent = looks = 0
    if vault.window is not None:
        spent, looks = ledger.holdout_opens(market, vault.window), ledger.looks(market, vault.window)
    # What was run over days of a holdout, or later ones, knows of it. The windows of trials here end where this does,
    # so that no later session learns of those days through them either.
    prior = ledger.prior_results(market, through=ground.dataset.dates[-1])
    return Memory(found.n, Spread(*found.sharpes_at(n_returns)), prior, spent, looks)
