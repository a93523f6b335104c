"""Phases of fills, the gross exposure after them, and the caveats of both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.backtest.fill_gross import lowest_nav_inside
from openoutcry.backtest.fill_phases import CLOSES, EXITS, INSIDE, OPENS, FillPhases

DAYS = [f"2024-01-{day:02d}" for day in range(1, 29)]
LONG_ONLY = oo.Limits(allow_short=False)


def bars(*rows: tuple[float, float, float, float], **columns: np.ndarray) -> oo.Dataset:
    """Return a market of one symbol from rows of open, high, low and close."""
    open_, high, low, close = (np.array(column)[:, None] for column in zip(*rows, strict=True))
    return oo.Dataset.from_arrays(DAYS[: len(rows)], ["A"], close, open_, high, low, **columns)


FLAT = (100.0, 101.0, 99.0, 100.0)


def phases(run: oo.Run) -> list[int]:
    return FillPhases.of(run).phases.tolist()


@pytest.mark.parametrize(
    ("fields", "phase", "is_stop"),
    [
        ({"limit_price": 99.5}, INSIDE, False),
        ({"limit_price": 100.5}, OPENS, False),
        ({"stop_price": 100.5}, INSIDE, True),
        ({"stop_price": 99.5}, OPENS, False),
        ({"stop_price": 100.5, "limit_price": 101.0}, INSIDE, True),
        ({"at": "close"}, CLOSES, False),
        ({"at": "close", "limit_price": 100.5}, CLOSES, False),
    ],
)
def test_a_fill_has_the_phase_of_its_condition(fields: dict[str, object], phase: int, is_stop: bool) -> None:
    arrays = {name: value if name == "at" else np.full((2, 1), value) for name, value in fields.items()}
    run = oo.run_backtest(bars(FLAT, FLAT), np.full((2, 1), 0.5), (0, 2), limits=LONG_ONLY, **arrays)  # type: ignore[arg-type]
    assert phases(run) == [phase]
    assert ("stops_at_price" in run.caveats) == is_stop


def test_a_split_divides_the_prices_of_the_order_it_is_compared_with() -> None:
    splits = np.array([[1.0], [4.0]])
    data = bars(FLAT, (25.0, 26.0, 24.0, 25.0), splits=splits)
    run = oo.run_backtest(data, np.full((2, 1), 0.5), (0, 2), limit_price=np.full((2, 1), 98.0))
    assert run.trades["price"].tolist() == [24.5]
    assert phases(run) == [INSIDE]


def test_only_a_stop_loss_inside_a_bar_is_a_stop_at_its_price() -> None:
    data = bars(FLAT, (100.0, 101.0, 94.0, 95.0), FLAT, (94.0, 95.0, 93.0, 94.0))
    weights = np.array([[0.5], [0.5], [np.nan], [np.nan]])
    losses = np.array([[95.0], [np.nan], [95.0], [np.nan]])
    run = oo.run_backtest(data, weights, (0, 4), stop_loss=losses)
    assert phases(run) == [OPENS, EXITS, OPENS, EXITS]
    assert FillPhases.of(run).is_inside_stop.tolist() == [False, True, False, False]
    assert run.caveats["stops_at_price"].startswith("1 stop filled inside a bar at exactly the stop price, so the")
    late = oo.run_backtest(data, weights, (0, 4), oo.CostModel(stop_gap=0.5), stop_loss=losses)
    assert "stops_at_price" not in late.caveats


def test_a_take_profit_is_no_stop() -> None:
    profits = np.array([[100.8], [np.nan]])
    run = oo.run_backtest(bars(FLAT, FLAT), np.full((2, 1), 0.5), (0, 2), take_profit=profits)
    assert phases(run) == [OPENS, EXITS]
    assert "stops_at_price" not in run.caveats


def test_a_loss_after_an_entry_by_a_stop_is_inside_the_bar_even_below_the_open() -> None:
    data = bars(FLAT, (93.0, 101.0, 92.0, 95.0))
    arrays = {"stop_price": np.full((2, 1), 100.0), "stop_loss": np.full((2, 1), 95.0)}
    run = oo.run_backtest(data, np.full((2, 1), 0.5), (0, 2), **arrays)  # type: ignore[arg-type]
    assert phases(run) == [INSIDE, EXITS]
    assert FillPhases.of(run).is_inside_stop.tolist() == [True, True]


def test_a_gap_before_the_fill_levers_an_account_whose_orders_are_not_above_its_limit() -> None:
    data = bars(FLAT, (120.0, 121.0, 119.0, 120.0), FLAT)
    run = oo.run_backtest(data, np.ones((3, 1)), (0, 3), oo.CostModel.zero(), LONG_ONLY)
    assert run.max_gross_at_fill == pytest.approx(1.2)
    assert "reached 1.2, above `max_gross` of 1, because prices moved" in run.caveats["max_gross_at_fill"]
    paid = oo.Limits(allow_short=False, cash_account=True)
    run = oo.run_backtest(data, np.ones((3, 1)), (0, 3), oo.CostModel.zero(), paid)
    assert run.max_gross_at_fill == pytest.approx(1.0)
    assert "max_gross_at_fill" not in run.caveats


def test_a_gap_that_doubles_the_price_leaves_nothing_after_a_short_sale() -> None:
    data = bars(FLAT, FLAT, (250.0, 251.0, 249.0, 100.0), FLAT)
    weights = np.array([[-1.0], [-0.5], [np.nan], [np.nan]])
    run = oo.run_backtest(data, weights, (0, 4), oo.CostModel.zero())
    assert run.max_gross_at_fill == np.inf


def test_an_account_without_fills_or_without_a_limit_has_no_such_caveat() -> None:
    data = bars(FLAT, (120.0, 121.0, 119.0, 120.0))
    assert oo.run_backtest(data, np.zeros((2, 1)), (0, 2)).max_gross_at_fill == 0.0
    run = oo.run_backtest(data, np.ones((2, 1)), (0, 2), oo.CostModel.zero(), oo.Limits.off())
    assert run.max_gross_at_fill == pytest.approx(1.2)
    assert "max_gross_at_fill" not in run.caveats


@pytest.mark.parametrize("seed", range(6))
def test_the_exposure_after_fills_is_that_of_a_loop_over_bars(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (25, 3)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.05, shape), axis=0))
    open_ = close * np.exp(rng.normal(0.0, 0.05, shape))
    splits = rng.choice([1.0, 1.0, 1.0, 2.0], shape)
    close, open_ = close / np.cumprod(splits, axis=0), open_ / np.cumprod(splits, axis=0)
    dividends = rng.choice([0.0, 0.0, 0.5], shape)
    close[5:8, 1] = np.nan
    data = oo.Dataset.from_arrays(DAYS[:25], list("ABC"), close, open_, splits=splits, dividends=dividends)
    weights = rng.choice([np.nan, 0.3, 0.5, -0.2], shape)
    costs = oo.CostModel(financing_bps=0.0, borrow_bps=0.0)
    run = oo.run_backtest(data, weights, (2, 25), costs, oo.Limits(max_gross=2.0))
    cash, shares, mark, expected = 1.0, np.zeros(3), close[2].copy(), 0.0
    for bar in range(3, 25):
        cash += float(shares @ dividends[bar])
        shares, mark = shares * splits[bar], mark / splits[bar]
        price = np.where(np.isfinite(open_[bar]), open_[bar], mark)
        own = run.trades["bar"] == bar
        for name, traded, paid in zip(*(run.trades[key][own] for key in ("symbol", "shares", "price")), strict=True):
            shares["ABC".index(name)] += traded
            cash -= traded * paid + 1e-4 * abs(traded) * paid
        if own.any():
            expected = max(expected, float(np.abs(shares * price).sum() / (cash + shares @ price)))
        mark = np.where(np.isfinite(close[bar]), close[bar], mark)
        assert cash + shares @ mark == pytest.approx(run.nav[bar - 2])
    assert run.max_gross_at_fill == pytest.approx(expected)


def test_a_settlement_before_a_fill_is_cash() -> None:
    close = np.array([[100.0, 100.0], [100.0, 100.0], [np.nan, 100.0], [np.nan, 100.0]])
    delistings = np.full((4, 2), np.nan)
    delistings[2, 0] = -0.5
    data = oo.Dataset.from_arrays(DAYS[:4], ["A", "B"], close, close, delistings=delistings)
    weights = np.array([[1.0, 0.0], [np.nan, 0.5], [np.nan, np.nan], [np.nan, np.nan]])
    run = oo.run_backtest(data, weights, (0, 4), oo.CostModel.zero(), oo.Limits(max_gross=2.0))
    assert run.nav[2] == pytest.approx(0.5)
    assert run.max_gross_at_fill == pytest.approx(1.0)


def test_the_lowest_value_inside_a_bar_is_that_of_longs_at_the_low_and_shorts_at_the_high() -> None:
    data = bars(FLAT, (100.0, 130.0, 70.0, 100.0), FLAT)
    for weight, lowest in ((2.0, 0.4), (-2.0, 0.4), (0.5, 0.85)):
        weights = np.array([[weight], [0.0], [0.0]])
        run = oo.run_backtest(data, weights, (0, 3), oo.CostModel.zero(), oo.Limits.off())
        assert lowest_nav_inside(run) == pytest.approx(lowest)
        assert run.nav.min() == pytest.approx(1.0)


def test_a_page_states_exposure_and_lowest_value_where_they_say_something(tmp_path: Path) -> None:
    data = bars(FLAT, (100.0, 130.0, 70.0, 100.0), FLAT)
    levered = oo.run_backtest(data, np.full((3, 1), 2.0), (0, 3), oo.CostModel.zero(), oo.Limits.off())
    page = tmp_path / "run.html"
    levered.report(page)
    text = page.read_text("utf-8")
    assert "Lowest NAV inside a bar" in text
    assert "Gross exposure at fills" in text
    plain = oo.run_backtest(data, np.full((3, 1), 0.5), (0, 3), oo.CostModel.zero())
    names = plain.tables()["metrics"]
    assert "max_gross_at_fill" not in json.dumps([str(cell) for cell in np.asarray(names).ravel()])
