"""Closed trades of a run with dates, prices and profits in account currency."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Trade, Trades, trades_of

__all__ = ["OpenPosition", "RoundTrip", "open_positions", "payoff_of", "round_trips"]


class RoundTrip(NamedTuple):
    """A closed trade.

    Attributes:
        symbol: Its symbol.
        side: `long` or `short`.
        entry_date: Date of the fill that opened it.
        exit_date: Date of the fill that closed it.
        entry_price: Price of the opening fill; NaN if it is not among the fills.
        exit_price: Price of the closing fill, settlement or liquidation.
        quantity: Shares of all fills that opened or increased it, on the share basis of the exit; NaN if the fill that
            opened it is not among the fills.
        notional: Price times shares of these fills, in account currency.
        profit: Profit after fees, with dividends, in account currency.
        return_: Profit over `notional`.
        n_bars: Bars from opening to close.
    """

    symbol: str
    side: str
    entry_date: str
    exit_date: str
    entry_price: float
    exit_price: float
    quantity: float
    notional: float
    profit: float
    return_: float
    n_bars: int


class OpenPosition(NamedTuple):
    """A position at the last close.

    Attributes:
        symbol: Its symbol.
        side: `long` or `short`.
        weight: Signed fraction of NAV.
    """

    symbol: str
    side: str
    weight: float


def round_trips(run: Run, trades: Trades | None = None) -> tuple[RoundTrip, ...]:
    """Return the closed trades of a run, in the order of their closes."""
    found = trades_of(run) if trades is None else trades
    prices = _prices(run)
    fills: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for bar, symbol, shares, price in run._core.fills():
        fills[symbol].append((bar, shares, price))
    symbols, dates, capital = run.dataset.symbols, run.dataset._core.dates, run.cost_model.capital
    return tuple(
        RoundTrip(
            symbol=symbols[each.symbol],
            side="long" if each.is_long else "short",
            entry_date=dates[each.opened],
            exit_date=dates[each.closed],
            entry_price=prices.get((each.opened, each.symbol), [float("nan")])[0],
            exit_price=prices.get((each.closed, each.symbol), [float("nan")])[-1],
            quantity=_quantity(run, each, fills[each.symbol]) * capital,
            notional=each.entry * capital,
            profit=each.profit * capital,
            return_=each.profit / each.entry,
            n_bars=each.closed - each.opened,
        )
        for each in found.trades
    )


def _quantity(run: Run, trade: Trade, fills: Sequence[tuple[int, float, float]]) -> float:
    """Return the shares of a trade, with those of the splits before its close.

    The fill that opened it may have closed another trade: its part is what the notional leaves.
    """
    sign = 1.0 if trade.is_long else -1.0
    first, last = (bisect(fills, bar, key=itemgetter(0)) for bar in (trade.opened - 1, trade.closed))
    added = [(bar, sign * shares, price) for bar, shares, price in fills[first:last] if sign * shares > 0.0]
    if not added or added[0][0] != trade.opened:
        return float("nan")
    rest = sum(shares * price for _, shares, price in added[1:])
    added[0] = (trade.opened, (trade.entry - rest) / added[0][2], added[0][2])
    splits = run.dataset.splits
    if splits is None:
        return sum(shares for _, shares, _ in added)
    column = splits[:, trade.symbol]
    return sum(shares * float(np.nanprod(column[bar + 1 : trade.closed + 1])) for bar, shares, _ in added)


def _prices(run: Run) -> dict[tuple[int, int], list[float]]:
    """Return prices of fills and settlements by bar and symbol, in order."""
    prices: dict[tuple[int, int], list[float]] = {}
    for bar, symbol, _, price in run._core.fills():
        prices.setdefault((bar, symbol), []).append(price)
    places = {name: place for place, name in enumerate(run.dataset.symbols)}
    for event in run.events:
        if event["slug"] in {"delisted", "liquidated"}:
            prices.setdefault((event["bar"], places[event["symbol"]]), []).append(event["price"])
    return prices


def payoff_of(trips: Sequence[RoundTrip]) -> tuple[float | None, float | None]:
    """Return the payoff ratio and the expectancy of closed trades.

    The payoff ratio is the mean profit of the winners over the mean loss of the losers; None without either. The
    expectancy is the mean profit of a trade, in account currency; None without a trade.
    """
    profits = np.array([each.profit for each in trips])
    if not len(profits):
        return None, None
    won, lost = profits[profits > 0.0], profits[profits < 0.0]
    payoff = float(won.mean() / -lost.mean()) if len(won) and len(lost) else None
    return payoff, float(profits.mean())


def open_positions(run: Run) -> tuple[OpenPosition, ...]:
    """Return the positions at the last close, which are no trades yet."""
    held = zip(run.dataset.symbols, run.weights[-1].tolist(), strict=True)
    return tuple(OpenPosition(name, "long" if weight > 0.0 else "short", weight) for name, weight in held if weight)
