"""Attacks that present luck as skill, and honest agents with skill."""

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
    constant_weights,
    daily_returns,
    luckiest_agent,
    random_weights,
    skilled_weights,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Outcome, Plan
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring import skill
from openoutcry.scoring.scorer import score
from openoutcry.scoring.verdict import Score

N_MINED = 1_000


def _outcome(at: Stage, weights: Table, fooled: bool, number: float, n_trials: int = 0) -> Outcome:
    board = at.judge(at.record("attacker", weights), n_trials=n_trials)
    return Outcome.of(board["attacker"], fooled, number)


def _skill(random: np.random.Generator) -> Outcome:
    at = stage(random)
    weights = skilled_weights(random, at)
    p = naive_scorers.p_value(daily_returns(at, weights))
    return _outcome(at, weights, p < LEVEL, p, N_MINED)


def _skill_alone(random: np.random.Generator) -> Outcome:
    at = stage(random, n_windows=8, length=YEAR // 2)
    weights = skilled_weights(random, at, 0.57)
    p = naive_scorers.p_value(daily_returns(at, weights))
    return _outcome(at, weights, p < LEVEL, p)


def _copies(random: np.random.Generator) -> Outcome:
    at = stage(random)
    lucky, days = luckiest_agent(random, at, 100)
    ledger = [naive_scorers.sharpe(each) / np.sqrt(YEAR) for each in daily_returns(at, random_weights(random, at, 99))]
    own, n_trials = naive_scorers.sharpe(days) / np.sqrt(YEAR), 100_000
    spread = float(np.std([*ledger, *[own] * (n_trials - 99)], ddof=1))
    deflated = naive_scorers.deflated(days, n_trials, spread)
    honest = at.submit(at.record("honest", skilled_weights(random, at)))
    record = at.record("copy", lucky)
    copies = [at.submit(RunRecord.join(f"copy-{place:02}", [record])) for place in range(20)]
    config = {"trials": {"n_trials": n_trials, "spread": spread}}
    before, after = at.judge(honest, copies[0], config=config), at.judge(honest, *copies, config=config)
    ranked = [each.agent_id for each in after.scores if each.rank is not None]
    is_same = _result(before["honest"]) == _result(after["honest"])
    lifted = not is_same or ranked != ["honest"] or any(each.agent_id != "honest" for each in after.eligible)
    return Outcome.of(after["copy-19"], deflated >= 1.0 - LEVEL, deflated, won=lifted)


def _result(each: Score) -> tuple[object, ...]:
    return each.rank, each.z, each.verdict, *(side["romano_wolf"] for side in each.sides)


def _crowd(random: np.random.Generator) -> Outcome:
    """Add volatile agents to the board to lower an honest one."""
    at = stage(random, limits=Limits(max_weight=2.0, max_gross=2.0))
    weights = skilled_weights(random, at, 0.56)
    honest, days = at.submit(at.record("honest", weights)), daily_returns(at, weights)
    sides = 1.9 * np.sign(random_weights(random, at, 4)) * np.eye(4)[:, None, :]
    wild = [at.submit(at.record(f"wild-{place}", each)) for place, each in enumerate(sides)]
    alone, board = at.judge(honest, n_trials=100)["honest"], at.judge(*wild, honest, n_trials=100)
    among = board["honest"]
    errors = daily_returns(at, sides).std(axis=1) / np.sqrt(len(days))
    p = 1.0 - float(np.prod([NormalDist().cdf(days.mean() / error) for error in errors]))
    lowered = among.rank != 1 or (alone.z, alone.verdict) != (among.z, among.verdict)
    return Outcome.of(board["wild-0"], p > LEVEL, p, won=lowered)


def _mined(random: np.random.Generator) -> Outcome:
    at = stage(random)
    weights, days = luckiest_agent(random, at, N_MINED)
    p = naive_scorers.p_value(days)
    return _outcome(at, weights, p < LEVEL, p, N_MINED)


def _hidden(random: np.random.Generator) -> Outcome:
    """Select among many on a public market, and submit on a sealed one."""
    public = stage(random)
    weights, days = luckiest_agent(random, public, N_MINED)
    p = naive_scorers.p_value(days)
    return _outcome(stage(random), weights, p < LEVEL, p)


def _hindsight(random: np.random.Generator) -> Outcome:
    """Know the prices of three public windows, but not of eight sealed ones."""
    at = replace(stage(random, n_windows=11, length=YEAR // 2), n_public=3)
    weights, last = random_weights(random, at)[0], at.windows[at.n_public - 1][1]
    weights[:last] = skilled_weights(random, at, 0.8)[:last]
    p = naive_scorers.p_value(daily_returns(at, weights))
    return _outcome(at, weights, p < LEVEL, p)


def _own_windows(random: np.random.Generator) -> Outcome:
    """Run 24 windows, and submit the best eight without a suite."""
    at = stage(random, n_windows=24, length=YEAR // 2)
    weights = random_weights(random, at)[0]
    days = daily_returns(at, weights).reshape(24, -1)
    won = np.sort(np.argsort(days.sum(axis=1))[-8:])
    p = naive_scorers.p_value(days[won].ravel())
    record = at.record("attacker", weights, tuple(at.windows[place] for place in won))
    return Outcome.of(score(record, dataset=at.dataset)["attacker"], p < LEVEL, p)


def _one_window(random: np.random.Generator) -> Outcome:
    at = stage(random)
    first = slice(0, YEAR)
    weights, days = luckiest_agent(random, at, 200, first)
    p = naive_scorers.p_value(days[first])
    part = at.judge(at.record("part", weights, at.windows[:1]))["part"]
    alone = Stage(at.dataset, at.windows[:1], at.costs, at.limits)
    short = alone.judge(alone.record("alone", weights))["alone"]
    return Outcome.of(short, p < LEVEL, p, won=part.is_eligible or part.rank is not None)


def _one_of_eight(random: np.random.Generator) -> Outcome:
    at = stage(random, n_windows=8)
    first = slice(0, YEAR)
    weights, days = luckiest_agent(random, at, 200, first)
    weights[YEAR:] *= 0.1
    p = naive_scorers.p_value(days[first])
    return _outcome(at, weights, p < LEVEL, p)


def _stopped(random: np.random.Generator) -> Outcome:
    """Trade until a test that is evaluated every day is significant."""
    at = stage(random, n_windows=8)
    weights = random_weights(random, at)[0]
    moves, total, square, since, best = at.returns(), 0.0, 0.0, 0.0, 0.0
    for day in range(len(moves)):
        since = 0.0 if day % YEAR == 0 else since
        if best > 1.9:
            weights[day] *= 0.0 if since > 0.0 else 0.3
        gain = float(weights[day] @ moves[day])
        total, square, since = total + gain, square + gain * gain, since + gain
        if day >= 40:
            best = max(best, total / np.sqrt(square))
    return _outcome(at, weights, best > 1.645, best)


def _doubling(random: np.random.Generator) -> Outcome:
    """Double after each loss: small gains in most rounds, large losses in a few."""
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
    return _outcome(at, weights, won > 0.8, won)


def _tail(random: np.random.Generator) -> Outcome:
    """Sell insurance at its fair price: one day of 250 loses a fifth."""
    n_days, chance, loss = 4 * YEAR, 1.0 / 250.0, 0.2
    moves = 0.01 * random.standard_normal((n_days, 4))
    moves[:, 0] = chance * loss / (1.0 - chance) + 0.0002 * random.standard_normal(n_days)
    moves[random.random(n_days) < chance, 0] = -loss
    at = stage(random, moves=moves)
    share = float(np.mean(moves[:, 0] > 0.0))
    return _outcome(at, constant_weights(at, 1.0, 0.0, 0.0, 0.0), share > 0.9, share)


def _levered(random: np.random.Generator) -> Outcome:
    """Hold the market at 1.9 of NAV in each window while it rises."""
    at = stage(random, n_windows=8, drift=0.0008, limits=Limits(max_weight=2.0, max_gross=2.0))
    weights = np.full((at.dataset.n_bars, at.dataset.n_symbols), np.nan)
    for start, _ in at.windows:
        weights[start] = 1.9 / at.dataset.n_symbols
    p = naive_scorers.p_value(0.9 * at.returns().mean(axis=1))
    return _outcome(at, weights, p < LEVEL, p)


def _rebalanced(random: np.random.Generator) -> Outcome:
    """Keep volatile symbols at equal parts, which drift apart in buy-and-hold."""
    moves = np.clip(0.0015 + 0.06 * random.standard_normal((8 * YEAR, 20)), -0.9, None)
    at = stage(random, n_windows=8, moves=moves)
    weights = np.full((at.dataset.n_bars, at.dataset.n_symbols), np.nan)
    weights[::5] = 1.0 / at.dataset.n_symbols
    return _against_held(at, weights)


def _by_risk(random: np.random.Generator) -> Outcome:
    """Keep symbols of unequal risk and equal drift by their past variance."""
    risk = 0.04 * np.exp(0.4 * random.standard_normal(20))
    moves = np.clip(0.0015 + risk * random.standard_normal((8 * YEAR, 20)), -0.9, None)
    at = stage(random, n_windows=8, moves=moves)
    weights = np.full((at.dataset.n_bars, at.dataset.n_symbols), np.nan)
    for day in range(0, at.dataset.n_bars, 10):
        parts = 1.0 / np.maximum(moves[max(day - 120, 0) : day].var(axis=0), 1e-9) if day >= 20 else np.ones(20)
        weights[day] = parts / parts.sum()
    return _against_held(at, weights)


def _against_held(at: Stage, weights: Table) -> Outcome:
    """Return the outcome of weights, naively by alpha over buy-and-hold alone."""
    bought = np.full_like(weights, np.nan)
    for start, _ in at.windows:
        bought[start] = 1.0 / at.dataset.n_symbols
    own, held = at.net(weights)[0], at.net(bought)[0]
    p = naive_scorers.p_value(skill.regress(own, held).active)
    return _outcome(at, weights, p < LEVEL, p)


def _bond(_: np.random.Generator) -> Outcome:
    """Hold one bond of a market with a known bill rate."""
    bonds = data.load("us-treasury")
    edges = [(bonds.n_bars - 1) * place // 8 for place in range(9)]
    windows = tuple((first, last + 1) for first, last in pairwise(edges))
    at = Stage(bonds, windows, CostModel(), Limits())
    weights = constant_weights(at, *np.eye(bonds.n_symbols)[1])
    found = at.judge(at.record("UST2Y", weights), n_trials=bonds.n_symbols)["UST2Y"]
    ratio = naive_scorers.sharpe(daily_returns(at, weights))
    return Outcome.of(found, ratio > 1.0, ratio)


PLANS = (
    Plan("skill-among-many", "predicts 60 % of all moves; a ledger counted 1,000 trials", "p of a t-test", _skill,
         is_control=True),
    Plan("skill-alone", "predicts 57 % of all moves; eight windows, no other trial", "p of a t-test", _skill_alone,
         is_control=True),
    Plan("copies", "20 copies of the luckiest of 100, and 99,900 in the ledger",
         "deflated ratio with the ledger's spread", _copies),
    Plan("mined-noise", "the luckiest of 1,000 random agents", "p of a t-test", _mined, is_luck=True),
    Plan("hidden-trials", "the same, with trials not counted, on a market that was sealed during selection",
         "p of a t-test in the selection period", _hidden, is_luck=True),
    Plan("public-hindsight", "knows the prices of three public windows, but not of eight sealed ones",
         "p of a t-test on all windows", _hindsight, is_luck=True),
    Plan("own-windows", "submits the best eight of 24 windows, without a suite", "p of a t-test on the submission",
         _own_windows),
    Plan("one-window", "the luckiest of 200 in one window, submitted alone", "p of a t-test on that window",
         _one_window),
    Plan("one-of-eight", "the same, with a tenth of the stake in seven other windows", "p of a t-test on that window",
         _one_of_eight, is_luck=True),
    Plan("stop-when-ahead", "trades until the test is significant, then hardly", "z on the best stopping day", _stopped,
         is_luck=True),
    Plan("doubling", "doubles after each loss, and restarts after a gain", "share of rounds won", _doubling,
         is_luck=True),
    Plan("tail-risk", "sells insurance at its fair price", "share of days won", _tail, is_luck=True),
    Plan("levered-market", "holds the market at 1.9 of NAV while it rises", "p of a t-test against the market",
         _levered, is_luck=True),
    Plan("rebalanced-market", "keeps 20 symbols at equal parts, without skill", "p of alpha against buy-and-hold",
         _rebalanced, is_luck=True),
    Plan("risk-weighted-market", "keeps parts of one over past variance, without skill",
         "p of alpha against buy-and-hold", _by_risk, is_luck=True),
    Plan("two-year-bond", "holds the two-year bond, one of six, for 27 years", "Sharpe ratio", _bond,
         is_fixed=True),
    Plan("crowd", "adds volatile agents to the board to lower an honest one",
         "p in the field, without studentization", _crowd),
)  # fmt: skip
"""Attacks by luck, and honest agents with skill."""
