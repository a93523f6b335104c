"""Sections of a run page: headline, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.report.charts.downsampling import bucket_size
from openoutcry.report.charts.equity_charts import Line, delay_chart, drawdown_chart, equity_chart, spans_decades
from openoutcry.report.charts.exposure_chart import EXPOSURE_LEGEND, exposure_chart
from openoutcry.report.charts.null_fan import fan_sentence
from openoutcry.report.charts.rolling_sharpe import rolling_chart, rolling_sentence
from openoutcry.report.charts.stacked_areas import cost_chart, cost_legend, cost_order, weights_chart, weights_legend
from openoutcry.report.charts.waterfall import waterfall_bars, waterfall_table
from openoutcry.report.pages import verdict_text
from openoutcry.report.pages.analysis_sections import (
    analysis_table,
    bands_section,
    benchmark_section,
    groups_figure,
    returns_section,
    sortino_figure,
    table_link,
    volatility_figure,
)
from openoutcry.report.pages.calibration_section import calibration_section
from openoutcry.report.pages.event_counts import run_events
from openoutcry.report.pages.fault_counts import run_faults
from openoutcry.report.pages.inspector import inspector_section
from openoutcry.report.pages.metric_labels import METRICS, Footnotes, show, show_sharpe
from openoutcry.report.pages.orders_section import orders_section
from openoutcry.report.pages.page_parts import Detail, figure, heading, intervals, legend, scroll, switch
from openoutcry.report.pages.skill_section import SKILL, skill_section
from openoutcry.report.pages.trades_section import trades_section
from openoutcry.report.text_format import DASH, PLUS_MINUS, breakable, escape, percent
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.statistics_view import Rolling
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["contents", "headline", "joined", "key_figures", "run_sections", "sections_of", "without_itself"]

_KEY_FIGURES = ("return", "cagr", "vol", "max_drawdown", "turnover", "cost")
_ELSEWHERE = ("sharpe_se",)
_OF_FILLS = ("max_gross_at_fill", "lowest_nav_inside")


def without_itself(view: RunView, benchmark: RunView | None) -> RunView | None:
    """Return the benchmark, or `None` if the run is the benchmark."""
    if benchmark is not None and benchmark.name == view.name and np.array_equal(benchmark.nav, view.nav):
        return None
    return benchmark


def headline(view: RunView, benchmark: RunView | None) -> str:
    """Return the result as sentences, with the Sharpe ratio interval."""
    sentences = [verdict_text.journey(view, benchmark)]
    if benchmark is not None:
        sentences.append(verdict_text.versus(view, benchmark))
    if verdict_text.distinct_from_zero(view):
        sentences.append(verdict_text.ONE_TRIAL)
    runs = [view] if benchmark is None else [view, benchmark]
    # Orders that did not fill come first: no number after them measures the agent.
    first = "".join(f"{text[0].upper()}{text[1:]}. " for text in (view.caveats.get("return"), view.ending) if text)
    return (
        f'<div class="headline"><div><p class="verdict">{escape(first + verdict_text.sharpe_verdict(view))}.</p>'
        f"<p>{escape(' '.join(sentences))}</p></div>{intervals(runs, [run.name for run in runs])}</div>"
    )


def key_figures(view: RunView, benchmark: RunView | None, key: str) -> str:
    """Return the main metrics, with the benchmark's below each."""
    footnotes = Footnotes(f"{key}-figure")
    items = _evidence(view, footnotes)
    kind = "figures wide" if items else "figures"
    for name in (name for name in _KEY_FIGURES if name in view.metrics):
        comparison = ""
        if benchmark is not None and name in benchmark.metrics:
            other = show(name, benchmark.metrics, benchmark.notes)
            comparison = f"<small>{breakable(benchmark.name)} {other}</small>"
        value = _verifiable(name, show(name, view.metrics, view.notes, footnotes))
        items.append(f"<div><dt>{METRICS[name].label}</dt><dd>{value}{comparison}</dd></div>")
    return f'<dl class="{kind}">{"".join(items)}</dl>{footnotes.render()}'


def _evidence(view: RunView, footnotes: Footnotes) -> list[str]:
    """Return the deflated Sharpe ratio and alpha as key figures."""
    items = []
    if view.skill is not None:
        n_trials = view.skill.values.get("n_trials")
        count = "" if n_trials is None else f"<small>after {counted(int(n_trials), 'trial')}</small>"
        shown = show("dsr", view.skill.values, view.skill.reasons, footnotes, SKILL)
        items.append(f"<div><dt>Deflated Sharpe (DSR)</dt><dd>{shown}{count}</dd></div>")
    if view.analysis is not None and (alpha := view.analysis.alpha) is not None:
        value, error = alpha
        items.append(
            f"<div><dt>Alpha, annual</dt><dd>{percent(value, 1, signed=True)}"
            f"<small>{PLUS_MINUS} {percent(error, 1)}, one standard error</small></dd></div>"
        )
    return items


