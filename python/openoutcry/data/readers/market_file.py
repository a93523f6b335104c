"""Read a market file of any known form into columns by bar and symbol."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from openoutcry.data.readers import (
    adjusted_closes,
    bar_dates,
    clock_columns,
    coin_forms,
    column_roles,
    column_words,
    contract_rolls,
    date_text,
    feature_fields,
    file_zone,
    json_forms,
    market_checks,
    market_numbers,
    named_forms,
    number_text,
    period_text,
    symbol_checks,
    symbol_fields,
    symbol_texts,
    table_edges,
    text_table,
    two_headers,
    unread_columns,
    volume_lots,
)  # fmt: skip
from openoutcry.data.readers.column_roles import Roles
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.date_text import DateOptions
from openoutcry.data.readers.distinct import Distinct
from openoutcry.data.readers.duplicate_rows import Rows
from openoutcry.data.readers.file_content import file_bytes, frame_table, text_of
from openoutcry.data.readers.headerless import LEAN, names_of
from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions, Table
from openoutcry.data.readers.price_adjustment import ADJUSTMENTS
from openoutcry.data.readers.questions import Question, asked, unstated
from openoutcry.data.readers.text_table import TextTable
from openoutcry.data.readers.volume_lots import Lots
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.counted_nouns import counted

_MOST_CELLS = 1 << 28
_FIELDS = ("close", "open", "high", "low", "volume", "dividend", "split", "delisting_return", "adj_close")


def read(path: Path, options: ReadOptions, stem: str = "") -> MarketColumns:
    """Return the columns of a market file, and what the file does not say.

    Raises:
        OpenOutcryError: the first invalid value, or the questions of a file that cannot be read without an answer.
    """
    content, stem = file_bytes(path), stem or path.name.partition(".")[0]
    table = frame_table(content, path)
    if table is not None:
        return _Reader(table, options, stem).columns()
    text, encoding = text_of(content, path.name)
    found = read_text(text, options, stem)
    found.described.insert(0, ("encoding", encoding))
    return found


def read_table(table: TextTable, options: ReadOptions, stem: str = "") -> MarketColumns:
    """Return the columns of a table that was read already; see `read`."""
    return _Reader(table, options, stem).columns()


def read_text(text: str, options: ReadOptions, stem: str = "") -> MarketColumns:
    """Return the columns of a market text; see `read`."""
    table = json_forms.table_of(text)
    if table is None:
        table = text_table.take_header(text_table.parse(text))
    return _Reader(table, options, stem).columns()


def _check_size(n_bars: int, n_symbols: int, n_columns: int) -> None:
    if n_bars * n_symbols * n_columns > _MOST_CELLS:
        message = f"at most {_MOST_CELLS} cells are required; received {n_bars} bars x {counted(n_symbols, 'symbol')}"
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
        if options.duplicates not in (None, "last"):
            message = f"`duplicates` must be `last` or left out; received {options.duplicates!r}"
            raise refusal("argument_invalid", message)
        self._options, self._stem = adjusted_closes.applied(named_forms.applied(options, table), table), stem
        table, notices = table_edges.trimmed(table)
        self.found = MarketColumns([], [], {}, adjusted=table.adjusted, notices=notices)
        self._fields: dict[str, dict[str, int]] = {}
        self._marks: dict[tuple[tuple[str, int], ...], str] = {}
        self._source = table

    def columns(self) -> MarketColumns:
        """Return the columns of the market, or what must be stated to read them."""
        questions = self.found.questions
        if self._options.form is not None:
            self.found.described.append(("form", self._options.form))
        with asked(questions):
            self._table = self._named(self._source)
        self.found.notices[:0] = self._source.notes
        if not self._table.names:
            self._ask_the_rest({"date": 0})
            return self.found
        self._table, self._features = feature_fields.taken(self._table, self._options.features, self._options.decimal)
        self.found.missing = self._features.missing
        self.found.described += [(f"column {name!r}", "feature") for name in self._features.rows]
        roles = self._roles()
        dates = Distinct([], np.empty(0, np.uint32))
        if roles.question is not None:
            questions.append(roles.question)
        else:
            with asked(questions):
                dates = self._dates(roles)
        if questions:
            self._ask_the_rest(roles.places, is_wide=bool(self._fields or roles.is_wide))
            return self.found
        unread_columns.check(self._table, roles.ignored, roles.places.get("symbol"), self._options.adjusted)
        with asked(questions):
            wide = bool(self._fields or roles.is_wide)
            cells = self._side_by_side(dates, roles) if wide else self._stacked(dates, roles)
            market_checks.finish(self.found, cells, self._options, self._table.names)
            self._check_symbol()
        return self.found

    def _ask_the_rest(self, places: Mapping[str, int], *, is_wide: bool = False) -> None:
        """Collect what else the table does not say, although it cannot be read yet."""
        questions = self.found.questions
        if not is_wide and "symbol" not in places:
            with asked(questions):
                self._symbol()
        used = {role: place for role, place in places.items() if role in _FIELDS}
        # A refusal without a question can follow from the one that is asked.
        with suppress(OpenOutcryError), asked(questions):
            if "close" not in places:
                self._dates(Roles(dict(places)))
        with suppress(OpenOutcryError), asked(questions):
            market_numbers.decimal_mark(self._table, used, self._options.decimal)

    def _named(self, table: TextTable) -> TextTable:
        """Return the table with names, and note the columns that name their symbol."""
        stated = self._options.columns
        is_list = stated is not None and not isinstance(stated, Mapping)
        if not table.names:
            self._table = table
            listed = list(stated) if is_list and stated is not None else None
            names, layout = names_of(table, listed, self._is_date, named_forms.fitting(table))
            self.found.described.append(("header", f"none, {layout}"))
            if layout == LEAN:
                with asked(self.found.questions):
                    self._check_lean_scale(table)
            return table.named(names)
        if is_list:
            message = f"`columns` must be a mapping of roles to names if the file has a header; received {stated!r}"
            raise refusal("argument_invalid", f'{message}; hint: columns={{"close": NAME}}, `--column close=NAME`')
        double = two_headers.fields_of(table)
        if double is not None:
            below, self._fields, notices = double
            self.found.notices += notices
            return below
        # Stated columns win over names that state their symbol.
        names = [name.strip() for name in table.names]
        is_stated = isinstance(stated, Mapping) and not stated.keys() <= {"date"}
        self._fields = {} if is_stated else symbol_fields.by_symbol(names)
        return table

    def _is_date(self, text: str) -> bool:
        stated = self._options.date_format
        return looks_like_date(text) if stated is None else date_text.is_of_format(text, stated)

    def _check_lean_scale(self, table: TextTable) -> None:
        """Refuse prices of Lean without their scale, which only equities have."""
        if self._options.price_scale is None:
            first = table.delimiter.join(table.rows[0])
            required, keyword = "`price_scale` is required for whole prices of Lean", "price_scale=0.0001 for equities"
            raise unstated(
                Question("argument_invalid", required, repr(first), keyword, "--price-scale 0.0001"),
            )
        self.found.adjusted = "none"

    def _roles(self) -> Roles:
        table, stated = self._table, self._options.columns
        first = [table.first(place).strip() for place in range(len(table.names))]
        date_like = [self._is_date(text) or self._are_years(place) for place, text in enumerate(first)]
        clock_like = [clock_columns.is_clock_column(table, place) for place in range(len(table.names))]
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
        codes = {
            place: kind
            for place in range(len(table.names))
            if (kind := symbol_texts.are_codes(table, place)) is not None
        }
        roles = column_roles.roles_of(table.names, mapping, date_like, clock_like, codes, self._has_number)
        symbol_texts.take_repeated(roles, table)
        symbol_texts.take_key(roles, table)
        if "symbol" not in mapping:
            coin_forms.leave_out_currency(roles, table)
        if roles.is_wide and "close" not in mapping:
            roles.question = symbol_fields.question_of(list(roles.closes))
        return roles

    def _are_years(self, place: int) -> bool:
        name, is_stated = self._table.names[place], self._options.date_format is not None
        can_be_years = column_roles.can_be_years(name) and not is_stated
        return can_be_years and period_text.are_years(self._table.distinct(place).values)

    def _dates(self, roles: Roles) -> Distinct:
        """Return the dates of the rows."""
        table, place = self._table, roles.places["date"]
        name = table.names[place] if table.names else ""
        zone = file_zone.of(self._source.zones, self._options.tz)
        options = DateOptions(
            order=self._options.date_order,
            date_format=self._options.date_format,
            zone=zone.name,
            is_utc=zone.name is None and file_zone.states_utc(" ".join([name, *table.preamble])),
        )
        found, dates = bar_dates.of_rows(table, roles.places, options)
        taken_for, notice = zone.taken_for(found.texts[0])
        self.found.notices += [text for text in (found.notice, notice) if text]
        self.found.described.append((f"column {name!r}", f"date: {found.form}"))
        self.found.described += [("zone", taken_for)] if taken_for else []
        return dates

    def _stacked(self, dates: Distinct, roles: Roles) -> dict[str, Table]:
        """Return the tables of a file with a row per bar and symbol."""
        table = self._table
        if "symbol" in roles.places:
            names = symbol_texts.symbols_of(table, roles.places["symbol"])
            self.found.described.append((f"column {table.names[roles.places['symbol']]!r}", "symbol"))
            if self._options.symbol is not None and list(names.values) != [self._options.symbol]:
                message = f"`symbol` must be left out if the file names its symbols; received {self._options.symbol!r}"
                raise refusal("argument_invalid", message)
        else:
            with asked(self.found.questions):
                names = Distinct([""], np.zeros(len(table.rows), np.uint32))
                names = names.renamed([self._symbol()])
        dates, names = dates.sorted(), names.sorted()
        bars, places = dates.places, names.places
        _check_size(len(dates.values), len(names.values), len(roles.places))
        kept = Rows(table, dates, names, roles.ignored).kept(self._options.duplicates, self.found.notices)
        axis, symbols = list(dates.values), list(names.values)
        self.found.dates, self.found.symbols = axis, symbols
        used = {role: place for role, place in roles.places.items() if role in _FIELDS}
        columns = self._numbers(used)
        lots = self._lots(columns, used)
        if "volume" in columns and not lots.unit:
            name = table.names[used["volume"]]
            columns["volume"], unit, notice = coin_forms.in_units(table.names, columns, name)
            lots = Lots(1.0, unit, notice)
        self.found.notices += [lots.notice] if lots.notice else []
        cells = {}
        for role, values in columns.items():
            cells[role] = np.full((len(axis), len(symbols)), np.nan)
            cells[role][bars[kept], places[kept]] = values[kept] * (lots.factor if role == "volume" else 1.0)
            unit = f", {lots.unit}" if role == "volume" and lots.unit else ""
            self.found.described.append((f"column {table.names[used[role]]!r}", role.replace("_", " ") + unit))
        if roles.ignored:
            self.found.notices.append(f"columns not read: {', '.join(map(repr, roles.ignored))}")
        shape = (len(axis), len(symbols))
        self.found.features = self._features.placed(bars[kept], kept, shape, places[kept])
        rows = np.arange(len(table.rows))[kept]
        read = contract_rolls.Cells(rows, bars[kept].astype(np.intp), places[kept].astype(np.intp), cells["close"])
        self.found.notices += contract_rolls.notices(table, roles.ignored, read, axis, symbols)
        return cells

    def _check_symbol(self) -> None:
        """Refuse a stated symbol if the columns name several."""
        symbol, symbols = self._options.symbol, self.found.symbols
        if symbol is not None and len(symbols) > 1:
            shown = column_roles.listed(symbols)
            message = f"`symbol` must be left out if columns name several symbols; received {symbol!r} with {shown}"
            raise refusal("argument_invalid", message)

    def _with_stated_symbol(self, fields: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        """Return the columns by symbol; a stated symbol is the name of the only one."""
        symbol = self._options.symbol
        return fields if symbol is None or len(fields) > 1 else {symbol: next(iter(fields.values()))}

    def _side_by_side(self, dates: Distinct, roles: Roles) -> dict[str, Table]:
        """Return the tables of a file with columns for each symbol."""
        fields = self._fields or {symbol: {"close": place} for symbol, place in roles.closes.items()}
        texts = {symbol: place for symbol, place in roles.closes.items() if not self._has_number(place)}
        for symbol in texts:
            if not all(map(number_text.is_missing, self._table.column(texts[symbol]))):
                self.found.notices.append(f"column {symbol!r} is text and is not read")
                del fields[symbol]
        if not fields:
            received = ", ".join(map(repr, self._table.names))
            raise refusal("missing_column", f"a column of prices is required; received {received}")
        fields = self._with_stated_symbol(fields)
        dates = dates.sorted()
        bars = dates.places
        kept = Rows(self._table, dates, None, roles.ignored).kept(self._options.duplicates, self.found.notices)
        axis = self.found.dates = list(dates.values)
        self.found.symbols = list(fields)
        self.found.features = self._features.placed(bars[kept], kept, (len(axis),))
        places = {f"{symbol}\0{role}": place for symbol, of in fields.items() for role, place in of.items()}
        columns = self._numbers(places)
        wanted = dict.fromkeys(role for of in fields.values() for role in of)
        cells = {role: np.full((len(axis), len(fields)), np.nan) for role in wanted}
        for column, (symbol, of) in enumerate(fields.items()):
            for role in of:
                cells[role][bars[kept], column] = columns[f"{symbol}\0{role}"][kept]
            if not self._fields and column_words.is_indicator(symbol):
                self.found.notices.append(
                    f"{symbol!r} is read as a symbol: its name is that of an indicator or a series"
                )
        self.found.described.append(("symbols", f"{len(fields)}, {', '.join(cells)} of each"))
        if not self._fields and self._options.columns is None:
            symbol_checks.check_symbols(cells["close"], self.found.symbols)
        if roles.ignored:
            self.found.notices.append(f"columns not read: {', '.join(map(repr, roles.ignored))}")
        return cells

    def _has_number(self, place: int) -> bool:
        if self._table.numbers(place) is not None:
            return True
        # The first text decides for nearly all columns; a symbol can be listed after many rows.
        if number_text.is_numeric([self._table.first(place)]):
            return True
        return any(number_text.is_numeric([text]) for text in self._table.distinct(place).values)

    def _symbol(self) -> str:
        if self._options.symbol is not None:
            return self._options.symbol
        if self._source.symbol:
            self.found.described.append(("symbol", f"{self._source.symbol!r}, from the file"))
            return self._source.symbol
        if not self._stem:
            required, received = "a `symbol` is required", "prices of one symbol without a name"
            raise unstated(Question("missing_column", required, received, 'symbol="NAME"', "--symbol NAME"))
        self.found.described.append(("symbol", f"{self._stem!r}, from the file name"))
        return self._stem

    def _lots(self, columns: Mapping[str, Table], places: Mapping[str, int]) -> Lots:
        """Return the unit of the volume of a file with a row per bar and symbol."""
        if "volume" not in columns:
            return Lots()
        mark = self._decimal_mark(places)
        return volume_lots.of(self._table, columns, self._table.names[places["volume"]], self.found.symbols, mark)

    def _numbers(self, places: Mapping[str, int]) -> dict[str, Table]:
        scale = 1.0 if self._options.price_scale is None else self._options.price_scale
        return market_numbers.numbers_of(self.found, self._table, places, self._decimal_mark(places), scale)

    def _decimal_mark(self, places: Mapping[str, int]) -> str:
        key = tuple(places.items())
        if key not in self._marks:
            self._marks[key] = market_numbers.decimal_mark(self._table, places, self._options.decimal)
        return self._marks[key]
