"""Runs whose orders never, or seldom, fill say so first."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.report.pages.event_counts import EVENTS

MIXED = Path(__file__).parent.parent / "data" / "formats" / "mixed_crypto_stock.csv"
DAYS = [f"2024-03-{day:02d}" for day in range(1, 29)]
PRICES = np.linspace(100.0, 127.0, 28)[:, None]
SILENT = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES, volume=np.zeros((28, 1)))


def test_a_run_whose_orders_never_fill_says_so_first() -> None:
    run = oo.run_backtest(SILENT, np.ones((28, 1)), window=(0, 28))
    assert next(iter(run.caveats)) == "return"
    assert run.caveats["return"] == "none of the 27 orders filled; A can never fill: its volume is 0 on every bar"


def test_a_run_says_that_orders_were_lost_on_weekends() -> None:
    run = oo.run_backtest(oo.Dataset.from_csv(MIXED), "equal-weight", window=(0, 28))
    lost = sum(event["slug"] == "unfilled" for event in run.events)
    total = lost + run.event_counts["filled"]
    assert run.caveats["return"] == (
        f"{lost} of the {total} orders did not fill; no price to fill at, or no close, on the next bar: {lost} (QXS)"
    )


def test_a_run_of_refused_orders_says_that_none_filled() -> None:
    close = np.hstack([PRICES, np.full((28, 1), np.nan)])
    data = oo.Dataset.from_arrays(DAYS, ["A", "B"], close)
    run = oo.run_backtest(data, np.tile([np.nan, 1.0], (28, 1)), window=(0, 28))
    assert run.caveats["return"] == "none of the 27 orders filled; refused: 27"


def test_a_run_without_orders_or_with_few_lost_ones_has_no_caveat() -> None:
    volume = np.full((28, 1), 1e12)
    volume[5] = 0.0
    data = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES, volume=volume)
    weights = np.where(np.arange(28) % 2, 0.5, 1.0)[:, None]
    run = oo.run_backtest(data, weights, window=(0, 28))
    assert run.event_counts["unfilled"] == 1
    assert "return" not in run.caveats
    assert "return" not in oo.run_backtest(SILENT, np.full((28, 1), np.nan), window=(0, 28)).caveats


def test_the_caveat_of_a_window_does_not_depend_on_later_bars() -> None:
    volume = np.zeros((28, 1))
    before = oo.run_backtest(SILENT, np.ones((28, 1)), window=(0, 10)).caveats
    volume[10:] = 1e9
    later = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES, volume=volume)
    assert oo.run_backtest(later, np.ones((28, 1)), window=(0, 10)).caveats == before


def test_command_and_page_show_it_first(tmp_path: Path) -> None:
    source, page = str(tmp_path / "silent.market"), tmp_path / "page.html"
    Path(source).write_bytes(SILENT.to_bytes())
    words = ["run", "--data", source, "--agent", "equal-weight", "--window", "0:28"]
    shown = CliRunner().invoke(app, [*words, "--report", str(page)])
    remarks = [line for line in shown.output.splitlines() if line.startswith("  · ")]
    assert remarks[0].startswith("  · none of the 27 orders filled; A can never fill")
    assert '<p class="verdict">None of the 27 orders filled; A can never fill' in page.read_text("utf-8")
    said = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert next(iter(said["caveats"])) == "return"


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_data_check_says_what_seldom_fills(as_json: bool) -> None:
    shown = CliRunner().invoke(app, ["data", "check", str(MIXED), *(["--json"] if as_json else [])])
    assert "QXS fills on only 72% of the bars" in shown.output
    if as_json:
        assert json.loads(shown.output)["fills"]["QXS"] == {"n_fills": 18, "n_bars": 25}


def test_an_order_that_costs_too_much_is_not_said_to_have_no_counterparty() -> None:
    data = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES, volume=np.full((28, 1), 10.0))
    costs = oo.CostModel(impact_bps=5000.0, capital=1e9)
    run = oo.run_backtest(data, np.ones((28, 1)), window=(0, 28), costs=costs)
    assert {event["reason"] for event in run.events if event["slug"] == "unfilled"} == {"cost_too_high"}
    assert "slippage and impact of half the price or more: " in run.caveats["return"]
    assert EVENTS["unfilled"] == "an order could not be filled and was dropped"


def test_an_order_without_a_close_to_fill_at_is_explained_by_either_bar() -> None:
    """Without opens an order fills at the close before, so the next bar may have a price."""
    close = np.hstack([PRICES, PRICES.copy()])
    close[10, 1] = np.nan
    data = oo.Dataset.from_arrays(DAYS, ["A", "B"], close)
    weights = np.full((28, 2), np.nan)
    weights[10] = [np.nan, 0.5]
    run = oo.run_backtest(data, weights, window=(0, 28))
    assert run.caveats["return"] == (
        "the only order did not fill; no price to fill at, or no close, on the next bar: 1 (B)"
    )


RANGED = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES, high=PRICES + 0.5, low=PRICES - 0.5)


def test_a_condition_that_was_not_met_is_no_failure() -> None:
    weights, limits = np.linspace(0.1, 0.9, 28)[:, None], np.full((28, 1), 50.0)
    limits[0] = np.nan
    run = oo.run_backtest(RANGED, weights, window=(0, 28), limit_price=limits)
    assert (run.event_counts["filled"], run.event_counts["unfilled"]) == (1, 26)
    assert "return" not in run.caveats


def test_conditions_that_were_never_met_are_said_if_no_order_filled() -> None:
    stops = np.full((28, 1), 500.0)
    run = oo.run_backtest(RANGED, np.full((28, 1), 0.5), window=(0, 28), stop_price=stops)
    assert run.caveats["return"] == "none of the 27 orders filled; stop not reached on the next bar: 27 (A)"
    run = oo.run_backtest(RANGED, np.full((28, 1), 0.5), window=(0, 28), limit_price=stops / 10.0)
    assert run.caveats["return"] == "none of the 27 orders filled; limit not reached on the next bar: 27 (A)"


def test_orders_that_need_a_range_which_is_not_there_failed() -> None:
    data = oo.Dataset.from_arrays(DAYS, ["A"], PRICES, open=PRICES)
    limits = np.full((28, 1), 50.0)
    limits[0] = 500.0
    run = oo.run_backtest(data, np.linspace(0.1, 0.5, 28)[:, None], window=(0, 28), limit_price=limits)
    assert run.caveats["return"] == (
        "26 of the 27 orders did not fill; no high or low on the next bar, or data without opens: 26 (A)"
    )