def _verifiable(name: str, shown: str) -> str:
    """Return a metric marked with its name, so that the page's verification finds it.

    The engine of the page does not compute the metrics of fills.
    """
    if name in _OF_FILLS:
        return shown
    unit = METRICS[name].unit if name in METRICS else "ratio"
    return f'<span data-metric="{escape(name)}" data-unit="{unit}">{shown}</span>'


def run_sections(view: RunView, benchmark: RunView | None, level: int, key: str, detail: Detail) -> str:
    """Return every chart and table of a run, under headings of `level`.

    Args:
        view: The run.
        benchmark: Run for comparison.
        level: Level of the headings, 2 to 5.
        key: Prefix of every id, unique on the page.
        detail: Level of detail.
    """
    return joined(sections_of(view, benchmark, key, detail), level)


def joined(sections: Sequence[tuple[str, str]], level: int, key: str = "") -> str:
    """Return sections under headings of `level`, with anchors if `key` is given."""
    anchors = [f"{key}-{place}" if key else "" for place in range(len(sections))]
    return "".join(
        f"<section>{heading(level, title, anchor)}{content}</section>"
        for anchor, (title, content) in zip(anchors, sections, strict=True)
    )


def contents(sections: Sequence[tuple[str, str]], key: str) -> str:
    """Return links to the sections."""
    links = "".join(
        f'<li><a href="#{key}-{place}">{escape(title)}</a></li>' for place, (title, _) in enumerate(sections)
    )
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def sections_of(view: RunView, benchmark: RunView | None, key: str, detail: Detail) -> list[tuple[str, str]]:
    """Return the titles and contents of the sections that the run has."""
    trades = "" if view.analysis is None else trades_section(view.analysis, key)
    sections = [
        ("Equity and drawdown", _equity(view, benchmark, key, detail)),
        ("Is it luck?", skill_section(view.skill, key) + table_link(view, "skill") if view.skill else ""),
        ("Against the benchmark", benchmark_section(view, key, detail)),
        ("Returns by month and year", returns_section(view, benchmark, key)),
        ("Drawdowns and risk", analysis_table(view, "drawdowns", key) + analysis_table(view, "risk", key)),
        ("Sharpe ratio over time", _rolling(view, view.rolling, detail) if view.rolling else ""),
        ("Sortino ratio over time", sortino_figure(view, detail)),
        ("Volatility over time", volatility_figure(view, detail)),
        ("Resampled returns", bands_section(view, key, detail)),
        ("Weights", _weights(view, detail) + _exposure(view, detail) + groups_figure(view, key, detail)),
        ("Trades", trades),
        ("Costs", _costs(view, detail) + table_link(view, "costs")),
        ("Day orders", orders_section(view.orders)),
        ("Orders and events", run_events(view) + table_link(view, "events") + run_faults(view)),
        ("Stated confidence", calibration_section(view.calibration) if view.calibration else ""),
        ("One bar later", _delay(view, detail)),
        ("Bar by bar", _inspector(view, key, detail)),
        ("All metrics", _metrics(view, benchmark, key) + table_link(view, "metrics")),
    ]
    return [(title, content) for title, content in sections if content]


def _inspector(view: RunView, key: str, detail: Detail) -> str:
    return inspector_section(view, view.trace, key, detail.cells) if view.trace and detail.inspector else ""


def _equity(view: RunView, benchmark: RunView | None, key: str, detail: Detail) -> str:
    own = Line(view.name, view.dates, view.nav)
    lines = [own]
    if view.delayed_nav is not None:
        lines.insert(0, Line("one bar later", view.dates, view.delayed_nav, "delayed"))
    if benchmark is not None:
        lines.insert(0, Line(benchmark.name, benchmark.dates, benchmark.nav, "benchmark"))
    chart, caption = equity_chart(lines, points=detail.points, fan=view.fan), "NAV as a multiple of its start."
    if spans_decades(lines, view.fan) and detail.switch:
        linear = equity_chart(lines, scale="linear", points=detail.points, fan=view.fan)
        chart = switch(f"{key}-scale", chart, linear)
    elif spans_decades(lines, view.fan):
        caption = "NAV as a multiple of its start, on a log scale."
    entries = [(line.name, line.colour) for line in reversed(lines)]
    if view.fan:
        caption += " " + fan_sentence(view.fan, view.nav, view.fan_label)
        entries.append((view.fan_label, "c-luck"))
    if view.n_fan:
        caption += (
            f" Lines keep the lowest and the highest value of every {bucket_size(len(view.dates), detail.points):,}"
        )
        caption += f" bars, and both ends; the quantiles of the agents are those at {view.n_fan} bars."
    falls = drawdown_chart([line for line in lines if line.role != "delayed"], points=detail.points)
    return figure(chart, caption, legend(entries)) + figure(falls, "Drawdown: NAV below its running peak.")


