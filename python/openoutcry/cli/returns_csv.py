"""Returns of agents from CSV files, one agent per column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.cli import return_kind
from openoutcry.data.readers import return_file
from openoutcry.data.readers.column_roles import is_price_name
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import NO_OPTIONS, ReadOptions
from openoutcry.data.readers.questions import Question, asked, check
from openoutcry.data.readers.return_file import ReturnTable
from openoutcry.data.readers.return_numbers import hundredths, says_percent
from openoutcry.errors import OpenOutcryError, add_note, refusal
from openoutcry.untrusted.bounded_file import sha256_of
from openoutcry.untrusted.counted_nouns import counted

COLUMNS = ("equity", "returns", "percent")
# Columns of one account. Of two of them, one at most is an agent.
_ACCOUNT = frozenset(
    (
        *("equity", "nav", "balance", "accountvalue", "portfoliovalue", "cash", "position", "positions", "drawdown"),
        *("exposure", "leverage", "turnover", "margin", "pnl", "fees", "commission", "returns", "return"),
    )
)
# Columns that are neither returns nor equity.
_OTHERS = "position positions drawdown exposure leverage turnover margin weight weights signal fees commission trades"
_NO_AGENT = frozenset(_OTHERS.split())
_LOG = re.compile(r"\blog[ _-]?ret|\blogret", re.IGNORECASE)
_POINTS = re.compile(r"(\b|_)(bps?|basis ?points?)(\b|_)", re.IGNORECASE)


@dataclass(frozen=True)
class _File:
    """A file, and its returns."""

    path: Path
    table: ReturnTable


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return sha256_of(path, "a file of returns")


@dataclass(frozen=True)
class SideColumns:
    """Names of the columns with benchmarks."""

    benchmark: str | None = None
    cash: str | None = None
    equal_weight: str | None = None
    passive: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The columns that are no agents."""
        return frozenset(name for _, name in self._by_option())

    def of(self, series: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, Any]:
        """Return the arguments for `score`.

        Raises:
            OpenOutcryError: a column is missing.
        """
        taken: dict[str, str] = {}
        for option, name in self._by_option():
            # A side that is counted twice would decide twice.
            if (other := taken.setdefault(name, option)) != option or self.passive.count(name) > 1:
                message = f"`{option}` must be a column that no other side has; received {name!r}"
                raise refusal("argument_invalid", f"{message}, which `{other}` has too")
            if name not in series:
                raise refusal("argument_invalid", f"`{option}` must be one of {', '.join(series)}; received {name!r}")
        one = {"benchmark": self.benchmark, "cash": self.cash, "equal_weight": self.equal_weight}
        found: dict[str, Any] = {side: None if name is None else series[name] for side, name in one.items()}
        return found | {"passive": np.array([series[name] for name in self.passive]) if self.passive else None}

    def _by_option(self) -> list[tuple[str, str]]:
        one = (("--benchmark", self.benchmark), ("--cash", self.cash), ("--equal-weight", self.equal_weight))
        return [
            *((option, name) for option, name in one if name is not None),
            *(("--passive", n) for n in self.passive),
        ]


