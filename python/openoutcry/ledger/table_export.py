"""Export of ledger tables to Parquet, CSV and JSON lines."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.ledger.run_summary import FIELDS, NUMBERS, RunMetricsSummary

_NUMBERS = ", ".join(f"runs.{name}" for name in NUMBERS)
_NAMED = (
    " FROM runs JOIN strategies ON strategies.id = strategy JOIN markets ON markets.id = market"
    " JOIN sessions ON sessions.id = session"
)
VIEWS = {
    "runs": (
        "SELECT runs.run_id, strategies.sha256 AS strategy_id, strategies.canonical_json AS strategy,"
        " strategies.kind AS strategy_kind, strategies.description, markets.name AS market, markets.fingerprint,"
        " markets.family, runs.kind, runs.status, runs.candle_interval, runs.first, runs.last, runs.cost_sha,"
        f" runs.engine_version, {_NUMBERS}, runs.undefined, runs.n_returns, runs.sharpe_per_bar,"
        " runs.skew, runs.kurtosis, LOWER(HEX(runs.trial)) AS trial, runs.n_configs, runs.isolation,"
        " runs.holdout_touched, runs.error,"
        f" sessions.name AS session, runs.ts{_NAMED} ORDER BY runs.id"
    ),
    "strategies": (
        "SELECT strategies.sha256 AS strategy_id, canonical_json AS strategy, kind, param_count, description,"
        " agg.n, agg.n_undefined, agg.n_failed, agg.n_runs, agg.mean AS mean_sharpe FROM strategies"
        " LEFT JOIN strat_agg AS agg"
        " ON agg.strategy = strategies.id AND agg.family = 0 ORDER BY strategies.id"
    ),
    "returns": (
        "SELECT runs.run_id, run_returns.first, run_returns.simple AS returns FROM run_returns JOIN runs"
        " ON runs.id = run_returns.run ORDER BY runs.id"
    ),
    "run-ledger": (
        "SELECT runs.run_id, COALESCE(markets.symbols, '[]') AS symbols, COALESCE(markets.name, 'unnamed') AS name,"
        " COALESCE(runs.candle_interval, '1d') AS candle_interval, strategies.canonical_json AS strategy,"
        f" runs.ts AS timestamp{_NAMED} WHERE runs.status = 'done' AND runs.kind != 'holdout' AND NOT"
        " runs.holdout_touched ORDER BY runs.id"
    ),
}
"""SQL of the exportable views, by name."""
_BLOCK = 10_000
_SUFFIXES = {".parquet", ".csv", ".jsonl"}
Blocks = Iterator[tuple[list[str], list[tuple[Any, ...]]]]
"""Column names with blocks of rows."""
_FLOATS = {*NUMBERS, "sharpe_per_bar", "skew", "kurtosis", "mean_sharpe"} - {"total_positions"}
_INTEGERS = {"total_positions", "n_returns", "n_configs", "holdout_touched", "family", "param_count"}
_INTEGERS |= {"n", "n_undefined", "n_failed", "n_runs"}


def write(base: sqlite3.Connection, path: str | os.PathLike[str], view: str = "runs") -> int:
    """Export a view to a file and return the number of rows.

    Args:
        base: Connection to the index.
        path: A new file: `.parquet` (needs `openoutcry[parquet]`), `.csv` or `.jsonl`.
        view: `runs`, `strategies`, `returns`, or `run-ledger` for the five-field run list (`.jsonl` only).

    Raises:
        OpenOutcryError: `argument_invalid`: the view is unknown, the suffix does not fit, or the file exists.
    """
    if view not in VIEWS:
        raise refusal("argument_invalid", f"`view` must be one of {', '.join(VIEWS)}; received {view!r}")
    suffixes = {"run-ledger": {".jsonl"}, "returns": {".parquet", ".jsonl"}}.get(view, _SUFFIXES)
    return _write(lambda: _blocks(base, view), Path(path), view, suffixes)


def write_summaries(summaries: Sequence[RunMetricsSummary], path: str | os.PathLike[str]) -> int:
    """Write summaries to a file and return the number of rows.

    The columns are the 17 fields and `undefined`, the reasons as JSON.

    Args:
        summaries: The summaries.
        path: A new file: `.parquet` (needs `openoutcry[parquet]`), `.csv` or `.jsonl`.

    Raises:
        OpenOutcryError: `argument_invalid`: the suffix does not fit, or the file exists.
    """
    rows = [
        (*(getattr(each, name) for name in FIELDS), json.dumps(dict(each.undefined)) if each.undefined else None)
        for each in summaries
    ]
    return _write(lambda: iter([([*FIELDS, "undefined"], rows)]), Path(path), "summaries", _SUFFIXES)


def _write(blocks: Callable[[], Blocks], target: Path, view: str, suffixes: set[str]) -> int:
    if target.suffix not in suffixes:
        required = f"the file of `{view}` must end in {' or '.join(sorted(suffixes))}"
        raise refusal("argument_invalid", f"{required}; received '{target.name}'")
    if target.exists():
        raise refusal("argument_invalid", f"a new file is required; received '{target}', which exists")
    writer = {".parquet": _parquet, ".csv": _csv, ".jsonl": _lines}[target.suffix]
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        n_rows = writer(blocks(), temporary, view)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return n_rows


def _blocks(base: sqlite3.Connection, view: str) -> Blocks:
    """Yield column names with blocks of rows; a single empty block for an empty view."""
    found = base.execute(VIEWS[view])
    names = [each[0] for each in found.description]
    rows = found.fetchmany(_BLOCK)
    yield names, rows
    while rows := found.fetchmany(_BLOCK):
        yield names, rows


def _csv(blocks: Blocks, path: Path, view: str) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for names, rows in blocks:
            if n_rows == 0:
                writer.writerow(names)
            writer.writerows(rows)
            n_rows += len(rows)
    return n_rows


def _lines(blocks: Blocks, path: Path, view: str) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for names, rows in blocks:
            for row in rows:
                for item in _objects(dict(zip(names, row, strict=True)), view):
                    file.write(json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n")
                    n_rows += 1
    return n_rows


def _objects(row: dict[str, Any], view: str) -> Iterator[dict[str, Any]]:
    for name in ("strategy", "undefined"):
        if row.get(name) is not None:
            row[name] = json.loads(row[name])
    if view == "returns":
        row["returns"] = _floats(row["returns"])
    if view != "run-ledger":
        yield row
        return
    names, market = json.loads(row.pop("symbols")), row.pop("name")
    for name in names or [market]:
        yield {"run_id": row["run_id"], "instrument": name} | row


def _floats(packed: bytes) -> list[float]:
    import numpy as np

    return [float(value) for value in np.frombuffer(packed, dtype="<f8")]


def _parquet(blocks: Blocks, path: Path, view: str) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[parquet]`", name=error.name) from error
    n_rows, writer = 0, None
    try:
        for names, rows in blocks:
            schema = pa.schema([(name, _kind(pa, name)) for name in names])
            columns = zip(*rows, strict=True) if rows else [()] * len(names)
            arrays = [
                pa.array(
                    [_floats(each) for each in values] if name == "returns" else list(values), schema.field(name).type
                )
                for name, values in zip(names, columns, strict=True)
            ]
            writer = writer or parquet.ParquetWriter(path, schema)
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            n_rows += len(rows)
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _kind(pa: Any, name: str) -> Any:
    if name == "returns":
        return pa.list_(pa.float64())
    return pa.float64() if name in _FLOATS else pa.int64() if name in _INTEGERS else pa.string()
