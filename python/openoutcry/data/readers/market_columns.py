"""Options of a reader, and the columns of a market that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReadOptions:
    """What a person states about a file.

    Attributes:
        symbol: Symbol of a file of one symbol; its file name by default.
        columns: Names of columns by role, such as `{"close": "Settle"}`, or names of all columns of a file without a
            header.
        tz: IANA zone of times without an offset, and of the days of epoch times.
        date_order: `dmy` or `mdy`.
        decimal: Decimal mark.
        adjusted: What the prices are: `none` as traded, `split` adjusted for splits, `total` also for dividends.
        price_scale: Factor of all prices and dividends, 1 by default.
    """

    symbol: str | None = None
    columns: Mapping[str, str] | Sequence[str] | None = None
    tz: str | None = None
    date_order: str | None = None
    decimal: str | None = None
    adjusted: str | None = None
    price_scale: float | None = None


class ReadKeywords(TypedDict, total=False):
    """The fields of `ReadOptions` as keyword arguments."""

    symbol: str | None
    columns: Mapping[str, str] | Sequence[str] | None
    tz: str | None
    date_order: str | None
    decimal: str | None
    adjusted: str | None
    price_scale: float | None


@dataclass
class MarketColumns:
    """Columns of a market, and what they were taken for.

    Attributes:
        dates: ISO 8601, ascending.
        symbols: Names, ascending in a long file, in the order of the columns in a wide one.
        tables: Arguments of `Dataset.from_arrays` by name. Shape `(n_bars, n_symbols)`, float64.
        adjusted: `none`, `split`, `total`, or None if the file does not say.
        described: Pairs of what was read and what it was taken for.
        notices: Caveats.
    """

    dates: list[str]
    symbols: list[str]
    tables: dict[str, Table]
    adjusted: str | None = None
    described: list[tuple[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
