"""PPO in one file of plain PyTorch: continuous weights on a market with a known edge.

Needs torch: `pip install openoutcry torch`. The whole learner is in this file.

    python examples/single_file_ppo.py                     # five seeds
    python examples/single_file_ppo.py --edge martingale   # the control, where there is nothing to learn

Lanes restart in the step that ends their episode (`SAME_STEP`), so the next row of the rollout belongs to another
episode, and `final_obs` holds the last observation of the one that ended. An episode that ends by time (truncated) goes
on in the market: the value of `final_obs` stands for its later rewards. Ruin (terminated) has no later rewards. No
advantage is summed over an end of either kind. All seeds are fixed: one machine gives the same bits twice.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor, nn

import openoutcry as oo
from openoutcry.scenarios.scenario import ScenarioSpec, scenarios

Array = np.ndarray[Any, Any]
EDGES = {"momentum": 0.3, "martingale": 0.0}  # the share of a return that continues in the next bar
N_LANES, N_TEST, N_DAYS, LOOKBACK, BARS_PER_YEAR = 256, 64, 1261, 5, 252.0
SPEC = ScenarioSpec("martingale", n_symbols=1, n_days=N_DAYS)
FEE_BPS = 1.0  # the only cost; every setting is stated, so that a later default changes nothing
SCALE = torch.tensor([50.0] * LOOKBACK + [1.0, 1.0])  # daily returns are of order 0.01, weight and cash of order 1
NO_COSTS = {"slippage_bps": 0.0, "slippage_jitter": 0.0, "impact_bps": 0.0, "financing_bps": 0.0, "cash_bps": 0.0}
NO_COSTS |= {"borrow_bps": 0.0, "capital": 1_000_000.0}


@dataclass
class Args:
    """Arguments of the command line, as name, type, help and default."""

    edge: Annotated[str, "momentum, or martingale for the control"] = "momentum"
    seeds: Annotated[int, "number of training runs, each with markets of its own"] = 5
    steps: Annotated[int, "environment steps of a seed, over all lanes"] = 163_840
    rows: Annotated[int, "steps of each lane between updates"] = 32
    batch: Annotated[int, "transitions per gradient step"] = 2048
    epochs: Annotated[int, "passes over a rollout"] = 4
    rate: Annotated[float, "learning rate of Adam"] = 1e-3
    gamma: Annotated[float, "discount per bar; a weight earns in the next bar only, so later rewards are noise"] = 0.0
    lam: Annotated[float, "decay of the advantage estimate (GAE)"] = 0.95
    clip: Annotated[float, "largest change of the probability ratio that is rewarded"] = 0.2
    std: Annotated[float, "first standard deviation of a weight; with 1, most weights would be cut to a bound"] = 0.35


def arguments(words: Sequence[str] | None = None) -> Args:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, hint in get_type_hints(Args, include_extras=True).items():
        about, default = f"{hint.__metadata__[0]} (%(default)s)", getattr(Args, name)
        choices = list(EDGES) if name == "edge" else None
        parser.add_argument(f"--{name}", type=hint.__origin__, default=default, choices=choices, help=about)
    parser.add_argument("--quick", action="store_true", help="a run of seconds to test that the script works")
    given = vars(parser.parse_args(words))
    return Args(**(given | ({"seeds": 1, "steps": 24_576} if given.pop("quick") else {})))


def digest(edge: str) -> str:
    """Return the SHA-256 of the edge and its scenarios, in hexadecimal; docs/recipes.md states it."""
    about = {"edge": edge, "strength": EDGES[edge], "scenarios": SPEC.digest}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def markets_of(edge: str, n: int, seed: int, split: str) -> list[oo.Dataset]:
    """Return markets of a split: the noise of a martingale, to which the edge is added with sums and products only."""
    drawn = [each.dataset() for each in scenarios(SPEC, n, seed=seed, split=split)]
    close = np.stack([each.close for each in drawn], axis=1)
    returns = close[1:] / close[:-1] - 1.0
    for t in range(1, len(returns)):
        returns[t] += EDGES[edge] * returns[t - 1]
    prices = 100.0 * np.cumprod(np.concatenate([np.ones_like(returns[:1]), 1.0 + returns]), axis=0)
    about = {"dates": drawn[0].dates, "symbols": drawn[0].symbols, "periods_per_year": BARS_PER_YEAR}
    return [oo.Dataset.from_arrays(close=prices[:, i], **about) for i in range(n)]


def lanes_of(markets: list[oo.Dataset], fee_bps: float = FEE_BPS, **settings: Any) -> oo.OpenOutcryVectorEnv:
    """Return one lane per market. An observation has the last five returns, the weight and the share of cash."""
    costs = oo.CostModel(fee_bps=fee_bps, **NO_COSTS)
    limits = oo.Limits(max_weight=1.0, max_gross=1.0, allow_short=True)
    stated = {"costs": costs, "limits": limits, "observation": "flat", "lookback": LOOKBACK, "scale": "none"}
    return oo.OpenOutcryVectorEnv(len(markets), dataset=markets, no_trade_band=0.0, **stated, **settings)


def rule(seen: Array) -> Array:
    """Return the weights of the rule of one line that knows the edge."""
    return np.clip(80.0 * seen[:, LOOKBACK - 1 : LOOKBACK], -1.0, 1.0)


class Agent(nn.Module):
    """Gaussian policy and value function, two separate networks."""

    def __init__(self, width: int, std: float) -> None:
        super().__init__()
        self.mean, self.critic = self.layers(width, 0.01), self.layers(width, 1.0)  # the first mean weights are small
        self.log_std = nn.Parameter(torch.full((1,), float(np.log(std))))

    @staticmethod
    def layers(width: int, last: float) -> nn.Sequential:
        found = nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        for layer, gain in zip(found[::2], (2**0.5, 2**0.5, last), strict=True):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)
        return found

    def policy(self, seen: Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean(seen * SCALE), self.log_std.exp())

    def value(self, seen: Tensor) -> Tensor:
        return self.critic(seen * SCALE)[..., 0]

    @torch.no_grad()
    def decide(self, seen: Array) -> Array:
        """Return the mean weights, without noise."""
        return self.mean(torch.from_numpy(seen) * SCALE).clamp(-1.0, 1.0).numpy()


class Rollout:
    """Transitions of all lanes. Row t + 1 of `seen` is what row t led to, except where an episode ended."""

    def __init__(self, rows: int, env: oo.OpenOutcryVectorEnv) -> None:
        lanes, self.env = env.num_envs, env
        self.seen = np.empty((rows + 1, lanes, *env.single_observation_space.shape), np.float32)
        self.actions, self.log_probs = torch.empty(rows, lanes, 1), torch.empty(rows, lanes)
        self.rewards = np.empty((rows, lanes), np.float32)
        self.terminated, self.ended = np.empty((rows, lanes), np.bool_), np.empty((rows, lanes), np.bool_)

    @torch.no_grad()
    def collect(self, agent: Agent) -> tuple[Tensor, Tensor]:
        """Fill all rows from the last observation; return the values before and after each step."""
        self.seen[0] = self.seen[-1]
        finals: list[tuple[int, Array, Tensor]] = []
        for t in range(len(self.rewards)):
            policy = agent.policy(torch.from_numpy(self.seen[t]))
            self.actions[t] = policy.sample()
            self.log_probs[t] = policy.log_prob(self.actions[t])[:, 0]
            weights = self.actions[t].clamp(-1.0, 1.0).numpy()
            # The environment writes the next observation directly into the rollout.
            _, self.rewards[t], terminated, truncated, info = self.env.step(weights, out=self.seen[t + 1])
            self.terminated[t], self.ended[t] = terminated, terminated | truncated
            if "final_obs" in info:
                ended = np.flatnonzero(info["_final_obs"])
                finals.append((t, ended, torch.from_numpy(np.stack(info["final_obs"][ended]))))
        values = agent.value(torch.from_numpy(self.seen))
        after = values[1:].clone()
        for t, ended, final in finals:
            after[t, ended] = agent.value(final)
        after[torch.from_numpy(self.terminated)] = 0.0
        return values[:-1], after


def advantages(rewards: Tensor, values: Tensor, after: Tensor, ended: Tensor, args: Args) -> Tensor:
    """Return the generalised advantage estimate, shape `(rows, lanes)`; no sum goes over an end."""
    surprise = rewards + args.gamma * after - values
    found, later = torch.empty_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        later = surprise[t] + args.gamma * args.lam * torch.where(ended[t], 0.0, later)
        found[t] = later
    return found


def update(agent: Agent, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, ...], args: Args) -> None:
    """Take one gradient step on observations, actions, their log-probabilities, advantages and targets of the value."""
    seen, actions, old, advantage, target = batch
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ratio = (agent.policy(seen).log_prob(actions)[:, 0] - old).exp()
    gain = torch.minimum(ratio * advantage, ratio.clamp(1.0 - args.clip, 1.0 + args.clip) * advantage).mean()
    loss = 0.5 * (agent.value(seen) - target).square().mean() - gain
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()


def train(args: Args, seed: int) -> Agent:
    """Return the agent after the last step of the training; nothing is selected."""
    torch.manual_seed(seed)
    markets = markets_of(args.edge, N_LANES, N_LANES * seed, "train")
    # Mean-variance: without the penalty, the best weight is nearly always a bound.
    episodes = {"reward": {"simple": 100.0, "variance-penalty": 500.0}, "window": "random", "episode_bars": 253}
    env = lanes_of(markets, autoreset_mode=AutoresetMode.SAME_STEP, **episodes)
    rollout = Rollout(args.rows, env)
    rollout.seen[-1], _ = env.reset(seed=N_LANES * seed)
    agent = Agent(rollout.seen.shape[-1], args.std)
    optimizer = torch.optim.Adam(agent.parameters(), args.rate, eps=1e-5)
    for _ in range(args.steps // (args.rows * N_LANES)):
        values, after = rollout.collect(agent)
        advantage = advantages(torch.from_numpy(rollout.rewards), values, after, torch.from_numpy(rollout.ended), args)
        columns = (torch.from_numpy(rollout.seen[:-1]), rollout.actions, rollout.log_probs, advantage)
        flat = [each.flatten(0, 1) for each in (*columns, advantage + values)]
        for _ in range(args.epochs):
            for part in torch.randperm(len(flat[0])).split(args.batch):
                update(agent, optimizer, tuple(each[part] for each in flat), args)
    env.close()
    return agent


def sharpe(markets: list[oo.Dataset], policy: Callable[[Array], Array], fee_bps: float = FEE_BPS) -> Array:
    """Return the annual Sharpe ratio of a policy on each whole market; NaN for constant returns."""
    whole = {"window": (LOOKBACK - 1, N_DAYS), "autoreset_mode": AutoresetMode.DISABLED, "reward": "simple"}
    env = lanes_of(markets, fee_bps, **whole)
    seen, _ = env.reset(seed=0)
    returns = np.empty((N_DAYS - LOOKBACK, len(markets)))
    for row in returns:
        _, row[:], *_ = env.step(policy(seen), out=seen)
    env.close()
    deviation = returns.std(axis=0)
    return BARS_PER_YEAR**0.5 * returns.mean(axis=0) / np.where(deviation > 0.0, deviation, np.nan)


def interval(ratios: Array, reference: Array | None = None) -> str:
    """Return a mean over seeds and markets, or its share of a reference, with its 95 % interval (two-way bootstrap)."""
    rng = np.random.default_rng(0)
    drawn = [np.vstack([np.full(n, 1 / n), rng.multinomial(n, np.full(n, 1 / n), 4000) / n]) for n in ratios.shape]
    means = np.einsum("ds,sm,dm->d", drawn[0], ratios, drawn[1])
    if reference is not None:
        means = means / (drawn[1] @ reference)
    return "{:.2f} [{:.2f}, {:.2f}]".format(means[0], *np.quantile(means[1:], [0.025, 0.975]))


def main(words: Sequence[str] | None = None) -> None:
    args = arguments(words)
    torch.set_num_threads(1)  # networks this small are slower with several
    # No training sees these markets, and no hyperparameter was chosen on them.
    markets = markets_of(args.edge, N_TEST, N_TEST, "test")
    known, rows, seconds = sharpe(markets, rule), [], []
    print("| seed | Sharpe ratio | before costs | CPU seconds |\n|---|---|---|---|")
    for seed in range(args.seeds):
        start = time.process_time()
        agent = train(args, seed)
        seconds.append(time.process_time() - start)
        rows.append((sharpe(markets, agent.decide), sharpe(markets, agent.decide, 0.0)))
        print(f"| {seed} | {rows[-1][0].mean():.2f} | {rows[-1][1].mean():.2f} | {seconds[-1]:.0f} |", flush=True)
    net, gross = (np.stack(column) for column in zip(*rows, strict=True))
    print(f"| all | {interval(net)} | {interval(gross)} | {np.mean(seconds):.0f} |")
    print(f"| rule | {interval(known[None])} | {interval(sharpe(markets, rule, 0.0)[None])} | |")
    if EDGES[args.edge]:
        print(f"share of the rule: {interval(net, known)}")


if __name__ == "__main__":
    main()
