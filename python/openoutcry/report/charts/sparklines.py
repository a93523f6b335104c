"""Charts in a table cell: sparklines and confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import HEIGHT, ValueScale
from openoutcry.report.charts.svg import line_path, place
from openoutcry.report.text_format import DASH, PLUS_MINUS, number
from openoutcry.report.views.run_view import Floats

__all__ = ["PLAIN", "Z95", "Ground", "interval_axis", "interval_mark", "interval_range", "sparkline"]

Z95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95% interval."""


MINOR = ' class="oo-minor"'
"""Attribute of a label that narrow screens hide."""

# Pixels: the cell of an interval on a phone, a character of its labels, and the space around one.
_NARROW, _CHARACTER, _MARGIN = 84.0, 6.6, 5.0


@dataclass(frozen=True)
class Ground:
    """Background of an interval mark.

    Attributes:
        description: Description for a screen reader.
        marks: Function from a value-to-position function to SVG.
    """

    description: str
    marks: Callable[[Callable[[float], str]], str] = lambda at: ""


PLAIN = Ground("Sharpe ratio with its 95% interval, against zero.")


def sparkline(nav: Floats, low: float, high: float, *, points: int = 60) -> str:
    """Draw a NAV without axes between `low` and `high`, with a hairline at its start."""
    values = ValueScale(min(low, 1.0), max(high, 1.0) + 1e-9, False)
    keep = downsampling.decimate(nav, points)
    width = max(len(nav) - 1, 1)
    start = round(values.position(1.0) * HEIGHT)
    summary = f"From 1 to {number(float(nav[-1]))}, low {number(float(nav.min()))}, high {number(float(nav.max()))}."
    return (
        '<svg class="oo-chart oo-spark" role="img" width="100%" height="28">'
        f"<title>NAV</title><desc>{summary}</desc>"
        f'<svg class="oo-marks" viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" width="100%" height="100%">'
        f'<path class="oo-line oo-hair" d="M0 {start}h{width}"/>'
        f"{line_path(keep.tolist(), values.units(nav[keep]), 'c-agent', '')}</svg></svg>"
    )


def interval_mark(value: float | None, error: float | None, low: float, high: float, ground: Ground = PLAIN) -> str:
    """Draw an estimate and its 95% interval, against a line at zero.

    Args:
        value: The estimate; `None` draws the background only.
        error: Its standard error; `None` draws the point only.
        low: Left end of the cell; an estimate outside the cell is an arrow at its edge.
        high: Right end of the cell.
        ground: Background of the estimate.
    """
    span = high - low

    def at(v: float) -> str:
        return place((v - low) / span)

    label = DASH if value is None else number(value)
    label += "" if error is None else f" {PLUS_MINUS} {number(error)}"
    if value is None:
        body = ""
    elif not low <= value <= high:
        body = _arrow(value > high)
    else:
        body = f'<circle class="oo-point" cx="{at(value)}" cy="50%" r="4.5"/>'
        if error is not None:
            left, right = at(value - Z95 * error), at(value + Z95 * error)
            body = f'<line class="oo-whisker" x1="{left}" x2="{right}" y1="50%" y2="50%"/>{body}'
    apart = value is not None and error is not None and abs(value) > Z95 * error
    colour = "c-benchmark" if not apart else "c-agent" if value and value > 0.0 else "c-delayed"
    return (
        '<svg class="oo-chart oo-interval" role="img" width="100%" height="20">'
        f"<title>{label}</title><desc>{ground.description}</desc>{ground.marks(at)}"
        f'<g class="oo-grid"><line class="oo-zero" x1="{at(0.0)}" x2="{at(0.0)}" y1="0" y2="100%"/></g>'
        f'<g class="{colour}">{body}</g></svg>'
    )


def interval_axis(low: float, high: float) -> str:
    """Draw the labels of a column of `interval_mark` cells."""
    ticks = [t for t in ValueScale(low, high, False).ticks(3) if 0.06 < (t - low) / (high - low) < 0.94]
    digits = 1 if all(abs(round(t, 1) - t) < 1e-9 for t in ticks) else 2
    labels = [((t - low) / (high - low), number(t, 0 if t == 0.0 else digits)) for t in ticks]
    shown = _apart(labels)
    texts = "".join(
        f'<text x="{place(at)}" y="12" text-anchor="middle"{"" if at in shown else MINOR}>{text}</text>'
        for at, text in labels
    )
    return (
        '<svg class="oo-chart oo-interval" role="img" width="100%" height="16"><title>Scale of the intervals</title>'
        f"<desc>From {number(low)} to {number(high)}.</desc>{texts}</svg>"
    )


def _apart(labels: Sequence[tuple[float, str]]) -> set[float]:
    """Return the places of the labels that fit into a narrow cell, zero first."""
    kept: list[tuple[float, float, float]] = []
    for at, text in sorted(labels, key=lambda label: label[1] != "0"):
        middle, half = at * _NARROW, len(text) * _CHARACTER / 2.0
        is_inside = half <= middle + _MARGIN and middle + half <= _NARROW + _MARGIN
        if is_inside and all(abs(middle - other) >= half + width + _MARGIN for _, other, width in kept):
            kept.append((at, middle, half))
    return {at for at, _, _ in kept}


def interval_range(estimates: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
    """Return the ends of a column of intervals, with zero inside.

    Args:
        estimates: Pairs of an estimate and its standard error. Estimates more than three times as far out as the median
            are excluded: the Sharpe ratio of cash against a bill would reduce every other interval to a dot.
    """
    known = [(value, Z95 * (error or 0.0)) for value, error in estimates if value is not None]
    reaches = sorted(abs(value) + half for value, half in known)
    limit = 3.0 * reaches[(len(reaches) - 1) // 2] if reaches else 0.0
    inside = [(value, half) for value, half in known if abs(value) + half <= limit]
    low = min([value - half for value, half in inside] + [-0.1])
    high = max([value + half for value, half in inside] + [0.1])
    air = (high - low) * 0.06
    return low - air, high + air


def _arrow(to_the_right: bool) -> str:
    x, tip = ("100%", "M0 10l-8-5v10z") if to_the_right else ("0", "M0 10l8-5v10z")
    return f'<svg x="{x}" overflow="visible"><path class="oo-point" d="{tip}"/></svg>'
