"""Resolve the runs of `report compare`: records, ledger runs and candidates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from openoutcry import data
from openoutcry.backtest.replay import replay
from openoutcry.backtest.rerun import rerun
from openoutcry.cli.board_entries import check_signature
from openoutcry.cli.ledger import opened
from openoutcry.cli.run_table import plain
from openoutcry.data.dataset import Dataset
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.ledger import Ledger, LedgerRun
from openoutcry.ledger.ledger_store import default_folder
from openoutcry.ledger.run_tracks import check_comparable, track_of
from openoutcry.records.run_record import SUFFIXES, RunRecord
from openoutcry.scoring.aligned_returns import benchmark_returns
from openoutcry.scoring.return_tracks import Track
from openoutcry.untrusted.terminal import echo

if TYPE_CHECKING:
    from openoutcry.research.candidate_tracks import CandidateFile

_ID = frozenset("0123456789abcdef-")
_LONGEST_NAME = 40


@dataclass
class Sources:
    """Where runs and their markets are looked up.

    Attributes:
        datasets: Markets of `--data`.
        ledger_dir: Folder of the ledger; None for the default one.
        fill_key: Revealed key of sealed slippage noise.
        public_key: Key that must have signed every record, in hexadecimal; None accepts unsigned ones.
    """

    datasets: Sequence[Dataset]
    ledger_dir: Path | None = None
    fill_key: str | None = None
    public_key: str | None = None
    _first: Dataset | None = None
    _bundled: dict[tuple[str, tuple[str, ...]], Dataset] = field(default_factory=dict)

    def track(self, text: str) -> Track:
        """Return the track of a run, named `RUN` or `NAME=RUN`.

        Raises:
            OpenOutcryError: `text` names no run, or its market is not known.
        """
        name, what = _split(text)
        path, index = _file_of(what)
        if path is None:
            self._check_unsigned(f"the ledger run {what!r}")
            return self._of_ledger(what, name)
        candidate = _candidate(path) if path.name.endswith(".json") else None
        if candidate is None:
            return self._of_record(path, index, name)
        self._check_unsigned(f"the candidate '{path}'")
        return self._of_candidate(candidate, name)

    def benchmark(self, given: str, first: Track) -> Track:
        """Return the track of a benchmark on the bars of the first run.

        They are those from its first date to its last.

        Args:
            given: A symbol of the market of the first run, or a file with dates and one column of returns or prices.
            first: The first track.

        Raises:
            OpenOutcryError: as `benchmark_returns`.
        """
        market = self._first
        assert market is not None, "the first run has a market"
        start, end = market.dates.index(first.start), market.dates.index(first.dates[-1]) + 1
        name, returns = benchmark_returns(given, _Bars(market, market.dates[start:end]))
        rates = None if market.risk_free is None else np.asarray(market.risk_free[start + 1 : end])
        conditions = {**first.conditions, "costs": "none"}
        if given not in market.symbols:
            conditions["market"] = f"'{Path(given).name}'"
        dates = market.dates[start + 1 : end]
        origin = f"benchmark {plain(given, 200)}"
        return Track(name, dates, returns, rates, first.start, first.periods_per_year, conditions, origin)

    def _check_unsigned(self, received: str) -> None:
        if self.public_key is not None:
            wanted = "runs under `--public-key` must be records"
            raise refusal("argument_invalid", f"{wanted}; received {received}, which has no signature")

    def _of_record(self, path: Path, index: int | None, name: str) -> Track:
        record = RunRecord.load(path)
        if self.public_key is not None:
            check_signature(record, [self.public_key])
        chosen = _chosen(path, record, index)
        header = record.headers[chosen]
        market = self._market(str(path), header["dataset.fingerprint"], header.get("dataset.name", ""))
        done = replay(record.runs()[chosen], market, fill_key=self.fill_key)
        if not done.verified:
            echo(f"no comparison: '{path}' {done}", err=True)
            raise typer.Exit(1)
        run = rerun(record, chosen, market, self.fill_key)
        return Track.of(run, name or plain(run.name, _LONGEST_NAME), f"record {path.name}, digest {record.digest}")

    def _of_candidate(self, candidate: CandidateFile, name: str) -> Track:
        from openoutcry.research.candidate_tracks import track_of_candidate

        market = self._market(str(candidate.path), candidate.fingerprint, candidate.data, last=candidate.last)
        folder = default_folder() if self.ledger_dir is None else self.ledger_dir
        if not folder.is_dir():
            return track_of_candidate(candidate, market, None, name)
        with Ledger(folder) as ledger:
            return track_of_candidate(candidate, market, ledger, name)

    def _of_ledger(self, prefix: str, name: str) -> Track:
        if len(prefix) < 4 or set(prefix.lower()) - _ID:
            wanted = "a run to compare must be a record file, a candidate's file, or the ID of a ledger run"
            hint = (
                f"hint: {_similar_file(prefix) or 'check the name of the file; `openoutcry ledger list` shows the IDs'}"
            )
            raise refusal("argument_invalid", f"{wanted}; received {prefix!r}; {hint}")
        with opened(self.ledger_dir) as ledger:
            run = ledger.show(ledger.id_of(prefix))
        check_comparable(run)
        place = f"ledger run {run.run_id[:8]}"
        market = self._market(place, run.market.fingerprint, run.market.name, run.market.symbols, run.window[1])
        return track_of(run, market, name or _ledger_name(run), f"ledger run {run.run_id}")

    def _market(
        self, place: str, fingerprint: str, name: str, symbols: tuple[str, ...] = (), last: str = ""
    ) -> Dataset:
        """Return the market with a fingerprint: of `--data`, else a bundled one."""
        for dataset in (*self.datasets, *self._bundled_as(name, symbols)):
            if _is_or_starts_with(dataset, fingerprint, last):
                self._first = self._first or dataset
                return dataset
        given = ", ".join(f"{each.name} ({each.fingerprint[:8]})" for each in self.datasets) or "no `--data`"
        wanted = f"the market of {place}, {plain(name) or 'unnamed'} with fingerprint {fingerprint[:8]}, is required"
        raise refusal(
            "argument_invalid", f"{wanted}; received {given}; hint: `--data FILE`, repeatable, or `--scenario`"
        )

    def _bundled_as(self, name: str, symbols: tuple[str, ...]) -> list[Dataset]:
        base, _, universe = name.partition(":")
        if base not in data.names():
            return []
        found = []
        for choice in dict.fromkeys([universe, "", "all", ",".join(symbols)]):
            key = base, (choice,)
            if key not in self._bundled:
                with suppress(OpenOutcryError):
                    listed = choice.split(",") if choice and choice != "all" else choice or None
                    self._bundled[key] = data.load(base, listed)
            found += [self._bundled[key]] if key in self._bundled else []
        return found


@dataclass(frozen=True)
class _Bars:
    dataset: Dataset
    dates: Sequence[str]


def _file_of(what: str) -> tuple[Path | None, int | None]:
    """Return the file of a run, and the index after `#`; None for a ledger run."""
    path = Path(what)
    if path.is_file():
        return path, None
    base, mark, index = what.rpartition("#")
    if mark and index.isdecimal() and Path(base).is_file():
        return Path(base), int(index)
    if what.endswith(SUFFIXES) or "/" in what:
        hint = f"hint: {_similar_file(base if mark and index.isdecimal() else what) or 'check the name of the file'}"
        raise refusal("argument_invalid", f"a run to compare must be a file that exists; received {what!r}; {hint}")
    return None, None


def _split(text: str) -> tuple[str, str]:
    """Return the name and the run of `NAME=RUN`, in which both may have a `=`."""
    if Path(text).exists() or "=" not in text:
        return "", text
    places = [place for place, char in enumerate(text) if char == "=" and place + 1 < len(text)]
    of_files = [place for place in places if Path(text[place + 1 :].partition("#")[0]).is_file()]
    place = next(iter(of_files or places), len(text))
    return text[:place], text[place + 1 :]


def _similar_file(what: str) -> str | None:
    """Return the file with the most similar name in the same folder, for a hint."""
    folder = Path(what).parent
    try:
        # The suffix is no evidence that two names are similar.
        files = {each.name.partition(".")[0]: each for each in sorted(folder.iterdir()) if each.name.endswith(SUFFIXES)}
    except OSError:
        return None
    similar = get_close_matches(Path(what).name.partition(".")[0], list(files), 1)
    return f"`{plain(str(files[similar[0]]), 200)}`" if similar else None


def _candidate(path: Path) -> CandidateFile | None:
    from openoutcry.research.candidate_tracks import read_candidate

    return read_candidate(path)


def _chosen(path: Path, record: RunRecord, index: int | None) -> int:
    n_runs = len(record)
    if index is None and n_runs == 1:
        return 0
    if index is None or index >= n_runs:
        wanted = f"a run of '{path}' from #0 to #{n_runs - 1} is required"
        received = "none" if index is None else f"#{index}"
        raise refusal("argument_invalid", f"{wanted}; received {received}; hint: `{path}#0` is the first")
    return index


def _is_or_starts_with(dataset: Dataset, fingerprint: str, last: str) -> bool:
    """Return whether a market, or its bars up to a date, has a fingerprint."""
    if dataset.fingerprint == fingerprint:
        return True
    return last in dataset.dates[1:] and dataset.head(dataset.dates.index(last) + 1).fingerprint == fingerprint


def _ledger_name(run: LedgerRun) -> str:
    name = run.strategy.get("name", run.strategy.get("strategy"))
    shown = name if isinstance(name, str) else run.description or json.dumps(run.strategy)
    return f"{plain(shown, _LONGEST_NAME)} {run.run_id[:8]}"
