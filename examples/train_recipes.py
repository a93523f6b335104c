"""Train PPO, SAC and DQN of Stable-Baselines3 on markets with a known edge, and evaluate them on unseen markets.

Needs `pip install openoutcry[train]`. A recipe is an algorithm, an edge of `recipe_markets.py` and hyperparameters:

    python examples/train_recipes.py ppo-momentum        # five seeds, in a minute
    python examples/train_recipes.py all                 # every table and curve of docs/recipes.md

Each seed trains on 256 markets of its own. The test is the Sharpe ratio on 64 other markets after costs, compared with
a rule of one line that reads the same observation. Four choices make these recipes learn:

1. `gamma=0`: a reward follows its action by one bar, so later rewards are noise.
2. The mean-variance reward: without the penalty, the best action is always a bound, and unhedged risk is free.
3. Inputs of order 1: daily returns are multiplied by 50.
4. Actions that no limit cuts: at most 1 / n of NAV per symbol, and for PPO a small initial standard deviation.

`martingale` is the control: there is nothing to learn. Results are added to `--results`; all seeds are fixed, so the
same machine and versions give the same bits.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from recipe_markets import (
    BARS_PER_YEAR,
    COSTS,
    EDGES,
    FREE,
    N_TRAIN,
    Array,
    Edge,
    interval,
    lanes_of,
    play,
    sharpe,
    unseen_markets,
)
from recipe_report import choice_table, control_table, edge_table, picture
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

import openoutcry as oo
from openoutcry.sb3 import OpenOutcryVecEnv

REWARD = {"simple": 100.0, "variance-penalty": 500.0}
EPISODE_BARS = 253
# Parts of the training after which a learning curve has a point.
PARTS = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
PPO_OPTIONS = {
    "n_steps": 32,
    "batch_size": 2048,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.0,
    "gae_lambda": 0.0,
    "clip_range": 0.2,
    "ent_coef": 0.0,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
}
# A target network matters only for later rewards.
REPLAY = {
    "batch_size": 1024,
    "learning_rate": 1e-3,
    "gamma": 0.0,
    "tau": 1.0,
    "target_update_interval": 1000,
    "buffer_size": 500_000,
    "learning_starts": 10_000,
    "train_freq": 1,
}
SAC_OPTIONS = REPLAY | {"gradient_steps": 2, "ent_coef": 0.01}
DQN_OPTIONS = REPLAY | {
    "gradient_steps": 2,
    "exploration_fraction": 0.5,
    "exploration_initial_eps": 1.0,
    "exploration_final_eps": 0.3,
    "max_grad_norm": 10.0,
}


@dataclass(frozen=True)
class Recipe:
    """An algorithm with its hyperparameters and the edge it learns.

    Attributes:
        algorithm: Class of Stable-Baselines3.
        edge: Name of the edge.
        steps: Environment steps of a seed, over all lanes.
        options: Hyperparameters of the algorithm.
        layers: Sizes of the hidden layers of each network.
        std: Initial standard deviation of the actions of PPO.
        reward: Terms of the reward.
        factor: Factor of the returns in the observation.
        variant: Part of the name, if one choice of another recipe is undone.
        undone: That choice in words.
    """

    algorithm: type[BaseAlgorithm]
    edge: str
    steps: int
    options: dict[str, Any]
    layers: tuple[int, ...] = (64, 64)
    std: float | None = None
    reward: dict[str, float] = field(default_factory=lambda: REWARD)
    factor: float = 50.0
    variant: str = ""
    undone: str = ""

    @property
    def name(self) -> str:
        return f"{self.algorithm.__name__.lower()}-{self.edge}{self.variant}"

    @property
    def stated(self) -> dict[str, Any]:
        """Hyperparameters as JSON values."""
        shape = {"layers": self.layers, "std": self.std, "reward": self.reward, "factor": self.factor}
        return self.options | shape

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the environment that the algorithm needs."""
        return {"action": "discrete"} if self.algorithm is DQN else {}

    def model(self, env: OpenOutcryVecEnv, edge: Edge, seed: int) -> BaseAlgorithm:
        policy: dict[str, Any] = {
            "net_arch": list(self.layers),
            "features_extractor_class": Scaled,
            "features_extractor_kwargs": {"n_returns": edge.lookback * edge.n_symbols, "factor": self.factor},
        }
        if self.std is not None:
            policy["log_std_init"] = float(np.log(self.std))
        return self.algorithm("MlpPolicy", env, policy_kwargs=policy, seed=seed, device="cpu", **self.options)


