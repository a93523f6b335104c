"""Page of a scored board: headline, ranking, tests, windows, agents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import inf

from openoutcry.report.pages.event_counts import board_events
from openoutcry.report.pages.html_document import document
from openoutcry.report.pages.metric_labels import Footnotes, Metric, show, show_sharpe
from openoutcry.report.pages.page_parts import heading, labelled_cell, notices_list, provenance_list, scroll
from openoutcry.report.pages.score_agent_section import (
    agent_fold,
    least_z,
    shaded_z,
    verdict_line,
    window_heads,
    window_labels,
)
from openoutcry.report.pages.score_labels import DIAGNOSTICS, FIELD, SIDE, VERDICTS
from openoutcry.report.pages.score_luck_section import floor_figure, z_figure
from openoutcry.report.pages.table_parts import css_text
from openoutcry.report.text_format import DASH, attribute, breakable, escape, percent
from openoutcry.report.views.run_view import Provenance
from openoutcry.report.views.score_view import ScoreRow, ScoreSide, ScoreView, ScoreWindow
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["headline_of", "render_scores"]

_COLUMNS = {
    "z": SIDE["z"],
    "dsr": Metric("DSR", "probability", SIDE["dsr"].help),
    "romano_wolf": Metric("Romano-Wolf p-value", "probability", SIDE["romano_wolf"].help),
}

_STRICTEST, _SANDBOX = "Sharpe, strictest", "Sandbox"
_BY_Z = "Annual Sharpe ratio over the benchmark with the lowest z; the section of the agent has every benchmark"
_ISOLATION = "Lowest sandbox tier of any run, and whether any run had network access"


def render_scores(view: ScoreView, provenance: Provenance) -> str:
    """Return the page of a scored board.

    Args:
        view: The board.
        provenance: Conditions and versions of the board.
    """
    notes = Footnotes("rank-note")
    ranking = scroll(_ranking(view, notes), "Agents by rank") + notes.render()
    labels = window_labels(list(_columns(view.rows).values()))
    folds = "".join(agent_fold(row, _anchor(index), labels) for index, row in enumerate(view.rows))
    events = board_events(view.rows)
    body = (
        f'<header><p class="eyebrow">OpenOutcry scores</p>{heading(1, view.title)}'
        f'<p class="sub">{escape(view.protocol)}</p></header>'
        f"<main>{_headline(view)}{_figures(view)}{notices_list(view.notices, 2, 'Read this with the numbers')}"
        f"<section>{heading(2, 'Ranking')}{ranking}</section>"
        f"<section>{heading(2, 'Is it luck?')}{z_figure(view.rows, view.floor)}"
        f"{floor_figure(view.rows, view.floor)}{_tests(view)}</section>"
        f"<section>{heading(2, 'Window by window')}{scroll(_strip(view.rows), 'Window by window')}</section>"
        + (f"<section>{heading(2, 'Orders and events')}{events}</section>" if events else "")
        + f"<section>{heading(2, 'Every agent')}{folds}</section>"
        f"<section>{heading(2, 'Definitions')}{_definitions()}</section></main>"
        f"<footer>{provenance_list(provenance)}</footer>"
    )
    return document(view.title, body, css=_narrow(labels))


def headline_of(view: ScoreView) -> str:
    """Return the number of eligible agents and the comparison of the first two."""
    n_eligible = sum(row.verdict == "eligible" for row in view.rows)
    if len(view.rows) == 1:
        verdict = VERDICTS.get(view.rows[0].verdict, view.rows[0].verdict)
        # Without a second agent there is no comparison to state.
        return f"The only agent {'has' if view.rows[0].verdict == 'insufficient' else 'is'} {verdict}."
    text = f"{n_eligible or 'None'} of {len(view.rows)} agents {'are' if n_eligible > 1 else 'is'} eligible"
    sentence = view.sentence.rstrip(".")
    return f"{text}; {sentence}." if sentence else f"{text}."


def _headline(view: ScoreView) -> str:
    text, power = escape(headline_of(view)), escape(view.power)
    return f'<div class="headline scored"><p class="verdict">{text}</p><p>{power}</p></div>'


def _figures(view: ScoreView) -> str:
    complete = max(view.rows, key=lambda row: len(row.windows))
    ranks = {row.rank for row in view.rows if row.rank is not None}
    n_seeds = max((window.n_seeds for window in complete.windows), default=0)
    known = [
        ("Agents", str(len(view.rows))),
        ("Eligible", str(sum(row.verdict == "eligible" for row in view.rows))),
        ("Rank bands", str(len(ranks))),
        ("Windows", f"{len(complete.windows)}<small>{counted(n_seeds, 'seed')} each</small>"),
        ("Days", f"{sum(window.n_days for window in complete.windows):,}"),
        ("Trials counted", f"{max(row.n_trials for row in view.rows):,}"),
    ]
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in known)
    return f'<dl class="figures">{items}</dl>'


def _anchor(index: int) -> str:
    return f"agent{index}"


def _ranking(view: ScoreView, notes: Footnotes) -> str:
    labels = [*(metric.label for metric in _COLUMNS.values()), _STRICTEST, "Windows won"]
    labels += [f"pass^{len(view.rows[0].pass_k) or 'k'}", "Trials", _SANDBOX]
    titles = {metric.label: metric.help for metric in _COLUMNS.values()} | {_STRICTEST: _BY_Z, _SANDBOX: _ISOLATION}
    columns = [
        f'<th scope="col"{attribute("title", titles[label]) if label in titles else ""}>{escape(label)}</th>'
        for label in labels
    ]
    groups = []
    for rank, members in groupby(enumerate(view.rows), key=lambda each: each[1].rank):
        groups.append(_band(rank, list(members), labels, notes))
    caption = "Agents of one band share a rank: they are not significantly different from its first."
    caption += " Unranked agents cannot be compared." if any(row.rank is None for row in view.rows) else ""
    if any(row.sealed for row in view.rows):
        caption += " z, DSR and the tests of the field use only the sealed windows."
    return (
        f'<table class="ranking stack scores"><caption><span>{escape(caption)}</span></caption><thead><tr>'
        '<th scope="col"><span class="hidden">Rank</span></th><th scope="col">Agent</th>'
        f"{''.join(columns)}</tr></thead>{''.join(groups)}</table>"
    )


def _band(rank: int | None, members: Sequence[tuple[int, ScoreRow]], labels: Sequence[str], notes: Footnotes) -> str:
    count = len(members)
    place = DASH if rank is None else str(rank)
    note = "unranked" if rank is None else f"{count} tied" if count > 1 else ""
    small = f"<small>{note}</small>" if note else ""
    rows = []
    for position, (index, row) in enumerate(members):
        head = f'<td class="rank" rowspan="{2 * count}">{place}{small}</td>' if position == 0 else ""
        rows.append(_agent(row, index, head, labels, notes))
    return f'<tbody class="{"unranked" if rank is None else "band"}">{"".join(rows)}</tbody>'


def _agent(row: ScoreRow, index: int, head: str, labels: Sequence[str], notes: Footnotes) -> str:
    cells = [show(name, row.values, row.reasons, notes, _COLUMNS) for name in _COLUMNS]
    cells += [_sharpe(_strictest(row.sides), notes), f"{row.n_won} of {len(row.windows)}"]
    cells += [percent(row.pass_k[-1]) if row.pass_k else DASH, f"{row.n_trials:,}", escape(row.isolation) or DASH]
    # A ratio with its error needs the width of a phone.
    kinds = ["broad" if label == _STRICTEST else "" for label in labels]
    shown = map(labelled_cell, labels, cells, kinds)
    link = f'<a href="#{_anchor(index)}">{escape(row.name)}</a>'
    title = attribute("title", row.name) if len(row.name) > 24 else ""
    verdict, _, why = verdict_line(row).partition(": ")
    kind = ' class="eligible"' if row.verdict == "eligible" else ""
    strong = f"<b{kind}>{escape(verdict)}</b>" + (f": {escape(why)}" if why else "")
    return (
        f'<tr class="who">{head}<th scope="row"{title}>{link}</th>{"".join(shown)}</tr>'
        f'<tr class="why"><td colspan="{len(cells) + 1}"><span>{strong}</span></td></tr>'
    )


def _strictest(sides: Sequence[ScoreSide]) -> ScoreSide:
    # Return the benchmark with the lowest z, or the first if each z is undefined.
    return min(sides, key=lambda side: inf if (z := side.values.get("z")) is None else z)


def _sharpe(side: ScoreSide, notes: Footnotes) -> str:
    named = {"sharpe": "sharpe", "sharpe_se": "standard_error"}
    values = {name: side.values.get(origin) for name, origin in named.items()}
    reasons = {name: side.reasons[origin] for name, origin in named.items() if origin in side.reasons}
    over = "" if values["sharpe"] is None else f" <small>over {escape(side.name)}</small>"
    return show_sharpe(values, reasons, notes) + over


def _tests(view: ScoreView) -> str:
    if not view.tests:
        return ""
    notes = Footnotes("field-note")
    body = []
    for name, metric in FIELD.items():
        cells = []
        for test in view.tests:
            reasons = {name: test.reason} if test.reason else {}
            cells.append(f"<td>{show(name, test.values, reasons, notes, FIELD)}</td>")
        body.append(_defined(metric, "".join(cells)))
    overfit = Metric(
        "Probability of backtest overfitting",
        "share",
        "CSCV: share of splits whose best agent in sample ranks at or below the median out of sample",
    )
    values, reasons = {"overfit": view.overfit}, {"overfit": view.overfit_reason}
    cell = show("overfit", values, reasons, notes, {"overfit": overfit})
    body.append(_defined(overfit, f'<td colspan="{len(view.tests)}">{cell}</td>'))
    head = "".join(f'<th scope="col">Over {escape(test.benchmark)}</th>' for test in view.tests)
    table = (
        '<table class="metrics field"><caption><span>p-values of the field: does any agent beat the benchmark?'
        f'</span></caption><thead><tr><th scope="col">Test</th>{head}<th scope="col" class="help">Definition</th></tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table>"
    )
    return scroll(table, "Tests of the field") + notes.render()


def _strip(rows: Sequence[ScoreRow]) -> str:
    placed, columns = [_placed(row.windows) for row in rows], _columns(rows)
    names = dict.fromkeys(name for window in columns.values() for name in window.z)
    # Returns without a record may lack buy-and-hold; cash is then the only benchmark.
    sides = [name for name in names if any(window.z.get(name) is not None for row in rows for window in row.windows)]
    body = []
    for row, windows in zip(rows, placed, strict=True):
        cells = (shaded_z(least_z(windows[place], sides)) if place in windows else "<td></td>" for place in columns)
        body.append(f'<tr><th scope="row">{breakable(row.name)}</th>{"".join(cells)}</tr>')
    head = f'<tr><th scope="col">Agent</th>{window_heads(list(columns.values()))}</tr>'
    return (
        '<table class="months strip tiles"><caption><span>z of each window over the strictest benchmark; blue is above,'
        f" orange below. {DASH} is undefined; the section of the agent has the reason.</span></caption>"
        f"<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    )


def _columns(rows: Sequence[ScoreRow]) -> dict[tuple[str, str, str], ScoreWindow]:
    """Return the windows of the page; the agent with the most determines the order."""
    placed = sorted((_placed(row.windows) for row in rows), key=len, reverse=True)
    return {place: window for windows in placed for place, window in windows.items()}


def _narrow(labels: Sequence[str]) -> str:
    """Return the style sheet that labels the windows on a narrow screen.

    An attribute per cell would be a quarter of the page.
    """
    rules = (
        f".strip td:nth-child({place})::before{{content:{css_text(label)}}}" for place, label in enumerate(labels, 2)
    )
    return f"@media (max-width:640px){{{''.join(rules)}}}\n"


def _placed(windows: Sequence[ScoreWindow]) -> dict[tuple[str, str, str], ScoreWindow]:
    """Return windows by market and dates, or by index if they have no dates."""
    return {(w.market, w.first or str(place), w.last): w for place, w in enumerate(windows)}


def _definitions() -> str:
    body = "".join(_defined(metric) for metric in [*SIDE.values(), *DIAGNOSTICS.values()])
    table = (
        '<table class="metrics"><caption class="hidden">Definitions</caption><thead class="hidden"><tr>'
        '<th scope="col">Number</th><th scope="col" class="help">Definition</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return scroll(table, "Definitions")


def _defined(metric: Metric, cells: str = "") -> str:
    return f'<tr><th scope="row">{escape(metric.label)}</th>{cells}<td class="help">{escape(metric.help)}</td></tr>'
