"""SVG frame of every chart: axes, grid, paths and labels.

A chart fills the width of its container at constant text size. Paths are in an inner `<svg>` with a stretched
`viewBox`; everything else is positioned in percent and pixels around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openoutcry.report.charts.palette import SERIES, css_variables
from openoutcry.report.charts.scales import HEIGHT, DateScale, ValueScale
from openoutcry.report.text_format import attribute, escape, shorten

__all__ = [
    "OTHER",
    "Canvas",
    "EndLabel",
    "area_path",
    "line_path",
    "note",
    "place",
    "series_class",
    "standalone",
    "step_path",
    "stylesheet",
]

OTHER = len(SERIES) - 1
"""Colour slot of "other"."""

LEFT, RIGHT = 56, 140
"""Pixels left and right of a plot, for its labels; `chart.css` sets the same on a page."""

_LABEL_CHARS = 18
_LABEL_GAP = 15.0
_TOP, _BOTTOM = 10, 26
_FRAMED_CLASS = '<svg class="oo-chart oo-framed'
_FRAMED = f'{_FRAMED_CLASS}" role="img" width="100%"'
_SLIM = '<svg class="oo-chart" role="img" width="100%"'


@dataclass(frozen=True)
class EndLabel:
    """A name at the right end of a line, at `position` from 0 (top) to 1."""

    text: str
    position: float
    colour: str
    box: bool = False


@dataclass(frozen=True)
class Canvas:
    """The frame of a chart over time.

    Attributes:
        title: Short name, read first by a screen reader.
        description: Description in one or two sentences, with the main numbers.
        dates: Horizontal axis.
        values: Vertical axis.
        show: Formats a value of the vertical axis.
        unit: `nav`, `percent` or `ratio`: format of values in the page's script.
        height: Pixels.
        baseline: Value of a stronger line, such as 0 or 1; `None` for none.
        slim: Omit the tick labels, for a thumbnail.
    """

    title: str
    description: str
    dates: DateScale
    values: ValueScale
    show: Callable[[float], str]
    unit: str
    height: int = 280
    baseline: float | None = None
    slim: bool = False

    def render(self, paths: Iterable[str], labels: Sequence[EndLabel] = (), notes: str = "") -> str:
        """Return the `<svg>` around `paths`, `labels` at its right, `notes` on top."""
        inner = self.height - (8 if self.slim else _BOTTOM)
        axis = (self.dates.start, self.dates.end, self.values.low, self.values.high, int(self.values.log), self.unit)
        viewbox = f'viewBox="0 0 {self.dates.width} {HEIGHT}" preserveAspectRatio="none"'
        return (
            f"{_SLIM if self.slim else _FRAMED}"
            f' height="{self.height}"{attribute("data-axis", " ".join(str(a) for a in axis))}>'
            f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
            f'<svg class="oo-plot" y="{4 if self.slim else _TOP}" width="100%" height="{inner - _TOP}">{self._grid()}'
            f'<svg class="oo-marks" {viewbox} width="100%" height="100%">{"".join(paths)}</svg>'
            f"{_end_labels(labels, inner - _TOP)}{notes}</svg></svg>"
        )

    def _grid(self) -> str:
        parts = []
        for tick in self.values.ticks():
            y = place(self.values.position(tick))
            strong = ' class="oo-zero"' if tick == self.baseline else ""
            parts.append(f'<line x1="0" x2="100%" y1="{y}" y2="{y}"{strong}/>')
            if not self.slim:
                parts.append(
                    f'<text x="0" dx="-8" y="{y}" dy=".32em" text-anchor="end">{escape(self.show(tick))}</text>'
                )
        if not self.slim:
            parts += [self._date_tick(tick.position, tick.label, i) for i, tick in enumerate(self.dates.ticks())]
        return f'<g class="oo-grid">{"".join(parts)}</g>'

    def _date_tick(self, position: float, label: str, index: int) -> str:
        x = place(position)
        anchor = "start" if position < 0.03 else "end" if position > 0.97 else "middle"
        # A narrow screen has room for every second label.
        minor = ' class="oo-minor"' if index % 2 else ""
        return (
            f'<line x1="{x}" x2="{x}" y1="0" y2="100%"/>'
            f'<text x="{x}" y="100%" dy="18" text-anchor="{anchor}"{minor}>{escape(label)}</text>'
        )


def series_class(slot: int) -> str:
    """Return the class of a categorical colour; slots repeat after the last one."""
    return f"c{slot % OTHER}"


def place(fraction: float) -> str:
    """Return a fraction as a percentage of the plot, to a hundredth."""
    return f"{fraction * 100:.2f}".rstrip("0").rstrip(".") + "%"


def line_path(xs: Sequence[int], ys: Sequence[int], classes: str, name: str) -> str:
    """Return a polyline; the page's script shows `name` with its value."""
    return f'<path class="oo-line {classes}"{attribute("data-name", name)} d="{_moves(xs, ys)}"/>'


