"""Markets of files and frames, in the plain form or in that of a vendor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.data import (
    bar_axis,
    bar_labels,
    columns,
    dataframes,
    empty_cells,
    frame_forms,
    long_frames,
    long_parquet,
    market_cache,
    plain_form,
    suspicious_prices,
)
from openoutcry.data.feature_columns import Feature, native_features
from openoutcry.data.feature_foresight import foresight_notices
from openoutcry.data.market_cache import Imported
from openoutcry.data.readers import column_roles, column_words, feature_fields, frame_table, market_file, symbol_fields
from openoutcry.data.readers.dividend_checks import check_dividends
from openoutcry.data.readers.dividend_drops import check_drops
from openoutcry.data.readers.echoed_values import shortening
from openoutcry.data.readers.file_content import check_regular, file_bytes, parquet_parts, parquet_table_of, text_of
from openoutcry.data.readers.file_objects import FileSource, HeldFile, check_named, source_of
from openoutcry.data.readers.file_parts import market_name, symbols_of
from openoutcry.data.readers.joined_files import Part, joined
from openoutcry.data.readers.market_checks import without_silent_volume
from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions
from openoutcry.data.readers.parquet_size import checked_columns, parquet_table
from openoutcry.data.readers.questions import check, questions_of
from openoutcry.data.readers.range_checks import check_ranges
from openoutcry.data.readers.split_checks import check_splits
from openoutcry.data.readers.symbol_checks import check_symbols
from openoutcry.data.trading_days import trading_days
from openoutcry.errors import refusal

# Refusals of the strict reader that another form of the file can explain.
_OTHER_FORMS = frozenset(
    ("date_invalid", "field_unparsable", "missing_column", "unknown_column", "date_order", "duplicate_row")
)
# Bytes of a part of a text, which the threads of the reader share.
_PART = 1 << 21
_PARQUET = b"PAR1"
# Several files are parts of one market.
Source = FileSource | Sequence[FileSource]
_OPTIONS = frozenset(ReadOptions.__dataclass_fields__)


def options_of(keywords: Mapping[str, Any]) -> ReadOptions:
    """Return the options of keyword arguments.

    Raises:
        TypeError: a keyword is unknown.
    """
    unknown = [name for name in keywords if name not in _OPTIONS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; known: {', '.join(sorted(_OPTIONS))}")
    return ReadOptions(**keywords)


def import_cached(path: Path, periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of a file, from the cache of commands if it is there."""
    # The sessions of an exchange depend on the version of its calendar.
    if options.state_bars():
        return import_file(path, periods_per_year, options)
    stated = repr((periods_per_year, options))
    return market_cache.cached(path, stated, partial(import_file, path, periods_per_year, options))


def import_source(source: Source, periods_per_year: float | None, options: ReadOptions) -> tuple[Imported, str]:
    """Return the market of a path, several paths, or a text, and its name."""
    if isinstance(source, str) and not {"\n", "\r"}.isdisjoint(source):
        return import_text(source, periods_per_year, options), ""
    if isinstance(source, (list, tuple)) and source:
        paths = [source_of("source", each) for each in source]
        check_named(paths)
        return import_files(paths, periods_per_year, options), market_name(paths)
    path = source_of("source", source)
    return import_file(path, periods_per_year, options), path.name.partition(".")[0]


