"""Attacks that break a rule and hope that nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import (
    Table,
    earned,
    forged,
    holding,
    luckiest,
    noise,
    skilled,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Plan, Try, refusals, refused
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score, submit_returns

FEW = {"draws": {"replicates": 499}}


def _bill(random: np.random.Generator) -> Try:
    """Hold what earns 1 bp a day and moves by 1e-9, and nothing else."""
    moves = 0.0003 + 0.01 * random.standard_normal((1_008, 4))
    moves[:, 0] = 1e-4 + 1e-9 * random.standard_normal(1_008)
    at = stage(random, moves=moves)
    ratio = naive_scorers.sharpe(moves[:, 0])
    board = at.judge(at.record("attacker", holding(at, 1.0, 0.0, 0.0, 0.0)))["attacker"]
    return Try.of(board, ratio > 10.0, ratio, won=board.rank is not None)


def _bill_and_market(random: np.random.Generator) -> Try:
    """Hold the bill, of known rate, with as much of the market as must move."""
    moves = 0.0003 + 0.01 * random.standard_normal((2_016, 4))
    moves[:, 0] = 1e-4 + 1e-9 * random.standard_normal(2_016)
    at = stage(random, n_windows=8, moves=moves, risk_free=np.r_[0.0, np.full(2_016, 1e-4)])
    weights = holding(at, 0.7, 0.1, 0.1, 0.1)
    p = naive_scorers.p_value(earned(at, weights))
    return Try.of(at.judge(at.record("attacker", weights))["attacker"], p < LEVEL, p)


def _best_runs(random: np.random.Generator) -> Try:
    """Leave out the windows that lost, and stop the others where they stood highest."""
    at = stage(random, n_windows=8)
    weights = noise(random, at)[0]
    days = earned(at, weights).reshape(8, -1)
    gained = [place for place in range(8) if days[place].sum() > 0.0] or [0]
    tops = [20 + int(np.argmax(np.cumsum(days[place])[20:])) for place in gained]
    p = naive_scorers.p_value(np.concatenate([days[place][: top + 1] for place, top in zip(gained, tops, strict=True)]))
    whole = tuple(at.windows[place] for place in gained)
    kept = at.judge(at.record("attacker", weights, whole))["attacker"]
    cut = tuple((at.windows[place][0], at.windows[place][0] + top + 2) for place, top in zip(gained, tops, strict=True))
    short = refused(lambda: at.judge(at.record("attacker", weights, cut)))
    # Where each stood highest on its last day there was nothing to cut.
    is_taken = cut != whole and short != "submission_invalid"
    return Try.of(kept, p < LEVEL, p, won=is_taken or (kept.rank is not None and len(gained) < 8))


def _liquidated(random: np.random.Generator) -> Try:
    """Gamble, and when ahead hold so much that the account is closed."""
    at = stage(random, limits=Limits(max_weight=2.0, max_gross=2.0, maintenance_margin=0.55))
    weights = noise(random, at)[0]
    days, before = earned(at, weights), []
    for start, end in at.windows:
        total = np.cumsum(days[start : end - 1])
        top = int(np.argmax(total[20:])) + 20
        before.append(days[start : start + top + 1])
        weights[start + top + 1 : end] = 2.0 / at.dataset.n_symbols
    p = naive_scorers.p_value(np.concatenate(before))
    found = at.judge(at.record("attacker", weights))["attacker"]
    return Try.of(found, p < LEVEL, p, won=found.rank is not None or not found.process["n_terminated"])


def _over_the_mandate(random: np.random.Generator) -> Try:
    """Trade with skill, at three times what may be held."""
    at = stage(random, limits=Limits(max_weight=3.0, max_gross=3.0))
    weights = 2.8 * skilled(random, at)
    p = naive_scorers.p_value(earned(at, weights))
    found = at.judge(at.record("attacker", weights), n_trials=10)["attacker"]
    return Try.of(found, p < LEVEL, p, won=found.rank is not None)


def _faults(random: np.random.Generator) -> Try:
    """Trade with skill, and answer one time in fifty with what is no decision."""
    at = stage(random)
    weights = skilled(random, at)
    weights[::50] = np.nan

    def edit(run: dict[str, Any]) -> None:
        for step in run["steps"]:
            if step["decision"] == '{"orders":[]}':
                step["decision"], step["fault"] = "I would rather not say.", "malformed"

    p = naive_scorers.p_value(earned(at, np.nan_to_num(weights)))
    found = at.judge(forged(at.record("attacker", weights), edit))["attacker"]
    return Try.of(found, p < LEVEL, p, won=found.rank is not None)


def _forged(random: np.random.Generator) -> Try:
    """Write another past, with every link of the chain computed again."""
    at = stage(random, length=40)
    record, clever = at.record("attacker", noise(random, at)[0]), skilled(random, at)
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
    asks: list[Callable[[], Any]] = [
        lambda edit=edit: at.judge(forged(record, edit))  # type: ignore[misc]
        for edit in (decisions, wealth, lookback, hidden, dropped, swapped)
    ]
    asks += [
        lambda: at.judge(cheap.record("attacker", noise(random, at)[0])),
        lambda: at.judge(RunRecord.from_json(record.to_json()[:-40])),
    ]
    p = naive_scorers.p_value(earned(at, clever))
    return refusals(asks, ["record_differs", "record_invalid", "record_unfinished"], p < LEVEL, p)


def _windows(random: np.random.Generator) -> Try:
    """Give windows twice, in another order, overlapping or of one's own choice."""
    at = stage(random, length=63)
    weights, days = luckiest(random, at, 20)
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
    asks: list[Callable[[], Any]] = [
        lambda windows=windows: at.judge(at.record("attacker", weights, windows))  # type: ignore[misc]
        for windows in odd
    ]
    parts = [at.record("attacker", weights, (window,)) for window in (a, b, c, d)]
    asks.append(lambda: at.judge(*parts))
    asks.append(lambda: score(at.record("attacker", weights, odd[3]), dataset=at.dataset))
    p = naive_scorers.p_value(np.tile(days, 4))
    return refusals(asks, ["submission_invalid", "argument_invalid"], p < LEVEL, p)


