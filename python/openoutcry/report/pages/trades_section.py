"""Section with the closed trades of a run, which a script filters and pages."""

from __future__ import annotations

from dataclasses import replace

from openoutcry.report.pages.table_parts import table_html
from openoutcry.report.views.analysis_view import Analysis
from openoutcry.report.views.table_view import Table

__all__ = ["MOST_ROWS", "trades_section"]

MOST_ROWS = 200
"""Trades on the page: the latest ones."""


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
    profit = [column.name for column in trades.columns].index("profit")
    shown = trades.rows[:MOST_ROWS]
    is_all = len(shown) == trades.length
    count = f"{len(shown):,}" if is_all else f"the latest {len(shown):,} of {trades.length:,}"
    titled = replace(trades, title=f"{trades.title}: {count}.")
    attributes = [f' data-profit="{row[profit]:.6g}"' for row in shown]
    table = table_html(titled, key, label="Closed trades", row_attributes=attributes, rows=len(shown))
    return f'<div class="trades">{table}</div>'
