"""The `Ledger` class: writes runs to the log and queries the index."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import checked_integer
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger import holdout_exposure, prior_knowledge, queries, table_export
from openoutcry.ledger.holdout_exposure import Opening, ResearchedTrial
from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.ledger_entry import LedgerRun, checked_id
from openoutcry.ledger.log_segments import LOCK, ROTATE_AT, Segments, VerificationReport
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_matching import market_of, n_recorded
from openoutcry.ledger.prompt_tokens import tokens
from openoutcry.ledger.queries import StrategySummary, Trials
from openoutcry.ledger.query_scope import Scope
from openoutcry.ledger.ranking import Ranking, in_scope, ranking_of, scope_at
from openoutcry.ledger.run_captions import RunFacts, facts_of
from openoutcry.ledger.run_listing import MAX_ROWS, RunFilter, RunListItem, id_of, list_runs
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.sqlite_index import FILES, Index, ReadState, Result, last_indexed_hash
from openoutcry.records.chained_log import now
from openoutcry.untrusted.counted_nouns import counted


def default_folder() -> Path:
    """Return the ledger folder of this user.

    This is `OPENOUTCRY_LEDGER`, else `openoutcry/ledger` in `XDG_DATA_HOME` or `~/.local/share`. It does not depend on
    the working folder, which must not reset the trial count.
    """
    if configured := os.environ.get("OPENOUTCRY_LEDGER"):
        return Path(configured)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "openoutcry" / "ledger"


def files_of(folder: Path) -> list[Path]:
    """Return the files that a ledger has in its folder, or may create next."""
    numbers = [*Segments(folder, "").numbers()]
    segments = [f"{number:05}.jsonl" for number in (*numbers, numbers[-1] + 1 if numbers else 0)]
    return [folder / name for name in (LOCK, *FILES, *segments)]


class Ledger:
    """Persistent ledger of all runs in a folder.

    The source of truth is an append-only, hash-chained log. Queries use a SQLite index, which is rebuilt when missing.
    Any number of processes may write, each with its own `Ledger`.

    Args:
        folder: The folder; None for that of this user (`default_folder`).
        session: Name of the writing session; None for a random name.
        clock: Returns the time as RFC 3339 in UTC.
        rotate_at: File size in bytes from which a new file is started.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        session: str | None = None,
        clock: Callable[[], str] = now,
        rotate_at: int = ROTATE_AT,
    ) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise refusal("argument_invalid", f"a ledger must be a folder; received the file '{self.folder}'")
        self.session = uuid4().hex if session is None else session
        self._segments = Segments(self.folder, self.session, clock, rotate_at=rotate_at)
        self._index = Index(self._segments)

    # Writing

    def add(self, runs: Iterable[LedgerRun], *, sync: bool = True) -> list[str]:
        """Append runs in a single write and return their IDs; known IDs are skipped.

        A run of a strategy that research has tried, on days of an opened holdout, is marked: it is never ranked.

        Args:
            runs: The runs.
            sync: Whether to wait for the disk; otherwise a power failure may lose the runs.
        """
        given = list(runs)
        if not given:
            return []
        with self._segments.locked():
            given = self._index.query(lambda base: holdout_exposure.marked(base, given))
            ids = self._index.query(lambda base: _known(base, given))
            markets = self._index.query(lambda base: n_recorded(base, [run.market for run in given]))
            entries: list[tuple[str, dict[str, Any]]] = []
            for run in given:
                if markets.get(run.market.fingerprint, -1) < (n_hashes := run.market.n_added):
                    markets[run.market.fingerprint] = n_hashes
                    entries.append(("market", run.market.to_json()))
                if run.run_id not in ids:
                    ids.add(run.run_id)
                    entries.append(("run", run.to_json()))
            self._segments.append_all(entries, sync=sync)
        return [run.run_id for run in given]

    def open_holdout(
        self, market: Market, window: tuple[str, str], *, seal: str, burn: bool = False, held: Sequence[Market] = ()
    ) -> int:
        """Record the opening of a holdout and return the number of earlier openings.

        Call it before the holdout is used. Earlier openings are those that overlap its window.

        An opening applies to the complete family of a market. The same session may reopen the same holdout with the
        same seal, to resume after a crash.

        Args:
            market: The market.
            window: First and last date.
            seal: Digest of the candidates, fixed before the opening.
            burn: Whether to open a holdout that was opened before.
            held: The complete market and the bars of the holdout, which are recorded with the opening.

        Raises:
            OpenOutcryError: `argument_invalid`: the holdout was opened before, and `burn` is False.
        """
        first, last = window
        if not (isinstance(first, str) and isinstance(last, str) and first <= last):
            raise refusal("argument_invalid", f"`window` must be a first and a last date; received {window!r}")
        with self._segments.locked():
            before = self.openings(market, window, held)
            for each in before:
                if each[:-1] == (self.session, seal, market.fingerprint, first, last):
                    return each.n_before
            if before and not burn:
                hint = "hint: `burn`, or `--burn-holdout`, opens it again and marks all results"
                received = (
                    f"{first} .. {last}, opened {counted(len(before), 'time')}, first by session {before[0].session}"
                )
                raise refusal("argument_invalid", f"an unopened holdout is required; received {received}; {hint}")
            payload = {"market": market.fingerprint, "first": first, "last": last, "seal": seal, "burn": burn}
            payload["n_before"], markets = len(before), (market, *held)
            self._segments.append_all(
                self._index.query(lambda base: holdout_exposure.opening_entries(base, markets, payload))
            )
        return len(before)

    def anchor(self, event: str, digest: str) -> None:
        """Record the last hash of this session's own log at an event.

        The first recorded hash is final, so a rewritten session log is detected.

        Args:
            event: Name of the event.
            digest: SHA-256 of the last record of the session log, in hex.

        Raises:
            OpenOutcryError: `state_mismatch`: another hash is recorded for this event.
        """
        with self._segments.locked():
            recorded = self.anchored(event, self.session)
            if recorded is None:
                self._segments.append_all([("anchor", {"event": event, "hash": digest})])
            elif recorded != digest:
                required = (
                    f"session {self.session} must have the hash that the ledger records at `{event}`, {recorded[:16]}"
                )
                raise refusal("state_mismatch", f"{required}; received {digest[:16]}")

    # Queries

    def anchored(self, event: str, session: str) -> str | None:
        """Return the recorded hash of a session log at an event, or None."""
        query = "SELECT hash FROM heads JOIN sessions ON sessions.id = session WHERE name = ? AND event = ?"
        found = self._index.query(lambda base: base.execute(query, (session, event)).fetchone())
        return None if found is None else str(found[0])

    def holdout_opens(self, market: Market, window: tuple[str, str]) -> int:
        """Count the holdout openings of a market's family that overlap a window."""
        return len(self.openings(market, window))

    def openings(self, market: Market, window: tuple[str, str], held: Sequence[Market] = ()) -> list[Opening]:
        """Return the openings of a market's family and of `held` ones in a window.

        Those of its kin count for all days.
        """
        return self._index.query(lambda base: holdout_exposure.openings(base, market, window, held))

    def holdouts_read(self, market: Market, window: tuple[str, str], strategy: Mapping[str, Any]) -> list[Opening]:
        """Return the openings whose days a run of a strategy reads again.

        They count for a strategy that research has tried on the family of the market.
        """
        return self._index.query(lambda base: holdout_exposure.holdouts_read(base, market, window, strategy))

    def trial_of(self, session: str, trial: str, market: Market) -> ResearchedTrial | None:
        """Return a trial of a research session by its key, or None."""
        return self._index.query(lambda base: holdout_exposure.trial_of(base, session, trial, market))

    def looks(self, market: Market, window: tuple[str, str], held: Sequence[Market] = ()) -> int:
        """Return the number of runs of a family and of `held` markets in a window."""
        return self._index.query(lambda base: holdout_exposure.looks(base, market, window, held))

    def known(self, trial: str, *, but_session: str | None = None) -> str | None:
        """Return the ID of a finished run with a trial key, or None."""
        return self._index.query(lambda base: queries.known_trial(base, trial, but_session))

    def tried(self, session: str) -> set[str]:
        """Return the keys of all trials of a session."""
        query = "SELECT HEX(trial) FROM trials JOIN sessions ON sessions.id = session WHERE name = ?"
        return self._index.query(lambda base: {key.lower() for (key,) in base.execute(query, (session,))})

    def count(self, market: Market | Dataset, *, but_session: str | None = None) -> Trials:
        """Count the trials of the family of a market.

        `but_session` excludes a session; trials that other sessions share with it still count.
        """
        return self._index.query(lambda base: queries.trials_of(base, Market.of(market), but_session))

    def compare(self, ids: Sequence[str]) -> tuple[list[RunMetricsSummary], list[str]]:
        """Return the summaries of runs in the requested order, and the missing IDs.

        Raises:
            OpenOutcryError: `argument_invalid`: more than 50 IDs, or an ID that is not a UUID.
        """
        return self._index.query(lambda base: queries.compared(base, ids))

    def top(
        self, n: int = 5, market: Market | Dataset | None = None, *, worst: bool = False, setting: str | None = None
    ) -> list[StrategySummary]:
        """Return the strategies of `ranking`, without its counts of all strategies."""
        checked_integer("n", n, 1, MAX_ROWS)
        return self._of_family(
            market, lambda base, at: queries.ranked(base, scope_at(base, at, setting), n=n, worst=worst), []
        )

    def ranking(
        self, n: int = 5, market: Market | Dataset | None = None, *, worst: bool = False, setting: str | None = None
    ) -> Ranking:
        """Return the strategies with the highest or lowest mean Sharpe ratio.

        All are at one setting of costs and limits.
        Runs that touched a holdout are excluded. Ties are broken by the number of trials, then by the smaller ID.

        Args:
            n: Maximum number of strategies.
            market: Only strategies on the family of this market, which counts before its other versions.
            worst: Return the lowest ratios, still in descending order.
            setting: Prefix of the digest of a setting; None for the standard one, else the strictest one.
        """
        checked_integer("n", n, 1, MAX_ROWS)
        return self._of_family(
            market, lambda base, at: ranking_of(base, at, n, worst=worst, setting=setting), Ranking()
        )

    def unranked(self, n: int = 5, market: Market | Dataset | None = None) -> list[StrategySummary]:
        """Return strategies without a Sharpe ratio."""
        checked_integer("n", n, 1, MAX_ROWS)
        return self._of_family(market, lambda base, at: queries.unranked(base, at.at_setting(base, None), n=n), [])

    def prior_results(
        self,
        market: Market | Dataset | None = None,
        *,
        budget: int = prior_knowledge.BUDGET,
        through: str | None = None,
        count: Callable[[str], int] = tokens,
        setting: str | None = None,
    ) -> str | None:
        """Format the results of prior runs as a prompt text; None without runs.

        Args:
            market: Only runs on the family of this market.
            budget: Maximum number of tokens.
            through: Only runs whose window ends by this date, to keep later results out of the prompt.
            count: Returns the number of tokens of a text, such as a tokenizer of your model; by default an upper
                estimate.
            setting: Digest of a setting to prefer (`run_settings.setting_digest`); else that of `ranking`.

        Raises:
            OpenOutcryError: `argument_invalid`: `through` without `market`.
        """
        if through is not None and market is None:
            raise refusal("argument_invalid", "`market` is required with `through`; received None")

        def text(base: sqlite3.Connection, at: Scope) -> str | None:
            found = prior_knowledge.prior_results(base, at, self._segments.payload, setting)
            return prior_knowledge.format_prior_results(found, budget, count)

        return self._of_family(market, text, None, through)

    def _of_family(
        self,
        market: Market | Dataset | None,
        query: Callable[[sqlite3.Connection, Scope], Result],
        default: Result,
        through: str | None = None,
    ) -> Result:
        known = None if market is None else Market.of(market)
        return self._index.query(lambda base: in_scope(base, known, through, query, default))

    def list(self, which: RunFilter = RunFilter()) -> list[RunListItem]:  # noqa: B008 immutable
        """Return runs, newest first."""
        return self._index.query(lambda base: list_runs(base, which))

    def id_of(self, prefix: str) -> str:
        """Return the ID of the run with an ID prefix.

        Raises:
            OpenOutcryError: `argument_invalid`: no run or several runs match.
        """
        return self._index.query(lambda base: id_of(base, prefix))

    def show(self, run_id: str) -> LedgerRun:
        """Return a run with all of its fields.

        Raises:
            OpenOutcryError: `argument_invalid`: the run is unknown, or its line in the log has changed.
        """
        checked = checked_id(run_id)
        query = "SELECT segment, offset, fingerprint FROM runs JOIN markets ON markets.id = market WHERE run_id = ?"
        found = self._index.query(lambda base: base.execute(query, (checked,)).fetchone())
        if found is None:
            raise refusal("argument_invalid", f"a run of the ledger is required; received {checked}, which is unknown")
        segment, offset, fingerprint = found
        payload = self._segments.payload(segment, offset)
        if payload.get("run_id", "").lower() != checked:
            raise refusal("argument_invalid", f"the log must contain run {checked} unchanged; received another line")
        return LedgerRun.from_json(payload, self._index.query(lambda base: market_of(base, fingerprint)))

    def facts(self, run_ids: Iterable[str]) -> dict[str, RunFacts]:
        """Return what each run is of, for captions."""
        return self._index.query(lambda base: facts_of(base, run_ids, self._segments.payload))

    def returns(self, run_id: str) -> tuple[str | None, npt.NDArray[np.float64]] | None:
        """Return the first return date and the returns of a run; None without returns."""
        return self._index.query(lambda base: queries.returns_of(base, checked_id(run_id)))

    # The log and the index

    def verify(self, head: str | None = None) -> VerificationReport:
        """Verify every line of the log and the hash chain.

        Args:
            head: A hash that the chain must contain, from an earlier verification; by default the last hash in the
                index, if any.
        """
        return self._segments.verify(last_indexed_hash(self.folder) if head is None else head)

    def rebuild(self) -> ReadState:
        """Rebuild the index from the log, and return the read state."""
        self._index.rebuild()
        return self._index.read

    @property
    def read(self) -> ReadState:
        """Log position after the last index update, and the number of unreadable lines."""
        self._index.query(lambda base: None)
        return self._index.read

    def export(self, path: str | os.PathLike[str], view: str = "runs") -> int:
        """Export a table to a new file and return the number of rows.

        Args:
            path: `.parquet` (needs `openoutcry[parquet]`), `.csv` or `.jsonl`.
            view: `runs`, `strategies`, `returns`, or `run-ledger` for the five-field run list.
        """
        return self._index.query(lambda base: table_export.write(base, path, view))

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the updated index, for your own read-only queries."""
        return self._index.connection()

    def close(self) -> None:
        """Close all files."""
        self._index.close()
        self._segments.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _known(base: sqlite3.Connection, runs: Iterable[LedgerRun]) -> set[str]:
    return {
        row[0] for row in select_in(base, "SELECT run_id FROM runs WHERE run_id IN (?)", {run.run_id for run in runs})
    }
