"""Phases of the fills of a run: opens, inside the bar, exits and closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.fill_columns import FillColumns
from openoutcry.data.dataset import Dataset

__all__ = ["CLOSES", "EXITS", "INSIDE", "OPENS", "FillPhases", "RunOfFills", "exit_places"]

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OPENS, INSIDE, EXITS, CLOSES = range(4)


def exit_places(fills: FillColumns, dataset: Dataset, exits: Sequence[Mapping[str, Any]]) -> Places:
    """Return the place of each `exited` event among the fills.

    It is the last fill of its symbol and bar.
    """
    indices = {name: index for index, name in enumerate(dataset.symbols)}
    wanted = [event["bar"] * dataset.n_symbols + indices[event["symbol"]] for event in exits]
    keys = fills[0] * dataset.n_symbols + fills[1]
    # The fills of a bar are in the order of its phases, then of the symbols.
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], np.array(wanted, dtype=np.int64), side="right") - 1]


class RunOfFills(Protocol):
    """The parts of a run that its fills and their phases depend on."""

    _core: native.Run
    _settings: native.Settings

    @property
    def dataset(self) -> Dataset: ...
    @property
    def terminated_at(self) -> int | None: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...
    @property
    def _fills(self) -> FillColumns: ...


class FillPhases(NamedTuple):
    """Phase of each fill of a run.

    Attributes:
        phases: One of `OPENS`, `INSIDE`, `EXITS` and `CLOSES` per fill.
        is_inside_stop: Whether a stop, or a stop loss, filled at its price inside the bar.
    """

    phases: npt.NDArray[np.int8]
    is_inside_stop: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, run: RunOfFills) -> FillPhases:
        """Return the phases of the fills of a run."""
        dataset, fills, conditions = run.dataset, run._fills, run._core.conditions()
        bars, symbols, shares, filled = fills
        phases = np.zeros(len(bars), dtype=np.int8)
        is_stop = np.zeros(len(bars), dtype=bool)
        if not len(conditions[0]) or not len(bars):
            return cls(phases, is_stop)
        exits = [event for event in run.events if event["slug"] == "exited"]
        closed = exit_places(fills, dataset, exits)
        phases[closed] = EXITS
        found = _Orders.of(dataset, run._settings["window"][0], conditions).at(bars * dataset.n_symbols + symbols)
        opens = np.full(len(bars), np.nan) if dataset.open is None else dataset.open[bars, symbols]
        is_order, is_buy = phases != EXITS, shares > 0.0
        is_stop |= is_order & np.where(is_buy, opens < found.stop, opens > found.stop)
        # A limit that fills inside the bar fills at its price; at the open, at a better one.
        is_limit = is_order & np.isnan(found.stop) & (filled == found.limit) & ~found.is_close
        phases[is_stop | is_limit] = INSIDE
        phases[is_order & found.is_close] = CLOSES
        keys = bars * dataset.n_symbols + symbols
        entered = np.isin(keys[closed], keys[is_stop])
        is_loss = np.array([event["reason"] == "stop_loss" for event in exits], dtype=bool)
        price, first = found.stop_loss[closed], opens[closed]
        # An exit is a sale of a long position.
        is_beyond = np.where(is_buy[closed], first < price, first > price)
        is_stop[closed] = is_loss & (is_beyond | entered)
        return cls(phases, is_stop)


class _Orders(NamedTuple):
    """Day orders by bar and symbol; prices are on the share basis of the fill."""

    keys: Places
    limit: Floats
    stop: Floats
    stop_loss: Floats
    is_close: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        start: int,
        conditions: tuple[Places, Places, Sequence[Floats], npt.NDArray[np.bool_]],
    ) -> _Orders:
        decisions, symbols, (limit, stop, stop_loss, _), is_close = conditions
        bars = decisions + start + 1
        split = np.ones(len(bars)) if dataset.splits is None else np.nan_to_num(dataset.splits[bars, symbols], nan=1.0)
        return cls(bars * dataset.n_symbols + symbols, limit / split, stop / split, stop_loss / split, is_close)

    def at(self, keys: Places) -> _Orders:
        """Return the order of each key; without one, its prices are NaN."""
        order = np.argsort(self.keys, kind="stable")
        ordered = self.keys[order]
        places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
        is_found, places = ordered[places] == keys, order[places]
        limit, stop, stop_loss = (np.where(is_found, prices[places], np.nan) for prices in self[1:4])
        return _Orders(keys, limit, stop, stop_loss, is_found & self.is_close[places])
