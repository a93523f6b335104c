"""Returns of agents from CSV files, one agent per column."""

from __future__ import annotations

import csv
import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import date_text
from openoutcry.data.readers.column_roles import is_date_name, is_price_name
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.date_text import DateOptions
from openoutcry.errors import refusal

COLUMNS = ("equity", "returns")
NO_OPTIONS = DateOptions()
# Returns are below this value and equity is above it, except after large losses, where `--csv` is required.
_BETWEEN = 0.5
# Columns of one account. Of two of them, one at most is an agent.
_ACCOUNT = frozenset(
    (
        *("equity", "nav", "balance", "accountvalue", "portfoliovalue", "cash", "position", "positions", "drawdown"),
        *("exposure", "leverage", "turnover", "margin", "pnl", "fees", "commission", "returns", "return"),
    )
)


@dataclass(frozen=True)
class _Returns:
    """Columns of a file, by date if its rows have dates.

    Attributes:
        path: The file.
        labels: First column: dates in ISO 8601, or other texts; None if it is a column of numbers.
        are_dates: Whether the labels are dates.
        series: Values by name of the column.
    """

    path: Path
    labels: tuple[str, ...] | None
    are_dates: bool
    series: dict[str, npt.NDArray[np.float64]]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_series(
    paths: Sequence[Path],
    columns: str | None,
    sides: tuple[str | None, str | None],
    n_windows: int,
    options: DateOptions = NO_OPTIONS,
) -> dict[str, Any]:
    """Read CSV files and return the arguments for `score`.

    The first line names the columns. The first column may contain dates, by which rows are sorted. Every other column
    is an agent, except the columns of `sides`. Several files must have the same dates.

    Args:
        paths: The files.
        columns: `equity` (account values) or `returns`; None detects it.
        sides: Columns with buy-and-hold and with cash.
        n_windows: Number of equal windows.
        options: What a person states about dates.

    Raises:
        OpenOutcryError: a file cannot be read, a cell is not a number, a column is missing, a date is invalid or occurs
            twice, or two files differ in dates or share a column name.
    """
    if columns is not None and columns not in COLUMNS:
        raise refusal("argument_invalid", f"`--csv` must be equity or returns; received {columns!r}")
    files = [_returns(path, columns, options) for path in paths]
    series = dict(files[0].series)
    for other in files[1:]:
        _check_dates(files[0], other)
        series |= _new_columns(series, other, sides)
    found = {}
    for side, name in zip(("benchmark", "cash"), sides, strict=True):
        if name is not None and name not in series:
            raise refusal("argument_invalid", f"`--{side}` must be one of {', '.join(series)}; received {name!r}")
        found[side] = None if name is None else series[name]
    agents = {name: values for name, values in series.items() if name not in sides}
    _check_names(paths[0], list(agents))
    if not agents:
        message = f"'{paths[0]}' must have at least one column of an agent; received {', '.join(series)}"
        raise refusal("argument_invalid", message)
    n_days = len(next(iter(agents.values())))
    if n_windows > n_days:
        raise refusal("argument_invalid", f"`--windows` must be at most the {n_days} returns; received {n_windows}")
    edges = [n_days * place // n_windows for place in range(n_windows + 1)]
    dates = (files[0].labels or ()) if files[0].are_dates else ()
    return {"agents": agents, **found, "windows": np.diff(edges).tolist(), "dates": dates}


def _returns(path: Path, columns: str | None, options: DateOptions) -> _Returns:
    file = _by_date(_columns(path, options), options)
    if (columns or _kind(path, file.series)) == "returns":
        return file
    # A return belongs to the day of its second value.
    later = None if file.labels is None else file.labels[1:]
    return _Returns(path, later, file.are_dates, {name: _growth(name, each) for name, each in file.series.items()})


def _by_date(file: _Returns, options: DateOptions) -> _Returns:
    """Return a file with its rows sorted by date; unchanged if it has none."""
    if file.labels is None or not file.are_dates:
        return file
    lines = range(2, len(file.labels) + 2)
    dates = date_text.parse(file.labels, lines, options).texts
    order = sorted(range(len(dates)), key=dates.__getitem__)
    for one, other in itertools.pairwise(order):
        if dates[one] == dates[other]:
            received = f"{dates[one]} on lines {lines[one]} and {lines[other]}"
            raise refusal("date_order", f"dates of '{file.path}' must be unique; received {received}")
    series = {name: np.ascontiguousarray(values[order]) for name, values in file.series.items()}
    return _Returns(file.path, tuple(dates[row] for row in order), True, series)


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse columns that are fields of one bar or of one account."""
    wanted = f"each column of '{path}' must hold the returns or the equity of an agent"
    bar = [name for name in names if is_price_name(name) or simple(name) == "volume"]
    if len(bar) > 1:
        hint = "hint: `openoutcry run --data FILE` for prices, or keep the date and the close"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(bar)} of one bar; {hint}")
    account = [name for name in names if simple(name) in _ACCOUNT]
    if len(account) > 1:
        hint = f"hint: keep the date and one column, such as {account[0]}; `--cash NAME` for a column of cash returns"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(account)} of one account; {hint}")


def _check_dates(one: _Returns, other: _Returns) -> None:
    names = f"'{one.path}' and '{other.path}'"
    if one.labels is None or other.labels is None:
        undated = one.path if one.labels is None else other.path
        raise refusal("shape_mismatch", f"{names} must have a first column of dates; received '{undated}' without one")
    if len(one.labels) != len(other.labels):
        message = f"{names} must have the same dates; received {len(one.labels)} returns and {len(other.labels)}"
        raise refusal("shape_mismatch", message)
    for ours, theirs in zip(one.labels, other.labels, strict=True):
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


def _columns(path: Path, options: DateOptions) -> _Returns:
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
    if all(_is_number(name) or looks_like_date(name) for name in head):
        hint = "hint: begin the file with a line such as date,my-agent"
        message = f"the first line of '{path}' must name the columns; received {','.join(head)!r}; {hint}"
        raise refusal("argument_invalid", message)
    for place, row in enumerate(body, 2):
        if len(row) != len(head):
            raise refusal(
                "shape_mismatch", f"line {place} of '{path}' must have {len(head)} cells; received {len(row)}"
            )
    label = body[0][0].strip()
    is_date = looks_like_date(label) or (options.date_format is not None and not _is_number(label))
    # Dates such as 20240131 are numbers.
    is_date = is_date and (not _is_number(label) or not head[0] or is_date_name(head[0]))
    if options != NO_OPTIONS and not is_date:
        message = "options of dates must be left out with files that have no dates in the first column"
        raise refusal("argument_invalid", f"{message}; received '{path}', which starts with {label!r}")
    first = 0 if _is_number(label) and not is_date else 1
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
    labels = tuple(row[0].strip() for row in body) if first else None
    series = {name: table[:, column] for column, name in enumerate(names)}
    return _Returns(path, labels, is_date, series)


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
