"""Table of the faults of an agent, where the decision defaulted to hold."""

from __future__ import annotations

from collections import Counter

from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.text_format import escape
from openoutcry.report.views.run_view import RunView

__all__ = ["FAULTS", "run_faults"]

FAULTS = {
    "malformed": "the response was not a valid decision",
    "agent_died": "the agent exited before its response",
    "agent_late": "the response timed out",
    "answer_too_early": "a response arrived before its observation",
    "answer_too_long": "the response exceeded the size limit",
    "answer_not_text": "the response was not valid UTF-8",
    "answer_cut_short": "the agent exited during its response",
    "answer_status": "the server returned a status other than 200",
    "agent_given_up": "the agent was no longer called after consecutive faults",
    "agent_unreachable": "the connection was refused or broke",
    "agent_unavailable": "the server was busy or unavailable",
    "agent_not_started": "the host could not start the agent",
    "agent_lost": "the agent was no longer called after it became unreachable",
}
"""Fault slug of the contract to its definition, in table order."""


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
        '<table class="metrics faults"><caption><span>Faults of the run; decisions defaulted to hold.</span></caption>'
        '<thead><tr><th scope="col">Fault</th><th scope="col">Count</th>'
        f'<th scope="col" class="help">Definition</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, "Faults")
