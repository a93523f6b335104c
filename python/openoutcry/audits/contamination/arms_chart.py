"""A picture of the three arms, and of how much they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.contamination.findings import Verdict
from openoutcry.audits.contamination.findings_text import SHORT, basis_points
from openoutcry.audits.contamination.paired_differences import Difference
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import DateScale, Tick, ValueScale, value_scale
from openoutcry.report.charts.svg import Canvas, EndLabel, line_path, place, standalone
from openoutcry.report.text_format import escape

Floats = npt.NDArray[np.float64]

_POINTS = 600
_ROW, _AXIS = 30, 26


@dataclass(frozen=True)
class WindowScale(DateScale):
    """A horizontal axis of bars, one window after the other.

    Attributes:
        begins: First bar and first date of each window.
    """

    begins: tuple[tuple[int, str], ...] = ()

    def ticks(self, target: int = 7) -> list[Tick]:
        """Return where windows begin, of many only some."""
        every = -(-len(self.begins) // target)
        return [Tick(self.position(bar), date[:10]) for bar, date in self.begins[::every]]


def picture_of(verdict: Verdict) -> str:
    """Return an SVG document: NAV in the arms over all windows, and both differences."""
    title = f"{verdict.agent} on {verdict.dataset}: {_found(verdict)}"
    return standalone(_equity(verdict), _differences(verdict), title=title)


def _equity(verdict: Verdict) -> str:
    tracks = verdict.tracks
    twins = [_nav(row) for row in np.concatenate([each.twins for each in tracks], axis=1)]
    means = {arm: [getattr(each, arm).mean(axis=0) for each in tracks] for arm in ("named", "masked")}
    named, masked = (_nav(np.concatenate(means[arm])) for arm in ("named", "masked"))
    drawn = [*((nav, "c-luck oo-thin", "twin") for nav in twins), (masked, "c-delayed oo-strong", "in disguise")]
    drawn.append((named, "c-agent oo-strong", "as it is"))
    values = value_scale([nav for nav, _, _ in drawn], include=[1.0])
    sizes = np.cumsum([0, *(len(each.dates) for each in tracks)]).tolist()
    begins = tuple(zip(sizes[:-1], (each.first_date for each in tracks), strict=True))
    bars = WindowScale(0, sizes[-1], sizes[-1], begins)
    told = "; ".join(f"{name} ends at {nav[-1]:.3f}" for nav, _, name in drawn)
    canvas = Canvas(
        title="NAV as it is, in disguise and on twins",
        description=f"NAV over all windows, one after the other. {told}.",
        dates=bars,
        values=values,
        show=values.show_number,
        unit="nav",
        baseline=1.0,
    )
    paths = [_path(nav, bars, values, classes, name) for nav, classes, name in drawn]
    ends = [EndLabel(name, values.position(float(nav[-1])), classes.split()[0]) for nav, classes, name in drawn[-2:]]
    middle = values.position(float(np.median([nav[-1] for nav in twins])))
    return canvas.render(paths, [*ends, EndLabel(f"{len(twins)} twins", middle, "c-luck")])


def _path(nav: Floats, bars: WindowScale, values: ValueScale, classes: str, name: str) -> str:
    kept = downsampling.decimate(nav, _POINTS)
    return line_path(bars.units(kept.astype(np.int64)), values.units(nav[kept]), classes, name)


def _found(verdict: Verdict) -> str:
    return "cannot be judged" if verdict.complaint is not None else SHORT[verdict.found]


def _nav(returns: Floats) -> Floats:
    return np.concatenate([[1.0], np.cumprod(1.0 + returns)])


def _differences(verdict: Verdict) -> str:
    """Return both differences with their intervals, in basis points a bar."""
    rows = {"less disguise": verdict.name, "less twins": verdict.path}
    known = [1e4 * value for each in rows.values() for value in (each.mean, each.low, each.high) if value is not None]
    scale = value_scale([np.array(known)], include=[0.0])
    height = _ROW * len(rows) + _AXIS
    told = "; ".join(f"{label}: {basis_points(each.mean)} bp" for label, each in rows.items())
    body = "".join(_row(label, each, place_of, scale) for place_of, (label, each) in enumerate(rows.items()))
    ticks = "".join(_tick(tick, scale, height) for tick in scale.ticks())
    return (
        f'<svg class="oo-chart oo-framed" role="img" width="100%" height="{height}">'
        f"<title>Named less the other arms, basis points a bar</title><desc>{escape(told)}</desc>"
        f'<g class="oo-grid">{ticks}</g>{body}</svg>'
    )


def _tick(value: float, scale: ValueScale, height: int) -> str:
    x, strong = _at(value, scale), ' class="oo-zero"' if value == 0.0 else ""
    label = f"{escape(scale.show_number(value))} bp"
    return (
        f'<line x1="{x}" x2="{x}" y1="0" y2="{height - _AXIS}"{strong}/>'
        f'<text x="{x}" y="{height - 8}" text-anchor="middle">{label}</text>'
    )


def _row(label: str, each: Difference, row: int, scale: ValueScale) -> str:
    y = _ROW * row + _ROW / 2
    whisker = ""
    if each.low is not None and each.high is not None:
        low, high = _at(1e4 * each.low, scale), _at(1e4 * each.high, scale)
        whisker = f'<line class="oo-whisker" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
    told = escape(f"{basis_points(each.mean)} {label}")
    return (
        f'<g class="c-agent">{whisker}'
        f'<circle class="oo-point" cx="{_at(1e4 * each.mean, scale)}" cy="{y}" r="4.5"/></g>'
        f'<g class="oo-end c-agent"><text x="100%" dx="8" y="{y}" dy=".32em">{told}</text></g>'
    )


def _at(value: float, scale: ValueScale) -> str:
    # A vertical scale counts from the top.
    return place(1.0 - scale.position(value))
