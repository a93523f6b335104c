"""Rewards of an episode: pure functions of its outcome, bounded and finite.

All of them measure complete windows after costs, from replayed decisions. None reads text of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import exp, tanh

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.verifiers_env.episode_outcome import Outcome, WindowOutcome

# Minimum utility: low enough that a ruinous bet is no cheap way to win a little more often.
FLOOR = 4.0
MALFORMED = 0.05
BROKEN = 1.0
RATE = 0.1
DRAWDOWN = 1.0
TURNOVER = 0.002
BAR = 0.25
N_TRIALS = 10


def utility(excess: float) -> float:
    """Return the utility of an excess return: above -4, below 1, strictly increasing.

    It is `-4 tanh((exp(-x) - 1) / 4)`, concave above -1.2. A loss costs more than an equal gain brings, so a gamble
    without an edge has negative expected utility.

    Args:
        excess: Log return in excess of the benchmark, in units of the market's volatility over the window.
    """
    return -FLOOR * tanh((exp(min(-excess, 50.0)) - 1.0) / FLOOR)


def excess_return_reward(outcome: Outcome) -> float:
    """Return the utility of the excess return, averaged over windows."""
    return _mean(outcome, lambda window: float(window.excess.sum()) / window.scale)


def drawdown_penalised_reward(outcome: Outcome) -> float:
    """Return the same minus the drawdown in excess of the benchmark's."""

    def measure(window: WindowOutcome) -> float:
        deeper = max(0.0, _drawdown(window.log_returns) - _drawdown(window.log_returns - window.excess))
        return (float(window.excess.sum()) - DRAWDOWN * deeper) / window.scale

    return _mean(outcome, measure)


def turnover_penalised_reward(outcome: Outcome) -> float:
    """Return the same minus 20 bps of the turnover in excess of the benchmark's."""

    def measure(window: WindowOutcome) -> float:
        more = max(0.0, float(window.run.turnover.sum() - window.benchmark.turnover.sum()))
        return (float(window.excess.sum()) - TURNOVER * more) / window.scale

    return _mean(outcome, measure)


def differential_sharpe_reward(outcome: Outcome) -> float:
    """Return the utility of the exponentially weighted Sharpe ratio of the excess.

    The volatility is at least the market's: without a scale, the ratio can be raised without skill by tiny bets that
    grow after each loss. Above it, the ratio is the sum of the differential Sharpe ratios of all bars. Source: Moody
    and Saffell (2001), eq. 12.
    """

    def measure(window: WindowOutcome) -> float:
        return weighted_sharpe(window.excess, RATE, window.scale / len(window.excess) ** 0.5)

    return _mean(outcome, measure)


def deflated_sharpe_reward(outcome: Outcome, n_trials: int = N_TRIALS) -> float:
    """Return the deflated Sharpe ratio of the excess, a probability.

    It is the probability that its Sharpe ratio is above the best of `n_trials` trials without skill; 0, the minimum, if
    the excess is constant, so that the ratio is undefined. Several windows are concatenated. Source: Bailey and Lopez
    de Prado (2014).
    """
    excess = np.concatenate([window.excess / window.scale for window in outcome.windows])
    if native.is_riskless(excess):
        return 0.0
    moments = native.moments(excess)
    best = native.expected_max(max(n_trials, 2)) * len(excess) ** -0.5 if n_trials > 1 else 0.0
    sure = native.probabilistic_sharpe(moments, best)[0]
    return _zero_if_breached(outcome, sure) if np.isfinite(sure) else 0.0


def pass_k_reward(outcome: Outcome, bar: float = BAR) -> float:
    """Return 1 if every window clears a threshold, else 0.

    A window clears it if the excess ends above it, was never as far below 0, and the mandate was kept. The second
    condition bounds bet-until-ahead strategies: without an edge, fewer than half of the windows clear it.

    Args:
        outcome: The episode.
        bar: Threshold on the excess, in units of the market's volatility over the window.
    """

    def is_cleared(window: WindowOutcome) -> bool:
        path = np.cumsum(window.excess) / window.scale
        return bool(path[-1] > bar and path.min() >= -abs(bar) and not window.breaches.any())

    return float(all(is_cleared(each) for each in outcome.windows))


def process_check_reward(outcome: Outcome) -> float:
    """Return the share of five process checks that an episode passed.

    They are: every bar was answered, every answer was a decision, no order was refused, the mandate was kept at every
    close, and the account was neither ruined nor liquidated.
    """
    is_alive = all(each.run.terminated_at is None for each in outcome.windows)
    checks = (
        outcome.n_answers == outcome.row.horizon * outcome.row.n_windows or not is_alive,
        outcome.n_malformed == 0,
        outcome.n_refused == 0,
        not any(each.breaches.any() for each in outcome.windows),
        is_alive,
    )
    return sum(checks) / len(checks)


def format_penalty(outcome: Outcome) -> float:
    """Return -0.05 per answer without a valid decision, at least -1."""
    return 0.0 - min(1.0, MALFORMED * outcome.n_malformed)


