"""Convert arrays, lists and dates to the columns that the engine reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_bool, row_labels, unmasked_array
from openoutcry.data import bar_counts, market_warnings, suspicious_prices
from openoutcry.data.charges import CHARGES, on_all_bars
from openoutcry.data.feature_foresight import foresight_notices
from openoutcry.data.readers.split_checks import hidden_split
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

Table = npt.NDArray[np.float64]
_FIRST, _LAST = np.datetime64("0000-01-01T00:00:00"), np.datetime64("9999-12-31T23:59:59")
# A stated number of bars per year may differ from the dates by this factor.
_TOLERANCE = 1.5
# Start of the notice of a number of bars per year that contradicts the dates.
STATED_PERIODS = "`periods_per_year`"


_T = TypeVar("_T")


class StoredTable(Generic[_T]):
    """A table of a market, read once; None if the market does not have it."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, market: Any, owner: type | None = None) -> _T:
        if market is None:
            return self  # type: ignore[return-value]
        table = market._core.column(self._name)
        # An attribute of the object is found before this descriptor.
        found: Any = None if table is None else frozen(table)
        market.__dict__[self._name] = found
        return found  # type: ignore[no-any-return]


class HasPeriods(Protocol):
    """A market, native or not."""

    @property
    def periods_per_year(self) -> float | None:
        """Bars per year, if known."""


TABLES = ("open", "high", "low", "volume", "dividends", "splits", "delistings", *CHARGES)


def unlabelled(name: str, values: Any, symbols: Sequence[str]) -> Any:
    """Check that the column names of a frame are the symbols, and return its values.

    Arrays and lists have no column names and are returned unchanged.
    """
    is_arrow = hasattr(values, "column_names")
    labels = values.column_names if is_arrow else getattr(values, "columns", None)
    if labels is None:
        return values
    if [str(label) for label in labels] != list(symbols):
        received = ", ".join(map(str, labels))
        raise refusal("shape_mismatch", f"the columns of `{name}` must be {', '.join(symbols)}; received {received}")
    return np.column_stack([np.asarray(column) for column in values.columns]) if is_arrow else values


def check_index(name: str, values: Any, dates: Iterable[Any]) -> None:
    """Check that the index of a pandas frame or series is the dates of the bars.

    An index of row numbers in order is no label. Arrays have none.
    """
    index: Any = getattr(values, "index", None)
    if not hasattr(index, "inferred_type") or list(index) == list(range(len(index))):
        return
    dates = iso(dates)
    labels = [str(label) for label in index] if index.inferred_type == "integer" else index_dates(index)
    if labels != list(dates):
        place = next((k for k, (ours, theirs) in enumerate(zip(dates, labels, strict=False)) if ours != theirs), None)
        received = f"{counted(len(labels), 'row')} for {counted(len(dates), 'date')}"
        received = received if place is None else f"{labels[place]} for {dates[place]} at row {place}"
        hint = f"hint: reindex `{name}` to `dates`, or pass an array"
        raise refusal("shape_mismatch", f"the index of `{name}` must be `dates`; received {received}; {hint}")


def _check_own_labels(name: str, values: Any, texts: Iterable[Any]) -> None:
    """Check that the index of a series of names does not put them in another order.

    Its labels are its values, or ascending numbers.
    """
    labels = row_labels(values)
    if labels is None:
        return
    if labels.inferred_type == "integer":
        in_order = labels.is_monotonic_increasing and labels.is_unique
    else:
        in_order = (index_dates(labels) if name == "dates" else list(labels)) == list(texts)
    if not in_order:
        received = f"the index {labels[0]} .. {labels[-1]}"
        hint = f"hint: `{name}.to_numpy()`, in the order of the tables"
        raise refusal(
            "shape_mismatch", f"`{name}` must be without an index, or in its order; received {received}; {hint}"
        )


def index_dates(index: Any) -> list[str]:
    """Return the dates of a pandas index in ISO 8601.

    Times that are all midnight in their own zone are days; other times with a zone become UTC.
    """
    if getattr(index, "tz", None) is None:
        return iso(index)
    days = iso(index.tz_localize(None))
    if not days or len(days[0]) == 10:
        return days
    return [f"{text}Z" for text in iso(index.tz_convert("UTC").tz_localize(None))]