@shortening
def import_file(path: Path, periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of a file.

    Raises:
        OpenOutcryError: the first thing that is not known, or the first invalid value.
        OSError: the file cannot be read.
        ModuleNotFoundError: the package that reads its format is not installed.
    """
    check_regular(path)
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith(_PARQUET):
        return import_parquet(path, periods_per_year, options)
    if _is_plain(start.decode("utf-8", "replace")) and options.of_file() == ReadOptions():
        return _import_plain(path, periods_per_year, options)
    return _assembled(market_file.read(path, options), periods_per_year, options)


@shortening
def import_files(paths: Sequence[Path], periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of files of different symbols or dates; see `import_file`."""
    if len(paths) == 1:
        return import_file(paths[0], periods_per_year, options)
    stems = symbols_of(paths) if options.symbol is None else [options.symbol] * len(paths)
    read = [market_file.read(path, options, stem) for path, stem in zip(paths, stems, strict=True)]
    check([question for part in read for question in part.questions])
    parts = [Part(path.name, part) for path, part in zip(paths, read, strict=True)]
    return _assembled(joined(parts, options), periods_per_year, options)


@shortening
def import_text(text: str, periods_per_year: float | None, options: ReadOptions, stem: str = "") -> Imported:
    """Return the market of a text; see `import_file`."""
    if options.of_file() != ReadOptions() or not _is_plain(text):
        return _assembled(market_file.read_text(text, options, stem), periods_per_year, options)
    try:
        core = native.Dataset.from_csv(text, periods_per_year=_while_reading(periods_per_year, options))
        return _checked(core, periods_per_year, options, _header(text))
    except native.OpenOutcryError as error:
        return _of_other_form(error, text, (periods_per_year, options), stem)


@shortening
def import_parquet(path: Path, periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of a Parquet file; see `import_file`.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[parquet]`", name=error.name) from error
    if isinstance(path, HeldFile):
        return import_frame(parquet_table_of(path.content, path.name), periods_per_year, options, path.stem)
    try:
        parts, limit = parquet_parts(path)
        sizes = checked_columns(parts, limit)
        is_plain = path.is_file() and options.of_file() == ReadOptions()
        if is_plain and not any(column.is_delta for column in sizes):
            metadata = parquet.read_metadata(path)
            found = _long_parquet(path, metadata, _while_reading(periods_per_year, options))
            if found is not None:
                core, has_missing, names = found
                return _checked(core, periods_per_year, options, names, has_missing=has_missing)
        table = parquet_table(path, sizes, limit)
        return import_frame(table, periods_per_year, options, path.stem)
    except (FileNotFoundError, PermissionError):
        raise
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"a complete Parquet file is required; received {path.name!r}: {str(error).splitlines()[0]}"
        raise refusal("field_unparsable", f"{message}; hint: name a text file by its form, such as .csv") from error


@shortening
def import_frame(frame: Any, periods_per_year: float | None, options: ReadOptions, stem: str = "") -> Imported:
    """Return the market of a frame or of rows without names; see `import_file`.

    Without a column of symbols, the symbol is `stem`, if it is given.
    """
    with frame_table.of_python():
        return _of_frame(frame, periods_per_year, options, stem)


def _of_frame(frame: Any, periods_per_year: float | None, options: ReadOptions, stem: str) -> Imported:
    frame = frame if isinstance(frame, list) else frame_forms.named(frame)
    is_named = not isinstance(frame, list) and _has_plain_names(frame_table.names_of(frame))
    if options.of_file() != ReadOptions() or not is_named:
        try:
            return _of_table(frame, periods_per_year, options, stem)
        except native.OpenOutcryError as error:
            raise frame_forms.with_hint(error, frame) from None
    try:
        core = dataframes.core_of(frame, _while_reading(periods_per_year, options))
        return _checked(core, periods_per_year, options, frame_table.names_of(frame), is_described=False)
    except native.OpenOutcryError as error:
        # A frame has types: a value of another type is no other form of a number.
        is_other = error.slug in _OTHER_FORMS - {"duplicate_row", "field_unparsable"}
        if not is_other and not frame_forms.is_written_otherwise(frame, error.slug):
            raise frame_forms.with_hint(error, frame) from None
        try:
            return _of_table(frame, periods_per_year, options, stem)
        except native.OpenOutcryError as other:
            raise (other if questions_of(other) else frame_forms.with_hint(error, frame)) from None


def _of_table(frame: Any, periods_per_year: float | None, options: ReadOptions, stem: str) -> Imported:
    return _assembled(market_file.read_table(frame_table.table_of(frame), options, stem), periods_per_year, options)


def _import_plain(path: Path, periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of a file of the plain form, which is read in parts."""
    stem, reader, names = path.name.partition(".")[0], native.CsvReader(path.stat().st_size), list[str]()
    try:
        with path.open("rb") as file:
            while part := file.read(_PART):
                names = names or _header(part.decode("utf-8", "replace"))
                reader.push(part)
        core = reader.dataset(periods_per_year=_while_reading(periods_per_year, options))
        found = _checked(core, periods_per_year, options, names, has_missing=reader.has_missing)
        return found._replace(described=(("encoding", "UTF-8"), *found.described))
    except UnicodeDecodeError:
        text, encoding = text_of(file_bytes(path), path.name)
        found = import_text(text, periods_per_year, options, stem)
        return found._replace(described=(("encoding", encoding), *found.described))
    except native.OpenOutcryError as error:
        if error.slug not in _OTHER_FORMS:
            raise
        text, encoding = text_of(file_bytes(path), path.name)
        found = _of_other_form(error, text, (periods_per_year, options), stem)
        return found._replace(described=(("encoding", encoding), *found.described))


def _of_other_form(
    error: native.OpenOutcryError, text: str, stated: tuple[float | None, ReadOptions], stem: str
) -> Imported:
    """Return the market of a text that the strict reader refused, or its error."""
    if error.slug not in _OTHER_FORMS:
        raise error
    try:
        return _assembled(market_file.read_text(text, stated[1], stem), *stated)
    except native.OpenOutcryError as other:
        # The strict reader names the line of a value; the other one says which option is missing.
        raise (other if questions_of(other) else error) from None


def _long_parquet(
    path: Path, metadata: Any, periods_per_year: float | None
) -> tuple[native.Dataset, bool, list[str]] | None:
    """Return the market of a long Parquet file, which is read in parts.

    With it come whether a value is missing, and the names of the columns. None if it has another form.
    """
    schema = metadata.schema.to_arrow_schema()
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name, count in Counter(schema.names).items() if count > 1)
        raise refusal("duplicate_symbol", f"columns must be unique; received {twice!r} twice")
    try:
        names = dataframes.long_names(schema.names) if _has_plain_names(schema.names) else {}
        is_plain = names and long_frames.is_plain(schema, names)
        if not is_plain:
            return None
        return *long_parquet.core_of(path, metadata.num_rows, names, periods_per_year), schema.names
    except native.OpenOutcryError as error:
        if error.slug not in _OTHER_FORMS:
            raise
        # The whole table may have another form.
        return None


def _is_plain(text: str) -> bool:
    """Return whether the header of a text is that of the strict reader."""
    return _has_plain_names(_header(text))


def _header(text: str) -> list[str]:
    line = text[: 1 << 20].lstrip("\ufeff").lstrip("\r\n").split("\n", 1)[0].split("\r", 1)[0]
    return [name.strip().strip('"') for name in line.split(",")]


def _has_plain_names(names: Sequence[str]) -> bool:
    lower = [name.strip().lower() for name in names]
    if {"date", "symbol", "close"} <= set(lower):
        return set(lower) <= set(dataframes.LONG)
    roles = [name for name in names if column_roles.is_price_name(name)]
    indicators = [name for name in names if column_words.is_indicator(name)]
    # LOW and OPEN are tickers too: one of them among other symbols is a symbol.
    are_tickers = not roles or (len(roles) == 1 and roles[0] in ("LOW", "OPEN") and len(names) > 2)
    is_wide = lower[:1] == ["date"] and are_tickers and not indicators and len(names) > 1
    return is_wide and not symbol_fields.hold_fields(names) and not column_words.quotes_of(names)


def _while_reading(periods_per_year: float | None, options: ReadOptions) -> float | None:
    """Return the bars per year before bars are chosen: NaN if others are stated."""
    return np.nan if options.state_bars() else periods_per_year


def _assembled(found: MarketColumns, periods_per_year: float | None, options: ReadOptions) -> Imported:
    check(found.questions)
    if options.day_starts is not None:
        found.dates = trading_days(found.dates, options.day_starts, options.tz)
        found.described.append(("day_starts", f"{options.day_starts}: each bar is the day on which it ends"))
    values: dict[str, Any] = {"dates": found.dates, "symbols": found.symbols}
    values |= found.tables | {"periods_per_year": _while_reading(periods_per_year, options)}
    if found.features and (options.axis or options.calendar):
        wanted = f"`{'axis' if options.axis else 'calendar'}` must be left out with features"
        raise refusal("argument_invalid", f"{wanted}, which have the bars of the file; received both")
    given = {name: Feature(cells, missing=found.missing[name]) for name, cells in found.features.items()}
    with feature_fields.named_hints(given):
        core = columns.native_dataset(values | {"features": partial(native_features, given)})
    return _on_bars(Imported(core, tuple(found.notices), tuple(found.described)), periods_per_year, options)


def _checked(
    core: native.Dataset,
    periods_per_year: float | None,
    options: ReadOptions,
    names: Sequence[str],
    *,
    is_described: bool = True,
    has_missing: bool = True,
) -> Imported:
    """Return a market of the plain form, after the checks of every other form."""
    stated, notices = _while_reading(periods_per_year, options), tuple[str, ...]()
    core = plain_form.in_days(core, stated)
    if has_missing:
        core, notices = empty_cells.without_empty(core, stated)
    # A column is a copy: it is taken only where it is checked.
    # The names of a long table are symbols, which its columns state.
    is_long = "symbol" in (name.strip().strip('"').lower() for name in names)
    splits, dividends = core.column("splits"), core.column("dividends")
    are_bare = not (core.has_opens or core.has_volume or is_long)
    if splits is not None or dividends is not None or are_bare:
        close = core.column("close")
        assert close is not None, "every dataset has closes"
        if splits is not None:
            notices = (*notices, *check_splits(close, splits, core.dates, core.symbols))
        if dividends is not None:
            check_dividends(close, dividends, core.dates, core.symbols)
            check_drops(close, dividends, splits, (core.dates, core.symbols), is_held=False)
        if are_bare:
            check_symbols(close, core.symbols)
    described = plain_form.described(core, names) if is_described else ()
    volume = core.column("volume") if core.has_silent_volume else None
    if volume is not None:
        known, silent = without_silent_volume(volume, core.symbols)
        notices = (*notices, *silent)
        values = columns.values_of(core) | {"volume": known if np.isfinite(known).any() else None}
        core = columns.native_dataset(values)
    notices = (*notices, *_range_notices(core))
    if options.day_starts is not None:
        dates = trading_days(core.dates, options.day_starts, options.tz)
        core = columns.native_dataset(columns.values_of(core) | {"dates": dates})
        described += (("day_starts", f"{options.day_starts}: each bar is the day on which it ends"),)
    return _on_bars(Imported(core, notices, described), periods_per_year, options)


def _range_notices(core: native.Dataset) -> list[str]:
    found = {name: core.column(name) for name in ("high", "low")}
    if any(cells is None for cells in found.values()):
        return []
    found |= {name: core.column(name) for name in ("close", "open")}
    cells = {name: cells for name, cells in found.items() if cells is not None}
    return check_ranges(cells, core.dates, core.symbols)


def _on_bars(found: Imported, periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return a market on the bars that the options state, with its caveats."""
    bar_axis.check_codes(options.axis, options.calendar)
    core, said, times = _on_ends(found, periods_per_year, options)
    notices, described = (*found.notices, *said), (*found.described, *times)
    notices = (*notices, *suspicious_prices.check_file(core, options.adjusted))
    implied = None
    if options.state_bars():
        values = columns.values_of(core) | {"periods_per_year": None}
        for code, placed in ((options.axis, bar_axis.on_axis), (options.calendar, bar_axis.on_calendar)):
            if code is not None:
                values, said, done = placed(values, code)
                notices, described = (*notices, *said), (*described, *done)
        implied = values["periods_per_year"]
        core = columns.native_dataset(
            values | {"periods_per_year": implied if periods_per_year is None else periods_per_year}
        )
    stated = columns.periods_notices(core, periods_per_year, implied, options.calendar)
    return Imported(core, (*notices, *stated, *foresight_notices(core)), described)


def _on_ends(
    found: Imported, periods_per_year: float | None, options: ReadOptions
) -> tuple[native.Dataset, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return a market with bars dated by their end, and what was said and read."""
    core, dates = found.core, found.core.dates
    times = bar_labels.bar_times(found.described, dates) if found.described else ()
    if options.label is None and not bar_labels.may_be_starts(dates, core.n_symbols):
        return core, (), times
    values, said = bar_labels.labelled(columns.values_of(core), options.label)
    # Else the values are unchanged.
    if options.label == "start" or any("opens of" in notice for notice in said):
        is_inferred = not options.state_bars() and periods_per_year is None
        core = columns.native_dataset(
            values | {"periods_per_year": None if is_inferred else values["periods_per_year"]}
        )
    if options.label is not None:
        times = (("label", f"{options.label} of each bar"),)
    return core, said, times
