"""HTML elements shared by run, board and score pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openoutcry.report.charts.sparklines import interval_axis, interval_mark, interval_range
from openoutcry.report.pages.metric_labels import show_sharpe
from openoutcry.report.pages.packed_trace import CELLS
from openoutcry.report.pages.verdict_text import estimate
from openoutcry.report.text_format import attribute, breakable, escape
from openoutcry.report.views.run_view import BoardRow, Provenance, RunView

__all__ = [
    "DATA",
    "Detail",
    "figure",
    "heading",
    "intervals",
    "labelled_cell",
    "legend",
    "notices_list",
    "provenance_list",
    "scroll",
    "switch",
]

DATA = "About this data"
"""Heading of the notices of a dataset."""


@dataclass(frozen=True)
class Detail:
    """Level of detail of a run's charts.

    Attributes:
        points: Maximum points of a line.
        columns: Maximum columns of a stacked chart.
        switch: Whether a log-scale chart offers a linear one.
        inspector: Whether to include the bar-by-bar inspector.
        cells: Maximum prices of the inspector.
    """

    points: int = 1000
    columns: int = 200
    switch: bool = True
    inspector: bool = True
    cells: int = CELLS


def heading(level: int, text: str, key: str = "") -> str:
    """Return a heading, with an anchor if `key` is given."""
    anchor = f' id="{key}"' if key else ""
    return f"<h{level}{anchor}>{breakable(text)}</h{level}>"


def figure(chart: str, caption: str, legend_html: str = "") -> str:
    """Return a chart with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{legend_html}{chart}</figure>"


def legend(entries: Sequence[tuple[str, str]], *, always: bool = False) -> str:
    """Return names with their colours.

    Shown on narrow screens, where lines have no labels, or `always`.
    """
    items = "".join(
        f'<li class="{colour}" data-for="{escape(name)}"><i></i>{breakable(name)}</li>' for name, colour in entries
    )
    return f'<ul class="legend{" always" if always else ""}">{items}</ul>' if items else ""


def scroll(content: str, label: str) -> str:
    """Return wide content in a box with its own scroll bar, usable by keyboard."""
    return f'<div class="scroll" role="group" aria-label="{escape(label)}" tabindex="0">{content}</div>'


def labelled_cell(label: str, content: str, kind: str = "") -> str:
    """Return a cell of a `stack` table, which shows its label on a narrow screen.

    Args:
        label: Heading of its column.
        content: HTML.
        kind: CSS class.
    """
    classes = f' class="{kind}"' if kind else ""
    return f"<td{classes}{attribute('data-label', label)}><span>{content}</span></td>"


def switch(key: str, log: str, linear: str) -> str:
    """Return a chart on two scales, with a switch that needs no script."""
    return (
        '<fieldset class="switch"><legend class="hidden">Scale</legend>'
        f'<input type="radio" name="{key}" id="{key}-log" checked><label for="{key}-log">Log</label>'
        f'<input type="radio" name="{key}" id="{key}-linear"><label for="{key}-linear">Linear</label>'
        f'<div class="log">{log}</div><div class="linear">{linear}</div></fieldset>'
    )


def intervals(runs: Sequence[RunView | BoardRow], names: Sequence[str]) -> str:
    """Return a table of Sharpe ratios with their intervals, drawn on one scale."""
    low, high = interval_range([estimate(run) for run in runs])
    rows = []
    for run, name in zip(runs, names, strict=True):
        value, error = estimate(run)
        mark = "" if value is None else interval_mark(value, error, low, high)
        sharpe = show_sharpe(run.metrics, run.notes)
        rows.append(f'<tr><th scope="row">{breakable(name)}</th><td>{sharpe}</td><td class="mark">{mark}</td></tr>')
    return (
        '<table class="intervals"><caption>Sharpe ratio with its 95% interval; the line is zero</caption>'
        '<thead class="hidden"><tr><th scope="col">Agent</th><th scope="col">Sharpe</th><th scope="col">Interval</th>'
        f"</tr></thead><tbody>{''.join(rows)}"
        '<tr aria-hidden="true"><td></td><td></td>'
        f'<td class="mark">{interval_axis(low, high)}</td></tr></tbody></table>'
    )


def notices_list(notices: Sequence[str], level: int, title: str) -> str:
    """Return the caveats as a list; empty if there are none."""
    items = "".join(f"<li>{escape(notice)}</li>" for notice in notices)
    return f'<aside class="notices">{heading(level, title)}<ul>{items}</ul></aside>' if items else ""


def provenance_list(provenance: Provenance) -> str:
    """Return the provenance, verbatim."""
    groups = [f"{heading(3, title)}{_entries(entries)}" for title, entries in provenance.groups.items()]
    body = "".join(groups) + _entries(provenance.entries)
    return f'<section class="provenance">{heading(2, "Provenance")}{_check(provenance)}{body}</section>'


def _check(provenance: Provenance) -> str:
    command = digest = ""
    if provenance.verify:
        command = f"<p>This command recomputes {escape(provenance.verified)}:</p>" + _code(provenance.verify)
    if provenance.digest:
        label = "It must print this digest" if command else "Digest of the run's record"
        digest = f"<p>{label}:</p>{_code(provenance.digest)}"
    return f'<div class="check">{command}{digest}</div>' if command or digest else ""


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _entries(entries: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<div><dt>{breakable(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in entries)
    return f"<dl>{items}</dl>" if items else ""
