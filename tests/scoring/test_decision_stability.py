"""Decision stability: equal decisions, differences of weights, and their effect on NAV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import dates_of
from command_line import typed

import openoutcry as oo
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.decision_stability import decision_stability, recorded_runs, second_call

pytestmark = pytest.mark.once

# Returns of 10 %, 10 % and -10 %.
MARKET = oo.Dataset.from_arrays(
    dates_of(4), ["A"], np.reshape([100.0, 110.0, 121.0, 108.9], (4, 1)), name="small", periods_per_year=4.0
)


def agent_of(weights: list[float | None]) -> Any:
    """Return an agent that orders these weights in turn; None is a hold."""
    queue = iter(weights)

    def decide(_: object) -> dict[str, Any]:
        weight = next(queue)
        return {"orders": [] if weight is None else [{"symbol": "A", "action": "buy", "target_weight": weight}]}

    return decide


def record_of(weights: list[float | None], **extra: Any) -> RunRecord:
    terms = {"costs": oo.CostModel.zero(), "name": "mine"} | extra
    return oo.run_backtest(MARKET, agent_of(weights), (0, 4), capture=True, **terms).record


def test_equal_decisions_weights_and_nav_are_those_computed_by_hand() -> None:
    first, second = record_of([1.0, None, 0.5]), record_of([1.0, 0.5, 0.5])
    runs = [*recorded_runs("a", first, [MARKET]), *recorded_runs("b", second, [MARKET])]
    (found,) = decision_stability(runs)
    assert (found.first, found.second, found.market) == ("a#0", "b#0", "small")
    assert (found.n_decisions, found.n_equal) == (3, 2)
    # The second decision is made with equal accounts, the third is not.
    assert (found.n_same_observation, found.n_equal_on_same) == (2, 1)
    assert (found.share_equal, found.share_equal_on_same) == pytest.approx((2.0 / 3.0, 0.5))
    # A hold keeps the whole account in the symbol, against half.
    assert (found.weight_difference, found.largest_weight_difference) == pytest.approx((0.5 / 3.0, 0.5))
    # 1.1 x 1.1 x 0.95 against 1.1 x 1.05 x 0.95.
    assert found.nav_difference == pytest.approx(1.05 / 1.1 - 1.0)
    assert found.largest_nav_difference == pytest.approx(1.0 - 1.05 / 1.1)
    ratios = [np.mean(r) / np.std(r, ddof=1) * 2.0 for r in ([0.1, 0.1, -0.05], [0.1, 0.05, -0.05])]
    assert found.sharpe == pytest.approx(ratios)


def test_a_second_call_sees_the_recorded_account() -> None:
    record = record_of([1.0, None, 0.5])
    seen: list[Any] = []
    again = agent_of([1.0, 0.5, None])

    def agent(observation: dict[str, Any]) -> dict[str, Any]:
        seen.append(observation)
        decision: dict[str, Any] = again(observation)
        return decision

    found = second_call(record, 0, MARKET, agent)
    originals: list[Any] = []
    replayed = agent_of([1.0, None, 0.5])
    oo.run_backtest(MARKET, lambda each: (originals.append(each), replayed(each))[1], (0, 4), oo.CostModel.zero())
    assert seen == originals
    assert (found.n_equal, found.n_same_observation, found.n_equal_on_same) == (1, 3, 1)
    # The recorded account is whole in the symbol at each close after the first, and the third call holds it.
    assert found.weight_difference == pytest.approx((0.0 + 0.5 + 0.5) / 3.0)
    # In its own account the half grew to 0.55 of 1.05.
    assert found.nav_difference == pytest.approx(1.05 / 1.1 * (1.0 - 0.1 * 0.55 / 1.05) / 0.95 - 1.0)


def test_a_deterministic_agent_repeats_every_decision() -> None:
    market = oo.Dataset.synthetic(n_symbols=3, n_days=80, seed=2)
    record = oo.run_backtest(market, "inverse-volatility", (20, 80), capture=True).record
    found = second_call(record, 0, market, oo.agents.load("inverse-volatility"))
    assert (found.n_equal, found.n_decisions, found.weight_difference) == (59, 59, 0.0)
    assert (found.nav_difference, found.largest_nav_difference) == (0.0, 0.0)
    noisy = oo.run_backtest(market, oo.agents.load("random", 1), (20, 80), capture=True).record
    assert second_call(noisy, 0, market, oo.agents.load("random", 2)).n_equal == 0


def test_an_invalid_second_decision_is_a_hold() -> None:
    found = second_call(record_of([1.0, 0.5, 0.5]), 0, MARKET, lambda _: "I would rather not say.")
    assert found.n_equal == 0
    assert found.nav_difference == pytest.approx(1.0 / (1.1 * 1.05 * 0.95) - 1.0)


def test_the_seeds_of_a_window_are_compared_pairwise_and_windows_apart() -> None:
    market = oo.Dataset.synthetic(n_symbols=2, n_days=80, seed=3)
    costs = oo.CostModel(slippage_jitter=1.0, slippage_bps=20.0)
    runs = [
        oo.run_backtest(market, "momentum", window, costs, seed=seed, capture=True).record
        for window in ((20, 50), (49, 80))
        for seed in range(3)
    ]
    found = decision_stability(recorded_runs("r", RunRecord.join("momentum", runs), [market]))
    assert [(each.first, each.second) for each in found] == [
        ("r#0", "r#1"), ("r#0", "r#2"), ("r#1", "r#2"), ("r#3", "r#4"), ("r#3", "r#5"), ("r#4", "r#5"),
    ]  # fmt: skip
    # The agent reads prices only, so it decides alike; the noise moves its NAV.
    assert {each.share_equal for each in found} == {1.0}
    assert all(each.largest_nav_difference for each in found)


def test_a_ruined_run_has_no_difference_of_nav() -> None:
    market = oo.Dataset.from_arrays(
        dates_of(4), ["A"], np.reshape([100.0, 300.0, 300.0, 300.0], (4, 1)), name="risen", periods_per_year=4.0
    )

    def run(weight: float) -> RunRecord:
        return oo.run_backtest(
            market, np.full((4, 1), weight), (0, 4), oo.CostModel.zero(), capture=True, name="mine"
        ).record

    pair = [each for weight in (-1.0, 0.0) for each in recorded_runs("r", run(weight), [market])]
    (found,) = decision_stability(pair)
    assert (found.n_decisions, found.n_equal) == (1, 0)
    assert (found.nav_difference, found.largest_nav_difference) == (None, None)
    json.dumps(found.to_json(), allow_nan=False)


def test_runs_under_other_costs_are_not_compared() -> None:
    pair = [record_of([1.0, None, 0.5]), record_of([1.0, None, 0.5], costs=oo.CostModel())]
    runs = [each for record in pair for each in recorded_runs("r", record, [MARKET])]
    with pytest.raises(oo.OpenOutcryError, match="the same market, window, lookback, costs and limits are required"):
        decision_stability(runs)


def test_the_command_compares_files_or_calls_the_agent_again(tmp_path: Path) -> None:
    data = oo.data.load("us-treasury")
    for seed in (0, 1):
        run = oo.run_backtest(data, oo.agents.load("random", seed), (1000, 1050), capture=True)
        run.record.save(tmp_path / f"{seed}.json")
    done = typed("report", "stability", "0.json", "1.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["agents"] == ["random"]
    assert (output["pairs"][0]["n_equal"], output["pairs"][0]["n_decisions"]) == (0, 49)
    again = typed("report", "stability", "0.json", "--agent", "random", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["pairs"][0]["share_equal_on_same"] == 1.0
    other = typed("report", "stability", "0.json", "--agent", "random", "--seed", "1", "--json", cwd=tmp_path)
    assert json.loads(other.stdout)["pairs"][0]["n_equal"] == 0
    assert "0.0% of 1" in typed("report", "stability", "0.json", "1.json", cwd=tmp_path).stdout
    alone = typed("report", "stability", "0.json", cwd=tmp_path)
    assert alone.returncode == 2
    assert "two runs with the same market" in alone.stderr
    both = typed("report", "stability", "0.json", "1.json", "--agent", "random", cwd=tmp_path)
    assert both.stderr.startswith("error: argument_invalid: `--agent` must come with one record")


@pytest.mark.parametrize("word", ["timing", "stability"])
def test_the_reports_have_help_of_their_own(word: str) -> None:
    shown = typed("report", word, "--help").stdout
    assert f"openoutcry report {word}" in shown
