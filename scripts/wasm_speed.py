"""Compare the speed of the engine in Node with the native one: JSON steps, replays and backtests of weights.

python scripts/wasm_speed.py            (after `scripts/wasm`)

Both do the same work on the same market in alternating turns, and the fastest round counts, because other load of the
machine only slows. A turn repeats rounds for a fixed time, because V8 optimizes code while it runs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import openoutcry as oo

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rust" / "wasm" / "npm" / "dist" / "node.js"
TURNS = 4
SECONDS = 0.5
DECISION = '{"orders":[{"symbol":"S000","action":"buy","target_weight":0.25}]}'


def best(act: Callable[[], Any]) -> float:
    """Return the seconds of the fastest round of a turn."""
    rounds, ends = [], time.perf_counter() + SECONDS
    while (started := time.perf_counter()) < ends:
        act()
        rounds.append(time.perf_counter() - started)
    return min(rounds)


def native(market: oo.Dataset, record: oo.RunRecord, weights: np.ndarray) -> dict[str, float]:
    """Return the seconds of each task in the native engine."""
    window, rules = (19, market.n_bars), {"costs": oo.CostModel(), "limits": oo.Limits()}
    env = oo.TradingEnv.from_dataset(market._core, window=window, **rules, lookback=20, seed=0)

    def steps() -> None:
        env.reset()
        done = False
        while not done:
            *_, done, _ = env.step(DECISION)

    return {
        "steps": best(steps),
        "replay": best(lambda: oo.replay(record, market)),
        "weights": best(lambda: oo.run_backtest(market, weights)),
    }


def in_node(market: oo.Dataset, record: oo.RunRecord, weights: np.ndarray) -> dict[str, float]:
    """Return the seconds of each task in Node."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder)
        (inputs / "market").write_bytes(market.to_bytes())
        (inputs / "record.json").write_text(record.to_json(), encoding="utf-8")
        (inputs / "weights").write_bytes(weights.tobytes())
        words = ["node", str(ROOT / "scripts" / "wasm_speed.mjs"), str(PACKAGE), folder, str(SECONDS), DECISION]
        times: dict[str, float] = json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)
    return times


def main() -> None:
    """Print the table."""
    market = oo.Dataset.synthetic(4, 5_000, 7)
    record = oo.run_backtest(market, "momentum", capture=True).record
    weights = np.random.default_rng(7).dirichlet(np.ones(4), market.n_bars)
    n_steps = len(record.decisions[0])
    turns = [(native(market, record, weights), in_node(market, record, weights)) for _ in range(TURNS)]
    here, there = ({name: min(turn[name] for turn in side) for name in side[0]} for side in zip(*turns, strict=True))
    print(f"{n_steps:,} bars of 4 symbols, the best round of {TURNS} turns; bars per second")
    print(f"{'':34}{'native':>12}{'WebAssembly':>14}{'ratio':>8}")
    for name, label in (("steps", "JSON steps"), ("replay", "replay"), ("weights", "backtest of weights")):
        rates = n_steps / here[name], n_steps / there[name]
        print(f"{label:34}{rates[0]:>12,.0f}{rates[1]:>14,.0f}{rates[1] / rates[0]:>8.2f}")


if __name__ == "__main__":
    main()
