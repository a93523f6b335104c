"""Cost models of typical accounts."""

from __future__ import annotations

import pytest

import openoutcry as oo
from openoutcry.backtest.cost_presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_costs_more_than_nothing_and_less_than_a_wide_spread(name: str) -> None:
    market = oo.Dataset.synthetic(4, 250, seed=3)
    free, charged = (oo.run_backtest(market, "random", costs=costs) for costs in (oo.CostModel.zero(), PRESETS[name]))
    wide = oo.run_backtest(market, "random", costs=oo.CostModel(slippage_bps=100.0))
    assert wide.nav[-1] < charged.nav[-1] < free.nav[-1]


def test_a_preset_can_be_changed_in_one_number() -> None:
    own = oo.CostModel(**PRESETS["crypto-spot"].to_dict() | {"fee_bps": 2.0})
    assert own.fee_bps == 2.0
    assert own.impact_bps == PRESETS["crypto-spot"].impact_bps
