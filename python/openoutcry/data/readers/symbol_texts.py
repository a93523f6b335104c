"""Symbols of a column: the texts of the file, whatever they look like."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openoutcry.data.readers.column_roles import Roles, names_symbols
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.distinct import Distinct
from openoutcry.data.readers.frame_table import FrameTable
from openoutcry.data.readers.number_text import is_missing, is_numeric
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal

_CODE = re.compile(r"\s*(\d+(\.0+)?)?\s*", re.ASCII)
# Forms of prices. `06738E10` and `3M` are codes and tickers.
_PRICE = re.compile(r"[-+]?[$€£¥]?[\d.,' \u00a0]+([eE][-+]\d+)?", re.ASCII)
# Rows of each symbol at least, if symbols are numbers with a fraction.
_LEAST_ROWS = 2
_HINT = 'read symbols as text, such as `pd.read_csv(path, converters={"symbol": str})`'


def are_codes(table: TextTable, place: int) -> bool | None:
    """Return whether the numbers in a column of symbols are whole.

    None for another column, and for texts.
    """
    if not names_symbols(table.names[place]):
        return None
    texts = list(table.distinct(place).values)
    are_prices = all(_PRICE.fullmatch(text.strip()) for text in texts if not is_missing(text))
    return all(map(_CODE.fullmatch, texts)) if are_prices and is_numeric(texts) else None


def take_repeated(roles: Roles, table: TextTable) -> None:
    """Take numbers with a fraction for symbols, if they repeat next to a close."""
    if "close" not in roles.places or "symbol" in roles.places:
        return
    for name in filter(names_symbols, roles.ignored):
        place = table.names.index(name)
        if _LEAST_ROWS * len(table.distinct(place).used().values) <= len(table.rows):
            roles.places["symbol"] = place
            roles.ignored = [other for other in roles.ignored if other != name]
            return


def take_key(roles: Roles, table: TextTable) -> None:
    """Take the key of a series of SDMX, as of the ECB, for its symbol."""
    keys = {simple(name): name for name in table.names}
    if "symbol" not in roles.places and keys.keys() >= {"key", "timeperiod", "obsvalue"}:
        roles.places["symbol"] = table.names.index(keys["key"])
        roles.ignored = [name for name in roles.ignored if name != keys["key"]]


def symbols_of(table: TextTable, place: int) -> Distinct:
    """Return the symbol of each row, without spaces around it.

    Raises:
        OpenOutcryError: `symbol_invalid`: a symbol is empty, differs from another one in spaces only, or is a value of
            a frame that has lost its text.
    """
    lost = table.lost_text(place) if isinstance(table, FrameTable) else None
    if lost is not None:
        raise _no_text(table, place, lost, repr(table.column(place)[lost]), _HINT)
    found = table.distinct(place).used()
    names = [text.strip() for text in found.values]
    if "" in names:
        row = int(found.first_rows()[names.index("")])
        is_frame = isinstance(table, FrameTable)
        raise _no_text(table, place, row, "an empty one", _HINT if is_frame else "add the symbol, or delete the row")
    if len(set(names)) < len(names):
        _refuse_merged(list(found.values), names)
    return found.renamed(names)


def _no_text(table: TextTable, place: int, row: int, received: str, hint: str) -> OpenOutcryError:
    where = f"at row {row}" if isinstance(table, FrameTable) else f"on line {table.lines[row]}"
    message = f"`{table.names[place]}` {where} must be a text; received {received}"
    return refusal("symbol_invalid", f"{message}; hint: {hint}")


def _refuse_merged(texts: Sequence[str], names: Sequence[str]) -> None:
    first = dict[str, str]()
    for text, name in zip(texts, names, strict=True):
        if first.setdefault(name, text) != text:
            message = f"symbols must differ by more than spaces; received {first[name]!r} and {text!r}"
            raise refusal("symbol_invalid", f"{message}; hint: write one of them everywhere")
