"""Distinct values of a column, and the place of each row among them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Numbers = npt.NDArray[np.uint32]
# Units of time in a day.
_TICKS = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
# Days of 500 years.
MOST_DAYS = 182_625


class Distinct(NamedTuple):
    """Distinct values of a column, and the place of each row among them.

    Some values may have no row.
    """

    values: Sequence[Any] | Values
    places: Numbers

    def first_rows(self) -> npt.NDArray[np.int64]:
        """Return the first row of each value; -1 for a value without a row."""
        rows = np.full(len(self.values), -1)
        # Of several rows of one value, the last assignment stays.
        rows[self.places[::-1]] = np.arange(len(self.places))[::-1]
        return rows

    def used(self) -> Distinct:
        """Return the values that have a row, in the order of their first rows."""
        rows = self.first_rows()
        if (rows[1:] > rows[:-1]).all() and rows[:1] >= 0:
            return self
        order = np.argsort(rows, kind="stable")[np.count_nonzero(rows < 0) :]
        rank = np.zeros(len(rows), np.uint32)
        rank[order] = np.arange(len(order))
        return Distinct([self.values[place] for place in order.tolist()], rank[self.places])

    def renamed(self, values: Sequence[str]) -> Distinct:
        """Return the rows with other texts, which may be equal."""
        names = of_texts(values)
        return Distinct(names.values, names.places[self.places])

    def sorted(self) -> Distinct:
        """Return the values in ascending order."""
        if all(map(operator.lt, self.values, self.values[1:])):
            return self
        values = sorted(self.values)
        rank = {value: place for place, value in enumerate(values)}
        places = np.fromiter(map(rank.__getitem__, self.values), np.uint32, len(values))
        return Distinct(values, places[self.places])


def of_texts(texts: Sequence[str]) -> Distinct:
    """Return the distinct texts of a column in their first order."""
    # Ascending texts are distinct.
    if all(map(operator.lt, texts, texts[1:])):
        return Distinct(list(texts), np.arange(len(texts), dtype=np.uint32))
    if len(set(texts)) == len(texts):
        return Distinct(list(texts), np.arange(len(texts), dtype=np.uint32))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return Distinct(list(numbers), np.fromiter(map(numbers.__getitem__, texts), np.uint32, len(texts)))


def of_times(times: Values) -> Distinct:
    """Return the distinct times of a column of datetime64."""
    numbers = times.view(np.int64)
    first, last = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, -1)
    day = _TICKS.get(np.datetime_data(times.dtype)[0], 1)
    n_days = (last - first) // day + 1
    # A table of days takes no comparison. A missing time is far before all others.
    if 0 < n_days <= MOST_DAYS:
        places = numbers - first if day == 1 else (numbers - first) // day
        values = first + day * np.arange(n_days)
        if day == 1 or (values[places] == numbers).all():
            return Distinct(values.view(times.dtype), places.astype(np.uint32))
    starts = np.flatnonzero(np.concatenate(([True], times[1:] != times[:-1]))) if len(times) else np.empty(0, int)
    known, of_run = np.unique(times[starts], return_inverse=True)
    return Distinct(known, np.repeat(of_run.astype(np.uint32), np.diff(np.append(starts, len(times)))))
