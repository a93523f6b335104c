"""Charts of NAV, drawdown and execution delay over time.

Paths are bounded in size; downsampling preserves lows and highs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.null_fan import fan_ends, fan_paths
from openoutcry.report.charts.scales import DateScale, ValueScale, scale_of_dates, value_scale
from openoutcry.report.charts.svg import (
    Canvas,
    EndLabel,
    area_path,
    line_path,
    note,
    series_class,
)
from openoutcry.report.text_format import number, percent
from openoutcry.report.views.run_view import Floats

__all__ = ["Line", "Role", "delay_chart", "drawdown_chart", "equity_chart", "spans_decades"]

Role = Literal["agent", "benchmark", "delayed", "series"]

POINTS = 1000
"""Default maximum points of a line."""


@dataclass(frozen=True)
class Line:
    """One line of a chart over time.

    Attributes:
        name: Label at its end.
        dates: ISO 8601, one per value.
        values: Shape `(n_bars,)`, float64.
        role: Role, which determines the style; `series` uses the colour of `slot`.
        slot: Index of the categorical colour.
    """

    name: str
    dates: Sequence[str]
    values: Floats
    role: Role = "agent"
    slot: int = 0

    @property
    def colour(self) -> str:
        """CSS class of the colour."""
        return series_class(self.slot) if self.role == "series" else f"c-{self.role}"

    @property
    def classes(self) -> str:
        """CSS classes of the path."""
        weight = {"agent": " oo-strong", "benchmark": "", "delayed": " oo-dash", "series": ""}[self.role]
        return self.colour + weight


def equity_chart(
    lines: Sequence[Line],
    *,
    scale: str = "auto",
    include: Sequence[float] = (),
    points: int = POINTS,
    height: int = 300,
    slim: bool = False,
    fan: Mapping[float, Floats] | None = None,
) -> str:
    """Draw NAV over time, as a multiple of the starting NAV.

    Args:
        lines: The last one is drawn on top.
        scale: `linear`, `log`, or `auto` for log when the largest value is 3 times the smallest.
        include: Values that must be on the axis, so that several charts share one scale.
        points: Maximum points per line.
        height: Pixels.
        slim: Thumbnail without labels.
        fan: Quantile level to NAV of the null agents, over the dates of the last line; drawn in the background.
    """
    fan = fan or {}
    values = value_scale([*(line.values for line in lines), *fan.values()], scale, include=[1.0, *include])
    dates = scale_of_dates([line.dates for line in lines])
    summary = "; ".join(_journey(line) for line in reversed(lines))
    canvas = Canvas(
        title="Equity of " + ", ".join(line.name for line in reversed(lines)),
        description=f"NAV as a multiple of its start, {'log' if values.log else 'linear'} scale. {summary}.",
        dates=dates,
        values=values,
        show=values.show_number,
        unit="nav",
        height=height,
        baseline=1.0,
        slim=slim,
    )
    paths = fan_paths(fan, lines[-1].dates, values, dates) if fan else []
    paths += [_line(line, line.values, values, dates, points) for line in lines]
    many = any(line.role == "series" for line in lines)
    ends = [EndLabel(line.name, values.position(float(line.values[-1])), line.colour, many) for line in lines]
    ends += fan_ends(fan, values) if fan else []
    return canvas.render(paths, [] if slim else ends)


def spans_decades(lines: Sequence[Line], fan: Mapping[float, Floats] | None = None) -> bool:
    """Return whether `equity_chart` picks a log scale for `lines` and `fan`."""
    return value_scale([*(line.values for line in lines), *(fan or {}).values()], "auto", include=[1.0]).log


def drawdown_chart(lines: Sequence[Line], *, points: int = POINTS, height: int = 180, filled: bool = True) -> str:
    """Draw the drawdown of each NAV from its running peak.

    The last line is filled, and its maximum drawdown is marked, unless `filled` is false: then no line stands out.
    """
    falls = [native.drawdowns(line.values) for line in lines]
    # Space below the maximum drawdown for its label.
    values = value_scale(falls, include=[0.0, -0.01, float(falls[-1].min()) * 1.12])
    dates = scale_of_dates([line.dates for line in lines])
    main, fall = lines[-1], falls[-1]
    worst = int(fall.argmin())
    label = f"{percent(float(fall[worst]))} on {main.dates[worst][:10]}"
    depths = f"The maximum drawdown of {main.name} is {label}"
    if not filled:
        deepest = zip(reversed(lines), reversed(falls), strict=True)
        depths = "The maximum drawdown is " + ", ".join(
            f"{percent(float(f.min()))} of {each.name}" for each, f in deepest
        )
    canvas = Canvas(
        title="Drawdown of " + ", ".join(line.name for line in reversed(lines)),
        description=f"NAV below its running peak. {depths}.",
        dates=dates,
        values=values,
        show=values.show_percent,
        unit="percent",
        height=height,
        baseline=0.0,
    )
    paths = []
    if filled:
        keep = downsampling.decimate(fall, points)
        xs, ys = dates.units(downsampling.seconds([main.dates[i] for i in keep])), values.units(fall[keep])
        paths = [area_path(xs, [values.units(np.zeros(1))[0]] * len(ys), ys, "oo-wash oo-mute", "")]
    paths += [_line(line, f, values, dates, points) for line, f in zip(lines, falls, strict=True)]
    at = dates.position(int(downsampling.seconds([main.dates[worst]])[0]))
    mark = note(at, values.position(float(fall[worst])), label, main.colour) if filled and fall[worst] < 0.0 else ""
    ends = [
        EndLabel(line.name, values.position(float(f[-1])), line.colour) for line, f in zip(lines, falls, strict=True)
    ]
    return canvas.render(paths, ends, mark)


def delay_chart(dates: Sequence[str], nav: Floats, delayed_nav: Floats, *, points: int = 600) -> str:
    """Draw the NAV with one bar of execution delay over the NAV as run, less one."""
    alive = nav > 0.0
    gap = np.divide(delayed_nav, nav, out=np.ones_like(nav), where=alive) - 1.0
    line = Line("one bar later", dates, gap, "delayed")
    values = value_scale([gap], include=[0.0, 0.001, -0.001])
    scale = scale_of_dates([dates])
    canvas = Canvas(
        title="One bar later, relative to the run",
        description=f"NAV of the delayed run over NAV as run, less one: {percent(float(gap[-1]))} at the end.",
        dates=scale,
        values=values,
        show=values.show_percent,
        unit="percent",
        height=180,
        baseline=0.0,
    )
    keep = downsampling.decimate(gap, points)
    xs = scale.units(downsampling.seconds([dates[i] for i in keep]))
    path = line_path(xs, values.units(gap[keep]), "c-delayed oo-strong", line.name)
    end = EndLabel(percent(float(gap[-1]), signed=True), values.position(float(gap[-1])), "c-delayed")
    return canvas.render([path], [end])


def _line(line: Line, drawn: Floats, values: ValueScale, dates: DateScale, points: int) -> str:
    keep = downsampling.decimate(drawn, points)
    xs = dates.units(downsampling.seconds([line.dates[i] for i in keep]))
    return line_path(xs, values.units(drawn[keep]), line.classes, line.name)


def _journey(line: Line) -> str:
    low, high = float(line.values.min()), float(line.values.max())
    return (
        f"{line.name} goes from {number(float(line.values[0]))} on {line.dates[0][:10]} to"
        f" {number(float(line.values[-1]))} on {line.dates[-1][:10]}, between {number(low)} and {number(high)}"
    )
