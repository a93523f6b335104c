"""A picture of each leak: a column as it is, and with another future."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.leak_report import Leak, Report
from openoutcry.audits.leakcheck.leak_search import Glimpse
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import DateScale, Tick, ValueScale, date_scale, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path, note, place, standalone

Floats = npt.NDArray[np.float64]

_CHARTS = 12
_POINTS = 600
_AROUND = 30
_HEIGHT = 190
# Garbage would flatten the column it is compared with; a change that leaves the chart is drawn at its edge.
_BEYOND = 0.4


@dataclass(frozen=True)
class RowScale(DateScale):
    """A horizontal axis of rows without dates."""

    def ticks(self, target: int = 7) -> list[Tick]:
        """Return round rows inside the axis."""
        rows = ValueScale(float(self.start), float(self.end), False).ticks(target)
        return [Tick(self.position(int(row)), f"{int(row):,}") for row in rows if row == int(row)]


def picture_of(report: Report) -> str:
    """Return an SVG document with a chart of each leaking column, at most twelve.

    In each, the rows after the line are replaced; what parts from the column before it is the leak.
    """
    shown = [leak for leak in report.leaks if leak.glimpse is not None][:_CHARTS]
    told = f"{len(report.leaks)} of {len(report.columns)} columns of {report.target} look ahead"
    told += "" if report.ending is None else f"; {report.ending}"
    charts = (_chart(leak, leak.glimpse, report.source.dates) for leak in shown if leak.glimpse is not None)
    return standalone(*charts, title=told)


def _chart(leak: Leak, glimpse: Glimpse, dates: tuple[str, ...] | None) -> str:
    cut, last = leak.reach.cut, int(glimpse.bars[-1])
    back = cut + 1 - leak.reach.horizon
    inside = (glimpse.bars >= back - _AROUND) & (glimpse.bars <= min(cut + _AROUND, last))
    bars, base, other = glimpse.bars[inside], glimpse.base[inside], glimpse.other[inside]
    times = _times(bars, dates)
    is_past = bars <= cut
    values = _scale(base, other[is_past])
    scale = RowScale(int(times[0]), int(times[-1]) + 1, len(times)) if dates is None else date_scale([times])
    ahead = f"{leak.reach.horizon} bar{'' if leak.reach.horizon == 1 else 's'}"
    reached = f"row {back}" if dates is None else dates[back]
    canvas = Canvas(
        title=f"{leak.reach.column} looks {ahead} ahead",
        description=f"With {leak.reach.kind} after the line, values change back to {reached}.",
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
    return canvas.render(paths, ends, _marks(leak, glimpse, (back, cut), scale, values, dates))


def _scale(base: Floats, other: Floats) -> ValueScale:
    """Return an axis around a column, with some room for what changed of it."""
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
    glimpse: Glimpse,
    bars: tuple[int, int],
    scale: DateScale,
    values: ValueScale,
    dates: tuple[str, ...] | None,
) -> str:
    """Return the line after which the future is another, and where its change reaches."""
    back, cut = bars
    at, line = (scale.position(int(_times(np.array([bar]), dates)[0])) for bar in (back, cut))
    x = place(line)
    rule = f'<g class="oo-grid"><line class="oo-zero" x1="{x}" x2="{x}" y1="0" y2="100%"/></g>'
    where = np.flatnonzero(glimpse.bars == back)
    known = [each[where[0]] for each in (glimpse.base, glimpse.other) if len(where) and np.isfinite(each[where[0]])]
    if not known:
        return rule
    height = min(max(values.position(float(known[0])), 0.0), 1.0)
    text = f"{leak.reach.column} changes {leak.reach.horizon} back"
    return rule + note(at, height, text, "c-delayed")