def area_path(xs: Sequence[int], outer: Sequence[int], inner: Sequence[int], classes: str, name: str) -> str:
    """Return the area between two edges over the same `xs`."""
    outline = _moves([*xs, *reversed(xs)], [*outer, *reversed(inner)])
    return f'<path class="oo-area {classes}"{attribute("data-name", name)} d="{outline}z"/>'


def step_path(xs: Sequence[int], outer: Sequence[int], inner: Sequence[int], classes: str, name: str) -> str:
    """Return columns between two edges, the first from `xs[0]` to `xs[1]`."""
    there, back = _steps(xs, outer), _steps(xs[::-1], inner[::-1])
    outline = f"M{xs[0]} {outer[0]}{there}v{inner[-1] - outer[-1]}{back}z"
    return f'<path class="oo-area {classes}"{attribute("data-name", name)} d="{outline}"/>'


def note(x: float, y: float, text: str, colour: str) -> str:
    """Return a dot at a point of the plot with a short text next to it."""
    side = 'text-anchor="end" dx="-9"' if x > 0.55 else 'dx="9"'
    return (
        f'<g class="oo-note {colour}"><circle cx="{place(x)}" cy="{place(y)}" r="3.5"/>'
        f'<text x="{place(x)}" y="{place(y)}" dy=".32em" {side}>{escape(text)}</text></g>'
    )


def stylesheet(selector: str) -> str:
    """Return the style of charts, with the colour variables set on `selector`."""
    return css_variables(selector) + (Path(__file__).parent / "chart.css").read_text(encoding="utf-8")


def standalone(*charts: str, title: str = "", width: int = 760) -> str:
    """Stack charts into one SVG document, such as for a notebook.

    Args:
        charts: `<svg>` strings of this package.
        title: Title above the first chart.
        width: Pixels.
    """
    offset = 34 if title else 8
    body = []
    for chart in charts:
        height = int(chart.partition(' height="')[2].partition('"')[0])
        left, right = (LEFT, RIGHT) if chart.startswith(_FRAMED_CLASS) else (8, 8)
        box = f'x="{left}" y="{offset}" width="{width - left - right}" height="{height}"'
        body.append(f'<svg {box} overflow="visible">{chart}</svg>')
        offset += height + 8
    heading = f'<text class="oo-title" x="14" y="22">{escape(title)}</text>' if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="oo-standalone" width="{width}" height="{offset}">'
        f"<style>{stylesheet('.oo-standalone')}</style>"
        f'<rect class="oo-surface" width="100%" height="100%"/>{heading}{"".join(body)}</svg>'
    )


def _moves(xs: Sequence[int], ys: Sequence[int]) -> str:
    parts = [f"M{xs[0]} {ys[0]}l"]
    px, py, separator = xs[0], ys[0], ""
    for x, y in zip(xs[1:], ys[1:], strict=True):
        dx, dy = x - px, y - py
        first = str(dx) if dx < 0 else f"{separator}{dx}"
        parts.append(f"{first}{dy}" if dy < 0 else f"{first} {dy}")
        px, py, separator = x, y, " "
    return "".join(parts)


def _steps(xs: Sequence[int], ys: Sequence[int]) -> str:
    parts, start = [], xs[0]
    for i, y in enumerate(ys):
        # Merge equal columns: weights are constant most of the time.
        if i + 1 == len(ys):
            parts.append(f"h{xs[-1] - start}")
        elif ys[i + 1] != y:
            parts.append(f"h{xs[i + 1] - start}v{ys[i + 1] - y}")
            start = xs[i + 1]
    return "".join(parts)


def _end_labels(labels: Sequence[EndLabel], height: int) -> str:
    order = sorted(range(len(labels)), key=lambda i: labels[i].position)
    offsets = [labels[i].position * height for i in order]
    for k in range(1, len(offsets)):
        offsets[k] = max(offsets[k], offsets[k - 1] + _LABEL_GAP)
    if offsets:
        offsets[-1] = min(offsets[-1], height - 2.0)
    for k in range(len(offsets) - 1, 0, -1):
        offsets[k - 1] = min(offsets[k - 1], offsets[k] - _LABEL_GAP)
    parts = []
    for i, y in zip(order, offsets, strict=True):
        label = labels[i]
        text = escape(shorten(label.text, _LABEL_CHARS))
        box = f'<svg x="100%" y="{y - 5:.0f}" overflow="visible"><rect x="8" width="10" height="10" rx="2"/></svg>'
        dx = 23 if label.box else 8
        body = f'<text x="100%" dx="{dx}" y="{y:.1f}" dy=".32em">{text}</text>'
        parts.append(
            f'<g class="oo-end {label.colour}"{attribute("data-name", label.text)}>{box if label.box else ""}{body}</g>'
        )
    return "".join(parts)
