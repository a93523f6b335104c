"""Compare training on a realistic synthetic market with training on a Gaussian one, on real data.

The design below was fixed before the first look at held-out data.

Arms      The same agent, trained on (1) `tier`: worlds of the default tier of its market; (2) `gaussian`: for each of
          these worlds a twin with i.i.d. Gaussian returns, the volatilities and correlations of that world and the mean
          return of the tier, distributed over symbols by their beta; (3) `real`: real data before the split.
Baselines `untrained`, all parameters 0; buy-and-hold of equal amounts; cash.
Markets   `ecb-fx` with the tier `fx`, evaluated from 2015 on, and with --stocks 20 stocks of the S&P 500 with the tier
          `hard`, evaluated from July 2011 on, about the second half of each. No training uses data after a split.
Agent     11 parameters. A softmax allocates the invested fraction to symbols; it is linear in the logarithms of their
          volatility over 10 and 60 bars and in their trend over 5, 20 and 60. The invested fraction is log-linear in
          the volatility and trend of their average. Positions move towards the target by a learned fraction per bar.
          Inverse volatility, a volatility target, momentum and reversal are special cases. Volatility clustering, which
          a tier has and a Gaussian lacks, can be learned. All features are ratios or logarithms of ratios.
Budget    Equal for every arm: generations, population, bars of a generation, costs, limits. `tier` and `gaussian` also
          share their random numbers.
Tasks     `sharpe`: net annualised Sharpe ratio of a window. `steady`: match a target volatility; fitness is minus the
          mean of |ln(realised / target)| over months of 21 bars, with a target of about half the market's volatility
          before the split.
Primary   `tier` minus `gaussian` on held-out data, averaged over seeds: the Sharpe ratio of agents trained for `sharpe`
          and the miss of those trained for `steady`. Secondary: annual log growth; the other arms and baselines.
Interval  95 %, percentiles of a two-way bootstrap that resamples seeds and half-years of held-out data, equally for
          both sides of a difference (the pigeonhole bootstrap, Owen 2007). Not corrected for multiple testing.
Expected  No difference for `sharpe`: a tier's expected return is proportional to the day's variance, so neither trend
          nor volatility predicts it, as in a Gaussian market. `tier` has a smaller miss for `steady`.

    python examples/sim_to_real.py                       # currencies only
    python examples/sim_to_real.py --stocks skfolio-1.12.2-py3-none-any.whl
    python examples/sim_to_real.py --quick               # seconds: a smoke test without meaningful results

`pip download --no-deps skfolio==1.12.2` downloads the wheel; its prices are read, not stored. Writes
`sim_to_real.json` and `sim_to_real.svg`, and prints the table of docs/sim-to-real.md.
"""

import argparse
import gzip
import json
import sys
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from rich.console import Console
from rich.progress import Progress
from train_es import evolve

import openoutcry as oo
from openoutcry.audits.realism import panel_of
from openoutcry.report.charts import standalone
from openoutcry.report.charts.svg import place
from openoutcry.scenarios.scenario import Scenario
from openoutcry.vector import OpenOutcryVectorEnv

LOOKBACK, MONTH, BLOCK = 60, 21, 126
LIMITS = oo.Limits(allow_short=False)
SETTINGS = {"observation": "cursor", "lookback": LOOKBACK, "limits": LIMITS, "autoreset_mode": AutoresetMode.DISABLED}
ARMS, TASKS = ("tier", "gaussian", "real"), ("sharpe", "steady")
STOCKS, STOCKS_FROM = "skfolio/datasets/data/sp500_dataset.csv.gz", "1999-12-31"
# Parameters: scores of symbols, invested fraction, its constant, and pace.
N_SYMBOL, N_MARKET = 5, 4
N_PARAMETERS = N_SYMBOL + N_MARKET + 2


class Market(NamedTuple):
    """Real data with its split date, the matching tier, and the target volatility."""

    dataset: oo.Dataset
    split: str
    tier: str
    promised: float


