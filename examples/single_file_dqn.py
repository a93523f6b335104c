"""DQN in one file of plain PyTorch: short, flat or long on a market with a known edge.

Needs torch: `pip install openoutcry torch`. The whole learner is in this file.

    python examples/single_file_dqn.py                     # five seeds
    python examples/single_file_dqn.py --edge martingale   # the control, where there is nothing to learn

Lanes restart in the step after the end of their episode (`NEXT_STEP`), so the next row of the replay buffer is always
the true next observation, also at an end. The step that only restarts a lane is no transition and is never sampled. An
episode that ends by time (truncated) goes on in the market, so its last transition has a next value as any other; only
ruin (terminated) has none. All seeds are fixed: one machine gives the same bits twice.
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
LEVELS = (-1.0, 0.0, 1.0)  # short, flat and long
DISCRETE = {"action": "discrete", "levels": LEVELS}
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
    steps: Annotated[int, "environment steps of a seed, over all lanes"] = 76_800
    rows: Annotated[int, "steps of each lane in the replay buffer"] = 512
    start: Annotated[int, "steps of each lane before the first update"] = 40
    updates: Annotated[int, "gradient steps per step of all lanes"] = 2
    batch: Annotated[int, "transitions per gradient step"] = 1024
    rate: Annotated[float, "learning rate of Adam"] = 1e-3
    gamma: Annotated[float, "discount per bar; a weight earns in the next bar only, so later rewards are noise"] = 0.0
    sync: Annotated[int, "gradient steps between copies of the network into the target network"] = 100
    explore: Annotated[float, "last share of random levels; it falls from 1 in the first half of the training"] = 0.3


def arguments(words: Sequence[str] | None = None) -> Args:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, hint in get_type_hints(Args, include_extras=True).items():
        about, default = f"{hint.__metadata__[0]} (%(default)s)", getattr(Args, name)
        choices = list(EDGES) if name == "edge" else None
        parser.add_argument(f"--{name}", type=hint.__origin__, default=default, choices=choices, help=about)
    parser.add_argument("--quick", action="store_true", help="a run of seconds to test that the script works")
    given = vars(parser.parse_args(words))
    return Args(**(given | ({"seeds": 1, "steps": 25_600} if given.pop("quick") else {})))


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


class Values(nn.Module):
    """Value of each level in an observation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = (nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.body = nn.Sequential(*hidden, nn.Linear(64, len(LEVELS)))

    def forward(self, seen: Tensor) -> Tensor:
        """Return the values, shape `(n, n_levels)`."""
        return self.body(seen * SCALE)

    @torch.no_grad()
    def decide(self, seen: Array) -> Array:
        """Return the index of the best level of each lane."""
        return self(torch.from_numpy(seen)).argmax(dim=1).numpy()


class Replay:
    """The last transitions of all lanes. Row t + 1 of `seen` is what row t led to, so each is stored once."""

    def __init__(self, rows: int, env: oo.OpenOutcryVectorEnv) -> None:
        self.env, self.at, self.n_filled, shape, taken = env, 0, 0, (rows, env.num_envs), env.single_action_space
        self.seen = np.empty((*shape, *env.single_observation_space.shape), np.float32)
        self.actions, self.rewards = np.empty((*shape, *taken.shape), taken.dtype), np.empty(shape, np.float32)
        self.terminated, self.usable = np.empty(shape, np.bool_), np.zeros(shape, np.bool_)

    def add(self, actions: Array) -> None:
        """Step all lanes; the environment writes the next observation directly into the next row."""
        here, following = self.at, (self.at + 1) % len(self.seen)
        self.actions[here] = actions
        stepped = self.env.step(self.actions[here], out=self.seen[following])
        _, self.rewards[here], self.terminated[here], _, info = stepped
        # A lane that this step only restarted made no transition. The next row has no action yet.
        self.usable[here], self.usable[following] = ~info.get("reset", np.zeros(len(actions), np.bool_)), False
        self.at, self.n_filled = following, min(self.n_filled + 1, len(self.seen))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Tensor, ...]:
        """Return observations, actions, rewards, flags of ruin and next observations of about `n` transitions."""
        row, lane = rng.integers(self.n_filled, size=n), rng.integers(self.env.num_envs, size=n)
        usable = self.usable[row, lane]
        row, lane = row[usable], lane[usable]
        columns = [each[row, lane] for each in (self.seen, self.actions, self.rewards, self.terminated)]
        columns.append(self.seen[(row + 1) % len(self.seen), lane])
        return tuple(torch.from_numpy(each) for each in columns)


