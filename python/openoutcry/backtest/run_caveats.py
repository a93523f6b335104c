"""Caveats of a run: of metrics that do not measure the agent, and of its fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Protocol

from openoutcry import openoutcry_py as native
from openoutcry.backtest.fill_phases import FillPhases, RunOfFills
from openoutcry.backtest.unfilled_orders import unfilled_caveat
from openoutcry.data.bar_counts import caveats_of
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.untrusted.counted_nouns import counted

MOST_GROSS_EXCESS = 0.01
"""Part of `max_gross` by which the gross exposure after fills may exceed it without a caveat."""

_RISKLESS = "its returns are constant, so the ratio measures the risk-free rate and not the agent"


class _Run(RunOfFills, Protocol):
    """The parts of a run that its caveats depend on."""

    @property
    def _dates(self) -> Sequence[str]: ...
    @property
    def returns(self) -> Any: ...
    def metric(self, name: str) -> float | None: ...
    @property
    def event_counts(self) -> Mapping[str, int]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def cost_model(self) -> CostModel: ...
    @property
    def max_gross_at_fill(self) -> float: ...


def caveats_of_run(run: _Run, window: tuple[int, int]) -> dict[str, str]:
    """Return the caveats of a run by name.

    They are those of metrics that do not measure the agent, and those of its fills.
    """
    why = unfilled_caveat(run.dataset, window, run.events, lambda: run.event_counts["filled"])
    caveats = ({"return": why} if why else {}) | caveats_of(run.dataset, run._dates, run.metric("cagr"))
    return caveats | ratio_caveats(run) | fill_caveats(run)


def fill_caveats(run: _Run) -> dict[str, str]:
    """Return the caveats `stops_at_price` and `max_gross_at_fill` of a run."""
    found = {}
    n_stops = int(FillPhases.of(run).is_inside_stop.sum()) if run.cost_model.stop_gap == 0.0 else 0
    if n_stops:
        found["stops_at_price"] = (
            f"{counted(n_stops, 'stop')} filled inside a bar at exactly the stop price, so the return is overstated"
            " by what prices jump past a stop; hint: set `CostModel(stop_gap=...)` above 0"
        )
    most = run.limits.max_gross
    if isfinite(most) and run.max_gross_at_fill > most * (1.0 + MOST_GROSS_EXCESS):
        found["max_gross_at_fill"] = (
            f"the gross exposure after fills at the open reached {run.max_gross_at_fill:.3g}, above `max_gross` of"
            f" {most:g}, because prices moved after the close that sized the orders; hint: a long-only account with"
            " `Limits(allow_short=False, cash_account=True)` buys with its cash only"
        )
    return found


def ratio_caveats(run: _Run) -> dict[str, str]:
    """Return the caveats of the Sharpe and Sortino ratio of a run."""
    if not native.is_riskless(run.returns):
        return {}
    return {name: _RISKLESS for name in ("sharpe", "sortino") if run.metric(name) is not None}
