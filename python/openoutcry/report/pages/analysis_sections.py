"""Sections of a run page: benchmark, bands, returns by period, drawdowns, groups."""

from __future__ import annotations

import numpy as np

from openoutcry.report.charts.bootstrap_bands import bands_chart
from openoutcry.report.charts.column_charts import month_histogram, year_columns
from openoutcry.report.charts.heatmap import monthly_table
from openoutcry.report.charts.rolling_lines import RollingLine, range_sentence, rolling_line_chart
from openoutcry.report.charts.stacked_areas import weights_chart, weights_legend
from openoutcry.report.pages.page_parts import Detail, figure, legend, scroll
from openoutcry.report.pages.table_parts import download, table_html
from openoutcry.report.text_format import escape
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.view_checks import Floats
from openoutcry.untrusted.counted_nouns import counted

__all__ = [
    "analysis_table",
    "bands_section",
    "benchmark_section",
    "groups_figure",
    "returns_section",
    "sortino_figure",
    "table_link",
    "volatility_figure",
]


MOST_POINTS = 400
"""Points of a rolling line: windows overlap, so more points add nothing."""


def analysis_table(view: RunView, name: str, key: str) -> str:
    """Return a table of the analysis; empty if there is none."""
    table = None if view.analysis is None else view.analysis.tables.get(name)
    return "" if table is None else table_html(table, key)


def table_link(view: RunView, name: str) -> str:
    """Return the link of a table that the page shows in another form."""
    table = None if view.analysis is None else view.analysis.tables.get(name)
    return "" if table is None else download(table)


def notes(view: RunView, section: str) -> str:
    """Return the sentences on the method of a section."""
    found = [] if view.analysis is None else view.analysis.notes.get(section, [])
    return "".join(f'<p class="fine">{escape(text)}</p>' for text in found)


def benchmark_section(view: RunView, key: str, detail: Detail) -> str:
    """Return alpha, beta and tracking, the rolling beta and the factors."""
    analysis = view.analysis
    if analysis is None:
        return ""
    beta = _rolled(view, detail, "Rolling beta", analysis.rolling_beta, 1.0)
    factors = analysis_table(view, "factors", key) + notes(view, "factors")
    return analysis_table(view, "benchmark", key) + notes(view, "benchmark") + beta + factors


def volatility_figure(view: RunView, detail: Detail) -> str:
    """Return the rolling volatility; empty if it is undefined."""
    values = None if view.analysis is None else view.analysis.rolling_volatility
    return _rolled(view, detail, "Rolling volatility, annual", values, is_share=True)


def sortino_figure(view: RunView, detail: Detail) -> str:
    """Return the rolling Sortino ratio; empty if it is undefined."""
    values = None if view.analysis is None else view.analysis.rolling_sortino
    return _rolled(view, detail, "Rolling Sortino ratio, annual", values)


def _rolled(
    view: RunView, detail: Detail, name: str, values: Floats | None, baseline: float = 0.0, *, is_share: bool = False
) -> str:
    n_window = None if view.analysis is None else view.analysis.n_window
    if values is None or n_window is None or not np.isfinite(values).any():
        return ""
    line = RollingLine(name.partition(",")[0], values, baseline, is_share=is_share)
    chart = rolling_line_chart(view.dates, line, points=min(detail.points, MOST_POINTS))
    return figure(chart, f"{name}, over the last {counted(n_window, 'return')}. {range_sentence(line)}")


def bands_section(view: RunView, key: str, detail: Detail) -> str:
    """Return the Monte Carlo bands with their quantiles and probabilities."""
    analysis = view.analysis
    if analysis is None:
        return ""
    if analysis.bands is None:
        return notes(view, "bands")
    chart = bands_chart(view.dates, view.nav, view.name, analysis.bands, points=detail.points)
    entries = [(view.name, "c-agent"), ("resampled, 50%", "c-benchmark")]
    tables = "".join(f"<div>{analysis_table(view, name, key)}</div>" for name in ("bands", "band_probabilities"))
    return figure(chart, analysis.bands.sentence, legend(entries)) + f'<div class="pair">{tables}</div>'


def returns_section(view: RunView, benchmark: RunView | None, key: str) -> str:
    """Return returns by year and month, trailing ones, and their distribution."""
    caption = f"Return of {view.name} per calendar month and year, compounded, in percent."
    caption += " The first and last may be partial."
    months = scroll(monthly_table(view.dates, view.nav, caption), "Returns by month")
    analysis = view.analysis
    if analysis is None:
        return months
    name = "" if benchmark is None else benchmark.name
    years = ""
    if len(analysis.years) > 1:
        entries = [(view.name, "c-agent"), *([(name, "c-benchmark")] if name else [])]
        chart = year_columns(analysis.years, view.name, name)
        years = figure(chart, "Compounded return of each calendar year.", legend(entries, always=True))
    link = table_link(view, "months")
    spread = ""
    if len(analysis.months) > 2:
        spread = figure(
            month_histogram(analysis.months), "Distribution of monthly returns; the dashed line is the mean."
        )
    tables = (analysis_table(view, each, key) for each in ("periods", "trailing"))
    return months + link + years + analysis_table(view, "years", key) + spread + "".join(tables)


def groups_figure(view: RunView, key: str, detail: Detail) -> str:
    """Return the net exposure by group over time, and its table."""
    analysis = view.analysis
    if analysis is None or not analysis.groups:
        return ""
    names = tuple(analysis.groups)
    weights = np.column_stack([analysis.groups[name] for name in names])
    entries = weights_legend(names, weights)
    chart = ""
    if entries:
        drawn = weights_chart(view.dates, names, weights, columns=detail.columns)
        chart = figure(drawn, "Net exposure by group, as a signed share of NAV.", legend(entries))
    return chart + analysis_table(view, "groups", key)
