"""Reinforcement learning on the language model environment with a small policy, in seconds.

A linear softmax policy over seven answers plays tasks of the verifiers environment. It parses the messages that a model
reads, answers in text, and gets the same rewards. It starts uniform, with one invalid answer among the seven, and is
trained by REINFORCE on `train` rows: groups of episodes of one row, with the group mean as the baseline, as in GRPO.
The output compares it with its start on `validation` rows, pair by pair, and with a copy of the benchmark, which earns
0.

The policy can learn to give valid decisions and to reduce positions in falling markets. In `crisis` that beats the
benchmark, but not cash; in `pairs` it only learns to avoid trading costs.
"""

import argparse
import json
import time
from dataclasses import dataclass

import numpy as np

from openoutcry.verifiers_env import row_markets
from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.parser import execute_text
from openoutcry.verifiers_env.prompts import prompt
from openoutcry.verifiers_env.rewards import RewardTerms
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.scripted_policies import decision
from openoutcry.verifiers_env.task_rows import TIERS, Row

ACTIONS = ("hold", "equal parts", "cash", "what rose most", "what fell most", "all short", "no decision")
N_FEATURES = 7
LOOKBACK, RATE, DOUBT = 20, 0.1, 0.02
# Rows of an update, and episodes of each.
N_ROWS, GROUP = 2, 8
TERMS = RewardTerms()


@dataclass
class Episode:
    """Features, actions and reward of an episode."""

    features: np.ndarray
    actions: np.ndarray
    reward: float


class Reader:
    """Computes features from the messages of an episode: the prompt, then each reply."""

    def __init__(self, first: str) -> None:
        shown = json.loads(first.rsplit("\n", 1)[-1])
        self.closes = shown.pop("history")
        self.n_bars = shown["bars_left"]
        self.state = shown

    def read(self, reply: str) -> None:
        self.state = json.loads(reply)
        for name, close in self.state.get("closes", {}).items():
            self.closes.setdefault(name, []).append(close)

    @property
    def moves(self) -> dict[str, float]:
        """Log return of each symbol over at most 15 bars."""
        return {
            name: float(np.log(self.closes[name][-1] / self.closes[name][-16:][0])) for name in self.state["closes"]
        }

    def features(self) -> np.ndarray:
        closes = [self.closes[name] for name in self.state["closes"]]
        # A recently listed symbol has fewer closes.
        known = [each[-LOOKBACK:] for each in closes if len(each) >= LOOKBACK] or [[1.0, 1.0]]
        returns = np.diff(np.log(known), axis=1)
        market = returns.mean(axis=0)
        spread = max(float(market.std()), 1e-4)
        moves = list(self.moves.values())
        held = self.state["weights"].values()
        values = (
            1.0,
            market[-5:].sum() / (spread * 5**0.5),
            market.sum() / (spread * len(market) ** 0.5),
            (max(moves) - min(moves)) / (spread * 15**0.5) - 1.0,
            sum(map(abs, held)),
            sum(held),
            self.state["bars_left"] / self.n_bars,
        )
        return np.clip(np.array(values), -3.0, 3.0)

    def say(self, action: str) -> str:
        """Return the message of an action."""
        names, moves = list(self.state["closes"]), self.moves
        if action == "no decision":
            return "I would rather wait and see."
        if action == "hold":
            return f"Nothing to do. {HOLD}"
        parts = {"equal parts": 1.0, "cash": 0.0, "all short": -1.0}
        if action in parts:
            weights = dict.fromkeys(names, parts[action] / len(names))
        else:
            best = max(names, key=lambda name: moves[name] if action == "what rose most" else -moves[name])
            weights = dict.fromkeys(names, 0.0) | {best: 1.0}
        return f"I take {action}. {decision(weights)}"


def row_of(market: str, split: str, index: int) -> Row:
    tier = TIERS["easy"]
    digest = row_markets.digest_of(market, tier.n_symbols, LOOKBACK + tier.horizon)
    return Row(split, index, market, digest, n_symbols=tier.n_symbols, horizon=tier.horizon, lookback=LOOKBACK)


