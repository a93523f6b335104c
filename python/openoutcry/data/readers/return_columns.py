"""Columns of a table of returns: dates, times, agents and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.data.readers import column_roles, period_text
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.data.readers.return_numbers import is_number
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_CLOCK = re.compile(r"\d\d?:\d\d(:\d\d(\.0+)?)?", re.ASCII)
# Dates with a year of two digits, such as 1/31/24, 31-Jan-24 and Jan-24.
_SHORT_DATE = re.compile(r"\d\d?([-./ ])(\d\d?|[A-Za-z]{3})\1\d\d|[A-Za-z]{3}[-/' ]\d\d", re.ASCII)
_PARTS, _YEARS = ("month", "quarter", "week", "day", "mon", "qtr"), ("year", "yr", "years", "jahr")
_DATES = ("date", "datetime", "timestamp", "datum")
_VALUES = ("ret", "equity", "nav", "value", "perf")
# Numbers such as 202001 below these names are dates.
_DATE_WORDS = ("date", "month", "period", "quarter", "yyyymm", "year", "time")
_AGENT_WORDS = "agent strategy model fund portfolio account manager trader bot player algo id name agentid strategyid"
# Agents with the names of months at most.
_MOST_MONTHS = 5
_AGENTS = frozenset(_AGENT_WORDS.split())


@dataclass
class ReturnColumns:
    """Positions of the columns of a table of returns.

    Attributes:
        date: Column of dates, or None.
        clock: Column of times of day, or None.
        label: Column of texts that are no dates, such as `w1`, or None.
        agent: Column of the names of agents of a table with a row per date and agent, or None.
        values: Columns of numbers by name.
        unread: Names of the columns that are not read.
    """

    date: int | None = None
    clock: int | None = None
    label: int | None = None
    agent: int | None = None
    values: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def columns_of(table: TextTable, stated: Mapping[str, str], is_date: Callable[[str], bool]) -> ReturnColumns:
    """Return the columns of a table with names.

    Args:
        table: The table.
        stated: Name of the column of dates under `date`, if it is stated.
        is_date: Whether a text has the form of a date.

    Raises:
        OpenOutcryError: `argument_invalid`: the columns have no unique names. `missing_column`: several columns can be
            the dates, or the values of a table with a row per date and agent.
    """
    fitting = [place for place in range(len(table.names)) if _holds_dates(table, place, is_date)]
    found = ReturnColumns(date=_date(table, stated, fitting))
    # Of several dates of a row, one is that of its return.
    others = [] if found.date is None else [place for place in fitting if not is_number(table.first(place))]
    found.unread = [table.names[place] for place in others if place != found.date]
    rest = [place for place in range(len(table.names)) if place not in (found.date, *others)]
    if found.date is not None:
        found.clock = _clock(table, rest, found.date)
        rest = [place for place in rest if place != found.clock]
    elif rest and not any(map(is_number, table.distinct(0).values)):
        found.label = _label(table)
        rest = rest[1:]
    rest = [place for place in rest if table.names[place] or table.first(place)]
    for place in [place for place in rest if _are_row_numbers(table, place)] if len(rest) > 1 else []:
        rest.remove(place)
        found.unread.append(table.names[place])
    found.agent = _agent(table, rest, found.date)
    rest = [place for place in rest if place != found.agent]
    names = [table.names[place] for place in rest]
    if not names:
        received = column_roles.listed(table.names)
        hint = "hint: cells are separated by commas, semicolons, tabs or bars"
        raise refusal("argument_invalid", f"a column of numbers is required; received {received}; {hint}")
    if len(set(names)) < len(names) or not all(names):
        raise refusal("argument_invalid", f"columns must have unique names; received {names}")
    _check_months(names)
    if found.agent is not None and len(names) > 1:
        wanted = f"a table with a row per date and {table.names[found.agent]} must have one column of values"
        hint = f"hint: keep {table.names[found.date or 0]}, {table.names[found.agent]} and {_most_likely(names)}"
        raise refusal("argument_invalid", f"{wanted}; received {column_roles.listed(names)}; {hint}")
    found.values = dict(zip(names, rest, strict=True))
    return found


def numbers_in(table: TextTable) -> dict[str, int]:
    """Return the columns that begin with a number, by name."""
    return {name: place for place, name in enumerate(table.names) if is_number(table.first(place))}


def _most_likely(names: Sequence[str]) -> str:
    """Return the name that is most likely that of returns or equity."""
    return next((name for name in names if any(word in simple(name) for word in _VALUES)), names[-1])


def _label(table: TextTable) -> int:
    """Return the column of texts in the first place; refuse a text twice."""
    texts = [text.strip() for text in table.column(0)]
    if len(set(texts)) < len(texts):
        twice = next(text for place, text in enumerate(texts) if text in texts[:place])
        wanted = f"a row per agent must have a column of dates, or the texts of {table.names[0]!r} must be unique"
        raise refusal("missing_column", f"{wanted}; received {twice!r} twice; hint: begin the rows with dates")
    return 0


def _date(table: TextTable, stated: Mapping[str, str], fitting: Sequence[int]) -> int | None:
    if "date" in stated:
        name = stated["date"]
        if name not in table.names:
            listed = column_roles.listed(table.names)
            raise refusal(
                "missing_column", f"`--column` must name a column of the file; received {name!r}, not {listed}"
            )
        return table.names.index(name)
    _check_parts([table.names[place] for place in fitting], table.names)
    named = [place for place in fitting if column_roles.is_date_name(table.names[place])]
    # Dates and an index without a name, or an epoch next to a readable date.
    own = [place for place in named if simple(table.names[place]) in ("date", "datetime", "timestamp")]
    for chosen in (own, named, fitting):
        if len(chosen) == 1:
            return chosen[0]
    if not fitting:
        return None
    names = [table.names[place] for place in fitting]
    required, received = "it must be clear which column holds the dates", column_roles.listed(names)
    keyword, option = f'columns={{"date": "{names[0]}"}}', f"--column date={names[0]}"
    raise unstated(Question("missing_column", required, received, keyword, option))


def _check_parts(dates: Sequence[str], names: Sequence[str]) -> None:
    """Refuse years next to a column of another part of a date."""
    parts = [name for name in names if simple(name) in _PARTS and name not in dates]
    years = [name for name in dates if simple(name) in _YEARS]
    if parts and years and len(dates) == 1:
        received, hint = f"{years[0]} and {parts[0]}", "hint: join them to one column of texts such as 2020-01"
        raise refusal("argument_invalid", f"one column of dates is required; received {received}; {hint}")


def _check_months(names: Sequence[str]) -> None:
    """Refuse a row per year with a column per month, which would be read as agents."""
    months = {period_text.month_of(name.strip()) for name in names} - {0}
    if len(months) > _MOST_MONTHS:
        received = f"a column per month, {column_roles.listed(names)}"
        hint = "hint: write a row per month, with dates such as 2020-01"
        raise refusal("argument_invalid", f"a column per agent is required; received {received}; {hint}")


def _holds_dates(table: TextTable, place: int, is_date: Callable[[str], bool]) -> bool:
    name, first = table.names[place], table.first(place).strip()
    if column_roles.can_be_years(name) and period_text.are_years(table.distinct(place).values):
        return True
    key = simple(name)
    if not is_date(first):
        # The reader of dates says how to state these, and what a number is instead.
        is_number_of = key in _DATES and is_number(first) and not _are_row_numbers(table, place)
        return _SHORT_DATE.fullmatch(first) is not None or is_number_of
    is_named = column_roles.is_date_name(name) or any(word in key for word in _DATE_WORDS)
    return is_named or not is_number(first)


def _clock(table: TextTable, rest: Sequence[int], date: int) -> int | None:
    """Return the column of times of day next to a column of days."""
    if ":" in table.first(date):
        return None
    found = [place for place in rest if all(_CLOCK.fullmatch(text.strip()) for text in table.distinct(place).values)]
    return found[0] if len(found) == 1 else None


def _are_row_numbers(table: TextTable, place: int) -> bool:
    """Return whether a column without a name counts the rows."""
    if not column_roles.is_date_name(table.names[place]) or simple(table.names[place]) == "date":
        return False
    texts = [text.strip() for text in table.column(place)]
    return any(texts == [str(row + start) for row in range(len(texts))] for start in (0, 1))


def _agent(table: TextTable, rest: Sequence[int], date: int | None) -> int | None:
    """Return the column of names of a table with a row per date and agent."""
    if date is None:
        return None
    repeats = len(table.distinct(date).used().values) < len(table.rows)
    named = [place for place in rest if _names_agents(table.names[place])]
    texts = [place for place in rest if not is_number(table.first(place))]
    if len(texts) == 1 and len(rest) > 1 and (repeats or texts == named):
        return texts[0]
    # Agents can have numbers as names.
    return named[0] if repeats and len(named) == 1 and not texts and len(rest) > 1 else None


def _names_agents(name: str) -> bool:
    return simple(name) in _AGENTS or column_roles.names_symbols(name)
