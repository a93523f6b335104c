"""Monthly returns, as an HTML table and as a heatmap."""

from __future__ import annotations

import math
from collections.abc import Sequence

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import DASH, escape, number
from openoutcry.report.views.run_view import Floats

__all__ = ["MONTHS", "monthly_heatmap", "monthly_table", "shade"]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_COLUMNS = 14
_STEPS = (0.0, 0.25, 0.5, 0.75)
_LEAST_EXTREME = 0.01


def monthly_heatmap(dates: Sequence[str], nav: Floats) -> str:
    """Draw the return of every calendar month, after the total of its year."""
    months, years, extreme = _returns(dates, nav)
    row, top = 22, 22
    height = top + len(years) * row
    cells = [_label(c, 14, name) for c, name in enumerate(["Total", *MONTHS], 1)]
    for r, year in enumerate(sorted(years, reverse=True)):
        y = top + r * row
        cells += [_label(0, y + 15, str(year)), _label(1, y + 15, _cell(years[year]), ink=True)]
        for month in range(1, 13):
            value = months.get((year, month))
            if value is not None:
                column = month + 1
                cells += [_box(column, y, row, shade(value, extreme)), _label(column, y + 15, _cell(value), ink=True)]
    return (
        f'<svg class="oo-chart" role="img" width="100%" height="{height}"><title>Monthly returns in percent</title>'
        f"<desc>{escape(_extremes(months))}</desc>{''.join(cells)}</svg>"
    )


def monthly_table(dates: Sequence[str], nav: Floats, caption: str) -> str:
    """Return the monthly returns as an accessible HTML table."""
    months, years, extreme = _returns(dates, nav)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Year", "Total", *MONTHS))
    rows = []
    for year in sorted(years, reverse=True):
        cells = [f'<td class="total" data-label="Total">{_cell(years[year])}</td>']
        for month, name in enumerate(MONTHS, 1):
            value = months.get((year, month))
            fill = "" if value is None else f' class="{shade(value, extreme)}" data-label="{name}"'
            cells.append(f"<td{fill}>{'' if value is None else _cell(value)}</td>")
        rows.append(f'<tr><th scope="row">{year}</th>{"".join(cells)}</tr>')
    return (
        f'<table class="months calendar tiles"><caption><span>{escape(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def shade(value: float, extreme: float) -> str:
    """Return the class of a cell: `g0` to `g3` or `l0` to `l3`, empty for zero."""
    if not math.isfinite(value) or value == 0.0:
        return ""
    strength = min(abs(value) / extreme, 1.0)
    step = sum(strength > edge for edge in _STEPS) - 1
    return ("g" if value > 0 else "l") + str(max(step, 0))


def _returns(dates: Sequence[str], nav: Floats) -> tuple[dict[tuple[int, int], float], dict[int, float], float]:
    months = downsampling.month_returns(dates, nav)
    known = sorted(abs(v) for v in months.values() if math.isfinite(v))
    # The 95th percentile, so that one extreme month does not fade all others.
    extreme = max(known[int(0.95 * (len(known) - 1))] if known else 0.0, _LEAST_EXTREME)
    return months, downsampling.year_returns(dates, nav), extreme


def _cell(value: float) -> str:
    return number(value * 100.0, 1) if math.isfinite(value) else DASH


def _extremes(months: dict[tuple[int, int], float]) -> str:
    finite = sorted((value, key) for key, value in months.items() if math.isfinite(value))
    if not finite:
        return "No month has a return."
    worst, best = finite[0], finite[-1]
    return f"Best month {_name(best[1])}, {_cell(best[0])}%; worst {_name(worst[1])}, {_cell(worst[0])}%."


def _name(key: tuple[int, int]) -> str:
    return f"{MONTHS[key[1] - 1]} {key[0]}"


def _box(column: int, y: int, height: int, fill: str) -> str:
    x, width = place(column / _COLUMNS), place(1 / _COLUMNS)
    return f'<rect class="oo-cell {fill}" x="{x}" y="{y}" width="{width}" height="{height}"/>' if fill else ""


def _label(column: int, y: int, text: str, *, ink: bool = False) -> str:
    kind = ' class="oo-ink"' if ink else ""
    return f'<text x="{place((column + 0.5) / _COLUMNS)}" y="{y}" text-anchor="middle"{kind}>{text}</text>'
