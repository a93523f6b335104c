"""Markets, rules and evaluation of the training recipes; needs no torch.

An *edge* is a market with one known source of profit, and the rule of one line that trades it from the observation. The
noise of a planted edge is a `martingale` scenario, and the edge is added with sums and products only, so that a digest
and a seed give the same bits on every machine. Fills are at the close of the decision, as the planted markets have no
opens. `pairs` is the scenario family as it is, with fills at the next open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

import openoutcry as oo
from openoutcry.scenarios.scenario import ScenarioSpec, scenarios
from openoutcry.vector import OpenOutcryVectorEnv

Array = np.ndarray[Any, Any]
Policy = Callable[[Array], Array]

N_TRAIN, N_TEST, N_DAYS = 256, 64, 1261
BARS_PER_YEAR = 252.0
# Every setting is stated, so that a later default changes nothing.
NO_COSTS = {"slippage_bps": 0.0, "slippage_jitter": 0.0, "impact_bps": 0.0, "financing_bps": 0.0}
NO_COSTS |= {"cash_bps": 0.0, "borrow_bps": 0.0, "capital": 1_000_000.0}
COSTS = oo.CostModel(fee_bps=1.0, **NO_COSTS)
FREE = oo.CostModel(fee_bps=0.0, **NO_COSTS)


@dataclass(frozen=True)
class Edge:
    """A market with a known source of profit, and what its traders observe.

    Attributes:
        name: Its name in commands.
        family: Family of scenarios: the noise of a planted edge, or the market itself.
        n_symbols: Number of symbols.
        lookback: Bars of returns in the observation.
        rule: Target weights of an observation, shapes `(n_lanes, width)` and `(n_lanes, n_symbols)`.
        text: The rule in words.
        plant: Adds the edge to returns, shape `(n_bars, n_markets, n_symbols)`, in place; None for no edge.
        strength: Its size.
        features: Features of the observation by name, scaled by all bars so far.
    """

    name: str
    family: str
    n_symbols: int
    lookback: int
    rule: Policy
    text: str
    plant: Callable[[Array, float], None] | None = None
    strength: float = 0.0
    features: tuple[tuple[str, Callable[[oo.Dataset], Array]], ...] = ()

    def spec(self, n_days: int = N_DAYS) -> ScenarioSpec:
        """Return the specification of the scenarios."""
        sizes: dict[str, Any] = {"n_symbols": self.n_symbols, "n_days": n_days}
        if self.family == "pairs":
            # Without listings and payments, the ratio of two closes is their spread.
            sizes |= {"late_listings": 0.0, "delisting_rate": 0.0, "halt_rate": 0.0}
            sizes |= {"dividend_yield": 0.0, "split_above": 0.0}
        return ScenarioSpec(self.family, **sizes)

    def digest(self, n_days: int = N_DAYS) -> str:
        """Return the SHA-256 of the edge, its size and the digest of the scenarios, in hexadecimal."""
        about = {"edge": self.name, "strength": self.strength, "scenarios": self.spec(n_days).digest}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def with_features(self, market: oo.Dataset) -> oo.Dataset:
        """Return the market with the features of the observation."""
        # Arrays, as the check that a function reads no later bar takes longer than the training; a test does it.
        tables = {name: function(market) for name, function in self.features}
        return market.with_features(tables) if tables else market

    def markets(self, n: int, n_days: int = N_DAYS, *, seed: int = 0, split: str = "train") -> list[oo.Dataset]:
        """Return the markets of seeds `seed` to `seed + n - 1` of a split."""
        drawn = [each.dataset() for each in scenarios(self.spec(n_days), n, seed=seed, split=split)]
        if self.family == "pairs":
            return [self.with_features(each) for each in drawn]
        close = np.stack([each.close for each in drawn], axis=1)
        returns = close[1:] / close[:-1] - 1.0
        if self.plant is not None:
            self.plant(returns, self.strength)
        prices = 100.0 * np.cumprod(np.concatenate([np.ones_like(returns[:1]), 1.0 + returns]), axis=0)
        dates, symbols = drawn[0].dates, drawn[0].symbols
        return [
            oo.Dataset.from_arrays(dates, symbols, prices[:, lane], periods_per_year=BARS_PER_YEAR) for lane in range(n)
        ]


def momentum(returns: Array, strength: float) -> None:
    """Add a part of the previous return of each symbol."""
    for t in range(1, len(returns)):
        returns[t] += strength * returns[t - 1]


def reversion(returns: Array, strength: float) -> None:
    """Pull each price to the exponential average of its past: the gap loses a tenth of itself a bar."""
    gap = np.zeros_like(returns[0])
    for t in range(len(returns)):
        returns[t] -= strength * gap
        gap = 0.9 * gap + returns[t]


def lead_lag(returns: Array, strength: float) -> None:
    """Let the second symbol follow the first one bar later."""
    returns[1:, :, 1] += strength * returns[:-1, :, 0]


def spread(market: oo.Dataset) -> Array:
    """Return the logarithm of the ratio of the two closes, known at the close."""
    return np.log(market.close[:, 0] / market.close[:, 1])


def clipped(weight: Array) -> Array:
    return np.clip(weight, -1.0, 1.0)


# The rule of `pairs` with a better hedge, to compare with networks that find one.
HEDGED: Policy = lambda seen: clipped(0.6 * seen[:, 2:3]) * np.array([-0.4, 0.5])  # noqa: E731 a rule, as those below
DECAY = 0.9 ** np.arange(20.0)[::-1]
# A return moves the gap from the mean of 61 log prices by the share of them before it.
GAP = np.outer(np.arange(1, 61) / 61, [1.0, -1.0]).ravel()
EDGES = {
    edge.name: edge
    for edge in (
        Edge(
            name="momentum",
            family="martingale",
            n_symbols=1,
            lookback=5,
            rule=lambda seen: clipped(80.0 * seen[:, 4:5]),
            text="80 times the last return",
            plant=momentum,
            strength=0.3,
        ),
        Edge(
            name="reversion",
            family="martingale",
            n_symbols=1,
            lookback=20,
            rule=lambda seen: clipped(-50.0 * seen[:, :20] @ DECAY[:, None]),
            text="-50 times the sum of the last 20 returns, with a weight of 0.9 to the power of their age",
            plant=reversion,
            strength=0.1,
        ),
        Edge(
            name="lead-lag",
            family="martingale",
            n_symbols=2,
            lookback=5,
            rule=lambda seen: clipped(80.0 * seen[:, 8:9]) * np.array([0.0, 0.5]),
            text="the second symbol at 40 times the last return of the first",
            plant=lead_lag,
            strength=0.3,
        ),
        Edge(
            name="pairs",
            family="pairs",
            n_symbols=2,
            lookback=1,
            rule=lambda seen: clipped(0.6 * seen[:, 2:3]) * np.array([-0.5, 0.5]),
            text="-0.3 and +0.3 times the standardised spread",
            features=(("spread", spread),),
        ),
        Edge(
            name="pairs-returns",
            family="pairs",
            n_symbols=2,
            lookback=60,
            rule=lambda seen: clipped(30.0 * (seen[:, :120] @ GAP[:, None])) * np.array([-0.5, 0.5]),
            text="-15 and +15 times the gap between the spread and its mean over 60 bars",
        ),
        Edge(
            name="martingale",
            family="martingale",
            n_symbols=1,
            lookback=5,
            rule=lambda seen: clipped(80.0 * seen[:, 4:5]),
            text="80 times the last return",
        ),
    )
}


def lanes_of(edge: Edge, markets: Sequence[oo.Dataset], n_lanes: int, **settings: Any) -> OpenOutcryVectorEnv:
    """Return lanes that trade markets of an edge, with the settings of all recipes unless others are given."""
    stated = {
        "dataset": list(markets),
        "observation": "flat",
        "lookback": edge.lookback,
        "scale": "expanding" if edge.features else "none",
        "costs": COSTS,
        # Half of NAV for each of two symbols: a limit on the sum would hide the size of an action from the learner.
        "limits": oo.Limits(max_weight=1.0 / edge.n_symbols, max_gross=1.0, allow_short=True),
        "no_trade_band": 0.0,
    }
    return OpenOutcryVectorEnv(n_lanes, **(stated | settings))


def play(edge: Edge, markets: Sequence[oo.Dataset], policy: Policy, **settings: Any) -> Array:
    """Return the returns of a policy after costs on whole markets, shape `(n_markets, n_bars)`."""
    whole = {"autoreset_mode": AutoresetMode.DISABLED, "reward": "simple"}
    env = lanes_of(edge, markets, len(markets), **(whole | settings))
    seen, _ = env.reset(seed=0)
    returns, done = [], False
    while not done:
        seen, rewards, terminated, truncated, _ = env.step(policy(seen))
        returns.append(rewards)
        done = bool((terminated | truncated).all())
    env.close()
    return np.stack(returns, axis=1)


def sharpe(returns: Array) -> Array:
    """Return the annual Sharpe ratio of each row, NaN for constant returns, such as those of cash."""
    mean, deviation = returns.mean(axis=1), returns.std(axis=1)
    ratio = mean / np.where(deviation > 0.0, deviation, np.nan)
    return np.asarray(ratio * BARS_PER_YEAR**0.5)


def unseen_markets(edge: Edge) -> list[oo.Dataset]:
    """Return the markets on which every recipe and rule of an edge is evaluated.

    No training sees them, and no hyperparameter was chosen on them: seeds 0 to 63 served for that.
    """
    return edge.markets(N_TEST, seed=N_TEST, split="test")


def resampled(n: int, draws: int, rng: np.random.Generator) -> Array:
    """Return weights that sum to 1: equal ones, then those of each resample; shape `(draws + 1, n)`."""
    return np.vstack([np.full(n, 1.0 / n), rng.multinomial(n, np.full(n, 1.0 / n), draws) / n])


def interval(values: Array, rule: Array | None = None, draws: int = 4000) -> dict[str, float | None]:
    """Return a mean over seeds and markets with its 95 % interval, or its ratio to the mean of a rule.

    Percentiles of a two-way bootstrap, which resamples seeds and markets, equally for both sides of a ratio. All are
    None if a value is undefined.

    Args:
        values: Shape `(n_seeds, n_markets)`.
        rule: Shape `(n_markets,)`.
        draws: Number of resamples.
    """
    rng = np.random.default_rng(0)
    seeds, markets = (resampled(n, draws, rng) for n in values.shape)
    means = np.einsum("ds,sm,dm->d", seeds, values, markets)
    if rule is not None:
        means = means / (markets @ rule)
    found = {"value": means[0], **dict(zip(("low", "high"), np.quantile(means[1:], [0.025, 0.975]), strict=True))}
    return {name: float(each) if np.isfinite(each) else None for name, each in found.items()}