def table(name: str, values: npt.ArrayLike, symbols: Sequence[str]) -> Table:
    """Return a table of numbers. Shape `(n_bars, n_symbols)`, float64."""
    array = unmasked_array(name, unlabelled(name, values, symbols))
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        message = f"`{name}` must be a 2-d array of numbers; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array, dtype=np.float64)


def mask(values: npt.ArrayLike, symbols: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return the tradable mask. Shape `(n_bars, n_symbols)`, bool."""
    array = unmasked_array("tradable", unlabelled("tradable", values, symbols))
    if array.dtype.kind != "b" or array.ndim != 2:
        message = f"`tradable` must be a 2-d array of booleans; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array)


def series(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a series of numbers. Shape `(n_bars,)`, float64."""
    array = unmasked_array(name, values)
    if array.dtype.kind not in "fiu" or array.ndim != 1:
        message = f"`{name}` must be a 1-d array of numbers; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array, dtype=np.float64)


def names(symbols: Iterable[str]) -> list[str]:
    """Return symbols as a list of strings."""
    if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
        raise refusal("symbol_invalid", f"`symbols` must be a list of texts; received {symbols!r}")
    listed = list(symbols)
    for place, symbol in enumerate(listed):
        if not _is_text(symbol):
            raise refusal("symbol_invalid", f"`symbols[{place}]` must be a text; received {symbol!r}")
    return listed


def iso(dates: Iterable[Any]) -> list[str]:
    """Return dates as ISO 8601 strings. The engine checks them."""
    if isinstance(dates, np.ndarray) and dates.dtype.kind == "M":
        known = dates[~np.isnat(dates)]
        if (known.astype("datetime64[D]") == known).all():
            return list(np.datetime_as_string(dates.astype("datetime64[D]")).tolist())
        # Dates finer than a second are printed in full, so that the engine refuses them.
        exact = (known.astype("datetime64[s]") == known).all()
        return list(np.datetime_as_string(dates.astype("datetime64[s]") if exact else dates).tolist())
    texts = [date if isinstance(date, str) else _date_text(date) for date in dates]
    for row, text in enumerate(texts if not "".join(texts).isascii() else ()):
        if not _is_text(text):
            raise refusal("date_invalid", f"`date` at row {row} must be ISO 8601; received {text!r}")
    # Midnight timestamps of a daily index mean days.
    return [text[:10] for text in texts] if texts and all(text[10:] == "T00:00:00" for text in texts) else texts


def axis_of(dates: Iterable[Any]) -> native.Dates | npt.NDArray[np.datetime64] | list[str]:
    """Return dates as the engine reads them: no text per date of datetime64."""
    if isinstance(dates, native.Dates):
        return dates
    if isinstance(dates, np.ndarray) and dates.dtype.kind == "M" and dates.ndim == 1 and not np.isnat(dates).any():
        times = dates.astype("datetime64[s]")
        # Other years and finer times are texts in the message that refuses them.
        if (times == dates).all() and ((times >= _FIRST) & (times <= _LAST)).all():
            days = times.astype("datetime64[D]")
            return days if (days == times).all() else times
    return iso(dates)


def fundamentals(items: Iterable[Any]) -> list[tuple[str, str, str, float]]:
    """Return point-in-time fundamentals, `(symbol, available_at, name, value)`."""
    rows = []
    for place, item in enumerate(items):
        symbol, available_at, name, value = _tuple(
            "fundamentals", place, item, ("symbol", "available_at", "name", "value")
        )
        if is_bool(value) or not hasattr(value, "__float__"):
            raise refusal("value_invalid", f"`fundamentals[{place}]` must have a number; received {value!r}")
        rows.append((symbol, available_at, name, float(value)))
    return rows


def news(items: Iterable[Any]) -> list[tuple[str, str, str]]:
    """Return headlines, `(symbol, available_at, headline)`."""
    return [_tuple("news", place, item, ("symbol", "available_at", "headline")) for place, item in enumerate(items)]


def native_dataset(values: Mapping[str, Any], frame_rows: tuple[list[int], list[int]] | None = None) -> native.Dataset:
    """Return the native market of the arguments of `Dataset.from_arrays`.

    `frame_rows` has the row of each bar in its frame, or the cell of each row.
    """
    tables = {name: values.get(name) for name in TABLES}
    tradable, risk_free = values.get("tradable"), values.get("risk_free")
    symbols, dates = names(values["symbols"]), axis_of(values["dates"])
    given = [name for name in CHARGES if tables[name] is not None]
    tables |= {name: on_all_bars(tables[name], len(dates), len(symbols)) for name in given}
    for name, texts in (("dates", dates), ("symbols", symbols)):
        _check_own_labels(name, values[name], texts)
    labelled = {"close": values["close"], "tradable": tradable, "risk_free": risk_free} | tables
    for name, cells in labelled.items():
        check_index(name, cells, dates)
    return native.Dataset.from_arrays(
        dates,
        symbols,
        table("close", values["close"], symbols),
        periods_per_year=values.get("periods_per_year"),
        tradable=None if tradable is None else mask(tradable, symbols),
        risk_free=None if risk_free is None else series("risk_free", risk_free),
        fundamentals=fundamentals(values.get("fundamentals", ())),
        news=news(values.get("news", ())),
        features=_features(values.get("features", ()), dates, symbols),
        origin=frame_rows,
        **{name: None if cells is None else table(name, cells, symbols) for name, cells in tables.items()},
    )


def _features(given: Any, dates: Iterable[Any], symbols: Sequence[str]) -> list[tuple[str, str, Table]]:
    """Return features as name, scope and values, bar after bar.

    `given` may be a function of dates and symbols.
    """
    found = given(dates, symbols) if callable(given) else given
    return [(name, scope, np.ravel(cells)) for name, scope, cells in found]


def values_of(core: native.Dataset) -> dict[str, Any]:
    """Return the arguments of `native_dataset` that create a market again."""
    found = {name: core.column(name) for name in ("close", *TABLES)}
    tradable = core.column("tradable")
    values: dict[str, Any] = {name: cells for name, cells in found.items() if cells is not None}
    values |= {"tradable": None if tradable is None else tradable != 0.0, "risk_free": core.risk_free}
    values |= {"dates": core.dates, "symbols": core.symbols, "periods_per_year": stated_periods(core)}
    return values | {"fundamentals": core.fundamentals, "news": core.news, "features": core.features}


def periods_notices(
    core: native.Dataset, stated: float | None, implied: float | None = None, calendar: str | None = None
) -> tuple[str, ...]:
    """Return a caveat if bars per year are unknown or differ from the dates.

    Args:
        core: The market.
        stated: Bars per year, None if they are not stated.
        implied: Bars per year of a stated calendar.
        calendar: Code of that calendar.
    """
    if core.periods_per_year is None:
        hint = "annualised numbers are undefined; hint: state `periods_per_year`, `--periods-per-year`"
        return (f"the dates do not show the number of bars per year: {hint}",)
    if stated is None:
        return bar_counts.notices_of(core.dates, core.periods_per_year, is_stated=implied is not None)
    if implied is not None:
        contradiction = _contradiction(stated, implied, f"the calendar {calendar} implies")
        return contradiction or bar_counts.notices_of(core.dates, stated, is_stated=True)
    return stated_notices(core.dates, stated)


def stated_notices(dates: Sequence[str], stated: float | None) -> tuple[str, ...]:
    """Return a caveat if bars per year differ from the bars of ascending ISO dates.

    A stated number can contradict them; dates can have fewer bars than the number, which is theirs by default.
    """
    inferred = native.inferred_periods_per_year(dates)
    if stated is None:
        return () if inferred is None else bar_counts.notices_of(dates, inferred, is_stated=False)
    if inferred is None:
        return bar_counts.notices_of(dates, stated, is_stated=True)
    # A larger number within the tolerance shows no missing bars.
    contradiction = _contradiction(stated, inferred, "the dates imply")
    return contradiction or bar_counts.notices_of(dates, min(stated, inferred), is_stated=stated <= inferred)


def _contradiction(stated: float, implied: float, source: str) -> tuple[str, ...]:
    if max(implied / stated, stated / implied) <= _TOLERANCE:
        return ()
    return (f"{STATED_PERIODS} {stated:g} was stated; {source} {implied:g}",)


def with_caveats(core: native.Dataset, stated: float | None, notices: Sequence[str]) -> list[str]:
    """Return the notices of arrays, and those about their values."""
    found = [*periods_notices(core, stated), *split_notices(core), *suspicious_prices.of_arrays(core)]
    found += foresight_notices(core)
    return [*notices, *(each for each in found if each not in notices)]


def split_notices(core: native.Dataset) -> tuple[str, ...]:
    """Return a caveat if a market has a split that its closes do not show."""
    close, splits = core.column("close"), core.column("splits")
    if close is None or splits is None:
        return ()
    hidden = hidden_split(close, splits, core.dates, core.symbols)
    hint = "hint: leave out `splits` if the prices are adjusted already"
    return (f"the split {hidden} does not show in the close, and is applied; {hint}",) if hidden else ()


def cut(values: Mapping[str, Any], rows: slice, places: Sequence[int]) -> dict[str, Any]:
    """Return arguments of `Dataset.from_arrays` for some bars and symbols."""
    found, symbols = dict(values), [values["symbols"][place] for place in places]
    for name in ("close", *TABLES, "tradable"):
        found[name] = None if found[name] is None else np.ascontiguousarray(found[name][rows][:, places])
    found |= {"dates": values["dates"][rows], "symbols": symbols}
    found["risk_free"] = None if values["risk_free"] is None else values["risk_free"][rows]
    for feed in ("fundamentals", "news"):
        found[feed] = [item for item in values[feed] if item[0] in symbols]
    # The bars of a part are counted again.
    kept = [notice for notice in values["notices"] if not bar_counts.is_count(notice)]
    found["notices"] = market_warnings.renewed(kept, found)
    return found


def with_fills(core: native.Dataset, notices: tuple[str, ...]) -> tuple[str, ...]:
    """Return notices, with the caveat of data without opens unless one says so."""
    if core.has_opens or any("close to close" in known.lower().replace("-", " ") for known in notices):
        return notices
    return (*notices, "the data has no opens: orders fill close-to-close, at the close they were decided on")


def stated_periods(market: HasPeriods) -> float:
    """Return the argument that states bars per year: NaN if they are unknown."""
    return np.nan if market.periods_per_year is None else market.periods_per_year


def periods_text(periods_per_year: float | None) -> str:
    """Return bars per year in words."""
    return "unknown bars per year" if periods_per_year is None else f"{periods_per_year:g} bars per year"


def known_periods(market: HasPeriods, purpose: str) -> float:
    """Return the bars per year of a market.

    Raises:
        OpenOutcryError: `value_invalid`: the number is unknown.
    """
    if market.periods_per_year is None:
        message = f"`periods_per_year` is required for {purpose}; received a market without it, since its dates do not"
        raise refusal(
            "value_invalid", f"{message} show it; hint: load the market with `periods_per_year`, `--periods-per-year`"
        )
    return market.periods_per_year


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, set to read-only."""
    array.flags.writeable = False
    return array


def all_frozen(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return arrays by name, each read-only."""
    return {name: frozen(values) for name, values in arrays.items()}


def _tuple(argument: str, place: int, item: Any, fields: tuple[str, ...]) -> Any:
    is_shaped = isinstance(item, Sequence) and not isinstance(item, str) and len(item) == len(fields)
    if not is_shaped or not all(_is_text(text) for text in item[:3]):
        wanted = f"`{argument}[{place}]` must be ({', '.join(fields)})"
        raise refusal("value_invalid", f"{wanted}, texts except `value`; received {item!r}")
    return tuple(item)


def _is_text(value: Any) -> bool:
    """Return whether a value is a string that UTF-8 can encode."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value))


def _date_text(date: Any) -> str:
    return str(date.isoformat()) if hasattr(date, "isoformat") else str(date)
