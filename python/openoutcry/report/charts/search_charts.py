"""Charts of a search: parameter map, trials over time, folds on a time axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from openoutcry.report.charts import downsampling
from openoutcry.report.charts.heatmap import shade
from openoutcry.report.charts.plot_frame import Axis, axis_of, count_axis, plot
from openoutcry.report.charts.scales import DateScale, scale_of_dates
from openoutcry.report.charts.svg import place
from openoutcry.report.text_format import escape, number
from openoutcry.report.views.search_view import FoldRow, HoldoutSpan, MapPoint, ParameterMap, TrialPoint
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["fold_chart", "history_chart", "map_chart"]

_ROW, _AXIS = 26, 24
_ORDER = {"": 0, "neighbour": 1, "chosen": 2}


def map_chart(drawn: ParameterMap, extreme: float) -> str:
    """Draw the configurations of a strategy over one or two parameters.

    Args:
        drawn: The map.
        extreme: Absolute Sharpe ratio of the strongest colour.
    """
    points = sorted(drawn.points, key=lambda each: (_ORDER[each.role], each.sharpe or 0.0))
    x = axis_of(drawn.x, [point.x for point in points])
    chosen = next(point for point in points if point.role == "chosen")
    best = "undefined" if chosen.sharpe is None else number(chosen.sharpe)
    description = (
        f"{counted(len(points), 'configuration')}; the chosen one, {chosen.params}, has a Sharpe ratio of {best}."
    )
    title = f"{drawn.strategy}: Sharpe ratio out of sample by {drawn.x}" + (f" and {drawn.y}" if drawn.y else "")
    if not drawn.y:
        return _one_parameter(points, x, title, description)
    y = axis_of(drawn.y, [point.y for point in points if point.y is not None])
    marks = "".join(_dot(point, x.position(point.x), y.position(point.y or 0.0), extreme) for point in points)
    return plot(title, description, x, y, marks, 320)


def _one_parameter(points: Sequence[MapPoint], x: Axis, title: str, description: str) -> str:
    known = [point for point in points if point.sharpe is not None]
    y = axis_of("Sharpe ratio", [point.sharpe or 0.0 for point in known] or [0.0], [0.0, 0.1, -0.1])
    at = [(x.position(point.x), y.position(point.sharpe or 0.0), point) for point in known]
    steps = sorted(at, key=lambda each: each[0])
    lines = "".join(
        f'<line class="oo-hair" x1="{place(a[0])}" y1="{place(1 - a[1])}" x2="{place(b[0])}" y2="{place(1 - b[1])}"/>'
        for a, b in pairwise(steps)
    )
    return plot(title, description, x, y, lines + "".join(_dot(each, a, b, 0.0) for a, b, each in at), 260)


def _dot(point: MapPoint, x: float, y: float, extreme: float) -> str:
    """Return a numbered disc, filled by the Sharpe ratio unless `extreme` is 0."""
    sharpe = point.sharpe
    value = "undefined" if sharpe is None else number(sharpe)
    fill = "" if sharpe is None or extreme <= 0.0 else f" {shade(sharpe, extreme)}"
    radius = 13 if point.role == "chosen" else 11
    name = f"Round {point.number}: Sharpe ratio {value}. {point.params}"
    left, top = place(x), place(1.0 - y)
    return (
        f'<g class="oo-dot{fill} {point.role}"><title>{escape(name)}</title>'
        f'<circle cx="{left}" cy="{top}" r="{radius}"/>'
        f'<text class="oo-ink" x="{left}" y="{top}" dy=".35em" text-anchor="middle">{point.number}</text></g>'
    )


def history_chart(history: Sequence[TrialPoint]) -> str:
    """Draw the Sharpe ratio of every round in order, with the incumbent as a line.

    Rounds without a ratio are on a line of their own below the plot.
    """
    known = [point for point in history if point.sharpe is not None]
    values = [point.sharpe or 0.0 for point in known]
    spread = max(max(values, default=0.1) - min(values, default=0.0), 0.1)
    lane = min([*values, 0.0]) - 0.2 * spread
    has_lane = len(known) < len(history)
    y = axis_of("Sharpe ratio out of sample", values or [0.0], [0.0, 0.1, *([lane] if has_lane else [])])
    x = count_axis("round", len(history))
    marks, leader, before = _lane(y.position(lane)) if has_lane else [], None, 0.0
    for point in history:
        at = x.position(float(point.number))
        if point.outcome == "advanced" and point.sharpe is not None:
            marks.append(_step(leader, point.sharpe, (before, at), y))
            leader, before = point.sharpe, at
        height = y.position(lane if point.sharpe is None else point.sharpe)
        marks.append(_mark(point, at, 1.0 - height))
    if leader is not None:
        marks.append(_step(leader, leader, (before, 1.0), y))
    # Lines first, so that marks are on top.
    marks.sort(key=lambda mark: mark.startswith("<g"))
    n_advanced = sum(point.outcome == "advanced" for point in history)
    best = "No proposal took the lead" if leader is None else f"The last leader has {number(leader)}"
    description = (
        f"{counted(len(history), 'round')}, {len(known)} with a Sharpe ratio. {best}, after {n_advanced} changes."
    )
    return plot("Trials over time", description, x, y, "".join(marks), 280)


def _lane(position: float) -> list[str]:
    y = place(1.0 - position)
    return [
        f'<line class="oo-lane" x1="0" x2="100%" y1="{y}" y2="{y}"/>',
        f'<text x="100%" y="{y}" dy="-9" text-anchor="end">without a ratio</text>',
    ]


def _step(old: float | None, new: float, span: tuple[float, float], y: Axis) -> str:
    left, right = place(span[0]), place(span[1])
    if old is None:
        return ""
    level, rise = place(1.0 - y.position(old)), place(1.0 - y.position(new))
    return (
        f'<line class="oo-leader" x1="{left}" x2="{right}" y1="{level}" y2="{level}"/>'
        f'<line class="oo-leader" x1="{right}" x2="{right}" y1="{level}" y2="{rise}"/>'
    )


def _mark(point: TrialPoint, x: float, y: float) -> str:
    value = "" if point.sharpe is None else f", Sharpe ratio {number(point.sharpe)}"
    name = f"<title>{escape(f'Round {point.number}: {point.name}, {point.outcome}{value}')}</title>"
    at = f'x="{place(x)}" y="{place(y)}"'
    if point.outcome in ("rejected", "crashed"):
        cross = '<path d="M-4-4L4 4M4-4L-4 4"/>'
        return f'<g class="oo-round {point.outcome}">{name}<svg {at} overflow="visible">{cross}</svg></g>'
    return f'<g class="oo-round {point.outcome}">{name}<circle cx="{place(x)}" cy="{place(y)}" r="5"/></g>'


def fold_chart(folds: Sequence[FoldRow], holdout: HoldoutSpan | None, names: Sequence[str]) -> str:
    """Draw training, test and holdout of every fold on one time axis.

    Args:
        folds: The folds.
        holdout: The holdout; None for none.
        names: Names of the strategies of the folds' Sharpe ratios; the first one's are written in the tests.
    """
    spans = [day for fold in folds for day in (*fold.train, *fold.test)]
    spans += [] if holdout is None else [holdout.first, holdout.last]
    scale = scale_of_dates([sorted(spans)])
    rows = [_fold(fold, place_, scale) for place_, fold in enumerate(folds)]
    if holdout is not None:
        top = len(folds) * _ROW
        rows.append(_bar(scale, (holdout.first, holdout.last), top, "holdout", f"Holdout, {holdout.result}"))
        rows.append(f'<text x="0" dx="-8" y="{top + 17}" text-anchor="end">holdout</text>')
    height = (len(folds) + (holdout is not None)) * _ROW
    grid = "".join(
        f'<line x1="{place(tick.position)}" x2="{place(tick.position)}" y1="0" y2="100%"/>'
        f'<text x="{place(tick.position)}" y="100%" dy="16" text-anchor="middle"'
        f"{' class=oo-minor' if i % 2 else ''}>{escape(tick.label)}</text>"
        for i, tick in enumerate(scale.ticks())
    )
    of = f"; Sharpe ratios are those of {names[0]}" if names else ""
    description = f"{counted(len(folds), 'fold')} from {min(spans)} to {max(spans)}{of}."
    return (
        f'<svg class="oo-chart oo-framed oo-folds" role="img" width="100%" height="{height + _AXIS}">'
        f"<title>Folds of the walk-forward</title><desc>{escape(description)}</desc>"
        f'<svg class="oo-plot" width="100%" height="{height}"><g class="oo-grid">{grid}</g>{"".join(rows)}</svg></svg>'
    )


def _fold(fold: FoldRow, index: int, scale: DateScale) -> str:
    top = index * _ROW
    sharpe = fold.sharpes[0] if fold.sharpes else None
    shown = "" if sharpe is None else number(sharpe)
    left, right = (scale.position(int(at)) for at in downsampling.seconds(list(fold.test)))
    text = f'<text class="oo-inside" x="{place((left + right) / 2)}" y="{top + 17}" text-anchor="middle">{shown}</text>'
    parts = [("train", fold.train, f"training {' .. '.join(fold.train)}")]
    parts.append(("test", fold.test, f"test {' .. '.join(fold.test)}"))
    if fold.n_gap:
        # Last, because a gap of one bar is thinner than the edge of a test.
        parts.append(("gap", (fold.train[1], fold.test[0]), f"gap of {counted(fold.n_gap, 'bar')}"))
    bars = "".join(_bar(scale, span, top, kind, f"Fold {index + 1}, {what}") for kind, span, what in parts)
    return f'{bars}{text}<text x="0" dx="-8" y="{top + 17}" text-anchor="end">{index + 1}</text>'


def _bar(scale: DateScale, span: tuple[str, str], top: int, kind: str, name: str) -> str:
    left, right = (scale.position(int(at)) for at in downsampling.seconds(list(span)))
    # A short holdout is still visible.
    width = max(right - left, 0.004)
    return (
        f'<g class="oo-part {kind}"><title>{escape(name)}</title><rect x="{place(min(left, 1.0 - width))}"'
        f' y="{top + 4}" width="{place(width)}" height="{_ROW - 8}" rx="2"/></g>'
    )