def weighted_sharpe(returns: npt.NDArray[np.float64], rate: float, least: float = 0.0) -> float:
    """Return the exponentially weighted Sharpe ratio after the last bar.

    Both moments start at 0. Without deviation it is 0, as in the rewards of vector environments.

    Args:
        returns: Returns per bar.
        rate: Weight of the last bar.
        least: Minimum of the deviation.
    """
    weights = rate * (1.0 - rate) ** np.arange(len(returns))[::-1]
    mean, square = float(weights @ returns), float(weights @ returns**2)
    deviation = max(max(square - mean * mean, 0.0) ** 0.5, least)
    return mean / deviation if deviation > 0.0 else 0.0


@dataclass(frozen=True)
class RewardSpec:
    """A reward with its description.

    Args:
        reward: The function.
        weight: Its default weight.
        description: Its description in a prompt.
        range: Its minimum and maximum.
    """

    reward: Callable[[Outcome], float]
    weight: float
    description: str
    range: tuple[float, float]


@dataclass(frozen=True)
class RewardTerms:
    """Weights and parameters of the rewards of an episode.

    Args:
        weights: Weight of each reward, by name.
        bar: Threshold of `pass_k_reward`.
        n_trials: Trials of `deflated_sharpe_reward`.
        plugged: Weights of rewards from outside this package, by name.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: {name: spec.weight for name, spec in REWARDS.items()})
    bar: float = BAR
    n_trials: int = N_TRIALS
    plugged: Mapping[str, float] = field(default_factory=dict)

    def compute(self, name: str, outcome: Outcome) -> float:
        """Return a reward of an episode by its name, unweighted."""
        if name == "pass_k_reward":
            return pass_k_reward(outcome, self.bar)
        if name == "deflated_sharpe_reward":
            return deflated_sharpe_reward(outcome, self.n_trials)
        return REWARDS[name].reward(outcome)

    def describe(self, name: str) -> str:
        """Return the description of a reward."""
        return REWARDS[name].description.format(
            bar=self.bar, least=-abs(self.bar), trials=counted(self.n_trials, "trial")
        )

    def descriptions(self) -> list[str]:
        """Return the descriptions of all rewards with a weight."""
        descriptions = {name: self.describe(name) for name in self.weights}
        descriptions |= {name: f"the result of `{name}`, a function outside this environment" for name in self.plugged}
        weights = {**self.weights, **self.plugged}
        return [f"{weight:g} times {descriptions[name]}" for name, weight in weights.items() if weight]


_X = "the log return of the account over the window minus that of the benchmark"
_PER = "divided by the market's volatility"
_U = "u(x), where x is"
REWARDS: dict[str, RewardSpec] = {
    "excess_return_reward": RewardSpec(excess_return_reward, 1.0, f"{_U} {_X}, {_PER}", (-FLOOR, 1.0)),
    "format_penalty": RewardSpec(
        format_penalty, 1.0, f"-{MALFORMED:g} for each answer without a valid decision, at least -1", (-1.0, 0.0)
    ),
    "differential_sharpe_reward": RewardSpec(
        differential_sharpe_reward,
        0.0,
        f"{_U} the exponentially weighted Sharpe ratio (rate {RATE:g} per bar) of the log returns of the account minus"
        " those of the benchmark, with the market's volatility per bar as the minimum volatility",
        (-FLOOR, 1.0),
    ),
    "drawdown_penalised_reward": RewardSpec(
        drawdown_penalised_reward,
        0.0,
        f"{_U} {_X} and minus the maximum drawdown, in logs, in excess of the benchmark's, {_PER}",
        (-FLOOR, 1.0),
    ),
    "turnover_penalised_reward": RewardSpec(
        turnover_penalised_reward,
        0.0,
        f"{_U} {_X} and minus {TURNOVER * 1e4:g} bps of the turnover, in account values, in excess of the benchmark's,"
        f" {_PER}",
        (-FLOOR, 1.0),
    ),
    "deflated_sharpe_reward": RewardSpec(
        deflated_sharpe_reward,
        0.0,
        "the probability that the Sharpe ratio of the log returns of the account minus those of the benchmark, over all"
        " windows, each divided by its market's volatility, is above the best of {trials} without skill; 0"
        " if they are constant",
        (0.0, 1.0),
    ),
    "pass_k_reward": RewardSpec(
        pass_k_reward,
        0.0,
        f"1 if in every window {_X}, {_PER}, ends above {{bar:g}} and is never below {{least:g}}, else 0",
        (0.0, 1.0),
    ),
    "process_check_reward": RewardSpec(
        process_check_reward,
        0.0,
        "the share of five checks passed: every bar answered, no answer malformed, no order refused, the mandate kept,"
        " the account not lost",
        (0.0, 1.0),
    ),
}


def _mean(outcome: Outcome, measure: Callable[[WindowOutcome], float]) -> float:
    values = [_capped_if_breached(each, utility(measure(each))) for each in outcome.windows]
    return sum(values) / len(values)


def _capped_if_breached(window: WindowOutcome, value: float) -> float:
    """Return a value, at most -1 minus the share of closes with a mandate breach.

    A limit of minus the share alone would make it profitable to breach a mandate that is expensive to keep.
    """
    share = float(window.breaches.mean())
    return min(value, -BROKEN - share) if share else value


def _zero_if_breached(outcome: Outcome, value: float) -> float:
    return 0.0 if any(each.breaches.any() for each in outcome.windows) else value


def _drawdown(log_returns: npt.NDArray[np.float64]) -> float:
    path = np.concatenate([[0.0], np.cumsum(log_returns)])
    return float(np.max(np.maximum.accumulate(path) - path))
