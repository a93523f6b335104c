"""Sections of a board page: agents ranked on one dataset, then their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openoutcry.report.charts.equity_charts import Line, equity_chart, spans_decades
from openoutcry.report.charts.sparklines import interval_axis, interval_mark, interval_range, sparkline
from openoutcry.report.pages import verdict_text
from openoutcry.report.pages.event_counts import board_events
from openoutcry.report.pages.metric_labels import METRICS, Footnotes, show, show_sharpe
from openoutcry.report.pages.page_parts import (
    DATA,
    Detail,
    figure,
    heading,
    labelled_cell,
    legend,
    notices_list,
    scroll,
    switch,
)
from openoutcry.report.pages.run_page import headline, key_figures, run_sections, without_itself
from openoutcry.report.text_format import DASH, attribute, breakable, escape, number, percent
from openoutcry.report.views.run_view import BoardRow, BoardSection, RunView

__all__ = ["board_section", "colour_slots"]

_ALL_POINTS = 700
_FIRST = Detail(points=600, columns=180, switch=False, inspector=False)
_FOLDED = Detail(points=320, columns=110, switch=False, inspector=False)
_MEASURES = ("return", "vol", "max_drawdown", "turnover", "cost", "delayed_sharpe")


def colour_slots(sections: Sequence[BoardSection]) -> dict[str, int]:
    """Return the colour slot of every agent, the same on all boards of a page."""
    names = [run.name for section in sections for run in _compared(section)]
    return {name: slot for slot, name in enumerate(dict.fromkeys(names))}


def board_section(section: BoardSection, key: str, slots: Mapping[str, int]) -> str:
    """Return one dataset of a board.

    Args:
        section: The dataset.
        key: Prefix of every id, unique on the page.
        slots: Colour slots, from `colour_slots`.
    """
    parts = [
        heading(2, section.title, key),
        f'<p class="verdict">{breakable(verdict_text.board_verdict(section.rows))}</p>',
        _ranking(section, key),
        notices_list(section.notices, 3, DATA),
        _windows(section),
    ]
    if section.runs:
        events = board_events(section.runs)
        parts += [_equity(section, key, slots), _multiples(section)]
        parts += [f"<section>{heading(3, 'Orders and events')}{events}</section>"] if events else []
        parts.append(_runs(section, key))
    return f'<section class="board">{"".join(parts)}</section>'


def _ranking(section: BoardSection, key: str) -> str:
    anchors = {run.name: _anchor(key, index) for index, run in enumerate(section.runs)}
    footnotes = Footnotes(f"{key}-note")
    low, high = interval_range([verdict_text.estimate(row) for row in section.rows])
    ties = verdict_text.tied_with_first(section.rows)
    rows = []
    unranked = f'<span class="undefined" title="unranked">{DASH}</span>'
    for rank, (row, tied) in enumerate(zip(section.rows, ties, strict=True), 1):
        name = escape(row.agent)
        if row.agent in anchors:
            name = f'<a href="#{anchors[row.agent]}">{name}</a>'
        sign = (
            '<span class="tie" title="not significantly different from the first">=</span>'
            if tied and any(ties[1:])
            else ""
        )
        cells = _cells(section, row, low, high, footnotes)
        place = unranked if verdict_text.estimate(row)[0] is None else f"{rank}{sign}"
        rows.append(f'<tr><td class="rank">{place}</td><th scope="row"{_full(row.agent)}>{name}</th>{cells}</tr>')
    caption = "Agents, best Sharpe ratio first." + (f" Metrics over {section.basis}." if section.basis else "")
    caption += " =: not significantly different from the first." if any(ties[1:]) else ""
    caption += f" {DASH}: unranked." if any(verdict_text.estimate(row)[0] is None for row in section.rows) else ""
    table = (
        f'<table class="ranking stack"><caption><span>{escape(caption)}</span></caption>'
        '<thead><tr><th scope="col"><span class="hidden">Rank</span></th>'
        f'<th scope="col">Agent</th>{_head(section, low, high)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    return (
        scroll(table, f"Agents on {section.title}")
        + footnotes.render()
        + f'<p class="fine">{verdict_text.COMPARISON}</p>'
    )


def _full(name: str) -> str:
    # The column truncates long names.
    return attribute("title", name) if len(name) > 24 else ""


def _measured(section: BoardSection, names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name in row.metrics for row in section.rows)]


def _head(section: BoardSection, low: float, high: float) -> str:
    def column(name: str) -> str:
        return f'<th scope="col"{attribute("title", METRICS[name].help)}>{METRICS[name].label}</th>'

    interval = f'<th scope="col" class="mark"><span class="hidden">95% interval</span>{interval_axis(low, high)}</th>'
    return column("sharpe") + interval + "".join(map(column, _measured(section, _MEASURES)))


def _cells(section: BoardSection, row: BoardRow, low: float, high: float, footnotes: Footnotes) -> str:
    def cell(name: str) -> str:
        return labelled_cell(METRICS[name].label, show(name, row.metrics, row.notes, footnotes))

    value, error = verdict_text.estimate(row)
    mark = "" if value is None else interval_mark(value, error, low, high)
    sharpe = labelled_cell(METRICS["sharpe"].label, show_sharpe(row.metrics, row.notes, footnotes))
    return f'{sharpe}<td class="mark">{mark}</td>' + "".join(map(cell, _measured(section, _MEASURES)))


def _windows(section: BoardSection) -> str:
    labels = [window.label for window in section.rows[0].windows]
    if not labels:
        return ""
    columns = [[row.windows[i].nav for row in section.rows] for i in range(len(labels))]
    ranges = [
        (
            min((float(n.min()) for n in c if n is not None), default=1.0),
            max((float(n.max()) for n in c if n is not None), default=1.0),
        )
        for c in columns
    ]
    rows = []
    for row in section.rows:
        cells = []
        for window, label, (low, high) in zip(row.windows, labels, ranges, strict=True):
            shown = f'<span class="undefined" title="no run in this window">{DASH}</span>'
            if window.nav is not None:
                total = percent(float(window.nav[-1]) - 1.0, signed=True)
                shown = f"{sparkline(window.nav, low, high)}<span>{total}</span>"
            cells.append(f"<td{attribute('data-label', label)}>{shown}</td>")
        rows.append(f'<tr><th scope="row"{_full(row.agent)}>{breakable(row.agent)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in labels)
    table = (
        '<table class="windows tiles"><caption><span>NAV and return in each window; one scale per column.</span>'
        f'</caption><thead><tr><th scope="col">Agent</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return f"<section>{heading(3, 'Window by window')}{scroll(table, 'Window by window')}</section>"


def _compared(section: BoardSection) -> list[RunView]:
    benchmark = section.benchmark
    return [run for run in section.runs if benchmark is None or without_itself(run, benchmark) is not None]


def _lines(section: BoardSection, slots: Mapping[str, int]) -> list[Line]:
    benchmark = section.benchmark
    lines = [Line(run.name, run.dates, run.nav, "series", slots[run.name]) for run in _compared(section)]
    if benchmark is not None:
        lines.append(Line(benchmark.name, benchmark.dates, benchmark.nav, "benchmark"))
    # The last line is drawn on top.
    return lines[::-1]


def _equity(section: BoardSection, key: str, slots: Mapping[str, int]) -> str:
    lines = _lines(section, slots)
    chart = equity_chart(lines, points=_ALL_POINTS, height=360)
    if spans_decades(lines):
        linear = equity_chart(lines, scale="linear", points=_ALL_POINTS, height=360)
        chart = switch(f"{key}-scale", chart, linear)
    entries = [(line.name, line.colour) for line in reversed(lines)]
    drawn = figure(chart, "NAV as a multiple of its start.", legend(entries, always=True))
    return f"<section>{heading(3, 'All agents')}{drawn}</section>"


def _multiples(section: BoardSection) -> str:
    navs = [run.nav for run in section.runs] + ([section.benchmark.nav] if section.benchmark else [])
    span = [min(float(nav.min()) for nav in navs), max(float(nav.max()) for nav in navs)]
    cards = "".join(_card(run, section, span) for run in section.runs)
    return f'<section>{heading(3, "One by one")}<div class="multiples">{cards}</div></section>'


def _card(run: RunView, section: BoardSection, span: list[float]) -> str:
    benchmark = without_itself(run, section.benchmark)
    lines = [Line(run.name, run.dates, run.nav)]
    if benchmark is not None:
        lines.insert(0, Line(benchmark.name, benchmark.dates, benchmark.nav, "benchmark"))
    chart = equity_chart(lines, include=span, points=160, height=96, slim=True)
    sharpe, _ = verdict_text.estimate(run)
    result = f"final NAV {number(float(run.nav[-1]))}" + ("" if sharpe is None else f", Sharpe {number(sharpe)}")
    return f"<figure><figcaption><b>{breakable(run.name)}</b> <span>{result}</span></figcaption>{chart}</figure>"


def _anchor(key: str, index: int) -> str:
    return f"{key}-run{index}"


def _runs(section: BoardSection, key: str) -> str:
    folds = []
    for index, run in enumerate(section.runs):
        benchmark, anchor = without_itself(run, section.benchmark), _anchor(key, index)
        body = headline(run, benchmark) + key_figures(run, benchmark, anchor)
        body += run_sections(run, benchmark, 5, anchor, _FIRST if index == 0 else _FOLDED)
        summary = f"{heading(4, run.name)}<span>{escape(verdict_text.sharpe_verdict(run))}</span>"
        fold = " open" if index == 0 else ""
        folds.append(f'<details{fold}><summary>{summary}</summary><article id="{anchor}">{body}</article></details>')
    return f"<section>{heading(3, 'Every run')}{''.join(folds)}</section>"