class Scaled(BaseFeaturesExtractor):
    """Multiplies the returns of a flat observation, so that they are of order 1, as features and weights are."""

    def __init__(self, space: Box, n_returns: int, factor: float) -> None:
        super().__init__(space, space.shape[0])
        factors = torch.ones(space.shape[0])
        factors[:n_returns] = factor
        self.register_buffer("factors", factors)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return observation * self.factors


MOMENTUM = Recipe(PPO, "momentum", 163_840, PPO_OPTIONS, std=0.35)
PAIRS = Recipe(PPO, "pairs", 327_680, PPO_OPTIONS, (32,), std=0.2)
LATER = PPO_OPTIONS | {"gamma": 0.99, "gae_lambda": 0.95}
RECIPES = {
    recipe.name: recipe
    for recipe in (
        MOMENTUM,
        Recipe(PPO, "reversion", 327_680, PPO_OPTIONS, std=0.35),
        Recipe(PPO, "lead-lag", 163_840, PPO_OPTIONS, std=0.2),
        PAIRS,
        Recipe(PPO, "martingale", 163_840, PPO_OPTIONS, std=0.35),
        Recipe(SAC, "momentum", 76_800, SAC_OPTIONS),
        Recipe(SAC, "reversion", 102_400, SAC_OPTIONS),
        Recipe(SAC, "lead-lag", 102_400, SAC_OPTIONS),
        Recipe(SAC, "pairs", 409_600, SAC_OPTIONS | {"gradient_steps": 1, "ent_coef": 0.005}, (32, 32)),
        Recipe(SAC, "martingale", 76_800, SAC_OPTIONS),
        Recipe(DQN, "momentum", 76_800, DQN_OPTIONS),
        Recipe(DQN, "reversion", 102_400, DQN_OPTIONS),
        Recipe(DQN, "martingale", 76_800, DQN_OPTIONS),
        replace(PAIRS, options=LATER, variant="-later", undone="`gamma=0.99`, `gae_lambda=0.95`"),
        replace(PAIRS, reward={"log": 100.0}, variant="-log", undone="log return, without the penalty on variance"),
        replace(PAIRS, edge="pairs-returns", undone="60 returns of each symbol, without the spread"),
        replace(PAIRS, std=1.0, variant="-wide", undone="initial standard deviation of 1"),
        replace(MOMENTUM, factor=1.0, variant="-small", undone="returns as they are, of order 0.01"),
        replace(
            PAIRS,
            edge="pairs-returns",
            options=LATER,
            std=1.0,
            reward={"log": 1.0},
            factor=1.0,
            variant="-all",
            undone="all of these",
        ),
    )
}


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", nargs="+", choices=[*RECIPES, "all"], metavar="recipe", help=", ".join(RECIPES))
    parser.add_argument("--seeds", type=int, default=5, help="number of training runs with different seeds")
    parser.add_argument("--results", type=Path, default=Path("recipes.json"), help="file to which results are added")
    parser.add_argument("--picture", type=Path, default=Path("recipes.svg"), help="learning curves of all results")
    parser.add_argument("--steps", type=int, help="environment steps of each seed instead of those of the recipe")
    return parser.parse_args(words)


def policy_of(model: BaseAlgorithm) -> Callable[[Array], Array]:
    """Return the decisions of a trained model, without its noise."""
    return lambda seen: model.predict(seen, deterministic=True)[0]


class Curve(BaseCallback):
    """Evaluates a model before its first step and at parts of the training; selects nothing.

    `points` holds steps and evaluations; `seconds` is the CPU time of the evaluations.
    """

    def __init__(self, steps: Sequence[int], evaluate: Callable[[BaseAlgorithm], Array]) -> None:
        super().__init__()
        self.points: list[tuple[int, Array]] = []
        self.seconds = 0.0
        self._evaluate, self._left = evaluate, list(steps)

    def _on_rollout_start(self) -> None:
        if self._left and self.num_timesteps >= self._left[0]:
            self._left = [each for each in self._left if each > self.num_timesteps]
            self.add()

    def _on_step(self) -> bool:
        return True

    def add(self) -> None:
        """Evaluate the model now."""
        start = time.process_time()
        self.points.append((self.num_timesteps, self._evaluate(self.model)))
        self.seconds += time.process_time() - start


