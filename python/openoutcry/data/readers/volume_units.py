"""Volumes in the units of adjusted prices.

Close times volume stays the money traded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import price_adjustment
from openoutcry.data.readers.market_columns import MarketColumns, Table

# Bars on each side of a split by which volumes are compared.
_AROUND = 20
# Standard deviation of the logarithm of a level of volumes, and of the volume of a bar.
_LEVEL, _BAR = 0.25, 0.6
# Standard deviations that decide whether volumes show splits.
_DECISIVE = 2.0
# Distance within which the step of an adjusted close is a ratio of small numbers, a dividend on the same day included.
_NEAR, _SMALL = 0.03, 10
_UNPAID = (
    "volumes are not adjusted for dividends as the prices are: close times volume is less than the money traded before"
    " a dividend"
)


def adjust(found: MarketColumns, cells: dict[str, Table], adj_close: Table | None, *, is_known: bool) -> None:
    """Bring volumes to the units of prices that are adjusted.

    Args:
        found: Market for the notices.
        cells: Tables by role; the close is that of the file.
        adj_close: Adjusted close that becomes the close; None if the close stays.
        is_known: Whether the form of the vendor states that volumes are on the basis of the close.
    """
    volume, close = cells["volume"], cells["close"]
    with np.errstate(invalid="ignore"):
        if not (volume > 0.0).any():
            return
    splits = _splits(found, cells, adj_close)
    if (splits != 1.0).any():
        cells["volume"] = volume = _on_basis(
            found, (close, volume, splits), is_scaled=adj_close is not None, is_known=is_known
        )
    if adj_close is not None:
        cells["volume"] = volume * (close / adj_close)
        found.described.append(("volume", "times close / adjusted close: close times volume is the money traded"))
    elif found.adjusted == "total":
        found.notices.append(_UNPAID)


def check_traded(found: MarketColumns, cells: dict[str, Table]) -> None:
    """Add a notice if only the volumes are adjusted for the splits of the file."""
    splits = _splits(found, cells, None)
    with np.errstate(invalid="ignore"):
        if not ((splits != 1.0).any() and (cells["volume"] > 0.0).any()):
            return
    share, error = _share(cells["volume"], splits, _AROUND)
    if share < 0.5 - _DECISIVE * error:
        found.notices.append(
            "volumes do not grow by the splits of the file, as if adjusted for them, and closes are as traded: close"
            " times volume is not the money traded before a split"
        )


def _on_basis(found: MarketColumns, tables: tuple[Table, Table, Table], *, is_scaled: bool, is_known: bool) -> Table:
    """Return volumes on the share basis of the closes."""
    close, volume, splits = tables
    if is_known:
        # Volumes also change with the news of a split: the vendor knows better.
        return volume
    after = np.ones_like(splits)
    after[:-1] = np.cumprod(splits[:0:-1], axis=0)[::-1]
    # Prices that are stated as adjusted hold their splits.
    in_close = is_scaled and (_share(1.0 / close, splits, 1)[0] > 0.5)
    share, error = _share(volume, splits, _AROUND)
    if abs(share - 0.5) <= _DECISIVE * error:
        bar, column = (int(place) for place in np.argwhere(splits != 1.0)[0])
        split = f"{splits[bar, column]:g} of {found.symbols[column]} on {found.dates[bar]}"
        text = f"the volumes do not show whether they are adjusted for the split {split}: they are read as the close is"
        found.notices.append(text)
        return volume
    in_volume = share > 0.5
    if in_close == in_volume:
        return volume
    if in_volume:
        found.notices.append(
            "volumes are as traded and prices adjusted for splits: they are multiplied by later splits"
        )
        return volume * after
    found.notices.append("volumes are adjusted for splits and the closes as traded: they are divided by later splits")
    return volume / after


def _splits(found: MarketColumns, cells: dict[str, Table], adj_close: Table | None) -> Table:
    """Return new shares per old share, 1 for none.

    They are those of the file, or of its adjusted close.
    """
    if "split" in cells:
        ratios = cells["split"]
        return np.where(np.isfinite(ratios) & (ratios > 0.0), ratios, 1.0)
    ratios = np.ones_like(cells["close"])
    if adj_close is not None:
        dividend = cells.get("dividend")
        for column in range(ratios.shape[1]):
            paid = None if dividend is None else dividend[:, column]
            bars, steps = price_adjustment.split_steps(cells["close"][:, column], adj_close[:, column], paid)
            for bar, step in zip(bars.tolist(), np.exp(steps).tolist(), strict=True):
                simple = (
                    Fraction(step).limit_denominator(_SMALL)
                    if step > 1.0
                    else 1 / Fraction(1.0 / step).limit_denominator(_SMALL)
                )
                ratios[bar, column] = float(simple) if abs(float(simple) / step - 1.0) < _NEAR else step
    return ratios


def _share(values: Table, splits: Table, n_around: int) -> tuple[float, float]:
    """Return the share of splits by which values grow, about 1 or 0, and its error."""
    total = weighted = 0.0
    for column in np.flatnonzero((splits != 1.0).any(axis=0)).tolist():
        events = np.flatnonzero(splits[:, column] != 1.0)
        edges = [0, *events.tolist(), len(values)]
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.where(values[:, column] > 0.0, np.log(values[:, column]), np.nan)
        for before, bar, after in zip(edges, edges[1:], edges[2:], strict=False):
            sides = _known(logs[before:bar])[-n_around:], _known(logs[bar:after])[:n_around]
            if min(map(len, sides)) == 0:
                continue
            expected = float(np.log(splits[bar, column]))
            grown = float(np.median(sides[1]) - np.median(sides[0]))
            weight = 1.0 / (_LEVEL**2 + _BAR**2 * sum(1.0 / len(side) for side in sides))
            weighted, total = weighted + weight * expected * grown, total + weight * expected**2
    return (weighted / total, float(total**-0.5)) if total else (0.5, np.inf)


def _known(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return values[np.isfinite(values)]
