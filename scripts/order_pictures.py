#!/usr/bin/env python
"""Pictures of the fill rules of day orders, each on one bar, from results of the engine.

`python scripts/order_pictures.py` writes `docs/images/orders-*.svg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

import openoutcry as oo
from openoutcry.backtest.fill_phases import CLOSES, EXITS, OPENS, FillPhases
from openoutcry.report.charts.palette import COLOURS

IMAGES = Path(__file__).parents[1] / "docs" / "images"
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
SLIPPAGE = 50.0
"""Basis points: wide enough to see that a fill is not at the price before cost."""

LOW, HIGH = 93.0, 109.0
WIDTH, HEIGHT, TOP, BOTTOM = 190, 222, 40, 190
ROLES = ("surface", "ink", "muted", "rule", "agent", "delayed")
LABELS = {"limit_price": "limit", "stop_price": "stop", "stop_loss": "stop loss", "take_profit": "take profit"}
NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """An order, and the bar that it meets.

    Attributes:
        title: Name of the rule.
        bar: Open, high, low and close of the bar.
        prices: Prices of the order, by argument of `run_backtest`.
        is_held: Whether the position was bought on the bar before, so that only the exits remain.
        at: Time of the fill.
        stop_gap: Of the cost model.
    """

    title: str
    bar: tuple[float, float, float, float]
    prices: Mapping[str, float] = field(default_factory=dict)
    is_held: bool = False
    at: str = "open"
    stop_gap: float = 0.0


LIMIT, STOP = {"limit_price": 98.0}, {"stop_price": 103.0}
STOP_LIMIT, EXIT = {"stop_price": 103.0, "limit_price": 104.5}, {"stop_loss": 97.0, "take_profit": 104.0}
ENTRY = {"limit_price": 98.0, "take_profit": 101.0}
SHEETS = {
    "limits": (
        Case("Open below the limit", (97.0, 102.0, 96.0, 101.0), LIMIT),
        Case("Bar trades through it", (100.0, 102.0, 96.0, 99.0), LIMIT),
        Case("Bar touches it only", (100.0, 102.0, 98.0, 101.0), LIMIT),
    ),
    "stops": (
        Case("Open above the stop", (104.5, 107.0, 103.5, 106.0), STOP),
        Case("Bar reaches the stop", (100.0, 106.0, 99.0, 105.0), STOP),
        Case("The same, stop_gap 0.5", (100.0, 106.0, 99.0, 105.0), STOP, stop_gap=0.5),
        Case("Stop not reached", (100.0, 102.0, 98.0, 101.0), STOP),
        Case("Stop-limit, reached", (100.0, 106.0, 99.0, 105.0), STOP_LIMIT),
        Case("Stop-limit, open beyond", (106.0, 107.0, 101.0, 102.0), STOP_LIMIT),
    ),
    "closes": (
        Case("At the close", (100.0, 103.0, 97.0, 102.0), at="close"),
        Case("Close above the limit", (100.0, 103.0, 97.0, 102.0), {"limit_price": 101.0}, at="close"),
        Case("No high and low", (100.0, NAN, NAN, 101.0), LIMIT),
    ),
    "exits": (
        Case("Stop loss", (100.0, 102.0, 95.0, 98.0), EXIT),
        Case("Take profit", (100.0, 107.0, 98.5, 106.0), EXIT),
        Case("Both: the worse one", (100.0, 107.0, 95.0, 106.0), EXIT),
        Case("Open below the stop loss", (95.0, 99.0, 94.0, 98.0), EXIT, is_held=True),
        Case("Open above the profit", (106.0, 108.0, 103.0, 104.0), EXIT, is_held=True),
        Case("Entry inside, then profit", (100.0, 104.0, 96.0, 103.0), ENTRY),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What the engine does: phase and price of each fill, and the event without one."""

    fills: tuple[tuple[int, float], ...]
    text: str


