"""Boards of records and of returns, against independent formulas in NumPy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import Array

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring import multiple_testing, scorer, skill
from openoutcry.scoring.verdict import BENCHMARKS

YEAR, LENGTHS = 252.0, [252] * 4
QUICK: dict[str, Any] = {"draws": {"replicates": 199}}
# SHA-256 of the boards of `RECORDS` that the scorer wrote before it had editions, and while the second was current.
FIRST_EDITION = "6b2e31e574ac935b298d68e1c3b1560365a4def9b7db2204091b97ad77af7b71"
SECOND_EDITION = "f0dcbc05835528a6c622619de1e2409fa7ed28fce206961ab3daf200f028e0b9"


def noise(seed: int, ratio: float = 0.0, n: int = 1_008) -> Array:
    return 0.01 * np.random.default_rng(seed).standard_normal(n) + 0.01 * ratio / np.sqrt(YEAR)


HELD = noise(77, 0.5)


def board_of(agents: dict[str, Array], **settings: Any) -> scorer.Board:
    return oo.score(
        agents, **{"windows": LENGTHS, "benchmark": HELD, "config": QUICK, "periods_per_year": YEAR} | settings
    )


def recorded(
    name: str, dataset: oo.Dataset, windows: list[tuple[int, int]], seeds: tuple[int, ...] = (0,)
) -> RunRecord:
    costs = oo.CostModel(slippage_jitter=0.5)
    runs = [oo.run_backtest(dataset, name, each, costs, seed=s, capture=True).record for each in windows for s in seeds]
    return RunRecord.join(name, [run for run in runs if run is not None])


MARKET = oo.Dataset.synthetic(n_symbols=4, n_days=700, seed=3)
WINDOWS = [(19, 359), (358, 699)]
RECORDS = [
    recorded(name, MARKET, WINDOWS, (0, 1)) for name in ("momentum", "mean-reversion", "equal-weight", "hold-cash")
]


def test_records_are_replayed_and_scored() -> None:
    board = oo.score(RECORDS, dataset=MARKET, config=QUICK)
    assert {each.agent_id for each in board.scores} == {"momentum", "mean-reversion", "equal-weight", "hold-cash"}
    for record, each in ((record, board[record.agent_id]) for record in RECORDS):
        # Without trades there is no slippage, so all seeds are equal.
        n_seeds = 1 if record.agent_id == "hold-cash" else 2
        assert (each.digest, each.n_windows, each.n_seeds, each.n_days) == (record.digest, 2, n_seeds, 679)
        assert each.gate("process").passed
        assert each.gate("benchmark").passed
        assert each.verdict == "not_eligible"
        assert each.trials["n_trials"] == 4
    idle = board["hold-cash"]
    assert idle.rank is None
    assert idle.z is None
    assert "low_volatility" in idle.reasons
    assert board.tests["cash"] is not None
    # Equal weight is a benchmark: nothing of it is left that a test could be of.
    assert board.tests["cash"]["n_agents"] == 2
    assert (board["equal-weight"].rank, board["equal-weight"].z) == (None, None)
    assert (board.edition, [*board.tests]) == (3, [*BENCHMARKS])
    assert json.loads(board.text)["scores"][0]["agent_id"] == board.scores[0].agent_id


def test_a_record_of_several_markets_has_a_regression_on_each() -> None:
    other = oo.Dataset.synthetic(n_symbols=2, n_days=400, seed=9)
    both = RunRecord.join("momentum", [recorded("momentum", MARKET, WINDOWS), recorded("momentum", other, [(19, 399)])])
    found = oo.score(both, dataset=[other, MARKET], config=QUICK).scores[0]
    assert sorted(market["n_days"] for market in found.markets) == [379, 679]
    assert found.n_windows == 3
    with pytest.raises(oo.OpenOutcryError, match="dataset") as refused:
        oo.score(both, dataset=MARKET, config=QUICK)
    assert refused.value.slug == "record_differs"


def test_a_board_of_the_first_edition_is_that_of_two_benchmarks_to_the_bit() -> None:
    first = oo.score(RECORDS, dataset=MARKET, config=QUICK | {"edition": 1})
    assert (first.edition, [*first.tests]) == (1, ["buy-and-hold", "cash"])
    assert hashlib.sha256(native.canonicalize(first.text).encode()).hexdigest() == FIRST_EDITION
    assert "edition" not in json.loads(first.text)
    for edition in (0, 4, "2", 1.5):
        with pytest.raises(oo.OpenOutcryError):
            board_of({"a": noise(1)}, config={"edition": edition})


def test_a_board_of_the_second_edition_is_that_of_four_benchmarks_to_the_bit() -> None:
    second = oo.score(RECORDS, dataset=MARKET, config=QUICK | {"edition": 2})
    assert (second.edition, [*second.tests]) == (2, [*BENCHMARKS[:4]])
    assert hashlib.sha256(native.canonicalize(second.text).encode()).hexdigest() == SECOND_EDITION


def test_every_benchmark_of_the_second_edition_is_regressed_out() -> None:
    random = np.random.default_rng(5)
    equal = HELD + 0.002 * random.standard_normal(len(HELD))
    passive = np.array([equal + 0.003 * random.standard_normal(len(HELD)) for _ in range(2)])
    days = noise(1, 2.0) + 0.4 * equal + 0.2 * passive[0]
    found = board_of({"a": days}, equal_weight=equal, passive=passive)["a"]
    assert (found.verdict, found.reasons) == ("unknown", ("no_trace", "no_suite"))
    for name, on in (("buy-and-hold", [HELD]), ("equal-weight", [equal]), ("passive-mix", [HELD, equal, *passive])):
        design = np.column_stack([np.ones_like(HELD), *on])
        slopes = np.linalg.lstsq(design, days, rcond=None)[0][1:]
        rest = days - np.column_stack(on) @ slopes
        side = next(side for side in found.sides if side["name"] == name)
        assert side["mean"] == pytest.approx(rest.mean() * YEAR, rel=1e-9)
        assert side["deflated"]["z"] == pytest.approx(skill.deflate(skill.Moments.of(rest), 1).z, rel=1e-9)
        below = [skill.probabilistic_sharpe(skill.Moments.of(each)) for each in rest.reshape(4, 252)]
        key = f"p_below_{name.replace('-', '_')}"
        assert [each[key] for each in found.windows] == pytest.approx(multiple_testing.holm(np.array(below)))
    assert found.z == min(side["deflated"]["z"] for side in found.sides)


def test_the_past_mix_has_slopes_and_risk_of_earlier_returns() -> None:
    random = np.random.default_rng(6)
    equal = HELD + 0.002 * random.standard_normal(len(HELD))
    days = noise(2, 1.0) + 0.4 * equal
    found = board_of({"a": days}, equal_weight=equal, passive=equal[None])["a"]
    on, rest, seen = np.column_stack([HELD, equal]), np.empty(0), 0
    while seen < len(days):
        known, until = slice(seen or 63), (seen + seen // 4) or 63
        slopes = np.linalg.lstsq(np.column_stack([np.ones_like(HELD), on])[known], days[known], rcond=None)[0][1:]
        rest = np.append(rest, (days - on @ slopes)[seen:until])
        seen = until
    square, overall, scaled = (rest[:63] ** 2).mean(), (rest**2).mean(), []
    for value in rest:
        scaled.append(value / max(np.sqrt(square / overall), 0.3))
        square += 0.067 * (value**2 - square)
    assert found.sides[4]["name"] == "past-mix"
    assert found.sides[4]["mean"] == pytest.approx(np.mean(scaled) * YEAR, rel=1e-8)
    moments = skill.Moments.of(np.array(scaled))
    no_credit = skill.Moments(moments.n_returns, moments.sharpe, min(moments.skew, 0.0), moments.kurtosis)
    assert found.sides[4]["deflated"]["z"] == pytest.approx(skill.deflate(no_credit, 1).z, rel=1e-8)
    board = board_of({"a": days}, equal_weight=equal, passive=equal[None], config=QUICK | {"edition": 2})
    assert (board.edition, board["a"].sides) == (2, found.sides[:4])


def test_a_missing_benchmark_is_a_reason_and_never_left_out() -> None:
    equal = HELD + 1e-3 * np.sin(np.arange(len(HELD)))
    agent = {"a": noise(1, 6.0)}
    for settings in ({}, {"equal_weight": equal}):
        found = board_of(agent, **settings)["a"]
        assert (found.verdict, found.reasons) == ("unknown", ("no_passive", "no_trace", "no_suite"))
        assert found.gate("benchmark").passed is None
        side = next(side for side in found.sides if side["name"] == "passive-mix")
        assert side["mean"] is None
        assert "passive portfolios are required" in side["undefined"]["mean"]
    assert board_of(agent, config=QUICK | {"edition": 1})["a"].gate("benchmark").passed
    wanted = [
        ({"passive": equal}, "`passive` must have `equal_weight` with it"),
        ({"equal_weight": equal, "benchmark": None}, "`equal_weight` must have `benchmark` with it"),
        ({"equal_weight": equal[1:]}, "`equal_weight` must have one return per day"),
        ({"equal_weight": equal, "passive": equal[None, 1:]}, "`passive` must have one return per day"),
    ]
    for settings, message in wanted:
        with pytest.raises(oo.OpenOutcryError) as caught:
            board_of(agent, **settings)
        assert message in str(caught.value)


def test_the_numbers_of_a_score_equal_the_formulas() -> None:
    agents = {"a": noise(1, 1.5) + 0.3 * HELD, "b": noise(2) - 0.2 * HELD, "c": noise(3, -1.0)}
    board = board_of(agents, config=QUICK | {"edition": 1})
    active, cash = [], []
    for name, returns in agents.items():
        design = np.column_stack([np.ones_like(HELD), HELD])
        (alpha, beta), *_ = np.linalg.lstsq(design, returns, rcond=None)
        found = board[name]
        assert found.markets[0]["beta"] == pytest.approx(beta, rel=1e-9)
        assert found.markets[0]["alpha"] == pytest.approx(alpha * YEAR, rel=1e-9)
        active.append(returns - beta * HELD)
        cash.append(returns)
        deflated = [skill.deflate(skill.Moments.of(each), 3) for each in (active[-1], returns)]
        assert [side["deflated"]["z"] for side in found.sides] == pytest.approx([each.z for each in deflated], rel=1e-9)
        assert found.z == pytest.approx(min(each.z for each in deflated), rel=1e-9)
        assert found.dsr == pytest.approx(min(each.dsr for each in deflated), rel=1e-9)
        windows = active[-1].reshape(4, 252)
        below = [skill.probabilistic_sharpe(skill.Moments.of(each)) for each in windows]
        assert [each["p_below_buy_and_hold"] for each in found.windows] == pytest.approx(
            multiple_testing.holm(np.array(below))
        )
    for place, days in enumerate((active, cash)):
        tests = multiple_testing.field_tests(np.column_stack(days), windows=LENGTHS, seed=0, n_draws=199)
        for column, name in enumerate(agents):
            assert board[name].sides[place]["romano_wolf"] == tests.romano_wolf[column]
        result = board.tests[("buy-and-hold", "cash")[place]]
        assert result is not None
        assert result["spa_consistent"] == tests.spa_consistent


def test_returns_alone_are_never_eligible() -> None:
    found = board_of({"a": noise(1, 6.0)})["a"]
    assert (found.verdict, found.reasons, found.rank) == ("unknown", ("no_passive", "no_trace", "no_suite"), 1)
    assert board_of({"a": noise(1, 6.0)}, benchmark=None)["a"].reasons == ("no_benchmark", "no_trace", "no_suite")
    assert board_of({"a": noise(1, 6.0)}, windows=None)["a"].verdict == "insufficient"


def test_a_board_with_fewer_than_two_ranked_agents_says_so() -> None:
    told = board_of({"a": noise(1, 1.0), "still": np.zeros(1_008), "idle": np.zeros(1_008)}).sentence
    assert told == "2 of 3 agents are unranked: a has no agent to be compared with."
    still = {name: np.zeros(len(noise(1, 1.0))) for name in ("a", "b")}
    assert board_of(still).sentence == "2 of 2 agents are unranked: none can be compared."
    assert board_of({"a": noise(1, 1.0)}).sentence == "A comparison needs at least two agents."


def test_seeds_are_rows_and_the_median_seed_determines_the_rank() -> None:
    seeds = np.stack([noise(seed, 1.0) for seed in range(5)])
    found = board_of({"a": seeds})["a"]
    assert found.n_seeds == 5
    assert found.z == sorted(found.seed_z)[2]
    assert board_of({"a": seeds.mean(axis=0)})["a"].z > found.z  # type: ignore[operator]
    assert found.pass_k["rates"] == sorted(found.pass_k["rates"], reverse=True)


def test_a_board_of_tied_agents_states_the_days_needed() -> None:
    config = QUICK | {"gates": {"max_drawdown": 1.0}}
    board = board_of({"a": noise(1, 0.5), "b": noise(2, 0.5), "far": noise(3, -6.0)}, config=config)
    assert [each.rank for each in board.scores] == [1, 1, 3]
    assert board.bands[1] == ("far",)
    assert board.separation is not None
    assert board.separation["n_needed"] > 1_008
    assert "cannot be separated on 1,008 days" in board.sentence
    assert board.power is not None
    assert "best of 3 agents" in board.power["sentence"]
    apart = board_of({"a": noise(1, 4.0), "far": noise(3, -6.0)}, config=config)
    assert apart.sentence == "a is ahead of far."


def test_null_agents_are_reported_and_excluded_from_tests() -> None:
    floor = {f"luck-{seed}": noise(100 + seed) for seed in range(40)}
    board = board_of({"a": noise(1, 2.0)}, luck_floor=floor)
    assert [each.agent_id for each in board.scores] == ["a"]
    assert board.luck_floor is not None
    assert board.luck_floor["n_agents"] == 40
    ratios = [np.mean(each) / np.std(each, ddof=1) * np.sqrt(YEAR) for each in floor.values()]
    assert board.luck_floor["sharpe"]["max"] == pytest.approx(max(ratios))
    assert board["a"].above_luck == pytest.approx(1.0)
    assert board["a"].trials["n_trials"] == 1


def test_a_suite_sets_windows_gates_costs_and_limits() -> None:
    class Protocol:
        def config(self) -> dict[str, Any]:
            keys = [{"dataset": MARKET.fingerprint, "start": start, "end": end} for start, end in WINDOWS]
            return {"windows": keys, "seeds": ["0", "1"], "gates": {"max_drawdown": 0.001}, **QUICK}

        def markets(self) -> list[oo.Dataset]:
            return [MARKET]

        def rules(self) -> tuple[oo.CostModel, oo.Limits]:
            return oo.CostModel(slippage_jitter=0.5), oo.Limits()

        def lookback(self) -> None:
            return None

    found = oo.score(RECORDS, suite=Protocol())["momentum"]
    assert found.gate("windows_present").passed
    assert not found.gate("drawdown").passed
    few = recorded("momentum", MARKET, WINDOWS[:1], (0, 1))
    assert "windows_missing" in oo.score(few, suite=Protocol()).scores[0].reasons
    bound = (
        oo.score(RECORDS, suite=Protocol(), config={"gates": {"max_drawdown": 0.9}})["momentum"].gate("drawdown").bound
    )
    assert bound == 0.9
    cheap = oo.run_backtest(MARKET, "momentum", WINDOWS[0], oo.CostModel(fee_bps=0.0), capture=True).record
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.score([cheap], suite=Protocol())  # type: ignore[list-item]
    assert refused.value.slug == "record_differs"


def test_the_capacity_is_the_nav_with_a_mean_active_return_of_zero() -> None:
    days = 300
    random = np.random.default_rng(4)
    swing = np.where(np.arange(days) % 2 == 0, 0.01, -0.01)
    steps = np.column_stack([swing, np.full(days, 0.0003)]) + 0.001 * random.standard_normal((days, 2))
    close = 100.0 * np.cumprod(1.0 + steps, axis=0)
    dates = np.datetime_as_string(np.datetime64("2020-01-01") + np.arange(days)).tolist()
    plain = oo.Dataset.from_arrays(dates, ["A", "B"], close)
    traded = oo.Dataset.from_arrays(dates, ["A", "B"], close, volume=np.full((days, 2), 1e6))
    weights = np.column_stack([np.where(np.arange(days) % 2 == 1, 0.5, 0.0), np.full(days, 0.4)])
    costs = oo.CostModel(fee_bps=1.0, slippage_bps=0.0, impact_bps=20.0)

    def found(market: oo.Dataset, table: Array = weights) -> tuple[float | None, str]:
        record = oo.run_backtest(market, table, (20, days), costs, capture=True).record
        assert record is not None
        return scorer.capacity(record, market)

    nav, why = found(traded)
    assert why == ""
    assert nav is not None
    record = oo.run_backtest(traded, weights, (20, days), costs, capture=True).record
    assert record is not None
    sizes = [scorer.Submission.at_capital(record._core, [traded._core], each) for each in (nav, 1.02 * nav)]
    above, below = (oo.score(each, config=QUICK).scores[0].sides[0]["mean"] for each in sizes)
    assert above > 0.0 > below
    judged = oo.score(scorer.submit(record, traded, capacity=nav), config=QUICK).scores[0]
    assert judged.diagnostics["capacity"] == nav
    assert found(plain)[0] is None
    assert "costs that grow with size" in found(plain)[1]
    assert "above 0 at a NAV of 1e+06 is required" in found(traded, weights[::-1])[1]


def test_the_json_interface_takes_returns_and_trials() -> None:
    one, many = (json.loads(oo.score_run(noise(1, 2.0).tolist(), n_trials=n)) for n in (0, 1_000))
    assert one["trials"]["n_trials"] == 1
    assert many["trials"]["n_trials"] == 1_000
    assert many["z"] < one["z"]
    assert one["verdict"] == "insufficient"
    assert one["metrics"]["sharpe"] == pytest.approx(np.mean(noise(1, 2.0)) / np.std(noise(1, 2.0), ddof=1) * YEAR**0.5)


def test_every_none_has_a_reason() -> None:
    def walk(value: Any) -> int:
        if isinstance(value, list):
            return sum(map(walk, value))
        if not isinstance(value, dict):
            return 0
        reasons = value.get("undefined", {})
        assert all(value[name] is None and reason for name, reason in reasons.items())
        return len(reasons) + sum(map(walk, value.values()))

    assert walk(json.loads(board_of({"a": noise(1), "idle": np.zeros(1_008)}).text)) > 20


@pytest.mark.parametrize(
    ("call", "slug", "message"),
    [
        (lambda: board_of({"a": [0.1, np.nan] + [0.0] * 1_006}), "submission_invalid", "NaN on day 1 in run 0"),
        (lambda: board_of({"a": np.full(1_008, np.inf)}), "submission_invalid", "inf on day 0"),
        (lambda: board_of({"a": []}), "argument_invalid", "windows"),
        (lambda: board_of({"a": np.full(1_008, -1.5)}), "submission_invalid", "below -1"),
        (lambda: board_of({}), "argument_invalid", "received none"),
        (lambda: board_of({"a": noise(1)}, windows=[500, 500]), "argument_invalid", "a sum of 1,008 days"),
        (lambda: board_of({"a": noise(1)}, benchmark=HELD[1:]), "shape_mismatch", "per day, 1008; received 1007"),
        (lambda: board_of({"a": noise(1)}, config={"gates": {"min_sharpe": 1}}), "argument_invalid", "min_sharpe"),
        (lambda: board_of({"a": noise(1)}, config={"gates": {"level": float("nan")}}), "argument_invalid", "config"),
        (lambda: board_of({"a": ["x"] * 1_008}), "shape_mismatch", "array of numbers"),
        (lambda: board_of({"a": noise(1)}, n_trials=-1), "argument_invalid", "n_trials"),
        (lambda: board_of({3: noise(1)}), "argument_invalid", "agent_id"),  # type: ignore[dict-item]
        (lambda: board_of({"a": noise(1)})["b"], "unknown_agent", "received 'b'"),
        (lambda: board_of({"a": noise(1)})["a"].gate("x"), "argument_invalid", "received 'x'"),
        (lambda: oo.score(RECORDS), "argument_invalid", "required for records; received none"),
        (lambda: oo.score([*RECORDS, RECORDS[0]], dataset=MARKET), "argument_invalid", "twice"),
        (lambda: oo.score_run([]), "submission_invalid", "0 returns"),
    ],
)
def test_invalid_input_is_refused(call: Callable[[], object], slug: str, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        call()
    assert refused.value.slug == slug
    assert message in str(refused.value)


def test_a_changed_record_is_refused() -> None:
    signed = RECORDS[0].sign(bytes(32))
    assert oo.score(signed, dataset=MARKET, config=QUICK).scores[0].digest == RECORDS[0].digest
    text = signed.to_json().replace('"in_sample_trials":0', '"in_sample_trials":1')
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.score(RunRecord.from_json(text), dataset=MARKET)
    assert refused.value.slug == "record_differs"
    free = RECORDS[0].to_json().replace('"fee_bps":', '"fee_bps":1')
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.score(RunRecord.from_json(free), dataset=MARKET)
    assert refused.value.slug == "record_differs"
