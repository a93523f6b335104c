"""Create a named Minari dataset of a scripted policy, with a data card and held-out markets or bars.

Needs `pip install "minari[create,hdf5]" pillow`. The dataset `openoutcry/<market>/<policy>-v0` holds episodes of the
split `train`. The key of an episode is its split and its seed: both determine its window, and the split of a scenario
its market.
The script evaluates the policy on both splits. No bar of `train` is in `test`: a bundled market is cut at three
quarters of its bars, and the splits of a scenario have different markets. Train on the dataset, and evaluate on `test`.

    python examples/offline_datasets.py --market hard --policy momentum
    python examples/offline_datasets.py --market ecb-fx --policy random --episodes 100

Minari stores datasets in `~/.minari`, or in the folder of `MINARI_DATASETS_PATH`.
"""

import argparse
import json
from collections.abc import Callable
from typing import Any

import gymnasium
import minari
import numpy as np

import openoutcry as oo

LOOKBACK, SPLITS = 20, ("train", "test")
Policy = Callable[[np.ndarray, np.random.Generator, int], np.ndarray]


def momentum(observation: np.ndarray, _: np.random.Generator, n: int) -> np.ndarray:
    """Hold equal weights of the symbols with a positive return over the lookback."""
    rises = observation[: LOOKBACK * n].reshape(LOOKBACK, n).sum(axis=0) > 0.0
    return (rises / max(rises.sum(), 1)).astype(np.float32)


def equal_weight(_: np.ndarray, __: np.random.Generator, n: int) -> np.ndarray:
    """Hold equal weights of all symbols."""
    return np.full(n, 1 / n, np.float32)


def random(_: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw weights that sum to 1 from a flat Dirichlet distribution, in every bar."""
    return rng.dirichlet(np.ones(n)).astype(np.float32)


POLICIES: dict[str, Policy] = {"momentum": momentum, "equal-weight": equal_weight, "random": random}


def environment(market: str, split: str, episode_bars: int) -> gymnasium.Env:
    """Return the environment of a split. Its arguments are JSON, so that Minari can create it again."""
    within = None
    if market in oo.data.names():
        dates = oo.data.load(market).dates
        cut = dates[len(dates) * 3 // 4]
        within = f":{cut}" if split == "train" else f"{cut}:"
    return gymnasium.make(
        "openoutcry.gym:OpenOutcry/Market-v1", dataset=market, split=split, within=within, episode_bars=episode_bars,
        lookback=LOOKBACK, info="full",
    )  # fmt: skip


def collect(env: gymnasium.Env, policy: Policy, episodes: int) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Play the episodes of the seeds 0, 1, ... and return final NAVs and the first and last date of each."""
    navs, windows, n = [], [], env.unwrapped.dataset.n_symbols
    for seed in range(episodes):
        rng, done = np.random.default_rng(seed), False
        observation, info = env.reset(seed=seed)
        first = info["date"]
        while not done:
            observation, _, terminated, truncated, info = env.step(policy(observation, rng, n))
            done = terminated or truncated
        navs.append(info["nav"])
        windows.append((first, info["date"]))
    return np.array(navs), windows


def card(env: gymnasium.Env, options: argparse.Namespace) -> dict[str, Any]:
    """Return the data card: all that determines the dataset, as JSON."""
    trading = env.unwrapped
    return {
        "market": options.market,
        "market_digest": trading.dataset.fingerprint,
        "policy": " ".join((POLICIES[options.policy].__doc__ or "").split()),
        "costs": repr(trading.costs),
        "limits": repr(trading.limits),
        "reward": trading.reward_scheme,
        "split_key": f"split=train, seeds 0 to {options.episodes - 1}",
        "bars": env.spec.kwargs["within"] or "all",
        "held_out": "split=test",
        "openoutcry_version": oo.__version__,
    }


def create(options: argparse.Namespace) -> minari.MinariDataset:
    """Collect the split `train` into a new dataset, replacing one of the same name."""
    name = f"openoutcry/{options.market}/{options.policy}-v0"
    if name in minari.list_local_datasets():
        minari.delete_dataset(name)
    env = minari.DataCollector(environment(options.market, "train", options.bars), record_infos=True)
    collect(env, POLICIES[options.policy], options.episodes)
    facts = card(env, options)
    dataset = env.create_dataset(
        dataset_id=name,
        eval_env=environment(options.market, "test", options.bars).spec,
        algorithm_name=options.policy,
        author=options.author,
        author_email=options.email,
        code_permalink=f"openoutcry=={oo.__version__}: examples/offline_datasets.py",
        description="\n".join(f"{key}: {value}" for key, value in facts.items()),
        requirements=[f"openoutcry=={oo.__version__}"],
    )
    env.close()
    dataset.storage.update_metadata({"card": facts})
    return dataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", default="hard", help="tier of scenarios or bundled dataset")
    parser.add_argument("--policy", default="momentum", choices=POLICIES)
    parser.add_argument("--episodes", type=int, default=50, help="episodes of each split")
    parser.add_argument("--bars", type=int, default=252, help="bars of an episode")
    parser.add_argument("--author", default="unknown", help="author in the data card")
    parser.add_argument("--email", default="unknown", help="address of the author in the data card")
    parser.add_argument("--quick", action="store_true", help="a run of seconds to test that the script works")
    options = parser.parse_args()
    if options.quick:
        options.episodes, options.bars = 3, 21
    dataset = create(options)
    print(f"{dataset.id}: {dataset.total_episodes} episodes, {dataset.total_steps} steps")
    print(json.dumps(dataset.storage.metadata["card"], indent=2))
    for split in SPLITS:
        env = environment(options.market, split, options.bars)
        navs, windows = collect(env, POLICIES[options.policy], options.episodes)
        print(f"{split:5}  market {env.unwrapped.dataset.fingerprint[:12]}", end="  ")
        print(f"{min(first for first, _ in windows)} to {max(last for _, last in windows)}", end="  ")
        print(f"mean return {navs.mean() - 1:+.2%} ± {navs.std(ddof=1) / len(navs) ** 0.5:.2%}")


if __name__ == "__main__":
    main()
