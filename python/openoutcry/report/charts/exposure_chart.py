"""Chart of gross and net exposure over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import scale_of_dates, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path
from openoutcry.report.text_format import percent
from openoutcry.report.views.view_checks import Floats

__all__ = ["EXPOSURE_LEGEND", "exposure_chart"]

EXPOSURE_LEGEND = [("gross", "c-agent"), ("net", "c-delayed")]
"""Lines of the chart with their colour classes."""


def exposure_chart(dates: Sequence[str], gross: Floats, net: Floats, *, columns: int = 200, height: int = 180) -> str:
    """Draw the sum of abs(weight) and of signed weights at each close.

    Args:
        dates: ISO 8601, one per value.
        gross: Shape `(n_bars,)`, float64.
        net: The same of signed weights; where it equals `gross`, one line is drawn.
        columns: Maximum points of a line; each is the mean of its bars.
        height: Pixels.
    """
    means, at = downsampling.bucket_means(np.column_stack([gross, net]), columns)
    times = downsampling.seconds([dates[i] for i in at])
    values = value_scale([means], include=[0.0, 0.05])
    scale = scale_of_dates([dates])
    peak = int(gross.argmax())
    canvas = Canvas(
        title="Gross and net exposure",
        description=(
            f"Gross is {percent(float(gross.mean()))} of NAV on average and {percent(float(gross[peak]))} at most,"
            f" on {dates[peak][:10]}; net is between {percent(float(net.min()))} and {percent(float(net.max()))}."
        ),
        dates=scale,
        values=values,
        show=values.show_percent,
        unit="percent",
        height=height,
        baseline=0.0,
    )
    same = np.array_equal(gross, net)
    lines = [("gross and net" if same else "gross", "c-agent oo-strong", means[:, 0])]
    lines += [] if same else [("net", "c-delayed oo-strong", means[:, 1])]
    xs = scale.units(times)
    paths, ends = [], []
    for name, classes, drawn in lines:
        paths.append(line_path(xs, values.units(drawn), classes, name))
        ends.append(EndLabel(name, values.position(float(drawn[-1])), classes.split()[0]))
    return canvas.render(paths, ends)
