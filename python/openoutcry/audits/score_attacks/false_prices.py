"""Attacks on prices that were not tradable, and on the schedule of trading."""

from __future__ import annotations

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import (
    YEAR,
    Stage,
    Table,
    constant_weights,
    daily_returns,
    random_weights,
    stage,
)
from openoutcry.audits.score_attacks.attack_result import LEVEL, Outcome, Plan
from openoutcry.openoutcry_py import Limits

_N_DAYS = 8 * YEAR


def _outcome(at: Stage, weights: Table, fooled: bool, number: float, n_trials: int = 0) -> Outcome:
    board = at.judge(at.record("attacker", weights), n_trials=n_trials)
    return Outcome.of(board["attacker"], fooled, number)


def _moves(random: np.random.Generator) -> Table:
    moves: Table = 0.01 * random.standard_normal((_N_DAYS, 4))
    return moves


def _lagged_copy(random: np.random.Generator) -> Outcome:
    """Trade a symbol that is another one a day late, on the other one."""
    moves = _moves(random)
    moves[1:, 1] = moves[:-1, 0]
    at = stage(random, n_windows=8, moves=moves)
    weights = np.zeros((at.dataset.n_bars, 4))
    weights[1:, 1] = np.sign(at.returns()[:, 0])
    p = naive_scorers.p_value(daily_returns(at, weights))
    return _outcome(at, weights, p < LEVEL, p)


def _smoothed_marks(random: np.random.Generator) -> Outcome:
    """Follow a price that moves a third of the way to its value each day."""
    moves = _moves(random)
    for day in range(1, _N_DAYS):
        moves[day, 0] = 0.67 * moves[day - 1, 0] + 0.33 * moves[day, 0]
    at = stage(random, n_windows=8, moves=moves)
    weights = np.zeros((at.dataset.n_bars, 4))
    weights[1:, 0] = np.sign(at.returns()[:, 0])
    p = naive_scorers.p_value(daily_returns(at, weights))
    found = at.judge(at.record("attacker", weights))
    # A smoothed price stays predictable for days, so only the market shows it.
    named = any("S0 predict themselves" in caveat for caveat in found.caveats)
    score = found["attacker"]
    return Outcome(not named, score.verdict, tuple(score.reasons) + ("caveat",) * named, p < LEVEL, p)


def _bid_ask_bounce(random: np.random.Generator) -> Outcome:
    """Fade every move of prices that jump between bid and ask."""
    sides = 0.01 * np.sign(random.standard_normal((_N_DAYS + 1, 4)))
    moves = 0.002 * random.standard_normal((_N_DAYS, 4)) + np.diff(sides, axis=0)
    at = stage(random, n_windows=8, moves=moves)
    weights = np.zeros((at.dataset.n_bars, 4))
    weights[1:] = -np.sign(at.returns()) / 4.0
    p = naive_scorers.p_value(daily_returns(at, weights))
    score = at.judge(at.record("attacker", weights))["attacker"]
    # A ratio just below the threshold of the gate has the warning of a delay in its place.
    named = "delay_sensitive" in score.reasons
    return Outcome(score.is_eligible and not named, score.verdict, tuple(score.reasons), p < LEVEL, p)


def _best_phase(random: np.random.Generator) -> Outcome:
    """Rebalance every 21 days on the best of the 21 phases, each counted as a trial."""
    at = stage(random, n_windows=8)
    drawn = random_weights(random, at)[0]
    phases = []
    for phase in range(21):
        held = drawn.copy()
        for bar in range(len(held)):
            held[bar] = drawn[max((bar - phase) // 21, 0) * 21 + phase if bar >= phase else 0]
        phases.append(held)
    ratios = [naive_scorers.sharpe(daily_returns(at, each)) for each in phases]
    best = phases[int(np.argmax(ratios))]
    p = naive_scorers.p_value(daily_returns(at, best))
    return _outcome(at, best, p < LEVEL, p, n_trials=21)


def _halted(random: np.random.Generator) -> Outcome:
    """Hold a halted symbol with a stated price that rises."""
    moves = _moves(random)
    moves[:, 0] = 2e-4 + 1e-5 * random.standard_normal(_N_DAYS)
    tradable = np.ones((_N_DAYS + 1, 4), dtype=bool)
    tradable[:, 0] = False
    at = stage(random, n_windows=8, moves=moves, tradable=tradable)
    weights = constant_weights(at, 1.0, 0.0, 0.0, 0.0)
    ratio = naive_scorers.sharpe(daily_returns(at, weights))
    return _outcome(at, weights, ratio > 1.0, ratio)


def _levered_day(random: np.random.Generator) -> Outcome:
    """Hold almost nothing, but the whole limit on one lucky day of each window."""
    at = stage(random, n_windows=8, limits=Limits(max_weight=2.0, max_gross=2.0))
    moves = at.returns()
    weights = 1e-3 * random_weights(random, at)[0]
    # One bet in each window, on the same side: the luckiest of 50 places.
    places = random.integers(0, YEAR, (50, 8)) + YEAR * np.arange(8)
    gains = moves[places, 0].sum(axis=1)
    weights[places[int(np.argmax(gains))], 0] = 1.9
    p = naive_scorers.p_value(daily_returns(at, weights)[places[int(np.argmax(gains))]])
    return _outcome(at, weights, p < LEVEL, p, n_trials=50)


PLANS = (
    Plan("lagged-copy", "trades a symbol that is another one a day late", "p of a t-test", _lagged_copy),
    Plan("smoothed-marks", "follows a price that is smoothed over three days", "p of a t-test", _smoothed_marks),
    Plan("bid-ask-bounce", "fades prices that jump between bid and ask", "p of a t-test", _bid_ask_bounce),
    Plan("best-phase", "rebalances every 21 days on the luckiest of 21 phases, all counted", "p of a t-test",
         _best_phase, is_luck=True),
    Plan("halted-symbol", "holds a symbol that never trades, at a stated price that rises", "Sharpe ratio of the price",
         _halted),
    Plan("levered-days", "trades one day a window, at 1.9 of NAV, on the luckiest of 50 sets of days",
         "p of a t-test on these days", _levered_day, is_luck=True),
)  # fmt: skip
"""Attacks on false prices, and on the schedule of trading."""
