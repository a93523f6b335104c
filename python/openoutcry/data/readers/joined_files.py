"""The market of several files: of other symbols, or other dates of a symbol."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions, Table
from openoutcry.errors import refusal

_MOST_NAMES = 3
# Share of the distances of bars that show their length.
_USUAL = 0.4
# A smaller jump between two files is no sign of another adjustment.
_LEAST_JUMP = np.log(1.02)
# Events, and the values that mean none.
_EVENTS = {"dividends": 0.0, "splits": 1.0}
# Prices that differ by one factor are those of other adjustments.
_SAME_FACTOR = 1e-3
_LAST = 'duplicates="last" takes the file named last, `--duplicates last`'


class Part(NamedTuple):
    """A file, and its columns."""

    name: str
    columns: MarketColumns


def joined(parts: Sequence[Part], options: ReadOptions) -> MarketColumns:
    """Return the market of several files, on the union of their dates.

    Files with one symbol are parts of its prices. Where their dates overlap, the values must be equal.

    Raises:
        OpenOutcryError: `date_invalid`: some dates are days, others times. `missing_column`: files of one symbol have
            different columns. `value_invalid`: they are adjusted or spaced differently. `duplicate_row`: they have
            different values for one date.
    """
    _check_dates(parts)
    if with_features := next((part.name for part in parts if part.columns.features), None):
        hint = "hint: join the files first, or add the features with Dataset.with_features"
        raise refusal("argument_invalid", f"features must be in one file; received {with_features} of several; {hint}")
    dates = np.array([date for part in parts for date in part.columns.dates])
    axis, places = np.unique(dates, return_inverse=True)
    symbols = list(dict.fromkeys(symbol for part in parts for symbol in part.columns.symbols))
    found = MarketColumns(axis.tolist(), symbols, {})
    of_symbol = {symbol: [part for part in parts if symbol in part.columns.symbols] for symbol in _in_several(parts)}
    for symbol, several in of_symbol.items():
        _check_same_form(symbol, several)
    column_of = {symbol: column for column, symbol in enumerate(symbols)}
    ends = itertools.accumulate(len(part.columns.dates) for part in parts)
    has_row = np.zeros((len(axis), len(symbols)), bool)
    n_replaced = n_equal = 0
    for part, end in zip(parts, ends, strict=True):
        rows = places[end - len(part.columns.dates) : end]
        cells = np.ix_(rows, np.array([column_of[symbol] for symbol in part.columns.symbols]))
        is_row = np.isfinite(part.columns.tables["close"])
        in_both = has_row[cells] & is_row
        differs = _differing(found.tables, part.columns.tables, cells, in_both)
        if differs.any() and options.duplicates != "last":
            raise _overlap(part, found, cells, differs, is_one=options.symbol is not None)
        n_replaced += int(differs.sum())
        n_equal += int((in_both & ~differs).sum())
        has_row[cells] |= is_row
        for name, values in part.columns.tables.items():
            table = found.tables.setdefault(name, np.full((len(axis), len(symbols)), np.nan))
            table[cells] = np.where(np.isfinite(values) | (differs & in_both & (name in _EVENTS)), values, table[cells])
    _describe(found, parts)
    if n_equal:
        found.notices.append(f"{_count(n_equal, 'bar')} in several files, with equal values")
    if n_replaced:
        found.notices.append(f"left out: {_count(n_replaced, 'bar')} with other values in a file named later")
    for symbol, several in of_symbol.items():
        found.notices += _seams(symbol, several)
    return found


def _check_dates(parts: Sequence[Part]) -> None:
    forms = {len(part.columns.dates[0]): part for part in parts if part.columns.dates}
    if len(forms) > 1:
        received = ", ".join(f"{part.columns.dates[0]} in {part.name!r}" for part in forms.values())
        raise refusal("date_invalid", f"all files must have days, or times in one zone; received {received}")


def _in_several(parts: Sequence[Part]) -> list[str]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for part in parts:
        twice |= dict.fromkeys(symbol for symbol in part.columns.symbols if symbol in seen)
        seen |= set(part.columns.symbols)
    return list(twice)


def _check_same_form(symbol: str, parts: Sequence[Part]) -> None:
    """Check that the files of a symbol have the same columns, prices and spacing."""
    hint = f"hint: download {symbol} in one form, or give the files of one form"
    first = parts[0]
    for part in parts[1:]:
        ours, theirs = (", ".join(_roles(each)) for each in (first, part))
        if ours != theirs:
            message = f"files of {symbol} must have the same columns; received {ours} in {first.name!r} and {theirs}"
            raise refusal("missing_column", f"{message} in {part.name!r}; {hint}")
        ours, theirs = (each.columns.adjusted or "unknown" for each in (first, part))
        if ours != theirs:
            message = (
                f"files of {symbol} must be adjusted in the same way; received {ours} in {first.name!r} and {theirs}"
            )
            keyword = 'adjusted="split" for all, `--adjusted split`'
            raise refusal("value_invalid", f"{message} in {part.name!r}; hint: {keyword}")
        spacings = [_spacing(each) for each in (first, part)]
        if min(spacings) and max(spacings) > 1.5 * min(spacings):
            received = f"{spacings[0]:,} seconds in {first.name!r} and {spacings[1]:,} in {part.name!r}"
            raise refusal(
                "value_invalid", f"files of {symbol} must have bars of one length; received {received}; {hint}"
            )


def _roles(part: Part) -> list[str]:
    pairs = part.columns.described
    return sorted(taken for what, taken in pairs if what.startswith("column ") and not taken.startswith("date: "))


def _spacing(part: Part) -> int:
    """Return the usual distance of the bars of a file in seconds; 0 if unclear."""
    if len(part.columns.dates) < 4:
        return 0
    times = np.array([text[:19] for text in part.columns.dates], dtype="datetime64[s]").astype(np.int64)
    gaps, counts = np.unique(np.diff(times), return_counts=True)
    # A thin symbol has no bar in most periods.
    return int(gaps[counts.argmax()]) if counts.max() >= _USUAL * counts.sum() else 0


def _differing(
    known: dict[str, Table],
    tables: dict[str, Table],
    cells: tuple[npt.NDArray[np.intp], ...],
    in_both: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Return the bars that differ; no event differs from an event."""
    differs = np.zeros(tables["close"].shape, bool)
    for name, values in tables.items():
        if name in known:
            differs |= _differs(name, known[name][cells], values, in_both)
    return differs


