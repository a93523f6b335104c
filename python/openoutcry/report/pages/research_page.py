"""Page of a research session, for the human decision."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.report.charts.equity_charts import drawdown_chart, equity_chart
from openoutcry.report.pages.html_document import document
from openoutcry.report.pages.page_parts import (
    DATA,
    figure,
    heading,
    labelled_cell,
    legend,
    notices_list,
    provenance_list,
    scroll,
)
from openoutcry.report.pages.search_sections import fold_section, history_section, map_section
from openoutcry.report.text_format import DASH, attribute, breakable, escape, number, percent
from openoutcry.report.views.research_view import GateMark, ListedRow, ResearchView, RoundRow
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["headline_of", "render_research"]

_OUTCOMES = {
    "advanced": "took the lead",
    "kept": "passed, behind the leader",
    "discarded": "discarded",
    "rejected": "not evaluated",
    "crashed": "crashed",
}


def render_research(view: ResearchView) -> str:
    """Return the page of a session.

    Args:
        view: The session.
    """
    body = (
        f'<header><p class="eyebrow">OpenOutcry research</p>{heading(1, view.goal)}'
        f'<p class="sub">{escape(view.market)}</p></header>'
        f"<main>{_headline(view)}{_figures(view)}{notices_list(view.notices, 2, DATA)}"
        f"<section>{heading(2, 'Short list')}{_shortlist(view)}{_holdout_notes(view)}</section>"
        f"<section>{heading(2, 'Out of sample')}{_tracks(view)}</section>"
        f"<section>{heading(2, 'Walk-forward folds')}{fold_section(view.search)}</section>"
        f"<section>{heading(2, 'Trials over time')}{history_section(view.search)}</section>"
        f"<section>{heading(2, 'Parameter maps')}{map_section(view.search)}</section>"
        f"<section>{heading(2, 'Gates by trial')}{_gates(view.rounds)}</section>"
        f"<section>{heading(2, 'Every hypothesis')}{_rounds(view.rounds)}</section>"
        f"<section>{heading(2, 'Earlier sessions')}{_prior(view.prior)}</section></main>"
        f"<footer>{provenance_list(view.provenance)}</footer>"
    )
    return document(f"Research: {view.goal}", body)


def headline_of(view: ResearchView) -> str:
    """Return the outcome of the session in one sentence."""
    n_listed, n_tried = len(view.shortlist), counted(view.n_session, "trial")
    if not n_listed:
        return f"None of {n_tried} passed the gates declared before the search."
    passed = [row.passed for row in view.shortlist if row.passed is not None]
    outcome = f"{counted(n_listed, 'candidate')} of {n_tried}"
    if not passed:
        return f"{outcome}; the holdout stayed closed."
    return f"{outcome}; {sum(passed)} of {len(passed)} passed the holdout."


def _headline(view: ResearchView) -> str:
    others = view.n_trials - view.n_session
    before = f", including {counted(others, 'trial')} of earlier sessions and other work" if others else ""
    text = (
        f"Sharpe ratios are deflated for {'all ' * (view.n_trials > 1)}{counted(view.n_trials, 'trial')} counted "
        f"for this market family{before}. "
        f"{view.stopped} {view.holdout}"
    )
    return f'<div class="headline scored"><p class="verdict">{escape(headline_of(view))}</p><p>{escape(text)}</p></div>'


def _figures(view: ResearchView) -> str:
    clusters = "" if view.n_eff is None else f"<small>{counted(view.n_eff, 'cluster')}</small>"
    known = [
        ("Candidates", str(len(view.shortlist))),
        ("Rounds", str(len(view.rounds))),
        ("Trials, this session", f"{view.n_session:,}{clusters}"),
        ("Trials, all", f"{view.n_trials:,}"),
        ("Overfitting", f"{DASH if view.pbo is None else percent(view.pbo)}<small>PBO, advisory</small>"),
        ("SPA p-value", f"{_number(view.spa, 3)}<small>against cash, advisory</small>"),
    ]
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in known)
    return f'<dl class="figures">{items}</dl>'


def _shortlist(view: ResearchView) -> str:
    items = "".join(f"<li>{escape(reason)}</li>" for reason in view.dropped)
    count = counted(len(view.dropped), "trial")
    summary = f'<summary class="fine">Excluded from the list: {count}, with the reason of each</summary>'
    excluded = f'<details>{summary}<article><ul class="fine">{items}</ul></article></details>' if items else ""
    if not view.shortlist:
        return f"<p>The short list is empty: no strategy is better than expected by luck.</p>{excluded}"
    heads = (
        ("Holdout", "Result on bars that the search never used, in a test declared in advance"),
        ("DSR", "Probability that the Sharpe ratio is above the expected best of all trials without skill"),
        ("Sharpe", "Annual Sharpe ratio over the concatenated test windows"),
        ("Max drawdown", "Maximum drawdown of the same return series"),
        ("DSR, one trial", "Deflated Sharpe ratio for a single trial"),
        ("DSR of alpha", "Deflated Sharpe ratio of the alpha over the equally weighted market, held or rebalanced"),
    )
    head = "".join(f'<th scope="col"{attribute("title", definition)}>{name}</th>' for name, definition in heads)
    rows = "".join(_listed(place, row) for place, row in enumerate(view.shortlist, 1))
    table = (
        '<table class="data stack listed"><caption><span>Best first, by the Sharpe ratio out of sample; the order was '
        "frozen before the holdout was opened.</span></caption>"
        f'<thead><tr><th scope="col">Candidate</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )
    return scroll(table, "Short list") + excluded


def _holdout_notes(view: ResearchView) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in view.holdout_notes)
    return f'<p class="fine">About the holdout:</p><ul class="fine">{items}</ul>' if items else ""


def _listed(place: int, row: ListedRow) -> str:
    cells = (
        ("Holdout", escape(row.holdout)),
        ("DSR", _number(row.dsr, 3)),
        ("Sharpe", _number(row.sharpe)),
        ("Max drawdown", percent(row.drawdown)),
        ("DSR, one trial", _number(row.dsr_if_one, 3)),
        ("DSR of alpha", _number(row.dsr_alpha, 3)),
    )
    cautions = "".join(f"<br><small><b>Caution:</b> {escape(caution)}.</small>" for caution in row.cautions)
    name = f"<span>{place}. {breakable(row.name)} <small>{escape(row.params)}</small>{cautions}</span>"
    shown = "".join(labelled_cell(*cell) for cell in cells)
    return f'<tr><th scope="row">{name}</th>{shown}</tr>'


def _tracks(view: ResearchView) -> str:
    if not view.lines:
        return "<p>Nothing was evaluated.</p>"
    entries = [(line.name, line.colour) for line in view.lines]
    equity = figure(equity_chart(view.lines), view.caption, legend(entries))
    return equity + figure(drawdown_chart(view.lines), "Drawdown: NAV below its running peak.")


def _gates(rounds: Sequence[RoundRow]) -> str:
    tried = [row for row in rounds if row.gates]
    if not tried:
        return "<p>No proposal was evaluated.</p>"
    columns = list(dict.fromkeys(gate.name for row in tried for gate in row.gates))
    bounds = {name: {gate.bound for row in tried for gate in row.gates if gate.name == name} for name in columns}
    labels = {name: f"{_named(name)} {next(iter(bounds[name])) if len(bounds[name]) == 1 else ''}" for name in columns}
    heads = "".join(_head(name, bounds[name]) for name in columns)
    body = []
    for row in tried:
        marks = {gate.name: gate for gate in row.gates}
        cells = "".join(
            labelled_cell(label.strip(), _mark(marks[name], len(bounds[name]) > 1) if name in marks else DASH)
            for name, label in labels.items()
        )
        body.append(f'<tr><th scope="row">{row.number}. {breakable(row.name)}</th>{cells}</tr>')
    table = (
        '<table class="list stack by-trial"><caption><span>A trial is kept if every gate passes; failures are bold. '
        f"{DASH} is undefined, which fails the gate, or not measured because an earlier gate failed.</span></caption>"
        f'<thead><tr><th scope="col">Trial</th>{heads}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )
    return scroll(table, "Gates by trial")


def _head(name: str, bounds: set[str]) -> str:
    bound = f"<br><small>{escape(next(iter(bounds)))}</small>" if len(bounds) == 1 else ""
    return f'<th scope="col">{escape(_named(name))}{bound}</th>'


def _mark(gate: GateMark, with_bound: bool) -> str:
    shown = DASH if gate.value is None else _plain_number(gate.value)
    title = f"{gate.bound} required" + (f"; {gate.reason}" if gate.reason else "")
    inner = shown if gate.passed or gate.value is None else f"<b>{shown}</b>"
    note = "" if gate.passed else '<span class="hidden"> not passed</span>'
    small = f"<small> {escape(gate.bound)}</small>" if with_bound else ""
    return f"<span{attribute('title', title)}>{inner}{note}{small}</span>"


def _plain_number(value: float) -> str:
    # Counts, such as trades.
    return f"{value:,.0f}" if value == int(value) else number(value)


def _rounds(rounds: Sequence[RoundRow]) -> str:
    if not rounds:
        return "<p>Nothing was proposed.</p>"
    return "".join(_round(row) for row in rounds)


def _round(row: RoundRow) -> str:
    outcome = _OUTCOMES.get(row.outcome, row.outcome)
    sharpe = f", Sharpe ratio {_number(row.sharpe)} out of sample" if row.sharpe is not None else ""
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in row.reasons)
    source = f"<pre><code>{escape_lines(row.source)}</code></pre>" if row.source else ""
    body = (
        f"<p>{escape(row.rationale) if row.rationale else 'No reason was given.'}</p>"
        + (f"<p><small>{escape(row.params)}</small></p>" if row.params else "")
        + source
        + (f"<ul>{reasons}</ul>" if reasons else "")
    )
    return (
        f"<details><summary>{heading(3, f'{row.number}. {row.name}')}<span>{escape(outcome + sharpe)}</span></summary>"
        f"<article>{body}</article></details>"
    )


def escape_lines(text: str) -> str:
    """Escape text and keep its line breaks."""
    return "\n".join(escape(line) for line in text.splitlines())


def _prior(prior: str) -> str:
    if not prior:
        return "<p>This was the first session on this market family.</p>"
    return (
        '<details><summary class="fine">Findings of earlier runs, as shown to the proposers</summary>'
        f"<article><pre><code>{escape_lines(prior)}</code></pre></article></details>"
    )


def _named(name: str) -> str:
    return {"dsr": "DSR", "dsr_alpha": "DSR of alpha"}.get(name, name.replace("_", " ").capitalize())


def _number(value: float | None, digits: int = 2) -> str:
    return DASH if value is None else number(value, digits)
