"""A NumPy rasterizer for `rgb_array` rendering of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.report.charts.bitmap_font import ADVANCE, text_mask
from openoutcry.report.charts.palette import COLOURS, rgb
from openoutcry.report.charts.scales import ValueScale, value_scale
from openoutcry.report.views.run_view import Floats

__all__ = ["HEIGHT", "WIDTH", "Canvas", "Image", "render_frame"]

Image = npt.NDArray[np.uint8]

WIDTH, HEIGHT = 640, 400

_INK, _MUTED, _GRID, _ZERO = (rgb(COLOURS[name][0]) for name in ("ink", "muted", "grid", "zero"))
_LONG, _SHORT, _WASH = (rgb(COLOURS[name][0]) for name in ("agent", "delayed", "agent-fill"))
_ROW, _MOST_ROWS = 18, 17


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels: `x` and `y` of its top left corner, and its size."""

    x: int
    y: int
    width: int
    height: int


class Canvas:
    """A white image; drawing outside of it is clipped.

    Attributes:
        pixels: Shape `(height, width, 3)`, uint8.
    """

    def __init__(self, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.pixels: Image = np.full((height, width, 3), 255, dtype=np.uint8)

    def fill(self, box: Box, colour: tuple[int, int, int]) -> None:
        """Paint a rectangle."""
        top, left = max(box.y, 0), max(box.x, 0)
        self.pixels[top : max(box.y + box.height, 0), left : max(box.x + box.width, 0)] = colour

    def write(
        self, x: int, y: int, text: str, colour: tuple[int, int, int], *, size: int = 1, align: str = "left"
    ) -> None:
        """Write a line of text with its top at `y`, left- or right-aligned at `x`."""
        mask = text_mask(text, size)
        left = x if align == "left" else x - mask.shape[1] + size
        skip = max(-left, 0)
        target = self.pixels[y : y + mask.shape[0], left + skip : left + mask.shape[1]]
        target[mask[: target.shape[0], skip : skip + target.shape[1]]] = colour

    def line(self, box: Box, ys: Floats, colour: tuple[int, int, int], thickness: float = 2.0) -> None:
        """Draw a smooth line over the width of `box`; `ys` runs from 0 (its top) to 1.

        Pixels are antialiased vertically. In a column with many points the line covers their full range, so no peak is
        lost.
        """
        low, high = _column_ranges(ys * (box.height - 1) + 0.5, box.width)
        rows = np.arange(box.height)[:, None]
        reach = thickness / 2.0
        cover = np.clip(np.minimum(rows + 1.0, high + reach) - np.maximum(rows + 0.0, low - reach), 0.0, 1.0)
        self._blend(box, cover, colour)

    def area(self, box: Box, ys: Floats, colour: tuple[int, int, int]) -> None:
        """Fill from the top of `box` down to the line of `line`."""
        _, high = _column_ranges(ys * (box.height - 1) + 0.5, box.width)
        cover = np.clip(high - np.arange(box.height)[:, None], 0.0, 1.0)
        self._blend(box, cover, colour)

    def _blend(self, box: Box, cover: Floats, colour: tuple[int, int, int]) -> None:
        target = self.pixels[box.y : box.y + box.height, box.x : box.x + box.width]
        mixed = target + cover[:, :, None] * (np.array(colour) - target)
        target[:] = np.rint(mixed).astype(np.uint8)


def render_frame(nav: Sequence[float], weights: Floats, symbols: Sequence[str], date: str, cash: float) -> Image:
    """Render a frame of an episode: NAV, drawdown and current weights.

    Args:
        nav: One value per bar so far, multiple of the starting NAV.
        weights: Shape `(n_symbols,)`, float64, signed fraction of NAV.
        symbols: One per weight.
        date: Date of the last bar.
        cash: Cash, as a multiple of the starting NAV.

    Returns:
        Shape `(400, 640, 3)`, uint8.

    Raises:
        ValueError: the arrays are not finite, or their shapes differ.
    """
    values = np.asarray(nav, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"`nav` must hold finite values, at least one; received {values.size} values")
    if not np.isfinite(weights).all():
        raise ValueError(f"`weights` must be finite; received {weights}")
    if len(symbols) != len(weights):
        raise ValueError(f"`weights` must have one value per symbol, {len(symbols)}; received {len(weights)}")
    canvas = Canvas()
    canvas.write(16, 14, date, _INK, size=2)
    canvas.write(WIDTH - 16, 14, f"NAV {values[-1]:.4f}", _LONG, size=2, align="right")
    canvas.write(WIDTH - 16, 36, f"CASH {cash:.4f}", _MUTED, align="right")
    _nav_panel(canvas, Box(52, 66, 356, 190), values)
    _drawdown_panel(canvas, Box(52, 292, 356, 92), values)
    _weights_panel(canvas, Box(440, 66, 184, 318), np.asarray(weights, dtype=np.float64), symbols)
    return canvas.pixels


def _nav_panel(canvas: Canvas, box: Box, nav: Floats) -> None:
    canvas.write(16, box.y - 14, "NAV", _MUTED)
    # A minimum range, so that the noise of the first bars does not fill the panel.
    axis = value_scale([nav], include=[0.99, 1.01])
    _grid(canvas, box, axis, [axis.show_number(t) for t in axis.ticks(4)], 1.0)
    canvas.line(box, axis.fraction(nav), _LONG)


def _drawdown_panel(canvas: Canvas, box: Box, nav: Floats) -> None:
    canvas.write(16, box.y - 14, "DRAWDOWN", _MUTED)
    # Drawdown needs a positive first NAV.
    fall = native.drawdowns(nav) if nav[0] > 0.0 else np.zeros_like(nav)
    axis = value_scale([fall], include=[0.0, -0.01])
    canvas.area(box, axis.fraction(fall), _WASH)
    _grid(canvas, box, axis, [axis.show_percent(t) for t in axis.ticks(3)], 0.0, 3)
    canvas.line(box, axis.fraction(fall), _LONG, 1.5)


def _grid(canvas: Canvas, box: Box, axis: ValueScale, labels: Sequence[str], base: float, target: int = 4) -> None:
    for tick, label in zip(axis.ticks(target), labels, strict=True):
        y = box.y + round(axis.position(tick) * (box.height - 1))
        canvas.fill(Box(box.x, y, box.width, 1), _ZERO if tick == base else _GRID)
        canvas.write(box.x - 6, y - 3, label.replace("\u2212", "-"), _MUTED, align="right")


def _weights_panel(canvas: Canvas, box: Box, weights: Floats, symbols: Sequence[str]) -> None:
    canvas.write(box.x, box.y - 14, "WEIGHTS", _MUTED)
    shown = list(range(len(symbols)))
    if len(shown) > _MOST_ROWS:
        rank = np.argsort(-np.abs(weights), kind="stable")[: _MOST_ROWS - 1]
        shown = sorted(rank.tolist())
        canvas.write(box.x, box.y + len(shown) * _ROW + 4, f"+{len(symbols) - len(shown)} MORE", _MUTED)
    letters = min(max((len(symbols[i]) for i in shown), default=0), 8)
    left = box.x + letters * ADVANCE + 6
    right = box.x + box.width - 5 * ADVANCE - 4
    reach = max(float(np.abs(weights).max(initial=0.0)), 1.0)
    has_shorts = bool((weights < 0.0).any())
    zero = (left + right) // 2 if has_shorts else left
    scale = (right - zero) / reach
    for row, i in enumerate(shown):
        y = box.y + row * _ROW
        weight = float(weights[i])
        canvas.write(box.x, y + 4, symbols[i][:8], _INK)
        length = round(abs(weight) * scale)
        canvas.fill(Box(zero if weight >= 0 else zero - length, y + 2, length, 11), _LONG if weight >= 0 else _SHORT)
        canvas.write(box.x + box.width, y + 4, _signed_percent(weight), _INK, align="right")
    canvas.fill(Box(zero, box.y - 2, 1, len(shown) * _ROW), _ZERO)


def _signed_percent(weight: float) -> str:
    text = f"{weight * 100:+.0f}%"
    return "0%" if text in ("+0%", "-0%") else text


def _column_ranges(values: Floats, width: int) -> tuple[Floats, Floats]:
    n = len(values)
    if n == 1:
        return np.full(width, values[0]), np.full(width, values[0])
    # Interpolate at the column edges, then extend the range of each column by its points.
    edges = np.interp(np.linspace(0.0, n - 1.0, width + 1), np.arange(n), values)
    low, high = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
    columns = np.minimum(np.arange(n) * width // (n - 1), width - 1)
    np.minimum.at(low, columns, values)
    np.maximum.at(high, columns, values)
    return low, high