class World(NamedTuple):
    """A market with the features of each bar from `LOOKBACK` on; `known` marks symbols with enough data."""

    dataset: oo.Dataset
    symbols: np.ndarray
    index: np.ndarray
    known: np.ndarray


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stocks", type=Path, help="wheel of skfolio 1.12.2, for the tier `hard`")
    parser.add_argument("--seeds", type=int, default=12, help="training runs of each arm")
    parser.add_argument("--generations", type=int, default=200, help="parameter updates per seed")
    parser.add_argument("--population", type=int, default=32, help="members per generation, an even number")
    parser.add_argument("--bars", type=int, default=504, help="bars per generation, a multiple of 21")
    parser.add_argument("--worlds", type=int, default=24, help="synthetic worlds per seed, ten years each")
    parser.add_argument("--sigma", type=float, default=0.2, help="standard deviation of members around the parameters")
    parser.add_argument("--rate", type=float, default=0.05, help="step of Adam")
    parser.add_argument("--draws", type=int, default=4000, help="bootstrap draws")
    parser.add_argument("--quick", action="store_true", help="a smoke test in seconds")
    given = parser.parse_args(words)
    if given.quick:
        given.seeds, given.generations, given.population, given.worlds, given.draws = 3, 5, 8, 2, 200
    return given


def markets_of(stocks: Path | None) -> dict[str, Market]:
    """Return the real markets; target volatilities come from the years before each split."""
    found = {"ecb-fx": Market(oo.data.load("ecb-fx"), "2015-01-01", "fx", 0.03)}
    if stocks is not None:
        text = gzip.decompress(zipfile.ZipFile(stocks).read(STOCKS)).decode()
        header, *rows = text.splitlines()
        # Before 2000 several closes are below 1 and rounded to 0.001: their returns are rounding.
        kept = "\n".join([header.replace("Date", "date", 1), *(row for row in rows if row >= STOCKS_FROM)])
        found["stocks"] = Market(oo.Dataset.from_csv(kept, name="stocks"), "2011-07-01", "hard", 0.10)
    return found


