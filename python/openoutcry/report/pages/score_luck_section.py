"""Figures of Sharpe ratios and `z` of agents against the null agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from openoutcry.report.charts.sparklines import Ground, interval_axis, interval_mark, interval_range
from openoutcry.report.pages.metric_labels import get, show, show_sharpe
from openoutcry.report.pages.score_labels import SIDE
from openoutcry.report.text_format import DASH, breakable, escape, number, percent
from openoutcry.report.views.score_view import Floor, ScoreRow, ScoreSide
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["MAX_Z", "Z_THRESHOLD", "floor_figure", "z_figure"]

Z_THRESHOLD = 1.6448536269514722
"""Standard normal quantile of 0.95: a `z` above it has a deflated Sharpe ratio above 0.95."""

MAX_Z = 8.0
"""A `z` beyond it is an arrow at the edge, because an outlier would compress the axis."""

_CASH = "cash"
_Place = Callable[[float], str]


def floor_figure(rows: Sequence[ScoreRow], floor: Floor | None) -> str:
    """Draw each agent's Sharpe ratio over cash, against the null agents."""
    sides = [_side(row) for row in rows]
    estimates = [_estimate(side) for side in sides]
    low, high = interval_range(estimates)
    luck = [] if floor is None else [*floor.sharpe.values(), *_known(floor.each_sharpe)]
    low, high = min([low, *luck]), max([high, *luck])
    ground = Ground("Sharpe ratio over cash with its 95% interval, against zero and the null agents.", _band(floor))
    body = [] if floor is None else [_floor_row(floor, low, high)]
    for row, side, (value, error) in zip(rows, sides, estimates, strict=True):
        shown = show("sharpe", {}, {"sharpe": "unknown over cash"})
        if side is not None:
            shown = show_sharpe({"sharpe": value, "sharpe_se": error}, _reasons(side))
        body.append(_row(row.name, [shown, _mark(interval_mark(value, error, low, high, ground))]))
    caption = "Annual Sharpe ratio over cash, with its 95% interval; the line is zero."
    if floor is not None:
        caption += (
            f" Background: {counted(floor.n_agents, 'null agent')}, 90% of them in the darker band, with their median"
            " as a line; the first row shows each of them as a dot."
        )
    return _figure(caption, ["Sharpe"], body, interval_axis(low, high))


def z_figure(rows: Sequence[ScoreRow], floor: Floor | None) -> str:
    """Draw `z` of each agent and each of its seeds."""
    best = None if floor is None else floor.best_z
    shown = [get(row.values, "z") for row in rows]
    luck = () if floor is None else floor.each_z
    low, high = _z_range(_known([*shown, best, *luck]))
    body = [] if floor is None or not floor.each_z else [_luck_row(floor, best, low, high)]
    for row, z in zip(rows, shown, strict=True):
        ground = Ground("Standard errors above SR0, of each seed.", _seeds(row.seed_z, best, low, high))
        cells = [show("z", row.values, row.reasons, known=SIDE), _mark(interval_mark(z, None, low, high, ground))]
        above = get(row.values, "above_luck")
        if floor is not None:
            cells.append(
                f"<td>{show('above_luck', row.values, row.reasons) if above is None else percent(above, 1)}</td>"
            )
        body.append(_row(row.name, cells))
    caption = (
        "z: standard errors of the Sharpe ratio above SR0, the expected best of all trials without skill. Small dots"
        f" are single seeds. Above the dashed line, at {number(Z_THRESHOLD)}, the deflated Sharpe ratio is above 0.95."
    )
    if best is not None:
        caption += f" The other line is the best null agent, at {number(best)};"
        caption += " each null agent is a dot, at the edge if outside."
    extra = [] if floor is None else ["Null agents below"]
    return _figure(caption, ["z"], body, interval_axis(low, high), extra)


def _z_range(known: Sequence[float]) -> tuple[float, float]:
    low = max(min([-0.5, *known]), -MAX_Z)
    high = min(max([Z_THRESHOLD, *known]), MAX_Z)
    air = (high - low) * 0.06
    return low - air, high + air


def _side(row: ScoreRow) -> ScoreSide | None:
    return next((side for side in row.sides if side.name == _CASH), None)


def _estimate(side: ScoreSide | None) -> tuple[float | None, float | None]:
    return (None, None) if side is None else (get(side.values, "sharpe"), get(side.values, "standard_error"))


def _reasons(side: ScoreSide) -> dict[str, str]:
    named = {"sharpe": "sharpe", "sharpe_se": "standard_error"}
    return {name: side.reasons[origin] for name, origin in named.items() if origin in side.reasons}


