"""What an episode is paid: pure functions of its outcome, each bounded and finite.

All of them measure the whole window with its costs, the answers being replayed; none reads a word that a model wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import exp, tanh

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.verifiers_env.episode_outcome import Outcome, Played

# The least that a result is paid: far enough below 0 that to lose all is no cheap way to win a little more often.
FLOOR = 4.0
MALFORMED = 0.05
BROKEN = 1.0
RATE = 0.1
DRAWDOWN = 1.0
TURNOVER = 0.002
BAR = 0.25
N_TRIALS = 10


def utility(excess: float) -> float:
    """Return what an excess is worth: above -4, below 1, rising throughout.

    It is `-4 tanh((exp(-x) - 1) / 4)`, concave above -1.2. A loss costs more than a gain of its size brings, so that a
    gamble without an edge is worth less than none.

    Args:
        excess: Log return over the benchmark's, in volatilities of the market over the window.
    """
    return -FLOOR * tanh((exp(min(-excess, 50.0)) - 1.0) / FLOOR)


def excess_return_reward(outcome: Outcome) -> float:
    """Return the utility of the return over the benchmark's, mean of all windows."""
    return _mean(outcome, lambda played: float(played.excess.sum()) / played.scale)


def drawdown_penalised_reward(outcome: Outcome) -> float:
    """Return the same less what the deepest drawdown is deeper than the benchmark's."""

    def measure(played: Played) -> float:
        deeper = max(0.0, _drawdown(played.log_returns) - _drawdown(played.log_returns - played.excess))
        return (float(played.excess.sum()) - DRAWDOWN * deeper) / played.scale

    return _mean(outcome, measure)


def turnover_penalised_reward(outcome: Outcome) -> float:
    """Return the same less 20 bps of what is traded beyond the benchmark's turnover."""

    def measure(played: Played) -> float:
        more = max(0.0, float(played.run.turnover.sum() - played.benchmark.turnover.sum()))
        return (float(played.excess.sum()) - TURNOVER * more) / played.scale

    return _mean(outcome, measure)


def differential_sharpe_reward(outcome: Outcome) -> float:
    """Return the utility of the exponentially weighted Sharpe ratio of the excess.

    A volatility below the market's counts as the market's: a ratio without a scale is raised without skill by betting
    next to nothing, and more after each loss. Above it, the ratio is what the differential Sharpe ratios of all bars
    add up to. Source: Moody and Saffell (2001), eq. 12.
    """

    def measure(played: Played) -> float:
        return weighted_sharpe(played.excess, RATE, played.scale / len(played.excess) ** 0.5)

    return _mean(outcome, measure)


def deflated_sharpe_reward(outcome: Outcome, n_trials: int = N_TRIALS) -> float:
    """Return how surely the excess has a Sharpe ratio above the best of luck.

    It is the probability that it is above the best of `n_trials` without skill; 0, the least, where the excess has no
    volatility, so that the ratio is undefined. Over several windows it is that of all their bars together. Source:
    Bailey and Lopez de Prado (2014).
    """
    excess = np.concatenate([played.excess / played.scale for played in outcome.played])
    if native.is_riskless(excess):
        return 0.0
    moments = native.moments(excess)
    best = native.expected_max(max(n_trials, 2)) * len(excess) ** -0.5 if n_trials > 1 else 0.0
    sure = native.probabilistic_sharpe(moments, best)[0]
    return _kept(outcome, sure) if np.isfinite(sure) else 0.0


def pass_k_reward(outcome: Outcome, bar: float = BAR) -> float:
    """Return 1 if every window passed a bar, else 0.

    It ends above the bar, was at no close as far behind, and kept its mandate. Who has no edge ends as many windows as
    he likes above the bar by betting until they are; not half of them, where he may not fall as far behind first.

    Args:
        outcome: The episode.
        bar: Excess in volatilities of the market over the window.
    """

    def is_cleared(played: Played) -> bool:
        path = np.cumsum(played.excess) / played.scale
        return bool(path[-1] > bar and path.min() >= -abs(bar) and not played.breaches.any())

    return float(all(is_cleared(each) for each in outcome.played))


def process_check_reward(outcome: Outcome) -> float:
    """Return the share of five checks of conduct that an episode passed.

    They are: an answer was given on every bar, each was a decision, no order was refused, the mandate was kept at
    every close, and the account was neither ruined nor liquidated.
    """
    is_alive = all(each.run.terminated_at is None for each in outcome.played)
    checks = (
        outcome.n_answers == outcome.row.horizon * outcome.row.n_windows or not is_alive,
        outcome.n_malformed == 0,
        outcome.n_refused == 0,
        not any(each.breaches.any() for each in outcome.played),
        is_alive,
    )
    return sum(checks) / len(checks)


def format_penalty(outcome: Outcome) -> float:
    """Return -0.05 for each answer that was no decision, at least -1."""
    return 0.0 - min(1.0, MALFORMED * outcome.n_malformed)


