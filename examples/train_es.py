"""Train an evolution strategy in numpy on the vector environment: exchange rates before 2015, tested after 2015.

A small network, shared by all currencies, scores a currency by its recent returns and its weight. The target portfolio
is a softmax over the scores and cash; the portfolio moves a learned fraction of the way to it. In a generation, all
members trade the same window of the training data and differ only in their parameters.

Expect no profit: daily exchange rates are close to a random walk, and the data lacks interest rates, the source of
return of holding a currency. With the defaults, a Sharpe ratio of +0.3 before 2015 becomes 0.0 after 2015, within one
standard error of buy-and-hold. The script prints the Sharpe ratio of each seed before and after 2015 with its standard
error, and the excess return per year over buy-and-hold on the same days. `train_es.svg` shows the years after 2015.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from gymnasium.vector import AutoresetMode

import openoutcry as oo
from openoutcry.report.charts import Line, equity_chart, standalone
from openoutcry.vector import OpenOutcryVectorEnv

TRAIN, TEST = ":2015-01-01", "2015-01-01:"
LOOKBACK, HIDDEN, HORIZONS = 20, 8, (1, 5, 20)
LIMITS = oo.Limits(allow_short=False)
# Weights and biases of two layers, the score of cash, and the fraction of the way to the target.
SHAPES = {"w1": (len(HORIZONS) + 2, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN,), "cash": (), "pace": ()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=300, help="parameter updates per seed")
    parser.add_argument("--population", type=int, default=64, help="members of a generation, an even number")
    parser.add_argument("--bars", type=int, default=504, help="bars of the training window of a generation; two years")
    parser.add_argument("--sigma", type=float, default=0.1, help="standard deviation of the parameters of the members")
    parser.add_argument("--rate", type=float, default=0.03, help="learning rate of Adam")
    parser.add_argument("--seeds", type=int, default=3, help="number of training runs with different seeds")
    parser.add_argument("--quick", action="store_true", help="a run of seconds to test that the script works")
    options = parser.parse_args()
    if options.quick:
        options.generations, options.population, options.bars, options.seeds = 5, 16, 126, 2
    return options


class Policy:
    """One network per lane; parameters of shape `(n_lanes, n_parameters)`."""

    n_parameters = sum(int(np.prod(shape)) for shape in SHAPES.values())

    def __init__(self, parameters: np.ndarray, n_symbols: int) -> None:
        ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES.values()])[:-1]
        parts = zip(SHAPES.items(), np.split(parameters, ends, axis=1), strict=True)
        self.layers = {name: part.reshape(len(parameters), *shape) for (name, shape), part in parts}
        self.n_symbols = n_symbols

    def act(self, observations: np.ndarray) -> np.ndarray:
        """Return target weights, float32, shape `(n_lanes, n_symbols)`."""
        n_lanes, cut = len(observations), LOOKBACK * self.n_symbols
        returns = observations[:, :cut].reshape(n_lanes, LOOKBACK, self.n_symbols)
        weights, cash = observations[:, cut:-1], observations[:, -1:]
        spread = np.sqrt(np.mean(returns**2, axis=1)) + 1e-6
        moves = [returns[:, -n:].sum(axis=1) / (spread * n**0.5) for n in HORIZONS]
        features = np.stack([*moves, 100.0 * spread, weights * self.n_symbols], axis=2)
        hidden = np.tanh(features @ self.layers["w1"] + self.layers["b1"][:, None])
        scores = (hidden @ self.layers["w2"][:, :, None])[:, :, 0]
        scores = np.concatenate([scores, self.layers["cash"][:, None]], axis=1)
        parts = np.exp(scores - scores.max(axis=1, keepdims=True))
        parts /= parts.sum(axis=1, keepdims=True)
        # A twentieth of the way at the start: a full move every day would cost more than any forecast earns.
        pace = 1.0 / (1.0 + np.exp(3.0 - self.layers["pace"][:, None]))
        current = np.concatenate([weights, cash], axis=1)
        return (current + pace * (parts - current))[:, :-1].clip(0.0, 1.0).astype(np.float32)


def play(dataset: oo.Dataset, window: object, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log growth of each lane over a window, and the weights decided on each bar."""
    env = OpenOutcryVectorEnv(
        len(parameters),
        dataset=dataset,
        window=window,
        observation="flat",
        lookback=LOOKBACK,
        reward="log",
        limits=LIMITS,
        autoreset_mode=AutoresetMode.DISABLED,
        copy=False,
    )
    policy = Policy(parameters, dataset.n_symbols)
    observations, _ = env.reset(seed=0)
    growth, decisions, done = np.zeros(len(parameters)), [], False
    while not done:
        decisions.append(policy.act(observations))
        observations, rewards, terminated, truncated, _ = env.step(decisions[-1])
        growth += rewards
        done = bool((terminated | truncated).all())
    env.close()
    return growth, np.stack(decisions)


