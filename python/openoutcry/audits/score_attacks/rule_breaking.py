"""Attacks that violate a rule of the competition."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import (
    Table,
    constant_weights,
    daily_returns,
    forged,
    luckiest_agent,
    random_weights,
    skilled_weights,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Outcome, Plan, refusals, refused
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score, submit_returns

FEW = {"draws": {"replicates": 499}}


def _bill(random: np.random.Generator) -> Outcome:
    """Hold only a bill that earns 1 bp per day with a volatility of 1e-9."""
    moves = 0.0003 + 0.01 * random.standard_normal((1_008, 4))
    moves[:, 0] = 1e-4 + 1e-9 * random.standard_normal(1_008)
    at = stage(random, moves=moves)
    ratio = naive_scorers.sharpe(moves[:, 0])
    board = at.judge(at.record("attacker", constant_weights(at, 1.0, 0.0, 0.0, 0.0)))["attacker"]
    return Outcome.of(board, ratio > 10.0, ratio, won=board.rank is not None)


def _bill_and_market(random: np.random.Generator) -> Outcome:
    """Hold the bill with a known rate, and enough of the market to move."""
    moves = 0.0003 + 0.01 * random.standard_normal((2_016, 4))
    moves[:, 0] = 1e-4 + 1e-9 * random.standard_normal(2_016)
    at = stage(random, n_windows=8, moves=moves, risk_free=np.r_[0.0, np.full(2_016, 1e-4)])
    weights = constant_weights(at, 0.7, 0.1, 0.1, 0.1)
    p = naive_scorers.p_value(daily_returns(at, weights))
    return Outcome.of(at.judge(at.record("attacker", weights))["attacker"], p < LEVEL, p)


def _best_runs(random: np.random.Generator) -> Outcome:
    """Omit losing windows, and end the others at their highs."""
    at = stage(random, n_windows=8)
    weights = random_weights(random, at)[0]
    days = daily_returns(at, weights).reshape(8, -1)
    gained = [place for place in range(8) if days[place].sum() > 0.0] or [0]
    tops = [20 + int(np.argmax(np.cumsum(days[place])[20:])) for place in gained]
    p = naive_scorers.p_value(np.concatenate([days[place][: top + 1] for place, top in zip(gained, tops, strict=True)]))
    whole = tuple(at.windows[place] for place in gained)
    kept = at.judge(at.record("attacker", weights, whole))["attacker"]
    cut = tuple((at.windows[place][0], at.windows[place][0] + top + 2) for place, top in zip(gained, tops, strict=True))
    short = refused(lambda: at.judge(at.record("attacker", weights, cut)))
    # If each window had its high on the last day, nothing was cut.
    is_taken = cut != whole and short != "submission_invalid"
    return Outcome.of(kept, p < LEVEL, p, won=is_taken or (kept.rank is not None and len(gained) < 8))


def _liquidated(random: np.random.Generator) -> Outcome:
    """Gamble, and when ahead exceed the margin so that the account is closed."""
    at = stage(random, limits=Limits(max_weight=2.0, max_gross=2.0, maintenance_margin=0.55))
    weights = random_weights(random, at)[0]
    days, before = daily_returns(at, weights), []
    for start, end in at.windows:
        total = np.cumsum(days[start : end - 1])
        top = int(np.argmax(total[20:])) + 20
        before.append(days[start : start + top + 1])
        weights[start + top + 1 : end] = 2.0 / at.dataset.n_symbols
    p = naive_scorers.p_value(np.concatenate(before))
    found = at.judge(at.record("attacker", weights))["attacker"]
    return Outcome.of(found, p < LEVEL, p, won=found.rank is not None or not found.process["n_terminated"])


def _over_the_mandate(random: np.random.Generator) -> Outcome:
    """Trade with skill, at three times the allowed exposure."""
    at = stage(random, limits=Limits(max_weight=3.0, max_gross=3.0))
    weights = 2.8 * skilled_weights(random, at)
    p = naive_scorers.p_value(daily_returns(at, weights))
    found = at.judge(at.record("attacker", weights), n_trials=10)["attacker"]
    return Outcome.of(found, p < LEVEL, p, won=found.rank is not None)


def _faults(random: np.random.Generator) -> Outcome:
    """Trade with skill, with an invalid decision every fifty bars."""
    at = stage(random)
    weights = skilled_weights(random, at)
    weights[::50] = np.nan

    def edit(run: dict[str, Any]) -> None:
        for step in run["steps"]:
            if step["decision"] == '{"orders":[]}':
                step["decision"], step["fault"] = "I would rather not say.", "malformed"

    p = naive_scorers.p_value(daily_returns(at, np.nan_to_num(weights)))
    found = at.judge(forged(at.record("attacker", weights), edit))["attacker"]
    return Outcome.of(found, p < LEVEL, p, won=found.rank is not None)


def _forged(random: np.random.Generator) -> Outcome:
    """Forge decisions, NAV and rules, with a recomputed hash chain."""
    at = stage(random, length=40)
    record, clever = at.record("attacker", random_weights(random, at)[0]), skilled_weights(random, at)
    better = at.record("attacker", clever)

    def decisions(run: dict[str, Any]) -> None:
        start = run["header"]["window"]["start"]
        others = next(each for each, (first, _) in zip(better.decisions, at.windows, strict=True) if first == start)
        for step, other in zip(run["steps"], others, strict=True):
            step["decision"] = other

    def wealth(run: dict[str, Any]) -> None:
        run["end"]["nav"] *= 2.0

    def lookback(run: dict[str, Any]) -> None:
        run["header"]["lookback"] = 21

    def hidden(run: dict[str, Any]) -> None:
        run["steps"][5]["fault"] = "bad_luck"

    def dropped(run: dict[str, Any]) -> None:
        del run["steps"][7]

    def swapped(run: dict[str, Any]) -> None:
        run["steps"][7:9] = run["steps"][8], run["steps"][7]

    cheap = replace(at, limits=Limits(max_gross=2.0, max_weight=2.0))
    calls: list[Callable[[], Any]] = [
        lambda edit=edit: at.judge(forged(record, edit))  # type: ignore[misc]
        for edit in (decisions, wealth, lookback, hidden, dropped, swapped)
    ]
    calls += [
        lambda: at.judge(cheap.record("attacker", random_weights(random, at)[0])),
        lambda: at.judge(RunRecord.from_json(record.to_json()[:-40])),
    ]
    p = naive_scorers.p_value(daily_returns(at, clever))
    return refusals(calls, ["record_differs", "record_invalid", "record_unfinished"], p < LEVEL, p)


def _windows(random: np.random.Generator) -> Outcome:
    """Submit windows twice, out of order, overlapping or chosen by the agent."""
    at = stage(random, length=63)
    weights, days = luckiest_agent(random, at, 20)
    a, b, c, d = at.windows
    odd: list[tuple[tuple[int, int], ...]] = [
        (b, a, c, d),
        (a, b, c, d, d),
        (a, (b[0] - 1, b[1]), c, d),
        (a, (b[0] - 30, b[1] - 30), c, d),
        (a, b, c, (d[0], d[1] - 1)),
        (a, b, c, (d[0] - 1, d[1])),
        ((a[0], b[1]), c, d),
    ]
    calls: list[Callable[[], Any]] = [
        lambda windows=windows: at.judge(at.record("attacker", weights, windows))  # type: ignore[misc]
        for windows in odd
    ]
    parts = [at.record("attacker", weights, (window,)) for window in (a, b, c, d)]
    calls.append(lambda: at.judge(*parts))
    calls.append(lambda: score(at.record("attacker", weights, odd[3]), dataset=at.dataset))
    p = naive_scorers.p_value(np.tile(days, 4))
    return refusals(calls, ["submission_invalid", "argument_invalid"], p < LEVEL, p)


def _one_seed(random: np.random.Generator) -> Outcome:
    """Run under many keys of the slippage noise, and submit the luckiest key."""
    at = stage(random, n_windows=2, length=126)
    at = replace(at, costs=CostModel(slippage_jitter=1.0, slippage_bps=20.0), seeds=(0, 1, 2))
    weights = random_weights(random, at)[0]
    keys = replace(at, seeds=tuple(range(3, 23)))
    ratios = [naive_scorers.sharpe(each) for each in keys.net(weights)]
    lucky = replace(at, seeds=(keys.seeds[int(np.argmax(ratios))],)).record("attacker", weights)
    part = at.judge(replace(at, seeds=(0,)).record("attacker", weights))["attacker"]
    several = replace(at, seeds=(3, 4)).record("attacker", weights)
    calls: list[Callable[[], Any]] = [lambda: at.judge(lucky), lambda: at.judge(several)]
    gain = max(ratios) - float(np.median(ratios))
    outcome = refusals(calls, ["submission_invalid"], gain > 0.1, gain)
    return replace(outcome, won=outcome.won or part.is_eligible or part.rank is not None)


def _not_numbers(random: np.random.Generator) -> Outcome:
    """Submit NaN and infinite returns, invalid weights, and nothing."""
    at = stage(random)
    days, bad = 0.01 * random.standard_normal(1_008), [np.nan, np.inf, -np.inf, -1.5, 1e308 * 10.0]
    series: list[Any] = [np.where(np.arange(1_008) == 500, value, days) for value in bad]
    series += [[], [[]], None, "0.01", np.full(1_008, np.nan), days.astype(complex), [*days[:-1], None]]
    calls: list[Callable[[], Any]] = [
        lambda returns=returns: score({"attacker": returns}, periods_per_year=252, windows=[252] * 4)  # type: ignore[misc]
        for returns in series
    ]
    calls += [
        lambda: score({}),
        lambda: score([]),
        lambda: score({"attacker": days}, periods_per_year=252, windows=[252] * 4, benchmark=np.full(1_008, np.nan)),
        lambda: score({"attacker": days}, periods_per_year=252, windows=[252] * 4, cash=np.full(1_008, np.inf)),
        lambda: at.judge(at.record("attacker", constant_weights(at, np.inf, 0.0, 0.0, 0.0))),
        lambda: at.judge(RunRecord.join("attacker", [])),
        lambda: score({"": days}, periods_per_year=252, windows=[252] * 4, config={"gates": {"level": float("nan")}}),
    ]
    slugs = ["submission_invalid", "argument_invalid", "shape_mismatch", "weight_not_finite", "record_unfinished"]
    lucky: Table = np.where(days < 0.0, np.nan, days)
    ratio = naive_scorers.sharpe(lucky[np.isfinite(lucky)])
    return refusals(calls, slugs, ratio > 3.0, ratio)


def _lies(random: np.random.Generator) -> Outcome:
    """Supply a flattering benchmark, cash rate, periods per year or trial count."""
    held = 0.0003 + 0.01 * random.standard_normal(1_008)
    honest = submit_returns(
        "honest", held + 0.01 * random.standard_normal(1_008), periods_per_year=252, windows=[252] * 4, benchmark=held
    )
    own = 0.01 * random.standard_normal(1_008)
    bad = own - 0.0003 + 0.001 * random.standard_normal(1_008)
    lies: list[dict[str, Any]] = [
        {"benchmark": bad},
        {"benchmark": bad, "cash": np.full(1_008, -0.01)},
        {"benchmark": held, "cash": np.full(1_008, -0.01)},
        {"benchmark": None},
        {"benchmark": held, "periods_per_year": 1e6},
        {"benchmark": held, "in_sample_trials": -1},
        {"benchmark": held, "in_sample_trials": 2**53},
    ]

    def submission(lie: dict[str, Any]) -> Callable[[], Any]:
        terms: dict[str, Any] = {"periods_per_year": 252, "windows": [252] * 4} | lie

        def attempt() -> Any:
            # An attacker ignores that the volatility is implausible.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attacker = submit_returns("attacker", own, **terms)
            return score([honest, attacker], config=FEW)

        return attempt

    p = naive_scorers.p_value(own - bad)
    return refusals([submission(lie) for lie in lies], ["rules_differ", "argument_invalid"], p < LEVEL, p)


def _names(random: np.random.Generator) -> Outcome:
    """Use the name of another agent, or of a null agent, which is not tested."""
    at = stage(random, length=63)
    weights, days = luckiest_agent(random, at, 20)
    without = random_weights(random, at, 3)
    record = at.record("luck-000", weights)
    floor = [at.record(f"luck-{place:03}", each) for place, each in enumerate(without)]
    calls: list[Callable[[], Any]] = [
        lambda: at.judge(record, luck_floor=floor),
        lambda: at.judge(record, record),
        lambda: at.judge(record, RunRecord.join("luck-000", [floor[1]])),
    ]
    board = {f"luck-{place:03}": naive_scorers.sharpe(daily_returns(at, each)) for place, each in enumerate(without)}
    before = board["luck-000"]
    board["luck-000"] = naive_scorers.sharpe(days)
    return refusals(calls, ["argument_invalid"], board["luck-000"] > before, board["luck-000"] - before)


def _strange(random: np.random.Generator) -> Outcome:
    """Submit returns whose squares underflow, and a ruin followed by a gain."""
    held = 0.01 * random.standard_normal(1_008)
    days = 0.002 + 0.01 * random.standard_normal(1_008)
    risen = days.copy()
    risen[5] = -1.0
    series = {"small": days * 1e-310, "risen": risen, "still": np.zeros(1_008), "one-day": np.eye(1, 1_008)[0] * 9.0}
    board = score(series, periods_per_year=252, windows=[252] * 4, benchmark=held, config=FEW)
    passed = [each for each in board.scores if set(each.reasons) <= {"no_trace", "no_suite"} or each.rank is not None]
    ratio = naive_scorers.sharpe(days * 1e-150)
    return Outcome.of(board["small"], ratio > 1.0, ratio, won=any(each.agent_id != "one-day" for each in passed))


PLANS = (
    Plan("near-zero-volatility", "holds a bill that earns 1 bp per day with a volatility of 1e-9", "Sharpe ratio",
         _bill),
    Plan("bill-and-market", "the same plus enough of the market to move, with a known bill rate",
         "p of a t-test", _bill_and_market, is_luck=True),
    Plan("best-runs", "omits losing windows, and ends the others at their highs",
         "p of a t-test on the rest", _best_runs),
    Plan("early-end", "has its account closed when it is ahead", "p of a t-test until then", _liquidated),
    Plan("over-the-mandate", "has skill, at 2.8 of NAV", "p of a t-test", _over_the_mandate),
    Plan("no-decisions", "has skill, and 2 % of its decisions are invalid", "p of a t-test", _faults),
    Plan("forged-past", "decisions, NAV and rules changed afterwards, with a recomputed hash chain",
         "p of a t-test on the forged NAV", _forged),
    Plan("windows", "windows twice, out of order, overlapping or chosen by the agent",
         "p of a t-test on the submission", _windows),
    Plan("one-seed", "submits one of many keys of the slippage noise",
         "Sharpe ratio of the luckiest of 20 keys above the median", _one_seed),
    Plan("no-numbers", "NaN, infinity, returns below -1, nothing", "Sharpe ratio of the finite values", _not_numbers),
    Plan("flattering-benchmark", "supplies its own benchmark, cash, periods per year and trials",
         "p of a t-test over it", _lies),
    Plan("names", "uses the name of another agent or of a null agent", "Sharpe ratio under that name", _names),
    Plan("strange-returns", "returns of 1e-310, and -100 % followed by a gain", "Sharpe ratio", _strange),
)  # fmt: skip
"""Attacks that violate a rule."""
