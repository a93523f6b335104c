"""Columns with names of a symbol and a field, such as `AAPL_Open`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from openoutcry.data.readers.column_roles import (
    ALL,
    is_bare_price,
    is_date_name,
    listed,
)
from openoutcry.data.readers.column_words import is_indicator, simple, words_of
from openoutcry.data.readers.questions import Question

Fields = dict[str, dict[str, int]]

_PATTERNS = {
    "adj_close": r"adj\.?[ _]?close|adjusted[ _]?close|adjusted",
    "close": r"(?:px[ _])?close(?:[ _]price)?",
    "last": r"px[ _]last|last(?:[ _]price)?|settle|price",
    "open": r"(?:px[ _])?open(?:[ _]price)?",
    "high": r"(?:px[ _])?high(?:[ _]price)?",
    "low": r"(?:px[ _])?low(?:[ _]price)?",
    "volume": r"(?:px[ _])?volume",
    "dividend": r"dividends?",
    "split": r"stock[ _]?splits",
}
_FIELD = "|".join(_PATTERNS.values())
# The blank is last: symbols such as `AAPL US Equity` contain it.
_SEPARATORS = (r"[_]+", r"[.]", r" *\| *", r" *: *", r" *, *", r" *-+ *", r" */ *", r" +")
_LAYOUTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for separator in _SEPARATORS
    for pattern in (
        rf"(?P<symbol>.+?){separator}(?P<field>{_FIELD})",
        rf"(?P<field>{_FIELD}){separator}(?P<symbol>.+)",
    )
)
_LAYOUTS = (
    *_LAYOUTS,
    re.compile(rf"(?P<symbol>.+?) *[(\[](?P<field>{_FIELD})[)\]]", re.IGNORECASE),
    re.compile(rf"(?P<field>{_FIELD}) *[(\[](?P<symbol>.+)[)\]]", re.IGNORECASE),
    # `AAPLOpen`, `AAPLopen` and `OpenAAPL`.
    re.compile(r"(?P<symbol>.*[^\W_])(?P<field>Adj_?Close|Open|High|Low|Close|Volume)"),
    re.compile(r"(?P<symbol>[A-Z\d.]{2,})(?P<field>adjclose|open|high|low|close|volume)"),
    re.compile(r"(?P<field>Adj_?Close|Open|High|Low|Close|Volume)(?P<symbol>[A-Z\d]\S*)"),
)
# The names by which a layout is tried, and the longest name.
_MOST_TRIED, _LONGEST = 60, 200
_MARKS = " _.|:,-/()[]"
_ANY_FIELD = re.compile(r"open|high|low|close|volume", re.IGNORECASE)
_FIELD_WORDS = frozenset(("open", "high", "low", "close", "adjclose", "volume"))
# Words before `close` that name a kind of price, not a symbol.
_QUALIFIER_NAMES = (
    "adj adjusted unadj unadjusted prev previous last prior bid ask mid price trade day raw deliverable px x y"
)
_QUALIFIERS = frozenset(_QUALIFIER_NAMES.split())


def by_symbol(names: Sequence[str]) -> Fields:
    """Return the columns of names such as `QXA.Close`, by symbol and field.

    Empty if some column is a bare price, if the word next to the field is no symbol, if a symbol has no close, or if
    the names can be read in several ways.
    """
    if not hold_fields(names) or any(is_bare_price(name) for name in names):
        return {}
    plain = [_without_quotes(name) for name in names]
    found = [fields for layout in _LAYOUTS if (fields := _fields_of(plain, layout))]
    counts = [sum(map(len, fields.values())) for fields in found]
    best = [fields for fields, count in zip(found, counts, strict=True) if count == max(counts)]
    return best[0] if best and all(fields == best[0] for fields in best) else {}


def hold_fields(names: Sequence[str]) -> bool:
    """Return whether some name holds a field of a bar next to another word."""
    return any(not _FIELD_WORDS.isdisjoint(_words(name)) and name.strip().lower() not in _FIELD_WORDS for name in names)


def question_of(names: Sequence[str]) -> Question | None:
    """Return which close is unknown if names hold several fields of one bar.

    None for names of symbols. `S&P High Beta` and `LOW US Equity` next to `AAPL US Equity` are symbols.
    """
    if not hold_fields(names):
        return None
    words = {name: _words(name) for name in names}
    groups: dict[tuple[str, ...], list[tuple[str, str, int]]] = {}
    for name, parts in words.items():
        for place, part in enumerate(parts):
            if part in _FIELD_WORDS and len(parts) > 1:
                side = -1 if place == len(parts) - 1 else place
                groups.setdefault((*parts[:place], *parts[place + 1 :]), []).append((name, part, side))
    for stem, found in groups.items():
        bare = [name for name, parts in words.items() if parts == stem]
        if _is_one_bar(stem, found, bool(bare), set(words.values())):
            shown = list(dict.fromkeys([*bare, *(name for name, _, _ in found)]))
            required, received = "it must be clear which column is the `close`", f"{listed(shown)}, fields of one bar"
            keyword, option = 'columns={"close": NAME}', "--column close=NAME"
            return Question(
                "missing_column", required, received, keyword, option, f', or "{ALL}" if every column is a symbol'
            )
    return None


def _is_one_bar(
    stem: tuple[str, ...], found: Sequence[tuple[str, str, int]], has_bare: bool, all_words: set[tuple[str, ...]]
) -> bool:
    """Return whether fields of one stem, such as `AAPL`, are those of one bar."""
    fields = {field for _, field, _ in found}
    if len(fields) > 1 and "close" in fields:
        return True
    last = {field for _, field, side in found if side == -1}
    if len(last) > 1 or (last and has_bare):
        return True
    first = {field for _, field, side in found if side == 0}
    # Tickers such as LOW, OPEN and AAPL before the words of an exchange.
    are_tickers = any(parts[1:] == stem and parts[0] not in _FIELD_WORDS for parts in all_words)
    return not are_tickers and len(first) > 1 and first != {"high", "low"}


def _fields_of(names: Sequence[str], layout: re.Pattern[str]) -> Fields:
    """Return the columns by symbol and field in one layout; empty if it does not fit."""
    found: Fields = {}
    rest = []
    for place, name in enumerate(names):
        if place == _MOST_TRIED and not found:
            return {}
        match = layout.fullmatch(name) if len(name) <= _LONGEST else None
        if match is None:
            rest += [] if is_date_name(name) else [name]
        else:
            role = next(role for role, each in _PATTERNS.items() if re.fullmatch(each, match["field"], re.IGNORECASE))
            if found.setdefault(match["symbol"].strip(_MARKS), {}).setdefault(role, place) != place:
                return {}
    has_bars = any(len(fields) > 1 for fields in found.values())
    for fields in found.values():
        last = fields.pop("last", None)
        if last is not None and has_bars:
            fields.setdefault("close", last)
        # An adjusted close alone is the close.
        if "close" not in fields and "adj_close" in fields:
            fields["close"] = fields.pop("adj_close")
    if any(_is_qualified(symbol) or "close" not in fields for symbol, fields in found.items()):
        return {}
    return found if found and _may_be_left_out(rest, found, has_bars) else {}


def _is_qualified(symbol: str) -> bool:
    """Return whether a symbol is or ends in a word for a kind of price."""
    words = words_of(symbol)
    return simple(symbol) in _QUALIFIERS or words[-1:] in (("px",), ("adj",), ("raw",), ("bid",), ("ask",), ("mid",))


def _may_be_left_out(rest: Sequence[str], found: Mapping[str, object], has_bars: bool) -> bool:
    """Return whether other columns are no prices of symbols."""
    if hold_fields(rest):
        return False
    symbols = [symbol.lower() for symbol in found]
    return has_bars or all(
        is_indicator(name) or any(name.lower().startswith(symbol) for symbol in symbols) for name in rest
    )


def _without_quotes(name: str) -> str:
    """Return a name; of a tuple such as `('Open', 'AAPL')`, its parts."""
    text = name.strip()
    return re.sub(r"[()'\"]", "", text) if re.fullmatch(r"\(.*,.*\)", text) else text


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without `price` at its end."""
    split = re.sub(r"(?<=[A-Z\d])(open|high|low|close|volume)$", r" \1", name.strip())
    words = words_of(split)
    return words[:-1] if words[-1:] == ("price",) and len(words) > 1 else words
