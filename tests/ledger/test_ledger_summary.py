"""The summary of a run in 17 fields."""

from __future__ import annotations

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.backtest.trades import trades_of
from openoutcry.ledger import RunMetricsSummary
from openoutcry.ledger.run_summary import FIELDS, interval_of

FX = oo.data.load("ecb-fx", ["USD", "JPY"])
RUN = oo.run_backtest(FX, "momentum")


def test_the_summary_of_a_backtest_has_the_17_fields_and_its_numbers() -> None:
    """L3, L5."""
    found = RunMetricsSummary.of(RUN, "id")
    assert len(FIELDS) == 17
    assert set(found.to_json()) == set(FIELDS)
    trades, metrics, capital = trades_of(RUN), RUN.metrics, RUN.cost_model.capital
    assert (found.id, found.status, found.candle_interval, found.total_positions) == (
        "id",
        "done",
        "1d",
        trades.n_trades,
    )
    assert (found.sharpe_ratio, found.sortino_ratio) == (metrics["sharpe"], metrics["sortino"])
    assert (found.calmar_ratio, found.pnl_return) == (metrics["calmar"], metrics["return"])
    assert found.max_drawdown == -metrics["max_drawdown"] > 0.0
    assert found.net_pnl == pytest.approx(metrics["return"] * capital)
    assert (found.win_rate, found.profit_factor) == (trades.win_rate, trades.profit_factor)
    assert found.avg_win == trades.average_win * capital
    assert found.max_loss == trades.max_loss * capital < found.avg_loss < 0.0
    days = np.array(FX.dates, dtype="datetime64[s]").astype(float)
    held = [days[each.closed] - days[each.opened] for each in trades.trades]
    assert found.avg_hold_duration_secs == pytest.approx(np.mean(held))
    assert RunMetricsSummary.from_json(found.to_json()) == found


def test_the_17_fields_are_as_specified_and_all_but_two_are_optional() -> None:
    """L3."""
    names = (
        *("id", "status", "candle_interval", "total_positions", "win_rate", "profit_factor", "net_pnl", "sharpe_ratio"),
        *("sortino_ratio", "calmar_ratio", "max_drawdown", "pnl_return", "avg_win", "avg_loss", "max_win", "max_loss"),
        "avg_hold_duration_secs",
    )
    assert names == FIELDS
    found = RunMetricsSummary.from_json({"id": "id", "status": "done"})
    assert found == RunMetricsSummary("id", "done")
    assert found.to_json() == {"id": "id", "status": "done"}


def test_an_undefined_metric_is_absent_and_never_0() -> None:
    """L3."""
    flat = oo.run_backtest(FX, np.zeros((FX.n_bars, 2)))
    found = RunMetricsSummary.of(flat, "id")
    assert set(found.to_json()) == {
        *("id", "status", "candle_interval", "total_positions", "net_pnl", "pnl_return", "max_drawdown")
    }
    assert found.undefined["sharpe_ratio"] == "varying returns are required; received constant returns"
    assert set(found.undefined) == set(FIELDS) - set(found.to_json())


def test_the_sharpe_ratio_of_cash_over_a_moving_rate_is_undefined() -> None:
    treasury = oo.data.load("us-treasury")
    cash = oo.run_backtest(treasury, np.zeros((treasury.n_bars, treasury.n_symbols)))
    assert cash.caveats
    found = RunMetricsSummary.of(cash, "id")
    assert (found.sharpe_ratio, found.undefined["sharpe_ratio"]) == (None, cash.caveats["sharpe"])


def test_the_summary_line_has_drawdown_and_sortino_if_present() -> None:
    """L5."""
    whole = RunMetricsSummary("id", "done", "1d", 7, 0.5, 1.25, sharpe_ratio=1.0, pnl_return=0.1)
    line = "done interval=1d positions=7 win_rate=50.0% profit_factor=1.25 return=+10.0% sharpe=1.00"
    assert whole.summary_line() == line
    more = RunMetricsSummary("id", "done", max_drawdown=0.12345, sortino_ratio=1.005)
    assert more.summary_line() == "done max_dd=12.3% sortino=1.00"
    assert RunMetricsSummary("id", "failed").summary_line() == "failed"


def test_decimals_may_be_texts_and_unknown_members_are_ignored() -> None:
    """L3."""
    content = {
        "id": "id",
        "status": "ok",
        "sharpe_ratio": "1.50",
        "net_pnl": "-1e3",
        "total_positions": 4294967295,
        "new": [],
    }
    found = RunMetricsSummary.from_json(content)
    assert (found.sharpe_ratio, found.net_pnl, found.total_positions, found.win_rate) == (1.5, -1000.0, 2**32 - 1, None)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-inf", float("nan"), float("inf"), "1e999"])
def test_a_number_that_is_not_finite_is_undefined_with_its_reason(value: object) -> None:
    """L2."""
    found = RunMetricsSummary.from_json({"id": "id", "status": "done", "sharpe_ratio": value})
    assert found.sharpe_ratio is None
    assert found.undefined["sharpe_ratio"].startswith("a finite number is required; received")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"status": "done"},
        {"id": "id"},
        {"id": 7, "status": "done"},
        {"id": "id", "status": "done", "sharpe_ratio": "high"},
        {"id": "id", "status": "done", "sharpe_ratio": True},
        {"id": "id", "status": "done", "sharpe_ratio": [1]},
        {"id": "id", "status": "done", "sharpe_ratio": "1_0"},
        {"id": "id", "status": "done", "total_positions": -1},
        {"id": "id", "status": "done", "total_positions": 1.5},
        {"id": "id", "status": "done", "total_positions": 2**32},
    ],
)
def test_an_invalid_summary_is_refused(content: object) -> None:
    """L3."""
    with pytest.raises(oo.OpenOutcryError, match="must"):
        RunMetricsSummary.from_json(content)


@pytest.mark.parametrize(
    ("dates", "interval"),
    [
        (["2024-01-01", "2024-01-02", "2024-01-05"], "1d"),
        (["2024-01-01", "2024-01-08"], "7d"),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:15:00Z", "2024-01-01T01:00:00Z"], "15m"),
        (["2024-01-01T00:00:00", "2024-01-01T04:00:00"], "4h"),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:00:07Z"], "7s"),
    ],
)
def test_the_bar_length_is_the_smallest_distance_of_dates(dates: list[str], interval: str) -> None:
    assert interval_of(dates) == interval
