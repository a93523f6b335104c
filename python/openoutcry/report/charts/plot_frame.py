"""Frame of a chart with two axes of numbers or categories, which needs no script.

Everything is placed in percent of the plot, so that text keeps its size on every screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from openoutcry.report.charts.scales import ValueScale, value_scale
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import escape, number, shorten

__all__ = ["Axis", "axis_of", "count_axis", "plot"]

_TOP, _BOTTOM = 24, 40
_LONGEST = 24
_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Axis:
    """An axis of a plot: numbers on a scale, or categories at equal distances.

    Attributes:
        name: Its label.
        scale: Scale of numbers; None for categories.
        categories: The categories in order.
        is_whole: Whether only whole numbers have a tick.
    """

    name: str
    scale: ValueScale | None
    categories: tuple[str, ...] = ()
    is_whole: bool = False

    def position(self, value: float | str) -> float:
        """Return the position of a value from 0, left or bottom, to 1."""
        if self.scale is not None:
            return 1.0 - self.scale.position(float(value))
        return (self.categories.index(str(value)) + 0.5) / len(self.categories)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return the positions and labels of about `most` ticks."""
        if self.scale is None:
            return [(self.position(each), shorten(each, _LONGEST)) for each in self.categories]
        ticks = [tick for tick in self.scale.ticks(most) if not self.is_whole or tick == int(tick)]
        return [(self.position(tick), _label(tick)) for tick in ticks]


def count_axis(name: str, n: int) -> Axis:
    """Return an axis of the whole numbers from 1 to `n`."""
    return Axis(name, ValueScale(0.5, n + 0.5, False), is_whole=True)


def axis_of(name: str, values: Sequence[float | str], include: Sequence[float] = ()) -> Axis:
    """Return an axis around values: logarithmic for positive ones over a factor of 20.

    Args:
        name: Label of the axis.
        values: Numbers, or texts; one text makes all of them categories.
        include: Numbers that must be on the axis; one that is not positive makes it linear.
    """
    if any(isinstance(value, str) for value in values):
        return Axis(name, None, tuple(dict.fromkeys(map(_category, values))))
    numbers = np.asarray(values, dtype=np.float64)
    is_positive = min([float(numbers.min()), *include]) > 0.0
    is_log = is_positive and numbers.max() / numbers.min() >= _LOG_RATIO
    scale = value_scale([numbers], "log" if is_log else "linear", include)
    if is_log:
        return Axis(name, scale)
    # Room for a disc at the edge.
    air = 0.05 * (scale.high - scale.low)
    return Axis(name, ValueScale(scale.low - air, scale.high + air, False))


def plot(title: str, description: str, x: Axis, y: Axis, marks: str, height: int = 300) -> str:
    """Return the SVG of a plot.

    Args:
        title: Short name, read first by a screen reader.
        description: Description with the main numbers.
        x: Horizontal axis.
        y: Vertical axis.
        marks: SVG in percent of the plot.
        height: Pixels.
    """
    grid = "".join(_row(position, label, y.scale is None) for position, label in y.ticks(5))
    grid += "".join(_column(position, label, i) for i, (position, label) in enumerate(x.ticks(6)))
    return (
        f'<svg class="oo-chart oo-framed oo-map" role="img" width="100%" height="{height}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f'<svg class="oo-plot" y="{_TOP}" width="100%" height="{height - _TOP - _BOTTOM}">'
        f'<g class="oo-grid">{grid}</g>{marks}</svg>'
        f'<text x="0" y="10" text-anchor="start">{escape(shorten(y.name, 40))}</text>'
        f'<text x="50%" y="{height - 3}" text-anchor="middle">{escape(shorten(x.name, 40))}</text></svg>'
    )


def _category(value: float | str) -> str:
    return value if isinstance(value, str) else _label(value)


def _label(value: float) -> str:
    digits = next((d for d in range(5) if abs(round(value, d) - value) < 1e-9), 5)
    return number(value, digits)


def _row(position: float, label: str, is_category: bool) -> str:
    y = place(1.0 - position)
    line = f'<line x1="0" x2="100%" y1="{y}" y2="{y}"/>'
    if is_category:
        # A word is longer than the margin on a phone.
        return f'{line}<text x="0" y="{y}" dy="-16" text-anchor="start">{escape(label)}</text>'
    return f'{line}<text x="0" dx="-8" y="{y}" dy=".32em" text-anchor="end">{escape(label)}</text>'


def _column(position: float, label: str, index: int) -> str:
    x = place(position)
    minor = ' class="oo-minor"' if index % 2 else ""
    return (
        f'<line x1="{x}" x2="{x}" y1="0" y2="100%"/>'
        f'<text x="{x}" y="100%" dy="16" text-anchor="middle"{minor}>{escape(label)}</text>'
    )
