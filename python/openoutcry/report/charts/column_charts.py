"""Columns that are no dates: returns by year, and a histogram of monthly returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from openoutcry.report.charts.scales import ValueScale, value_scale
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import escape, percent
from openoutcry.report.views.view_checks import Floats
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["month_histogram", "year_columns"]

_TOP, _BOTTOM = 10, 26
# Years with a label each; more have every second, third, ...
_MOST_LABELS = 14


def year_columns(years: Mapping[str, tuple[float, float | None]], name: str, other: str, height: int = 220) -> str:
    """Draw the return of each year, and the benchmark's next to it if there is one."""
    given = [value for pair in years.values() for value in pair if value is not None]
    values = value_scale([np.array(given)], include=[0.0])
    n, marks = len(years), []
    for place_, (year, (own, theirs)) in enumerate(years.items()):
        left = place_ / n
        width = (0.62 if theirs is None else 0.36) / n
        marks.append(_column(left + 0.14 / n, width, (0.0, own), values, "c-agent", f"{name} {year}: {percent(own)}"))
        if theirs is not None:
            text = f"{other} {year}: {percent(theirs)}"
            marks.append(_column(left + 0.51 / n, width, (0.0, theirs), values, "c-benchmark", text))
    step = -(-n // _MOST_LABELS)
    labels = [(place_ + 0.5) / n for place_ in range(n)]
    ticks = [(at, year) for k, (at, year) in enumerate(zip(labels, years, strict=True)) if k % step == 0]
    worst, best = (choose(years, key=lambda year: years[year][0]) for choose in (min, max))
    text = f"Best year {best}, {percent(years[best][0])}; worst {worst}, {percent(years[worst][0])}."
    return _frame("Returns by year", text, values, marks, (ticks, height))


def month_histogram(months: Sequence[float], height: int = 200) -> str:
    """Draw the distribution of monthly returns, with its mean as a line."""
    returns = np.array(months)
    edges = _edges(returns)
    counts, _ = np.histogram(returns, edges)
    values = value_scale([counts.astype(np.float64)], include=[0.0])
    low, span = float(edges[0]), float(edges[-1] - edges[0])
    marks = []
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        colour = "c-agent" if left >= -1e-12 else "c-delayed"
        text = f"{percent(left)} to {percent(right)}: {counted(count, 'month')}"
        marks.append(
            _column((left - low) / span, (right - left) / span * 0.94, (0.0, float(count)), values, colour, text)
        )
    mean = float(returns.mean())
    at = place((mean - low) / span)
    marks.append(f'<line class="oo-diagonal" x1="{at}" x2="{at}" y1="0" y2="100%"/>')
    step, width = -(-len(edges) // 9), float(edges[1] - edges[0])
    # Zero has a label.
    labelled = [edge for edge in edges.tolist() if round(edge / width) % step == 0]
    ticks = [((edge - low) / span, percent(edge, 1)) for edge in labelled]
    middle = percent(float(np.median(returns)), 2)
    text = f"{counted(len(returns), 'month')}; mean {percent(mean, 2)}, the dashed line; median {middle}."
    return _frame("Distribution of monthly returns", text, values, marks, (ticks, height), is_count=True)


def _edges(returns: Floats) -> Floats:
    """Return round edges of bins with 0 among them."""
    span = max(float(returns.max() - returns.min()), 0.002)
    power = 10.0 ** np.floor(np.log10(span / 14.0))
    width = next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= span / 18.0)
    first, last = np.floor(returns.min() / width), np.floor(returns.max() / width) + 1
    edges: Floats = np.arange(first, last + 1) * width
    return edges


def _column(left: float, width: float, ends: tuple[float, float], values: ValueScale, colour: str, text: str) -> str:
    top, bottom = sorted(values.position(end) for end in ends)
    box = f'x="{place(left)}" y="{place(top)}" width="{place(width)}" height="{place(bottom - top)}"'
    return f'<g class="{colour}"><rect class="oo-column" {box}><title>{escape(text)}</title></rect></g>'


def _frame(
    title: str,
    description: str,
    values: ValueScale,
    marks: Sequence[str],
    axis: tuple[Sequence[tuple[float, str]], int],
    is_count: bool = False,
) -> str:
    ticks, height = axis
    grid = []
    for tick in values.ticks():
        y = place(values.position(tick))
        strong = ' class="oo-zero"' if tick == 0.0 else ""
        text = f"{tick:g}" if is_count else values.show_percent(tick)
        if is_count and tick != round(tick):
            continue
        grid.append(f'<line x1="0" x2="100%" y1="{y}" y2="{y}"{strong}/>')
        grid.append(f'<text x="0" dx="-8" y="{y}" dy=".32em" text-anchor="end">{escape(text)}</text>')
    for place_, (at, text) in enumerate(ticks):
        minor = ' class="oo-minor"' if place_ % 2 else ""
        grid.append(f'<text x="{place(at)}" y="100%" dy="18" text-anchor="middle"{minor}>{escape(text)}</text>')
    return (
        f'<svg class="oo-chart oo-framed oo-short" role="img" width="100%" height="{height}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f'<svg class="oo-plot" y="{_TOP}" width="100%" height="{height - _TOP - _BOTTOM}">'
        f'<g class="oo-grid">{"".join(grid)}</g>{"".join(marks)}</svg></svg>'
    )
