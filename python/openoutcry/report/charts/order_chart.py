"""Chart of the day orders of a symbol on its bars."""

from __future__ import annotations

from collections import Counter

import numpy as np

from openoutcry.report.charts.downsampling import seconds
from openoutcry.report.charts.scales import DateScale, value_scale
from openoutcry.report.charts.svg import Canvas, line_path, place
from openoutcry.report.views.orders_view import OrdersView
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["ORDER_MARKS", "order_chart"]

ORDER_MARKS = {
    "limit": "c8",
    "stop": "c4",
    "stop loss": "c10",
    "take profit": "c9",
    "purchase": "c-agent",
    "sale": "c-delayed",
}
"""Colour class of each kind of mark, in the order of the legend."""

_WIDTH = 5000
"""Drawing units of the date axis."""


def order_chart(view: OrdersView, *, height: int = 260) -> str:
    """Draw the bars of a symbol with its day orders.

    Prices of orders are dashes, fills are dots, and exits diamonds.
    """
    times = seconds(view.dates)
    gap = max(int(np.diff(times).min()), 2) if len(times) > 1 else 2
    dates = DateScale(int(times[0]) - gap // 2, int(times[-1]) + gap // 2, _WIDTH)
    marks = np.array([each.price for each in (*view.prices, *view.fills)])
    values = value_scale([each[np.isfinite(each)] for each in (view.lows, view.highs, marks)])
    counts = Counter(each.kind for each in (*view.prices, *view.fills))
    canvas = Canvas(
        title=f"Day orders of {view.symbol}",
        description=f"{counted(len(times), 'bar')}; " + ", ".join(f"{kind}: {n}" for kind, n in counts.items()),
        dates=dates,
        values=values,
        show=values.show_number,
        unit="price",
        height=height,
    )
    centres, known = dates.units(times), np.flatnonzero(np.isfinite(view.lows)).tolist()
    lows, highs = (values.units(each) for each in (view.lows[known], view.highs[known]))
    ranges = [f"M{centres[bar]} {low}V{high}" for bar, low, high in zip(known, lows, highs, strict=True)]
    paths = [f'<path class="oo-line c-benchmark" d="{"".join(ranges)}"/>']
    half = max(round(_WIDTH * gap / (dates.end - dates.start) * 0.4), 1)
    for kind, colour in ORDER_MARKS.items():
        own = [each for each in view.prices if each.kind == kind]
        ys = values.units(np.array([each.price for each in own]))
        dashes = "".join(f"M{centres[each.bar] - half} {y}h{2 * half}" for each, y in zip(own, ys, strict=True))
        paths += [f'<path class="oo-line oo-strong {colour}" d="{dashes}"/>'] if dashes else []
    closed = np.flatnonzero(np.isfinite(view.closes)).tolist()
    ys = values.units(view.closes[closed])
    paths.append(line_path([centres[bar] for bar in closed], ys, "c-benchmark oo-thin", "Close"))
    xs = [dates.position(int(times[each.bar])) for each in view.fills]
    dots = [_mark(x, values.position(each.price), each.kind) for x, each in zip(xs, view.fills, strict=True)]
    return canvas.render(paths, notes="".join(dots))


def _mark(x: float, y: float, kind: str) -> str:
    """Return the mark of a fill: a dot for an order, a diamond for an exit."""
    colour = ORDER_MARKS[kind]
    if kind in {"purchase", "sale"}:
        return f'<circle class="oo-point {colour}" cx="{place(x)}" cy="{place(y)}" r="3.5"/>'
    shape = f'<path class="oo-point {colour}" d="M-5 0L0 -5L5 0L0 5z"/>'
    return f'<svg x="{place(x)}" y="{place(y)}" overflow="visible">{shape}</svg>'
