"""Checks of the tables of a market, and what its prices are adjusted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import (
    adjusted_closes,
    dividend_checks,
    dividend_drops,
    price_adjustment,
    range_checks,
    split_checks,
    unlisted_splits,
    volume_units,
)
from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions, Table
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_ARGUMENT_OF = {"dividend": "dividends", "split": "splits", "delisting_return": "delistings"}
_SAYS = {"none": "as traded", "split": "adjusted for splits", "total": "adjusted for splits and dividends"}
_TAKEN_AS_TOTAL = (
    "Stock Splits without Adj Close: the prices are taken as adjusted for splits and dividends, as of yfinance with"
    ' auto_adjust=True, and no dividend is paid; hint: adjusted="split" if they are not adjusted for dividends'
)
_UNPAID = (
    "the adjusted close holds dividends that are not paid, since no column has them: returns are those of the price;"
    ' hint: adjusted="total" for returns with dividends'
)
_HELD = (
    "the close {!r} is taken as adjusted for splits and dividends: the {} of the file are not applied again; hint:"
    ' adjusted="split" if it is not adjusted for dividends'
)
# Rounding of prices to cents.
_ROUNDING = 2e-3
_PRICES = ("open", "high", "low")
# Columns of events, and the values that mean none.
_EVENTS: Mapping[str, tuple[float, ...]] = {"dividend": (0.0,), "split": (0.0, 1.0), "delisting_return": ()}


def finish(found: MarketColumns, cells: dict[str, Table], options: ReadOptions, names: Sequence[str]) -> None:
    """Set the tables of a market: apply what the prices are, and drop empty ones.

    Args:
        found: Market to complete.
        cells: Tables by role.
        options: What the caller states.
        names: Names of the columns of the file.

    Raises:
        OpenOutcryError: a split does not show in the prices, the stated adjustment contradicts the columns, or a
            dividend is on most bars.
    """
    _drop_empty_bars(found, cells)
    _adjust(found, cells, options, names)
    if "split" in cells:
        unclear = split_checks.check_splits(cells["close"], cells["split"], found.dates, found.symbols)
        # Stated prices decide splits that are too small to be judged.
        found.notices += unclear if options.adjusted is None else []
    if options.adjusted in ("split", "total"):
        found.notices += unlisted_splits.notices(cells["close"], found.dates, found.symbols)
    if "dividend" in cells:
        dividend_checks.check_dividends(cells["close"], cells["dividend"], found.dates, found.symbols, names)
    if "volume" in cells:
        cells["volume"], notices = without_silent_volume(cells["volume"], found.symbols)
        found.notices += notices
    found.notices += range_checks.check_ranges(cells, found.dates, found.symbols)
    unknown = "the file does not say whether they are adjusted"
    found.described.append(("prices", _SAYS.get(found.adjusted or "", unknown)))
    # Without a value, a dividend or a split is none; the other columns are unknown.
    is_known = {name: name in ("close", "dividend", "split") or np.isfinite(cells[name]).any() for name in cells}
    present = {name: table for name, table in cells.items() if is_known[name]}
    found.tables = {_ARGUMENT_OF.get(name, name): table for name, table in present.items()}


def without_silent_volume(volume: Table, symbols: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """Return volumes, NaN where they are 0 on every bar of a symbol, and a notice."""
    present = np.isfinite(volume)
    silent = present.any(axis=0) & ~(present & (volume != 0.0)).any(axis=0)
    if not silent.any():
        return volume, ()
    names = ", ".join(name for name, is_silent in zip(symbols, silent, strict=True) if is_silent)
    return np.where(silent, np.nan, volume), (f"volume 0 on every bar of {names} is taken for unknown volume",)


def _adjust(found: MarketColumns, cells: dict[str, Table], options: ReadOptions, names: Sequence[str]) -> None:
    adj_close = cells.pop("adj_close", None)
    fields = frozenset([*cells, *(["adj_close"] if adj_close is not None else [])])
    vendor = price_adjustment.adjustment_of(fields, names)
    is_adjusted_close = adj_close is None and adjusted_closes.is_adjusted_close(found.close_column)
    if is_adjusted_close:
        vendor = "total"
        _check_stated(found, options)
    found.adjusted = options.adjusted or vendor or found.adjusted
    if adj_close is not None and options.adjusted != "total" and "split" not in cells:
        price_adjustment.check_factor(cells["close"], adj_close, found.dates, found.symbols, cells.get("dividend"))
    if adj_close is not None and options.adjusted != "total" and "dividend" not in cells:
        differs = np.abs(adj_close / cells["close"] - 1.0) > _ROUNDING
        found.notices += [_UNPAID] if differs.any() else []
    is_scaled = options.adjusted == "total" and adj_close is not None
    if "volume" in cells and found.adjusted in ("split", "total"):
        is_known = "split" in cells and vendor is not None and not is_adjusted_close
        volume_units.adjust(found, cells, adj_close if is_scaled else None, is_known=is_known)
    elif {"volume", "split"} <= cells.keys():
        volume_units.check_traded(found, cells)
    if is_scaled and adj_close is not None:
        lost = int((np.isfinite(cells["close"]) & ~np.isfinite(adj_close)).sum())
        found.notices += [f"left out: {counted(lost, 'close')} without an adjusted close"] if lost else []
        factor = adj_close / cells["close"]
        cells |= {name: cells[name] * factor for name in _PRICES if name in cells}
        cells["close"] = adj_close
    for name in ("split", "dividend"):
        if name in cells:
            cells[name] = price_adjustment.neutral_events(cells[name], _EVENTS[name])
    if found.adjusted in ("split", "total") and "split" in cells:
        split_checks.check_adjusted(cells["close"], cells["split"], found.dates, found.symbols)
    if "dividend" in cells:
        labels, is_held = (found.dates, found.symbols), found.adjusted == "total"
        splits = cells.get("split") if found.adjusted not in ("split", "total") else None
        dividend_drops.check_drops(cells["close"], cells["dividend"], splits, labels, is_held=is_held)
    if options.adjusted is None and vendor == "total":
        unpaid = [name for name in ("dividend", "split") if name in cells and np.isfinite(cells[name]).any()]
        if not is_adjusted_close:
            found.notices.append(_TAKEN_AS_TOTAL)
        elif unpaid:
            found.notices.append(_HELD.format(found.close_column, " and ".join(f"{name}s" for name in unpaid)))
    if found.adjusted in ("split", "total"):
        cells.pop("split", None)
    if found.adjusted == "total":
        cells.pop("dividend", None)


def _check_stated(found: MarketColumns, options: ReadOptions) -> None:
    """Refuse an adjusted close that is stated to be as traded."""
    if options.adjusted == "none":
        message = f"`adjusted` must be total or split for the close {found.close_column!r}; received 'none'"
        raise refusal("argument_invalid", f'{message}; hint: adjusted="total", `--adjusted total`')


def bars_with_values(cells: Mapping[str, Table]) -> npt.NDArray[np.bool_]:
    """Return which bars have a close, a dividend, a split or a settlement."""
    kept = np.asarray(np.isfinite(cells["close"]).any(axis=1))
    for name, neutral in _EVENTS.items():
        if name in cells:
            kept |= np.asarray((np.isfinite(cells[name]) & ~np.isin(cells[name], neutral)).any(axis=1))
    return kept


def left_out(kept: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a notice if some bars are not kept."""
    n_empty = int((~kept).sum())
    return (f"left out: {n_empty} date{'s' * (n_empty != 1)} without a close",) if n_empty else ()


def _drop_empty_bars(found: MarketColumns, cells: dict[str, Table]) -> None:
    kept = bars_with_values(cells)
    if not kept.all():
        found.notices += left_out(kept)
        found.dates = [found.dates[bar] for bar in np.flatnonzero(kept)]
        cells |= {name: table[kept] for name, table in cells.items()}
