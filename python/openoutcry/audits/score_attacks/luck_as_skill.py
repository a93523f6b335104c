"""Attacks that show luck as skill, and agents with skill beside them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from openoutcry import data
from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import (
    YEAR,
    Stage,
    Table,
    earned,
    holding,
    luckiest,
    noise,
    skilled,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Plan, Try
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score
from openoutcry.scoring.verdict import Score

N_MINED = 1_000


def _judged(at: Stage, weights: Table, fooled: bool, number: float, n_trials: int = 0) -> Try:
    board = at.judge(at.record("attacker", weights), n_trials=n_trials)
    return Try.of(board["attacker"], fooled, number)


def _skill(random: np.random.Generator) -> Try:
    at = stage(random)
    weights = skilled(random, at)
    p = naive_scorers.p_value(earned(at, weights))
    return _judged(at, weights, p < LEVEL, p, N_MINED)


def _skill_alone(random: np.random.Generator) -> Try:
    at = stage(random, n_windows=8, length=YEAR // 2)
    weights = skilled(random, at, 0.57)
    p = naive_scorers.p_value(earned(at, weights))
    return _judged(at, weights, p < LEVEL, p)


def _copies(random: np.random.Generator) -> Try:
    at = stage(random)
    lucky, days = luckiest(random, at, 100)
    ledger = [naive_scorers.sharpe(each) / np.sqrt(YEAR) for each in earned(at, noise(random, at, 99))]
    own, n_trials = naive_scorers.sharpe(days) / np.sqrt(YEAR), 100_000
    spread = float(np.std([*ledger, *[own] * (n_trials - 99)], ddof=1))
    told = naive_scorers.deflated(days, n_trials, spread)
    honest = at.submit(at.record("honest", skilled(random, at)))
    record = at.record("copy", lucky)
    copies = [at.submit(RunRecord.join(f"copy-{place:02}", [record])) for place in range(20)]
    config = {"trials": {"n_trials": n_trials, "spread": spread}}
    before, after = at.judge(honest, copies[0], config=config), at.judge(honest, *copies, config=config)
    ranked = [each.agent_id for each in after.scores if each.rank is not None]
    is_same = _told(before["honest"]) == _told(after["honest"])
    lifted = not is_same or ranked != ["honest"] or any(each.agent_id != "honest" for each in after.eligible)
    return Try.of(after["copy-19"], told >= 1.0 - LEVEL, told, won=lifted)


def _told(each: Score) -> tuple[object, ...]:
    return each.rank, each.z, each.verdict, *(side["romano_wolf"] for side in each.sides)


def _crowd(random: np.random.Generator) -> Try:
    """Try to take an honest agent's place by filling the board with wild agents."""
    at = stage(random, limits=Limits(max_weight=2.0, max_gross=2.0))
    weights = skilled(random, at, 0.56)
    honest, days = at.submit(at.record("honest", weights)), earned(at, weights)
    sides = 1.9 * np.sign(noise(random, at, 4)) * np.eye(4)[:, None, :]
    wild = [at.submit(at.record(f"wild-{place}", each)) for place, each in enumerate(sides)]
    alone, board = at.judge(honest, n_trials=100)["honest"], at.judge(*wild, honest, n_trials=100)
    among = board["honest"]
    errors = earned(at, sides).std(axis=1) / np.sqrt(len(days))
    p = 1.0 - float(np.prod([NormalDist().cdf(days.mean() / error) for error in errors]))
    lowered = among.rank != 1 or (alone.z, alone.verdict) != (among.z, among.verdict)
    return Try.of(board["wild-0"], p > LEVEL, p, won=lowered)


def _mined(random: np.random.Generator) -> Try:
    at = stage(random)
    weights, days = luckiest(random, at, N_MINED)
    p = naive_scorers.p_value(days)
    return _judged(at, weights, p < LEVEL, p, N_MINED)


