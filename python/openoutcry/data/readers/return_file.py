"""Read a file of returns or account values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from openoutcry.data.readers import date_text, file_zone, return_columns, return_numbers, table_edges, text_table
from openoutcry.data.readers.column_roles import is_date_name
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.date_text import DateOptions
from openoutcry.data.readers.echoed_values import shortening
from openoutcry.data.readers.file_content import file_bytes, frame_table, text_of
from openoutcry.data.readers.market_columns import NO_OPTIONS, ReadOptions
from openoutcry.data.readers.questions import Question, asked
from openoutcry.data.readers.return_columns import ReturnColumns
from openoutcry.data.readers.return_numbers import Array
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

# Ends of the names of files of tables.
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx")
_ARCHIVES = (".gz", ".zip", ".bz2", ".xz")
_HAS_DELIMITER = re.compile(r"[,;\t|]")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+\s*%?", re.ASCII)


@dataclass(frozen=True)
class ReturnTable:
    """Columns of a file of returns or of account values.

    Attributes:
        labels: Dates in ISO 8601, ascending, or other texts; None if the rows have no labels.
        are_dates: Whether the labels are dates.
        series: Values by name of the agent. Percentages with a sign are fractions.
        signed: Names of the series with percent signs.
        unsigned: Names of the series that are percentages by their name or unit, without signs.
        notices: What was read, where it is not plain.
        questions: What the file does not say; the table is not complete while there is one.
    """

    labels: tuple[str, ...] | None
    are_dates: bool
    series: dict[str, Array]
    signed: tuple[str, ...] = ()
    unsigned: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()


def is_return_file(path: Path) -> bool:
    """Return whether a file has the name of a table, also of a compressed one."""
    name = path.name.lower()
    return name.endswith(SUFFIXES) or name.endswith(tuple(f"{end}{more}" for end in SUFFIXES for more in _ARCHIVES))


@shortening
def read(path: Path, options: ReadOptions = NO_OPTIONS) -> ReturnTable:
    """Return the columns of a file of returns, with rows in order of their dates.

    Args:
        path: CSV or TSV, also compressed, Parquet, Feather or Excel.
        options: `columns` with the name of the column of dates under `date`, or with all names of a file without a
            header; `tz`, `date_order`, `date_format` and `decimal`.

    Raises:
        OpenOutcryError: the first invalid value.
    """
    named = _named(_table(path), options.columns)
    table, edges = table_edges.trimmed(named)
    if len(table.rows) < 2:
        raise refusal("argument_invalid", f"a header and at least two rows are required; received {len(table.rows)}")
    units = named.rows[0] if table.lines[0] != named.lines[0] else [""] * len(table.names)
    found = ReturnTable(None, False, {}, notices=(*table.notes, *edges))
    stated = dict(options.columns) if isinstance(options.columns, Mapping) else {}
    questions: list[Question] = []
    columns = ReturnColumns(values=return_columns.numbers_in(table))
    with asked(questions):
        columns = return_columns.columns_of(table, stated, lambda text: _is_date(text, options.date_format))
        found = _labelled(found, table, columns, options)
    n_questions, mark = len(questions), "."
    with asked(questions):
        mark = return_numbers.decimal_mark(table, list(columns.values.values()), options.decimal)
    if len(questions) > n_questions:
        return replace(found, questions=tuple(questions))
    series, signed = return_numbers.numbers_of(table, columns.values, mark)
    percent = [name for name, place in columns.values.items() if return_numbers.says_percent(name, units[place])]
    notices = [*found.notices]
    notices += ["numbers have a decimal comma"] if mark == "," else []
    notices += [f"percent signs in {', '.join(signed)}: 1% is read as 0.01"] if signed else []
    notices += [f"columns not read: {', '.join(map(repr, columns.unread))}"] if columns.unread else []
    unsigned = tuple(name for name in percent if name not in signed)
    found = replace(found, series=series, signed=tuple(signed), unsigned=unsigned, notices=tuple(notices))
    if questions:
        return replace(found, questions=tuple(questions))
    if columns.agent is not None:
        return _by_agent(found, [text.strip() for text in table.column(columns.agent)], table.lines)
    return _sorted(found, table.lines) if found.are_dates else found


def _table(path: Path) -> TextTable:
    try:
        content = file_bytes(path)
    except OSError as error:
        raise refusal("argument_invalid", f"a CSV file is required; received '{path}': {error}") from error
    table = frame_table(content, path)
    if table is not None:
        return table
    text, _ = text_of(content, path.name)
    found = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [line for _, line in found]
    if len(lines) < 3:
        message = f"a header and at least two rows are required; received {counted(len(lines), 'line')}"
        raise refusal("argument_invalid", message)
    if _is_one_column(lines):
        cells = [[line.strip().strip('"')] for line in lines]
        return TextTable([], cells, [number for number, _ in found])
    return text_table.parse(text)


def _is_one_column(lines: Sequence[str]) -> bool:
    """Return whether lines hold one column, perhaps with decimal commas."""
    if _HAS_DELIMITER.search(lines[0]) is not None:
        return False
    rows = [line for line in lines[1:] if _HAS_DELIMITER.search(line) is not None]
    return all(_DECIMAL_COMMA.fullmatch(row.strip().strip('"')) for row in rows)


def _named(table: TextTable, stated: Mapping[str, str] | Sequence[str] | None) -> TextTable:
    """Return a table with the names of its header, or with the stated ones."""
    listed = None if stated is None or isinstance(stated, Mapping) else list(stated)
    if table.names:
        return table.named([name.strip() for name in table.names])
    headed = text_table.take_header(table)
    first = [cell.strip() for cell in table.rows[0]]
    # Agents may have numbers as names: `date,10,20`.
    if not headed.names and not text_table.is_value(first[0]) and is_date_name(first[0]) and len(first) > 1:
        headed = TextTable(first, table.rows[1:], table.lines[1:], table.preamble, table.delimiter, table.notes)
    if headed.names and listed is None:
        return headed
    if headed.names:
        received = f"{','.join(listed or ())} for the header {','.join(headed.names)}"
        raise refusal("argument_invalid", f"`--columns` must be left out with a header; received {received}")
    if listed is None:
        hint = "hint: begin the file with a line such as date,my-agent, or `--columns date,my-agent`"
        message = f"the first line must name the columns; received {','.join(first)!r}"
        raise refusal("argument_invalid", f"{message}; {hint}")
    if len(listed) != len(first):
        message = f"`--columns` must name the {counted(len(first), 'column')} of the file"
        raise refusal("argument_invalid", f"{message}; received {','.join(listed)}")
    return table.named(listed)


def _is_date(text: str, date_format: str | None) -> bool:
    is_stated = date_format is not None and date_text.is_of_format(text, date_format)
    return is_stated or looks_like_date(text)


def _labelled(table: ReturnTable, text: TextTable, columns: ReturnColumns, options: ReadOptions) -> ReturnTable:
    """Return a table with the labels of its rows, in the order of the file."""
    if columns.date is None:
        stated = (options.tz, options.date_order, options.date_format)
        if any(value is not None for value in stated):
            message = "options of dates must be left out with files that have no column of dates"
            raise refusal("argument_invalid", f"{message}; received {text.first(0)!r} in the first column")
        labels = None if columns.label is None else tuple(cell.strip() for cell in text.column(columns.label))
        return replace(table, labels=labels)
    name = text.names[columns.date]
    is_utc = options.tz is None and file_zone.states_utc(" ".join([name, *text.preamble]))
    stated_dates = DateOptions(options.date_order, options.date_format, options.tz, is_utc)
    clocks = None if columns.clock is None else text.column(columns.clock)
    cells = [cell.strip() for cell in text.column(columns.date)]
    found = date_text.parse(cells, text.lines, stated_dates, column=name or "date", clocks=clocks)
    notices = [f"dates are in the column {name!r}"] if columns.date else []
    notices += [f"dates: {found.form}"] if found.form.startswith(("day first", "month first")) else []
    notices += [found.notice] if found.notice else []
    return replace(table, labels=tuple(found.texts), are_dates=True, notices=(*table.notices, *notices))


def _sorted(table: ReturnTable, lines: Sequence[int]) -> ReturnTable:
    """Return a table with its rows in the order of their dates."""
    dates = table.labels or ()
    order = sorted(range(len(dates)), key=dates.__getitem__)
    for one, other in itertools.pairwise(order):
        if dates[one] == dates[other]:
            received = f"{dates[one]} on lines {lines[one]} and {lines[other]}"
            is_local = len(dates[one]) > len("2024-01-02") and not dates[one].endswith("Z")
            hint = "write times with an offset, or in UTC" if is_local else "keep one row for each date"
            raise refusal("date_order", f"dates must be unique; received {received}; hint: {hint}")
    series = {name: np.ascontiguousarray(values[order]) for name, values in table.series.items()}
    return replace(table, labels=tuple(dates[row] for row in order), series=series)


def _by_agent(table: ReturnTable, agents: Sequence[str], lines: Sequence[int]) -> ReturnTable:
    """Return a column per agent from a row per date and agent."""
    ((_, values),) = table.series.items()
    dates, rows = table.labels or (), {name: list[int]() for name in agents}
    for row, name in enumerate(agents):
        rows[name].append(row)
    parts = {}
    for name, of_agent in rows.items():
        labels = tuple(dates[row] for row in of_agent)
        part = ReturnTable(labels, True, {name: values[of_agent]})
        parts[name] = _sorted(part, [lines[row] for row in of_agent])
    axis = sorted({*dates})
    for name, part in parts.items():
        known = part.labels or ()
        if not name:
            raise refusal(
                "argument_invalid", f"line {lines[rows[name][0]]} must name its agent; received an empty cell"
            )
        if len(known) < len(axis):
            missing = next(date for date in axis if date not in {*known})
            received = f"{len(known)} of {len(axis)} dates of {name!r}, without {missing}"
            hint = "hint: keep the dates that all agents have, or score them apart"
            raise refusal("shape_mismatch", f"all agents must have the same dates; received {received}; {hint}")
    series = {name: part.series[name] for name, part in parts.items()}
    signed, unsigned = (tuple(series) if names else () for names in (table.signed, table.unsigned))
    notices = (*table.notices, f"a row per date and agent is read as agents: {', '.join(series)}")
    return ReturnTable(tuple(axis), True, series, signed, unsigned, notices)
