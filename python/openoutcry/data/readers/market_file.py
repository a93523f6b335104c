"""Read a market file of any known form into columns by bar and symbol."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import column_roles, date_text, market_checks, number_text, text_table
from openoutcry.data.readers.column_roles import Roles
from openoutcry.data.readers.file_content import file_bytes, frame_rows, json_rows, text_of
from openoutcry.data.readers.headerless import LEAN, names_of
from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions, Table
from openoutcry.data.readers.price_adjustment import ADJUSTMENTS
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_MOST_CELLS = 1 << 28
_FIELDS = ("close", "open", "high", "low", "volume", "dividend", "split", "delisting_return", "adj_close")


def read(path: Path, options: ReadOptions) -> MarketColumns:
    """Return the columns of a market file.

    Raises:
        OpenOutcryError: the first thing that the file and the options do not say, or the first invalid value.
    """
    content, stem = file_bytes(path), path.name.partition(".")[0]
    rows = frame_rows(content, path)
    if rows is not None:
        return _Reader(text_table.of_rows(*rows), options, stem).columns()
    text, encoding = text_of(content, path.name)
    found = read_text(text, options, stem)
    found.described.insert(0, ("encoding", encoding))
    return found


def read_table(table: TextTable, options: ReadOptions, stem: str = "") -> MarketColumns:
    """Return the columns of a table that was read already; see `read`."""
    return _Reader(table, options, stem).columns()


def read_text(text: str, options: ReadOptions, stem: str = "") -> MarketColumns:
    """Return the columns of a market text; see `read`."""
    rows = json_rows(text)
    table = text_table.take_header(text_table.parse(text)) if rows is None else text_table.of_rows(*rows)
    return _Reader(table, options, stem).columns()


def _states_utc(text: str) -> bool:
    """Return whether a text states that times are UTC; refuse an offset.

    Raises:
        OpenOutcryError: `date_invalid`: the times have an offset such as GMT-5.
    """
    match = re.search(r"\b(?:utc|gmt)\b\s*([+-]\s*\d+)?", text, re.IGNORECASE)
    if match is not None and match[1]:
        message = f"times in UTC, or a stated zone, are required; received {match[0]!r} in the header"
        raise refusal("date_invalid", f'{message}; hint: tz="Etc/GMT+5" for GMT-5, `--tz Etc/GMT+5`')
    return match is not None


def _check_size(n_bars: int, n_symbols: int, n_columns: int) -> None:
    if n_bars * n_symbols * n_columns > _MOST_CELLS:
        message = f"at most {_MOST_CELLS} cells are required; received {n_bars} bars x {n_symbols} symbols"
        raise refusal("dataset_too_large", message)


class _Reader:
    """Reader of one table."""

    def __init__(self, table: TextTable, options: ReadOptions, stem: str) -> None:
        if not table.rows:
            raise refusal("dataset_too_small", "at least 2 bars are required; received no row")
        scale = options.price_scale
        if scale is not None and not (isinstance(scale, (int, float)) and 0.0 < scale < np.inf):
            raise refusal("argument_invalid", f"`price_scale` must be a number above 0; received {scale!r}")
        if options.adjusted not in (None, *ADJUSTMENTS):
            message = f"`adjusted` must be one of {', '.join(ADJUSTMENTS)}; received {options.adjusted!r}"
            raise refusal("argument_invalid", message)
        self._options, self._stem = options, stem
        self.found = MarketColumns([], [], {}, notices=list(table.notes))
        self._fields: dict[str, dict[str, int]] = {}
        self._table = self._named(table)

    def columns(self) -> MarketColumns:
        """Return the columns of the market."""
        roles = self._roles()
        dates = self._dates(roles)
        cells = self._side_by_side(dates, roles) if self._fields or roles.is_wide else self._stacked(dates, roles)
        market_checks.finish(self.found, cells, self._options, self._table.names)
        return self.found

    def _named(self, table: TextTable) -> TextTable:
        """Return the table with names, and note the columns that name their symbol."""
        stated = self._options.columns
        is_list = stated is not None and not isinstance(stated, Mapping)
        if not table.names:
            names, layout = names_of(table, list(stated) if is_list and stated is not None else None)
            self.found.described.append(("header", f"none, {layout}"))
            if layout == LEAN:
                self._check_lean_scale(table)
            return TextTable(names, table.rows, table.lines, table.preamble, table.delimiter, table.notes)
        if is_list:
            message = f"`columns` must be a mapping of roles to names if the file has a header; received {stated!r}"
            raise refusal("argument_invalid", f'{message}; hint: columns={{"close": NAME}}')
        return self._with_two_headers(table)

    def _check_lean_scale(self, table: TextTable) -> None:
        """Refuse prices of Lean without their scale, which only equities have."""
        if self._options.price_scale is None:
            first = table.delimiter.join(table.rows[0])
            message = f"`price_scale` is required for whole prices of Lean; received {first!r}"
            raise refusal(
                "argument_invalid", f"{message}; hint: price_scale=0.0001 for equities, `--price-scale 0.0001`"
            )
        self.found.adjusted = "none"

    def _with_two_headers(self, table: TextTable) -> TextTable:
        """Return a table with a header of fields and one of tickers, as of yfinance."""
        rows, names = table.rows, [name.strip() for name in table.names]
        is_double = (
            len(rows) > 1 and rows[0][0].strip().lower() in ("ticker", "tickers", "price", "") and len(names) > 1
        )
        if not is_double or any(number_text.is_numeric([cell]) for cell in rows[0]):
            # Stated columns win over names that state their symbol.
            self._fields = {} if self._options.columns else column_roles.prefixed_fields(names)
            return table
        second = [cell.strip() for cell in rows[0]]
        has_axis_row = rows[1][0].strip().lower() in ("date", "datetime") and not any(map(str.strip, rows[1][1:]))
        known = "close" in {column_roles.simple(name) for name in names[1:]}
        fields, tickers = (names, second) if known else (second, names)
        for place in range(1, len(names)):
            role = column_roles.role_of(fields[place])
            if role is None:
                self.found.notices.append(f"columns not read: {fields[place]!r} of {tickers[place]}")
            else:
                self._fields.setdefault(tickers[place], {})[role] = place
        if not all("close" in of for of in self._fields.values()) or not self._fields:
            raise refusal(
                "missing_column", f"a `Close` of every ticker is required; received {column_roles.listed(names)}"
            )
        skipped = 2 if has_axis_row else 1
        header = ["Date", *(f"{tickers[place]}.{fields[place]}" for place in range(1, len(names)))]
        return TextTable(header, rows[skipped:], table.lines[skipped:], table.preamble, table.delimiter, table.notes)

    def _roles(self) -> Roles:
        table, stated = self._table, self._options.columns
        first = [
            next((row[place] for row in table.rows if row[place].strip()), "") for place in range(len(table.names))
        ]
        date_like = [date_text.looks_like_date(text) for text in first]
        mapping = dict(stated) if isinstance(stated, Mapping) else {}
        unknown = [role for role in mapping if role not in ("date", "symbol", *_FIELDS)]
        if unknown:
            wanted = ", ".join(("date", "symbol", *_FIELDS))
            raise refusal("argument_invalid", f"`columns` must have keys among {wanted}; received {unknown[0]!r}")
        if self._fields:
            kept = [name if place == 0 or date_like[place] else "" for place, name in enumerate(table.names)]
            roles = column_roles.roles_of([*kept, "close"], mapping, [*date_like, False])
            used = {place for fields in self._fields.values() for place in fields.values()}
            rest = [name for place, name in enumerate(table.names) if place not in {*used, roles.places["date"]}]
            return Roles({"date": roles.places["date"]}, ignored=rest)
        return column_roles.roles_of(table.names, mapping, date_like)

    def _dates(self, roles: Roles) -> list[str]:
        table, place = self._table, roles.places["date"]
        values = table.column(place)
        clocks = table.column(roles.places["clock"]) if "clock" in roles.places else None
        # A column of dates with times needs no other column of times.
        if clocks is not None and any(":" in text for text in values[:1]):
            clocks = None
        name = table.names[place]
        is_utc = _states_utc(" ".join([name, *table.preamble]))
        found = date_text.parse(
            values,
            table.lines,
            column=name or "date",
            clocks=clocks,
            order=self._options.date_order,
            zone=self._options.tz,
            is_utc=is_utc,
        )
        self.found.described.append((f"column {name!r}", f"date: {found.form}"))
        return found.texts

    def _stacked(self, dates: list[str], roles: Roles) -> dict[str, Table]:
        """Return the tables of a file with a row per bar and symbol."""
        table = self._table
        if "symbol" in roles.places:
            names = [text.strip() for text in table.column(roles.places["symbol"])]
            self.found.described.append((f"column {table.names[roles.places['symbol']]!r}", "symbol"))
            if self._options.symbol is not None and set(names) != {self._options.symbol}:
                message = f"`symbol` must be left out if the file names its symbols; received {self._options.symbol!r}"
                raise refusal("argument_invalid", message)
        else:
            names = [self._symbol()] * len(dates)
        axis, bars = np.unique(dates, return_inverse=True)
        symbols, places = np.unique(names, return_inverse=True)
        _check_size(len(axis), len(symbols), len(roles.places))
        self._check_duplicates(bars * len(symbols) + places, dates, names)
        self.found.dates, self.found.symbols = axis.tolist(), symbols.tolist()
        used = {role: place for role, place in roles.places.items() if role in _FIELDS}
        columns = self._numbers(used)
        cells = {}
        for role, values in columns.items():
            cells[role] = np.full((len(axis), len(symbols)), np.nan)
            cells[role][bars, places] = values
            self.found.described.append((f"column {table.names[used[role]]!r}", role.replace("_", " ")))
        if roles.ignored:
            self.found.notices.append(f"columns not read: {', '.join(map(repr, roles.ignored))}")
        return cells

    def _side_by_side(self, dates: list[str], roles: Roles) -> dict[str, Table]:
        """Return the tables of a file with columns for each symbol."""
        fields = self._fields or {symbol: {"close": place} for symbol, place in roles.closes.items()}
        texts = {symbol: place for symbol, place in roles.closes.items() if not self._has_number(place)}
        for symbol in texts:
            if not all(number_text.is_missing(text) for text in self._table.column(texts[symbol])):
                self.found.notices.append(f"column {symbol!r} is text and is not read")
                del fields[symbol]
        if not fields:
            received = ", ".join(map(repr, self._table.names))
            raise refusal("missing_column", f"a column of prices is required; received {received}")
        axis, bars = np.unique(dates, return_inverse=True)
        self._check_duplicates(bars, dates, [""] * len(dates))
        self.found.dates, self.found.symbols = axis.tolist(), list(fields)
        places = {f"{symbol}\0{role}": place for symbol, of in fields.items() for role, place in of.items()}
        columns = self._numbers(places)
        cells = {role: np.full((len(axis), len(fields)), np.nan) for of in fields.values() for role in of}
        for column, (symbol, of) in enumerate(fields.items()):
            for role in of:
                cells[role][bars, column] = columns[f"{symbol}\0{role}"]
            if not self._fields and column_roles.looks_like_indicator(symbol):
                self.found.notices.append(
                    f"{symbol!r} is read as a symbol: its name is that of an indicator or a series"
                )
        self.found.described.append(("symbols", f"{len(fields)}, {', '.join(cells)} of each"))
        if not self._fields and self._options.columns is None:
            market_checks.check_symbols(cells["close"], self.found.symbols)
        if roles.ignored:
            self.found.notices.append(f"columns not read: {', '.join(map(repr, roles.ignored))}")
        return cells

    def _has_number(self, place: int) -> bool:
        return any(number_text.is_numeric([text]) for text in self._table.column(place)[:1000])

    def _symbol(self) -> str:
        if self._options.symbol is not None:
            return self._options.symbol
        if not self._stem:
            message = "a `symbol` is required; received prices of one symbol without a name"
            message += '; hint: symbol="NAME", `--symbol NAME`'
            raise refusal("missing_column", message)
        self.found.described.append(("symbol", f"{self._stem!r}, from the file name"))
        return self._stem

    def _check_duplicates(self, cells: npt.NDArray[Any], dates: Sequence[str], names: Sequence[str]) -> None:
        order = np.argsort(cells, kind="stable")
        twice = np.flatnonzero(np.diff(cells[order]) == 0)
        if len(twice):
            first, second = sorted((int(order[twice[0]]), int(order[twice[0] + 1])))
            lines = f"lines {self._table.lines[first]} and {self._table.lines[second]}"
            of = f" of {names[first]}" if names[first] else ""
            raise refusal("duplicate_row", f"a date must occur once; received {dates[first]}{of} twice, on {lines}")

    def _numbers(self, places: Mapping[str, int]) -> dict[str, Table]:
        """Return the numbers of columns by key; the last part of a key is the role."""
        table, scale = self._table, 1.0 if self._options.price_scale is None else self._options.price_scale
        columns = {key: table.column(place) for key, place in places.items()}
        mark = number_text.decimal_mark(columns.values(), self._options.decimal)
        if mark == ",":
            self.found.described.append(("decimal mark", "comma"))
        numbers = {}
        for key, values in columns.items():
            role, name = key.rpartition("\0")[2], table.names[places[key]]
            found = number_text.parse(values, table.lines, name, mark)
            if role in ("close", "open", "high", "low", "adj_close"):
                found = self._prices(found, name)
            numbers[key] = found * scale if role in ("close", "open", "high", "low", "adj_close", "dividend") else found
        return numbers

    def _prices(self, values: Table, name: str) -> Table:
        """Return prices; refuse one that is not above 0."""
        bad = np.flatnonzero(values <= 0.0)
        if not len(bad):
            return values
        if column_roles.simple(name) == "prc":
            notice = (
                f"{len(bad)} values of {name} are negative: CRSP writes the midpoint of bid and ask with a minus sign"
            )
            self.found.notices.append(notice)
            return np.where(values == 0.0, np.nan, np.abs(values))
        line, value = self._table.lines[int(bad[0])], values[int(bad[0])]
        message = f"`{name}` on line {line} must be a price above 0; received {value:g}"
        raise refusal(
            "price_invalid", f"{message}; hint: a macro series, rate or spread is not a price that can be bought"
        )
