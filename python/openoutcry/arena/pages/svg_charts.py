"""SVG charts of the pages.

A table or text next to each chart has the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.arena.scoring import Calibration
from openoutcry.arena.timestamps import SECOND
from openoutcry.report.charts.scales import ValueScale, date_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path, place
from openoutcry.report.pages.calibration_section import calibration_chart
from openoutcry.report.text_format import number, percent
from openoutcry.report.views.statistics_view import Bin
from openoutcry.report.views.statistics_view import Calibration as Stated

Span = tuple[float | None, float | None, float | None]
"""An estimate and the ends of its interval."""


def calibration(table: Calibration) -> str:
    """Draw the reliability diagram; empty without scored decisions."""
    bins = []
    for each in table.bins:
        known = each.observed_low is not None and each.observed_high is not None
        interval = (each.observed_low or 0.0, each.observed_high or 0.0) if known else None
        bins.append(Bin(each.low, each.high, each.mean_forecast, each.observed, each.n, interval))
    n = sum(each.n for each in table.bins)
    return calibration_chart(Stated(bins, None, n, n), "probability of YES", "observed frequency of YES") if n else ""


def bounds(spans: Sequence[Span]) -> tuple[float, float]:
    """Return the axis limits of a column of intervals; they include zero.

    Values beyond three times the median reach are clipped, so that other intervals stay readable.
    """
    reaches = sorted(max(abs(each) for each in span if each is not None) for span in spans if span[0] is not None)
    limit = 3.0 * reaches[(len(reaches) - 1) // 2] if reaches else 0.0
    inside = [each for span in spans for each in span if each is not None and abs(each) <= limit]
    low, high = min([*inside, -0.05]), max([*inside, 0.05])
    air = (high - low) * 0.08
    return low - air, high + air


def interval(span: Span, ends: tuple[float, float]) -> str:
    """Draw an estimate with its interval and a zero line; empty without an estimate."""
    value, low, high = span
    if value is None:
        return ""

    def at(each: float) -> str:
        return place((min(max(each, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0]))

    is_significant = low is not None and high is not None and (low > 0.0 or high < 0.0)
    colour = "c-benchmark" if not is_significant else "c-agent" if value > 0.0 else "c-delayed"
    line = ""
    if low is not None and high is not None:
        line = f'<line class="oo-whisker" x1="{at(low)}" x2="{at(high)}" y1="50%" y2="50%"/>'
    # Hidden from screen readers: the table has the same numbers.
    return (
        '<svg class="oo-chart oo-interval" aria-hidden="true" width="100%" height="20">'
        f'<g class="oo-grid"><line class="oo-zero" x1="{at(0.0)}" x2="{at(0.0)}" y1="0" y2="100%"/></g>'
        f'<g class="{colour}">{line}<circle class="oo-point" cx="{at(value)}" cy="50%" r="4.5"/></g></svg>'
    )


def prices(quotes: Sequence[tuple[int, float]]) -> str:
    """Draw the price of YES over time; empty with fewer than two prices."""
    if len(quotes) < 2:
        return ""
    times = np.array([timestamp // SECOND for timestamp, _ in quotes], dtype=np.int64)
    mids = np.array([mid for _, mid in quotes], dtype=np.float64)
    dates, values = date_scale([times]), ValueScale(0.0, 1.0, False)
    canvas = Canvas(
        title="Price of YES",
        description=f"From {number(mids[0])} to {number(mids[-1])}, between {number(mids.min())} and"
        f" {number(mids.max())}.",
        dates=dates,
        values=values,
        show=lambda value: percent(value, 0),
        unit="percent",
        height=200,
    )
    line = line_path(dates.units(times), values.units(mids), "c-agent oo-strong", "Price of YES")
    return canvas.render([line], [EndLabel(percent(mids[-1], 1), values.position(mids[-1]), "c-agent")])
