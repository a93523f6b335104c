"""Caveats of the metrics of a run: values that do not measure the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from openoutcry import openoutcry_py as native
from openoutcry.backtest.unfilled_orders import unfilled_caveat
from openoutcry.data.bar_counts import caveats_of
from openoutcry.data.dataset import Dataset

_RISKLESS = "its returns are constant, so the ratio measures the risk-free rate and not the agent"


class _Run(Protocol):
    """The parts of a run that its caveats depend on."""

    @property
    def dataset(self) -> Dataset: ...
    @property
    def _dates(self) -> Sequence[str]: ...
    @property
    def returns(self) -> Any: ...
    def metric(self, name: str) -> float | None: ...
    @property
    def events(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def event_counts(self) -> Mapping[str, int]: ...


def caveats_of_run(run: _Run, window: tuple[int, int]) -> dict[str, str]:
    """Return the reason by name of each metric that does not measure the agent."""
    why = unfilled_caveat(run.dataset, window, run.events, lambda: run.event_counts["filled"])
    caveats = ({"return": why} if why else {}) | caveats_of(run.dataset, run._dates, run.metric("cagr"))
    return caveats | ratio_caveats(run)


def ratio_caveats(run: _Run) -> dict[str, str]:
    """Return the caveats of the Sharpe and Sortino ratio of a run."""
    if not native.is_riskless(run.returns):
        return {}
    return {name: _RISKLESS for name in ("sharpe", "sortino") if run.metric(name) is not None}
