"""Answers of which everything was held instead, counted by what was wrong."""

from __future__ import annotations

from collections import Counter

from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.text_format import escape
from openoutcry.report.views.run_view import RunView

__all__ = ["FAULTS", "run_faults"]

FAULTS = {
    "malformed": "the answer was no decision",
    "agent_died": "the agent ended before its answer",
    "agent_late": "no answer came in time",
    "answer_too_early": "an answer came before its observation",
    "answer_too_long": "the answer was longer than allowed",
    "answer_not_text": "the answer was no UTF-8",
    "answer_cut_short": "the agent ended within its answer",
    "answer_status": "the server answered with a status other than 200",
    "agent_given_up": "it was asked no more, after faults in a row",
    "agent_unreachable": "nobody listened, or the connection broke",
    "agent_unavailable": "the server was busy, or away",
    "agent_not_started": "the host could begin no more agents",
    "agent_lost": "it was asked no more, after it could not be reached",
}
"""Slug of each fault of the contract to what it says, in the order of tables."""


def run_faults(view: RunView) -> str:
    """Return a table of the faults of a run; empty if there are none."""
    counts = Counter(step.fault for step in view.trace.steps if step.fault) if view.trace else Counter[str]()
    if not counts:
        return ""
    slugs = [slug for slug in FAULTS if slug in counts] + sorted(counts.keys() - FAULTS.keys())
    rows = [
        f'<tr><th scope="row">{escape(slug)}</th><td>{counts[slug]:,}</td>'
        f'<td class="help">{escape(FAULTS.get(slug, ""))}</td></tr>'
        for slug in slugs
    ]
    table = (
        '<table class="metrics faults"><caption><span>Faults of the run; everything was held instead.</span></caption>'
        '<thead><tr><th scope="col">Fault</th><th scope="col">Count</th>'
        f'<th scope="col" class="help">What it is</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, "Faults")
