"""Chart of one rolling statistic over time, with gaps where it is undefined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.flag_runs import flag_runs
from openoutcry.report.charts.scales import ValueScale, scale_of_dates, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path
from openoutcry.report.text_format import number, percent
from openoutcry.report.views.view_checks import Floats

__all__ = ["RollingLine", "range_sentence", "rolling_line_chart"]


@dataclass(frozen=True)
class RollingLine:
    """A rolling statistic.

    Attributes:
        name: Name of the line.
        values: Shape `(n_bars,)`, float64; NaN where undefined.
        baseline: Value of a stronger line, such as 1 for beta.
        is_share: Whether values are fractions, shown as percentages.
    """

    name: str
    values: Floats
    baseline: float
    is_share: bool = False

    @property
    def show(self) -> Callable[[float], str]:
        """Format of one value."""
        return percent if self.is_share else number


def rolling_line_chart(dates: Sequence[str], line: RollingLine, *, points: int = 600, height: int = 180) -> str:
    """Draw a rolling statistic with at least one defined value."""
    known = np.isfinite(line.values)
    low, high, last = _range(line.values, known)
    values = value_scale([np.array([low, high])], include=[line.baseline])
    scale = scale_of_dates([dates])
    canvas = Canvas(
        title=line.name,
        description=range_sentence(line),
        dates=scale,
        values=values,
        show=_ticks(values, line),
        unit="percent" if line.is_share else "ratio",
        height=height,
        baseline=line.baseline,
    )
    paths = []
    for first, after in zip(*(edges.tolist() for edges in flag_runs(known)), strict=True):
        budget = max(points * (after - first) // len(dates), 2)
        keep = first + downsampling.decimate(line.values[first:after], budget)
        xs, ys = scale.units(downsampling.seconds([dates[i] for i in keep])), values.units(line.values[keep])
        paths.append(line_path(*((xs * 2, ys * 2) if len(xs) == 1 else (xs, ys)), "c-agent oo-strong", line.name))
    ends = [EndLabel(line.show(last), values.position(last), "c-agent")] if known[-1] else []
    return canvas.render(paths, ends)


def range_sentence(line: RollingLine) -> str:
    """Return the lowest, highest and last value as a sentence."""
    low, high, last = map(line.show, _range(line.values, np.isfinite(line.values)))
    return f"Between {low} and {high}; {last} at the end."


def _range(values: Floats, known: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the lowest, the highest and the last known value; others are NaN."""
    last = len(known) - 1 - int(known[::-1].argmax())
    return float(np.nanmin(values)), float(np.nanmax(values)), float(values[last])


def _ticks(values: ValueScale, line: RollingLine) -> Callable[[float], str]:
    return values.show_percent if line.is_share else values.show_number