def train(recipe: Recipe, seed: int, steps: int, curve: Curve) -> tuple[BaseAlgorithm, float]:
    """Return a trained model and the CPU seconds of its training, without those of the curve."""
    edge = EDGES[recipe.edge]
    markets = edge.markets(N_TRAIN, seed=N_TRAIN * seed)
    episodes = {"window": "random", "episode_bars": EPISODE_BARS, "autoreset_mode": AutoresetMode.SAME_STEP}
    env = OpenOutcryVecEnv(lanes_of(edge, markets, N_TRAIN, reward=recipe.reward, **episodes, **recipe.settings))
    model = recipe.model(env, edge, seed)
    start = time.process_time()
    model.learn(steps, callback=curve)
    seconds = time.process_time() - start - curve.seconds
    curve.add()
    env.close()
    return model, seconds


def result_of(recipe: Recipe, given: argparse.Namespace) -> dict[str, Any]:
    """Train all seeds of a recipe and return its result as JSON values."""
    edge, steps = EDGES[recipe.edge], given.steps or recipe.steps
    markets = unseen_markets(edge)
    rule = sharpe(play(edge, markets, edge.rule))

    def returns_of(model: BaseAlgorithm, costs: oo.CostModel = COSTS) -> Array:
        return play(edge, markets, policy_of(model), costs=costs, **recipe.settings)

    nets, gross, gains, curves, seconds = [], [], [], [], []
    for seed in range(given.seeds):
        curve = Curve(
            [] if recipe.undone else [int(part * steps) for part in PARTS], lambda each: sharpe(returns_of(each))
        )
        model, spent = train(recipe, seed, steps, curve)
        free = returns_of(model, FREE)
        nets.append(curve.points[-1][1])
        gross.append(sharpe(free))
        gains.append(BARS_PER_YEAR * free.mean(axis=1))
        curves.append([(step, mean_of(ratios)) for step, ratios in curve.points])
        seconds.append(round(spent, 1))
        print(f"{recipe.name} seed {seed}: Sharpe {nets[-1].mean():+.2f}, rule {rule.mean():+.2f}, {spent:.0f} s")
    return {
        "algorithm": recipe.algorithm.__name__,
        "edge": edge.name,
        "digest": edge.digest(),
        "steps": steps,
        "options": recipe.stated,
        "undone": recipe.undone,
        "rule": interval(rule[None]),
        "sharpe": interval(np.stack(nets)),
        "ratio": interval(np.stack(nets), rule),
        "before_costs": interval(np.stack(gross)),
        "gain": interval(np.stack(gains)),
        "seeds": [mean_of(each) for each in nets],
        "seconds": seconds,
        "curves": curves,
        "versions": {name: version(name) for name in ("torch", "stable-baselines3", "numpy")},
    }


def mean_of(ratios: Array) -> float | None:
    """Return the mean to four digits, None if one is undefined."""
    return round(float(ratios.mean()), 4) if np.isfinite(ratios).all() else None


def main() -> None:
    given = arguments()
    # Networks this small are slower with several threads than with one.
    torch.set_num_threads(1)
    results = json.loads(given.results.read_text(encoding="utf-8")) if given.results.exists() else {}
    for name in RECIPES if "all" in given.recipe else given.recipe:
        results[name] = result_of(RECIPES[name], given)
        ordered = {each: results[each] for each in RECIPES if each in results}
        lines = ",\n".join(f"{json.dumps(each)}: {json.dumps(found)}" for each, found in ordered.items())
        given.results.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    given.picture.write_text(picture(ordered), encoding="utf-8")
    tables = (edge_table(ordered), control_table(ordered), choice_table(ordered))
    print("\n\n".join(("", *tables, f"{given.results}, {given.picture}")))


if __name__ == "__main__":
    main()
