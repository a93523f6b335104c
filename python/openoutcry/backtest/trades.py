"""Round-trip trades of a run, and its costs per year.

A trade starts with the fill that opens a position in a symbol. Fills of the same sign increase the position, fills of
the other sign reduce it, and the trade ends when the position is 0. A fill that reverses the sign closes one trade and
opens another. The profit is the net cash flow of the position, including fees and dividends. A position that is open at
the end does not count as a trade.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.backtest.run import Run

Movement = tuple[int, int, str, float, float, float]
"""Bar, symbol, kind, then shares, price and fee of a `fill`, or the value of a `dividend` or `split` and two zeros."""


class Trade(NamedTuple):
    """A position from its opening to its close.

    `entry` is the notional of the fills that opened or increased it, `profit` its gain after fees.
    """

    symbol: int
    opened: int
    closed: int
    is_long: bool
    entry: float
    profit: float


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


def trades_from_movements(movements: Sequence[Movement], n_symbols: int) -> Trades:
    """Return the trades of movements, which must be in chronological order.

    Raises:
        OpenOutcryError: `argument_invalid`: a number is not finite, or the movements are out of order.
    """
    fields = native.trades(list(movements), checked_integer("n_symbols", n_symbols, 0, 2**31 - 1))
    return Trades(**fields | {"trades": tuple(Trade(*trade) for trade in fields["trades"])})


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
    """Return the trades of a run, including corporate actions and liquidations.

    Profits are in units of the starting NAV; `symbol` is an index into `run.dataset.symbols`.
    """
    timed = [*_corporate_actions(run), *_fills(run)]
    return trades_from_movements([movement for _, movement in sorted(timed, key=itemgetter(0))], run.dataset.n_symbols)


def _corporate_actions(run: Run) -> list[tuple[tuple[int, int], Movement]]:
    """Return dividends and splits with their sort key: bar, then order within the bar."""
    start, end = run.window.resolve(run.dataset, run.lookback)
    movements: list[tuple[tuple[int, int], Movement]] = []
    for step, (kind, table, neutral) in enumerate(
        (("dividend", run.dataset.dividends, 0.0), ("split", run.dataset.splits, 1.0))
    ):
        if table is not None:
            for bar in range(start + 1, end):
                for symbol, value in enumerate(table[bar].tolist()):
                    if isfinite(value) and value != neutral:
                        movements.append(((bar, step), (bar, symbol, kind, value, 0.0, 0.0)))
    return movements


def _fills(run: Run) -> list[tuple[tuple[int, int], Movement]]:
    """Return fills, settlements and liquidations with their sort key."""
    rate = run.cost_model.fee_bps / 1e4
    indices = {name: index for index, name in enumerate(run.dataset.symbols)}
    movements: list[tuple[tuple[int, int], Movement]] = []
    for bar, symbol, shares, price in run._core.fills():
        movements.append(((bar, 3), (bar, symbol, "fill", shares, price, rate * abs(shares) * price)))
    for event in run.events:
        # Both events state the shares of the position that was closed.
        if event["slug"] in {"delisted", "liquidated"}:
            bar, shares, price = event["bar"], -event["shares"], event["price"]
            step, fee = (2, 0.0) if event["slug"] == "delisted" else (4, rate * abs(shares) * price)
            movements.append(((bar, step), (bar, indices[event["symbol"]], "fill", shares, price, fee)))
    return movements
