"""Metrics of the fills of a run: gross exposure and lowest value inside a bar."""

from __future__ import annotations

from openoutcry import openoutcry_py as native
from openoutcry.backtest.fill_gross import lowest_nav_inside
from openoutcry.backtest.run import Run
from openoutcry.backtest.run_caveats import MOST_GROSS_EXCESS

__all__ = ["fill_metrics", "has_day_orders"]


def has_day_orders(run: Run) -> bool:
    """Return whether an order of a run has a condition."""
    return len(run._core.conditions()[0]) > 0


def fill_metrics(run: Run, benchmark: Run | None = None) -> dict[str, float | None]:
    """Return `max_gross_at_fill` and `lowest_nav_inside` of a run.

    The second one needs a gross exposure above 1. A run without day orders and with less exposure has none of them.
    With a benchmark, the metrics are its own, of the same names.
    """
    most = max(run.max_gross_at_fill, float(native.gross_exposure(run.weights).max()))
    is_levered = most > 1.0 + MOST_GROSS_EXCESS
    if not is_levered and not has_day_orders(run):
        return {}
    of = run if benchmark is None else benchmark
    lowest = {"lowest_nav_inside": lowest_nav_inside(of)} if is_levered else {}
    return {"max_gross_at_fill": of.max_gross_at_fill, **lowest}
