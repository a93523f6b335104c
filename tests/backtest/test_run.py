"""Attributes of a finished `Run`: decisions, ending, and read-only arrays."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from builders import bits, dates_of

import openoutcry as oo
from openoutcry.report.render import render_run
from openoutcry.report.run_report import provenance_of, view_of

FREE = {"costs": oo.CostModel.zero()}


def agent_of(dataset: oo.Dataset, weights: list[float]) -> Any:
    """Return an agent that orders the given weights of the last symbol, one per bar."""
    queue = iter(weights)

    def decide(_: object) -> dict[str, Any]:
        weight = next(queue)
        order = {"symbol": dataset.symbols[-1], "action": "sell" if weight < 0.0 else "buy", "target_weight": weight}
        return {"orders": [order]}

    return decide


def test_orders_after_ruin_or_liquidation_are_not_decisions() -> None:
    closes = [10.0, 10.0, 22.0, 10.0, 10.0, 20.0, 20.0, 20.0]
    dataset = oo.Dataset.from_arrays(dates_of(8), ["A"], np.reshape(closes, (8, 1)))
    weights = [0.0, -1.0, -1.0, 0.5, 1.0, 1.0, 0.0]
    rules = FREE | {"limits": oo.Limits(maintenance_margin=0.3)}
    agent = oo.run_backtest(dataset, agent_of(dataset, weights), (0, 8), **rules)
    array = oo.run_backtest(dataset, np.reshape([*weights, 0.0], (8, 1)), (0, 8), **rules)
    assert array.terminated_at == 1
    assert bits(array.decisions) == bits(agent.decisions) == bits(np.reshape([0.0, -1.0, *[nan] * 5], (7, 1)))
    assert bits(array.delayed().nav) == bits(agent.delayed().nav)
    assert bits(array.delayed().decisions) == bits(agent.delayed().decisions)


@pytest.mark.parametrize("first_close", [2, 4, 9])
def test_decisions_do_not_depend_on_bars_after_the_window(first_close: int) -> None:
    close = np.full((8, 2), 10.0)
    close[:first_close, 1] = nan
    dataset = oo.Dataset.from_arrays(dates_of(8), ["A", "LATE"], close)
    run = oo.run_backtest(dataset, agent_of(dataset, [0.5, 0.25, 0.125]), (0, 4), **FREE)
    assert run.decisions.tolist()[0][1] == 0.5
    assert bits(run.decisions) == bits([[nan, 0.5], [nan, 0.25], [nan, 0.125]])


def arrays_of(run: oo.Run) -> dict[str, np.ndarray[Any, Any]]:
    """Return every array of a run, by name."""
    names = ("nav", "returns", "decisions", "weights", "turnover")
    found = {name: getattr(run, name) for name in names}
    for name in ("costs", "gains", "trades"):
        found |= {f"{name}[{key}]": values for key, values in getattr(run, name).items()}
    return found


def test_every_array_of_a_run_is_read_only() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(2, 60), "momentum")
    arrays = arrays_of(run)
    assert len(arrays) == 20
    assert [name for name, values in arrays.items() if values.flags.writeable] == []
    with pytest.raises(ValueError, match="read-only"):
        run.nav[-1] = 2.0


def test_a_weight_that_is_not_finite_is_refused_with_the_index_of_its_order() -> None:
    orders = [{"symbol": "S000", "action": "buy", "target_weight": 0.5}]
    orders += [{"symbol": "S001", "action": "buy", "target_weight": np.float32("nan")}]
    dataset = oo.Dataset.synthetic(2, 60)
    with pytest.raises(oo.OpenOutcryError, match=r"`orders\[1\]` must be finite; received nan") as refused:
        oo.run_backtest(dataset, lambda _: {"orders": orders})
    assert refused.value.slug == "weight_not_finite"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_the_columns_of_a_market_table_must_be_its_symbols(make: Any) -> None:
    dates, values = dates_of(2), {"A": [1.0, 2.0], "B": [3.0, 4.0]}
    plain = oo.Dataset.from_arrays(dates, ["A", "B"], np.array([[1.0, 3.0], [2.0, 4.0]]))
    assert oo.Dataset.from_arrays(dates, ["A", "B"], make(values)) == plain
    swapped = make({"B": values["B"], "A": values["A"]})
    masked = make({"B": [True, True], "A": [True, True]})
    for given in (
        {"close": swapped},
        {"close": plain.close, "volume": swapped},
        {"close": plain.close, "tradable": masked},
    ):
        with pytest.raises(oo.OpenOutcryError, match=r"the columns of `.*` must be A, B; received B, A") as refused:
            oo.Dataset.from_arrays(dates, ["A", "B"], **given)
        assert refused.value.slug == "shape_mismatch"


@pytest.mark.parametrize(("margin", "ending"), [(0.0, "ruined"), (0.3, "liquidated")])
def test_ruin_or_liquidation_is_stated_first(margin: float, ending: str) -> None:
    closes = (
        np.reshape([10.0, 10.0, 22.0, 10.0, 10.0], (5, 1))
        if margin == 0.0
        else np.reshape([10.0, 10.0, 17.0, 10.0, 10.0], (5, 1))
    )
    dataset = oo.Dataset.from_arrays(dates_of(5), ["A"], closes)
    rules = FREE | {"limits": oo.Limits(maintenance_margin=margin)}
    run = oo.run_backtest(dataset, np.full((5, 1), -1.0), (0, 5), **rules)
    assert run.ending == f"{ending} on {dataset.dates[2]}"
    assert run.ending in repr(run)
    view = view_of(run)
    assert f'<p class="verdict">{run.ending.capitalize()}. ' in render_run(view, None, [], provenance_of(run))
    calm = oo.run_backtest(dataset, np.zeros((5, 1)), (0, 5))
    assert calm.ending == ""
