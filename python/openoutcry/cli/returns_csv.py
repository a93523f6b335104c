"""Returns of agents from CSV files, one agent per column."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import date_text
from openoutcry.errors import refusal

COLUMNS = ("equity", "returns")
# Returns are below this value and equity is above it, except after large losses, where `--csv` is required.
_BETWEEN = 0.5


@dataclass(frozen=True)
class _Returns:
    path: Path
    dates: tuple[str, ...] | None
    series: dict[str, npt.NDArray[np.float64]]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_series(
    paths: Sequence[Path], columns: str | None, benchmark: str | None, cash: str | None, n_windows: int
) -> dict[str, Any]:
    """Read CSV files and return the arguments for `score`.

    The first line names the columns. The first column may contain dates. Every other column is an agent, except the
    columns named by `benchmark` and `cash`. Several files must have the same dates.

    Args:
        paths: The files.
        columns: `equity` (account values) or `returns`; None detects it.
        benchmark: Column with buy-and-hold.
        cash: Column with cash.
        n_windows: Number of equal windows.

    Raises:
        OpenOutcryError: a file cannot be read, a cell is not a number, a column is missing, or two files differ in
            dates or share a column name.
    """
    if columns is not None and columns not in COLUMNS:
        raise refusal("argument_invalid", f"`--csv` must be equity or returns; received {columns!r}")
    files = [_returns(path, columns) for path in paths]
    series = dict(files[0].series)
    for other in files[1:]:
        _check_dates(files[0], other)
        series |= _new_columns(series, other, (benchmark, cash))
    sides = {}
    for side, name in (("benchmark", benchmark), ("cash", cash)):
        if name is not None and name not in series:
            raise refusal("argument_invalid", f"`--{side}` must be one of {', '.join(series)}; received {name!r}")
        sides[side] = None if name is None else series[name]
    agents = {name: values for name, values in series.items() if name not in (benchmark, cash)}
    if not agents:
        message = f"'{paths[0]}' must have at least one column of an agent; received {', '.join(series)}"
        raise refusal("argument_invalid", message)
    n_days = len(next(iter(agents.values())))
    if n_windows > n_days:
        raise refusal("argument_invalid", f"`--windows` must be at most the {n_days} returns; received {n_windows}")
    edges = [n_days * place // n_windows for place in range(n_windows + 1)]
    dates = files[0].dates or ()
    known = date_text.parse(dates, range(2, len(dates) + 2)).texts if dates and all(map(_is_day, dates)) else ()
    return {"agents": agents, **sides, "windows": np.diff(edges).tolist(), "dates": known}


def _is_day(text: str) -> bool:
    # Other date formats are ambiguous, so boards do not use them to name windows.
    try:
        return date.fromisoformat(text[:10]).isoformat() == text[:10]
    except ValueError:
        return False


def _returns(path: Path, columns: str | None) -> _Returns:
    dates, series = _columns(path)
    if (columns or _kind(path, series)) == "returns":
        return _Returns(path, dates, series)
    # A return belongs to the day of its second value.
    later = None if dates is None else dates[1:]
    return _Returns(path, later, {name: _growth(name, values) for name, values in series.items()})


def _check_dates(one: _Returns, other: _Returns) -> None:
    names = f"'{one.path}' and '{other.path}'"
    if one.dates is None or other.dates is None:
        undated = one.path if one.dates is None else other.path
        raise refusal("shape_mismatch", f"{names} must have a first column of dates; received '{undated}' without one")
    if len(one.dates) != len(other.dates):
        message = f"{names} must have the same dates; received {len(one.dates)} returns and {len(other.dates)}"
        raise refusal("shape_mismatch", message)
    for ours, theirs in zip(one.dates, other.dates, strict=True):
        if ours != theirs:
            raise refusal("shape_mismatch", f"{names} must have the same dates; received {ours!r} and {theirs!r}")


def _new_columns(
    series: dict[str, npt.NDArray[np.float64]], other: _Returns, sides: tuple[str | None, ...]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of a further file.

    Shared benchmark and cash columns must be equal.
    """
    for name, values in other.series.items():
        is_the_same = name in sides and name in series and np.array_equal(series[name], values)
        if name in series and not is_the_same:
            what = "different values of" if name in sides else "a second column"
            wanted = "columns of several files must have unique names"
            raise refusal("argument_invalid", f"{wanted}; received {what} `{name}` in '{other.path}'")
    return other.series


def _columns(path: Path) -> tuple[tuple[str, ...] | None, dict[str, npt.NDArray[np.float64]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise refusal("argument_invalid", f"a CSV file is required; received '{path}': {error}") from error
    if len(rows) < 3:
        raise refusal(
            "argument_invalid", f"'{path}' must have a header and at least two rows; received {len(rows)} lines"
        )
    head, body = [name.strip() for name in rows[0]], rows[1:]
    for place, row in enumerate(body, 2):
        if len(row) != len(head):
            raise refusal(
                "shape_mismatch", f"line {place} of '{path}' must have {len(head)} cells; received {len(row)}"
            )
    first = 0 if _is_number(body[0][0]) else 1
    names = head[first:]
    if len(set(names)) < len(names) or not all(names) or not names:
        raise refusal("argument_invalid", f"columns of '{path}' must have unique names; received {names}")
    table = np.empty((len(body), len(names)))
    for place, row in enumerate(body):
        for column, cell in enumerate(row[first:]):
            if not _is_number(cell):
                where = f"line {place + 2}, column {names[column]}"
                raise refusal("argument_invalid", f"{where} of '{path}' must be a finite number; received {cell!r}")
            table[place, column] = float(cell)
    dates = tuple(row[0].strip() for row in body) if first else None
    return dates, {name: np.ascontiguousarray(table[:, column]) for column, name in enumerate(names)}


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _kind(path: Path, series: dict[str, npt.NDArray[np.float64]]) -> str:
    lowest = min(float(values.min()) for values in series.values())
    highest = max(float(values.max()) for values in series.values())
    if lowest > _BETWEEN:
        return "equity"
    if highest < _BETWEEN and lowest < 0.0:
        return "returns"
    wanted = f"`--csv` is required for '{path}': `equity` or `returns`"
    raise refusal("argument_invalid", f"{wanted}; received values from {lowest:g} to {highest:g}, which fit both")


def _growth(name: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if (values <= 0.0).any():
        raise refusal("argument_invalid", f"equity must be above 0; received {values.min():g} in `{name}`")
    return values[1:] / values[:-1] - 1.0
