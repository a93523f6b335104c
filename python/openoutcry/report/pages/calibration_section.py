"""Calibration section: reliability diagram and table of stated confidence."""

from __future__ import annotations

from openoutcry.report.charts.svg import place
from openoutcry.report.pages.page_parts import figure, scroll
from openoutcry.report.text_format import DASH, number, percent
from openoutcry.report.views.statistics_view import Bin, Calibration
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["calibration_chart", "calibration_section", "calibration_sentence"]

_MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SIDE = 260
_LEAST, _MOST = 3.0, 11.0


def calibration_section(calibration: Calibration) -> str:
    """Return the diagram with its table, or a sentence if no confidence was stated."""
    sentence = f"<p>{calibration_sentence(calibration)}</p>"
    if not calibration.n_stated:
        return sentence
    caption = (
        "Hit rate of orders by stated confidence. On the diagonal, confidence is calibrated; the area of a dot is its"
        " count."
    )
    diagram = figure(calibration_chart(calibration), caption)
    return (
        f'{sentence}<div class="side-by-side calibration">{diagram}{scroll(_table(calibration), "Calibration")}</div>'
    )


def calibration_sentence(calibration: Calibration) -> str:
    """Return the Brier score and its reference values, as sentences."""
    if not calibration.n_orders:
        return "No order was given, so there is no confidence to check."
    if not calibration.n_stated:
        return f"None of the {counted(calibration.n_orders, 'order')} with an outcome stated a confidence."
    text = f"{calibration.n_stated:,} of {counted(calibration.n_orders, 'order')} stated a confidence."
    if calibration.brier is None:
        return f"{text} Their Brier score is undefined."
    text += f" Their Brier score is {number(calibration.brier, 3)}: 0 is perfect, always stating 0.5 scores 0.25"
    base = calibration.brier_always_base
    if base is None:
        return f"{text}."
    return f"{text}, always stating the hit rate scores {number(base, 3)}."


def calibration_chart(
    calibration: Calibration, stated: str = "stated confidence", came_true: str = "share that gained"
) -> str:
    """Draw a reliability diagram: one dot per bin, confidence by hit rate.

    Args:
        calibration: The calibration.
        stated: Label of the horizontal axis.
        came_true: Label of the vertical axis.
    """
    filled = [each for each in calibration.bins if each.n_orders]
    most = max((each.n_orders for each in filled), default=1)
    dots = "".join(_dot(each, most) for each in filled)
    grid = "".join(_mark(mark) for mark in _MARKS)
    summary = "; ".join(
        f"{number(b.stated or 0.0)} came true {number(b.came_true or 0.0)} ({b.n_orders:,})" for b in filled
    )
    return (
        f'<svg class="oo-chart oo-square" role="img" width="100%" height="{_SIDE}"><title>Calibration</title>'
        f"<desc>{stated[:1].upper()}{stated[1:]}, {came_true}, and count: {summary}.</desc>"
        f'<svg class="oo-plot" y="22" width="100%" height="{_SIDE - 56}"><g class="oo-grid">{grid}</g>'
        '<line class="oo-diagonal" x1="0" x2="100%" y1="100%" y2="0"/>'
        f"{dots}</svg>"
        f'<text x="50%" y="{_SIDE - 2}" text-anchor="middle">{stated}</text>'
        f'<text x="0" y="6" text-anchor="start">{came_true}</text></svg>'
    )


def _mark(mark: float) -> str:
    x, y, text = place(mark), place(1.0 - mark), number(mark, 2)
    return (
        f'<line x1="0" x2="100%" y1="{y}" y2="{y}"/><line x1="{x}" x2="{x}" y1="0" y2="100%"/>'
        f'<text x="0" dx="-8" y="{y}" dy=".32em" text-anchor="end">{text}</text>'
        f'<text x="{x}" y="100%" dy="17" text-anchor="middle">{text}</text>'
    )


def _dot(each: Bin, most: int) -> str:
    x, y = place(each.stated or 0.0), place(1.0 - (each.came_true or 0.0))
    radius = max(_LEAST, _MOST * (each.n_orders / most) ** 0.5)
    whisker = ""
    if each.interval is not None:
        top, bottom = (place(1.0 - end) for end in reversed(each.interval))
        whisker = f'<line class="oo-whisker" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
    return f'<g class="c-agent">{whisker}<circle class="oo-point" cx="{x}" cy="{y}" r="{radius:.1f}"/></g>'


def _table(calibration: Calibration) -> str:
    rows = []
    for each in calibration.bins:
        interval = f"{number(each.interval[0] * 100.0, 0)} to {percent(each.interval[1], 0)}" if each.interval else DASH
        known = each.stated is not None and each.came_true is not None
        stated = number(each.stated, 2) if each.stated is not None and known else DASH
        came = percent(each.came_true, 1) if each.came_true is not None and known else DASH
        rows.append(
            f'<tr><th scope="row">{number(each.low, 2)} to {number(each.high, 2)}</th><td>{each.n_orders:,}</td>'
            f"<td>{stated}</td><td>{came}</td><td>{interval}</td></tr>"
        )
    return (
        '<table class="bins"><caption><span>Orders by stated confidence</span></caption><thead><tr>'
        '<th scope="col">Confidence</th><th scope="col">Orders</th><th scope="col">Mean stated</th>'
        '<th scope="col">Gained</th><th scope="col">95% interval</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
