"""Traces: a run bar by bar with the decisions of its agent, for the inspector."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.backtest.run import Run
from openoutcry.errors import refusal
from openoutcry.report.views.trace_view import Event, Fill, Order, Step, Trace
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["trace_of"]

_MALFORMED = "malformed"


def trace_of(run: Run, decisions: Sequence[str], faults: Mapping[int, str] | None = None) -> Trace:
    """Return the observation, decision and fills at each bar of a run.

    Args:
        run: The run.
        decisions: Raw text of each decision; fewer than the bars if the account ended early.
        faults: Index of a decision to the slug of its fault, such as `agent_late`.

    Raises:
        OpenOutcryError: `shape_mismatch`: there are more decisions than bars.
    """
    n_bars, start = len(run.dates), _start(run)
    if len(decisions) > n_bars - 1:
        wanted = f"at most {counted(n_bars - 1, 'decision is', 'decisions are')} required"
        raise refusal("shape_mismatch", f"{wanted}; received {len(decisions)}")
    marks = _marks(run)[start : start + n_bars]
    held = run.weights * run.nav[:, None]
    shares = np.divide(held, marks, out=np.zeros_like(held), where=np.isfinite(marks) & (held != 0.0))
    fills = _by_decision(_fills(run))
    events = _by_decision((event["decision"], _event(event)) for event in run.events if event["slug"] != "filled")
    steps = []
    for place, text in enumerate(decisions):
        orders, reasoning, is_readable = _read(text)
        fault = (faults or {}).get(place, "" if is_readable else _MALFORMED)
        steps.append(Step(orders, reasoning, fault, fills.get(place, ()), events.get(place, ())))
    return Trace(run.nav - held.sum(axis=1), shares, marks, steps)


def _start(run: Run) -> int:
    return run.dataset.dates.index(run.dates[0])


def _marks(run: Run) -> npt.NDArray[np.float64]:
    """Return the last traded close of each symbol, adjusted for splits up to its bar.

    NaN before the symbol is listed and after it is delisted.
    """
    data = run.dataset
    marks: npt.NDArray[np.float64] = data.close.copy()
    splits, settled = data.splits, data.delistings
    for t in range(1, len(marks)):
        carried = marks[t - 1] if splits is None else marks[t - 1] / splits[t]
        marks[t] = np.where(np.isfinite(marks[t]), marks[t], carried)
        if settled is not None:
            marks[t, np.isfinite(settled[: t + 1]).any(axis=0)] = np.nan
    return marks


def _fills(run: Run) -> list[tuple[int, Fill]]:
    columns = (run.trades[name].tolist() for name in ("bar", "symbol", "shares", "price"))
    first = _start(run) + 1
    return [(bar - first, Fill(symbol, shares, price)) for bar, symbol, shares, price in zip(*columns, strict=True)]


def _by_decision(pairs: Any) -> dict[int, list[Any]]:
    grouped: dict[int, list[Any]] = {}
    for place, each in pairs:
        grouped.setdefault(place, []).append(each)
    return grouped


def _event(event: Mapping[str, Any]) -> Event:
    return Event(event["slug"], event.get("symbol", ""), event.get("reason", ""))


def _read(text: str) -> tuple[list[Order], str, bool]:
    """Parse a decision: orders, reasoning, and whether it is valid.

    Invalid text is returned as the reasoning.
    """
    try:
        decision = json.loads(text)
        orders = [_order(each) for each in decision["orders"]]
        reasoning = decision.get("reasoning", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return [], text, False
    return orders, reasoning if isinstance(reasoning, str) else "", True


def _order(order: Mapping[str, Any]) -> Order:
    weight, confidence = _number(order["target_weight"]), _number(order.get("confidence"))
    why, is_at_close = str(order.get("rationale", "")), order.get("at") == "close"
    return Order(str(order["symbol"]), str(order["action"]), weight, confidence, why, is_at_close)


def _number(value: Any) -> float | None:
    if type(value) is float and math.isfinite(value):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
