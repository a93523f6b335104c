"""Checks that the prices of a bar are within its low and its high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]

# A larger share of highs below lows means mistaken columns.
_MOST_CROSSED = 0.05
# So does a larger share of the bars of a symbol with a price outside. Settlements of futures are outside on some bars.
_MOST_OUTSIDE = 0.5
# Distance from the range, as a share of the price: of a mistaken column, and of more than rounding.
_FAR, _ROUNDING = 1e-3, 5e-4
_LEAST_BARS = 3


def check_ranges(cells: Mapping[str, Table], dates: Sequence[str], symbols: Sequence[str]) -> list[str]:
    """Check lows, highs, opens and closes; return notices of some outside.

    Raises:
        OpenOutcryError: `value_invalid`: many highs are below lows, or most prices of a symbol are outside of them.
    """
    if not {"high", "low"} <= set(cells):
        return []
    high, low = cells["high"], cells["low"]
    with np.errstate(invalid="ignore"):
        crossed = high < low
    n_bars = int((np.isfinite(high) & np.isfinite(low)).sum())
    if crossed.sum() > max(1, _MOST_CROSSED * n_bars):
        message = f"highs must be above lows; received {int(crossed.sum())} of {n_bars} below"
        raise refusal("value_invalid", f'{message}; hint: columns={{"high": NAME, "low": NAME}}, `--column high=NAME`')
    notices = []
    for bar, column in np.argwhere(crossed)[:5]:
        of = f"of {symbols[column]} on {dates[bar]}"
        notices.append(f"the high {of} is below its low: {high[bar, column]:g} < {low[bar, column]:g}")
    for name in ("close", "open"):
        if name in cells:
            notices += _check_inside(name, cells[name], np.where(crossed, np.nan, high), low, (dates, symbols))
    return notices


def _check_inside(
    name: str, prices: Table, high: Table, low: Table, labels: tuple[Sequence[str], Sequence[str]]
) -> list[str]:
    """Return a notice of prices outside of their bars; refuse if most are."""
    with np.errstate(invalid="ignore"):
        distance = np.maximum(prices - high, low - prices) / prices
        n_far, n_bars = (distance > _FAR).sum(axis=0), np.isfinite(distance).sum(axis=0)
        outside = distance > _ROUNDING
    if not outside.any():
        return []
    is_mistaken = (n_far > _MOST_OUTSIDE * n_bars) & (n_far >= _LEAST_BARS)
    column = int(np.argmax(is_mistaken)) if is_mistaken.any() else int(np.argmax(outside.any(axis=0)))
    bar = int(np.argmax(outside[:, column]))
    shown = f"{prices[bar, column]:g} of {labels[1][column]} on {labels[0][bar]}, with a low of {low[bar, column]:g}"
    shown += f" and a high of {high[bar, column]:g}"
    if is_mistaken.any():
        received = f"{n_far[column]} of {n_bars[column]} outside, such as {shown}"
        hint = f'columns={{"{name}": NAME}}, `--column {name}=NAME`'
        if name == "close":
            hint += ', or adjusted="total", `--adjusted total` if the file has a close and an adjusted close'
        message = f"{name}s must be within the low and the high of their bar; received {received}"
        raise refusal("value_invalid", f"{message}; hint: {hint}")
    n_outside = int(outside.sum())
    return [f"{n_outside} {name}{'s' * (n_outside > 1)} outside of the low and the high of the bar, such as {shown}"]
