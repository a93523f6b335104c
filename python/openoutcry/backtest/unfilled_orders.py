"""Caveat of a run whose orders did not fill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.data.fill_bars import fill_bars, fill_warnings
from openoutcry.untrusted.counted_nouns import counted

MOST_UNFILLED = 0.1
"""Share of unfilled orders above which a run has a caveat."""

_REASONS = {
    "no_price": "no price to fill at, or no close, on the next bar",
    "not_tradable": "trading not allowed on the next bar",
    "no_volume": "volume 0 on the next bar",
    "cost_too_high": "slippage and impact of half the price or more",
    "no_range": "no high or low on the next bar, or data without opens",
    "limit_not_reached": "limit not reached on the next bar",
    "stop_not_reached": "stop not reached on the next bar",
    "exited": "the position was closed first, by its stop loss or take profit",
}
_WAITING = {"limit_not_reached", "stop_not_reached", "exited"}
"""Reasons of day orders that fill on their condition only: such an order did not fail."""
_MOST_NAMES = 3


def unfilled_caveat(
    dataset: Dataset, window: tuple[int, int], events: Sequence[Mapping[str, Any]], count_fills: Callable[[], int]
) -> str:
    """Return why orders of a run did not fill; empty if enough of them did.

    A day order with a condition that was not met counts only if no order of the run filled.
    Only bars of the window are read: the caveats of an episode that goes on must not reveal later bars.

    Args:
        dataset: The market of the run.
        window: Bars `[start, end)` of the run.
        events: Events of the run other than fills.
        count_fills: Returns the number of its fills, by a replay; called only if orders were lost.
    """
    unfilled = [event for event in events if event["slug"] == "unfilled"]
    refused = sum(event["slug"] == "refused" for event in events)
    n_fills = count_fills() if unfilled or refused else 0
    lost = [event for event in unfilled if n_fills == 0 or event["reason"] not in _WAITING]
    if n_fills == 0 and (lost or refused):
        total = len(lost) + refused
        text = f"none of the {total:,} orders filled" if total > 1 else "the only order did not fill"
    elif lost and len(lost) > MOST_UNFILLED * (n_fills + len(lost)):
        text = f"{len(lost):,} of the {n_fills + len(lost):,} orders did not fill"
    else:
        return ""
    named = {str(event["symbol"]) for event in lost}
    bars = fill_bars(dataset, *window)
    never = {symbol: each for symbol, each in bars.items() if symbol in named and each.n_fills == 0}
    why = fill_warnings(never) + _reasons([event for event in lost if event["symbol"] not in never])
    why += [f"refused: {refused:,}"] if refused and n_fills == 0 else []
    return "; ".join([text, *why])


def _reasons(events: Sequence[Mapping[str, Any]]) -> list[str]:
    reasons = Counter(str(event["reason"]) for event in events)
    found = []
    for reason, count in reasons.most_common():
        symbols = Counter(str(event["symbol"]) for event in events if event["reason"] == reason)
        names = ", ".join(symbol for symbol, _ in symbols.most_common(_MOST_NAMES))
        names += f" and {counted(len(symbols) - _MOST_NAMES, 'other')}" if len(symbols) > _MOST_NAMES else ""
        found.append(f"{_REASONS.get(reason, reason)}: {count:,} ({names})")
    return found
