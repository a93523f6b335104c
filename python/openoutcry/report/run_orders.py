"""Day orders of a run on the bars of one symbol, for its page."""

from __future__ import annotations

import numpy as np

from openoutcry.backtest.fill_phases import EXITS, FillPhases
from openoutcry.backtest.run import Run
from openoutcry.report.views.orders_view import OrderMark, OrdersView

__all__ = ["MOST_BARS", "orders_of"]

MOST_BARS = 90
"""Bars of the chart; more have no room for their marks."""

_KINDS = ("limit", "stop", "stop loss", "take profit")


def orders_of(run: Run) -> OrdersView | None:
    """Return the day orders of the symbol that has the most; None without day orders.

    The bars end with the one that its last order met.
    """
    decisions, symbols, prices, _ = run._core.conditions()
    if not len(decisions):
        return None
    symbol = int(np.bincount(symbols).argmax())
    is_own = symbols == symbol
    data, (start, _) = run.dataset, run._settings["window"]
    last = start + int(decisions[is_own].max()) + 1
    first = max(start, last + 1 - MOST_BARS)
    bars = slice(first, last + 1)
    opens, closes = None if data.open is None else data.open[bars, symbol], data.close[bars, symbol]
    ranges = [each[bars, symbol] for each in (data.high, data.low) if each is not None]
    known = [closes, *ranges, *([] if opens is None else [opens])]
    shown = []
    for decision, *own in zip(decisions[is_own].tolist(), *(each[is_own].tolist() for each in prices), strict=True):
        bar = start + decision + 1
        split = 1.0 if data.splits is None else float(np.nan_to_num(data.splits[bar, symbol], nan=1.0))
        pairs = zip(_KINDS, own, strict=True)
        shown += [OrderMark(bar - first, kind, price / split) for kind, price in pairs if np.isfinite(price)]
    return OrdersView(
        symbol=data.symbols[symbol],
        n_orders=int(is_own.sum()),
        dates=data._core.dates[first : last + 1],
        lows=np.fmin.reduce(known),
        highs=np.fmax.reduce(known),
        closes=closes,
        prices=[each for each in shown if each.bar >= 0],
        fills=_fills(run, symbol, first, last),
    )


def _fills(run: Run, symbol: int, first: int, last: int) -> list[OrderMark]:
    """Return the fills of a symbol on some bars."""
    bars, symbols, shares, prices = run._fills
    is_exit = FillPhases.of(run).phases == EXITS
    name = run.dataset.symbols[symbol]
    own = [event for event in run.events if event["slug"] == "exited" and event["symbol"] == name]
    reasons = {event["bar"]: event["reason"].replace("_", " ") for event in own}
    found = []
    for place in np.flatnonzero((symbols == symbol) & (bars >= first) & (bars <= last)).tolist():
        kind = "purchase" if shares[place] > 0.0 else "sale"
        kind = reasons[int(bars[place])] if is_exit[place] else kind
        found.append(OrderMark(int(bars[place]) - first, kind, float(prices[place])))
    return found
