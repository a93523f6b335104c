"""Tables of order and account events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.text_format import DASH, attribute, breakable, escape
from openoutcry.report.views.run_view import RunView

__all__ = ["EVENTS", "Counted", "board_events", "run_events"]

EVENTS = {
    "filled": "an order was executed, fully or partially",
    "exited": "a position was closed by its stop loss or take profit",
    "unfilled": "an order could not be filled and was dropped",
    "refused": "an invalid order was rejected",
    "limited": "an order was reduced to a limit",
    "stale_price": "an order for a halted symbol was sized on its last close",
    "delisted": "a position was settled because its symbol was delisted",
    "liquidated": "a position was closed by a margin call",
    "ruined": "the NAV reached zero",
}
"""Event slug of the contract to its definition, in table order."""


class Counted(Protocol):
    """An agent with event counts: slug to counts by reason."""

    @property
    def name(self) -> str: ...
    @property
    def events(self) -> Mapping[str, Mapping[str, int]]: ...


def run_events(view: RunView) -> str:
    """Return a table of the events of a run by reason."""
    if not view.events:
        return "<p>Events were not recorded.</p>"
    rows = []
    for slug in _order([view]):
        for reason, count in sorted(view.events[slug].items()):
            rows.append(
                f'<tr><th scope="row">{escape(slug)}</th><td>{count:,}</td><td class="help">{escape(reason)}'
                f'</td><td class="help">{escape(EVENTS.get(slug, ""))}</td></tr>'
            )
    table = (
        '<table class="metrics"><caption><span>Events of the run; fills are counted per order.</span></caption><thead>'
        '<tr><th scope="col">Event</th><th scope="col">Count</th><th scope="col" class="help">Reason</th>'
        f'<th scope="col" class="help">Definition</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, "Events")


def board_events(runs: Sequence[Counted]) -> str:
    """Return a table of the events of each agent; empty if no run has events."""
    slugs = _order(runs)
    if not slugs:
        return ""
    head = "".join(f'<th scope="col"{attribute("title", EVENTS.get(slug, ""))}>{escape(slug)}</th>' for slug in slugs)
    rows = []
    for run in runs:
        cells = "".join(f"<td>{_total(run.events, slug)}</td>" for slug in slugs)
        rows.append(f'<tr><th scope="row">{breakable(run.name)}</th>{cells}</tr>')
    table = (
        '<table class="events"><caption><span>Events per agent, all reasons together.</span></caption>'
        f'<thead><tr><th scope="col">Agent</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return scroll(table, "Orders and events")


def _total(events: Mapping[str, Mapping[str, int]], slug: str) -> str:
    return f"{sum(events.get(slug, {}).values()):,}" if events else DASH


def _order(runs: Sequence[Counted]) -> list[str]:
    slugs = {slug for run in runs for slug in run.events}
    return [slug for slug in EVENTS if slug in slugs] + sorted(slugs - set(EVENTS))
