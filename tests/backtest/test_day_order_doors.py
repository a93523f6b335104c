"""Settings and conditions of contract 1.1 keep their effect through files, copies and comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo
from openoutcry.arguments import rule_fields
from openoutcry.backtest.rerun import rerun
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.data.snapshots import snapshot_files
from openoutcry.data.snapshots.snapshot_diff import differences
from openoutcry.ledger.run_settings import setting_of, setting_text

MARKET = oo.Dataset.synthetic(3, 60, seed=1)
WEIGHTS = np.full(MARKET.close.shape, 1.0 / 3.0)
CASH = oo.Limits(allow_short=False, cash_account=True)
LATE = oo.CostModel(stop_gap=0.5)


def with_charges(**charges: Any) -> oo.Dataset:
    columns = {name: getattr(MARKET, name) for name in ("open", "high", "low", "volume")}
    return oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, MARKET.close, **columns, **charges)


def test_a_rerun_has_the_rules_of_its_record() -> None:
    run = oo.run_backtest(MARKET, WEIGHTS, costs=LATE, limits=CASH, stop_loss=0.99 * MARKET.close, capture=True)
    again = rerun(run.record, 0, MARKET)
    assert (again.limits, again.cost_model) == (CASH, LATE)
    assert np.array_equal(again.nav, run.nav)


def test_a_candidate_keeps_the_rules_of_its_research() -> None:
    file = CandidateFile({"limits": CASH.to_dict(), "costs": LATE.to_dict()}, "")
    assert file.rules("limits", {}, rule_fields(oo.Limits))["cash_account"] is True
    assert file.rules("costs", {}, rule_fields(oo.CostModel))["stop_gap"] == 0.5


def test_the_ledger_names_settings_apart() -> None:
    texts = [
        setting_text(json.dumps(setting_of(costs, limits)))
        for costs, limits in (
            (oo.CostModel(), oo.Limits(allow_short=False)),
            (LATE, oo.Limits(allow_short=False)),
            (oo.CostModel(), CASH),
        )
    ]
    assert texts == [
        "long only; otherwise standard",
        "stop gap 0.5, long only; otherwise standard",
        "cash account; otherwise standard",
    ]


def kinds(old: oo.Dataset, new: oo.Dataset) -> set[str]:
    return {part.kind for each in differences(old, new) for part in each.parts}


def test_snapshots_keep_charges_and_their_differences_are_shown(tmp_path: Path) -> None:
    funded = with_charges(funding=np.full(MARKET.close.shape, 0.001))
    assert kinds(with_charges(), funded) == {"column_added"}
    other = with_charges(funding=np.full(MARKET.close.shape, 0.002))
    assert kinds(funded, other) == {"funding_changed"}
    loaded = snapshot_files.load(snapshot_files.freeze(funded, tmp_path / "snapshot", "a test"))
    assert loaded == funded


def frame(at: Any) -> pd.DataFrame:
    return pd.DataFrame(at, index=list(MARKET.dates), columns=list(MARKET.symbols))


def test_times_in_a_frame_are_checked_as_prices_are() -> None:
    times = np.full(MARKET.close.shape, "open", dtype=object)
    times[::2, 0] = "close"
    plain = oo.run_backtest(MARKET, WEIGHTS, at=times)
    assert np.array_equal(oo.run_backtest(MARKET, WEIGHTS, at=frame(times)).nav, plain.nav)
    for wrong in (frame(times)[::-1], frame(times)[list(MARKET.symbols)[::-1]]):
        with pytest.raises(oo.OpenOutcryError, match="`at`"):
            oo.run_backtest(MARKET, WEIGHTS, at=wrong)


@pytest.mark.parametrize("cell", [None, np.nan, "noon", b"close", 1.0])
def test_a_time_that_is_no_text_is_refused(cell: object) -> None:
    times = np.full(MARKET.close.shape, "open", dtype=object)
    times[5, 1] = cell
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.run_backtest(MARKET, WEIGHTS, at=times)
    assert refused.value.slug == "unknown_time"


def test_masked_times_and_charges_are_refused() -> None:
    masked = np.ma.masked_array(np.full(MARKET.close.shape, "close"), np.ones(MARKET.close.shape, dtype=bool))
    with pytest.raises(oo.OpenOutcryError, match="mask"):
        oo.run_backtest(MARKET, WEIGHTS, at=masked)
    with pytest.raises(oo.OpenOutcryError, match="mask"):
        with_charges(fee_bps=np.ma.masked_array([1.0, 500.0, 3.0], [0, 1, 0]))


def test_a_split_between_a_decision_and_its_delayed_fill_divides_the_prices() -> None:
    close, splits = np.full((10, 1), 100.0), np.ones((10, 1))
    close[5:], splits[5] = 50.0, 2.0
    dates = [f"2024-01-{day:02d}" for day in range(1, 11)]
    market = oo.Dataset.from_arrays(dates, ["A"], close, open=close, high=close, low=close, splits=splits)
    weights = np.full((10, 1), np.nan)
    weights[0] = 1.0
    run = oo.run_backtest(market, weights, stop_loss=0.8 * close, costs=oo.CostModel.zero())
    assert run.event_counts == run.delayed().event_counts == {"filled": 1}


def test_longer_bars_have_the_first_known_cost_of_their_period() -> None:
    dates = [f"2024-01-{day:02d}" for day in range(1, 29)]
    close, fees = np.full((28, 1), 100.0), np.full((28, 1), 50.0)
    close[7] = fees[7] = np.nan
    weekly = oo.Dataset.from_arrays(dates, ["A"], close, open=close, fee_bps=fees).resample("1w")
    assert weekly.fee_bps is not None
    assert weekly.fee_bps.ravel().tolist() == [50.0] * weekly.n_bars
