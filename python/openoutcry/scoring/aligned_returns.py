"""Returns of a benchmark or of factors on the bars of a run.

Values are matched by date. A date of the run without a value is refused, not filled.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import row_labels, type_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.label_dates import check_order, iso_dates, names_dates
from openoutcry.data.readers import return_file
from openoutcry.data.readers.questions import check
from openoutcry.errors import refusal
from openoutcry.scoring.return_values import check_not_prices, percent_doubt, varies_as_percent

__all__ = ["Bars", "benchmark_returns", "factor_returns", "symbol_returns"]

Floats = npt.NDArray[np.float64]


class Bars(Protocol):
    """A market and the dates of the bars to match, as a `Run` has them."""

    @property
    def dataset(self) -> Dataset:
        """The market."""

    @property
    def dates(self) -> Sequence[str]:
        """Date of each bar."""


def benchmark_returns(given: Any, run: Bars) -> tuple[str, Floats]:
    """Return the name and the returns of a benchmark.

    The returns have the shape `(n_returns,)`, float64.

    Args:
        given: A symbol of the run's market, a `Dataset` of one symbol, a path of a file with dates and one column of
            returns or prices, or the simple returns of each bar: a pandas series with dates, or an array with one
            return for each bar after the first.
        run: The run, or its market and dates.

    Raises:
        OpenOutcryError: the symbol is unknown, a date of the run has no value, or the values are no returns.

    Warns:
        UserWarning: returns may be percentages: they vary by more than 80 % a year, or have two decimals.
    """
    if isinstance(given, str) and given in run.dataset.symbols:
        return given, symbol_returns(run.dataset, given, run.dates)
    if isinstance(given, Dataset):
        if given.n_symbols != 1:
            wanted = "a dataset as `benchmark` must have one symbol"
            hint = f"hint: `benchmark=dataset.select([{given.symbols[0]!r}])`"
            raise refusal("argument_invalid", f"{wanted}; received {given.n_symbols}; {hint}")
        return given.symbols[0], symbol_returns(given, given.symbols[0], run.dates)
    if isinstance(given, (str, os.PathLike)):
        return _of_file(given, run)
    if hasattr(given, "columns"):
        hint = "hint: pass one column, such as `frame['SPY']`"
        raise refusal("shape_mismatch", f"`benchmark` must be one series; received a data frame; {hint}")
    return str(getattr(given, "name", None) or "benchmark"), _aligned("benchmark", given, run)


def factor_returns(given: Any, run: Bars) -> dict[str, Floats]:
    """Return the returns of factors by name, each of shape `(n_returns,)`.

    Args:
        given: A data frame with an index or a column of dates, a mapping of name to series or array as in
            `benchmark_returns`, or a path of a file with dates and a column per factor.
        run: The run.

    Raises:
        OpenOutcryError: as `benchmark_returns`.

    Warns:
        UserWarning: as `benchmark_returns`.
    """
    if isinstance(given, (str, os.PathLike)):
        labels, columns = _table(given, "factors")
        return {name: _checked(name, _on_dates(name, labels, each, run), run) for name, each in columns.items()}
    if not isinstance(given, Mapping) and not hasattr(given, "columns"):
        wanted = "`factors` must be a data frame, a mapping of name to returns, or a file"
        raise refusal("argument_invalid", f"{wanted}; received {type_of(given)}")
    names = list(given) if isinstance(given, Mapping) else list(given.columns)
    date = next((name for name in names if names_dates(str(name))), None)
    if date is None:
        return {str(name): _aligned(str(name), given[name], run) for name in names}
    labels = _dates("factors", given[date])
    others = [name for name in names if name != date]
    return {str(name): _checked(str(name), _on_dates(str(name), labels, given[name], run), run) for name in others}


def symbol_returns(dataset: Dataset, symbol: str, dates: Sequence[str]) -> Floats:
    """Return the total returns of a symbol from close to close.

    They include dividends and splits.

    Raises:
        OpenOutcryError: `argument_invalid`: a date is not among the dataset's, or no close is known at the first.
    """
    place = dataset.symbols.index(symbol)
    closes = dataset.close[:, place]
    growth = np.ones(len(closes))
    splits, dividends = (_column(table, place) for table in (dataset.splits, dataset.dividends))
    known = np.nan
    for bar, close in enumerate(closes.tolist()):
        split = 1.0 if splits is None or not np.isfinite(splits[bar]) else float(splits[bar])
        paid = 0.0 if dividends is None or not np.isfinite(dividends[bar]) else float(dividends[bar])
        # Between closes, the last one is the value of a share.
        value = close if np.isfinite(close) else known / split
        if np.isfinite(known):
            growth[bar] = (value * split + paid) / known
        known = value
    level = np.where(np.cumsum(np.isfinite(closes)) > 0, np.cumprod(growth), np.nan)
    return _steps(symbol, _on_labels(symbol, dataset.dates, level, dates))


def _column(table: Any, place: int) -> Floats | None:
    return None if table is None else np.asarray(table[:, place], dtype=np.float64)


def _steps(name: str, levels: Floats) -> Floats:
    if not np.isfinite(levels).all() or (levels <= 0.0).any():
        place = int(np.flatnonzero(~(np.isfinite(levels) & (levels > 0.0)))[0])
        wanted = f"the benchmark `{name}` must have a price above 0 at each bar of the run"
        raise refusal("argument_invalid", f"{wanted}; received none at bar {place}")
    returns: Floats = levels[1:] / levels[:-1] - 1.0
    return returns


def _of_file(path: str | os.PathLike[str], run: Bars) -> tuple[str, Floats]:
    if not Path(path).is_file():
        wanted = f"`benchmark` must be one of {', '.join(run.dataset.symbols)}, or a file"
        raise refusal("argument_invalid", f"{wanted}; received {os.fspath(path)!r}")
    labels, columns = _table(path, "benchmark")
    if len(columns) != 1:
        wanted = f"'{os.fspath(path)}' must have dates and one column of returns or prices"
        hint = "hint: keep the date and the close"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(columns)}; {hint}")
    ((name, values),) = columns.items()
    if _are_prices(name, values):
        return name, _steps(name, _on_labels(name, labels, values, run.dates))
    return name, _checked(name, _on_dates(name, labels, values, run), run)


_OF_PRICES = re.compile(r"close|price|nav|level|index|equity|value|last", re.IGNORECASE)
_OF_RETURNS = re.compile(r"ret|yield|rate|pct|%", re.IGNORECASE)
_LEAST_PRICE = 0.5


def _are_prices(name: str, values: Floats) -> bool:
    """Return whether a column of a file has prices, by its name or its size.

    Raises:
        OpenOutcryError: `argument_invalid`: small positive numbers may be either.
    """
    known = values[np.isfinite(values)]
    if not len(known) or known.min() <= 0.0 or _OF_RETURNS.search(name):
        return False
    if _OF_PRICES.search(name) or known.min() >= _LEAST_PRICE:
        return True
    wanted = f"the column `{name}` must be recognised as prices or as returns"
    received = f"numbers from {known.min():g} to {known.max():g}, which may be either"
    raise refusal("argument_invalid", f"{wanted}; received {received}; hint: name it `close` or `return`")


def _table(path: str | os.PathLike[str], name: str) -> tuple[Sequence[str], dict[str, Floats]]:
    if not Path(path).is_file():
        raise refusal("argument_invalid", f"`{name}` must be an existing file; received {os.fspath(path)!r}")
    found = return_file.read(Path(path))
    check(list(found.questions))
    if found.labels is None or not found.are_dates:
        wanted = f"'{os.fspath(path)}' must have a column of dates"
        raise refusal("missing_column", f"{wanted}; received {', '.join(found.series)}")
    scale = {each: 0.01 if each in found.unsigned else 1.0 for each in found.series}
    return found.labels, {each: values * scale[each] for each, values in found.series.items()}


def _aligned(name: str, given: Any, run: Bars) -> Floats:
    """Return values of a series or of an array on the bars after the first."""
    labels = row_labels(given)
    if labels is not None:
        return _checked(name, _on_dates(name, _dates(name, labels), given, run), run)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise refusal("shape_mismatch", f"`{name}` must be numbers; received {type_of(given)}") from error
    n_returns = len(run.dates) - 1
    if values.shape != (n_returns,):
        wanted = f"`{name}` must have one return for each bar after the first, {n_returns}"
        hint = "hint: a pandas series with dates is matched by date"
        raise refusal("shape_mismatch", f"{wanted}; received shape {values.shape}; {hint}")
    return _checked(name, values, run)


def _dates(name: str, labels: Any) -> list[str]:
    dates = iso_dates(labels)
    if dates is None:
        wanted = f"the index of `{name}` must be dates"
        raise refusal("date_invalid", f"{wanted}; received {list(labels)[:1]!r}; hint: pass an array of returns")
    check_order(dates)
    return dates


def _on_dates(name: str, labels: Sequence[str], values: Any, run: Bars) -> Floats:
    """Return the returns between the bars of a run, compounded."""
    values, dates = np.asarray(values, dtype=np.float64), run.dates[1:]
    own = _on_labels(name, labels, values, dates)
    order = np.argsort(np.asarray(labels), kind="stable")
    known, values = np.asarray(labels)[order], values[order]
    places = np.flatnonzero(np.isin(known, dates))
    first = int(np.searchsorted(known, run.dates[0], side="right"))
    if len(places) != len(dates) or (places[-1] - first + 1) == len(dates):
        return own
    steps = np.concatenate([[first], places[:-1] + 1])
    growth = np.multiply.reduceat(1.0 + values[: places[-1] + 1], steps)
    compounded: Floats = np.where(places == steps, own, growth - 1.0)
    return compounded


def _on_labels(name: str, labels: Sequence[str], values: Floats, dates: Sequence[str]) -> Floats:
    places = {label: place for place, label in enumerate(labels)}
    missing = [date for date in dates if date not in places]
    if missing:
        wanted = f"`{name}` must have a value at each bar, {len(dates)} in all"
        span = f"{labels[0]} .. {labels[-1]}" if len(labels) else "no date"
        received = f"{span} without {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        hint = "hint: choose a window that it covers, or a benchmark with the sessions of the market"
        raise refusal("shape_mismatch", f"{wanted}; received {received}; {hint}")
    chosen: Floats = values[[places[date] for date in dates]]
    return chosen


def _checked(name: str, returns: Floats, run: Bars) -> Floats:
    if not np.isfinite(returns).all():
        place = int(np.flatnonzero(~np.isfinite(returns))[0])
        message = f"`{name}` must be finite at each bar; received {returns[place]} on {run.dates[place + 1]}"
        raise refusal("value_invalid", message)
    periods = run.dataset.periods_per_year
    wanted = f"`{name}` must be simple returns as fractions"
    hint = "hint: divide percentages by 100, or name the column of a file with a %"
    if (least := float(returns.min())) < -1.0:
        raise refusal("value_invalid", f"{wanted}; received a return of {least:g} below -1; {hint}")
    check_not_prices(name, returns)
    if periods is not None and varies_as_percent(returns, periods):
        raise refusal("value_invalid", f"{wanted}; received a volatility above 300% a year; {hint}")
    if periods is not None and (doubt := percent_doubt(returns, periods)):
        warnings.warn(native.readable_text(f"`{name}` {doubt}; {hint}"), stacklevel=3)
    return np.ascontiguousarray(returns)
