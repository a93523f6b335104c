"""Section of one agent on a scored board: gates, benchmarks, windows, process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openoutcry.report.charts.heatmap import shade
from openoutcry.report.pages.metric_labels import METRICS, Footnotes, Metric, get, in_words, show, write
from openoutcry.report.pages.page_parts import heading, labelled_cell, scroll
from openoutcry.report.pages.score_labels import DIAGNOSTICS, GATES, INPUTS, SIDE, VERDICTS, GateLabel
from openoutcry.report.pages.table_parts import css_text
from openoutcry.report.text_format import DASH, attribute, escape, number, percent
from openoutcry.report.views.score_view import ScoreGate, ScoreRow, ScoreWindow
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["EXTREME_Z", "agent_fold", "least_z", "shaded_z", "verdict_line", "window_heads", "window_labels"]

EXTREME_Z = 3.0
"""`z` at which the shade of a cell is strongest."""

_RESULTS = {True: "passed", False: "failed", None: "unknown"}


def agent_fold(row: ScoreRow, key: str, labels: Sequence[str]) -> str:
    """Return the section of an agent, collapsed.

    Args:
        row: The agent.
        key: Id of the section, unique on the page.
        labels: Labels of the windows of the page, which a narrow screen shows if the agent has the same ones.
    """
    # A page of fifty agents stays below a megabyte.
    notes = Footnotes(f"{key}-note", is_short=True)
    verdict, _, why = verdict_line(row).partition(": ")
    parts = [
        f"<p><b>{escape(verdict.capitalize())}</b>{': ' if why else ''}{escape(why)}.</p>",
        heading(4, "Gates"),
        scroll(_gates(row.gates, "Every gate; all must pass", notes), f"Gates of {row.name}"),
        _sealed(row, notes),
        heading(4, "Against each benchmark"),
        _sides(row, notes),
        _markets(row, notes, f"Markets of {row.name}"),
        heading(4, "Windows"),
        scroll(_windows(row, notes, labels), f"Windows of {row.name}"),
        _pass_k(row),
        heading(4, "Process"),
        _process(row),
        heading(4, "Diagnostics"),
        _diagnostics(row, notes),
    ]
    if notes.texts:
        parts += [heading(4, "Undefined values"), notes.render()]
    summary = f"{heading(3, row.name)}<span>{escape(_short(row))}</span>"
    return f'<details id="{key}"><summary>{summary}</summary><article>{"".join(parts)}</article></details>'


def _short(row: ScoreRow) -> str:
    failed, unknown = (sum(gate.passed is state for gate in row.gates) for state in (False, None))
    counts = [f"{n} {word}" for n, word in ((failed, "failed"), (unknown, "unknown")) if n]
    of_gates = f"; of {counted(len(row.gates), 'gate')}, {' and '.join(counts)}" if counts else ""
    return VERDICTS.get(row.verdict, row.verdict) + of_gates


def verdict_line(row: ScoreRow) -> str:
    """Return the verdict on an agent with its reasons, as text."""
    verdict = VERDICTS.get(row.verdict, row.verdict)
    reasons = "; ".join(row.because)
    if row.copy_of:
        reasons += f" (same return series as {row.copy_of})"
    return f"{verdict}: {reasons}" if reasons else verdict


def window_labels(windows: Sequence[ScoreWindow]) -> list[str]:
    """Return one label per window: market and years, or index and days."""
    labels = []
    for place, window in enumerate(windows, 1):
        first, last = window.first[:4], window.last[:4]
        years = first if first == last else f"{first}\u2013{last}"
        label = years or f"{place}: {counted(window.n_days, 'day')}"
        labels.append(f"{window.market} {label}" if window.market else label)
    return labels


def window_heads(windows: Sequence[ScoreWindow], *, dated: bool = True) -> str:
    """Return one column heading per window, as in `window_labels`.

    With `dated`, the dates are in a title.
    """
    heads = []
    for window, label in zip(windows, window_labels(windows), strict=True):
        span = attribute("title", f"{window.first} .. {window.last}") if window.first and dated else ""
        market, text = (window.market, label[len(window.market) + 1 :]) if window.market else ("", label)
        heads.append(f'<th scope="col"{span}>{escape(market) + "<br>" if market else ""}{escape(text)}</th>')
    return "".join(heads)


def shaded_z(z: float | None, label: str = "") -> str:
    """Return a table cell of a `z`, shaded by its distance from 0.

    With a label, a narrow screen shows it in place of the one of the page.
    """
    own = attribute("data-label", label) if label else ""
    if z is None:
        return f'<td class="undefined"{own}>{DASH}</td>'
    return f'<td class="{shade(z, EXTREME_Z)}"{own}>{number(z, 1)}</td>'


def _sealed(row: ScoreRow, notes: Footnotes) -> str:
    if not row.sealed:
        return ""
    table = _gates(row.sealed, "Skill gates on sealed windows; all must pass", notes)
    label = f"Gates of {row.name} on sealed windows"
    return heading(4, "Only the sealed windows") + scroll(table, label)


def _gates(gates: Sequence[ScoreGate], caption: str, notes: Footnotes) -> str:
    body = "".join(_gate(gate, notes) for gate in gates)
    return (
        f'<table class="gates"><caption class="hidden">{caption}</caption><thead><tr>'
        '<th scope="col">Gate</th><th scope="col">Value</th><th scope="col">Required</th>'
        f'<th scope="col">Result</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _gate(gate: ScoreGate, notes: Footnotes) -> str:
    label = GATES.get(gate.slug, GateLabel(gate.slug, "ratio", "bound"))
    known = {gate.slug: Metric(label.label, label.unit, "")}
    value = show(gate.slug, {gate.slug: gate.value}, {gate.slug: gate.undefined}, notes, known)
    bound = DASH if gate.bound is None else f"{label.bound} {_bound(gate.bound, label.unit)}"
    result = _RESULTS[gate.passed]
    if gate.passed is not True:
        result = f'<b class="fault">{result}</b>' if gate.passed is False else f"<b>{result}</b>"
        result += f": {escape(gate.reason)}" if gate.reason else ""
    head = f'<th scope="row"{attribute("title", gate.slug)}>{escape(label.label)}</th>'
    return f"<tr>{head}<td>{value}</td><td>{bound}</td><td>{result}</td></tr>"


def _bound(value: float, unit: str) -> str:
    return number(value, 2) if unit == "probability" else write(value, unit)


def _sides(row: ScoreRow, notes: Footnotes) -> str:
    known = {name: metric for name, metric in SIDE.items() if any(name in side.values for side in row.sides)}
    body, above = [], [""] * len(row.sides)
    for name, metric in known.items():
        kind = ' class="input"' if name in INPUTS else ""
        shown = [show(name, side.values, side.reasons, notes, SIDE) for side in row.sides]
        # A reason is noted once where the numbers below each other share it.
        cells = _cells([DASH if cell == old and DASH in cell else cell for cell, old in zip(shown, above, strict=True)])
        above = shown
        body.append(f'<tr{kind}><th scope="row">{escape(metric.label)}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">Over {escape(side.name)}</th>' for side in row.sides)
    # One style for the table: an attribute per cell would be a tenth of the page.
    labels = "".join(f"--l{place}:{css_text(side.name)};" for place, side in enumerate(row.sides, 2))
    table = (
        f'<table class="skill sides stack" style="{labels}"><caption><span>Each gate uses the worst benchmark; inputs '
        f'of the DSR are indented.</span></caption><thead><tr><th scope="col">Number</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return scroll(table, f"{row.name} against each benchmark")


def _cells(cells: Sequence[str]) -> str:
    # Return the cells of a row; what all sides share, such as the number of trials, is one cell.
    if len(cells) > 1 and len(set(cells)) == 1:
        return f'<td colspan="{len(cells)}">{_one(cells[0])}</td>'
    return "".join(f"<td>{_one(cell)}</td>" for cell in cells)


def _one(cell: str) -> str:
    # Return a value as one item of a cell that stacks; a number without a link is one already.
    return f"<span>{cell}</span>" if "<" in cell else cell


def _markets(row: ScoreRow, notes: Footnotes, label: str) -> str:
    if not row.markets:
        return ""
    known = {
        "alpha": Metric("Annual alpha", "gain", ""),
        "alpha_error": Metric("Alpha, std. error", "share", ""),
        "beta": Metric("Beta", "ratio", ""),
        "n_days": Metric("Days", "count", ""),
    }
    body = []
    for name, values, reasons in row.markets:
        shown = (show(each, values, reasons, notes, known) for each in known)
        cells = "".join(labelled_cell(metric.label, cell) for metric, cell in zip(known.values(), shown, strict=True))
        body.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{metric.label}</th>' for metric in known.values())
    table = (
        '<table class="sides stack"><caption><span>Regression on buy-and-hold.</span></caption><thead>'
        f'<tr><th scope="col">Market</th>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )
    return scroll(table, label)


def _windows(row: ScoreRow, notes: Footnotes, page: Sequence[str]) -> str:
    body = []
    own = window_labels(row.windows)
    labels = own if own != list(page) else [""] * len(own)
    for name in row.windows[0].z if row.windows else ():
        known = [w.z.get(name) for w in row.windows]
        cells = "".join(map(shaded_z, known, labels))
        if all(z is None for z in known):
            cells = f'<td class="undefined" colspan="{len(known)}">{DASH}</td>'
        # A reason shared by many windows is noted once, in the row heading.
        reasons = dict.fromkeys(w.reasons.get(name, "undefined") for w in row.windows if w.z.get(name) is None)
        marks = "".join(map(notes.mark, map(in_words, reasons)))
        body.append(f'<tr><th scope="row">z over {escape(name)}{marks}</th>{cells}</tr>')
    for name in ("return", "vol"):
        shown = [show(name, w.values, w.reasons, notes) for w in row.windows]
        cells = "".join(map(_value, shown, labels))
        body.append(f'<tr><th scope="row">{METRICS[name].label}</th>{cells}</tr>')
    cells = "".join(map(_value, (f"{w.n_passed} of {w.n_seeds}" for w in row.windows), labels))
    body.append(f'<tr><th scope="row">Seeds that pass</th>{cells}</tr>')
    head = f'<tr><th scope="col">Window</th>{window_heads(row.windows, dated=False)}</tr>'
    return (
        '<table class="months strip tiles"><caption class="hidden">Every window</caption>'
        f"<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    )


def _value(content: str, label: str) -> str:
    return f"<td{attribute('data-label', label) if label else ''}>{content}</td>"


def _pass_k(row: ScoreRow) -> str:
    rates = ", ".join(f"{percent(rate, 1)} for k = {k}" for k, rate in enumerate(row.pass_k, 1))
    return f'<p class="fine">Probability that k of k seeds of a window pass: {rates or DASH}.</p>'


def _process(row: ScoreRow) -> str:
    if row.faults is None:
        return "<p>Unknown: returns without a record have no decisions from which they could be recomputed.</p>"
    text = f"{counted(row.n_decisions, 'decision')}. Sandbox: {row.isolation}. Faults: {_counts(row.faults) or 'none'}"
    if row.infrastructure_faults:
        text += f"; of infrastructure: {_counts(row.infrastructure_faults)}"
    events = _counts({slug: sum(by.values()) for slug, by in row.events.items()}) or "none"
    return f"<p>{escape(text)}. Events: {escape(events)}.</p>"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{slug} {count:,}" for slug, count in sorted(counts.items()))


def _diagnostics(row: ScoreRow, notes: Footnotes) -> str:
    tables = [
        ("Not in the verdict", row.diagnostics, DIAGNOSTICS),
        ("Metrics, mean of seeds", row.metrics, METRICS),
    ]
    drawn = "".join(_list(title, values, known, row.reasons, notes) for title, values, known in tables)
    return f'<div class="pair">{drawn}</div>'


def _list(
    title: str,
    values: Mapping[str, float | None],
    known: Mapping[str, Metric],
    reasons: Mapping[str, str],
    notes: Footnotes,
) -> str:
    body = "".join(
        f'<tr><th scope="row">{escape(known[name].label if name in known else name)}</th>'
        f"<td>{show(name, values, reasons, notes, known)}</td></tr>"
        for name in _ordered(values, known)
    )
    return (
        f'<table class="list"><caption><span>{escape(title)}</span></caption><thead class="hidden"><tr>'
        f'<th scope="col">Number</th><th scope="col">Value</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _ordered(values: Mapping[str, float | None], known: Mapping[str, Metric]) -> Sequence[str]:
    return [name for name in known if name in values] + [name for name in values if name not in known]


def least_z(window: ScoreWindow, sides: Sequence[str]) -> float | None:
    """Return the lowest `z` of a window over benchmarks; `None` if one is undefined."""
    found = [get(window.z, name) for name in sides]
    known = [z for z in found if z is not None]
    return min(known) if known and len(known) == len(found) else None