def ranges(market: Market) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the bars before the split and the test bars, truncated to complete half-years of returns."""
    split, end = oo.Window(start=market.split).resolve(market.dataset, LOOKBACK)
    return (LOOKBACK, split), (split, split + (end - split - 1) // BLOCK * BLOCK + 1)


def world_of(dataset: oo.Dataset) -> World:
    env = OpenOutcryVectorEnv(1, dataset=dataset, **SETTINGS)
    past = env.histories(np.arange(LOOKBACK, dataset.n_bars)).astype(float)
    env.close()
    known = ((past != 0.0).mean(axis=1) > 0.8) & past[:, -5:].any(axis=1)
    weight = known / np.maximum(known.sum(axis=1, keepdims=True), 1)

    def deviation(returns: np.ndarray, n: int) -> np.ndarray:
        return np.sqrt(np.mean(returns[:, -n:] ** 2, axis=1)) + 1e-8

    def trend(returns: np.ndarray, n: int) -> np.ndarray:
        return returns[:, -n:].sum(axis=1) / (deviation(returns, LOOKBACK) * n**0.5)

    def relative(values: np.ndarray) -> np.ndarray:
        return values - (values * weight).sum(axis=1, keepdims=True)

    sizes = [relative(np.log(deviation(past, n))) for n in (10, 60)]
    symbols = np.stack([*sizes, *(trend(past, n) for n in (5, 20, 60))], axis=2) * known[:, :, None]
    mean = (past * weight[:, None]).sum(axis=2)
    # Relative to 10 % per year, so that the logarithms are of order 1.
    annual = [np.log(deviation(mean, n) * dataset.periods_per_year**0.5 / 0.1) for n in (10, 60)]
    return World(dataset, symbols, np.stack([*annual, *(trend(mean, n) for n in (20, 60))], axis=1), known)


def gaussian_of(dataset: oo.Dataset, drift: float, rng: np.random.Generator) -> oo.Dataset:
    """Return an i.i.d. Gaussian market with the volatilities and correlations of a dataset.

    `drift` is the mean simple return of a bar over symbols. Symbols with fewer than 250 returns have no twin.
    """
    returns = np.expm1(panel_of(dataset).returns)
    returns = returns[:, np.isfinite(returns).sum(axis=0) >= 250]
    there = np.isfinite(returns)
    scale = np.nanstd(returns, axis=0)
    normal = np.where(there, (returns - np.nanmean(returns, axis=0)) / scale, 0.0)
    # Shrinks pairs with few common days; pairwise estimates need not form a positive semidefinite matrix.
    correlation = normal.T @ normal / np.maximum(there.T.astype(float) @ there, 250.0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root *= scale[:, None] / np.linalg.norm(root, axis=1, keepdims=True)
    beta = root @ root.mean(axis=0)
    noise = rng.standard_normal((dataset.n_bars - 1, len(scale))) @ root.T
    growth = np.vstack([np.zeros(len(scale)), np.log1p(np.maximum(drift * beta / beta.mean() + noise, -0.9))])
    names, close = [f"G{i}" for i in range(len(scale))], 100.0 * np.exp(growth.cumsum(axis=0))
    return oo.Dataset.from_arrays(dataset.dates, names, close, periods_per_year=dataset.periods_per_year)


def drift_of(tier: str, n_worlds: int) -> float:
    """Return the mean simple return per bar of a tier, over symbols and worlds that are not used in training."""
    worlds = (Scenario(tier, seed, split="validation").dataset() for seed in range(n_worlds))
    return float(np.mean([np.nanmean(np.expm1(panel_of(world).returns)) for world in worlds]))


def worlds_of(market: Market, seed: int, given: argparse.Namespace, drift: float) -> dict[str, list[World]]:
    """Return the training worlds of each arm of a seed."""
    tier = [Scenario(market.tier, seed * given.worlds + k).dataset() for k in range(given.worlds)]
    rng = np.random.default_rng([seed, 1])
    twins = [gaussian_of(each, drift, rng) for each in tier]
    before = market.dataset.head(ranges(market)[0][1])
    return {
        "tier": [world_of(each) for each in tier],
        "gaussian": [world_of(each) for each in twins],
        "real": [world_of(before)],
    }


def targets_of(world: World, start: int, end: int, members: np.ndarray) -> np.ndarray:
    """Return the target weights of each member, shape `(end - start, n_members, n_symbols)`."""
    rows = slice(start - LOOKBACK, end - LOOKBACK)
    scores = np.moveaxis(world.symbols[rows] @ members[:, :N_SYMBOL].T, 2, 1)
    scores = np.where(world.known[rows, None], np.clip(scores, -20.0, 20.0), -np.inf)
    parts = np.exp(scores)
    parts /= np.maximum(parts.sum(axis=2, keepdims=True), 1e-12)
    level = world.index[rows] @ members[:, N_SYMBOL:-2].T + members[:, -2]
    return parts * np.exp(np.minimum(level, 0.0))[:, :, None]


def play(world: World, window: tuple[int, int], members: np.ndarray) -> np.ndarray:
    """Return the net simple returns of each member, shape `(n_bars - 1, n_members)`."""
    env = OpenOutcryVectorEnv(len(members), dataset=world.dataset, window=window, copy=False, **SETTINGS)
    targets, pace = targets_of(world, *window, members), 1.0 / (1.0 + np.exp(3.0 - members[:, -1:]))
    observation, _ = env.reset(seed=0)
    returns = np.empty((len(targets) - 1, len(members)))
    for bar, target in enumerate(targets[:-1]):
        held = observation["account"][:, :-1]
        observation, returns[bar], *_ = env.step(np.maximum(held + pace * (target - held), 0.0))
    env.close()
    return returns


def sums_of(returns: np.ndarray, promised: float, bars: float, block: int = BLOCK) -> np.ndarray:
    """Return bars, sums of returns, of squares, of growth and of months' misses, shape `(n_lanes, n_blocks, 5)`."""
    parts = returns.T.reshape(returns.shape[1], -1, block)
    months = parts.reshape(*parts.shape[:2], -1, MONTH)
    realised = np.sqrt(np.mean(months**2, axis=3) * bars)
    missed = MONTH * np.abs(np.log(np.maximum(realised, 1e-8) / promised)).sum(axis=2)
    every = [np.full(missed.shape, float(block)), parts.sum(axis=2), (parts**2).sum(axis=2)]
    return np.stack([*every, np.log1p(parts).sum(axis=2), missed], axis=2)


def measured(metric: str, sums: np.ndarray, bars: float) -> np.ndarray:
    """Return a metric of sums: annualised `sharpe` and `growth`, or `miss`, a month's deviation from the target."""
    count, total, squares, growth, missed = np.moveaxis(sums, -1, 0)
    if metric == "sharpe":
        mean = total / count
        return mean / np.sqrt(squares / count - mean**2) * bars**0.5
    return growth / count * bars if metric == "growth" else missed / count


