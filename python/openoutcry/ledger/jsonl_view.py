"""The five-field run list `run_ledger.jsonl`, and prior results from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.ledger.index_schema import ALL, AVERAGED
from openoutcry.ledger.ledger_entry import LedgerRun, checked_id
from openoutcry.ledger.prior_knowledge import BEST, BUDGET, WORST, PriorResults, format_prior_results
from openoutcry.ledger.queries import MAX_COMPARED, StrategySummary
from openoutcry.ledger.run_settings import UNSTATED
from openoutcry.ledger.run_summary import FIELDS, RunMetricsSummary
from openoutcry.ledger.strategy_identity import strategy_id
from openoutcry.ledger.strategy_rankings import RankedRun, totals_by_family
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.chained_lines import LONGEST, canonical
from openoutcry.untrusted.bounded_file import lines_of, open_file

NAME = "run_ledger.jsonl"
Compare = Callable[[Sequence[str]], tuple[list[RunMetricsSummary], list[str]]]


@dataclass(frozen=True)
class Entry:
    """A line of the file: a run and one of its instruments."""

    run_id: str
    instrument: str
    candle_interval: str
    strategy: Mapping[str, Any]
    timestamp: str

    def to_line(self) -> str:
        """Format the entry as a line with a line break."""
        return canonical("entry", {name: getattr(self, name) for name in _FIELDS}) + "\n"


_FIELDS = ("run_id", "instrument", "candle_interval", "strategy", "timestamp")


def entries_of(run: LedgerRun, timestamp: str) -> list[Entry]:
    """Return the entries of a run, one for each symbol of its market."""
    names = run.market.symbols or (run.market.name,)
    return [Entry(run.run_id, name, run.interval or "1d", run.strategy, timestamp) for name in names]


def append_view(output_dir: str | os.PathLike[str], run: LedgerRun, timestamp: str) -> Path:
    """Append a run to `run_ledger.jsonl` in a folder and return the file.

    The append is a single write.

    Raises:
        OpenOutcryError: `argument_invalid`: the run failed.
    """
    if run.status != "done":
        raise refusal("argument_invalid", f"a finished run is required; received one with status `{run.status}`")
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path, content = folder / NAME, "".join(entry.to_line() for entry in entries_of(run, timestamp)).encode()
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and _last_byte(file, size) != b"\n":
            # Ends a truncated line.
            content = b"\n" + content
        if os.write(file, content) != len(content):
            raise OSError(f"incomplete write to {path}")
    finally:
        os.close(file)
    return path


def _last_byte(file: int, size: int) -> bytes:
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)


def read_view(output_dir: str | os.PathLike[str]) -> tuple[list[Entry], int]:
    """Read the entries of a folder's `run_ledger.jsonl`, and count unreadable lines.

    A missing file has no entries. Unknown fields are ignored.
    """
    path = Path(output_dir) / NAME
    if not path.exists():
        return [], 0
    entries, n_corrupt = [], 0
    with open_file(path, "a list of runs") as file:
        for line in lines_of(file, LONGEST):
            if line != b"\n":
                entry = _entry(line)
                n_corrupt += entry is None
                entries += [] if entry is None else [entry]
    return entries, n_corrupt


def _entry(line: bytes) -> Entry | None:
    try:
        content = json.loads(line)
        entry = Entry(*(content[name] for name in _FIELDS))
        checked_id(entry.run_id)
        strategy_id(entry.strategy)
    except (ValueError, KeyError, TypeError, RecursionError, OpenOutcryError):
        return None
    texts = (entry.instrument, entry.candle_interval, entry.timestamp)
    return entry if all(isinstance(each, str) for each in texts) else None


def rank_entries(entries: Iterable[Entry], compare: Compare, n_corrupt: int = 0) -> PriorResults:
    """Rank the strategies of entries by mean Sharpe ratio.

    Runs are looked up in blocks of 50 and grouped by strategy. The mean is by market first, as in the index; a market
    is a set of instruments with a bar length. The file has no trial keys, so runs with equal instruments and summaries
    are one trial. Undefined ratios are counted but not averaged, and a strategy without a ratio is not ranked. Ties are
    broken by the number of ratios, then by the smaller ID.

    Args:
        entries: Entries of the file.
        compare: `Ledger.compare` or `http_client.remote_compare(url)`.
        n_corrupt: Number of unreadable lines.
    """
    known: dict[str, list[Entry]] = {}
    for entry in entries:
        known.setdefault(checked_id(entry.run_id), []).append(entry)
    ids = list(known)
    found: dict[str, RunMetricsSummary] = {}
    for at in range(0, len(ids), MAX_COMPARED):
        found |= {each.id: each for each in compare(ids[at : at + MAX_COMPARED])[0]}
    groups: dict[str, list[tuple[list[Entry], RunMetricsSummary]]] = {}
    for run_id in ids:
        if run_id in found:
            groups.setdefault(strategy_id(known[run_id][0].strategy), []).append((known[run_id], found[run_id]))
    summaries = [_summary(sha, runs) for sha, runs in groups.items()]
    ranked = sorted((each for each in summaries if each.mean is not None), key=_order)
    failed = sorted((each for each in summaries if each.mean is None), key=lambda each: each.strategy_id)
    n_skipped = len(ids) - sum(map(len, groups.values())) + n_corrupt
    n_trials = sum(each.n + each.n_undefined + each.n_failed for each in summaries)
    return PriorResults(n_trials, len(summaries), ranked[:BEST], ranked[-WORST:], failed, len(ranked), n_skipped)


def _order(each: StrategySummary) -> tuple[float, int, str]:
    return -(each.mean or 0.0), -each.n, each.strategy_id


def _summary(sha: str, runs: Sequence[tuple[list[Entry], RunMetricsSummary]]) -> StrategySummary:
    markets: dict[tuple[str, ...], int] = {}
    ranked: list[RankedRun] = []
    for entries, each in runs:
        market = (each.candle_interval or "", *sorted({entry.instrument for entry in entries}))
        values = (each.sharpe_ratio, *(getattr(each, name) for name in AVERAGED))
        content = repr([getattr(each, name) for name in FIELDS[1:]]).encode()
        place = markets.setdefault(market, len(markets) + 1)
        trial, is_done = sha256(content).digest(), each.status != "failed"
        ranked.append(RankedRun(place, trial, is_done, values, interval=market[0], origin=place, precedence=place))
    total = totals_by_family(ranked)[ALL, UNSTATED]
    first = runs[0][0][0]
    return StrategySummary(
        sha,
        canonical("strategy", first.strategy),
        total.means[0],
        total.n,
        total.n_undefined,
        total.n_failed,
        dict(zip(AVERAGED, total.means[1:], strict=True)),
        interval=total.sample.interval or None,
        markets=tuple(sorted({name for _, *names in markets for name in names})),
        n_runs=total.n_runs,
    )


def prior_results_of(output_dir: str | os.PathLike[str], compare: Compare, *, budget: int = BUDGET) -> str | None:
    """Return a folder's prior results as a prompt text; None without runs.

    Reads `run_ledger.jsonl`.
    """
    entries, n_corrupt = read_view(output_dir)
    return format_prior_results(rank_entries(entries, compare, n_corrupt), budget)
