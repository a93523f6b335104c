"""Closed trades of a run with dates, prices and profits in account currency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Floats, Places, Trade, TradeColumns, closed_trades, marks_at

__all__ = ["OpenPosition", "RoundTrip", "open_positions", "payoff_of", "round_trips"]


class RoundTrip(NamedTuple):
    """A closed trade.

    Attributes:
        symbol: Its symbol.
        side: `long` or `short`.
        entry_date: Date of the fill that opened it.
        exit_date: Date of the fill that closed it.
        entry_price: Price of the opening fill; NaN if it is not among the fills.
        exit_price: Price of the closing fill, settlement or liquidation; the mark for a ruin.
        quantity: Shares of all fills that opened or increased it, on the share basis of the exit; NaN if the fill that
            opened it is not among the fills.
        notional: Price times shares of these fills, in account currency.
        profit: Profit after fees, with dividends, in account currency.
        return_: Profit over `notional`.
        n_bars: Bars from opening to close.
        end: Cause of the close: `order`, `stop_loss`, `take_profit`, `settled`, `liquidated` or `ruined`.
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
    end: str


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


def round_trips(run: Run, trades: TradeColumns | None = None) -> tuple[RoundTrip, ...]:
    """Return closed trades of a run, all by default, in the order of their closes."""
    found = closed_trades(run)[0] if trades is None else trades
    prices, fills = _prices(run, found), _fills_by_symbol(run, found)
    symbols, dates, capital = run.dataset.symbols, run.dataset._core.dates, run.cost_model.capital
    return tuple(
        RoundTrip(
            symbol=symbols[each.symbol],
            side="long" if each.is_long else "short",
            entry_date=dates[each.opened],
            exit_date=dates[each.closed],
            entry_price=prices.get((each.opened, each.symbol), [float("nan")])[0],
            exit_price=_exit_price(each, prices.get((each.closed, each.symbol), [])),
            quantity=_quantity(run, each, fills[each.symbol]) * capital,
            notional=each.entry * capital,
            profit=each.profit * capital,
            return_=each.profit / each.entry,
            n_bars=each.closed - each.opened,
            end=each.end,
        )
        for each in found.rows()
    )


def _exit_price(trade: Trade, prices: list[float]) -> float:
    """Return the closing price among the prices of the last bar.

    That of an order comes first, that of another cause last.
    """
    if not prices:
        return float("nan")
    return prices[0] if trade.end == "order" else prices[-1]


_Fills = tuple[Places, Floats, Floats]
"""Bar, shares and price of the fills of one symbol."""


def _fills_by_symbol(run: Run, trades: TradeColumns) -> dict[int, _Fills]:
    """Return the fills of each symbol that has one of the trades."""
    bars, symbols, shares, prices = run._fills
    order = np.argsort(symbols, kind="stable") if run.dataset.n_symbols > 1 else slice(None)
    ordered = symbols[order]
    found = {}
    for symbol in np.unique(trades.symbol).tolist():
        own = slice(*np.searchsorted(ordered, [symbol, symbol + 1]).tolist())
        found[symbol] = (bars[order][own], shares[order][own], prices[order][own])
    return found


def _quantity(run: Run, trade: Trade, fills: _Fills) -> float:
    """Return the shares of a trade, with those of the splits before its close.

    The fill that opened it may have closed another trade: its part is what the notional leaves.
    """
    sign = 1.0 if trade.is_long else -1.0
    inside = slice(*np.searchsorted(fills[0], [trade.opened, trade.closed + 1]).tolist())
    rows: list[tuple[int, float, float]] = list(zip(*(column[inside].tolist() for column in fills), strict=True))
    added = [(bar, sign * shares, price) for bar, shares, price in rows if sign * shares > 0.0]
    if not added or added[0][0] != trade.opened:
        return float("nan")
    rest = sum(shares * price for _, shares, price in added[1:])
    added[0] = (trade.opened, (trade.entry - rest) / added[0][2], added[0][2])
    splits = run.dataset.splits
    if splits is None:
        return sum(shares for _, shares, _ in added)
    column = splits[:, trade.symbol]
    return sum(shares * float(np.nanprod(column[bar + 1 : trade.closed + 1])) for bar, shares, _ in added)


def _prices(run: Run, trades: TradeColumns) -> Mapping[tuple[int, int], list[float]]:
    """Return prices of fills and settlements at the ends of trades, in order.

    By bar and symbol.
    """
    bars, symbols, _, filled = run._fills
    ends = np.unique(np.concatenate([trades.opened, trades.closed]))
    kept = np.flatnonzero(np.isin(bars, ends))
    prices: dict[tuple[int, int], list[float]] = {}
    for bar, symbol, price in zip(bars[kept].tolist(), symbols[kept].tolist(), filled[kept].tolist(), strict=True):
        prices.setdefault((bar, symbol), []).append(price)
    places = {name: place for place, name in enumerate(run.dataset.symbols)}
    for event in run.events:
        if event["slug"] in {"delisted", "liquidated"}:
            prices.setdefault((event["bar"], places[event["symbol"]]), []).append(event["price"])
        elif event["slug"] == "ruined":
            marks = marks_at(run, event["bar"])
            for symbol in np.unique(trades.symbol).tolist():
                prices.setdefault((event["bar"], symbol), []).append(float(marks[symbol]))
    return prices


def payoff_of(profits: Floats) -> tuple[float | None, float | None]:
    """Return the payoff ratio and the expectancy of the profits of closed trades.

    The payoff ratio is the mean profit of the winners over the mean loss of the losers; None without either. The
    expectancy is the mean profit of a trade, in its unit; None without a trade.
    """
    if not len(profits):
        return None, None
    won, lost = profits[profits > 0.0], profits[profits < 0.0]
    payoff = float(won.mean() / -lost.mean()) if len(won) and len(lost) else None
    return payoff, float(profits.mean())


def open_positions(run: Run) -> tuple[OpenPosition, ...]:
    """Return the positions at the last close, which are no trades yet."""
    held = zip(run.dataset.symbols, run.weights[-1].tolist(), strict=True)
    return tuple(OpenPosition(name, "long" if weight > 0.0 else "short", weight) for name, weight in held if weight)
