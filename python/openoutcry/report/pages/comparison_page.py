"""Page of a comparison of runs: one scale, paired differences, all metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.report.charts.equity_charts import Line, drawdown_chart, equity_chart, spans_decades
from openoutcry.report.charts.heatmap import shade
from openoutcry.report.charts.rolling_sharpe import rolling_lines
from openoutcry.report.charts.sparklines import Z95, interval_axis, interval_mark, interval_range
from openoutcry.report.pages.html_document import document
from openoutcry.report.pages.metric_labels import METRICS, Footnotes, in_words, show, write
from openoutcry.report.pages.page_parts import (
    figure,
    heading,
    labelled_cell,
    legend,
    notices_list,
    provenance_list,
    scroll,
    switch,
)
from openoutcry.report.text_format import DASH, attribute, breakable, escape, number, percent
from openoutcry.report.views.comparison_view import ComparisonView, Estimate, PairRow
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["comparison_verdict", "render_comparison"]

LEVEL = 0.05
"""Familywise error rate at which a difference is called significant."""

_ORDER = (
    *("return", "cagr", "vol", "sharpe", "sharpe_se", "sortino", "max_drawdown", "calmar", "var_95", "cvar_95"),
    *("tail_ratio", "skew", "kurtosis", "turnover", "cost", "exposure", "net_exposure", "n_returns"),
)


def render_comparison(view: ComparisonView) -> str:
    """Return the page of a comparison.

    Args:
        view: The comparison.
    """
    names = " / ".join(run.name for run in view.runs)
    span = f"{view.dates[1]} .. {view.dates[-1]}, {counted(len(view.dates) - 1, 'common return')}"
    lost = f"<p>{escape(_lost(view))} {escape(view.method)}</p>"
    body = (
        f'<header><p class="eyebrow">OpenOutcry comparison</p>{heading(1, names)}'
        f'<p class="sub">{escape(span)}</p></header>'
        f'<main><div class="headline scored"><p class="verdict">{breakable(comparison_verdict(view))}</p>{lost}</div>'
        f"{notices_list(view.notices, 2, 'Differences between the runs')}"
        f"<section>{heading(2, 'Equity')}{_equity(view)}</section>"
        f"<section>{heading(2, 'Drawdown')}{_drawdowns(view)}</section>"
        f"<section>{heading(2, 'Sharpe ratio over time')}{_rolling(view)}</section>"
        f"<section>{heading(2, 'Paired differences')}{_pairs(view)}</section>"
        f"<section>{heading(2, 'Metrics')}{_metrics(view)}</section>"
        f"<section>{heading(2, 'Correlation of returns')}{_correlation(view)}</section></main>"
        f"<footer>{provenance_list(view.provenance)}</footer>"
    )
    return document(f"Comparison: {names}", body)


def comparison_verdict(view: ComparisonView) -> str:
    """Return in one sentence which Sharpe ratios differ, adjusted for all pairs."""
    known = [pair for pair in view.pairs if pair.sharpe.value is not None]
    if not known:
        return f"No difference of Sharpe ratios is defined: {in_words(view.pairs[0].sharpe.reason)}."
    apart = [pair for pair in known if pair.sharpe.adjusted <= LEVEL]
    if not apart:
        return "No Sharpe ratio is significantly above another."
    if len(apart) == 1:
        return f"{_above(view, apart[0])}; no other pair is significant." if len(known) > 1 else _above(view, apart[0])
    return f"{len(apart)} of {counted(len(known), 'pair')} of Sharpe ratios are significantly different."


def _above(view: ComparisonView, pair: PairRow) -> str:
    value = pair.sharpe.value or 0.0
    high, low = (pair.first, pair.second) if value > 0.0 else (pair.second, pair.first)
    return f"The Sharpe ratio of {view.runs[high].name} is {number(abs(value))} above that of {view.runs[low].name}"


def _lost(view: ComparisonView) -> str:
    is_cut = any(run.n_lost for run in view.runs)
    n_undefined = sum(pair.sharpe.value is None for pair in view.pairs)
    others = f" {n_undefined} of {counted(len(view.pairs), 'pair')} cannot be compared." if n_undefined else ""
    return ("Only common dates are compared." if is_cut else "All runs have the same dates.") + others


def _lines(view: ComparisonView) -> list[Line]:
    # The last line is drawn on top.
    return [Line(run.name, view.dates, run.nav, "series", slot) for slot, run in enumerate(view.runs)][::-1]


def _legend(lines: Sequence[Line]) -> str:
    return legend([(line.name, line.colour) for line in reversed(lines)], always=True)


def _equity(view: ComparisonView) -> str:
    lines = _lines(view)
    chart = equity_chart(lines, height=340)
    if spans_decades(lines):
        chart = switch("compared-scale", chart, equity_chart(lines, scale="linear", height=340))
    return figure(
        chart, "NAV as a multiple of its start, on one scale; 1 before the first common return.", _legend(lines)
    )


def _drawdowns(view: ComparisonView) -> str:
    lines = _lines(view)
    return figure(drawdown_chart(lines, height=220, filled=False), "NAV below its running peak.", _legend(lines))


def _rolling(view: ComparisonView) -> str:
    lines = [
        Line(run.name, view.dates, run.rolling, "series", slot)
        for slot, run in enumerate(view.runs)
        if run.rolling is not None and np.isfinite(run.rolling).any()
    ][::-1]
    if not lines:
        return (
            "<p>No window has a rolling Sharpe ratio: there are too few returns, or the bars per year are unknown.</p>"
        )
    caption = f"Annual Sharpe ratio of the last {counted(view.n_window, 'return')}; a gap is undefined."
    return figure(rolling_lines(lines, view.n_window), caption, _legend(lines))


def _pairs(view: ComparisonView) -> str:
    footnotes = Footnotes("pair-note")
    tables = [
        _pair_table(view, [pair.sharpe for pair in view.pairs], "Difference of annual Sharpe ratios", footnotes),
        _pair_table(
            view, [pair.mean for pair in view.pairs], f"Difference of mean returns, {view.mean_unit}", footnotes
        ),
    ]
    fine = (
        "The first run less the second, on the same dates, with 95% intervals. Adjusted p-values (Holm) hold for all "
        "pairs of a table together; the others hold for one pair alone. Significance counts no trial before these runs."
    )
    return "".join(tables) + footnotes.render() + f'<p class="fine">{fine}</p>'


def _pair_table(view: ComparisonView, estimates: Sequence[Estimate], title: str, footnotes: Footnotes) -> str:
    is_ratio = "Sharpe" in title
    factor = 1.0 if is_ratio or "year" in title else 1e4
    marks = [_mark(each, factor if is_ratio else 100.0 * factor) for each in estimates]
    low, high = interval_range(marks)
    rows = []
    for pair, each, mark in zip(view.pairs, estimates, marks, strict=True):
        name = f"{view.runs[pair.first].name} \u2212 {view.runs[pair.second].name}"
        if each.value is None:
            reason = in_words(each.reason)
            dash = f'<span class="undefined"{attribute("title", reason)}>{DASH}</span>{footnotes.mark(reason)}'
            cells = [("Difference", dash), ("95% interval", DASH), ("p", DASH), ("Adjusted p", DASH)]
            drawn = ""
        else:
            shown = [_in_unit(value, is_ratio, factor) for value in (each.value, each.low, each.high)]
            interval = f"{shown[1]} to {shown[2]}"
            p_values = [write(value, "probability") for value in (each.p_value, each.adjusted)]
            adjusted = f"<b>{p_values[1]}</b>" if each.adjusted <= LEVEL else p_values[1]
            cells = [("Difference", shown[0]), ("95% interval", interval), ("p", p_values[0]), ("Adjusted p", adjusted)]
            drawn = interval_mark(*mark, low, high)
        inner = "".join(labelled_cell(*cell) for cell in cells)
        rows.append(f'<tr><th scope="row">{breakable(name)}</th>{inner}<td class="mark">{drawn}</td></tr>')
    heads = "".join(f'<th scope="col">{label}</th>' for label in ("Difference", "95% interval", "p", "Adjusted p"))
    axis = f'<th scope="col" class="mark"><span class="hidden">Drawn</span>{interval_axis(low, high)}</th>'
    table = (
        f'<table class="data stack pairs"><caption><span>{escape(title)}</span></caption>'
        f'<thead><tr><th scope="col">Pair</th>{heads}{axis}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, title)


def _mark(each: Estimate, factor: float) -> tuple[float | None, float | None]:
    if each.value is None:
        return None, None
    # Intervals are symmetric.
    return each.value * factor, (each.high - each.low) / (2.0 * Z95) * factor


def _in_unit(value: float, is_ratio: bool, factor: float) -> str:
    if is_ratio:
        return number(value)
    return percent(value, 2) if factor == 1.0 else f"{number(value * factor, 2)} bp"


def _metrics(view: ComparisonView) -> str:
    footnotes = Footnotes("metric-note")
    known = [name for name in _ORDER if any(name in run.metrics for run in view.runs)]
    heads = "".join(f'<th scope="col">{breakable(run.name)}</th>' for run in view.runs)
    rows = []
    for name in known:
        metric = METRICS[name]
        shown = [show(name, run.metrics, run.reasons, footnotes) for run in view.runs]
        cells = "".join(labelled_cell(run.name, cell) for run, cell in zip(view.runs, shown, strict=True))
        rows.append(f'<tr><th scope="row"{attribute("title", metric.help)}>{metric.label}</th>{cells}</tr>')
    table = (
        '<table class="data stack compared"><caption><span>All metrics over the common dates, by one definition; '
        f"{DASH} is undefined.</span></caption>"
        f'<thead><tr><th scope="col">Metric</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, "Metrics") + footnotes.render()


def _correlation(view: ComparisonView) -> str:
    heads = "".join(f'<th scope="col">{breakable(run.name)}</th>' for run in view.runs)
    rows = []
    for place, run in enumerate(view.runs):
        values = zip(view.runs, view.correlation[place].tolist(), strict=True)
        cells = "".join(_correlated(other.name, value) for other, value in values)
        rows.append(f'<tr><th scope="row">{breakable(run.name)}</th>{cells}</tr>')
    table = (
        '<table class="stack correlation"><caption><span>Pearson correlation of simple returns on the common dates; '
        f"{DASH}: the returns of a run are constant.</span></caption>"
        f'<thead><tr><th scope="col"><span class="hidden">Run</span></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    return scroll(table, "Correlation of returns")


def _correlated(name: str, value: float) -> str:
    if not np.isfinite(value):
        dash = f'<span class="undefined" title="the returns of a run are constant">{DASH}</span>'
        return labelled_cell(name, dash)
    return labelled_cell(name, number(value), shade(value, 1.0))
