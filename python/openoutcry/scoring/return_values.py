"""Values given as returns that are prices, percentages or cumulative returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import unmasked_array
from openoutcry.data.label_dates import names_dates
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]
# A volatility of 300 % a year is beyond that of any asset or usual leverage. Few returns do not show theirs.
MOST_VOLATILITY, _LEAST_RETURNS = 3.0, 20
# Few assets vary by more than 80 % a year, which is 5 % a day of 252. Percentages of bonds of two years do.
_USUAL_VOLATILITY, _MOST_DAYS = 0.8, 366.0
# Daily fractions of two decimals have steps of 1 %; percentages of two decimals are usual. Few values do not show them.
_LEAST_DAYS, _LEAST_DISTINCT = 100.0, 10
# Steps of a sum are smaller than its spread; those of returns have twice their variance.
_MOST_STEPS = 0.3
_LEAST_GROSS, _MOST_GROSS = 0.5, 2.0
# Returns of most bars are at most 100 %, and some bar has less than 50 %.
_MOST_TYPICAL, _MOST_LEAST = 1.0, 0.5


def numbers(name: str, values: Any, axes: tuple[int, ...]) -> Array:
    """Return numbers of one of some numbers of dimensions as an array.

    Raises:
        OpenOutcryError: `shape_mismatch`: it has another shape, or is no array of numbers.
    """
    check_no_frame(name, values)
    array = unmasked_array(name, values)
    if array.ndim not in axes or array.dtype.kind not in "fiu":
        wanted = f"`{name}` must be an array of numbers in {' or '.join(map(str, axes))} dimensions"
        raise refusal("shape_mismatch", f"{wanted}; received shape {array.shape} of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def check_no_frame(name: str, values: Any) -> None:
    """Refuse a data frame, with what to type to score its columns.

    Raises:
        OpenOutcryError: `shape_mismatch`: it is one.
    """
    if hasattr(values, "columns"):
        hint = f"hint: pass a mapping, {_mapping_of(values)}"
        raise refusal("shape_mismatch", f"`{name}` must be an array or a series; received a data frame; {hint}")


def _mapping_of(frame: Any) -> str:
    """Return what to type to score the columns of a frame."""
    is_pandas = hasattr(frame, "reset_index")
    names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    date = next((name for name in names if names_dates(name)), None)
    others = [name for name in names if name != date]
    texts = [name for name in others if _holds_text(frame[name])]
    if len(others) == 2 and len(texts) == 1:
        (value,) = (name for name in others if name not in texts)
        index = "" if date is None else f'index="{date}", '
        on = "columns" if is_pandas else "on"
        return f'of `frame.pivot({index}{on}="{texts[0]}", values="{value}")`, a column per agent'
    if is_pandas:
        text = "" if date is None else f'`frame = frame.set_index("{date}")`, then '
        return f"{text}`{{name: frame[name] for name in frame}}`"
    if date is None:
        return "`{name: frame[name] for name in frame.columns}`"
    return f'`{{name: frame[name] for name in frame.columns if name != "{date}"}}` with `dates=frame["{date}"]`'


def _holds_text(column: Any) -> bool:
    return isinstance(next(iter(column), None), str)


def check_not_prices(name: str, returns: Array) -> None:
    """Refuse prices, or account values, given as returns of each bar."""
    known = returns[np.isfinite(returns)]
    if all(map(are_gross, np.atleast_2d(returns))):
        received = f"values from {known.min():g} to {known.max():g}, which look like 1 + returns"
        wanted = f"`{name}` must be simple returns of each bar"
        raise refusal("value_invalid", f"{wanted}; received {received}; hint: subtract 1 of each")
    if len(known) and (np.median(known) > _MOST_TYPICAL or known.min() > _MOST_LEAST):
        received = f"values from {known.min():g} to {known.max():g}, which look like prices"
        hint = "hint: `prices.pct_change().dropna()`, or `--csv equity` for a file"
        raise refusal("value_invalid", f"`{name}` must be simple returns of each bar; received {received}; {hint}")
    if len(known) and known.min() < -1.0:
        required = "finite returns over disjoint windows in order are required"
        received = f"a return of {known.min():g} below -1 in `{name}`"
        hint = "hint: divide percentages by 100, or `--csv percent` for a file"
        raise refusal("submission_invalid", f"{required}; received {received}; {hint}")


def varies_as_percent(returns: Array, periods_per_year: float) -> bool:
    """Return whether returns vary as percentages do that are taken for fractions."""
    return _volatility(returns[np.isfinite(returns)], periods_per_year) > MOST_VOLATILITY


def percent_doubt(returns: Array, periods_per_year: float) -> str:
    """Return how returns look like percentages taken for fractions; else empty."""
    known = returns[np.isfinite(returns)]
    volatility, is_daily = _volatility(known, periods_per_year), periods_per_year <= _MOST_DAYS
    for bound in (MOST_VOLATILITY, _USUAL_VOLATILITY):
        # Percentages of shorter bars are above the first bound.
        if volatility > bound and (is_daily or bound == MOST_VOLATILITY):
            return f"varies by more than {bound:.0%} a year"
    if periods_per_year > _LEAST_DAYS and _has_two_decimals(known):
        return "has two decimals, as percentages have"
    return ""


def _has_two_decimals(values: Array) -> bool:
    hundredths = np.round(values * 100.0)
    return bool(np.abs(values * 100.0 - hundredths).max(initial=0.0) < 1e-9) and len(set(hundredths)) >= _LEAST_DISTINCT


def _volatility(known: Array, periods_per_year: float) -> float:
    if len(known) < _LEAST_RETURNS:
        return 0.0
    return float(np.std(known, ddof=1) * np.sqrt(periods_per_year))


def is_cumulative(returns: Array) -> bool:
    """Return whether values of both signs move in steps, as a sum of returns does."""
    known = returns[np.isfinite(returns)]
    if len(known) < _LEAST_RETURNS or not known.min() < 0.0 < known.max():
        return False
    return bool(np.var(np.diff(known)) < _MOST_STEPS * np.var(known))


def are_gross(values: Array) -> bool:
    """Return whether values around 1 move in steps as large as 1 + returns do."""
    known = values[np.isfinite(values)]
    if len(known) < _LEAST_RETURNS or not _LEAST_GROSS < known.min() < 1.0 < known.max() < _MOST_GROSS:
        return False
    return bool(np.var(np.diff(known)) > np.var(known))


def doubts_of(series: Mapping[Any, Any], periods_per_year: float) -> tuple[str, ...]:
    """Return the caveats of returns that may be percentages or cumulative.

    Values that are no numbers have none.
    """
    doubts = []
    for name, values in series.items():
        rows = np.atleast_2d(np.asarray(values))
        if rows.dtype.kind not in "fiu":
            continue
        floats = rows.astype(np.float64)
        doubt = next(filter(None, (percent_doubt(row, periods_per_year) for row in floats)), "")
        if doubt:
            hint = "hint: divide it by 100 if it holds percentages, or `--csv percent` for a file"
            doubts.append(f"`{name}` {doubt}; {hint}")
        elif any(map(is_cumulative, floats)):
            hint = "hint: if it is cumulative, score the returns of each bar"
            doubts.append(f"`{name}` changes by small steps, as cumulative returns do; {hint}")
    return tuple(doubts)