def _one_seed(random: np.random.Generator) -> Try:
    """Run a window under many keys of the slippage noise, and show the luckiest key."""
    at = stage(random, n_windows=2, length=126)
    at = replace(at, costs=CostModel(slippage_jitter=1.0, slippage_bps=20.0), seeds=(0, 1, 2))
    weights = noise(random, at)[0]
    keys = replace(at, seeds=tuple(range(3, 23)))
    ratios = [naive_scorers.sharpe(each) for each in keys.net(weights)]
    lucky = replace(at, seeds=(keys.seeds[int(np.argmax(ratios))],)).record("attacker", weights)
    part = at.judge(replace(at, seeds=(0,)).record("attacker", weights))["attacker"]
    several = replace(at, seeds=(3, 4)).record("attacker", weights)
    asks: list[Callable[[], Any]] = [lambda: at.judge(lucky), lambda: at.judge(several)]
    gain = max(ratios) - float(np.median(ratios))
    told = refusals(asks, ["submission_invalid"], gain > 0.1, gain)
    return replace(told, won=told.won or part.is_eligible or part.rank is not None)


def _not_numbers(random: np.random.Generator) -> Try:
    """Give returns that are none, weights that are none, and nothing at all."""
    at = stage(random)
    days, bad = 0.01 * random.standard_normal(1_008), [np.nan, np.inf, -np.inf, -1.5, 1e308 * 10.0]
    tracks: list[Any] = [np.where(np.arange(1_008) == 500, value, days) for value in bad]
    tracks += [[], [[]], None, "0.01", np.full(1_008, np.nan), days.astype(complex), [*days[:-1], None]]
    asks: list[Callable[[], Any]] = [
        lambda track=track: score({"attacker": track}, windows=[252] * 4)  # type: ignore[misc]
        for track in tracks
    ]
    asks += [
        lambda: score({}),
        lambda: score([]),
        lambda: score({"attacker": days}, windows=[252] * 4, benchmark=np.full(1_008, np.nan)),
        lambda: score({"attacker": days}, windows=[252] * 4, cash=np.full(1_008, np.inf)),
        lambda: at.judge(at.record("attacker", holding(at, np.inf, 0.0, 0.0, 0.0))),
        lambda: at.judge(RunRecord.join("attacker", [])),
        lambda: score({"": days}, windows=[252] * 4, config={"gates": {"level": float("nan")}}),
    ]
    slugs = ["submission_invalid", "argument_invalid", "shape_mismatch", "weight_not_finite", "record_unfinished"]
    lucky: Table = np.where(days < 0.0, np.nan, days)
    ratio = naive_scorers.sharpe(lucky[np.isfinite(lucky)])
    return refusals(asks, slugs, ratio > 3.0, ratio)


