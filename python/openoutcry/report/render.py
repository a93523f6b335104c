"""Render the page of a run or a board from plain records."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.report.pages.board_page import board_section, colour_slots
from openoutcry.report.pages.html_document import document
from openoutcry.report.pages.packed_trace import CELLS, CELLS_WITH_DATA
from openoutcry.report.pages.page_parts import DATA, Detail, heading, notices_list, provenance_list
from openoutcry.report.pages.proof_panel import Proof, proof_panel, with_digest
from openoutcry.report.pages.run_page import contents, headline, joined, key_figures, sections_of, without_itself
from openoutcry.report.text_format import escape
from openoutcry.report.views.run_view import BoardSection, Provenance, RunView
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["render_board", "render_run"]


def render_run(
    view: RunView,
    benchmark: RunView | None,
    notices: Sequence[str],
    provenance: Provenance,
    proof: Proof | None = None,
) -> str:
    """Return the page of one run.

    Args:
        view: The run.
        benchmark: Run for comparison, normally buy-and-hold on the same window; `None` for none.
        notices: Caveats of the dataset, one sentence each.
        provenance: Conditions and versions of the run.
        proof: Data from which the page recomputes its run; None for a page that does not verify itself.
    """
    benchmark = without_itself(view, benchmark)
    has_data = proof is not None and any(market.content for market in proof.markets)
    detail = Detail(cells=CELLS_WITH_DATA if has_data else CELLS)
    sections = sections_of(view, benchmark, "run", detail)
    span = f"{view.dataset}, {view.window}, {counted(len(view.dates), 'bar')}"
    head = (
        f'<header><p class="eyebrow">OpenOutcry run</p>{heading(1, view.name)}'
        f'<p class="sub">{escape(span)}</p></header><main>'
    )
    rest = (
        f"{headline(view, benchmark)}{key_figures(view, benchmark, 'run')}{contents(sections, 'run')}"
        f"{notices_list(notices, 2, DATA)}"
        f"{joined(sections, 2, 'run')}</main><footer>{provenance_list(provenance)}</footer>"
    )
    panel = "" if proof is None else proof_panel(proof)
    title = f"{view.name} on {view.dataset}"
    has_trades = view.analysis is not None and bool(view.analysis.tables["trades"].rows)
    page = document(
        title, head + panel + rest, inspector=view.trace is not None, proof=proof is not None, trades=has_trades
    )
    return page if proof is None else with_digest(page)


def render_board(title: str, sections: Sequence[BoardSection], notices: Sequence[str], provenance: Provenance) -> str:
    """Return the page of a board.

    Args:
        title: Title of the page.
        sections: One per dataset.
        notices: Caveats of all sections, one sentence each.
        provenance: Conditions and versions of the runs.
    """
    links = "".join(f'<li><a href="#set{i}">{escape(s.title)}</a></li>' for i, s in enumerate(sections))
    contents = f'<nav aria-label="Datasets"><ul>{links}</ul></nav>' if len(sections) > 1 else ""
    slots = colour_slots(sections)
    body = (
        f'<header><p class="eyebrow">OpenOutcry board</p>{heading(1, title)}{contents}</header>'
        f"<main>{notices_list(notices, 2, 'Read this with the numbers')}"
        f"{''.join(board_section(s, f'set{i}', slots) for i, s in enumerate(sections))}</main>"
        f"<footer>{provenance_list(provenance)}</footer>"
    )
    return document(title, body)