def interval(
    metric: str, one: np.ndarray, other: np.ndarray | None, bars: float, draws: int
) -> tuple[float, float, float]:
    """Return the mean of a metric over seeds, or of its difference to another arm, with its 95 % interval.

    Args:
        metric: `sharpe`, `growth` or `miss`.
        one: Sums by block, shape `(n_seeds, n_blocks, 5)`.
        other: The same of the other arm, with one seed for an untrained one.
    """
    rng = np.random.default_rng(0)
    n_seeds, n_blocks, _ = one.shape
    blocks = np.vstack([np.ones(n_blocks), rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), draws)])
    seeds = np.vstack([np.ones(n_seeds), rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), draws)])
    values = measured(metric, np.einsum("db,sbk->dsk", blocks, one), bars)
    if other is not None:
        values = values - measured(metric, np.einsum("db,sbk->dsk", blocks, other), bars)
    means = (values * seeds).sum(axis=1) / n_seeds
    low, high = np.quantile(means[1:], [0.025, 0.975])
    return float(means[0]), float(low), float(high)


def train(worlds: list[World], task: str, promised: float, given: argparse.Namespace, seed: int) -> np.ndarray:
    """Return the parameters after training on random windows of random worlds."""

    def stretch(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        world = worlds[rng.integers(len(worlds))]
        start = int(rng.integers(LOOKBACK, world.dataset.n_bars - given.bars))
        return lambda members: fitness(world, (start, start + given.bars + 1), members, task, promised)

    return evolve(stretch, N_PARAMETERS, given, np.random.default_rng([seed, TASKS.index(task)]))


def fitness(world: World, window: tuple[int, int], members: np.ndarray, task: str, promised: float) -> np.ndarray:
    returns, bars = play(world, window, members), world.dataset.periods_per_year
    sums = sums_of(returns, promised, bars, len(returns))[:, 0]
    return measured("sharpe", sums, bars) if task == "sharpe" else -measured("miss", sums, bars)


def judged(market: Market, trained: dict[str, np.ndarray], task: str, given: argparse.Namespace) -> dict[str, Any]:
    """Return the metrics of all arms on held-out data, and the differences between `tier` and each arm."""
    window, bars = ranges(market)[1], market.dataset.periods_per_year
    members = {**trained, "untrained": np.zeros((1, N_PARAMETERS))}
    returns = play(world_of(market.dataset), window, np.concatenate(list(members.values())))
    ends = np.cumsum([len(each) for each in members.values()])[:-1]
    arms = dict(zip(members, np.split(returns, ends, axis=1), strict=True))
    arms["buy-and-hold"] = oo.run_backtest(market.dataset, "buy-and-hold", window, limits=LIMITS).returns[:, None]
    sums = {arm: sums_of(each, market.promised, bars) for arm, each in arms.items()}

    def found(metric: str, one: str, other: str | None) -> dict[str, float]:
        names = ("value", "low", "high")
        other_sums = None if other is None else sums[other]
        return dict(zip(names, interval(metric, sums[one], other_sums, bars, given.draws), strict=True))

    metrics = (task if task == "sharpe" else "miss", "growth")
    seeds = {arm: measured(metrics[0], each.sum(axis=1), bars).tolist() for arm, each in sums.items()}
    return {
        "arms": {arm: {metric: found(metric, arm, None) for metric in metrics} for arm in sums},
        "tier_less": {arm: {m: found(m, "tier", arm) for m in metrics} for arm in sums if arm != "tier"},
        "seeds": seeds,
        "parameters": {arm: each.mean(axis=0).tolist() for arm, each in trained.items()},
    }


def experiment(given: argparse.Namespace) -> dict[str, Any]:
    """Return all results, by market and task."""
    markets = markets_of(given.stocks)
    settings = {name: value for name, value in vars(given).items() if name not in ("stocks", "quick")}
    results: dict[str, Any] = {"settings": settings, "markets": {}}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        for name, market in markets.items():
            bar = progress.add_task(name, total=given.seeds * len(TASKS) * len(ARMS))
            drift = drift_of(market.tier, 4 if given.quick else 200)
            trained: dict[str, dict[str, list[np.ndarray]]] = {task: {arm: [] for arm in ARMS} for task in TASKS}
            for seed in range(given.seeds):
                worlds = worlds_of(market, seed, given, drift)
                for task, arm in product(TASKS, ARMS):
                    trained[task][arm].append(train(worlds[arm], task, market.promised, given, seed))
                    progress.advance(bar)
            (first, split), (start, end), dates = *ranges(market), market.dataset.dates
            results["markets"][name] = {
                "tier": market.tier,
                "trained_before": [dates[first], dates[split - 1]],
                "judged": [dates[start], dates[end - 1]],
                "promised": market.promised,
                "drift": drift * market.dataset.periods_per_year,
                "tasks": {
                    task: judged(market, {arm: np.stack(each) for arm, each in arms.items()}, task, given)
                    for task, arms in trained.items()
                },
            }
    return results


def cell(found: dict[str, float], metric: str) -> str:
    form = "{:+.1%}" if metric == "growth" else "{:+.2f}" if metric == "sharpe" else "{:+.3f}"
    value, low, high = (form.format(found[name]) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def table(results: dict[str, Any], task: str) -> str:
    """Return the results of a task as a Markdown table with 95 % intervals."""
    metric, name = ("sharpe", "Sharpe ratio") if task == "sharpe" else ("miss", "miss")
    titles = ("evaluated on", "trained on", name, "`tier` less arm", "log growth per year", "`tier` less arm")
    lines = [f"| {' | '.join(titles)} |", "|---" * 6 + "|"]
    for market, about in results["markets"].items():
        found = about["tasks"][task]
        for arm, metrics in found["arms"].items():
            cells = []
            for each in (metric, "growth"):
                less = found["tier_less"].get(arm)
                cells += [cell(metrics[each], each), "" if less is None else cell(less[each], each)]
            lines.append(f"| {market} | {arm} | {' | '.join(cells)} |")
        growth = cell(found["arms"]["tier"]["growth"], "growth")
        lines.append(f"| {market} | cash | undefined: no volatility | | 0 | {growth} |")
    return "\n".join(lines)


def forest(results: dict[str, Any], task: str, title: str) -> str:
    """Draw the differences between `tier` and the other arms: a dot per seed, and the 95 % interval of the mean."""
    metric, rows = "sharpe" if task == "sharpe" else "miss", []
    for market, about in results["markets"].items():
        found = about["tasks"][task]
        for arm in ("gaussian", "real", "untrained"):
            dots = np.subtract(found["seeds"]["tier"], found["seeds"][arm])
            rows.append((f"{market}: tier less {arm}", found["tier_less"][arm][metric], dots))
    every = np.concatenate([[0.0, less["low"], less["high"], *dots] for _, less, dots in rows])
    low, span = every.min(), np.ptp(every) or 1.0

    def at(value: float) -> str:
        return place(0.02 + 0.96 * (value - low) / span)

    body = []
    for row, (name, less, dots) in enumerate(rows):
        y = 44 + 44 * row
        marks = "".join(f'<circle class="oo-point" cx="{at(dot)}" cy="{y + 16}" r="3"/>' for dot in dots)
        ends = f'x1="{at(less["low"])}" x2="{at(less["high"])}" y1="{y + 16}" y2="{y + 16}"'
        colour = "c-agent" if "gaussian" in name else "c-delayed"
        zero = f'<line class="oo-zero" x1="{at(0.0)}" x2="{at(0.0)}" y1="{y + 6}" y2="{y + 26}"/>'
        body.append(f'<text x="8" y="{y}">{name}  {cell(less, metric)}</text><g class="oo-grid">{zero}</g>')
        body.append(f'<g class="{colour}"><line class="oo-whisker" {ends}/></g><g class="c-benchmark">{marks}</g>')
        body.append(f'<circle class="oo-point {colour}" cx="{at(less["value"])}" cy="{y + 16}" r="5.5"/>')
    return (
        f'<svg class="oo-chart" role="img" width="100%" height="{40 + 44 * len(rows)}"><title>{title}</title>'
        f'<text class="oo-ink" x="8" y="16">{title}</text>{"".join(body)}</svg>'
    )


def picture_of(results: dict[str, Any]) -> str:
    charts = (
        forest(results, "sharpe", "Trained for a Sharpe ratio: difference of the Sharpe ratio, right is better"),
        forest(results, "steady", "Trained for a target volatility: difference of the miss, left is better"),
    )
    return standalone(*charts, title="Trained on a tier, evaluated on real data after the split")


def main() -> None:
    given = arguments()
    results = experiment(given)
    Path("sim_to_real.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    Path("sim_to_real.svg").write_text(picture_of(results), encoding="utf-8")
    for task in TASKS:
        print(f"trained for `{task}`\n\n{table(results, task)}\n")
    print("sim_to_real.json, sim_to_real.svg")


if __name__ == "__main__":
    main()
