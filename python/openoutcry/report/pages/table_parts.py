"""HTML of tables, with a link that saves each one as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from urllib.parse import quote

from openoutcry.report.pages.metric_labels import Footnotes, write
from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.text_format import DASH, MINUS, attribute, breakable, escape, number, percent
from openoutcry.report.views.table_view import Column, Table, Value

__all__ = ["MOST_LINKED", "css_text", "csv_text", "download", "table_html", "written"]

MOST_LINKED = 40_000
"""Bytes of a table above which the page has no copy of it."""

_TEXTS = ("text", "help")
_SIGNED = ("rate", "gain", "money")


def written(value: Value, unit: str) -> str:
    """Return a value as text in its unit.

    Units are those of `metric_labels.write`, and `rate` (signed percentage with two decimals), `share0` (percentage
    without decimals), `coefficient` (three decimals), `money` (account currency), `price`, `quantity` (shares)
    and `text`.
    """
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    if unit == "rate":
        return percent(value, 2)
    if unit == "share0":
        return percent(value, 0)
    if unit == "money":
        return number(value, 0 if abs(value) >= 100.0 else 2)
    if unit == "coefficient":
        return number(value, 3)
    if unit == "price":
        return _price(value)
    if unit == "quantity":
        return _quantity(value)
    return write(float(value), unit)


def _quantity(value: float) -> str:
    if abs(value) >= 1e7:
        return f"{number(value / 1e6, 2)}M"
    return number(value, 0) if abs(value) >= 1e3 else _price(value)


def _price(value: float) -> str:
    digits = 2 if abs(value) >= 100.0 else 4 if abs(value) >= 0.1 else 6
    return number(value, digits)


def table_html(table: Table, key: str, *, label: str = "", row_attributes: Sequence[str] = (), rows: int = -1) -> str:
    """Return a table in its own scroll box, with its footnotes and its link.

    On a narrow screen, each row becomes a block with a label per value.

    Args:
        table: The table.
        key: Prefix of the ids of footnotes, unique on the page.
        label: Name of the box for screen readers; the name of the table by default.
        row_attributes: Attributes of the rows, as HTML.
        rows: Number of rows to show; all if negative.
    """
    shown = [place for place, column in enumerate(table.columns) if column.unit != "hidden"]
    head = "".join(_head(table.columns[place]) for place in shown)
    footnotes = Footnotes(f"{key}-{table.name}")
    body = []
    for index, row in enumerate(table.rows if rows < 0 else table.rows[:rows]):
        cells = [_cell(table, index, place, row[place], footnotes) for place in shown[1:]]
        first = written(row[shown[0]], _unit(table, index, table.columns[shown[0]]))
        extra = row_attributes[index] if row_attributes else ""
        body.append(f'<tr{extra}><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>')
    labels = "".join(f"--l{at}:{css_text(table.columns[place].label)};" for at, place in enumerate(shown[1:], 2))
    layout = _layout(table)
    style = attribute("style", labels) if layout == "stack" else ""
    html = (
        f'<table class="data {layout}"{style}><caption><span>{escape(table.title)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )
    box = scroll(html, label or table.title)
    if len(body) > 30:
        box = box.replace('class="scroll"', 'class="scroll tall"', 1)
    return box + footnotes.render() + download(table)


def _layout(table: Table) -> str:
    """Return the classes of a table on a narrow screen: lines, or a block per row."""
    n_values = sum(column.unit not in {"hidden", "help"} for column in table.columns) - 1
    return {1: "lines one", 2: "lines two", 3: "lines three"}.get(n_values, "stack")


def _head(column: Column) -> str:
    kind = f' class="{column.unit}"' if column.unit in _TEXTS else ""
    text = breakable(column.label) or '<span class="hidden">Number</span>'
    return f'<th scope="col"{kind}>{text}</th>'


def _unit(table: Table, index: int, column: Column) -> str:
    return table.units[index] if column.unit == "row" else column.unit


def _cell(table: Table, index: int, place: int, value: Value, footnotes: Footnotes) -> str:
    column = table.columns[place]
    unit = _unit(table, index, column)
    if unit == "help":
        return f'<td class="help">{escape(str(value or ""))}</td>'
    text = escape(written(value, unit))
    if value is None and (reason := table.reasons.get((index, column.name))):
        text = f'<span class="undefined"{attribute("title", reason)}>{DASH}</span>{footnotes.mark(reason)}'
    elif unit in _SIGNED and text.startswith(MINUS):
        text = f'<span class="loss">{text}</span>'
    kind = ' class="text"' if unit == "text" else ""
    # The label and the value are two items of a narrow row.
    return f"<td{kind}><span>{text}</span></td>" if "<sup>" in text else f"<td{kind}>{text}</td>"


def css_text(text: str) -> str:
    """Return text as a string of CSS; all but letters and digits are escaped."""
    return "'" + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):06x}" for c in text) + "'"


def csv_text(table: Table) -> str:
    """Return a table as CSV with a header: full precision, undefined cells empty."""
    target = io.StringIO()
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow([column.name for column in table.columns])
    for row in table.rows:
        lines.writerow(["" if value is None else repr(value) if isinstance(value, float) else value for value in row])
    return target.getvalue()


def download(table: Table) -> str:
    """Return a link that saves a table as CSV, or where to get a large one."""
    text = csv_text(table)
    count = f"{table.length:,} row{'' if table.length == 1 else 's'}"
    if table.length > len(table.rows) or len(text.encode("utf-8", "replace")) > MOST_LINKED:
        return (
            f'<p class="download">All {count}: <code>openoutcry report RECORD --tables FOLDER</code>, or'
            f" <code>run.tables()[&quot;{escape(table.name)}&quot;]</code>.</p>"
        )
    link = "data:text/csv;charset=utf-8," + quote(text, safe=",:; /", errors="replace")
    name = f"{table.name}.csv"
    return f'<p class="download"><a{attribute("href", link)} download="{escape(name)}">{escape(name)}</a>, {count}</p>'
