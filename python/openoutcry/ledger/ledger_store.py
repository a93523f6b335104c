"""The ledger: every run that was made, remembered across sessions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import whole
from openoutcry.errors import refusal
from openoutcry.ledger import holdout_exposure, prior_knowledge, queries, table_export
from openoutcry.ledger.index_schema import ALL, chosen
from openoutcry.ledger.ledger_entry import LedgerRun, checked_id
from openoutcry.ledger.log_segments import ROTATE_AT, Checked, Segments
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_fingerprints import KINDS_FROM
from openoutcry.ledger.queries import Standing, Trials
from openoutcry.ledger.query_scope import Scope
from openoutcry.ledger.run_listing import MOST, Listed, Which, listed
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.sqlite_index import Answer, Index, Read, remembered
from openoutcry.records.chained_log import iterate, now


def default_folder() -> Path:
    """Return where the ledger of this user is.

    `OPENOUTCRY_LEDGER`, or `openoutcry/ledger` of `XDG_DATA_HOME`, or of `.local/share` at home. It is no matter of the
    working folder: a new one must not reset the count of trials.
    """
    if told := os.environ.get("OPENOUTCRY_LEDGER"):
        return Path(told)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "openoutcry" / "ledger"


class Ledger:
    """Remembers every run that was made on this machine, in a folder.

    The truth is an append-only log whose records are chained by hashes; what is asked is answered from an index beside
    it, which is made anew whenever it is gone. Any number of processes may write, each with a ledger of its own.

    Args:
        folder: The folder; None: that of this user (`default_folder`).
        session: Who writes; None: a name of this process's own.
        clock: Returns the time as RFC 3339 in UTC.
        rotate_at: Bytes from which on a new file is begun.
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
            raise refusal("argument_invalid", f"a ledger must be a folder; received '{self.folder}', a file")
        self.session = uuid4().hex if session is None else session
        self._segments = Segments(self.folder, self.session, clock, rotate_at=rotate_at)
        self._index = Index(self._segments)

    # Writing

    def add(self, runs: Iterable[LedgerRun], *, sync: bool = True) -> list[str]:
        """Write runs in one piece and return their ids; a known one is not written again.

        Args:
            runs: The runs.
            sync: Wait until the disk has them; without, a power cut may cost them.
        """
        given = list(runs)
        if not given:
            return []
        with self._segments.locked():
            ids = self._index.ask(lambda base: _known(base, given))
            markets = self._index.ask(lambda base: _marks(base, [run.market for run in given]))
            entries: list[tuple[str, dict[str, Any]]] = []
            for run in given:
                if markets.get(run.market.fingerprint, -1) < len(run.market.marks):
                    markets[run.market.fingerprint] = len(run.market.marks)
                    entries.append(("market", run.market.to_json()))
                if run.run_id not in ids:
                    ids.add(run.run_id)
                    entries.append(("run", run.to_json()))
            self._segments.append_all(entries, sync=sync)
        return [run.run_id for run in given]

    def open_holdout(self, market: Market, window: tuple[str, str], *, seal: str, burn: bool = False) -> int:
        """Note that a holdout is opened, before it is; return how often its days were.

        Days are spent for the whole family of a market. The same session may open the same holdout under the same seal
        again: it goes on after a crash.

        Args:
            market: The market.
            window: First and last date.
            seal: Digest of what is to be scored, fixed before.
            burn: Open it though it is spent.

        Raises:
            OpenOutcryError: `argument_invalid`: it is spent, and `burn` is False.
        """
        first, last = window
        if not (isinstance(first, str) and isinstance(last, str) and first <= last):
            raise refusal("argument_invalid", f"`window` must be a first and a last date; received {window!r}")
        with self._segments.locked():
            before = self._index.ask(lambda base: holdout_exposure.openings(base, market, window))
            for each in before:
                if each[:-1] == (self.session, seal, market.fingerprint, first, last):
                    return each.n_before
            if before and not burn:
                wanted = "a holdout that nobody opened is required"
                hint = "hint: `burn`, or `--burn-holdout`, opens it again, and marks all results"
                what = f"{first} .. {last}, opened {len(before)} times, first by session {before[0].session}"
                raise refusal("argument_invalid", f"{wanted}; received {what}; {hint}")
            told = {"market": market.fingerprint, "first": first, "last": last, "seal": seal, "burn": burn}
            entries = [("holdout_opened", told | {"n_before": len(before)})]
            if self._index.ask(lambda base: _marks(base, [market])).get(market.fingerprint, -1) < len(market.marks):
                entries.insert(0, ("market", market.to_json()))
            self._segments.append_all(entries)
        return len(before)

    def anchor(self, event: str, digest: str) -> None:
        """Note what the log of this session is up to an event, by its last hash.

        The first note stands: whoever writes that log anew, chain and all, is found out.

        Args:
            event: What the log has come to.
            digest: SHA-256 of its last record, in hex.

        Raises:
            OpenOutcryError: `state_mismatch`: another one was noted.
        """
        with self._segments.locked():
            noted = self.anchored(event, self.session)
            if noted is None:
                self._segments.append_all([("anchor", {"event": event, "hash": digest})])
            elif noted != digest:
                wanted = f"session {self.session} must have come to `{event}` as the ledger notes it, {noted[:16]}"
                raise refusal("state_mismatch", f"{wanted}; received {digest[:16]}")

    # Asking

    def anchored(self, event: str, session: str) -> str | None:
        """Return the hash that a session's log had at an event; None if none was noted."""
        query = "SELECT hash FROM heads JOIN sessions ON sessions.id = session WHERE name = ? AND event = ?"
        found = self._index.ask(lambda base: base.execute(query, (session, event)).fetchone())
        return None if found is None else str(found[0])

    def holdout_opens(self, market: Market, window: tuple[str, str]) -> int:
        """Return how often days of a window were opened, in a market's family."""
        return self._index.ask(lambda base: len(holdout_exposure.openings(base, market, window)))

    def looks(self, market: Market, window: tuple[str, str]) -> int:
        """Return how many runs have seen days of a window, of a market's family."""
        return self._index.ask(lambda base: holdout_exposure.looks(base, market, window))

    def known(self, trial: str, *, but_session: str | None = None) -> str | None:
        """Return the id of a finished run of a trial, by its key; None without one."""
        return self._index.ask(lambda base: queries.known_trial(base, trial, but_session))

    def tried(self, session: str) -> set[str]:
        """Return the keys of all trials that a session made."""
        query = "SELECT HEX(trial) FROM trials JOIN sessions ON sessions.id = session WHERE name = ?"
        return self._index.ask(lambda base: {key.lower() for (key,) in base.execute(query, (session,))})

    def count(self, market: Market, *, but_session: str | None = None) -> Trials:
        """Return how often the family of a market was tried, one session left out.

        What others tried as well stays.
        """
        return self._index.ask(lambda base: queries.trials_of(base, market, but_session))

    def compare(self, ids: Sequence[str]) -> tuple[list[RunMetricsSummary], list[str]]:
        """Return the summaries of runs in the order asked for, and the missing ids.

        Raises:
            OpenOutcryError: `argument_invalid`: there are more than 50, or one is no UUID.
        """
        return self._index.ask(lambda base: queries.compared(base, ids))

    def top(self, n: int = 5, market: Market | None = None, *, worst: bool = False) -> list[Standing]:
        """Return the strategies with the highest mean Sharpe ratio, or the lowest.

        Runs that touched a holdout are left out. Ties go to the one with more runs, then to the smaller id.

        Args:
            n: Strategies at most.
            market: Those of the family of this market alone.
            worst: The lowest ones, best first all the same.
        """
        count = whole("n", n, 1, MOST)
        return self._of_family(market, lambda base, at: queries.ranked(base, Scope(at), n=count, worst=worst), [])

    def unranked(self, n: int = 5, market: Market | None = None) -> list[Standing]:
        """Return strategies of which no run has a Sharpe ratio."""
        count = whole("n", n, 1, MOST)
        return self._of_family(market, lambda base, at: queries.unranked(base, Scope(at), n=count), [])

    def prior_results(
        self, market: Market | None = None, *, budget: int = prior_knowledge.BUDGET, through: str | None = None
    ) -> str | None:
        """Return what was learned so far as a text for a prompt; None if nothing.

        Args:
            market: Of the family of this market alone.
            budget: Tokens at most, at four bytes each.
            through: Of runs alone whose window ended by this date: for whoever must not know of later ones.

        Raises:
            OpenOutcryError: `argument_invalid`: dates are compared, which takes a `market`.
        """
        if through is not None and market is None:
            raise refusal("argument_invalid", "`market` is required with `through`; received None")
        return self._of_family(
            market,
            lambda base, at: prior_knowledge.text_of(prior_knowledge.learned(base, Scope(at, through)), budget),
            None,
        )

    def _of_family(
        self, market: Market | None, question: Callable[[sqlite3.Connection, int], Answer], nothing: Answer
    ) -> Answer:
        def ask(base: sqlite3.Connection) -> Answer:
            family = ALL if market is None else queries.family_of(base, market)
            return nothing if family is None else question(base, family)

        return self._index.ask(ask)

    def list(self, which: Which = Which()) -> list[Listed]:  # noqa: B008 it cannot change
        """Return runs, newest first."""
        return self._index.ask(lambda base: listed(base, which))

    def id_of(self, beginning: str) -> str:
        """Return the id of the one run whose id begins so.

        Raises:
            OpenOutcryError: `argument_invalid`: there is none, or more than one.
        """
        asked = beginning.lower() if isinstance(beginning, str) else ""
        if not asked or set(asked) - set("0123456789abcdef-"):
            raise refusal("argument_invalid", f"a run's id, or its beginning, is required; received {beginning!r}")
        query = "SELECT run_id FROM runs WHERE run_id GLOB ? LIMIT 2"
        found = self._index.ask(lambda base: base.execute(query, (f"{asked}*",)).fetchall())
        if len(found) != 1:
            n = "more than one" if found else "none"
            raise refusal("argument_invalid", f"the beginning of one run's id is required; received {asked!r} of {n}")
        return str(found[0][0])

    def show(self, run_id: str) -> LedgerRun:
        """Return a run with all that was kept of it.

        Raises:
            OpenOutcryError: `argument_invalid`: it is not there, or the log no longer has it as it was.
        """
        asked = checked_id(run_id)
        query = "SELECT segment, offset, fingerprint FROM runs JOIN markets ON markets.id = market WHERE run_id = ?"
        found = self._index.ask(lambda base: base.execute(query, (asked,)).fetchone())
        if found is None:
            raise refusal("argument_invalid", f"a run of the ledger is required; received {asked}, which is not there")
        segment, offset, fingerprint = found
        at, record = next(iterate(self._segments.path(segment), offset), (-1, {}))
        if at != offset or record["payload"].get("run_id", "").lower() != asked:
            raise refusal("argument_invalid", f"the log must hold run {asked} as it was; received another line")
        return LedgerRun.from_json(record["payload"], self._market(fingerprint))

    def words(self, run_ids: Iterable[str]) -> dict[str, tuple[str | None, str]]:
        """Return what the strategies of runs say of themselves, and are as JSON."""
        query = (
            "SELECT run_id, description, canonical_json FROM runs JOIN strategies ON strategies.id = strategy"
            " WHERE run_id IN (?)"
        )
        return self._index.ask(lambda base: {row[0]: row[1:] for row in chosen(base, query, run_ids)})

    def _market(self, fingerprint: str) -> Market:
        import json

        query = "SELECT name, symbols, periods_per_year FROM markets WHERE fingerprint = ?"
        anchors = "SELECT anchor FROM anchors JOIN markets ON markets.id = market WHERE fingerprint = ? ORDER BY anchor"
        name, symbols, year = self._index.ask(lambda base: base.execute(query, (fingerprint,)).fetchone())
        found = self._index.ask(lambda base: base.execute(anchors, (fingerprint,)).fetchall())
        known = (name or "unnamed", tuple(json.loads(symbols or "[]")), 252.0 if year is None else year)
        hashes = tuple(each for (each,) in found)
        n_anchors = sum(not each >> KINDS_FROM for each in hashes)
        return Market(fingerprint, *known, hashes[:n_anchors], hashes[n_anchors:])

    def returns(self, run_id: str) -> tuple[str | None, npt.NDArray[np.float64]] | None:
        """Return the date of a run's first return and its returns; None where it has none."""
        return self._index.ask(lambda base: queries.returns_of(base, checked_id(run_id)))

    # The log and the index

    def verify(self, head: str | None = None) -> Checked:
        """Check every line of the log and the chain through all of them.

        Args:
            head: A hash that the chain must have, as an earlier check found it. By default the last one that the index
                has read, if there is an index.
        """
        return self._segments.verify(remembered(self.folder) if head is None else head)

    def rebuild(self) -> Read:
        """Make the index anew from the log, and return what was read."""
        self._index.rebuild()
        return self._index.read

    @property
    def read(self) -> Read:
        """What of the log was read, and could not be, when it was last asked."""
        self._index.ask(lambda base: None)
        return self._index.read

    def export(self, path: str | os.PathLike[str], view: str = "runs") -> int:
        """Write a table to a new file, by its suffix, and return how many rows.

        Args:
            path: `.parquet`, which needs `openoutcry[parquet]`, `.csv` or `.jsonl`.
            view: `runs`, `strategies`, `returns`, or `run-ledger`, the five fields a line.
        """
        return self._index.ask(lambda base: table_export.write(base, path, view))

    def connection(self) -> sqlite3.Connection:
        """Return the tables of the index, caught up, for questions of one's own.

        They are not to be written to.
        """
        return self._index.caught_up()

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
    return {row[0] for row in chosen(base, "SELECT run_id FROM runs WHERE run_id IN (?)", {run.run_id for run in runs})}


def _marks(base: sqlite3.Connection, markets: Iterable[Market]) -> dict[str, int]:
    """Return how many marks were told of each market; an earlier version told none."""
    # One that only a run has named was never told.
    query = "SELECT fingerprint, n_marks FROM markets WHERE name IS NOT NULL AND fingerprint IN (?)"
    return dict(chosen(base, query, sorted({market.fingerprint for market in markets})))
