"""Chart of a metric over the steps of a training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from openoutcry.report.charts.plot_frame import Axis, axis_of, plot
from openoutcry.report.charts.scales import ValueScale
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import escape, number
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["learning_curve"]


def learning_curve(points: Sequence[tuple[int, Sequence[float]]], metric: str) -> str:
    """Draw a metric of every window over training steps, and the line of the mean.

    Args:
        points: Steps and the values of all windows, in order; NaN if undefined, which has no mark.
        metric: Name of the metric.
    """
    known = [(steps, [value for value in values if isfinite(value)]) for steps, values in points]
    known = [(steps, values) for steps, values in known if values]
    # With 0 on it, the axis is linear.
    y = axis_of(metric, [value for _, values in known for value in values] or [0.0], [0.0])
    x = Axis("training steps", ValueScale(0.0, max([float(steps) for steps, _ in points] + [1.0]), False))
    means = [(steps, sum(values) / len(values)) for steps, values in known]
    at = [(x.position(float(steps)), 1.0 - y.position(mean)) for steps, mean in means]
    lines = [
        f'<line class="oo-whisker" x1="{place(left)}" x2="{place(right)}" y1="{place(top)}" y2="{place(bottom)}"/>'
        for (left, top), (right, bottom) in pairwise(at)
    ]
    marks = [_dot(x, y, steps, value, "c-benchmark") for steps, values in known if len(values) > 1 for value in values]
    marks += [_dot(x, y, steps, mean, "c-agent") for steps, mean in means]
    last = f"The last mean is {number(means[-1][1], 4)}." if means else "It is undefined throughout."
    description = f"{metric} after {counted(len(points), 'evaluation')}. {last}"
    drawn = f'<g class="c-agent">{"".join(lines)}</g>{"".join(marks)}'
    return plot("Learning curve", description, x, y, drawn, 280)


def _dot(x: Axis, y: Axis, steps: int, value: float, colour: str) -> str:
    radius = 4.5 if colour == "c-agent" else 3
    name = escape(f"{number(value, 4)} after {counted(steps, 'step')}")
    left, top = place(x.position(float(steps))), place(1.0 - y.position(value))
    circle = f'<circle class="oo-point" cx="{left}" cy="{top}" r="{radius}"><title>{name}</title></circle>'
    return f'<g class="{colour}">{circle}</g>'
