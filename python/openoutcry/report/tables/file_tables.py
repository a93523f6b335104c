"""All tables of a run for files: those of its page, its bars and its groups."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.errors import refusal
from openoutcry.report.pages.metric_labels import METRICS
from openoutcry.report.pages.skill_section import SKILL
from openoutcry.report.pages.table_parts import csv_text
from openoutcry.report.tables.table_builders import statistics_table
from openoutcry.report.views.statistics_view import Skill
from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.scoring.group_exposure import GroupExposure
from openoutcry.scoring.statistic_values import Statistics

__all__ = [
    "FORMATS",
    "bar_table",
    "check_folder",
    "columns_of",
    "cost_table",
    "event_table",
    "group_bars",
    "metric_table",
    "skill_table",
]
__all__ += ["write_tables"]

FORMATS = ("csv", "parquet")


def metric_table(sides: list[tuple[str, str, Statistics]]) -> Table:
    """Return the metrics of a run, and of a benchmark."""
    return statistics_table("metrics", "All metrics", METRICS, sides)


def skill_table(skill: Skill) -> Table:
    """Return the skill statistics."""
    return statistics_table("skill", "Skill", SKILL, [("value", "Value", Statistics(skill.values, skill.reasons))])


def cost_table(run: Run) -> Table:
    """Return the sum of each kind of cost and of other gains, over the starting NAV."""
    rows = [("cost", kind, float(paid.sum())) for kind, paid in run.costs.items()]
    rows += [("gain", kind, float(earned.sum())) for kind, earned in run.gains.items()]
    columns = (Column("side", "Side"), Column("kind", "Kind"), Column("amount", "Share of starting NAV", "rate"))
    return Table("costs", "Costs and other gains", columns, tuple(rows))


def event_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Return the number of events by slug and reason."""
    rows = tuple((slug, reason, n) for slug, reasons in counts.items() for reason, n in reasons.items())
    columns = (Column("event", "Event"), Column("reason", "Reason"), Column("count", "Count", "count"))
    return Table("events", "Events", columns, rows)


def bar_table(run: Run, benchmark: npt.NDArray[np.float64]) -> Table:
    """Return the bars of a run: NAV, returns, drawdown, exposure, costs and weights.

    Args:
        run: The run.
        benchmark: Returns of the benchmark, shape `(n_bars - 1,)`.
    """
    nan, zero = [None], [0.0]
    weights = run.weights
    columns: dict[str, list[Any]] = {
        "date": list(run.dates),
        "nav": run.nav.tolist(),
        "return": nan + run.returns.tolist(),
        "benchmark_return": nan + benchmark.tolist(),
        "drawdown": native.drawdowns(np.ascontiguousarray(run.nav)).tolist(),
        "gross": np.abs(weights).sum(axis=1).tolist(),
        "net": weights.sum(axis=1).tolist(),
        "turnover": zero + run.turnover.tolist(),
    }
    columns |= {f"cost_{kind}": zero + paid.tolist() for kind, paid in run.costs.items()}
    columns |= {f"gain_{kind}": zero + earned.tolist() for kind, earned in run.gains.items()}
    for symbol, held in zip(run.dataset.symbols, weights.T, strict=True):
        columns[f"weight_{symbol}"] = held.tolist()
    heads = tuple(Column(name, name, "text" if name == "date" else "fine") for name in columns)
    return Table("bars", "Bars", heads, tuple(zip(*columns.values(), strict=True)))


def group_bars(run: Run, exposures: list[GroupExposure]) -> Table:
    """Return gross and net exposure by group at each close."""
    columns: dict[str, list[Any]] = {"date": list(run.dates)}
    for each in exposures:
        columns |= {f"net_{each.name}": each.net.tolist(), f"gross_{each.name}": each.gross.tolist()}
    heads = tuple(Column(name, name, "text" if name == "date" else "fine") for name in columns)
    return Table("group_bars", "Exposure by group", heads, tuple(zip(*columns.values(), strict=True)))


def columns_of(table: Table) -> dict[str, npt.NDArray[Any]]:
    """Return a table as columns by name; an undefined number is NaN.

    A column that holds texts, or no value at all, is one of objects.
    """
    found = {}
    for place, column in enumerate(table.columns):
        values: list[Value] = [row[place] for row in table.rows]
        if column.unit in {"text", "help", "hidden"}:
            found[column.name] = np.array(values, dtype=object)
        elif column.unit == "count" and values and all(isinstance(value, int) for value in values):
            found[column.name] = np.array(values, dtype=np.int64)
        else:
            found[column.name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return found


def write_tables(tables: Mapping[str, Table], folder: str | os.PathLike[str], form: str = "csv") -> list[Path]:
    """Write each table to a file of a folder, and return the paths.

    Args:
        tables: Table by name.
        folder: Folder, made if it does not exist. Files of the same names are replaced.
        form: One of `FORMATS`; `parquet` needs pyarrow.

    Raises:
        OpenOutcryError: `argument_invalid`: the format is unknown, or the folder is a file.
        ModuleNotFoundError: pyarrow is not installed.
    """
    target = check_folder(folder, form)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in tables.items():
        path = target / f"{name}.{form}"
        if form == "csv":
            path.write_text(csv_text(table), encoding="utf-8", errors="replace")
        else:
            _write_parquet(path, table)
        paths.append(path)
    return paths


def check_folder(folder: str | os.PathLike[str], form: str) -> Path:
    """Check the folder and the format of tables, and return its path.

    Raises:
        OpenOutcryError: as `write_tables`.
        ModuleNotFoundError: pyarrow is not installed.
    """
    if form not in FORMATS:
        wanted = f"the format of tables must be one of {', '.join(FORMATS)}"
        raise refusal("argument_invalid", f"{wanted}; received {form!r}")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise refusal("argument_invalid", f"the folder of tables must be a folder; received '{target}', a file")
    if form == "parquet":
        _pyarrow()
    return target


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install pyarrow`", name="pyarrow") from error
    return pa, pq


def _write_parquet(path: Path, table: Table) -> None:
    pa, pq = _pyarrow()
    columns = {}
    for name, values in columns_of(table).items():
        if values.dtype == object:
            columns[name] = pa.array([None if value is None else str(value) for value in values], pa.string())
        else:
            columns[name] = pa.array(values, from_pandas=True)
    pq.write_table(pa.table(columns), path)