def train(dataset: oo.Dataset, options: argparse.Namespace, seed: int) -> np.ndarray:
    """Return the parameters after training on random windows before 2015."""
    first, end = oo.Window(end="2015-01-01").resolve(dataset, LOOKBACK)

    def random_window(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        start = int(rng.integers(first, end - options.bars))
        return lambda members: play(dataset, (start, start + options.bars), members)[0]

    return evolve(random_window, Policy.n_parameters, options, np.random.default_rng(seed))


def evolve(
    draw_task: Callable[[np.random.Generator], Callable[[np.ndarray], np.ndarray]],
    n_parameters: int,
    options: argparse.Namespace,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the final parameters of an evolution strategy (Salimans et al. 2017).

    Args:
        draw_task: Draws the task of a generation and returns a function from the members' parameters to their fitness.
        n_parameters: Number of parameters of a member.
        options: `generations`, `population`, `sigma` and `rate`.
        rng: Random generator of all draws.
    """
    centre = 0.1 * rng.standard_normal(n_parameters)
    mean, square = np.zeros_like(centre), np.zeros_like(centre)
    for generation in range(1, options.generations + 1):
        fitness_of = draw_task(rng)
        half = rng.standard_normal((options.population // 2, n_parameters))
        noise = np.concatenate([half, -half])
        fitness = fitness_of(centre + options.sigma * noise)
        # Ranks from -1/2 to 1/2, so that one outlier does not dominate.
        ranks = fitness.argsort().argsort() / (len(fitness) - 1) - 0.5
        gradient = ranks @ noise / (len(fitness) * options.sigma) - 0.01 * centre
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        size = options.rate * np.sqrt(1 - 0.99**generation) / (1 - 0.9**generation)
        centre = centre + size * mean / (np.sqrt(square) + 1e-8)
    return centre


def evaluate(dataset: oo.Dataset, window: str, parameters: np.ndarray, name: str) -> oo.Run:
    """Return the backtest of the weights that trained parameters decide; its NAV equals that of the environment."""
    start, end = oo.Window.parse(window).resolve(dataset, LOOKBACK)
    growth, decisions = play(dataset, (start, end), parameters[None])
    table = np.full((dataset.n_bars, dataset.n_symbols), np.nan)
    table[start : end - 1] = decisions[:, 0]
    run = oo.run_backtest(dataset, table, (start, end), limits=LIMITS, name=name)
    assert abs(np.log(run.nav[-1]) - growth[0]) < 1e-9
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
    fx = oo.data.load("ecb-fx")
    held = {window: oo.run_backtest(fx, "buy-and-hold", window, limits=LIMITS) for window in (TRAIN, TEST)}
    after = []
    for seed in range(options.seeds):
        start = time.perf_counter()
        parameters = train(fx, options, seed)
        seconds = time.perf_counter() - start
        before, run = (evaluate(fx, window, parameters, f"seed {seed}") for window in (TRAIN, TEST))
        after.append(run)
        print(f"seed {seed}, {seconds:.0f} s")
        print(f"  before 2015  {summary(before, held[TRAIN])}")
        print(f"  after        {summary(run, held[TEST])}")
    print("buy and hold")
    print(f"  before 2015  {summary(held[TRAIN], held[TRAIN])}")
    print(f"  after        {summary(held[TEST], held[TEST])}")

    lines = [Line(run.name, run.dates, run.nav, "series", slot) for slot, run in enumerate(after)]
    lines.append(Line("buy and hold", held[TEST].dates, held[TEST].nav, "benchmark"))
    chart = standalone(equity_chart(lines), title="An evolution strategy after 2015, trained before")
    Path("train_es.svg").write_text(chart, encoding="utf-8")
    n_better = sum(excess > 2.0 * error for excess, error in (excess_return(run, held[TEST]) for run in after))
    print(f"train_es.svg; after 2015, {n_better} of {len(after)} seeds beat buy-and-hold by over two standard errors")


if __name__ == "__main__":
    main()
