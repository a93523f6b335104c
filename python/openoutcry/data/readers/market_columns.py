"""Options of a reader, and the columns of a market that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReadOptions:
    """What a person states about a file.

    Attributes:
        symbol: Symbol of a file of one symbol; its file name by default.
        columns: Names of columns by role, such as `{"close": "Settle"}`, or names of all columns of a file without a
            header.
        axis: Dates that become bars: `union`, `intersection`, or an exchange code such as XNYS.
        calendar: Code of the exchange that states the sessions and the bars per year.
        day_starts: Clock time in `tz` at which 24-hour bars start; each becomes the day on which it ends.
        label: `start` or `end`: what the dates of bars are. Starts become ends, at which a bar is known.
        tz: IANA zone of times without an offset, and of the days of epoch times.
        date_order: `dmy` or `mdy`.
        date_format: Format of dates for `strptime`, such as `%d-%b-%y`.
        decimal: Decimal mark.
        adjusted: What the prices are: `none` as traded, `split` adjusted for splits, `total` also for dividends.
        price_scale: Factor of all prices and dividends, 1 by default.
        duplicates: `last` to read the last of several rows of one date and symbol; they are refused by default.
        form: Name of a vendor's form, of `named_forms.FORMS`, which the file must have.
        features: Names of columns that are features, or their rules for missing values by name (`refuse`, `forward` or
            a number). A column `feature_NAME` is the feature `NAME` without being stated; both names state its rule.
    """

    symbol: str | None = None
    columns: Mapping[str, str] | Sequence[str] | None = None
    axis: str | None = None
    calendar: str | None = None
    day_starts: str | None = None
    label: str | None = None
    tz: str | None = None
    date_order: str | None = None
    date_format: str | None = None
    decimal: str | None = None
    adjusted: str | None = None
    price_scale: float | None = None
    duplicates: str | None = None
    form: str | None = None
    features: Mapping[str, str | float] | Sequence[str] | None = None

    def of_file(self) -> ReadOptions:
        """Return the options that say how to read the file, without those of its bars."""
        return replace(self, axis=None, calendar=None, day_starts=None, label=None)

    def state_bars(self) -> bool:
        """Return whether an option says which bars the market has."""
        return self != self.of_file()

    def stated(self) -> dict[str, Any]:
        """Return the options that are given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NO_OPTIONS = ReadOptions()


class ReadKeywords(TypedDict, total=False):
    """The fields of `ReadOptions` as keyword arguments."""

    symbol: str | None
    columns: Mapping[str, str] | Sequence[str] | None
    axis: str | None
    calendar: str | None
    day_starts: str | None
    label: str | None
    tz: str | None
    date_order: str | None
    date_format: str | None
    decimal: str | None
    adjusted: str | None
    price_scale: float | None
    duplicates: str | None
    form: str | None
    features: Mapping[str, str | float] | Sequence[str] | None


@dataclass
class MarketColumns:
    """Columns of a market, and what they were taken for.

    Attributes:
        dates: ISO 8601, ascending.
        symbols: Names, ascending in a long file, in the order of the columns in a wide one.
        tables: Arguments of `Dataset.from_arrays` by name. Shape `(n_bars, n_symbols)`, float64.
        features: Features by name; shape `(n_bars, n_symbols)`, or `(n_bars,)` of a file with a column per symbol.
        missing: The rule for missing values of each feature.
        adjusted: `none`, `split`, `total`, or None if the file does not say.
        close_column: Name of the column of closes, of the last symbol if each has one.
        described: Pairs of what was read and what it was taken for.
        notices: Caveats.
        questions: What the file does not say; the tables are not complete while there is one.
    """

    dates: list[str]
    symbols: list[str]
    tables: dict[str, Table]
    adjusted: str | None = None
    close_column: str = ""
    described: list[tuple[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    features: dict[str, Table] = field(default_factory=dict)
    missing: dict[str, Any] = field(default_factory=dict)
