"""Timing luck: the spread of results over the phases of a rebalancing schedule."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import dates_of
from command_line import typed

import openoutcry as oo
from openoutcry.scoring.timing_luck import TimingLuck, timing_luck

pytestmark = pytest.mark.once

FREE = oo.CostModel.zero()
# Returns of the bars: 0, 0, 10 %, 0, 10 %, 0, -1/11.
CLOSES = [100.0, 100.0, 100.0, 110.0, 110.0, 121.0, 121.0, 110.0]


def market(closes: list[float] = CLOSES, **extra: Any) -> oo.Dataset:
    terms = {"periods_per_year": 5.0, "name": "small"} | extra
    return oo.Dataset.from_arrays(dates_of(len(closes)), ["A"], np.reshape(closes, (-1, 1)), **terms)


def run_of(weights: list[float], **extra: Any) -> oo.Run:  # type: ignore[name-defined]
    return oo.run_backtest(market(**extra), np.reshape([*weights, nan], (-1, 1)), (0, 8), FREE)


def alternating(period: int = 2) -> Callable[[], Any]:
    """Return a maker of agents that hold the symbol, then cash, for `period` bars each."""

    def start() -> Any:
        n_calls = 0

        def decide(_: object) -> dict[str, Any]:
            nonlocal n_calls
            turn, place = divmod(n_calls, period)
            n_calls += 1
            order = {"symbol": "A", "action": "buy", "target_weight": float(turn % 2 == 0)}
            return {"orders": [order] if place == 0 else []}

        return decide

    return start


EVERY_SECOND = [1.0, nan, 0.0, nan, 1.0, nan, 0.0]


def test_the_phases_of_a_schedule_of_two_bars_are_those_computed_by_hand() -> None:
    found = timing_luck(run_of(EVERY_SECOND))
    assert (found.period, found.n_rebalances, found.gaps, found.n_returns) == (2, 4, (2, 2), 5)
    # From bar 2 on, the run earns 0, 0, 10 %, 0, 0: mean 2 %, sample deviation 4.47 %, five bars a year.
    own, late = found.phases
    assert found.own == own
    assert (own.sharpe, own.cagr, own.max_drawdown) == pytest.approx((1.0, 0.1, 0.0))
    # One bar later it earns 10 %, 0, 0, 0, -1/11.
    assert (late.shift, late.cagr, late.max_drawdown) == pytest.approx((1, 0.0, -1.0 / 11.0), abs=1e-12)
    earned = np.array([0.1, 0.0, 0.0, 0.0, -1.0 / 11.0])
    assert late.sharpe == pytest.approx(earned.mean() / earned.std(ddof=1) * np.sqrt(5.0))
    # Half an account in each: 1, 1.05, 1.05, 1.1, 1.1, 1.05.
    assert found.tranches is not None
    assert (found.tranches.cagr, found.tranches.max_drawdown) == pytest.approx((0.05, 1.05 / 1.1 - 1.0))
    assert found.spread is not None
    sharpe = found.spread["sharpe"]
    assert (sharpe.low, sharpe.high, sharpe.own, sharpe.share_below) == (late.sharpe, own.sharpe, own.sharpe, 1.0)
    assert sharpe.middle == pytest.approx((own.sharpe + late.sharpe) / 2.0)  # type: ignore[operator]
    assert found.spread["max_drawdown"].share_below == 1.0


def test_the_risk_free_rate_of_the_compared_bars_is_subtracted() -> None:
    rates = np.array([nan, 0.02, 0.02, 0.01, 0.02, 0.015, 0.01, 0.005])
    found = timing_luck(run_of(EVERY_SECOND, risk_free=np.nan_to_num(rates)))
    over = np.array([0.0, 0.0, 0.1, 0.0, 0.0]) - rates[3:]
    assert found.phases[0].sharpe == pytest.approx(over.mean() / over.std(ddof=1) * np.sqrt(5.0))


def test_the_decisions_of_every_second_bar_are_the_phases_of_a_run_that_trades_on_every_bar() -> None:
    run = run_of([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    assert timing_luck(run).reason == "it traded on every bar, so it chose no phase"
    found = timing_luck(run, every=2)
    # Bars 0, 2, 4, 6: held over bars 0 to 3, so 10 %, 0, then cash. Bars 1, 3, 5: cash until 3, then 0, 10 %, 0, -1/11.
    first, second = found.phases
    assert (first.cagr, second.cagr) == pytest.approx((0.1, 0.0), abs=1e-12)
    # The run itself held the symbol over the bars 2, 3 and 5.
    assert found.own is not None
    assert found.own.cagr == pytest.approx(0.1)
    assert found.spread is not None
    assert found.spread["max_drawdown"].own == 0.0
    assert found.spread["max_drawdown"].share_below == 0.5


def test_an_agent_that_starts_later_uses_recent_prices() -> None:
    def start() -> Any:
        n_calls = 0

        def decide(seen: dict[str, Any]) -> dict[str, Any]:
            nonlocal n_calls
            n_calls += 1
            closes = seen["symbols"][0]["close_history"]
            rose = len(closes) > 1 and closes[-1] > closes[-2]
            order = {"symbol": "A", "action": "buy", "target_weight": float(rose)}
            return {"orders": [order] if n_calls % 2 else []}

        return decide

    data = market([100.0, 100.0, 110.0, 100.0, 110.0, 100.0, 110.0, 100.0])
    run = oo.run_backtest(data, start(), (1, 8), FREE, lookback=2)
    # At the bars 1, 3, 5 the price fell or stood still; at 2, 4, 6 it rose, and fell on the next bar.
    assert run.nav[-1] == 1.0
    assert timing_luck(run).phases[1].cagr == pytest.approx(0.0)
    rerun = timing_luck(run, agent=start)
    assert rerun.phases[1].max_drawdown is not None
    assert rerun.phases[1].max_drawdown < -0.08
    plain = timing_luck(run_of(EVERY_SECOND), agent=alternating())
    assert plain.phases == timing_luck(run_of(EVERY_SECOND)).phases


def test_the_own_phase_is_the_run_bit_for_bit_under_costs_and_noise() -> None:
    data = oo.Dataset.synthetic(n_symbols=3, n_days=120, seed=4)
    weights = np.full((120, 3), nan)
    weights[20::5] = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    costs = oo.CostModel(slippage_jitter=1.0, slippage_bps=20.0, fee_bps=5.0)
    run = oo.run_backtest(data, weights, (20, 120), costs, seed=7)
    found = timing_luck(run)
    assert (found.period, len(found.phases)) == (5, 5)
    assert found.own == found.phases[0]
    assert len({phase.sharpe for phase in found.phases}) == 5


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ([nan] * 7, "an order on at least two bars is required; received 0"),
        ([1.0, *[nan] * 6], "an order on at least two bars is required; received 1"),
        ([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0], "it traded on every bar, so it chose no phase"),
        ([nan, 1.0, *[nan] * 4, 0.0], "at least 2 returns after bar 6 of the run are required; received fewer"),
    ],
)
def test_a_run_without_a_phase_has_a_reason_and_no_number(weights: list[float], reason: str) -> None:
    found = timing_luck(run_of(weights))
    assert found.reason == reason
    assert (found.period, found.phases, found.own, found.tranches, found.spread) == (None, (), None, None, None)


def test_a_phase_that_is_ruined_before_the_comparison_has_no_metrics() -> None:
    # One bar later, the short position of one bar meets a price that more than doubles.
    data = market([100.0, 100.0, 201.0, *[200.0] * 9])
    weights = np.full((12, 1), nan)
    weights[[0, 1, 5, 9], 0] = [-1.0, 0.0, 0.0, 0.0]
    found = timing_luck(oo.run_backtest(data, weights, (0, 12), FREE))
    assert (found.period, found.gaps) == (4, (1, 4))
    assert found.phases[0].max_drawdown == 0.0
    assert found.phases[1].max_drawdown is None
    assert set(found.phases[1].undefined) == {"sharpe", "cagr", "max_drawdown"}
    assert found.spread == {}


@pytest.mark.parametrize("every", [1, 0, -3, 1_001, True, 2.5])
def test_a_period_that_is_no_count_of_bars_is_refused(every: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="every"):
        timing_luck(run_of(EVERY_SECOND), every=every)


def test_the_command_prints_the_same_numbers_and_the_reason_of_none(tmp_path: Path) -> None:
    data = oo.data.load("us-treasury")
    weights = np.full((data.n_bars, data.n_symbols), nan)
    weights[1000:1400:21] = np.random.default_rng(1).dirichlet(np.ones(data.n_symbols), 20)
    run = oo.run_backtest(data, weights, (1000, 1400), capture=True, name="monthly")
    run.record.save(tmp_path / "monthly.json")
    oo.run_backtest(data, "equal-weight", (1000, 1100), capture=True).record.save(tmp_path / "daily.json")
    done = typed("report", "timing", "monthly.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = json.loads(json.dumps({"agent": "monthly", "runs": [timing_luck(run).to_json()]}))
    assert json.loads(done.stdout) == expected
    shown = typed("report", "timing", "monthly.json", cwd=tmp_path).stdout
    assert "21 phases" in shown
    assert "tranches" in shown
    none = typed("report", "timing", "daily.json", cwd=tmp_path)
    assert "it traded on every bar" in none.stdout
    assert "--every 21" in " ".join(none.stdout.split())
    kept = typed("report", "timing", "daily.json", "--every", "5", "--json", cwd=tmp_path)
    assert len(json.loads(kept.stdout)["runs"][0]["phases"]) == 5
    rerun = typed("report", "timing", "monthly.json", "--agent", "buy-and-hold", "--json", cwd=tmp_path)
    assert json.loads(rerun.stdout)["runs"][0]["method"] == "the agent, started later"


def test_a_forged_record_has_no_timing_luck(tmp_path: Path) -> None:
    data = oo.data.load("us-treasury")
    run = oo.run_backtest(data, "equal-weight", (1000, 1020), capture=True)
    text = run.record.to_json().replace('"fee_bps":1', '"fee_bps":2')
    (tmp_path / "forged.json").write_text(text, encoding="utf-8")
    done = typed("report", "timing", "forged.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("no report: differs")


def test_a_result_is_plain_json() -> None:
    found: TimingLuck = timing_luck(run_of(EVERY_SECOND))
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["spread"]["cagr"]["own"] == pytest.approx(0.1)