def weighted_sharpe(returns: npt.NDArray[np.float64], rate: float, least: float = 0.0) -> float:
    """Return the exponentially weighted Sharpe ratio after the last bar.

    Both moments begin at 0. It is 0 while there is nothing to divide by, as in the rewards of vector environments.

    Args:
        returns: Of each bar.
        rate: Weight of the last bar.
        least: What a deviation below it counts as.
    """
    weights = rate * (1.0 - rate) ** np.arange(len(returns))[::-1]
    mean, square = float(weights @ returns), float(weights @ returns**2)
    deviation = max(max(square - mean * mean, 0.0) ** 0.5, least)
    return mean / deviation if deviation > 0.0 else 0.0


@dataclass(frozen=True)
class Paid:
    """A reward by its name.

    Args:
        reward: The function.
        weight: What it counts unless a configuration says otherwise.
        words: What a prompt says of it.
        range: Its least and its most.
    """

    reward: Callable[[Outcome], float]
    weight: float
    words: str
    range: tuple[float, float]


@dataclass(frozen=True)
class Terms:
    """What an episode is paid by.

    Args:
        weights: What each reward counts, by its name.
        bar: That of `pass_k_reward`.
        n_trials: Those of `deflated_sharpe_reward`.
        plugged: What rewards of others count that a configuration plugs in, by their names.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: {name: paid.weight for name, paid in REWARDS.items()})
    bar: float = BAR
    n_trials: int = N_TRIALS
    plugged: Mapping[str, float] = field(default_factory=dict)

    def pay(self, name: str, outcome: Outcome) -> float:
        """Return a reward of an episode by its name, before its weight."""
        if name == "pass_k_reward":
            return pass_k_reward(outcome, self.bar)
        if name == "deflated_sharpe_reward":
            return deflated_sharpe_reward(outcome, self.n_trials)
        return REWARDS[name].reward(outcome)

    def say(self, name: str) -> str:
        """Return what one of `REWARDS` pays, in words."""
        return REWARDS[name].words.format(bar=self.bar, least=-abs(self.bar), n_trials=self.n_trials)

    def words(self) -> list[str]:
        """Return what is paid, in words, of each reward that counts."""
        told = {name: self.say(name) for name in self.weights}
        told |= {name: f"what `{name}` returns, a function that is not of this environment" for name in self.plugged}
        counted = {**self.weights, **self.plugged}
        return [f"{weight:g} times {told[name]}" for name, weight in counted.items() if weight]


_X = "the log return of the account over the window less that of the benchmark"
_PER = "divided by the market's volatility"
_U = "u(x), where x is"
REWARDS: dict[str, Paid] = {
    "excess_return_reward": Paid(excess_return_reward, 1.0, f"{_U} {_X}, {_PER}", (-FLOOR, 1.0)),
    "format_penalty": Paid(
        format_penalty, 1.0, f"-{MALFORMED:g} for each answer that is no decision, at least -1", (-1.0, 0.0)
    ),
    "differential_sharpe_reward": Paid(
        differential_sharpe_reward,
        0.0,
        f"{_U} the exponentially weighted Sharpe ratio (rate {RATE:g} per bar) of the log returns of the account less"
        " those of the benchmark, a volatility below the market's per bar counting as the market's",
        (-FLOOR, 1.0),
    ),
    "drawdown_penalised_reward": Paid(
        drawdown_penalised_reward,
        0.0,
        f"{_U} {_X} and less what its deepest fall below a peak, in logs, is deeper than the benchmark's, {_PER}",
        (-FLOOR, 1.0),
    ),
    "turnover_penalised_reward": Paid(
        turnover_penalised_reward,
        0.0,
        f"{_U} {_X} and less {TURNOVER * 1e4:g} bps of what is traded, in account values, beyond the benchmark, {_PER}",
        (-FLOOR, 1.0),
    ),
    "deflated_sharpe_reward": Paid(
        deflated_sharpe_reward,
        0.0,
        "the probability that the Sharpe ratio of the log returns of the account less those of the benchmark, all"
        " windows together, each over its market's volatility, beats the best of {n_trials} tries without skill; 0"
        " where they do not vary",
        (0.0, 1.0),
    ),
    "pass_k_reward": Paid(
        pass_k_reward,
        0.0,
        f"1 if in every window {_X}, {_PER}, ends above {{bar:g}} and is below {{least:g}} at no close, else 0",
        (0.0, 1.0),
    ),
    "process_check_reward": Paid(
        process_check_reward,
        0.0,
        "the share of five checks passed: every bar was answered, no answer was malformed, no order was refused, the"
        " mandate was kept, the account was not lost",
        (0.0, 1.0),
    ),
}


def _mean(outcome: Outcome, measure: Callable[[Played], float]) -> float:
    values = [_within(each, utility(measure(each))) for each in outcome.played]
    return sum(values) / len(values)


def _within(played: Played, value: float) -> float:
    """Return a value, at most -1 less the share of closes outside the mandate.

    At most minus the share, a mandate that is dear to keep would be broken for less.
    """
    share = float(played.breaches.mean())
    return min(value, -BROKEN - share) if share else value


def _kept(outcome: Outcome, value: float) -> float:
    return 0.0 if any(each.breaches.any() for each in outcome.played) else value


def _drawdown(log_returns: npt.NDArray[np.float64]) -> float:
    path = np.concatenate([[0.0], np.cumsum(log_returns)])
    return float(np.max(np.maximum.accumulate(path) - path))