def _row(name: str, cells: Sequence[str]) -> str:
    body = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{breakable(name)}</th>{body}</tr>'


def _mark(svg: str) -> str:
    return f'<td class="mark">{svg}</td>'


def _floor_row(floor: Floor, low: float, high: float) -> str:
    quantiles = ", ".join(f"{percent(level, 0)} below {number(value)}" for level, value in floor.sharpe.items())
    band, dots = _band(floor), _dots(floor.each_sharpe, low, high)
    ground = Ground(f"Null agents: {quantiles}.", lambda at: band(at) + dots(at))
    middle = floor.sharpe.get(0.5)
    text = "" if middle is None else number(middle)
    cells = [text, _mark(interval_mark(None, None, low, high, ground))]
    return _row(counted(floor.n_agents, "null agent"), cells)


def _luck_row(floor: Floor, best: float | None, low: float, high: float) -> str:
    known = _known(floor.each_z)
    above = sum(z > Z_THRESHOLD for z in known)
    description = f"{counted(floor.n_agents, 'null agent')}, {above} of them above {number(Z_THRESHOLD)}."
    lines, dots = _seeds((), best, low, high), _dots(known, low, high)
    ground = Ground(description, lambda at: lines(at) + dots(at))
    middle = number(median(known)) if known else DASH
    cells = [middle, _mark(interval_mark(None, None, low, high, ground)), "<td></td>"]
    return _row(counted(floor.n_agents, "null agent"), cells)


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _dots(values: Sequence[float | None], low: float, high: float) -> Callable[[_Place], str]:
    """Return a function that draws each value as a dot, with vertical jitter.

    Values outside the axis are drawn at its edge.
    """
    inside = sorted(min(max(value, low), high) for value in _known(values))

    def draw(at: _Place) -> str:
        # Zero-length strokes with round caps take a tenth of the bytes of circles.
        places = (10.0 * float(at(value).rstrip("%")) for value in inside)
        path = "".join(f"M{x:.0f} {(50, 25, 75, 38, 62)[index % 5]}h0" for index, x in enumerate(places))
        box = 'viewBox="0 0 1000 100" preserveAspectRatio="none" width="100%" height="100%"'
        return f'<svg {box}><path class="oo-lucky" d="{path}"/></svg>' if path else ""

    return draw


def _band(floor: Floor | None) -> Callable[[_Place], str]:
    def draw(at: _Place) -> str:
        if floor is None or not floor.sharpe:
            return ""
        levels = sorted(floor.sharpe)
        boxes = [_box(at, floor.sharpe[levels[0]], floor.sharpe[levels[-1]])]
        if len(levels) > 3:
            boxes.append(_box(at, floor.sharpe[levels[1]], floor.sharpe[levels[-2]]))
        middle = floor.sharpe.get(0.5)
        return "".join(boxes) + ("" if middle is None else _line(at(middle), "c-luck"))

    return draw


def _seeds(seed_z: Sequence[float | None], best: float | None, low: float, high: float) -> Callable[[_Place], str]:
    def draw(at: _Place) -> str:
        lines = f'<line class="oo-diagonal" x1="{at(Z_THRESHOLD)}" x2="{at(Z_THRESHOLD)}" y1="0" y2="100%"/>'
        lines += "" if best is None or not low <= best <= high else _line(at(best), "c-luck")
        inside = [z for z in seed_z if z is not None and low <= z <= high]
        return lines + "".join(f'<circle class="oo-seed" cx="{at(z)}" cy="50%" r="2.5"/>' for z in inside)

    return draw


def _box(at: _Place, left: float, right: float) -> str:
    # The width in percent is the distance of the two positions.
    width = float(at(right).rstrip("%")) - float(at(left).rstrip("%"))
    return f'<rect class="oo-luck" x="{at(left)}" width="{width:.2f}%" y="0" height="100%"/>'


def _line(x: str, colour: str) -> str:
    return f'<line class="oo-whisker {colour}" x1="{x}" x2="{x}" y1="0" y2="100%"/>'


def _figure(caption: str, columns: Sequence[str], body: Sequence[str], axis: str, extra: Sequence[str] = ()) -> str:
    kind = " shared" if extra else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Agent", *columns))
    head += f'<th scope="col" class="mark"><span class="hidden">Chart</span>{axis}</th>'
    head += "".join(f'<th scope="col">{name}</th>' for name in extra)
    return (
        f'<figure><table class="intervals luck{kind}"><caption><span>{escape(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></figure>"
    )
