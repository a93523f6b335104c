"""Chart of the rolling Sharpe ratio with its 95% band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.equity_charts import Line
from openoutcry.report.charts.flag_runs import flag_runs
from openoutcry.report.charts.scales import DateScale, ValueScale, scale_of_dates, value_scale
from openoutcry.report.charts.sparklines import Z95
from openoutcry.report.charts.svg import Canvas, EndLabel, area_path, line_path
from openoutcry.report.text_format import number, percent
from openoutcry.report.views.statistics_view import Rolling
from openoutcry.report.views.view_checks import Floats

__all__ = ["rolling_chart", "rolling_lines", "rolling_sentence"]


def rolling_chart(dates: Sequence[str], rolling: Rolling, *, points: int = 600, height: int = 220) -> str:
    """Draw the estimate and its band, with gaps where it is undefined.

    Args:
        dates: ISO 8601, one per value.
        rolling: Rolling Sharpe ratio with at least one defined value.
        points: Maximum points of the line, over all of its segments.
        height: Pixels.
    """
    known = np.isfinite(rolling.sharpe)
    banded = known & np.isfinite(rolling.error)
    edges = [rolling.sharpe, *(_edge(rolling, sign, slice(None)) for sign in (-1.0, 1.0) if banded.any())]
    values = value_scale([np.array([np.nanmin(edge), np.nanmax(edge)]) for edge in edges], include=[0.0, 0.1, -0.1])
    del edges  # as long as the run
    scale = scale_of_dates([dates])
    last = len(known) - 1 - int(known[::-1].argmax())
    canvas = Canvas(
        title=f"Sharpe ratio over the last {rolling.n_returns:,} returns",
        description=rolling_sentence(rolling),
        dates=scale,
        values=values,
        show=values.show_number,
        unit="ratio",
        height=height,
        baseline=0.0,
    )
    paths = [_band(dates, rolling, part, (values, scale), points) for part in _segments(banded)]
    for part in _segments(known):
        keep = part.start + downsampling.decimate(rolling.sharpe[part], _share(part, len(dates), points))
        xs, ys = scale.units(downsampling.seconds([dates[i] for i in keep])), values.units(rolling.sharpe[keep])
        paths.append(line_path(*_at_least_a_dot(xs, ys), "c-agent oo-strong", "Sharpe"))
    end = EndLabel(number(float(rolling.sharpe[last])), values.position(float(rolling.sharpe[last])), "c-agent")
    return canvas.render(paths, [end] if last == len(dates) - 1 else [])


def rolling_lines(lines: Sequence[Line], n_returns: int, *, points: int = 600, height: int = 240) -> str:
    """Draw the rolling Sharpe ratios of several runs on one scale, without bands.

    Args:
        lines: Ratios with NaN where undefined; each has at least one. The last one is drawn on top.
        n_returns: Length of the window, in returns.
        points: Maximum points of a line, over all of its segments.
        height: Pixels.
    """
    values = value_scale([line.values[np.isfinite(line.values)] for line in lines], include=[0.0, 0.1, -0.1])
    scale = scale_of_dates([line.dates for line in lines])
    spans = ", ".join(
        f"{line.name} between {number(float(np.nanmin(line.values)))} and {number(float(np.nanmax(line.values)))}"
        for line in reversed(lines)
    )
    canvas = Canvas(
        title=f"Sharpe ratios over the last {n_returns:,} returns",
        description=f"{spans}.",
        dates=scale,
        values=values,
        show=values.show_number,
        unit="ratio",
        height=height,
        baseline=0.0,
    )
    paths, ends = [], []
    for line in lines:
        for part in _segments(np.isfinite(line.values)):
            keep = part.start + downsampling.decimate(line.values[part], _share(part, len(line.dates), points))
            xs = scale.units(downsampling.seconds([line.dates[i] for i in keep]))
            paths.append(line_path(*_at_least_a_dot(xs, values.units(line.values[keep])), line.classes, line.name))
        last = float(line.values[-1])
        ends += [EndLabel(line.name, values.position(last), line.colour, True)] if np.isfinite(last) else []
    return canvas.render(paths, ends)


def rolling_sentence(rolling: Rolling) -> str:
    """Return a sentence on the range and on how often the band excludes zero."""
    known = np.isfinite(rolling.sharpe)
    if not known.any():
        return f"Undefined throughout: no window of {rolling.n_returns:,} returns has a Sharpe ratio."
    least, most = float(np.nanmin(rolling.sharpe)), float(np.nanmax(rolling.sharpe))
    text = f"Between {number(least)} and {number(most)}"
    banded = known & np.isfinite(rolling.error)
    if not banded.any():
        return f"{text}; no standard error is known."
    # NaN is neither above nor below.
    half, n_banded = Z95 * rolling.error, np.count_nonzero(banded)
    above, below = (np.count_nonzero(of) / n_banded for of in (rolling.sharpe > half, rolling.sharpe < -half))
    return f"{text}. The band is above zero {percent(above, 0)} of the time, below it {percent(below, 0)}."


def _edge(rolling: Rolling, sign: float, at: Any) -> Floats:
    """Return the lower or the upper edge of the band at some bars."""
    edge: Floats = rolling.sharpe[at] + sign * Z95 * rolling.error[at]
    return edge


def _band(dates: Sequence[str], rolling: Rolling, part: slice, axes: tuple[ValueScale, DateScale], points: int) -> str:
    values, scale = axes
    least = max(_share(part, len(dates), points) // 2, 2)
    at = np.unique(np.linspace(part.start, part.stop - 1, min(least, part.stop - part.start)).astype(np.intp))
    xs = scale.units(downsampling.seconds([dates[i] for i in at]))
    low, high = (values.units(_edge(rolling, sign, at)) for sign in (-1.0, 1.0))
    return area_path(xs, high, low, "oo-band", "")


def _share(part: slice, n_bars: int, points: int) -> int:
    return max(points * int(part.stop - part.start) // n_bars, 2)


def _at_least_a_dot(xs: list[int], ys: list[int]) -> tuple[list[int], list[int]]:
    return (xs * 2, ys * 2) if len(xs) == 1 else (xs, ys)


def _segments(known: npt.NDArray[np.bool_]) -> list[slice]:
    return [slice(int(a), int(b)) for a, b in zip(*flag_runs(known), strict=True)]