def _lies(random: np.random.Generator) -> Try:
    """Give a benchmark, a cash rate, bars a year or trials of one's own."""
    held = 0.0003 + 0.01 * random.standard_normal(1_008)
    honest = submit_returns("honest", held + 0.01 * random.standard_normal(1_008), windows=[252] * 4, benchmark=held)
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

    def ask(lie: dict[str, Any]) -> Callable[[], Any]:
        return lambda: score([honest, submit_returns("attacker", own, windows=[252] * 4, **lie)], config=FEW)

    p = naive_scorers.p_value(own - bad)
    return refusals([ask(lie) for lie in lies], ["rules_differ", "argument_invalid"], p < LEVEL, p)


def _names(random: np.random.Generator) -> Try:
    """Take the name of another, or of an agent of the luck floor, which is in no test."""
    at = stage(random, length=63)
    weights, days = luckiest(random, at, 20)
    without = noise(random, at, 3)
    record = at.record("luck-000", weights)
    floor = [at.record(f"luck-{place:03}", each) for place, each in enumerate(without)]
    asks: list[Callable[[], Any]] = [
        lambda: at.judge(record, luck_floor=floor),
        lambda: at.judge(record, record),
        lambda: at.judge(record, RunRecord.join("luck-000", [floor[1]])),
    ]
    board = {f"luck-{place:03}": naive_scorers.sharpe(earned(at, each)) for place, each in enumerate(without)}
    before = board["luck-000"]
    board["luck-000"] = naive_scorers.sharpe(days)
    return refusals(asks, ["argument_invalid"], board["luck-000"] > before, board["luck-000"] - before)


def _strange(random: np.random.Generator) -> Try:
    """Give returns too small for a square, and a ruin with a rise after it."""
    held = 0.01 * random.standard_normal(1_008)
    days = 0.002 + 0.01 * random.standard_normal(1_008)
    risen = days.copy()
    risen[5] = -1.0
    tracks = {"small": days * 1e-310, "risen": risen, "still": np.zeros(1_008), "one-day": np.eye(1, 1_008)[0] * 9.0}
    board = score(tracks, windows=[252] * 4, benchmark=held, config=FEW)
    passed = [each for each in board.scores if set(each.reasons) <= {"no_trace", "no_suite"} or each.rank is not None]
    ratio = naive_scorers.sharpe(days * 1e-150)
    return Try.of(board["small"], ratio > 1.0, ratio, won=any(each.agent_id != "one-day" for each in passed))


PLANS = (
    Plan("near-zero-volatility", "holds a bill that earns 1 bp a day and moves by 1e-9", "Sharpe ratio", _bill),
    Plan("bill-and-market", "the same with enough of the market to move, the bill's rate being known",
         "p of a t-test", _bill_and_market, is_luck=True),
    Plan("best-runs", "leaves out the windows that lost, and ends the others at their tops",
         "p of a t-test on what is left", _best_runs),
    Plan("early-end", "has its account closed when it is ahead", "p of a t-test until then", _liquidated),
    Plan("over-the-mandate", "has skill, at 2.8 of NAV", "p of a t-test", _over_the_mandate),
    Plan("no-decisions", "has skill, and 2 % of its answers are no decisions", "p of a t-test", _faults),
    Plan("forged-past", "decisions, wealth and rules changed afterwards, all links computed again",
         "p of a t-test of what it says", _forged),
    Plan("windows", "windows twice, in another order, overlapping or of its own choice", "p of a t-test on all given",
         _windows),
    Plan("one-seed", "shows one key of the slippage noise, of many",
         "Sharpe ratio of the luckiest of 20 keys above the middle", _one_seed),
    Plan("no-numbers", "NaN, infinity, returns below -1, nothing", "Sharpe ratio of what is finite", _not_numbers),
    Plan("flattering-benchmark", "brings its own benchmark, cash, bars a year and trials", "p of a t-test over it",
         _lies),
    Plan("names", "takes the name of another, or of the luck floor", "Sharpe ratio put under the name", _names),
    Plan("strange-returns", "returns of 1e-310, and -100 % with a rise after it", "Sharpe ratio", _strange),
)  # fmt: skip
"""Attacks that break a rule."""
