"""Day orders on the page of a run: chart, trades, events, calibration."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.report.charts.order_chart import ORDER_MARKS, order_chart
from openoutcry.report.pages.orders_section import orders_section
from openoutcry.report.run_orders import MOST_BARS, orders_of
from openoutcry.report.run_report import full_view_of
from openoutcry.report.views.orders_view import OrderMark

DATA = oo.Dataset.synthetic(2, 200, 1)
WEIGHTS = np.full(DATA.close.shape, 0.4)
DAYS = [f"2024-01-0{day}" for day in range(1, 6)]
LIMITS = 0.995 * DATA.close
LIMITS[::3] = np.nan
BRACKET = oo.run_backtest(
    DATA,
    WEIGHTS,
    capture=True,
    limit_price=LIMITS,
    stop_loss=0.98 * DATA.close,
    take_profit=1.02 * DATA.close,
)


def market(*rows: tuple[float, float, float, float], **columns: np.ndarray) -> oo.Dataset:
    """Return a market of one symbol from rows of open, high, low and close."""
    open_, high, low, close = (np.array(column)[:, None] for column in zip(*rows, strict=True))
    return oo.Dataset.from_arrays(DAYS[: len(rows)], ["A"], close, open_, high, low, **columns)


def test_the_view_has_the_prices_and_fills_of_the_symbol_with_the_most_orders() -> None:
    data = market((100.0, 101.0, 99.0, 100.0), (50.0, 51.0, 47.0, 50.0), splits=np.array([[1.0], [2.0]]))
    arrays: dict[str, Any] = {name: np.array([[price], [np.nan]]) for name, price in (("limit_price", 98.0),)}
    view = orders_of(oo.run_backtest(data, np.array([[0.5], [np.nan]]), (0, 2), stop_loss=[[96.0], [np.nan]], **arrays))
    assert view is not None
    assert (view.symbol, view.n_orders, list(view.dates)) == ("A", 1, DAYS[:2])
    assert (view.lows.tolist(), view.highs.tolist()) == ([99.0, 47.0], [101.0, 51.0])
    assert view.prices == [OrderMark(1, "limit", 49.0), OrderMark(1, "stop loss", 48.0)]
    assert view.fills == [OrderMark(1, "purchase", 49.0), OrderMark(1, "stop loss", pytest.approx(48.0 * 0.9998))]


def test_the_bars_of_a_long_run_are_the_last_ones_with_an_order() -> None:
    view = orders_of(BRACKET)
    assert view is not None
    assert len(view.dates) == MOST_BARS
    assert view.dates[-1] == BRACKET.dates[-1]
    own = BRACKET.trades["symbol"] == view.symbol
    first = BRACKET.window.start + len(BRACKET.dates) - MOST_BARS
    assert len(view.fills) == int((own & (BRACKET.trades["bar"] >= first)).sum()) > 0


def test_each_kind_of_mark_is_drawn_and_in_the_legend() -> None:
    view = orders_of(BRACKET)
    assert view is not None
    chart, section = order_chart(view), orders_section(view)
    for kind in ("limit", "stop loss", "take profit", "purchase", "sale"):
        assert f'data-for="{kind}"' in section
        n_prices = sum(each.kind == kind for each in view.prices)
        dashes = re.findall(rf'<path class="oo-line oo-strong {ORDER_MARKS[kind]}" d="([^"]*)"', chart)
        assert sum(path.count("M") for path in dashes) == n_prices
    exits = [each for each in view.fills if each.kind in {"stop loss", "take profit"}]
    assert chart.count('d="M-5 0L0 -5L5 0L0 5z"') == len(exits) > 0
    assert chart.count("<circle") == len(view.fills) - len(exits) > 0
    assert 'data-for="stop"' not in section


def test_a_page_shows_day_orders_ends_of_trades_and_reasons(tmp_path: Path) -> None:
    BRACKET.report(tmp_path / "bracket.html")
    page = (tmp_path / "bracket.html").read_text("utf-8")
    assert "Day orders</h" in page
    assert "Ended by" in page
    assert "limit_not_reached" in page
    assert "filled inside a bar at exactly the stop price" in page
    tables = BRACKET.tables()
    assert set(tables["trades"]["end"]) == {"stop_loss", "take_profit"}
    counts = {tuple(row[:2]): row[2] for row in np.asarray(tables["events"])}
    (row,) = [row for row in np.asarray(tables["metrics"]).tolist() if row[0] == "max_gross_at_fill"]
    own, other = row[2:4]
    benchmark = oo.run_backtest(DATA, "buy-and-hold", BRACKET.window)
    assert (own, other) == pytest.approx((BRACKET.max_gross_at_fill, benchmark.max_gross_at_fill))
    unfilled = [event for event in BRACKET.events if event.get("reason") == "limit_not_reached"]
    assert counts["unfilled", "limit_not_reached"] == len(unfilled)


def test_a_page_without_day_orders_has_none_of_it(tmp_path: Path) -> None:
    plain = oo.run_backtest(DATA, WEIGHTS, capture=True)
    plain.report(tmp_path / "plain.html")
    page = (tmp_path / "plain.html").read_text("utf-8")
    assert orders_of(plain) is None
    for text in ("Day orders", "Ended by", "Gross exposure at fills", "Lowest NAV inside a bar", "stop price"):
        assert text not in page


def test_an_order_that_an_exit_closed_or_that_fills_at_the_close_has_no_outcome() -> None:
    fields = iter([{}, {"stop_loss": 99.0}, {"at": "close"}, {}])
    weights = iter([0.5, 0.6, 0.7, 0.8])

    def decide(observation: dict[str, Any]) -> str:
        order = {"symbol": "A", "action": "buy", "target_weight": next(weights), "confidence": 0.9}
        return json.dumps({"orders": [order | next(fields)]})

    flat, lower = (100.0, 102.0, 99.5, 101.0), (100.0, 101.0, 98.0, 101.0)
    run = oo.run_backtest(market(flat, flat, lower, flat, flat), decide, (0, 5), capture=True)
    view = full_view_of(run)
    assert run.event_counts["exited"] == 1
    assert view.calibration is not None
    assert view.calibration.n_orders == 2