def _hidden(random: np.random.Generator) -> Try:
    """Choose among many on a public market, and be judged on a sealed one."""
    public = stage(random)
    weights, days = luckiest(random, public, N_MINED)
    p = naive_scorers.p_value(days)
    return _judged(stage(random), weights, p < LEVEL, p)


def _hindsight(random: np.random.Generator) -> Try:
    """Know every price of three public windows, and nothing of eight sealed ones."""
    at = replace(stage(random, n_windows=11, length=YEAR // 2), n_public=3)
    weights, last = noise(random, at)[0], at.windows[at.n_public - 1][1]
    weights[:last] = skilled(random, at, 0.8)[:last]
    p = naive_scorers.p_value(earned(at, weights))
    return _judged(at, weights, p < LEVEL, p)


def _own_windows(random: np.random.Generator) -> Try:
    """Run 24 windows, hand in the best eight, and name no suite."""
    at = stage(random, n_windows=24, length=YEAR // 2)
    weights = noise(random, at)[0]
    days = earned(at, weights).reshape(24, -1)
    won = np.sort(np.argsort(days.sum(axis=1))[-8:])
    p = naive_scorers.p_value(days[won].ravel())
    record = at.record("attacker", weights, tuple(at.windows[place] for place in won))
    return Try.of(score(record, dataset=at.dataset)["attacker"], p < LEVEL, p)


def _one_window(random: np.random.Generator) -> Try:
    at = stage(random)
    first = slice(0, YEAR)
    weights, days = luckiest(random, at, 200, first)
    p = naive_scorers.p_value(days[first])
    part = at.judge(at.record("part", weights, at.windows[:1]))["part"]
    alone = Stage(at.dataset, at.windows[:1], at.costs, at.limits)
    short = alone.judge(alone.record("alone", weights))["alone"]
    return Try.of(short, p < LEVEL, p, won=part.is_eligible or part.rank is not None)


def _one_of_eight(random: np.random.Generator) -> Try:
    at = stage(random, n_windows=8)
    first = slice(0, YEAR)
    weights, days = luckiest(random, at, 200, first)
    weights[YEAR:] *= 0.1
    p = naive_scorers.p_value(days[first])
    return _judged(at, weights, p < LEVEL, p)


def _stopped(random: np.random.Generator) -> Try:
    """Trade until a test that may look once, and looks every day, says skill."""
    at = stage(random, n_windows=8)
    weights = noise(random, at)[0]
    moves, total, square, since, best = at.returns(), 0.0, 0.0, 0.0, 0.0
    for day in range(len(moves)):
        since = 0.0 if day % YEAR == 0 else since
        if best > 1.9:
            weights[day] *= 0.0 if since > 0.0 else 0.3
        gain = float(weights[day] @ moves[day])
        total, square, since = total + gain, square + gain * gain, since + gain
        if day >= 40:
            best = max(best, total / np.sqrt(square))
    return _judged(at, weights, best > 1.645, best)


def _doubling(random: np.random.Generator) -> Try:
    """Double after each loss: small gains in most rounds, paid for in a few."""
    at = stage(random, n_windows=8)
    moves = at.returns()[:, 0]
    weights = np.zeros((at.dataset.n_bars, at.dataset.n_symbols))
    stake, since = 1.0 / 16.0, 0.0
    gains = []
    for day in range(len(moves)):
        weights[day, 0] = stake
        since += stake * moves[day]
        if since > 0.0 or day % 21 == 20:
            gains.append(since)
            stake, since = 1.0 / 16.0, 0.0
        else:
            stake = min(2.0 * stake, 1.0)
    won = float(np.mean(np.array(gains) > 0.0))
    return _judged(at, weights, won > 0.8, won)


def _tail(random: np.random.Generator) -> Try:
    """Sell insurance at its fair price: one day of 250 loses a fifth."""
    n_days, chance, loss = 4 * YEAR, 1.0 / 250.0, 0.2
    moves = 0.01 * random.standard_normal((n_days, 4))
    moves[:, 0] = chance * loss / (1.0 - chance) + 0.0002 * random.standard_normal(n_days)
    moves[random.random(n_days) < chance, 0] = -loss
    at = stage(random, moves=moves)
    share = float(np.mean(moves[:, 0] > 0.0))
    return _judged(at, holding(at, 1.0, 0.0, 0.0, 0.0), share > 0.9, share)


def _levered(random: np.random.Generator) -> Try:
    """Buy 1.9 of the market at the start of each window while it rises, and hold it."""
    at = stage(random, n_windows=8, drift=0.0008, limits=Limits(max_weight=2.0, max_gross=2.0))
    weights = np.full((at.dataset.n_bars, at.dataset.n_symbols), np.nan)
    for start, _ in at.windows:
        weights[start] = 1.9 / at.dataset.n_symbols
    p = naive_scorers.p_value(0.9 * at.returns().mean(axis=1))
    return _judged(at, weights, p < LEVEL, p)


def _bond(_: np.random.Generator) -> Try:
    """Hold one bond of a market that knows the bill's rate."""
    bonds = data.load("us-treasury")
    edges = [(bonds.n_bars - 1) * place // 8 for place in range(9)]
    windows = tuple((first, last + 1) for first, last in pairwise(edges))
    at = Stage(bonds, windows, CostModel(), Limits())
    weights = holding(at, *np.eye(bonds.n_symbols)[1])
    found = at.judge(at.record("UST2Y", weights), n_trials=bonds.n_symbols)["UST2Y"]
    ratio = naive_scorers.sharpe(earned(at, weights))
    return Try.of(found, ratio > 1.0, ratio)


PLANS = (
    Plan("skill-among-many", "calls 60 % of all moves; a ledger counted 1,000 trials", "p of a t-test", _skill,
         is_control=True),
    Plan("skill-alone", "calls 57 % of all moves; eight windows, no other trial", "p of a t-test", _skill_alone,
         is_control=True),
    Plan("copies", "20 copies of the luckiest of 100, and 99,900 in the ledger",
         "deflated ratio by the ledger's spread", _copies),
    Plan("mined-noise", "the luckiest of 1,000 agents that know nothing", "p of a t-test", _mined, is_luck=True),
    Plan("hidden-trials", "the same, counted by nobody, on a market that was sealed when it was chosen",
         "p of a t-test where it was chosen", _hidden, is_luck=True),
    Plan("public-hindsight", "knows the prices of three public windows, and nothing of eight sealed ones",
         "p of a t-test on all windows", _hindsight, is_luck=True),
    Plan("own-windows", "hands in the best eight of 24 windows, under no suite", "p of a t-test on what is given",
         _own_windows),
    Plan("one-window", "the luckiest of 200 in one window, which alone is submitted", "p of a t-test on that window",
         _one_window),
    Plan("one-of-eight", "the same, with a tenth of the stake in seven other windows", "p of a t-test on that window",
         _one_of_eight, is_luck=True),
    Plan("stop-when-ahead", "trades until the test says skill, then hardly", "z on the best day to look", _stopped,
         is_luck=True),
    Plan("doubling", "doubles after each loss, and starts again after a gain", "share of rounds won", _doubling,
         is_luck=True),
    Plan("tail-risk", "sells insurance at its fair price", "share of days won", _tail, is_luck=True),
    Plan("levered-market", "holds the market 1.9 times while it rises", "p of a t-test of the gain on the market",
         _levered, is_luck=True),
    Plan("two-year-bond", "holds the bond of two years, one of six, for 27 years", "Sharpe ratio", _bond,
         is_fixed=True),
    Plan("crowd", "fills the board with wild agents to lower an honest one",
         "p among others, whose errors are not divided by their own", _crowd),
)  # fmt: skip
"""Attacks by luck, and agents with skill."""
