"""SVG charts of the NAV in the three arms and of their differences."""

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
from openoutcry.untrusted.counted_nouns import counted

Floats = npt.NDArray[np.float64]

_POINTS = 600
_ROW, _AXIS = 30, 26


@dataclass(frozen=True)
class WindowScale(DateScale):
    """A horizontal axis of bars, with consecutive windows.

    Attributes:
        starts: First bar and first date of each window.
    """

    starts: tuple[tuple[int, str], ...] = ()

    def ticks(self, target: int = 7) -> list[Tick]:
        """Return ticks at about `target` window starts."""
        step = -(-len(self.starts) // target)
        return [Tick(self.position(bar), date[:10]) for bar, date in self.starts[::step]]


def render_arms(verdict: Verdict) -> str:
    """Render the NAV of the arms over all windows and both differences as SVG."""
    title = f"{verdict.agent} on {verdict.dataset}: {_result(verdict)}"
    return standalone(_equity(verdict), _differences(verdict), title=title)


def _equity(verdict: Verdict) -> str:
    windows = verdict.returns
    twins = [_nav(row) for row in np.concatenate([each.twins for each in windows], axis=1)]
    means = {arm: [getattr(each, arm).mean(axis=0) for each in windows] for arm in ("named", "masked")}
    named, masked = (_nav(np.concatenate(means[arm])) for arm in ("named", "masked"))
    drawn = [*((nav, "c-luck oo-thin", "twin") for nav in twins), (masked, "c-delayed oo-strong", "masked")]
    drawn.append((named, "c-agent oo-strong", "named"))
    values = value_scale([nav for nav, _, _ in drawn], include=[1.0])
    sizes = np.cumsum([0, *(len(each.dates) for each in windows)]).tolist()
    starts = tuple(zip(sizes[:-1], (each.first_date for each in windows), strict=True))
    bars = WindowScale(0, sizes[-1], sizes[-1], starts)
    final_navs = "; ".join(f"{name} ends at {nav[-1]:.3f}" for nav, _, name in drawn)
    canvas = Canvas(
        title="NAV in the named, masked and twin arms",
        description=f"NAV over consecutive windows. {final_navs}.",
        dates=bars,
        values=values,
        show=values.show_number,
        unit="nav",
        baseline=1.0,
    )
    paths = [_path(nav, bars, values, classes, name) for nav, classes, name in drawn]
    ends = [EndLabel(name, values.position(float(nav[-1])), classes.split()[0]) for nav, classes, name in drawn[-2:]]
    middle = values.position(float(np.median([nav[-1] for nav in twins])))
    return canvas.render(paths, [*ends, EndLabel(counted(len(twins), "twin"), middle, "c-luck")])


def _path(nav: Floats, bars: WindowScale, values: ValueScale, classes: str, name: str) -> str:
    kept = downsampling.decimate(nav, _POINTS)
    return line_path(bars.units(kept.astype(np.int64)), values.units(nav[kept]), classes, name)


def _result(verdict: Verdict) -> str:
    return "cannot be judged" if verdict.not_judged is not None else SHORT[verdict.found]


def _nav(returns: Floats) -> Floats:
    return np.concatenate([[1.0], np.cumprod(1.0 + returns)])


def _differences(verdict: Verdict) -> str:
    """Draw both differences with their intervals, in basis points per bar."""
    rows = {"over masked": verdict.name, "over twins": verdict.path}
    known = [1e4 * value for each in rows.values() for value in (each.mean, each.low, each.high) if value is not None]
    scale = value_scale([np.array(known)], include=[0.0])
    height = _ROW * len(rows) + _AXIS
    summary = "; ".join(f"{label}: {basis_points(each.mean)} bp" for label, each in rows.items())
    body = "".join(_row(label, each, place_of, scale) for place_of, (label, each) in enumerate(rows.items()))
    ticks = "".join(_tick(tick, scale, height) for tick in scale.ticks())
    return (
        f'<svg class="oo-chart oo-framed" role="img" width="100%" height="{height}">'
        f"<title>Named less the other arms, basis points per bar</title><desc>{escape(summary)}</desc>"
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
    text = escape(f"{basis_points(each.mean)} {label}")
    return (
        f'<g class="c-agent">{whisker}'
        f'<circle class="oo-point" cx="{_at(1e4 * each.mean, scale)}" cy="{y}" r="4.5"/></g>'
        f'<g class="oo-end c-agent"><text x="100%" dx="8" y="{y}" dy=".32em">{text}</text></g>'
    )


def _at(value: float, scale: ValueScale) -> str:
    # A vertical scale counts from the top.
    return place(1.0 - scale.position(value))
