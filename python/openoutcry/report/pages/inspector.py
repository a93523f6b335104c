"""The decision inspector: observation, decision and fills at each bar.

The script shows any bar of the packed trace. Without the script, the page lists some bars that expand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openoutcry.report.pages.packed_trace import Packed, pack
from openoutcry.report.text_format import DASH, escape, number, percent, shorten
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.trace_view import Event, Step, Trace
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["LISTED", "inspector_section", "listed_bars"]

LISTED = 30
"""Maximum bars of the plain list."""

_TEXT = 600
_MOST_ROWS = 20
_EMPTY = Step()


def inspector_section(view: RunView, trace: Trace, key: str, n_cells: int) -> str:
    """Return the inspector of a run, with at most `n_cells` prices.

    `trace` must be `view.trace`.
    """
    packed = pack(view, n_cells)
    bars = listed_bars(trace)
    shown = "".join(_bar(view, trace, t) for t in bars)
    chosen = f"{counted(len(bars), 'bar')} of {len(view.dates):,}"
    return (
        f"<p>{escape(_rounding(view, packed))}</p>"
        f'<div class="inspector" id="{key}-inspector"><template>{packed.text}</template>'
        f'<div class="plain"><p>Without its script, this page shows {chosen}: first those with a fault or an event'
        f" other than a fill, then the earliest with orders.</p>{shown}</div></div>"
    )


def listed_bars(trace: Trace) -> list[int]:
    """Return the bars of the plain list, in ascending order."""
    steps = list(enumerate(trace.steps))
    notable = [t for t, step in steps if step.fault or step.events]
    ordered = [t for t, step in steps if not (step.fault or step.events) and (step.orders or step.fills)]
    return sorted([*notable, *ordered][:LISTED])


def _rounding(view: RunView, packed: Packed) -> str:
    text = "Observation at each close, decision, and fills at the next bar. "
    text += "Numbers are rounded here to about six digits; the record of the run has the exact values."
    if packed.first:
        text += f" This page contains the bars from {view.dates[packed.first]} on; the record contains all bars."
    if packed.longest is not None:
        limit = counted(packed.longest, "character")
        text += f" Texts longer than {limit} are truncated here; the record has the complete texts."
    return text


def _bar(view: RunView, trace: Trace, t: int) -> str:
    step = trace.steps[t] if t < len(trace.steps) else _EMPTY
    parts = [counted(len(step.orders), "order"), counted(len(step.fills), "fill")]
    parts += [counted(len(step.events), "event")] if step.events else []
    parts += ["fault"] if step.fault else []
    body = _seen(view, trace, t) + _decided(step) + _filled(step)
    summary = f"<b>{escape(view.dates[t])}</b> <span>{', '.join(parts)}</span>"
    return f"<details><summary>{summary}</summary>{body}</details>"


def _seen(view: RunView, trace: Trace, t: int) -> str:
    account = f"<p>NAV {number(float(view.nav[t]), 6)}, cash {number(float(trace.cash[t]), 6)}</p>"
    listed = [i for i in range(len(view.symbols)) if math.isfinite(float(trace.closes[t, i]))]
    # Positions first, because a list of hundreds of symbols is truncated.
    listed.sort(key=lambda i: trace.shares[t, i] == 0.0)
    rows = [
        (escape(view.symbols[i]), _digits(float(trace.closes[t, i])), _digits(float(trace.shares[t, i])))
        for i in listed[:_MOST_ROWS]
    ]
    n_more = len(listed) - _MOST_ROWS
    others = counted(n_more, "other symbol was", "other symbols were")
    more = f"<p>{others} listed.</p>" if n_more > 0 else ""
    return account + _table("Observed at the close", ("Symbol", "Last close", "Shares"), rows) + more


def _decided(step: Step) -> str:
    fault = f'<p class="fault">Fault: {escape(step.fault)}</p>' if step.fault else ""
    words = f'<p dir="auto" class="words">{escape(shorten(step.reasoning, _TEXT))}</p>' if step.reasoning else ""
    if not step.orders:
        return f"{fault}{words}<p>No order: all positions held.</p>"
    rows = [
        (
            escape(shorten(order.symbol, 60)),
            escape(shorten(order.action, 20)),
            DASH if order.weight is None or not math.isfinite(order.weight) else percent(order.weight, 2),
            DASH if order.confidence is None else number(order.confidence, 2),
            f'<span dir="auto" class="words">{escape(shorten(order.rationale, _TEXT))}</span>',
        )
        for order in step.orders[:_MOST_ROWS]
    ]
    left = len(step.orders) - len(rows)
    more = f"<p>{counted(left, 'more order')}.</p>" if left else ""
    return fault + words + _table("Decided", ("Symbol", "Action", "Weight", "Confidence", "Why"), rows) + more


def _filled(step: Step) -> str:
    rows = [(escape(f.symbol), _digits(f.shares), _digits(f.price)) for f in step.fills[:_MOST_ROWS]]
    table = _table("Filled at the next bar", ("Symbol", "Shares", "Price"), rows) if rows else "<p>No fills.</p>"
    events = "".join(f"<li>{escape(_event_text(event))}</li>" for event in step.events[:_MOST_ROWS])
    return table + (f"<ul>{events}</ul>" if events else "")


def _event_text(event: Event) -> str:
    return " ".join(filter(None, (event.slug, event.symbol, f"({event.reason})" if event.reason else "")))


def _digits(value: float) -> str:
    if value == 0.0:
        return "0"
    return number(value, min(max(5 - math.floor(math.log10(abs(value))), 0), 12))


def _table(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    heads = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in rows
    )
    kind = "bar orders" if head[-1] == "Why" else "bar"
    return (
        f'<div class="scroll" role="group" aria-label="{caption}" tabindex="0"><table class="{kind}">'
        f"<caption><span>{caption}</span></caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