def play(row: Row, first: str, parameters: np.ndarray, rng: np.random.Generator) -> Episode:
    """Return an episode of a policy, played message by message like a model."""
    rollout, reader = RolloutState(row), Reader(first)
    features, actions = [], []
    while not rollout.done:
        features.append(reader.features())
        actions.append(int(rng.choice(len(ACTIONS), p=chances(parameters, features[-1]))))
        reply = execute_text(rollout, reader.say(ACTIONS[actions[-1]]))
        if not rollout.done:
            reader.read(reply)
    outcome = outcome_of(rollout)
    reward = sum(weight * TERMS.compute(name, outcome) for name, weight in TERMS.weights.items() if weight)
    return Episode(np.array(features), np.array(actions), reward)


def chances(parameters: np.ndarray, features: np.ndarray) -> np.ndarray:
    scores = parameters @ features
    parts = np.exp(scores - scores.max())
    return parts / parts.sum()


def gradient(parameters: np.ndarray, group: list[Episode]) -> np.ndarray:
    """Return the policy gradient of a group, with its mean reward as the baseline."""
    rewards = np.array([episode.reward for episode in group])
    advantages = rewards - rewards.mean()
    total = np.zeros_like(parameters)
    for episode, weight in zip(group, advantages, strict=True):
        for features, action in zip(episode.features, episode.actions, strict=True):
            chosen = np.eye(len(ACTIONS))[action]
            odds = chances(parameters, features)
            # An entropy bonus, so that no action is abandoned early.
            doubt = odds * (-np.log(odds + 1e-12) + odds @ np.log(odds + 1e-12))
            total += np.outer(weight * (chosen - odds) + DOUBT * doubt, features)
    return total / sum(len(episode.actions) for episode in group)


def train(market: str, n_episodes: int, seed: int) -> np.ndarray:
    """Return the parameters after training by REINFORCE with Adam."""
    rng = np.random.default_rng(seed)
    parameters = np.zeros((len(ACTIONS), N_FEATURES))
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    for update in range(1, n_episodes // (N_ROWS * GROUP) + 1):
        step = np.zeros_like(parameters)
        for index in range((update - 1) * N_ROWS, update * N_ROWS):
            row = row_of(market, "train", index)
            first = prompt(row, "text", TERMS)
            step += gradient(parameters, [play(row, first, parameters, rng) for _ in range(GROUP)]) / N_ROWS
        mean, square = 0.9 * mean + 0.1 * step, 0.99 * square + 0.01 * step**2
        size = RATE * np.sqrt(1 - 0.99**update) / (1 - 0.9**update)
        parameters = parameters + size * mean / (np.sqrt(square) + 1e-8)
    return parameters


def judge(market: str, parameters: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the reward of a policy on each of the first rows of `validation`."""
    rewards = []
    for index in range(n_rows):
        row = row_of(market, "validation", index)
        rewards.append(play(row, prompt(row, "text", TERMS), parameters, np.random.default_rng(index)).reward)
    return np.array(rewards)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return a mean and its 95 % interval."""
    mean, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
    return mean, mean - 1.96 * error, mean + 1.96 * error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", default="crisis", help="any market of the taskset")
    parser.add_argument("--episodes", type=int, default=2_400, help="episodes of training")
    parser.add_argument("--rows", type=int, default=300, help="rows of validation")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random draws in training")
    parser.add_argument("--quick", action="store_true", help="a quarter of the episodes, and a third of the rows")
    given = parser.parse_args()
    if given.quick:
        given.episodes, given.rows = given.episodes // 4, given.rows // 3
    began = time.perf_counter()
    before = judge(given.market, np.zeros((len(ACTIONS), N_FEATURES)), given.rows)
    parameters = train(given.market, given.episodes, given.seed)
    after = judge(given.market, parameters, given.rows)
    print(f"{given.market}: {given.episodes} episodes of `train` in {time.perf_counter() - began:.0f} s")
    for name, values in (("start", before), ("trained; the benchmark is 0", after), ("gained", after - before)):
        mean, low, high = interval(values)
        print(f"{name:32}{mean:+.3f} ({low:+.3f} to {high:+.3f}) on {given.rows} rows of `validation`")


if __name__ == "__main__":
    main()
