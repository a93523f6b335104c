"""The scorer withstands every attack, and attacks succeed without the gate that stops them.

Runs the attacks of `openoutcry.audits.score_attacks` with fixed seeds.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from builders import count

import openoutcry as oo
from openoutcry.audits.score_attacks import (
    ATTACKS,
    Attack,
    Outcome,
    Plan,
    luck_as_skill,
    rule_breaking,
    run_attacks,
    table,
)
from openoutcry.audits.score_attacks.attack_markets import (
    Stage,
    constant_weights,
    daily_returns,
    forged,
    luckiest_agent,
    random_weights,
    skilled_weights,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import max_lucky_wins, refusals, tally
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import submit_returns
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

pytestmark = pytest.mark.once

# Required reasons, so that no attack is stopped by chance.
STOPPED_BY = {
    "copies": {"copy"},
    "mined-noise": {"deflated_sharpe"},
    "hidden-trials": {"deflated_sharpe"},
    "public-hindsight": {"not_on_sealed"},
    "own-windows": {"no_suite"},
    "one-window": {"insufficient"},
    "one-of-eight": {"too_few_wins"},
    "stop-when-ahead": {"deflated_sharpe", "too_few_wins"},
    "doubling": {"deflated_sharpe", "too_few_wins"},
    "tail-risk": {"deflated_sharpe"},
    "levered-market": {"deflated_sharpe", "low_alpha", "too_few_wins"},
    "rebalanced-market": {"deflated_sharpe", "too_few_wins"},
    "risk-weighted-market": {"deflated_sharpe", "too_few_wins"},
    "two-year-bond": {"too_few_wins"},
    "crowd": {"deflated_sharpe"},
    "near-zero-volatility": {"low_volatility"},
    "bill-and-market": {"low_alpha", "deflated_sharpe"},
    "best-runs": {"windows_missing"},
    "early-end": {"terminated"},
    "over-the-mandate": {"exposure"},
    "no-decisions": {"faults"},
    "forged-past": {"record_differs"},
    "windows": {"submission_invalid"},
    "one-seed": {"submission_invalid"},
    "no-numbers": {"submission_invalid"},
    "flattering-benchmark": {"rules_differ"},
    "names": {"argument_invalid"},
    "strange-returns": {"low_volatility"},
    "stolen-record": {"copy"},
    "repeated-seeds": {"deflated_sharpe"},
    "false-header": {"record_differs"},
    "lagged-copy": {"delay_implausible"},
    "smoothed-marks": {"caveat"},
    "bid-ask-bounce": {"delay_implausible"},
    "best-phase": {"deflated_sharpe"},
    "halted-symbol": {"low_volatility"},
    "levered-days": {"deflated_sharpe"},
    "sleepers": {"deflated_sharpe"},
    "near-copies": {"deflated_sharpe"},
    "falling-symbols": {"deflated_sharpe", "too_few_wins"},
    "tail-under-the-cap": {"deflated_sharpe", "too_few_wins"},
    "account-interest": {"deflated_sharpe"},
    "units": {"submission_invalid"},
    "stops-after-luck": {"deflated_sharpe"},
    "tiny-account": {"record_differs"},
    "longer-lookback": {"record_differs"},
}
N_DRAWS = count(200, 2)


@pytest.mark.parametrize("plan", ATTACKS, ids=lambda plan: plan.slug)
def test_no_attack_wins_and_skilled_agents_are_eligible(plan: Plan) -> None:
    row = run_attacks(n_draws=N_DRAWS, plans=[plan])[0]
    print(*table([row])[1], sep=" | ")
    assert row.held
    assert row.is_shown
    if plan.is_control:
        assert row.verdicts["eligible"] >= 0.9 * row.n
    else:
        assert STOPPED_BY[plan.slug] & set(row.reasons)
        assert "taken" not in row.verdicts


def test_rows_depend_only_on_the_seed() -> None:
    plans = [plan for plan in ATTACKS if plan.slug in {"windows", "near-zero-volatility", "tail-risk"}]
    reported: list[Attack] = []
    rows = run_attacks(3, n_draws=2, plans=plans, on_attack=reported.append)
    assert rows == reported == run_attacks(3, n_draws=2, plans=plans[::-1])[::-1]
    assert rows != run_attacks(4, n_draws=2, plans=plans)
    assert len({plan.slug for plan in ATTACKS}) == len(ATTACKS)
    assert set(STOPPED_BY) == {plan.slug for plan in ATTACKS if not plan.is_control}
    json.dumps([row.to_dict() for row in rows], allow_nan=False)
    assert {len(line) for line in table(rows)} == {9}
    assert len(table(rows)) == len(rows) + 1


# Rows can fail


def row_of(n_won: int, n: int, **kind: bool) -> Attack:
    outcomes = [
        Outcome(place < n_won, "eligible" if place < n_won else "not_eligible", (), True, 1.0) for place in range(n)
    ]
    return tally(Plan("x", "", "", lambda _: outcomes[0], **kind), outcomes)


def test_a_row_fails_if_an_attack_wins_or_an_honest_agent_is_rejected() -> None:
    assert row_of(0, 3).held
    assert not row_of(1, 3).held
    assert row_of(9, 40, is_luck=True).held
    assert not row_of(10, 40, is_luck=True).held
    assert row_of(9, 10, is_control=True).held
    assert not row_of(8, 10, is_control=True).held
    assert not tally(
        Plan("x", "", "", lambda _: outcomes), [outcomes := Outcome(False, "refused", (), False, 0.0)]
    ).is_shown
    assert table([row_of(1, 3)])[1][-1] == "NO"


@pytest.mark.parametrize("n", [1, 5, 20, 40, 100, 1_000])
def test_the_bound_on_lucky_wins_is_exceeded_in_one_row_of_10_000(n: int) -> None:
    bound = max_lucky_wins(n)
    above = [
        math.fsum(math.comb(n, k) * 0.05**k * 0.95 ** (n - k) for k in range(least, n + 1))
        for least in (bound, bound + 1)
    ]
    assert above[0] > 1e-4 >= above[1]


def test_accepted_input_or_a_refusal_for_another_reason_is_a_win() -> None:
    def refuse() -> None:
        oo.score({})

    assert not refusals([refuse], ["argument_invalid"], True, 0.0).won
    assert refusals([refuse], ["record_differs"], True, 0.0).won
    assert refusals([refuse, lambda: None], ["argument_invalid"], True, 0.0).reasons == ("argument_invalid", "taken")


# Without its gate, an attack wins


def test_mined_noise_is_eligible_without_a_trial_count() -> None:
    random = np.random.default_rng(1)
    at = stage(random)
    weights, _ = luckiest_agent(random, at, 1_000)
    record = at.record("attacker", weights)
    assert at.judge(record)["attacker"].is_eligible
    assert at.judge(record, n_trials=1_000)["attacker"].reasons == ("deflated_sharpe",)


def eligible(at: Stage, weights: Any, **config: Any) -> bool:
    return at.judge(at.record("attacker", weights), config=config)["attacker"].is_eligible


def test_excess_exposure_is_eligible_without_its_gate() -> None:
    random = np.random.default_rng(2)
    at = stage(random, limits=oo.Limits(max_weight=3.0, max_gross=3.0))
    weights = 2.8 * skilled_weights(random, at)
    assert not eligible(at, weights)
    assert eligible(at, weights, gates={"max_gross": 4.0})


def test_a_forged_chain_is_valid_and_only_the_replay_refuses_it() -> None:
    random = np.random.default_rng(3)
    at = stage(random, length=40)
    record = at.record("attacker", random_weights(random, at)[0])
    assert forged(record, lambda run: None) == record
    other = forged(record, lambda run: run["steps"][3].update(decision='{"orders":[]}'))
    assert other.digest != record.digest
    assert RunRecord.from_json(other.to_json()) == other
    with pytest.raises(oo.OpenOutcryError) as refused:
        at.judge(other)
    assert refused.value.slug == "record_differs"


# Attacks without a row in the table


def test_stated_confidence_does_not_change_the_verdict() -> None:
    random = np.random.default_rng(5)
    at = stage(random)
    sides = np.sign(skilled_weights(random, at))

    def agent(sure: float | None) -> Any:
        row = iter(sides)

        def decide(seen: dict[str, Any]) -> dict[str, Any]:
            extra = {} if sure is None else {"confidence": sure}
            orders = [
                {"symbol": symbol, "action": "buy" if side > 0.0 else "sell", "target_weight": side / 4.0, **extra}
                for symbol, side in zip(at.dataset.symbols, next(row), strict=True)
            ]
            return {"orders": orders}

        return decide

    found = []
    for sure in (None, 1.0):
        decide = agent(sure)
        runs = [
            oo.run_backtest(at.dataset, decide, window, at.costs, at.limits, capture=True).record
            for window in at.windows
        ]
        found.append(at.judge(RunRecord.join("attacker", [run for run in runs if run is not None])).scores[0])
    assert [each.z for each in found] == [found[0].z] * 2
    assert [each.gates for each in found] == [found[0].gates] * 2


def test_declared_trials_lower_only_the_declaring_agent() -> None:
    days = 0.001 + 0.01 * np.random.default_rng(6).standard_normal((2, 1_008))
    held = 0.01 * np.random.default_rng(7).standard_normal(1_008)

    def board(declared: int) -> oo.scoring.Board:  # type: ignore[name-defined]
        submissions = [
            submit_returns(name, each, periods_per_year=252, windows=[252] * 4, benchmark=held, in_sample_trials=trials)
            for name, each, trials in (("honest", days[0], 0), ("attacker", days[1], declared))
        ]
        return oo.score(submissions, config=rule_breaking.FEW)

    few, many = board(0), board(2**53 - 1)
    assert few["honest"].z == many["honest"].z
    assert (many["attacker"].z or 0.0) < (few["attacker"].z or 0.0) - 3.0


def test_nearly_equal_trials_in_a_ledger_do_not_lower_the_hurdle() -> None:
    random = np.random.default_rng(8)
    at = stage(random)
    record = at.record("attacker", luckiest_agent(random, at, 100)[0])
    believed = at.judge(record, config={"trials": {"n_trials": 10_000, "spread": 1e-12}}).scores[0]
    assert believed.z == at.judge(record, n_trials=10_000).scores[0].z


def test_the_best_of_many_has_no_skill_on_other_days() -> None:
    verdicts = Counter(luck_as_skill._hidden(np.random.default_rng([seed, 9])).verdict for seed in range(count(200, 3)))
    assert verdicts["eligible"] <= max_lucky_wins(verdicts.total())


def test_the_returns_of_a_record_equal_those_of_its_weights() -> None:
    random = np.random.default_rng(10)
    at = stage(random, n_windows=1, length=60)
    for weights in (random_weights(random, at)[0], constant_weights(at, 0.5, 0.1, 0.0, -0.2)):
        found = oo.run_backtest(at.dataset, weights, at.windows[0], at.costs, at.limits).returns
        assert found == pytest.approx(daily_returns(at, weights), rel=1e-9, abs=1e-12)


def test_records_and_null_agents_of_a_suite_use_the_same_benchmark() -> None:
    market = stage(np.random.default_rng(11), n_windows=2, length=60, risk_free=np.full(121, 1e-4)).dataset
    fields = {
        "suite_version": "1.0",
        "name": "small",
        "edition": "1",
        "markets": [{"name": "m", "fingerprint": market.fingerprint, "windows": [[0, 61], [60, 121]]}],
        "seeds": [3, 4],
        "costs": {"slippage_jitter": 1.0, "cash_bps": 50.0},
        "luck_floor": {"agents": 3, "seed": 0},
    }
    evaluation = Evaluation(Suite.from_json(json.dumps(fields)), {}, [market])
    record, floor = evaluation.run("momentum"), evaluation.luck_floor()
    board = oo.score(record, suite=evaluation, luck_floor=floor, config=rule_breaking.FEW)
    assert board.luck_floor is not None
    assert board.luck_floor["n_agents"] == 3
