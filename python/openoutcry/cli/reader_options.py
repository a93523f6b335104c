"""Options of the reader of files, the same for every command that opens a market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from openoutcry.cli.added_options import with_added_options
from openoutcry.data.readers.market_columns import NO_OPTIONS, ReadOptions
from openoutcry.errors import refusal

PANEL = "Reading files"


@dataclass(frozen=True)
class Reading:
    """What a command line states about its files of prices.

    Attributes:
        options: Options of the reader.
        periods_per_year: Bars per year; None for those of the dates.
    """

    options: ReadOptions = NO_OPTIONS
    periods_per_year: float | None = None

    @property
    def is_stated(self) -> bool:
        """Whether an option is given."""
        return self != NOTHING_STATED

    def words(self) -> list[str]:
        """Return the words of a command that state the same."""
        year = self.periods_per_year
        return words_of(self.options) + ([] if year is None else ["--periods-per-year", repr(year).removesuffix(".0")])

    def refuse(self, with_what: str) -> None:
        """Refuse every option where no file of prices is read.

        Raises:
            OpenOutcryError: `argument_invalid`: an option is given.
        """
        if self.is_stated:
            option, value = self.words()[:2]
            message = f"`{option}` must come with a file of prices, which it says how to read"
            raise refusal("argument_invalid", f"{message}; received {value} with {with_what}")


NOTHING_STATED = Reading()


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(None, *names, help=text, rich_help_panel=PANEL, **more)


_TEXT: Any = str | None
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "symbol": (_TEXT, _option("Symbol of a file of one symbol.", show_default="the file name")),
    "column": (
        list[str] | None,
        _option("Role and name of a column, such as `close=Settle`; repeatable.", "--column"),
    ),
    "names": (_TEXT, _option("Names of all columns of a file without a header, between commas.", "--columns")),
    "axis": (_TEXT, _option("Dates that become bars: `union`, `intersection`, or an exchange such as XNYS.")),
    "calendar": (_TEXT, _option("Exchange that states the sessions and the bars per year, such as XNYS.")),
    "day_starts": (_TEXT, _option("Time in `--tz` at which 24-hour bars, or days of `--every`, start.")),
    "label": (_TEXT, _option("What the dates of bars are: `start` (of a month, a week, a bar) or `end`.")),
    "tz": (_TEXT, _option("Zone of times without an offset, such as America/New_York.", "--tz")),
    "date_order": (_TEXT, _option("Order of day and month, `dmy` or `mdy`, if the dates do not show it.")),
    "date_format": (_TEXT, _option("Format of the dates for strptime, such as `%d-%b-%y`.")),
    "decimal": (_TEXT, _option("Decimal mark, `.` or `,`, if the numbers do not show it.")),
    "adjusted": (_TEXT, _option("What the prices are: `none` (as traded), `split` or `total`.")),
    "price_scale": (float | None, _option("Factor of all prices, such as 0.0001.")),
    "duplicates": (_TEXT, _option("`last`: read the last of several rows of one date; refused by default.")),
    "features": (
        list[str] | None,
        _option("Column that is a feature, or `NAME=forward` or `NAME=0` for missing values; repeatable.", "--feature"),
    ),
    "form": (_TEXT, _option("Name of a form that the file must have, such as `binance-klines`.", "--as")),
    "periods_per_year": (float | None, _option("Bars per year; by default from the dates.")),
}


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the reader to a command, which receives them as `reading`."""
    return with_added_options(command, "reading", _OPTIONS, reading_of)


def reading_of(stated: Mapping[str, Any]) -> Reading:
    """Return what the values of the options state.

    Raises:
        OpenOutcryError: `argument_invalid`: `--column` has no `=`, or is given with `--columns`.
    """
    options = dict(stated)
    column, names, periods = (options.pop(name) for name in ("column", "names", "periods_per_year"))
    if column and names:
        raise refusal("argument_invalid", "`--column` or `--columns` is required; received both")
    pairs = dict(each.partition("=")[::2] for each in column or ())
    if wrong := [role for role, name in pairs.items() if not name]:
        raise refusal("argument_invalid", f"`--column` must be ROLE=NAME; received {wrong[0]!r}")
    if len(pairs) < len(column or ()):
        raise refusal("argument_invalid", f"`--column` must name a role once; received {', '.join(column)}")
    columns = [name.strip() for name in names.split(",")] if names else pairs or None
    options["features"] = dict(map(_rule, options["features"])) if options.get("features") else None
    return Reading(ReadOptions(columns=columns, **options), periods)


def _rule(text: str) -> tuple[str, str | float]:
    """Return a feature and its rule for missing values."""
    name, _, rule = text.partition("=")
    try:
        return name, float(rule)
    except ValueError:
        return name, rule or "refuse"


def words_of(options: ReadOptions) -> list[str]:
    """Return the words of a command that state the options of a reader."""
    words: list[str] = []
    for name, value in options.stated().items():
        if name == "features":
            rules = value.items() if isinstance(value, Mapping) else dict.fromkeys(value, "refuse").items()
            words += [word for column, rule in rules for word in ("--feature", f"{column}={rule}")]
        elif isinstance(value, Mapping):
            words += [word for pair in value.items() for word in ("--column", "=".join(pair))]
        elif name == "columns":
            words += ["--columns", ",".join(value)]
        else:
            words += ["--as" if name == "form" else f"--{name.replace('_', '-')}", str(value)]
    return words