def _differs(name: str, before: Table, values: Table, in_both: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    differs = np.asarray(np.isfinite(before) & np.isfinite(values) & (before != values))
    if name not in _EVENTS:
        return differs
    differs |= in_both & np.asarray(_filled(before, _EVENTS[name]) != _filled(values, _EVENTS[name]))
    return differs


def _filled(values: Table, neutral: float) -> Table:
    return np.where(np.isfinite(values), values, neutral)


def _overlap(
    part: Part,
    found: MarketColumns,
    cells: tuple[npt.NDArray[np.intp], ...],
    differs: npt.NDArray[np.bool_],
    *,
    is_one: bool,
) -> Exception:
    """Return the refusal of different values for one date."""
    row, column = np.argwhere(differs)[0].tolist()
    symbol, date = part.columns.symbols[column], part.columns.dates[row]
    name = next(
        name
        for name, values in part.columns.tables.items()
        if name in found.tables and _differs(name, found.tables[name][cells], values, differs)[row, column]
    )
    before, after = (
        _filled(values, _EVENTS.get(name, np.nan))[row, column]
        for values in (found.tables[name][cells], part.columns.tables[name])
    )
    message = f"files of {symbol} must agree where their dates overlap; received the {name} {before:g} and, in"
    message += f" {part.name!r}, {after:g} on {date}"
    ratios = (part.columns.tables["close"] / found.tables["close"][cells])[:, column]
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) > 1 and np.ptp(ratios) < _SAME_FACTOR * ratios[0] and abs(ratios[0] - 1.0) > _SAME_FACTOR:
        message += f", by the same factor {ratios[0]:.4g} on all {len(ratios):,} common dates"
        hint = "hint: the files are adjusted at different dates: download all dates at once"
        return refusal("duplicate_row", f"{message}; {hint}")
    stated = "leave out `symbol` (`--symbol`) if the files are of several, or " if is_one else ""
    return refusal("duplicate_row", f"{message}; hint: {stated}leave the bar out of one file; {_LAST}")


def _seams(symbol: str, parts: Sequence[Part]) -> list[str]:
    """Return notices of jumps between two files that neither of them has within."""
    closes = []
    for part in parts:
        close = part.columns.tables["close"][:, part.columns.symbols.index(symbol)]
        bars = np.flatnonzero(np.isfinite(close))
        if len(bars):
            closes.append((part.name, [part.columns.dates[bar] for bar in bars.tolist()], np.log(close[bars])))
    closes.sort(key=lambda each: each[1][0])
    notices = []
    for (before, days, known), (after, later, following) in itertools.pairwise(closes):
        jump = float(following[0] - known[-1])
        moves = [np.abs(np.diff(each)).max() for each in (known, following) if len(each) > 1]
        if later[0] > days[-1] and abs(jump) > max([_LEAST_JUMP, *moves]):
            said = f"{symbol} moves by {np.expm1(jump):+.1%} from {days[-1]} in {before} to {later[0]} in {after}, more"
            said += (
                " than ever within the files: they may be adjusted at different dates, or bars between them are missing"
            )
            notices.append(f"{said}; hint: download all dates at once")
    return notices


def _describe(found: MarketColumns, parts: Sequence[Part]) -> None:
    """Set what the files were taken for; files of one form share the lines."""
    forms: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for part in parts:
        forms.setdefault(tuple(pair for pair in part.columns.described if pair[0] != "symbol"), []).append(part.name)
    if len(forms) == 1:
        found.described.append(("files", f"{len(parts)} of one form: {_named(part.name for part in parts)}"))
    for form, names in forms.items():
        of = f"{_named(names)}: " if len(forms) > 1 else ""
        found.described += [(f"{of}{what}", taken) for what, taken in form]
    found.described.append(("symbols", f"{len(found.symbols)}: {_named(found.symbols, 'symbols', 5)}"))
    notices: dict[str, list[str]] = {}
    for part in parts:
        for notice in part.columns.notices:
            notices.setdefault(notice, []).append(part.name)
    found.notices += [f"{_named(names)}: {notice}" for notice, names in notices.items()]
    adjusted = {part.columns.adjusted for part in parts}
    found.adjusted = adjusted.pop() if len(adjusted) == 1 else None
    if len(adjusted) > 0:
        found.notices.append("the prices of the files are not adjusted in the same way")


def _named(names: Iterable[str], noun: str = "files", most: int = _MOST_NAMES) -> str:
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{listed[0]} and {len(listed) - 1} other {noun}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
