"""MCP session managers for tests, and functions that trade on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from recorded_run import COSTS, DATA, LIMITS, trend

import openoutcry as oo
from openoutcry.harness.mcp import Market, SessionManager

WINDOW = (19, 40)
RULES = {
    "window": "+19:+40",
    "seed": 7,
    "costs": {"slippage_jitter": 0.5, "cash_bps": 80, "fee_bps": 0.1},
    "limits": {"max_gross": None, "max_participation": 0.5},
}
HOLD: dict[str, Any] = {"orders": []}
# Kinds of changes to a market after a bar.
KINDS = (
    *("prices", "volume", "listing", "splits", "dividends", "delisting", "halts", "risk_free"),
    *("fundamentals", "news", "notices", "length"),
)
Decide = Callable[[dict[str, Any]], dict[str, Any]]


def manager_of(dataset: oo.Dataset = DATA, **given: Any) -> SessionManager:
    return SessionManager((Market("market", dataset),), **given)


def new_session(manager: SessionManager, **given: Any) -> dict[str, Any]:
    return manager.reset(RULES | given)


def stepped(manager: SessionManager, answer: dict[str, Any], decide: Decide = trend) -> dict[str, Any]:
    return manager.step({"session": answer["session"], "decision": decide(answer["observation"])})


def bought(symbol: str) -> dict[str, Any]:
    return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": 0.1}]}


def played(manager: SessionManager, answer: dict[str, Any], decide: Decide = trend) -> list[dict[str, Any]]:
    """Run an episode to its end and return its steps."""
    steps = [answer]
    while not steps[-1].get("done"):
        steps.append(stepped(manager, steps[-1], decide))
    return steps[1:]


def backtest(dataset: oo.Dataset, window: tuple[int, int] = WINDOW, agent: Any = trend) -> oo.Run:
    return oo.run_backtest(dataset, agent, window, COSTS, LIMITS, 7, capture=True)


def without_session(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in answer.items() if name != "session"} for answer in answers]


def refused(call: Callable[[], Any]) -> oo.OpenOutcryError:
    with pytest.raises(oo.OpenOutcryError) as caught:
        call()
    return caught.value


def market_with(*kinds: str, bar: int = 0) -> oo.Dataset:
    """Return a market with every kind of event, changed after a bar in the given kinds."""
    columns = DATA._columns() | {"risk_free": np.full(DATA.n_bars, 1e-4)}
    for name, value in columns.items():
        columns[name] = value.copy() if isinstance(value, np.ndarray) else value
    columns["splits"][15, 0] = 2.0
    columns["dividends"][16, 1] = 0.5
    columns["tradable"][21, 2] = False
    days = DATA.dates
    columns["fundamentals"] = [("S000", days[14], "sales", 1.0), ("S001", days[21], "sales", 2.0)]
    columns["news"] = [("S000", days[15], "up"), ("S001", days[21], "down")]
    for kind in kinds:
        _CHANGES[kind](columns, bar + 1)
    return oo.Dataset.from_arrays(**columns, name="other" if kinds else "one", notices=["it fell"] * bool(kinds))


def _lengthen(columns: dict[str, Any], after: int) -> None:
    more = [f"2030-01-{day:02d}" for day in range(1, 11)]
    for name, value in columns.items():
        if isinstance(value, np.ndarray):
            columns[name] = np.concatenate([value, np.repeat(value[-1:], len(more), axis=0)])
    columns["dates"] = [*columns["dates"], *more]


def _list_late(columns: dict[str, Any], after: int) -> None:
    fills = {"splits": 1.0, "dividends": 0.0, "tradable": True, "delistings": np.nan}
    for name, value in columns.items():
        if isinstance(value, np.ndarray) and value.ndim == 2:
            late = np.full((len(value), 1), fills.get(name, np.nan), dtype=value.dtype)
            if name not in fills:
                late[after:] = 5.0
            columns[name] = np.column_stack([value, late])
    columns["symbols"] = [*columns["symbols"], "LATE"]


def _change_prices(columns: dict[str, Any], after: int) -> None:
    for name in ("close", "open", "high", "low"):
        columns[name][after:] = columns[name][after:][::-1] * 3.0 + 1.0


def _settle(columns: dict[str, Any], after: int) -> None:
    columns["delistings"][after, 1] = -0.5
    for name in ("close", "open", "high", "low", "volume"):
        columns[name][after:, 1] = np.nan


def _halt(columns: dict[str, Any], after: int) -> None:
    columns["tradable"][after:] = False


def _scale(name: str, value: float) -> Callable[[dict[str, Any], int], None]:
    def scaled(columns: dict[str, Any], after: int) -> None:
        columns[name][after:] = value

    return scaled


def _append(name: str, *item: Any) -> Callable[[dict[str, Any], int], None]:
    def add_item(columns: dict[str, Any], after: int) -> None:
        columns[name] = [*columns[name], ("S002", DATA.dates[after], *item)]

    return add_item


_CHANGES: dict[str, Callable[[dict[str, Any], int], None]] = {
    "prices": _change_prices,
    "volume": _scale("volume", 1.0),
    "listing": _list_late,
    "splits": _scale("splits", 2.0),
    "dividends": _scale("dividends", 3.0),
    "delisting": _settle,
    "halts": _halt,
    "risk_free": _scale("risk_free", 0.01),
    "fundamentals": _append("fundamentals", "sales", 9.0),
    "news": _append("news", "it fell"),
    "notices": lambda columns, after: None,
    "length": _lengthen,
}
