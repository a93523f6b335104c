"""Volumes in lots of 100 shares, as Tushare and akshare write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openoutcry.data.readers import number_text
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import Table
from openoutcry.data.readers.text_table import TextTable

LOT = 100.0
_TUSHARE = frozenset(("tscode", "tradedate", "vol", "amount"))
_AKSHARE = frozenset(("日期", "收盘", "成交量", "成交额", "换手率"))
_VOLUME = "成交量"
# Symbols of the exchanges in Shanghai, Shenzhen and Beijing, which trade in lots of 100 shares.
_MAINLAND = re.compile(r"((sh|sz|bj)\.?)?\d{6}(\.(sh|ss|sz|bj))?", re.IGNORECASE | re.ASCII)
# Share of the bars with an amount per share that must be a price of the bar, and the rounding of prices.
_CONFIRMED, _ROUNDING = 0.95, 0.005
# Largest distance of an amount per share from the close of a bar without a high and a low.
_NEAR = 0.15


@dataclass(frozen=True)
class Lots:
    """Factor of a volume, and what was found out about its unit.

    Attributes:
        factor: Shares per unit of the volume.
        unit: Name of the unit; empty if no notice is due.
        notice: Caveat; empty if none is due.
    """

    factor: float = 1.0
    unit: str = ""
    notice: str = ""


def of(table: TextTable, columns: Mapping[str, Table], volume: str, symbols: Sequence[str], mark: str) -> Lots:
    """Return the unit of the volume of a table.

    The form of the table states lots. The amount of money per unit of volume, which is a price of the bar if nothing
    is adjusted, confirms or contradicts it.

    Args:
        table: The table.
        columns: Numbers of its rows by role.
        volume: Name of the column of the volume.
        symbols: Symbols of the table.
        mark: Decimal mark.
    """
    names = {simple(name) for name in table.names}
    form = "Tushare" if names >= _TUSHARE else "akshare" if names >= _AKSHARE else ""
    if not form and simple(volume) != _VOLUME:
        return Lots()
    is_mainland = bool(form) and all(map(_MAINLAND.fullmatch, symbols))
    if form == "Tushare" and not is_mainland:
        # Other markets have the same columns in other units.
        return Lots()
    amount = _amount(table, 1000.0 if form == "Tushare" else 1.0, mark)
    if amount is None and not form:
        return Lots(1.0, "unit unknown", f"{volume!r} can be in lots of 100 shares (手), and is read as shares")
    units = columns["volume"]
    used = (units > 0.0) & np.isfinite(columns["close"])
    per_unit = np.full(len(units), np.nan) if amount is None else amount / np.where(used, units, np.nan)
    if not used.any():
        return Lots()
    if _are_prices(per_unit / LOT, columns):
        text = f"{volume!r} is in lots of 100 shares (手), and is multiplied by 100: amount / volume confirms it"
        return Lots(LOT, "in lots of 100 shares", text)
    if _are_prices(per_unit, columns):
        text = f"{volume!r} is read in shares, and not in lots of 100: amount / volume is a price of the bar"
        return Lots(1.0, "in shares", text)
    why = "amount / volume does not show it, as with adjusted prices"
    if is_mainland:
        text = f"{volume!r} is in lots of 100 shares (手), as {form} documents, and is multiplied by 100; {why}"
        return Lots(LOT, "in lots of 100 shares", text)
    return Lots(1.0, "unit unknown", f"{volume!r} can be in lots of 100 shares (手), and is read as shares; {why}")


def _amount(table: TextTable, unit: float, mark: str) -> Table | None:
    """Return the money of each row; None without a column of numbers."""
    places = [place for place, name in enumerate(table.names) if simple(name) in ("amount", "成交额")]
    values = table.column(places[0]) if places else []
    if not number_text.is_numeric(values):
        return None
    return unit * number_text.parse(values, table.lines, table.names[places[0]], mark)


def _are_prices(prices: Table, columns: Mapping[str, Table]) -> bool:
    """Return whether nearly all prices lie within the ranges of their bars."""
    known, close = np.isfinite(prices), columns["close"]
    low = columns.get("low", (1.0 - _NEAR) * close) * (1.0 - _ROUNDING)
    high = columns.get("high", (1.0 + _NEAR) * close) * (1.0 + _ROUNDING)
    inside = (prices >= low) & (prices <= high)
    return bool(known.any() and inside[known].mean() >= _CONFIRMED)
