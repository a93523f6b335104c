"""Chart of the NAV of a run inside the bands of its resampled returns."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import scale_of_dates, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, area_path, line_path
from openoutcry.report.text_format import number
from openoutcry.report.views.analysis_view import BandsView
from openoutcry.report.views.view_checks import Floats

__all__ = ["bands_chart"]


def bands_chart(
    dates: Sequence[str], nav: Floats, name: str, bands: BandsView, *, points: int = 600, height: int = 260
) -> str:
    """Draw the bands between pairs of quantiles, the median, and the NAV as run."""
    levels = sorted(bands.nav)
    values = value_scale([nav, *bands.nav.values()], "auto", include=[1.0])
    scale = scale_of_dates([dates])
    ends = ", ".join(f"{level * 100:g}% {number(float(bands.nav[level][-1]))}" for level in levels)
    canvas = Canvas(
        title=f"NAV of {name} and of its resampled returns",
        description=f"Quantiles of the final NAV: {ends}. The run ends at {number(float(nav[-1]))}.",
        dates=scale,
        values=values,
        show=values.show_number,
        unit="nav",
        height=height,
        baseline=1.0,
    )
    xs = scale.units(downsampling.seconds(bands.dates))
    edges = {level: values.units(bands.nav[level]) for level in levels}
    pairs = [(levels[depth], levels[-1 - depth]) for depth in range(len(levels) // 2)]
    paths = [area_path(xs, edges[high], edges[low], "oo-band", "") for low, high in pairs]
    middle = levels[len(levels) // 2]
    named = {level: f"resampled, {level * 100:g}%" for level in (levels[0], middle, levels[-1])}
    paths += [line_path(xs, edges[level], "c-benchmark oo-thin", text) for level, text in named.items()]
    keep = downsampling.decimate(nav, points)
    own = scale.units(downsampling.seconds([dates[i] for i in keep]))
    paths.append(line_path(own, values.units(nav[keep]), "c-agent oo-strong", name))
    labels = [
        EndLabel(text, values.position(float(bands.nav[level][-1])), "c-benchmark") for level, text in named.items()
    ]
    return canvas.render(paths, [*labels, EndLabel(name, values.position(float(nav[-1])), "c-agent")])