def _rolling(view: RunView, rolling: Rolling, detail: Detail) -> str:
    if not np.isfinite(rolling.sharpe).any():
        return f"<p>{rolling_sentence(rolling)}</p>"
    caption = f"Annual Sharpe ratio of the last {rolling.n_returns:,} returns, with its 95% band. "
    chart = rolling_chart(view.dates, rolling, points=detail.points)
    return figure(chart, caption + rolling_sentence(rolling))


def _weights(view: RunView, detail: Detail) -> str:
    entries = weights_legend(view.symbols, view.weights)
    if not entries:
        return "<p>The run never held a position.</p>"
    bars = -(-len(view.dates) // detail.columns)
    caption = "Weights at each close, as a signed share of NAV: longs above zero, shorts below."
    if bars > 1:
        caption += f" Each column is the mean of {bars:,} bars."
    chart = weights_chart(view.dates, view.symbols, view.weights, columns=detail.columns)
    return figure(chart, caption, legend(entries))


def _exposure(view: RunView, detail: Detail) -> str:
    if view.gross is None or view.net is None or not view.gross.any():
        return ""
    chart = exposure_chart(view.dates, view.gross, view.net, columns=detail.columns)
    caption = "Exposure: gross counts longs and shorts, net sets one against the other."
    bars = -(-len(view.dates) // detail.columns)
    caption += f" Each point is the mean of {bars:,} bars." if bars > 1 else ""
    same = np.array_equal(view.gross, view.net)
    return figure(chart, caption, legend([("gross and net", "c-agent")] if same else EXPOSURE_LEGEND))


def _costs(view: RunView, detail: Detail) -> str:
    waterfall = scroll(waterfall_table(waterfall_bars(view.nav, view.costs, view.gains)), "From gross to net")
    entries = cost_legend(view.costs)
    if not entries:
        return f"<p>The run paid no costs.</p>{waterfall if view.gains else ''}"
    totals = {kind: float(view.costs[kind].sum()) for kind in cost_order(view.costs)}
    total = sum(totals.values())
    rows = "".join(
        f'<tr><th scope="row">{escape(kind)}</th><td>{percent(value, 2)}</td>'
        f"<td>{percent(value / total, 0) if total > 0.0 and value >= 0.0 else DASH}</td></tr>"
        for kind, value in totals.items()
    )
    table = (
        '<table class="costs"><caption>Costs over the window, as a share of the starting NAV</caption><thead><tr>'
        '<th scope="col">Kind</th><th scope="col">Paid</th><th scope="col">Share</th></tr></thead>'
        f'<tbody>{rows}</tbody><tfoot><tr><th scope="row">total</th><td>{percent(total, 2)}</td><td></td></tr></tfoot>'
        "</table>"
    )
    chart = cost_chart(view.dates, view.costs, entries, columns=detail.columns)
    caption = "Cumulative costs, as a share of the starting NAV."
    return f'<div class="side-by-side">{figure(chart, caption, legend(entries))}{table}</div>{waterfall}'


def _delay(view: RunView, detail: Detail) -> str:
    sentence = f"<p>{escape(verdict_text.delay_sentence(view))}</p>"
    if view.delayed_nav is None:
        return sentence
    chart = delay_chart(view.dates, view.nav, view.delayed_nav, points=detail.points)
    return sentence + figure(chart, "NAV of the same decisions executed one bar later, relative to the NAV as run.")


def _metrics(view: RunView, benchmark: RunView | None, key: str) -> str:
    footnotes = Footnotes(f"{key}-note")
    runs = [view] if benchmark is None else [view, benchmark]
    known = [name for name in METRICS if any(name in run.metrics for run in runs)]
    extra = [name for name in view.metrics if name not in METRICS]
    rows = []
    for name in [n for n in known if n not in _ELSEWHERE] + extra:
        if name == "sharpe":
            cells = [show_sharpe(run.metrics, run.notes, footnotes) for run in runs]
            cells[0] = show_sharpe(view.metrics, view.notes, footnotes, _verifiable)
        else:
            cells = [show(name, run.metrics, run.notes, footnotes) for run in runs]
            cells[0] = _verifiable(name, cells[0])
        metric = METRICS.get(name)
        label, definition = (metric.label, metric.help) if metric else (name, "")
        columns = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(label)}</th>{columns}<td class="help">{escape(definition)}</td></tr>')
    head = "".join(f'<th scope="col">{breakable(run.name)}</th>' for run in runs)
    periods = "an unknown number" if view.periods_per_year is None else f"{view.periods_per_year:,.6g}"
    span = f"{counted(len(view.dates), 'bar')}, {periods} per year"
    table = (
        f'<table class="metrics"><caption><span>{span}</span></caption>'
        f'<thead><tr><th scope="col">Metric</th>{head}<th scope="col" class="help">Definition</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    return scroll(table, "All metrics") + footnotes.render() + f'<p class="fine">{verdict_text.COMPARISON}</p>'
