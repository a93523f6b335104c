"""An adjusted close that is read as the close."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from openoutcry.data.readers.column_roles import role_of
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_PRICES = ("open", "high", "low")
_OTHERS = (*_PRICES, "volume", "dividend", "split")
# The name of an adjusted close, alone or with that of a symbol.
_NAME = re.compile(r"(?<!un)adj(usted|usting|ustment)?clos")


def is_adjusted_close(name: str) -> bool:
    """Return whether a column is an adjusted close by its name."""
    return role_of(name) == "adj_close" or _NAME.search(simple(name)) is not None


def applied(options: ReadOptions, table: TextTable) -> ReadOptions:
    """Return the options that adjust the other columns like a stated adjusted close.

    The other columns are on the basis of the close of the file. `adjusted="total"` adjusts them.

    Raises:
        OpenOutcryError: `argument_invalid`: the prices are stated as adjusted in another way.
    """
    stated = options.columns
    if not isinstance(stated, Mapping) or not is_adjusted_close(stated.get("close", "")) or "adj_close" in stated:
        return options
    roles = {name: role_of(name) for name in table.names}
    closes = [name for name, role in roles.items() if role == "close"]
    others = [role for role in _OTHERS if role in (*stated, *roles.values())]
    are_adjusted = any(simple(stated[role]).startswith("adj") for role in _OTHERS if role in stated)
    if len(closes) != 1 or are_adjusted or not others or stated["close"] not in table.names:
        return options
    if options.adjusted in ("none", "split"):
        if not set(others) & set(_PRICES):
            return options
        message = f"`adjusted` must be total for the close {stated['close']!r} next to {closes[0]!r}, with the opens"
        message += f", highs and lows of the latter; received {options.adjusted!r}"
        raise refusal("argument_invalid", f'{message}; hint: adjusted="total", `--adjusted total`')
    columns = {**stated, "close": closes[0], "adj_close": stated["close"]}
    return replace(options, columns=columns, adjusted="total")
