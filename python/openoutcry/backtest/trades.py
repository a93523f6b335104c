"""Trades of a run, positions from their opening to their close, and its costs.

A trade opens with the fill that leaves a symbol with shares that it had none of before. Fills of the same sign add to
it, those of the other sign close a part, and it ends where none are left. A fill that turns the sign closes one trade
and opens another. The profit is all cash that the position brought, fees and dividends counted; what is open at the end
is no trade.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import whole
from openoutcry.backtest.run import Run

Movement = tuple[int, int, str, float, float, float]
"""Bar, symbol, kind (`fill`, `dividend` or `split`), then shares, price and fee of a fill, or the number of another."""


class Trade(NamedTuple):
    """A position from its opening to its close.

    `entry` is the notional of the fills that opened it or added to it, `profit` what it brought after fees.
    """

    symbol: int
    opened: int
    closed: int
    is_long: bool
    entry: float
    profit: float


@dataclass(frozen=True)
class Trades:
    """Closed trades and what they were like, in the unit of prices times shares.

    Attributes:
        trades: In the order of their closes.
        n_open: Positions open at the end, which are no trades.
        n_trades: Closed trades.
        win_rate: Share with a profit above 0.
        profit_factor: Sum of profits over the size of the sum of losses; None without a loss.
        average_win: Mean profit of those that won.
        average_loss: Mean loss of those that lost, below 0.
        max_win: Largest profit.
        max_loss: Largest loss, below 0.
        average_duration: Mean bars from opening to close.
        undefined: Why a number is None.
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


def trades_of_movements(movements: Sequence[Movement], n_symbols: int) -> Trades:
    """Return the trades of movements in the order of time.

    Raises:
        OpenOutcryError: `argument_invalid`: a number is none, or the movements are out of order.
    """
    found = native.trades(list(movements), whole("n_symbols", n_symbols, 0, 2**31 - 1))
    return Trades(**found | {"trades": tuple(Trade(*each) for each in found["trades"])})


def costs_a_year(run: Run) -> dict[str, float]:
    """Return each kind of cost as a share of NAV a year.

    Their sum is the metric `cost`.
    """
    year = run.dataset.periods_per_year
    return {kind: native.annual_share(np.asarray(paid), np.asarray(run.nav), year) for kind, paid in run.costs.items()}


def trades_of(run: Run) -> Trades:
    """Return the trades of a run: fills, settlements and liquidations, after actions.

    Profits are in units of the starting NAV; symbols are places in `run.dataset.symbols`.
    """
    placed = [*_actions(run), *_fills(run)]
    return trades_of_movements([movement for _, movement in sorted(placed, key=itemgetter(0))], run.dataset.n_symbols)


def _actions(run: Run) -> list[tuple[tuple[int, int], Movement]]:
    """Return dividends and splits with their place in time: bar, then step."""
    start, end = run.window.resolve(run.dataset, run.lookback)
    found: list[tuple[tuple[int, int], Movement]] = []
    for step, (kind, table, neutral) in enumerate(
        (("dividend", run.dataset.dividends, 0.0), ("split", run.dataset.splits, 1.0))
    ):
        if table is not None:
            for bar in range(start + 1, end):
                for symbol, value in enumerate(table[bar].tolist()):
                    if isfinite(value) and value != neutral:
                        found.append(((bar, step), (bar, symbol, kind, value, 0.0, 0.0)))
    return found


def _fills(run: Run) -> list[tuple[tuple[int, int], Movement]]:
    """Return fills, and what an event sold or bought, with their place in time."""
    rate = run.cost_model.fee_bps / 1e4
    places = {name: place for place, name in enumerate(run.dataset.symbols)}
    found: list[tuple[tuple[int, int], Movement]] = []
    for bar, symbol, shares, price in run._core.fills():
        found.append(((bar, 3), (bar, symbol, "fill", shares, price, rate * abs(shares) * price)))
    for event in run.events:
        # Both tell of the shares that were held, which are gone.
        if event["slug"] in {"delisted", "liquidated"}:
            bar, shares, price = event["bar"], -event["shares"], event["price"]
            step, fee = (2, 0.0) if event["slug"] == "delisted" else (4, rate * abs(shares) * price)
            found.append(((bar, step), (bar, places[event["symbol"]], "fill", shares, price, fee)))
    return found
