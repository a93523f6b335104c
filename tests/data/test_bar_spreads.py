"""Half-spreads estimated from bars."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import openoutcry as oo
from openoutcry.data import spread_from_bars
from openoutcry.data.bar_spreads import edge

Table = npt.NDArray[np.float64]
# `bidask.edge(open, high, low, close, sign=True)` of version 2.1.0 by the authors of the estimator, on the bars below:
# last bar and number of bars, and the spread.
ORACLE = {
    (20, 21): 0.0030020238460372463,
    (35, 21): 0.0032497695503192225,
    (59, 21): 0.0028276030614217073,
    (10, 6): 0.003660586381178565,
    (59, 6): 0.003036747710808919,
}


def integer_bars(n_bars: int) -> Table:
    """Return open, high, low and close of quotes in cents, with a spread of 30 cents at about 100."""
    state, price, bars = 12345, 10_000, []
    for _ in range(n_bars):
        quotes = []
        for _ in range(8):
            state = (1103515245 * state + 12345) % 2**31
            price += (state >> 16) % 21 - 10
            quotes.append(price + (15 if (state >> 20) & 1 else -15))
        bars.append((quotes[0], max(quotes), min(quotes), quotes[-1]))
    return np.array(bars) / 100.0


def market(bars: Table, **columns: npt.ArrayLike) -> oo.Dataset:
    o, h, low, c = (bars[:, [k]] for k in range(4))
    return oo.Dataset.from_arrays(
        oo.Dataset.synthetic(1, len(bars)).dates, ["A"], c, open=o, high=h, low=low, **columns
    )


@pytest.mark.parametrize("window", ORACLE)
def test_the_estimate_is_that_of_the_authors_package(window: tuple[int, int]) -> None:
    last, n_bars = window
    o, h, low, c = (integer_bars(60)[:, [k]] for k in range(4))
    assert edge(o, h, low, c, n_bars)[last, 0] == pytest.approx(ORACLE[window], rel=1e-9)


def test_the_half_spread_of_a_bar_is_estimated_from_the_bars_before_it() -> None:
    bars = integer_bars(60)
    found = spread_from_bars(market(bars))
    assert np.isnan(found[:21]).all()
    assert found[21, 0] == pytest.approx(ORACLE[20, 21] / 2.0 * 1e4, rel=1e-9)
    for changed in (21, 40, 59):
        future = bars.copy()
        future[changed:] *= np.array([1.3, 1.4, 1.1, 1.2])
        assert np.array_equal(spread_from_bars(market(future))[: changed + 1], found[: changed + 1], equal_nan=True)


def test_a_split_between_the_bars_changes_no_estimate() -> None:
    bars, splits = integer_bars(60), np.ones((60, 1))
    found = spread_from_bars(market(bars))
    splits[30], bars[30:] = 4.0, bars[30:] / 4.0
    np.testing.assert_allclose(spread_from_bars(market(bars, splits=splits)), found, rtol=1e-6)


def test_a_negative_estimate_stands_for_the_cost_model() -> None:
    ticks = 100.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 0.002, (400, 20)))).reshape(400, 20)
    bars = np.column_stack([ticks[:, 0], ticks.max(axis=1), ticks.min(axis=1), ticks[:, -1]])
    found = spread_from_bars(market(bars), n_bars=10)[:, 0]
    assert 20 < np.isnan(found[10:]).sum() < 380
    assert np.nanmin(found) > 0.0


def test_the_estimate_is_a_column_of_a_market() -> None:
    bars = integer_bars(60)
    plain = market(bars)
    own = market(bars, half_spread_bps=spread_from_bars(plain))
    weights = np.tile([[0.5], [-0.5]], (30, 1))
    costs = oo.CostModel(fee_bps=0.0, slippage_bps=1.0)
    assert oo.run_backtest(own, weights, costs=costs).nav[-1] < oo.run_backtest(plain, weights, costs=costs).nav[-1]


def test_a_market_without_ranges_is_refused() -> None:
    bars = integer_bars(30)
    closes = oo.Dataset.from_arrays(market(bars).dates, ["A"], bars[:, [3]], open=bars[:, [0]])
    with pytest.raises(oo.OpenOutcryError, match="received one without high"):
        spread_from_bars(closes)
