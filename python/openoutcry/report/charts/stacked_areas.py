"""Stacked area charts: weights by symbol, costs by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.scales import ValueScale, date_scale, value_scale
from openoutcry.report.charts.svg import OTHER, Canvas, EndLabel, area_path, series_class, step_path
from openoutcry.report.text_format import percent
from openoutcry.report.views.run_view import Floats
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["COST_KINDS", "cost_chart", "cost_legend", "cost_order", "weights_chart", "weights_legend"]

_Draw = Callable[[Sequence[int], Sequence[int], Sequence[int], str, str], str]

COLUMNS = 200
_VISIBLE = 1e-3
SYMBOLS = 12

COST_KINDS = ("fee", "slippage", "impact", "financing", "borrow", "liquidation")
"""Kinds of cost in the order of their colours; unlisted kinds come last."""


@dataclass(frozen=True)
class Layer:
    """One layer of a stack.

    Attributes:
        name: Label at its end.
        colour: CSS class of its colour.
        above: Shape `(n_points,)`, float64, not negative.
        below: Shape `(n_points,)`, float64, not positive.
    """

    name: str
    colour: str
    above: Floats
    below: Floats


def weights_chart(
    dates: Sequence[str], symbols: Sequence[str], weights: Floats, *, columns: int = COLUMNS, height: int = 280
) -> str:
    """Draw weights as stacked areas, longs above zero and shorts below.

    Args:
        dates: ISO 8601, one per row of `weights`.
        symbols: One per column of `weights`; beyond twelve, the smallest are combined as others.
        weights: Shape `(n_bars, n_symbols)`, float64, signed fraction of NAV.
        columns: Maximum columns of the chart; each is the mean of its bars.
        height: Pixels.
    """
    longs, at = downsampling.bucket_means(np.maximum(weights, 0.0), columns)
    shorts, _ = downsampling.bucket_means(np.minimum(weights, 0.0), columns)
    layers = [
        Layer(name, colour, longs[:, group].sum(axis=1), shorts[:, group].sum(axis=1))
        for name, colour, group in _weight_groups(symbols, weights)
    ]
    gross = native.gross_exposure(weights)
    peak = int(gross.argmax())
    times = downsampling.seconds([*(dates[i] for i in at), dates[-1]])
    values = _stack_scale(layers, 0.05)
    canvas = Canvas(
        title="Weights over time",
        description=(
            "Signed fraction of NAV per symbol, stacked."
            f" Gross exposure is {percent(float(gross[peak]))} at most, on {dates[peak][:10]}."
        ),
        dates=date_scale([times]),
        values=values,
        show=values.show_percent,
        unit="percent",
        height=height,
        baseline=0.0,
    )
    return _render(canvas, layers, times, step_path)


def weights_legend(symbols: Sequence[str], weights: Floats) -> list[tuple[str, str]]:
    """Return the names and colour classes of the layers of `weights_chart`."""
    return [(name, colour) for name, colour, _ in _weight_groups(symbols, weights)]


def cost_chart(
    dates: Sequence[str],
    costs: Mapping[str, Floats],
    entries: Sequence[tuple[str, str]],
    *,
    columns: int = COLUMNS,
    height: int = 220,
) -> str:
    """Draw cumulative costs by kind, as a fraction of the starting NAV.

    Kinds are stacked; negative costs go below zero.

    Args:
        dates: ISO 8601, one more than the values of each cost.
        costs: Kind to shape `(n_bars - 1,)`, float64.
        entries: Kinds to draw with their colour classes, as `cost_legend` returns them.
        columns: Maximum columns of the chart.
        height: Pixels.
    """
    at = np.unique(np.linspace(0, len(dates) - 1, min(columns, len(dates))).astype(np.intp))
    layers, totals = [], []
    for name, colour in entries:
        paid = np.concatenate([[0.0], np.cumsum(costs[name])])
        layers.append(Layer(name, colour, np.maximum(paid[at], 0.0), np.minimum(paid[at], 0.0)))
        totals.append(f"{name} {percent(float(paid[-1]), 2)}")
    times = downsampling.seconds([dates[i] for i in at])
    values = _stack_scale(layers, 0.001)
    canvas = Canvas(
        title="Cumulative costs, by kind",
        description=f"Share of the starting NAV, stacked. Totals: {', '.join(totals) or 'none'}.",
        dates=date_scale([times]),
        values=values,
        show=values.show_percent,
        unit="percent",
        height=height,
        baseline=0.0,
    )
    return _render(canvas, layers, times, area_path)


def cost_order(costs: Mapping[str, Floats]) -> list[str]:
    """Return the kinds of cost in display order."""
    return [kind for kind in COST_KINDS if kind in costs] + sorted(kind for kind in costs if kind not in COST_KINDS)


def cost_legend(costs: Mapping[str, Floats]) -> list[tuple[str, str]]:
    """Return the kinds that are large enough to be visible, with their colour classes."""
    order = [*COST_KINDS, *(kind for kind in cost_order(costs) if kind not in COST_KINDS)]
    sizes = {kind: float(np.abs(costs[kind]).sum()) for kind in cost_order(costs)}
    least = max(sizes.values(), default=0.0) * _VISIBLE
    return [(kind, series_class(order.index(kind))) for kind, size in sizes.items() if size > least]


def _weight_groups(symbols: Sequence[str], weights: Floats) -> list[tuple[str, str, list[int]]]:
    kept, rest = downsampling.largest(weights, SYMBOLS)
    groups = [(symbols[column], series_class(slot), [column]) for slot, column in enumerate(kept)]
    if rest:
        groups.append((counted(len(rest), "other"), f"c{OTHER}", rest))
    return [group for group in groups if np.any(weights[:, group[2]] != 0.0)]


def _stack_scale(layers: Sequence[Layer], least: float) -> ValueScale:
    top = sum((layer.above for layer in layers), np.zeros(1))
    bottom = sum((layer.below for layer in layers), np.zeros(1))
    return value_scale([top, bottom], include=[0.0, least])


def _render(canvas: Canvas, layers: Sequence[Layer], times: downsampling.Times, draw: _Draw) -> str:
    xs = canvas.dates.units(times)
    top, bottom = np.zeros(1), np.zeros(1)
    paths, ends = [], []
    for layer in layers:
        ends_above = layer.above[-1] > 0.0 or not np.any(layer.below)
        for is_above, side in ((True, layer.above), (False, layer.below)):
            inner = np.broadcast_to(top if is_above else bottom, side.shape)
            edge = inner + side
            top, bottom = (edge, bottom) if is_above else (top, edge)
            if np.any(side):
                units = canvas.values.units(edge), canvas.values.units(inner)
                paths.append(draw(xs, *units, layer.colour, layer.name))
            if is_above == ends_above:
                middle = canvas.values.position(float(edge[-1] + inner[-1]) / 2.0)
                ends.append(EndLabel(layer.name, middle, layer.colour, box=True))
    return canvas.render(paths, ends)
