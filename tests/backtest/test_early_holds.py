"""Agents that only hold from some bar on: the run ends on the fast path, with the same numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import openoutcry as oo
from openoutcry import openoutcry_py as native


def market(kind: str) -> oo.Dataset:
    """Return a market in which a symbol is listed late, one is halted, split and delisted, or all fall."""
    rng = np.random.default_rng(4)
    close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (120, 3)), axis=0))
    close[:15, 1] = np.nan
    close[60:64, 0] = np.nan
    extra = {name: np.full(close.shape, np.nan) for name in ("dividends", "splits", "delistings")}
    extra["dividends"][40, 0], extra["splits"][70, 0] = 0.5, 2.0
    if kind == "delisted":
        close[90:, 2], extra["delistings"][90, 2] = np.nan, -0.4
    if kind == "unlisted at first":
        close[:12] = np.nan
    dates = np.datetime64("2020-01-01") + np.arange(120)
    return oo.Dataset.from_arrays(dates, list("ABC"), close, periods_per_year=252.0, **extra)


@pytest.mark.parametrize("kind", ["delisted", "unlisted at first"])
@pytest.mark.parametrize("name", ["buy-and-hold", "hold-cash"])
def test_a_run_without_further_observations_is_the_run_with_all(name: str, kind: str) -> None:
    data, costs = market(kind), oo.CostModel(cash_bps=150.0)
    session = native.Baseline(name).session()
    found = oo.run_backtest(data, name, (5, 120), costs)
    wanted = oo.run_backtest(data, lambda seen: json.loads(session.decide(json.dumps(seen))), (5, 120), costs)
    for each in ("nav", "decisions", "weights", "turnover"):
        assert np.array_equal(getattr(found, each), getattr(wanted, each), equal_nan=True), each
    assert (found.metrics, found.undefined, found.events) == (wanted.metrics, wanted.undefined, wanted.events)
    share = (np.abs(found.weights[1:]).sum(axis=1) > 0.0).mean()
    assert found._core.time_in_market == wanted._core.time_in_market == share