def loss_of(batch: tuple[Tensor, ...], values: Values, slow: Values, gamma: float) -> Tensor:
    """Return the loss of the values of the levels taken; ruin has no next value."""
    seen, levels, rewards, terminated, after = batch
    with torch.no_grad():
        # Double DQN: the network chooses the next level, the target network values it, so that noise is not maximised.
        best = values(after).argmax(dim=1, keepdim=True)
        later = slow(after).gather(1, best)[:, 0]
    target = rewards + gamma * torch.where(terminated, 0.0, later)
    return nn.functional.smooth_l1_loss(values(seen).gather(1, levels[:, None])[:, 0], target)


def train(args: Args, seed: int) -> Values:
    """Return the network after the last step of the training; nothing is selected."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    markets = markets_of(args.edge, N_LANES, N_LANES * seed, "train")
    # Mean-variance: without the penalty, the best weight is nearly always a bound.
    episodes = {"reward": {"simple": 100.0, "variance-penalty": 500.0}, "window": "random", "episode_bars": 253}
    env = lanes_of(markets, **DISCRETE, autoreset_mode=AutoresetMode.NEXT_STEP, **episodes)
    replay = Replay(args.rows, env)
    replay.seen[0], _ = env.reset(seed=N_LANES * seed)
    values, slow = Values(replay.seen.shape[-1]), Values(replay.seen.shape[-1])
    optimizer, n_updates = torch.optim.Adam(values.parameters(), args.rate), 0
    n_steps = args.steps // N_LANES
    for t in range(n_steps):
        is_random = rng.random(N_LANES) < max(args.explore, 1.0 - (1.0 - args.explore) * 2.0 * t / n_steps)
        replay.add(np.where(is_random, rng.integers(len(LEVELS), size=N_LANES), values.decide(replay.seen[replay.at])))
        for _ in range(args.updates if t >= args.start else 0):
            if n_updates % args.sync == 0:
                slow.load_state_dict(values.state_dict())
            loss = loss_of(replay.sample(args.batch, rng), values, slow, args.gamma)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(values.parameters(), 10.0)
            optimizer.step()
            n_updates += 1
    env.close()
    return values


def sharpe(
    markets: list[oo.Dataset], policy: Callable[[Array], Array], fee_bps: float = FEE_BPS, **action: Any
) -> Array:
    """Return the annual Sharpe ratio of a policy on each whole market; NaN for constant returns."""
    whole = {"window": (LOOKBACK - 1, N_DAYS), "autoreset_mode": AutoresetMode.DISABLED, "reward": "simple"}
    env = lanes_of(markets, fee_bps, **whole, **action)
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
        rows.append((sharpe(markets, agent.decide, **DISCRETE), sharpe(markets, agent.decide, 0.0, **DISCRETE)))
        print(f"| {seed} | {rows[-1][0].mean():.2f} | {rows[-1][1].mean():.2f} | {seconds[-1]:.0f} |", flush=True)
    net, gross = (np.stack(column) for column in zip(*rows, strict=True))
    print(f"| all | {interval(net)} | {interval(gross)} | {np.mean(seconds):.0f} |")
    print(f"| rule | {interval(known[None])} | {interval(sharpe(markets, rule, 0.0)[None])} | |")
    if EDGES[args.edge]:
        print(f"share of the rule: {interval(net, known)}")


if __name__ == "__main__":
    main()
