"""Check of a function of a market: its values depend on no later bar."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.errors import OpenOutcryError, refusal

Values = npt.NDArray[np.float64]


class Market(Protocol):
    """What the check needs of a market."""

    @property
    def dates(self) -> tuple[str, ...]:
        """ISO 8601 dates of the bars."""

    def head(self, n_bars: int) -> Any:
        """Return the market of the first bars."""


# Markets of the first bars on which a function is computed again. Dense at the start: a leak by back-filling lasts only
# a few bars.
_EARLY = (2, 3, 5, 8, 13, 21, 55, 144)
_N_STARTS = 4
_N_CUTS = 19
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


def computed(dataset: Market, function: Callable[[Any], Any], name: str = "") -> dict[str, Any]:
    """Return the values of a function of a market, after a check that they are causal.

    Raises:
        OpenOutcryError: a value of a bar differs once later bars are missing, or the function needs them.
    """
    whole = _by_name(function(dataset), function, name)
    n_bars = len(dataset.dates)
    tables = {key: _table(key, given, n_bars) for key, given in whole.items()}
    for n_first in _cuts(tables.values(), n_bars):
        _check_part(dataset, function, name, tables, n_first)
    return whole


def _by_name(values: Any, function: Callable[[Any], Any], name: str) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        return {name or getattr(function, "__name__", "feature"): values}
    if name:
        wanted = f"the function of feature {name!r} must return an array"
        hint = "hint: `with_features(function)` takes the names from the function"
        raise refusal("argument_invalid", f"{wanted}; received {type(values).__name__}; {hint}")
    return dict(values)


def _table(name: str, given: Any, n_bars: int) -> Values:
    """Return values with one row per bar."""
    try:
        table = np.asarray(getattr(given, "values", given), dtype=np.float64)
    except (TypeError, ValueError) as error:
        wanted = f"feature {name!r} must be an array of numbers"
        raise refusal("shape_mismatch", f"{wanted}; received {type(given).__name__}") from error
    if table.shape[:1] != (n_bars,):
        wanted = f"feature {name!r} must have one row per bar of the market that its function receives"
        raise refusal("shape_mismatch", f"{wanted}; received {table.shape} for {n_bars} bars")
    return table.reshape(n_bars, -1)


def _cuts(tables: Iterable[Values], n_bars: int) -> list[int]:
    """Return numbers of bars, in ascending order.

    Many are of the first bars, some lie where values start, and others are up to all bars but one.
    """
    cuts = {n_bars - 1, *(n for n in _EARLY if n < n_bars // 2)}
    starts = sorted({n for table in tables for n in _starts(table)} - cuts)
    starts = starts if len(starts) <= _N_STARTS else [starts[len(starts) * k // _N_STARTS] for k in range(_N_STARTS)]
    cuts |= set(starts)
    first = max((n for n in _EARLY if n < n_bars // 2), default=2)
    # Not evenly spaced: cuts a whole number of weeks apart would miss a leak within a week.
    cuts |= {int(first + (n_bars - 1 - first) * (k * _GOLDEN % 1.0)) for k in range(1, _N_CUTS - len(cuts) + 1)}
    return sorted(n for n in cuts if 2 <= n < n_bars)


def _starts(table: Values) -> Iterable[int]:
    """Return numbers of bars around the start of each column.

    That is its first value, and the end of a constant start.
    """
    for column in table.T:
        rows = np.flatnonzero(~np.isnan(column))
        if len(rows):
            yield int(rows[0]) + 1
            others = rows[column[rows] != column[rows[0]]]
            # A start that is filled with a later value ends before the bar of this value.
            yield from (int(others[0]) - 1, int(others[0])) if len(others) else ()


def _check_part(
    dataset: Market, function: Callable[[Any], Any], name: str, tables: Mapping[str, Values], n_bars: int
) -> None:
    """Compare values with those of the first bars alone.

    A function may need more bars than these, if it has no values on them.
    """
    market = dataset.head(n_bars)
    part: dict[str, Any] = {}
    error: Exception | None = None
    try:
        with warnings.catch_warnings():
            # A function may divide by zero on few bars.
            warnings.simplefilter("ignore")
            part = _by_name(function(market), function, name)
    except Exception as raised:  # noqa: BLE001
        error = raised
    for key, whole in tables.items():
        before = whole[:n_bars]
        if error is None and key in part:
            try:
                after = _table(key, part[key], n_bars)
            except OpenOutcryError as raised:
                _check_unknown(key, before, dataset.dates, raised)
            else:
                _check_same(key, before, after, dataset.dates)
        else:
            _check_unknown(key, before, dataset.dates, error or KeyError(key))


def _check_same(name: str, before: Values, after: Values, dates: Sequence[str]) -> None:
    if before.shape == after.shape:
        differ = ~np.isclose(before, after, rtol=1e-9, atol=1e-12, equal_nan=True)
    else:
        differ = np.ones((len(before), 1), bool)
    if differ.any():
        bar = int(np.argmax(differ.any(axis=1)))
        message = f"feature {name!r} must be computed from bars up to its own; received a value of {dates[bar]} that"
        hint = 'hint: it uses later bars: shift them, and normalise by bars so far (`scale="expanding"` does)'
        later = dates[len(before)]
        raise refusal("value_invalid", f"{message} changes when the bars from {later} on are missing; {hint}")


def _check_unknown(name: str, before: Values, dates: Sequence[str], error: Exception) -> None:
    """Check that a function that fails on the first bars has no values on them."""
    known = ((before != 0.0) & ~np.isnan(before)).any(axis=1)
    if known.any():
        bar, later = int(np.argmax(known)), dates[len(before)]
        message = f"feature {name!r} must be computed from bars up to its own; received a value of {dates[bar]} that"
        hint = "hint: return NaN on bars before the first that has enough bars"
        found = f"{type(error).__name__}: {error}"
        raise refusal("value_invalid", f"{message} needs bars from {later} on ({found}); {hint}") from error


__all__ = ["computed"]