def read_series(
    paths: Sequence[Path],
    columns: str | None,
    sides: SideColumns,
    n_windows: int,
    options: ReadOptions = NO_OPTIONS,
    periods_per_year: float | None = None,
    notes: list[str] | None = None,
) -> dict[str, Any]:
    """Read files of returns and return the arguments for `score`.

    The rows of a file are sorted by its column of dates. Every other column is an agent, except the columns of `sides`.
    Several files must have the same dates.

    Args:
        paths: The files.
        columns: `equity` (account values), `returns` or `percent`; None detects it.
        sides: Columns with benchmarks.
        n_windows: Number of equal windows.
        options: What a person states about the files.
        periods_per_year: Returns per year; None for those of the dates.
        notes: Receives what the files were read as.

    Raises:
        OpenOutcryError: a file cannot be read, a cell is not a number, a column is missing, a date is invalid or occurs
            twice, or two files differ in dates or share a column name.
    """
    if columns is not None and columns not in COLUMNS:
        raise refusal("argument_invalid", f"`--csv` must be equity, returns or percent; received {columns!r}")
    files, notes = [], [] if notes is None else notes
    questions: list[Question] = []
    for path in paths:
        table = _read(path, options)
        _check_names(path, [name for name in table.series if name not in sides.names])
        with asked(questions := [*questions, *table.questions]):
            files.append(_File(path, _as_returns(path, table, columns, periods_per_year)))
        notes += [f"{path.name}: {notice}" for notice in table.notices]
    check(questions)
    series = dict(files[0].table.series)
    for other in files[1:]:
        _check_dates(files[0], other)
        series |= _new_columns(series, other, sides.names)
    found = sides.of(series)
    agents = {name: values for name, values in series.items() if name not in sides.names}
    _check_names(paths[0], list(agents))
    if not agents:
        message = f"'{paths[0]}' must have at least one column of an agent; received {', '.join(series)}"
        raise refusal("argument_invalid", message)
    if columns is None:
        return_kind.check_steps(paths[0], agents)
    n_days = len(next(iter(agents.values())))
    if n_windows > n_days:
        raise refusal(
            "argument_invalid", f"`--windows` must be at most the {counted(n_days, 'return')}; received {n_windows}"
        )
    edges = [n_days * place // n_windows for place in range(n_windows + 1)]
    dates = (files[0].table.labels or ()) if files[0].table.are_dates else ()
    return {"agents": agents, **found, "windows": np.diff(edges).tolist(), "dates": dates}


def _read(path: Path, options: ReadOptions) -> ReturnTable:
    try:
        return return_file.read(path, options)
    except OpenOutcryError as error:
        if f"'{path}'" not in str(error):
            add_note(error, f"in the file '{path}'")
        raise


def _as_returns(path: Path, table: ReturnTable, stated: str | None, periods_per_year: float | None) -> ReturnTable:
    """Return a table of returns, from one of returns, percentages or equity."""
    if not table.series:
        return table
    kind = stated or return_kind.kind_of(path, table, periods_per_year)
    return_kind.check_signs(path, table, kind)
    if kind == "returns":
        return table
    if kind == "percent":
        series = {name: values if name in table.signed else hundredths(values) for name, values in table.series.items()}
        return replace(table, series=series)
    # A return belongs to the day of its second value.
    later = None if table.labels is None else table.labels[1:]
    return replace(table, labels=later, series={name: _growth(name, each) for name, each in table.series.items()})


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse columns that are fields of one bar or of one account."""
    wanted = f"each column of '{path}' must hold the returns or the equity of an agent"
    bar = [name for name in names if is_price_name(name) or simple(name) == "volume"]
    # Without a price, `Fund A (%)` is no change of a bar.
    bar = [] if all(says_percent(name, "") for name in bar) else bar
    if len(bar) > 1:
        hint = "hint: `openoutcry run --data FILE` for prices, or keep the date and the close"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(bar)} of one bar; {hint}")
    logs = [name for name in names if _LOG.search(name) is not None]
    if logs:
        hint = "hint: exp(r) - 1 of each is simple, or rename the column if they are simple"
        raise refusal("argument_invalid", f"{wanted}; received log returns by the name {logs[0]!r}; {hint}")
    points = [name for name in names if _POINTS.search(name) is not None]
    if points:
        hint = "hint: divide by 10,000, or rename the column if they are returns"
        raise refusal("argument_invalid", f"{wanted}; received basis points by the name {points[0]!r}; {hint}")
    account = [name for name in names if simple(name) in _ACCOUNT]
    if len(account) > 1:
        hint = f"hint: keep the date and one column, such as {account[0]}; `--cash NAME` for a column of cash returns"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(account)} of one account; {hint}")
    other = [name for name in names if simple(name) in _NO_AGENT]
    if other and len(names) > 1:
        raise refusal("argument_invalid", f"{wanted}; received {other[0]}, which is neither; hint: leave it out")


def _check_dates(one: _File, other: _File) -> None:
    names = f"'{one.path}' and '{other.path}'"
    own, others = one.table.labels, other.table.labels
    if own is None or others is None:
        undated = one.path if own is None else other.path
        raise refusal("shape_mismatch", f"{names} must have a column of dates; received '{undated}' without one")
    if len(own) != len(others):
        message = f"{names} must have the same dates; received {counted(len(own), 'return')} and {len(others)}"
        raise refusal("shape_mismatch", message)
    for ours, theirs in zip(own, others, strict=True):
        if ours != theirs:
            raise refusal("shape_mismatch", f"{names} must have the same dates; received {ours!r} and {theirs!r}")


def _new_columns(
    series: dict[str, npt.NDArray[np.float64]], other: _File, sides: frozenset[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of a further file.

    Shared benchmark and cash columns must be equal.
    """
    for name, values in other.table.series.items():
        is_the_same = name in sides and name in series and np.array_equal(series[name], values)
        if name in series and not is_the_same:
            what = "different values of" if name in sides else "a second column"
            wanted = "columns of several files must have unique names"
            raise refusal("argument_invalid", f"{wanted}; received {what} `{name}` in '{other.path}'")
    return other.table.series


def _growth(name: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if (values <= 0.0).any():
        raise refusal("argument_invalid", f"equity must be above 0; received {values.min():g} in `{name}`")
    return values[1:] / values[:-1] - 1.0
