"""Tables and learning curves of the training recipes; needs no torch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from recipe_markets import EDGES, Array

from openoutcry.report.charts import standalone
from openoutcry.report.charts.plot_frame import axis_of, plot
from openoutcry.report.charts.svg import series_class

CONTROL = "martingale"


def cell(found: dict[str, Any], form: str = "{:.2f}") -> str:
    if found["value"] is None:
        return "undefined"
    value, low, high = (form.format(found[name]) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def edge_table(results: dict[str, Any]) -> str:
    """Return the results on edges as a Markdown table with 95 % intervals."""
    rows = [("recipe", "steps", "Sharpe ratio", "Sharpe ratio of the rule", "share of the rule", "CPU seconds")]
    for name, found in results.items():
        if found["edge"] != CONTROL and not found["undone"]:
            cells = [cell(found[each]) for each in ("sharpe", "rule", "ratio")]
            rows.append((f"`{name}`", f"{found['steps']:,}", *cells, f"{np.mean(found['seconds']):.0f}"))
    return markdown(rows)


def control_table(results: dict[str, Any]) -> str:
    """Return the results on martingales as a Markdown table with 95 % intervals."""
    rows = [("recipe", "steps", "Sharpe ratio before costs", "after costs", "return per year before costs")]
    for name, found in results.items():
        if found["edge"] == CONTROL:
            ratios = [cell(found[each], "{:+.2f}") for each in ("before_costs", "sharpe")]
            rows.append((f"`{name}`", f"{found['steps']:,}", *ratios, cell(found["gain"], "{:+.1%}")))
    return markdown(rows)


def choice_table(results: dict[str, Any]) -> str:
    """Return the results of recipes with one choice undone as a Markdown table with 95 % intervals."""
    rows = [("recipe", "instead", "Sharpe ratio", "share of the rule")]
    for name, found in results.items():
        if found["undone"]:
            rows.append((f"`{name}`", found["undone"], cell(found["sharpe"]), cell(found["ratio"])))
    return markdown(rows)


def markdown(rows: list[tuple[str, ...]]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


def curve_chart(edge: str, results: dict[str, Any]) -> str:
    """Draw the learning curve of each seed of each algorithm on an edge, and the Sharpe ratio of the rule."""
    found = [each for each in results.values() if each["edge"] == edge and not each["undone"]]
    # None, an undefined ratio, becomes NaN.
    curves, rule = [np.array(each["curves"], dtype=float) for each in found], found[0]["rule"]["value"]
    points = np.concatenate([[[0.0, rule]], *(each.reshape(-1, 2) for each in curves)])
    points = points[np.isfinite(points[:, 1])]
    x = axis_of("environment steps", points[:, 0].tolist())
    y = axis_of(f"{edge}: Sharpe ratio", [0.0, *points[:, 1].tolist()])

    def line(ends: Array, classes: str) -> str:
        places = [(f"{100 * x.position(a):.1f}%", f"{100 - 100 * y.position(b):.1f}%") for a, b in ends if b == b]
        return "".join(
            f'<line class="oo-line {classes}" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>'
            for (a, b), (c, d) in pairwise(places)
        )

    def label(row: int, colour: str, text: str) -> str:
        top = 20 + 18 * row
        key = f'<line class="oo-line oo-strong {colour}" x1="101%" x2="104%" y1="{top}" y2="{top}"/>'
        return f'{key}<text x="105%" y="{top}" dy=".32em">{text}</text>'

    marks = line(np.array([[0.0, rule], [points[:, 0].max(), rule]]), "oo-dash c-benchmark")
    marks += label(0, "oo-dash c-benchmark", f"rule {rule:.2f}")
    names = [f"{each['algorithm']} {cell(each['sharpe']).partition(' ')[0]}" for each in found]
    for slot, (name, seeds) in enumerate(zip(names, curves, strict=True)):
        marks += "".join(line(seed, f"oo-thin {series_class(slot)}") for seed in seeds)
        marks += label(slot + 1, series_class(slot), name)
    about = f"Sharpe ratio after the last step: rule {rule:.2f}, {', '.join(names)}."
    return plot(f"Learning curves on {edge}", about, x, y, marks, height=210)


def picture(results: dict[str, Any]) -> str:
    """Return the learning curves of all results as an SVG document."""
    drawn = {found["edge"] for found in results.values() if not found["undone"]}
    charts = [curve_chart(edge, results) for edge in EDGES if edge in drawn]
    return standalone(*charts, title="Sharpe ratio on 64 unseen markets, a line per seed")
