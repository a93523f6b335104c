"""Train PPO of Stable-Baselines3 on the vector environment: exchange rates before 2015, tested after 2015.

Needs `pip install openoutcry[train]`. Many lanes trade random years before 2015. The policy observes the last 20
returns of each currency and its own weights, and returns weights. Each trained seed is then evaluated without noise on
all days before 2015 and on all days after.

Expect no profit: daily exchange rates are close to a random walk, and the data lacks interest rates, the source of
return of holding a currency. With the defaults, the network overfits the years before 2015: a Sharpe ratio of +3.7
becomes -1.6 after 2015, and its trading costs 6 % per year. The script prints the Sharpe ratio of each seed before and
after 2015 with its standard error, and the excess return per year over buy-and-hold on the same days. `train_ppo.svg`
shows the years after 2015.
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
    parser.add_argument("--steps", type=int, default=1_000_000, help="environment steps per seed, over all lanes")
    parser.add_argument("--lanes", type=int, default=64, help="parallel sub-environments")
    parser.add_argument("--bars", type=int, default=252, help="bars of an episode; one year")
    parser.add_argument("--rollout", type=int, default=128, help="steps of each lane between updates")
    parser.add_argument("--batch", type=int, default=2048, help="transitions per gradient step")
    parser.add_argument("--epochs", type=int, default=4, help="passes over a rollout")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate of Adam")
    parser.add_argument("--gamma", type=float, default=0.99, help="discount per bar")
    parser.add_argument("--seeds", type=int, default=3, help="number of training runs with different seeds")
    parser.add_argument("--quick", action="store_true", help="a run of seconds to test that the script works")
    options = parser.parse_args()
    if options.quick:
        options.steps, options.lanes, options.seeds = 16_384, 16, 1
    return options


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


def train(dataset: oo.Dataset, options: argparse.Namespace, seed: int) -> tuple[PPO, VecNormalize]:
    """Return a trained policy and its observation normalisation."""
    lanes = make_env(dataset, options.lanes, window="random", within=TRAIN, episode_bars=options.bars)
    env = VecNormalize(OpenOutcryVecEnv(lanes), gamma=options.gamma)
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=options.rollout,
        batch_size=options.batch,
        n_epochs=options.epochs,
        learning_rate=options.rate,
        gamma=options.gamma,
        # Weights are in [0, 1]: with the default standard deviation of 1, most would be clipped to a bound.
        policy_kwargs={"net_arch": [64, 64], "log_std_init": -1.5},
        seed=seed,
        device="cpu",
    )
    model.learn(options.steps)
    return model, env


def evaluate(dataset: oo.Dataset, window: str, trained: tuple[PPO, VecNormalize], name: str) -> oo.Run:
    """Return the backtest of the weights that a trained policy decides; its NAV equals that of the environment."""
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


def excess_return(run: oo.Run, benchmark: oo.Run) -> tuple[float, float]:
    """Return the excess return per year over a benchmark on the same days, and its standard error."""
    difference, ppy = run.returns - benchmark.returns, run.dataset.periods_per_year
    return ppy * difference.mean(), ppy * difference.std(ddof=1) / len(difference) ** 0.5


def summary(run: oo.Run, benchmark: oo.Run) -> str:
    excess, error = excess_return(run, benchmark)
    sharpe, sharpe_error = run.metrics["sharpe"], run.metrics["sharpe_se"]
    paid = run.dataset.periods_per_year * float((sum(run.costs.values()) / run.nav[:-1]).mean())
    text = f"{run.nav[-1] - 1:+8.1%}  Sharpe {sharpe:+.2f} ± {sharpe_error:.2f}  per year: costs {paid:5.2%}"
    return text if run is benchmark else f"{text}, excess over buy-and-hold {excess:+7.2%} ± {error:.2%}"


def main() -> None:
    options = arguments()
    # Networks this small are slower with several threads than with one.
    torch.set_num_threads(1)
    fx = oo.data.load("ecb-fx")
    held = {window: oo.run_backtest(fx, "buy-and-hold", window, limits=LIMITS) for window in (TRAIN, TEST)}
    after = []
    for seed in range(options.seeds):
        start = time.perf_counter()
        trained = train(fx, options, seed)
        seconds = time.perf_counter() - start
        before, run = (evaluate(fx, window, trained, f"seed {seed}") for window in (TRAIN, TEST))
        after.append(run)
        print(f"seed {seed}, {seconds:.0f} s, {trained[0].num_timesteps / seconds:,.0f} environment steps per second")
        print(f"  before 2015  {summary(before, held[TRAIN])}")
        print(f"  after        {summary(run, held[TEST])}")
    print("buy and hold")
    print(f"  before 2015  {summary(held[TRAIN], held[TRAIN])}")
    print(f"  after        {summary(held[TEST], held[TEST])}")

    lines = [Line(run.name, run.dates, run.nav, "series", slot) for slot, run in enumerate(after)]
    lines.append(Line("buy and hold", held[TEST].dates, held[TEST].nav, "benchmark"))
    chart = standalone(equity_chart(lines), title="PPO after 2015, trained before")
    Path("train_ppo.svg").write_text(chart, encoding="utf-8")
    n_better = sum(excess > 2.0 * error for excess, error in (excess_return(run, held[TEST]) for run in after))
    print(f"train_ppo.svg; after 2015, {n_better} of {len(after)} seeds beat buy-and-hold by over two standard errors")


if __name__ == "__main__":
    main()
