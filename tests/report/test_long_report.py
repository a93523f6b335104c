"""Reports of many bars: bounded pages, and no work in Python for each bar or trade."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.backtest.trades import trades_of
from openoutcry.report.charts.null_fan import fan_places
from openoutcry.report.charts.scales import value_scale
from openoutcry.report.run_report import full_view_of, tables_of
from openoutcry.scoring.drawdown_periods import drawdown_periods
from openoutcry.scoring.null_agents import LEVELS, nav_quantiles_at

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
YEAR = 525_600.0


def minutes(n_bars: int, every: int = 1) -> oo.Run:
    """Return a run that buys and sells in turn, every `every` bars."""
    close = 100.0 * np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 3e-4, n_bars)))
    dates = np.datetime64("2005-01-01T00:00") + np.arange(n_bars) * np.timedelta64(1, "m")
    data = oo.Dataset.from_arrays(dates, ["A"], close[:, None], periods_per_year=YEAR)
    weights = np.full((n_bars, 1), np.nan)
    weights[::every, 0] = np.where(np.arange(len(weights[::every])) % 2 == 0, 0.5, 0.0)
    return oo.run_backtest(data, weights)


def calls_of_report(run: oo.Run, path: Path) -> int:
    """Return the number of calls of functions, in Python and C, that a report makes."""
    counts = dict.fromkeys(("call", "c_call"), 0)

    def count(_frame: Any, event: str, _argument: Any) -> None:
        if event in counts:
            counts[event] += 1

    sys.setprofile(count)
    try:
        run.report(path)
    finally:
        sys.setprofile(None)
    return sum(counts.values())


def test_a_report_of_twice_the_bars_makes_no_more_calls_and_no_larger_page(tmp_path: Path) -> None:
    minutes(300).report(tmp_path / "first.html")  # imports are calls too
    short, long = (calls_of_report(minutes(n_bars), tmp_path / f"{n_bars}.html") for n_bars in (110_000, 220_000))
    assert long < short + 20_000  # of 110,000 bars and 55,000 trades more
    sizes = [(tmp_path / f"{n_bars}.html").stat().st_size for n_bars in (110_000, 220_000)]
    assert max(sizes) < 500_000


def test_an_axis_of_many_decades_has_few_ticks_with_readable_labels() -> None:
    scale = value_scale([np.array([3e-63, 1.2])], "auto", include=[1.0])
    ticks = scale.ticks()
    assert 4 <= len(ticks) <= 7
    assert 1.0 in ticks
    assert [scale.show_number(tick) for tick in ticks][-2:] == ["1e-14", "1"]
    # A NAV below the normal numbers has no margin on a log scale.
    assert not value_scale([np.array([2e-322, 1.0])], "auto").log


@pytest.mark.skipif(not FULL, reason="OPENOUTCRY_FULL: a million bars")
@pytest.mark.parametrize("every", [1, 720])
def test_the_page_of_a_million_bars_is_small(tmp_path: Path, every: int) -> None:
    minutes(1_000_000, every).report(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size < 3_000_000


def test_a_page_has_the_latest_trades_and_the_statistics_of_all() -> None:
    run = minutes(3_000)
    analysis, whole = full_view_of(run).analysis, tables_of(run)
    assert analysis is not None
    assert len(whole["trades"].rows) == analysis.tables["trades"].length == trades_of(run).n_trades > 1_000
    assert analysis.tables["trades"].rows == whole["trades"].rows[:1_000]
    assert analysis.tables["trade_statistics"] == whole["trade_statistics"]


def test_one_replay_gives_the_weights_fills_and_flows_of_single_ones() -> None:
    data = oo.Dataset.synthetic(3, 300, 1)
    alone, together = (oo.run_backtest(data, "momentum") for _ in range(2))
    together._replay()
    assert np.array_equal(alone.weights, together.weights)
    assert all(np.array_equal(a, b) for a, b in zip(alone._fills, together._fills, strict=True))
    for kind in ("costs", "gains"):
        found = getattr(together, kind)
        assert all(np.array_equal(values, found[name]) for name, values in getattr(alone, kind).items())


@pytest.mark.parametrize("n_accounts", [8, 3])
def test_tables_in_blocks_have_the_nav_of_whole_tables(n_accounts: int) -> None:
    data, rng = oo.Dataset.synthetic(3, 200, 1), np.random.default_rng(7)
    run = oo.run_backtest(data, "buy-and-hold", (20, 180), limits=oo.Limits.off())
    tables = list(rng.normal(0.0, 1.5, (n_accounts, 200, 3)) * np.where(np.arange(200) % 3, np.nan, 1.0)[:, None])
    tables[0] *= 40.0  # an account that ends early
    whole, fault = native.run_tables(data._core, tables, run._settings)
    assert fault is None
    assert whole[0].terminated_at is not None
    blocks = ([table[first : min(first + 33, 179)] for table in tables] for first in range(20, 179, 33))
    bars = [0, 1, 33, 34, 90, 159]
    found = native.nav_of_blocks(data._core, blocks, run._settings, bars)
    assert all(np.array_equal(nav, each.nav[bars]) for nav, each in zip(found, whole, strict=True))


def test_the_fan_of_a_long_run_has_quantiles_at_the_bars_that_are_drawn() -> None:
    run = minutes(110_000, 500)
    view = full_view_of(run)
    assert view.n_fan == len(fan_places(110_000)) == 160
    assert view.fan_label.startswith("176 random agents")
    assert (np.diff(np.stack(list(view.fan.values())), axis=0) >= 0.0).all()
    again = nav_quantiles_at(run, fan_places(110_000))
    assert all(np.array_equal(view.fan[level], again[level]) for level in LEVELS)
    assert nav_quantiles_at(oo.run_backtest(run.dataset, "hold-cash"), fan_places(110_000)) == {}


def test_drawdowns_are_those_of_a_loop_over_the_bars() -> None:
    nav = np.concatenate([[1.0], np.cumprod(1.0 + np.random.default_rng(5).normal(2e-3, 0.02, 400))]).round(2)
    found, peak = [], 0
    for bar in range(1, len(nav) + 1):
        if bar == len(nav) or nav[bar] >= nav[peak]:
            if bar > peak + 1:
                trough = peak + int(nav[peak:bar].argmin())
                is_open = bar == len(nav)
                found.append((nav[trough] / nav[peak] - 1.0, peak, trough, None if is_open else bar))
            peak = bar
    assert [(each.depth, each.peak, each.trough, each.recovery) for each in drawdown_periods(nav)] == sorted(found)
