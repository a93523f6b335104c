"""Section with the closed trades of a run, which a script filters and pages."""

from __future__ import annotations

from dataclasses import replace

from openoutcry.report.pages.table_parts import table_html
from openoutcry.report.text_format import attribute
from openoutcry.report.views.analysis_view import Analysis
from openoutcry.report.views.table_view import Table

__all__ = ["MOST_ROWS", "trades_section"]

MOST_ROWS = 300
"""Trades on the page: the latest ones."""

_SYMBOL, _SIDE, _PROFIT = "symbol", "side", "profit"


def trades_section(analysis: Analysis, key: str) -> str:
    """Return the statistics of trades, their list, and the open positions."""
    trades = analysis.tables.get("trades")
    if trades is None:
        return ""
    statistics = table_html(analysis.tables["trade_statistics"], key)
    held = analysis.tables["open_positions"]
    positions = table_html(held, key) if held.rows else ""
    if not trades.rows:
        return f"<p>No trade was closed.</p>{statistics}{positions}"
    return statistics + _list(trades, key) + positions


def _list(trades: Table, key: str) -> str:
    places = {column.name: place for place, column in enumerate(trades.columns)}
    n_shown = min(len(trades.rows), MOST_ROWS)
    attributes = []
    for row in trades.rows[:n_shown]:
        symbol, side, profit = (row[places[name]] for name in (_SYMBOL, _SIDE, _PROFIT))
        attributes.append(
            attribute("data-symbol", str(symbol)) + attribute("data-side", str(side)) + f' data-profit="{profit:.6g}"'
        )
    count = (
        f"{len(trades.rows):,}" if n_shown == len(trades.rows) else f"the latest {n_shown:,} of {len(trades.rows):,}"
    )
    titled = replace(trades, title=f"{trades.title}: {count}.")
    table = table_html(titled, key, label="Closed trades", row_attributes=attributes, rows=n_shown)
    return f'<div class="trades">{table}</div>'
