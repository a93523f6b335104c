"""Evolution strategy that trains a network for profit on the vector environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.martingale.account_simulation import LOOKBACK, Decide, Tally, simulate
from openoutcry.audits.martingale.cost_settings import Setting
from openoutcry.audits.martingale.martingale_markets import WARM_UP, Market
from openoutcry.gym.vector import Observation

Table = npt.NDArray[np.float64]

HORIZONS, HIDDEN = (1, 5, 20), 6
# Weights and biases of two layers.
SHAPES = {"w1": (len(HORIZONS) + 3, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN,), "b2": ()}
N_PARAMETERS = sum(int(np.prod(shape)) for shape in SHAPES.values())

OBJECTIVES: dict[str, Callable[[Tally], Table]] = {
    "gain": lambda tally: tally.gain,
    "excess": lambda tally: tally.excess,
}
"""Fitness functions: the gain, or the excess over the profit of the positions, which has almost no noise."""


@dataclass(frozen=True)
class Training:
    """Budget of an evolution strategy.

    Attributes:
        generations: Number of parameter updates.
        population: Candidates for each generation; an even number.
        n_markets: Markets that each generation trades.
        n_bars: Bars of each market.
    """

    generations: int = 30
    population: int = 24
    n_markets: int = 8
    n_bars: int = 40


def train_network(markets: Sequence[Market], setting: Setting, objective: str, training: Training, seed: int) -> Table:
    """Train a network by evolution strategies and return its parameters.

    Returns:
        Parameters, shape `(N_PARAMETERS,)`, float64.

    Source: Salimans et al. (2017), Evolution strategies as a scalable alternative to reinforcement learning.
    """
    rng = np.random.default_rng([seed, len(objective)])
    centre = 0.3 * rng.standard_normal(N_PARAMETERS)
    mean, square = np.zeros_like(centre), np.zeros_like(centre)
    last = markets[0].dataset.n_bars - training.n_bars
    for generation in range(1, training.generations + 1):
        start = int(rng.integers(WARM_UP, last))
        chosen = [markets[i] for i in rng.choice(len(markets), training.n_markets, replace=False)]
        half = rng.standard_normal((training.population // 2, N_PARAMETERS))
        noise = np.concatenate([half, -half])
        decide = network_policy(centre + 0.3 * noise, len(chosen), setting)
        tally = simulate(chosen, setting, training.population, decide, (start, start + training.n_bars))
        fitness = OBJECTIVES[objective](tally).mean(axis=1)
        ranks = fitness.argsort().argsort() / (training.population - 1) - 0.5
        gradient = ranks @ noise / training.population
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        size = 0.2 * np.sqrt(1 - 0.99**generation) / (1 - 0.9**generation)
        centre = centre + size * mean / (np.sqrt(square) + 1e-8)
    return centre


def network_policy(parameters: Table, n_markets: int, setting: Setting) -> Decide:
    """Return the policy of several networks, one for each row of `parameters`.

    A network applies the same parameters to every symbol.
    """
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES.values()])[:-1]
    parts = np.split(np.atleast_2d(parameters), ends, axis=1)
    w1, b1, w2, b2 = (part.reshape(len(part), *shape) for part, shape in zip(parts, SHAPES.values(), strict=True))
    n_bots = len(w1)

    def decide(_: int, seen: Observation) -> Table:
        n = (seen.shape[1] - 1) // (LOOKBACK + 1)
        returns = seen[:, : LOOKBACK * n].reshape(len(seen), LOOKBACK, n).astype(np.float64)
        held = seen[:, LOOKBACK * n : -1].astype(np.float64)
        spread = np.sqrt(np.mean(returns**2, axis=1)) + 1e-6
        moves = [returns[:, -bars:].sum(axis=1) / (spread * bars**0.5) for bars in HORIZONS]
        cash = np.broadcast_to(seen[:, -1:], held.shape)
        features = np.stack([*moves, 100.0 * spread, held * n / setting.gross, cash], axis=2)
        features = features.clip(-10.0, 10.0).reshape(n_bots, n_markets * n, len(HORIZONS) + 3)
        hidden = np.tanh(features @ w1 + b1[:, None])
        scores = np.tanh((hidden @ w2[:, :, None])[..., 0] + b2[:, None])
        weights: Table = scores.reshape(n_bots, n_markets, n) * setting.gross / n
        return np.maximum(weights, 0.0) if setting.long_only else weights

    return decide
