"""Waterfall from price gains to net result: prices, other gains, costs.

Amounts are fractions of the starting NAV: `NAV - 1 = prices + gains - costs`. Prices are the residual of that sum, not
the return of a run without costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from openoutcry.report.charts.stacked_areas import cost_order
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import escape, percent
from openoutcry.report.views.view_checks import Floats

__all__ = ["Bar", "waterfall_bars", "waterfall_table"]


@dataclass(frozen=True)
class Bar:
    """One bar of a waterfall, from `start` to `end`; a total starts at zero."""

    label: str
    start: float
    end: float
    total: bool = False

    @property
    def amount(self) -> float:
        """Amount of the bar."""
        return self.end - self.start


def waterfall_bars(nav: Floats, costs: Mapping[str, Floats], gains: Mapping[str, Floats]) -> list[Bar]:
    """Return the bars: prices, gains, their sum, each cost, and the net result.

    Kinds with an amount of 0 are omitted, except fee and slippage.
    """
    paid = {kind: float(costs[kind].sum()) for kind in cost_order(costs)}
    earned = {kind: float(amounts.sum()) for kind, amounts in sorted(gains.items()) if amounts.any()}
    net = float(nav[-1]) - 1.0
    gross = net + sum(paid.values())
    bars = []
    if earned:
        prices = gross - sum(earned.values())
        bars.append(Bar("prices", 0.0, prices))
        level = prices
        for kind, amount in earned.items():
            bars.append(Bar(kind, level, level + amount))
            level += amount
    bars.append(Bar("gross", 0.0, gross, total=True))
    level = gross
    for kind, amount in paid.items():
        if amount != 0.0 or kind in {"fee", "slippage"}:
            bars.append(Bar(kind, level, level - amount))
            level -= amount
    return [*bars, Bar("net", 0.0, net, total=True)]


def waterfall_table(bars: list[Bar]) -> str:
    """Return the bars as an accessible HTML table."""
    ends = [value for bar in bars for value in (bar.start, bar.end)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0
    rows = "".join(_row(bar, low, span) for bar in bars)
    return (
        '<table class="waterfall"><caption><span>From gross to net, as a share of the starting NAV; amounts add up'
        "</span></caption>"
        '<thead class="hidden"><tr><th scope="col">Part</th><th scope="col">Amount</th><th scope="col">Bar</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _row(bar: Bar, low: float, span: float) -> str:
    text = percent(bar.amount, 2 if abs(bar.amount) < 1.0 else 1, signed=not bar.total)
    left, width = (min(bar.start, bar.end) - low) / span, abs(bar.amount) / span
    colour = "c-agent" if bar.total else "c-gain" if bar.amount > 0.0 else "c-delayed"
    zero = place(-low / span)
    picture = (
        '<svg class="oo-chart" role="img" width="100%" height="18">'
        f"<title>{escape(bar.label)}: {text}</title><desc>From {percent(bar.start, 2)} to {percent(bar.end, 2)}.</desc>"
        f'<g class="oo-grid"><line class="oo-zero" x1="{zero}" x2="{zero}" y1="0" y2="100%"/></g>'
        f'<rect class="oo-bar {colour}" x="{place(left)}" width="{place(width)}" y="2" height="14"/></svg>'
    )
    kind = ' class="total"' if bar.total else ""
    return f'<tr{kind}><th scope="row">{escape(bar.label)}</th><td>{text}</td><td class="mark">{picture}</td></tr>'
