"""PPO of Stable-Baselines3 on the batch environment: exchange rates before 2015, judged by those after.

Needs `pip install openoutcry[train]`. Random years before 2015 are played by many lanes at once; the policy sees the
last 20 returns of each currency and its own weights, and answers with weights. Each trained seed then plays all days
before 2015 and all after, once, without noise.

What to expect is nothing: daily exchange rates are close to a random walk, and rates of interest, where the reward of
holding a currency lies, are not in the data. With the defaults the network learns the years before 2015 by heart: a
Sharpe ratio of +3.7 there is one of -1.6 after, and what it trades costs 6 % a year. The print says so in numbers: the
Sharpe ratio of each seed before and after 2015 with its standard error, and by how much a year it differs from
buy-and-hold on the same days. `train_ppo.svg` shows the years after 2015.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

import openoutcry as oo
from openoutcry.report.charts import Line, equity_chart, standalone
from openoutcry.sb3 import OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

TRAIN, TEST = ":2015-01-01", "2015-01-01:"
LOOKBACK = 20
LIMITS = oo.Limits(allow_short=False)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000, help="env-steps of a seed, over all lanes")
    parser.add_argument("--lanes", type=int, default=64, help="accounts played at once")
    parser.add_argument("--bars", type=int, default=252, help="bars of an episode, one year")
    parser.add_argument("--rollout", type=int, default=128, help="steps of each lane between updates")
    parser.add_argument("--batch", type=int, default=2048, help="transitions of a gradient step")
    parser.add_argument("--epochs", type=int, default=4, help="passes over a rollout")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate of Adam")
    parser.add_argument("--gamma", type=float, default=0.99, help="discount a bar")
    parser.add_argument("--seeds", type=int, default=3, help="how often to train from the start")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: shows that it runs")
    given = parser.parse_args()
    if given.quick:
        given.steps, given.lanes, given.seeds = 16_384, 16, 1
    return given


def make_env(dataset: oo.Dataset, n_lanes: int, **settings: object) -> OpenOutcryVectorEnv:
    return OpenOutcryVectorEnv(
        n_lanes,
        dataset=dataset,
        observation="flat",
        lookback=LOOKBACK,
        reward="log",
        limits=LIMITS,
        autoreset_mode=AutoresetMode.SAME_STEP,
        **settings,
    )


def train(dataset: oo.Dataset, given: argparse.Namespace, seed: int) -> tuple[PPO, VecNormalize]:
    """Return a trained policy, and what brings observations to its scale."""
    lanes = make_env(dataset, given.lanes, window="random", within=TRAIN, episode_bars=given.bars)
    env = VecNormalize(OpenOutcryVecEnv(lanes), gamma=given.gamma)
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=given.rollout,
        batch_size=given.batch,
        n_epochs=given.epochs,
        learning_rate=given.rate,
        gamma=given.gamma,
        # Weights lie in [0, 1]: with a deviation of 1, as is the default, most would be cut to a bound.
        policy_kwargs={"net_arch": [64, 64], "log_std_init": -1.5},
        seed=seed,
        device="cpu",
    )
    model.learn(given.steps)
    return model, env


def judge(dataset: oo.Dataset, window: str, trained: tuple[PPO, VecNormalize], name: str) -> oo.Run:
    """Return the run of a trained policy: the weights it decides on, as a backtest, which gives the same NAV."""
    model, scale = trained
    start, end = oo.Window.parse(window).resolve(dataset, LOOKBACK)
    env = make_env(dataset, 1, window=(start, end))
    observation, _ = env.reset(seed=0)
    table, growth = np.full((dataset.n_bars, dataset.n_symbols), np.nan), 0.0
    for bar in range(start, end - 1):
        weights, _ = model.predict(scale.normalize_obs(observation), deterministic=True)
        table[bar] = weights[0]
        observation, rewards, *_ = env.step(weights)
        growth += rewards[0]
    env.close()
    run = oo.run_backtest(dataset, table, (start, end), limits=LIMITS, name=name)
    assert abs(np.log(run.nav[-1]) - growth) < 1e-9
    return run


def above(run: oo.Run, benchmark: oo.Run) -> tuple[float, float]:
    """Return by how much a year a run returns more than a benchmark on the same days, and its standard error."""
    difference, ppy = run.returns - benchmark.returns, run.dataset.periods_per_year
    return ppy * difference.mean(), ppy * difference.std(ddof=1) / len(difference) ** 0.5


def line(run: oo.Run, benchmark: oo.Run) -> str:
    excess, error = above(run, benchmark)
    sharpe, sharpe_error = run.metrics["sharpe"], run.metrics["sharpe_se"]
    paid = run.dataset.periods_per_year * float((sum(run.costs.values()) / run.nav[:-1]).mean())
    text = f"{run.nav[-1] - 1:+8.1%}  Sharpe {sharpe:+.2f} ± {sharpe_error:.2f}  a year: costs {paid:5.2%}"
    return text if run is benchmark else f"{text}, above buy-and-hold {excess:+7.2%} ± {error:.2%}"


def main() -> None:
    given = arguments()
    # Networks this small are slower in several threads than in one.
    torch.set_num_threads(1)
    fx = oo.data.load("ecb-fx")
    held = {window: oo.run_backtest(fx, "buy-and-hold", window, limits=LIMITS) for window in (TRAIN, TEST)}
    after = []
    for seed in range(given.seeds):
        start = time.perf_counter()
        trained = train(fx, given, seed)
        seconds = time.perf_counter() - start
        before, run = (judge(fx, window, trained, f"seed {seed}") for window in (TRAIN, TEST))
        after.append(run)
        print(f"seed {seed}, {seconds:.0f} s, {trained[0].num_timesteps / seconds:,.0f} env-steps a second")
        print(f"  before 2015  {line(before, held[TRAIN])}")
        print(f"  after        {line(run, held[TEST])}")
    print("buy and hold")
    print(f"  before 2015  {line(held[TRAIN], held[TRAIN])}")
    print(f"  after        {line(held[TEST], held[TEST])}")

    lines = [Line(run.name, run.dates, run.nav, "series", slot) for slot, run in enumerate(after)]
    lines.append(Line("buy and hold", held[TEST].dates, held[TEST].nav, "benchmark"))
    picture = standalone(equity_chart(lines), title="PPO after 2015, trained before")
    Path("train_ppo.svg").write_text(picture, encoding="utf-8")
    clear = sum(excess > 2.0 * error for excess, error in (above(run, held[TEST]) for run in after))
    print(
        f"train_ppo.svg; after 2015, {clear} of {len(after)} seeds beat buy-and-hold by more than two standard errors"
    )


if __name__ == "__main__":
    main()
