"""Attacks through the other agents of a board, its suite, or the account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import (
    YEAR,
    constant_weights,
    daily_returns,
    luckiest_agent,
    random_weights,
    skilled_weights,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Outcome, Plan, refusals
from openoutcry.backtest.run import run_backtest
from openoutcry.openoutcry_py import CostModel
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score


def _sleepers(random: np.random.Generator) -> Outcome:
    """Add agents that hold cash, so that the luckiest looks like the best of many."""
    at = stage(random)
    weights, days = luckiest_agent(random, at, 100)
    attacker = at.submit(at.record("attacker", weights))
    still = [at.submit(at.record(f"cash-{place}", constant_weights(at, 0.0, 0.0, 0.0, 0.0))) for place in range(5)]
    board = at.judge(attacker, *still, n_trials=100)
    alone = at.judge(attacker, n_trials=100)["attacker"]
    found = board["attacker"]
    # Share of agents that a naive board ranks below.
    share = 5.0 / 6.0 if days.mean() > 0.0 else 0.0
    lifted = (found.z or 0.0) > (alone.z or 0.0) or found.verdict != alone.verdict
    return Outcome(lifted, found.verdict, tuple(found.reasons), share > 0.5, share)


def _near_copies(random: np.random.Generator) -> Outcome:
    """Submit nine nearly equal agents, so that one of them is the first of the board."""
    at = stage(random)
    weights = random_weights(random, at)[0]
    near = [np.clip(weights * (1.0 + 0.05 * random.standard_normal(weights.shape)), -0.25, 0.25) for _ in range(9)]
    board = at.judge(*(at.submit(at.record(f"near-{place}", each)) for place, each in enumerate(near)))
    ranks = {each.rank for each in board.scores if each.rank is not None}
    ratios = [naive_scorers.sharpe(daily_returns(at, each)) for each in near]
    spread = max(ratios) - min(ratios)
    first = board.scores[0]
    return Outcome(len(ranks) > 1, first.verdict, tuple(first.reasons), spread > 0.02, spread)


def _falling_symbols(random: np.random.Generator) -> Outcome:
    """Hold the symbols of a market that do not fall, so that buy-and-hold is beaten."""
    moves = 0.01 * random.standard_normal((8 * YEAR, 4))
    moves[:, 2:] -= 0.003
    at = stage(random, n_windows=8, moves=moves)
    weights = constant_weights(at, 0.5, 0.5, 0.0, 0.0)
    p = naive_scorers.p_value(daily_returns(at, weights) - moves.mean(axis=1))
    return Outcome.of(at.judge(at.record("attacker", weights))["attacker"], p < LEVEL, p)


def _tail_under_the_cap(random: np.random.Generator) -> Outcome:
    """Sell insurance with a loss just below the drawdown limit, once in eight windows."""
    n_days = 8 * YEAR
    moves = 0.01 * random.standard_normal((n_days, 4))
    moves[:, 0] = 0.45 / (2.0 * YEAR) + 0.001 * random.standard_normal(n_days)
    moves[random.random(n_days) < 1.0 / (2.0 * YEAR), 0] = -0.45
    at = stage(random, n_windows=8, moves=moves)
    share = float(np.mean(moves[:, 0] > 0.0))
    found = at.judge(at.record("attacker", constant_weights(at, 1.0, 0.0, 0.0, 0.0)))["attacker"]
    return Outcome.of(found, share > 0.7, share)


def _account_interest(random: np.random.Generator) -> Outcome:
    """Trade little and at random, in an account that pays more for cash than the bill."""
    at = stage(random, risk_free=np.r_[0.0, np.full(4 * YEAR, 1e-4)])
    at = replace(at, costs=CostModel(fee_bps=0.0, slippage_bps=0.0, borrow_bps=0.0, cash_bps=1_000.0))
    weights = 0.25 * random_weights(random, at)[0]
    p = naive_scorers.p_value(at.net(weights)[0] - 1e-4)
    return Outcome.of(at.judge(at.record("attacker", weights))["attacker"], p < LEVEL, p)


def _periods(random: np.random.Generator) -> Outcome:
    """State prices as returns, annual rates as daily ones, and no bars per year."""
    days = 0.0003 + 0.01 * random.standard_normal(1_008)
    prices = 100.0 * np.cumprod(1.0 + days)
    calls: list[Callable[[], Any]] = [
        lambda: score({"attacker": prices}, periods_per_year=252, windows=[252] * 4),
        lambda: score({"attacker": days}, periods_per_year=252, windows=[252] * 4, cash=np.full(1_008, 0.04)),
        lambda: score({"attacker": days}, periods_per_year=0.0, windows=[252] * 4),
        lambda: score({"attacker": days}, windows=[252] * 4),
    ]
    ratio = naive_scorers.sharpe(np.abs(np.diff(prices)))
    return refusals(calls, ["argument_invalid", "submission_invalid", "value_invalid"], ratio > 3.0, ratio)


def _noise_and_cash(random: np.random.Generator) -> Outcome:
    """Select by luck in the first windows, and hold cash in the others."""
    at = stage(random, n_windows=8, length=YEAR // 2)
    half = slice(0, 4 * (YEAR // 2))
    weights, days = luckiest_agent(random, at, 50, half)
    p = naive_scorers.p_value(days[half])
    weights[half.stop :] = 0.0
    return Outcome.of(at.judge(at.record("attacker", weights), n_trials=50)["attacker"], p < LEVEL, p)


def _tiny_account(random: np.random.Generator) -> Outcome:
    """Trade an account so small that its orders have no market impact."""
    at = stage(random, length=63, volume=np.full((4 * 63 + 1, 4), 1e4))
    at = replace(at, costs=CostModel(impact_bps=100.0, capital=1e6))
    small = replace(at, costs=CostModel(impact_bps=100.0, capital=1.0))
    weights = skilled_weights(random, at)
    gain = naive_scorers.sharpe(small.net(weights)[0]) - naive_scorers.sharpe(at.net(weights)[0])
    calls: list[Callable[[], Any]] = [lambda: at.judge(small.record("attacker", weights))]
    return refusals(calls, ["record_differs", "rules_differ"], gain > 0.1, gain)


def _longer_lookback(random: np.random.Generator) -> Outcome:
    """See more prices than the suite shows, which may identify the market."""
    at = stage(random, n_windows=2, length=126)
    weights = skilled_weights(random, at)
    runs = [
        run_backtest(at.dataset, weights, each, at.costs, at.limits, lookback=250, name="attacker", capture=True).record
        for each in at.windows
    ]
    record = RunRecord.join("attacker", runs)
    p = naive_scorers.p_value(daily_returns(at, weights))
    return refusals([lambda: at.judge(record)], ["record_differs"], p < LEVEL, p)


PLANS = (
    Plan("sleepers", "adds agents that hold cash, to be the best of many", "share of the board below it", _sleepers),
    Plan("near-copies", "enters nine nearly equal agents, so that one is the first",
         "Sharpe ratio of the best above the worst", _near_copies, is_luck=True),
    Plan("falling-symbols", "holds the symbols that do not fall, so that buy-and-hold is beaten",
         "p of a t-test over buy-and-hold", _falling_symbols, is_luck=True),
    Plan("tail-under-the-cap", "sells insurance with a loss just below the drawdown limit", "share of days won",
         _tail_under_the_cap, is_luck=True),
    Plan("account-interest", "trades little and at random, in an account that pays more than the bill", "p of a t-test",
         _account_interest, is_luck=True),
    Plan("units", "states prices as returns, annual rates as daily ones, and no periods",
         "Sharpe ratio of the prices", _periods),
    Plan("stops-after-luck", "the luckiest of 50 in four windows, all counted, and cash in the others",
         "p of a t-test on the first four windows", _noise_and_cash, is_luck=True),
    Plan("tiny-account", "trades an account without market impact", "Sharpe ratio above that of the suite's account",
         _tiny_account),
    Plan("longer-lookback", "sees more prices than the suite shows", "p of a t-test", _longer_lookback),
)  # fmt: skip
"""Attacks through the board, its suite or the account."""
