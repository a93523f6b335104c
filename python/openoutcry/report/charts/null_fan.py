"""Fan chart of the null agents' NAV, in the background of an equity chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import DateScale, ValueScale
from openoutcry.report.charts.svg import EndLabel, area_path, line_path
from openoutcry.report.text_format import number
from openoutcry.report.views.view_checks import Floats

__all__ = ["fan_ends", "fan_paths", "fan_places", "fan_sentence"]

POINTS = 160
"""Maximum points of an edge; quantiles of many agents are smooth, so more points add nothing."""


def fan_places(n_bars: int) -> npt.NDArray[np.intp]:
    """Return the bars of a run at which its fan is drawn."""
    return np.unique(np.linspace(0, n_bars - 1, min(POINTS, n_bars)).astype(np.intp))


def fan_paths(fan: Mapping[float, Floats], dates: Sequence[str], values: ValueScale, scale: DateScale) -> list[str]:
    """Return the bands between pairs of quantiles, widest first, then the lines.

    The lines are the outer edges and the median. The fan has a value at each date, or at `fan_places` only.
    """
    levels = sorted(fan)
    at = fan_places(len(dates))
    xs = scale.units(downsampling.seconds([dates[i] for i in at]))
    edges = {level: values.units(fan[level] if len(fan[level]) == len(at) else fan[level][at]) for level in levels}
    paths = []
    for depth in range(len(levels) // 2):
        low, high = levels[depth], levels[-1 - depth]
        paths.append(area_path(xs, edges[high], edges[low], "oo-fan", ""))
    shown = dict.fromkeys([levels[0], levels[len(levels) // 2], levels[-1]])
    paths += [line_path(xs, edges[level], "c-luck oo-thin", _name(level)) for level in shown]
    return paths


def fan_ends(fan: Mapping[float, Floats], values: ValueScale) -> list[EndLabel]:
    """Return the labels of the outer edges."""
    return [EndLabel(_name(level), values.position(float(fan[level][-1])), "c-luck") for level in (min(fan), max(fan))]


def fan_sentence(fan: Mapping[float, Floats], nav: Floats, label: str) -> str:
    """Return the position of the final NAV in the null distribution, as a sentence."""
    levels, end = sorted(fan), float(nav[-1])
    ends = {level: float(fan[level][-1]) for level in levels}
    above = [level for level in levels if end >= ends[level]]
    if not above:
        where = f"below the {_rank(levels[0])} percentile"
    elif len(above) == len(levels):
        where = f"above the {_rank(levels[-1])} percentile"
    else:
        where = f"between the {_rank(above[-1])} and the {_rank(levels[len(above)])} percentile"
    spread = f"{number(ends[levels[0]])} to {number(ends[levels[-1]])}"
    outer = f"their {_rank(levels[0])} to {_rank(levels[-1])} percentiles are {spread}"
    return f"The run ends at {number(end)}, {where} of {label}: {outer}."


def _rank(level: float) -> str:
    text = f"{level * 100:g}"
    suffix = "th" if text[-2:] in {"11", "12", "13"} else {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th")
    return text + suffix


def _name(level: float) -> str:
    return f"no skill, {level * 100:g}%"
