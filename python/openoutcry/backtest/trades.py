"""Round-trip trades of a run, and its costs per year.

A trade starts with the fill that opens a position in a symbol. Fills of the same sign increase the position, fills of
the other sign reduce it, and the trade ends when the position is 0. A fill that reverses the sign closes one trade and
opens another. The profit is the net cash flow of the position, including fees and dividends. The end of a trade is the
cause of the fill that closed it. A ruin closes every position at its mark: a loss beyond the account is part of the
profits. A position that is open at the end does not count as a trade.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.backtest.fee_rates import fee_rates
from openoutcry.backtest.fill_phases import exit_places
from openoutcry.backtest.run import Run
from openoutcry.errors import refusal

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Movement = tuple[int, int, str, float, float, float]
"""Bar, symbol, kind and three numbers.

The numbers are shares, price and fee of a `fill`, which may have one of the `ENDS` as its kind. A `dividend` and a
`split` have their value and two zeros, a `ruin` the mark at which it closes the position of the symbol.
"""

ENDS = ("order", "stop_loss", "take_profit", "settled", "liquidated", "ruined")
"""Causes of the fill that closes a trade."""


class Trade(NamedTuple):
    """A position from its opening to its close.

    `entry` is the notional of the fills that opened or increased it, `profit` its gain after fees, `end` one of `ENDS`.
    """

    symbol: int
    opened: int
    closed: int
    is_long: bool
    entry: float
    profit: float
    end: str = "order"


class TradeColumns(NamedTuple):
    """Closed trades as columns, in the order of their closes."""

    symbol: Places
    opened: Places
    closed: Places
    is_long: npt.NDArray[np.bool_]
    entry: Floats
    profit: Floats
    end: list[str]

    def part(self, places: slice) -> TradeColumns:
        """Return some of the trades."""
        return TradeColumns._make(column[places] for column in self)

    def rows(self) -> tuple[Trade, ...]:
        """Return each trade."""
        columns = [column.tolist() for column in self[:-1]]
        return tuple(map(Trade._make, zip(*columns, self.end, strict=True)))


@dataclass(frozen=True)
class Trades:
    """Closed trades and their statistics; amounts are in units of price times shares.

    Attributes:
        trades: The closed trades, in the order of their closes.
        n_open: Number of positions open at the end; they do not count as trades.
        n_trades: Number of closed trades.
        win_rate: Fraction of trades with a profit above 0.
        profit_factor: Sum of profits over the absolute sum of losses; None without a loss.
        average_win: Mean profit of the winning trades.
        average_loss: Mean loss of the losing trades, below 0.
        max_win: Largest profit.
        max_loss: Largest loss, below 0.
        average_duration: Mean number of bars from opening to close.
        undefined: Per statistic that is None, the reason.
    """

    trades: tuple[Trade, ...]
    n_open: int
    n_trades: int
    win_rate: float | None
    profit_factor: float | None
    average_win: float | None
    average_loss: float | None
    max_win: float | None
    max_loss: float | None
    average_duration: float | None
    undefined: dict[str, str]


_KINDS = ("dividend", "split", "ruin", *ENDS)
_DIVIDEND, _SPLIT, _RUIN, _ORDER = range(4)
_MOVEMENT_FIELDS = 6
_Columns = tuple[Places, Places, Places, Floats, Floats, Floats]
"""Bar, symbol, place in `_KINDS`, and the three numbers of movements."""


def trades_from_movements(movements: Sequence[Movement], n_symbols: int) -> Trades:
    """Return the trades of movements, which must be in chronological order.

    Raises:
        OpenOutcryError: `argument_invalid`: a number is not finite, or the movements are out of order.
    """
    found = [_checked(movement) for movement in movements]
    return _trades(_closed(_columns(found), checked_integer("n_symbols", n_symbols, 0, 2**31 - 1)))


def _checked(movement: Movement) -> tuple[Any, ...]:
    if len(movement) != _MOVEMENT_FIELDS:
        wanted = f"a movement must have {_MOVEMENT_FIELDS} values: bar, symbol, kind and three numbers"
        raise refusal("argument_invalid", f"{wanted}; received {len(movement)}")
    bar, symbol, kind, *numbers = movement
    kind = "order" if kind == "fill" else kind
    if kind not in _KINDS:
        raise refusal("argument_invalid", f"a movement must be a fill, dividend, split or ruin; received {kind!r}")
    if wrong := [number for number in numbers if not isinstance(number, (int, float, np.number))]:
        raise refusal("argument_invalid", f"a movement must have three numbers; received {wrong[0]!r}")
    places = (checked_integer(name, place, 0, 2**62) for name, place in (("bar", bar), ("symbol", symbol)))
    return (*places, _KINDS.index(kind), *numbers)


def _columns(rows: Sequence[tuple[Any, ...]]) -> _Columns:
    columns = list(zip(*rows, strict=True)) or [()] * 6
    bars, symbols, kinds = (np.array(column, dtype=np.int64) for column in columns[:3])
    values, prices, fees = (np.array(column, dtype=np.float64) for column in columns[3:])
    return bars, symbols, kinds, values, prices, fees


def _closed(movements: _Columns, n_symbols: int) -> tuple[TradeColumns, dict[str, Any]]:
    """Return the closed trades of movements, and their statistics by name."""
    fields = native.trades(movements, n_symbols)
    symbols, opened, closed, *others = fields.pop("trades")
    return TradeColumns(*(column.astype(np.int64) for column in (symbols, opened, closed)), *others), fields


def _trades(found: tuple[TradeColumns, dict[str, Any]]) -> Trades:
    return Trades(trades=found[0].rows(), **found[1])


def joined_trades(parts: Sequence[Trades]) -> Trades:
    """Return the statistics of the trades of several runs.

    Their profits must have the same unit.
    A position that is open at the end of a run does not continue in the next one.
    """
    if len(parts) == 1:
        return parts[0]
    trades = tuple(trade for part in parts for trade in part.trades)
    wins = [trade.profit for trade in trades if trade.profit > 0.0]
    losses = [trade.profit for trade in trades if trade.profit < 0.0]
    statistics: dict[str, float | None] = {
        "win_rate": len(wins) / len(trades) if trades else None,
        "profit_factor": sum(wins) / -sum(losses) if losses else None,
        "average_win": sum(wins) / len(wins) if wins else None,
        "average_loss": sum(losses) / len(losses) if losses else None,
        "max_win": max(wins, default=None),
        "max_loss": min(losses, default=None),
        "average_duration": sum(each.closed - each.opened for each in trades) / len(trades) if trades else None,
    }
    # Of a statistic that no part has; a part with trades states the reason best.
    reasons = [part.undefined for part in sorted(parts, key=lambda part: part.n_trades)]
    undefined = {
        name: next(each[name] for each in reversed(reasons) if name in each)
        for name, value in statistics.items()
        if value is None
    }
    n_open = sum(part.n_open for part in parts)
    return Trades(trades, n_open, len(trades), undefined=undefined, **statistics)


def annual_costs(run: Run) -> dict[str, float | None]:
    """Return each kind of cost as a fraction of NAV per year.

    The sum is the metric `cost`. None if the number of bars per year is unknown.
    """
    year = run.dataset.periods_per_year
    if year is None:
        return dict.fromkeys(run.costs)
    return {kind: native.annual_share(np.asarray(paid), np.asarray(run.nav), year) for kind, paid in run.costs.items()}


def trades_of(run: Run) -> Trades:
    """Return the trades of a run, with corporate actions, exits, liquidations, ruin.

    Profits are in units of the starting NAV; `symbol` is an index into `run.dataset.symbols`.
    """
    return _trades(closed_trades(run))


def closed_trades(run: Run) -> tuple[TradeColumns, dict[str, Any]]:
    """Return the closed trades as columns, and the other fields of `Trades`."""
    parts = [*_corporate_actions(run), *_fills(run)]
    steps = np.concatenate([step for step, _ in parts])
    movements = [np.concatenate(columns) for columns in zip(*(columns for _, columns in parts), strict=True)]
    if len(parts) > 1:
        # Stable: by bar, then by the order of the steps of a bar.
        order = np.lexsort((steps, movements[0]))
        movements = [column[order] for column in movements]
    bars, symbols, kinds, values, prices, fees = movements
    return _closed((bars, symbols, kinds, values, prices, fees), run.dataset.n_symbols)


_Part = tuple[Places, _Columns]
"""Place of each movement among the steps of its bar, and the movements."""


def _corporate_actions(run: Run) -> list[_Part]:
    """Return the dividends and splits of a run."""
    start, end = run.window.resolve(run.dataset, run.lookback)
    found: list[_Part] = []
    tables = ((_DIVIDEND, run.dataset.dividends, 0.0), (_SPLIT, run.dataset.splits, 1.0))
    for step, (kind, table, neutral) in enumerate(tables):
        if table is None:
            continue
        part = table[start + 1 : end]
        bars, symbols = np.nonzero(np.isfinite(part) & (part != neutral))
        zeros = np.zeros(len(bars))
        columns = (bars + start + 1, symbols, np.full(len(bars), kind), part[bars, symbols], zeros, zeros)
        found.append((np.full(len(bars), step), columns))
    return found


def _fills(run: Run) -> list[_Part]:
    """Return the fills, settlements and liquidations of a run, and its ruin."""
    bars, symbols, shares, prices = run._fills
    fees = fee_rates(run, bars, symbols) * np.abs(shares) * prices
    found = [(np.full(len(bars), 3), (bars, symbols, _causes(run), shares, prices, fees))]
    indices = {name: index for index, name in enumerate(run.dataset.symbols)}
    rows: list[tuple[int, tuple[Any, ...]]] = []
    for event in run.events:
        if event["slug"] == "delisted":
            where = (event["bar"], indices[event["symbol"]], _KINDS.index("settled"))
            rows.append((2, (*where, -event["shares"], event["price"], 0.0)))
        elif event["slug"] == "liquidated":
            # Both events state the shares of the position that was closed.
            where = (event["bar"], indices[event["symbol"]], _KINDS.index("liquidated"))
            (rate,) = fee_rates(run, *(np.array([place]) for place in where[:2]))
            fee = rate * abs(event["shares"]) * event["price"]
            rows.append((4, (*where, -event["shares"], event["price"], fee)))
        elif event["slug"] == "ruined":
            marks = marks_at(run, event["bar"])
            rows += [(5, (event["bar"], at, _RUIN, marks[at], 0.0, 0.0)) for at in np.unique(symbols).tolist()]
    return [*found, (np.array([step for step, _ in rows]), _columns([row for _, row in rows]))] if rows else found


def _causes(run: Run) -> Places:
    """Return the cause of each fill as a place in `_KINDS`."""
    kinds = np.full(len(run._fills[0]), _ORDER, dtype=np.int64)
    exits = [event for event in run.events if event["slug"] == "exited"]
    kinds[exit_places(run._fills, run.dataset, exits)] = [_KINDS.index(event["reason"]) for event in exits]
    return kinds


def marks_at(run: Run, bar: int) -> Floats:
    """Return the last close of each symbol up to a bar; NaN before the first.

    It is on the share basis of that bar.
    """
    close, splits = run.dataset.close[: bar + 1], run.dataset.splits
    marks = np.full(run.dataset.n_symbols, np.nan)
    for symbol, column in enumerate(close.T):
        closes = np.flatnonzero(np.isfinite(column))
        if len(closes):
            later = 1.0 if splits is None else float(np.nanprod(splits[closes[-1] + 1 : bar + 1, symbol]))
            marks[symbol] = column[closes[-1]] / later
    return marks