def outcome(case: Case) -> Outcome:
    """Return the fills of an order, and a sentence about them."""
    flat = [(100.0, 100.0, 100.0, 100.0)] * (2 if case.is_held else 1)
    open_, high, low, close = (np.array(column)[:, None] for column in zip(*flat, case.bar, strict=True))
    n_bars = len(open_)
    data = oo.Dataset.from_arrays(DAYS[:n_bars], ["A"], close, open_, high, low)
    weights = np.full((n_bars, 1), NAN)
    weights[0] = 0.5
    arrays = {name: np.full((n_bars, 1), NAN) for name in case.prices}
    for name, price in case.prices.items():
        arrays[name][n_bars - 2] = price
    at = np.full((n_bars, 1), "open", dtype=object)
    at[n_bars - 2] = case.at
    costs = oo.CostModel(fee_bps=0.0, slippage_bps=SLIPPAGE, stop_gap=case.stop_gap)
    run = oo.run_backtest(data, weights, (0, n_bars), costs, at=at, **arrays)
    is_last = run.trades["bar"] == n_bars - 1
    phases = FillPhases.of(run).phases[is_last].tolist()
    fills = tuple(zip(phases, run.trades["price"][is_last].tolist(), strict=True))
    reasons = [event["reason"] for event in run.events if event["slug"] == "unfilled"]
    words = [f"{'exit' if phase == EXITS else 'fill'} at {price:.2f}" for phase, price in fills]
    return Outcome(fills, ", ".join(words) if words else f"unfilled: {reasons[0]}")


def sheet(name: str) -> str:
    """Return the picture of a group of rules, three in a row."""
    cases = SHEETS[name]
    outcomes = [outcome(case) for case in cases]
    parts = []
    for place, (case, found) in enumerate(zip(cases, outcomes, strict=True)):
        x, y = place % 3 * WIDTH, place // 3 * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{"".join(_panel(case, found))}</g>')
    said = "; ".join(f"{case.title}: {found.text}" for case, found in zip(cases, outcomes, strict=True))
    width, height = 3 * WIDTH, -(-len(cases) // 3) * HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="orders" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>Fill rules of day orders: {name}</title><desc>{escape(said)}</desc>'
        f'<style>{_style()}</style><rect class="surface" width="{width}" height="{height}"/>{"".join(parts)}</svg>\n'
    )


def _panel(case: Case, found: Outcome) -> Iterable[str]:
    open_, high, low, close = case.bar
    low, high = np.nanmin([low, open_, close]), np.nanmax([high, open_, close])
    yield f'<text class="title" x="14" y="20">{escape(case.title)}</text>'
    yield f'<text class="said" x="14" y="{HEIGHT - 12}">{escape(found.text)}</text>'
    for name, price in case.prices.items():
        y = _y(price)
        yield f'<path class="order" d="M14 {y}H{WIDTH - 14}"/>'
        yield f'<text class="price" x="14" y="{float(y) - 4:.1f}">{LABELS[name]} {price:g}</text>'
    middle = 122
    if np.isnan(case.bar[1]):
        yield f'<path class="bar" d="M{middle - 14} {_y(open_)}h10M{middle + 4} {_y(close)}h10"/>'
    else:
        yield (
            f'<path class="bar" d="M{middle} {_y(low)}V{_y(high)}M{middle - 14} {_y(open_)}h14'
            f'M{middle} {_y(close)}h14"/>'
        )
    for phase, price in found.fills:
        is_open = phase == OPENS or (phase == EXITS and price == open_ * (1.0 - SLIPPAGE / 1e4))
        x = middle + (14 if phase == CLOSES else -14 if is_open else 0)
        shape = f"M{x - 5} {_y(price)}l5 -5l5 5l-5 5z"
        circle = f'<circle class="fill" cx="{x}" cy="{_y(price)}" r="4.5"/>'
        yield f'<path class="exit" d="{shape}"/>' if phase == EXITS else circle


def _y(price: float) -> str:
    return f"{BOTTOM - (price - LOW) / (HIGH - LOW) * (BOTTOM - TOP):.1f}"


def _style() -> str:
    light, dark = ("".join(f"--{role}:{COLOURS[role][scheme]};" for role in ROLES) for scheme in (0, 1))
    return (
        f".orders{{{light}font:12px system-ui,sans-serif}}@media(prefers-color-scheme:dark){{.orders{{{dark}}}}}"
        ".surface{fill:var(--surface)}text{fill:var(--ink)}.title{font-weight:600}.said,.price{fill:var(--muted)}"
        ".price{font-size:11px}path{fill:none}.bar{stroke:var(--ink);stroke-width:2.5}"
        ".order{stroke:var(--muted);stroke-dasharray:4 3}.fill{fill:var(--agent)}.exit{fill:var(--delayed)}"
    )


def main() -> None:
    """Write every picture."""
    for name in SHEETS:
        (IMAGES / f"orders-{name}.svg").write_text(sheet(name), encoding="utf-8")


if __name__ == "__main__":
    main()
