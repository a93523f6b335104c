"""Target weights of users, checked against their market."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import unmasked_array
from openoutcry.data.columns import unlabelled
from openoutcry.data.dataset import Dataset
from openoutcry.data.label_dates import iso_dates, names_dates
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_ROW = "with NaN on the dates without a decision, which hold"


def weight_table(dataset: Dataset, weights: Any) -> npt.NDArray[np.float64]:
    """Return weights as an array of shape `(n_bars, n_symbols)`, float64.

    Raises:
        OpenOutcryError: `shape_mismatch`: `weights` is not a two-dimensional array of numbers, or its dates or columns
            are not the dates and symbols of the dataset.
    """
    return aligned_table(dataset, weights, "weights")


def aligned_table(dataset: Dataset, values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return numbers of bars by symbols as an array.

    Shape `(n_bars, n_symbols)`, float64.

    Raises:
        OpenOutcryError: as `weight_table`; the message has the name of the argument.
    """
    date = _date_column(values, dataset.symbols)
    table = values if date is None else _without(values, date)
    _check_symbols(values, date, dataset.symbols, name)
    array = unmasked_array(name, unlabelled(name, table, dataset.symbols))
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        kind = "an agent or an array" if name == "weights" else f"`{name}`: an array"
        wanted = f"{kind} of shape ({dataset.n_bars}, {dataset.n_symbols}) is required"
        raise refusal("shape_mismatch", f"{wanted}; received {array.ndim}-d {array.dtype}")
    # A shift by one bar would be look-ahead.
    if date is not None:
        _check_dates(_labels_of(values, date), dataset.dates, _Hints(values, date, name))
    if _has_labels(values, date):
        _check_dates(_as_labels(values.index), dataset.dates, _Hints(values, None, name))
    return array.astype(np.float64, copy=False)


class _Hints:
    """What to type to align a frame, in the words of its library."""

    def __init__(self, weights: Any, date: str | None, name: str) -> None:
        self.name = name
        self._weights, self._is_pandas = weights, hasattr(weights, "reset_index")
        self._sort = "sort_by" if hasattr(weights, "column_names") else "sort"
        self._date = date

    def labels(self) -> str:
        """Return where the dates are."""
        return "the index" if self._date is None else f"the column `{self._date}`"

    def order(self) -> str:
        """Return what sorts the rows."""
        if not self._is_pandas:
            return f'`{self.name}.{self._sort}("{self._date}")`'
        return f"`{self.name}.sort_index()`" if self._date is None else f'`{self.name}.sort_values("{self._date}")`'

    def rows(self, dates: Sequence[str]) -> str:
        """Return what leaves the dates of the market."""
        if not self._is_pandas:
            return f"keep one row for each date of `dataset.dates`, {_ROW}"
        indexed = self._weights if self._date is None else self._weights.set_index(self._date)
        text = self.name if self._date is None else f'{self.name}.set_index("{self._date}")'
        index, is_utc = indexed.index, dates[0].endswith("Z")
        if index.inferred_type not in ("datetime64", "datetime", "date"):
            # Labels of another form than those of the market would become NaN on every row.
            if set(index).isdisjoint(dates):
                return f"label the rows with dates such as {dates[0]}, or pass an array"
            return f"`{text}.reindex(list(dataset.dates))`, {_ROW}, or an array"
        if (getattr(index, "tz", None) is not None) != is_utc:
            text += '.tz_localize("UTC")' if is_utc else ".tz_localize(None)"
        return f"`{text}.reindex(pd.to_datetime(dataset.dates))`, {_ROW}, or an array"


def _names(weights: Any) -> list[Any] | None:
    names = getattr(weights, "column_names", getattr(weights, "columns", None))
    return None if names is None else list(names)


def _date_column(weights: Any, symbols: Sequence[str]) -> Any:
    """Return the name of a column of dates, or None."""
    for name in _names(weights) or ():
        text = str(name)
        if text not in symbols and names_dates(text) and iso_dates(_labels_of(weights, name)) is not None:
            return name
    return None


def _labels_of(weights: Any, date: Any) -> Any:
    """Return the cells of a column of dates, as labels."""
    if hasattr(weights, "reset_index"):
        # The index of a pandas frame keeps the type and the zone of the column.
        return _as_labels(weights.set_index(date).index)
    column = weights[date]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def _as_labels(index: Any) -> Any:
    """Return an index, with numbers such as 20240131 as texts."""
    return list(map(str, index)) if index.inferred_type == "integer" else index


def _without(weights: Any, date: Any) -> Any:
    if hasattr(weights, "reset_index"):
        return weights.drop(columns=[date])
    return weights.drop_columns([date]) if hasattr(weights, "drop_columns") else weights.drop(date)


def _has_labels(weights: Any, date: Any) -> bool:
    """Return whether a pandas index has labels: row numbers in order are none.

    Row numbers in any order are none next to a column of dates.
    """
    index: Any = getattr(weights, "index", None)
    if not hasattr(index, "inferred_type") or list(index) == list(range(len(index))):
        return False
    return date is None or index.inferred_type != "integer"


def _check_symbols(weights: Any, date: Any, symbols: Sequence[str], label: str) -> None:
    """Refuse other columns than the symbols, with what to type."""
    names = _names(weights)
    columns = [str(name) for name in names or () if name != date]
    if names is None or columns == list(symbols):
        return
    is_pandas = hasattr(weights, "reset_index")
    received = ", ".join(map(str, names))
    message = f"`{label}`: columns must be {', '.join(symbols)}; received {received}"
    rest = [name for name in columns if name.lower() not in ("symbol", "ticker")]
    if date is not None and len(columns) == 2 and len(rest) == 1:
        symbol = next(name for name in columns if name not in rest)
        on = "columns" if is_pandas else "on"
        hint = f'`{label}.pivot(index="{date}", {on}="{symbol}", values="{rest[0]}")`'
    elif missing := [symbol for symbol in symbols if symbol not in columns]:
        hint = f"add a column {missing[0]}, with {'0 for no position' if label == 'weights' else 'NaN for no price'}"
    else:
        dated = "" if date is None else f'"{date}", '
        chosen = f"[{dated}*dataset.symbols]"
        hint = f"`{label}[{chosen}]`" if is_pandas else f"`{label}.select({chosen})`"
    raise refusal("shape_mismatch", f"{message}; hint: {hint}")


def _check_dates(labels: Any, dates: Sequence[str], hints: _Hints) -> None:
    """Check that labels are the dates of the market, in their order."""
    known = iso_dates(labels)
    found = [str(label) for label in labels] if known is None else known
    if found == list(dates):
        return
    place = next((k for k, (ours, theirs) in enumerate(zip(dates, found, strict=False)) if ours != theirs), None)
    received = f"{counted(len(found), 'row')} for {counted(len(dates), 'date')}"
    received = received if place is None else f"{found[place]} for {dates[place]} at row {place}"
    hint = hints.order() if sorted(found) == list(dates) else hints.rows(dates)
    if {label[:10] for label in found}.isdisjoint(date[:10] for date in dates):
        hint = f"label the rows with the dates of the market, {dates[0]} .. {dates[-1]}, or pass an array"
    if twice := next((label for label, count in Counter(found).items() if count > 1), None):
        received, hint = f"{twice} twice", "keep one row for each date"
    wanted = f"{hints.labels()} of `{hints.name}` must be `dataset.dates`"
    raise refusal("shape_mismatch", f"{wanted}; received {received}; hint: {hint}")
