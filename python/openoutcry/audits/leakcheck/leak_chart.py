"""SVG charts of leaks: a column on the unchanged and on the perturbed data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.leak_report import Leak, Report
from openoutcry.audits.leakcheck.leak_search import Comparison
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import DateScale, Tick, ValueScale, date_scale, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path, note, place, standalone

Floats = npt.NDArray[np.float64]

_CHARTS = 12
_POINTS = 600
_AROUND = 30
_HEIGHT = 190
# The axis extends beyond the unchanged column by this share of its range; larger changes are drawn at the edge.
_BEYOND = 0.4


@dataclass(frozen=True)
class RowScale(DateScale):
    """A horizontal axis of rows without dates."""

    def ticks(self, target: int = 7) -> list[Tick]:
        """Return round rows inside the axis."""
        rows = ValueScale(float(self.start), float(self.end), False).ticks(target)
        return [Tick(self.position(int(row)), f"{int(row):,}") for row in rows if row == int(row)]


def render_leaks(report: Report) -> str:
    """Render an SVG document with a chart of each leaking column, at most twelve.

    In each chart, the rows after the vertical line are perturbed. A difference before the line is the leak.
    """
    shown = [leak for leak in report.leaks if leak.comparison is not None][:_CHARTS]
    title = f"{len(report.leaks)} of {len(report.columns):,} columns of {report.target} look ahead"
    title += "" if report.early_end is None else f"; {report.early_end}"
    charts = (_chart(leak, leak.comparison, report.source.dates) for leak in shown if leak.comparison is not None)
    return standalone(*charts, title=title)


def _chart(leak: Leak, comparison: Comparison, dates: tuple[str, ...] | None) -> str:
    cut, last = leak.reach.cut, int(comparison.bars[-1])
    back = cut + 1 - leak.reach.horizon
    inside = (comparison.bars >= back - _AROUND) & (comparison.bars <= min(cut + _AROUND, last))
    bars, base, other = comparison.bars[inside], comparison.base[inside], comparison.other[inside]
    times = _times(bars, dates)
    is_past = bars <= cut
    values = _scale(base, other[is_past])
    scale = RowScale(int(times[0]), int(times[-1]) + 1, len(times)) if dates is None else date_scale([times])
    ahead = f"{leak.reach.horizon} bar{'' if leak.reach.horizon == 1 else 's'}"
    reached = f"row {back}" if dates is None else dates[back]
    canvas = Canvas(
        title=f"{leak.reach.column} looks {ahead} ahead",
        description=f"With {leak.reach.kind} after the line, values change from {reached} on.",
        dates=scale,
        values=values,
        show=values.show_number,
        unit="nav",
        height=_HEIGHT,
    )
    edge: Floats = np.clip(other, values.low, values.high)
    lines = [
        (base, bars == bars, "c-agent", leak.reach.column),
        (edge, is_past, "c-delayed oo-strong", leak.reach.kind),
    ]
    paths, ends = [], []
    for line, where, colour, name in lines:
        at = np.flatnonzero(where & np.isfinite(line))
        if len(at) > 1:
            kept = at[downsampling.decimate(np.asarray(line[at]), _POINTS)]
            paths.append(line_path(scale.units(times[kept]), values.units(line[kept]), colour, name))
            ends.append(EndLabel(name, values.position(float(line[at[-1]])), colour.split()[0]))
    return canvas.render(paths, ends, _marks(leak, comparison, (back, cut), scale, values, dates))


def _scale(base: Floats, other: Floats) -> ValueScale:
    """Return a value axis around a column, with room for its changes."""
    known = base[np.isfinite(base)]
    known = other[np.isfinite(other)] if len(known) == 0 else known
    if len(known) == 0:
        return value_scale([np.zeros(1)])
    low, high = float(known.min()), float(known.max())
    room = _BEYOND * (high - low or abs(high) or 1.0)
    changed = np.clip(other[np.isfinite(other)], low - room, high + room)
    return value_scale([np.concatenate([known, changed])])


def _times(bars: npt.NDArray[np.intp], dates: tuple[str, ...] | None) -> downsampling.Times:
    return bars.astype(np.int64) if dates is None else downsampling.seconds([dates[bar] for bar in bars])


def _marks(
    leak: Leak,
    comparison: Comparison,
    bars: tuple[int, int],
    scale: DateScale,
    values: ValueScale,
    dates: tuple[str, ...] | None,
) -> str:
    """Draw the cut and a label at the first changed value."""
    back, cut = bars
    at, line = (scale.position(int(_times(np.array([bar]), dates)[0])) for bar in (back, cut))
    x = place(line)
    rule = f'<g class="oo-grid"><line class="oo-zero" x1="{x}" x2="{x}" y1="0" y2="100%"/></g>'
    where = np.flatnonzero(comparison.bars == back)
    known = [
        each[where[0]] for each in (comparison.base, comparison.other) if len(where) and np.isfinite(each[where[0]])
    ]
    if not known:
        return rule
    height = min(max(values.position(float(known[0])), 0.0), 1.0)
    text = f"{leak.reach.column} changes {leak.reach.horizon} back"
    return rule + note(at, height, text, "c-delayed")
