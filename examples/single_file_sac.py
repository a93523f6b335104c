"""SAC in one file of plain PyTorch: continuous weights on a market with a known edge.

Needs torch: `pip install openoutcry torch`. The whole learner is in this file.

    python examples/single_file_sac.py                     # five seeds
    python examples/single_file_sac.py --edge martingale   # the control, where there is nothing to learn

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
    start: Annotated[int, "steps of each lane with random weights, before the first update"] = 40
    updates: Annotated[int, "gradient steps per step of all lanes"] = 2
    batch: Annotated[int, "transitions per gradient step"] = 1024
    rate: Annotated[float, "learning rate of Adam"] = 1e-3
    gamma: Annotated[float, "discount per bar; a weight earns in the next bar only, so later rewards are noise"] = 0.0
    tau: Annotated[float, "step of the target networks towards the critics"] = 0.005
    alpha: Annotated[float, "price of entropy; fixed, as 1 would be more than a bar can earn"] = 0.01


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


def layers(width: int, n_outputs: int) -> nn.Sequential:
    hidden = (nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(64, n_outputs))


class Actor(nn.Module):
    """Policy: a Gaussian number, squashed into a weight in (-1, 1)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = layers(width, 2)

    def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return drawn weights, shape `(n, 1)`, with gradients, and their log-densities, shape `(n,)`."""
        mean, log_std = self.body(seen * SCALE).chunk(2, dim=-1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5.0, 2.0).exp())
        number = normal.rsample()
        # log(1 - tanh(x)^2) in a form that is exact for large x.
        log_slope = 2.0 * (np.log(2.0) - number - nn.functional.softplus(-2.0 * number))
        return number.tanh(), (normal.log_prob(number) - log_slope)[:, 0]

    @torch.no_grad()
    def decide(self, seen: Array) -> Array:
        """Return the weights of the mean numbers, without noise."""
        return self.body(torch.from_numpy(seen) * SCALE)[:, :1].tanh().numpy()


class Critic(nn.Module):
    """Two independent estimates of the value of a weight, shape `(2, n)`; the smaller one counts."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.ModuleList(layers(width + 1, 1) for _ in range(2))

    def forward(self, seen: Tensor, weights: Tensor) -> Tensor:
        inputs = torch.cat([seen * SCALE, weights], dim=1)
        return torch.stack([each(inputs)[:, 0] for each in self.both])


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


def targets(batch: tuple[Tensor, ...], actor: Actor, slow: Critic, args: Args) -> Tensor:
    """Return what the critics should estimate: the reward, and the value of the next bar unless there was ruin."""
    _, _, rewards, terminated, after = batch
    with torch.no_grad():
        weights, log_probs = actor(after)
        value = slow(after, weights).amin(dim=0) - args.alpha * log_probs
    return rewards + args.gamma * torch.where(terminated, 0.0, value)


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(args: Args, seed: int) -> Actor:
    """Return the policy after the last step of the training; nothing is selected."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    markets = markets_of(args.edge, N_LANES, N_LANES * seed, "train")
    # Mean-variance: without the penalty, the best weight is nearly always a bound.
    episodes = {"reward": {"simple": 100.0, "variance-penalty": 500.0}, "window": "random", "episode_bars": 253}
    env = lanes_of(markets, autoreset_mode=AutoresetMode.NEXT_STEP, **episodes)
    replay = Replay(args.rows, env)
    replay.seen[0], _ = env.reset(seed=N_LANES * seed)
    width = replay.seen.shape[-1]
    actor, critic, slow = Actor(width), Critic(width), Critic(width)
    slow.load_state_dict(critic.state_dict())
    critic_step, actor_step = (torch.optim.Adam(each.parameters(), args.rate) for each in (critic, actor))
    for t in range(args.steps // N_LANES):
        is_start, now = t < args.start, torch.from_numpy(replay.seen[replay.at])
        replay.add(rng.uniform(-1.0, 1.0, (N_LANES, 1)) if is_start else actor(now)[0].detach().numpy())
        for _ in range(0 if is_start else args.updates):
            batch = replay.sample(args.batch, rng)
            seen, taken = batch[:2]
            descend(critic_step, (critic(seen, taken) - targets(batch, actor, slow, args)).square().mean())
            drawn, log_probs = actor(seen)
            # The gradients that this leaves in the critics are zeroed before their next step.
            descend(actor_step, (args.alpha * log_probs - critic(seen, drawn).amin(dim=0)).mean())
            for old, new in zip(slow.parameters(), critic.parameters(), strict=True):
                old.data.lerp_(new.data, args.tau)
    env.close()
    return actor


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
