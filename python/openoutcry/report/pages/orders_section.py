"""Section with the day orders of a run on the bars of one symbol."""

from __future__ import annotations

from openoutcry.report.charts.order_chart import ORDER_MARKS, order_chart
from openoutcry.report.pages.page_parts import figure, legend
from openoutcry.report.views.orders_view import OrdersView
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["orders_section"]


def orders_section(view: OrdersView | None) -> str:
    """Return the chart of the day orders of a symbol; empty without day orders."""
    if view is None:
        return ""
    kinds = {each.kind for each in (*view.prices, *view.fills)}
    entries = [(kind, colour) for kind, colour in ORDER_MARKS.items() if kind in kinds]
    caption = (
        f"{view.symbol}, the symbol with the most day orders ({counted(view.n_orders, 'order')}), on the"
        f" {counted(len(view.dates), 'bar')} up to its last one. A vertical line is the range of a bar, a dash the"
        " price of an order, a dot a fill, and a diamond an exit in the colour of its price."
    )
    return figure(order_chart(view), caption, legend(entries, always=True))
