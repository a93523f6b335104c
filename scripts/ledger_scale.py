"""Benchmark of a ledger with many runs: writing, ranking, comparing, rebuilding the index.

    python scripts/ledger_scale.py --runs 1000000

Prints seconds and milliseconds; short times are medians of several calls. The log is written to a temporary folder in
`--folder`. A million runs with 20 returns each need about 4 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import numpy as np

from openoutcry.ledger import Ledger, LedgerRun, Market, ReturnMoments, RunMetricsSummary

N_STRATEGIES, N_MARKETS, BLOCK = 20_000, 10, 5_000
RULES = {"costs": {"fee_bps": 1.0}, "limits": {"max_gross": 1.0}, "lookback": 20}


def random_runs(n_runs: int, n_returns: int) -> Iterator[LedgerRun]:
    """Yield random runs of strategies on markets, from a fixed seed."""
    rng = random.Random(7)
    noise = np.random.default_rng(7).normal(0.0, 0.01, (997, n_returns))
    markets = [
        Market(sha256(b"%d" % at).hexdigest(), f"market-{at}", ("A", "B"), 252.0, tuple(range(at * 99, at * 99 + 9)))
        for at in range(N_MARKETS)
    ]
    for number in range(n_runs):
        strategy = {"name": "trend", "params": {"fast": number % N_STRATEGIES, "slow": 200}}
        run_id = str(UUID(int=rng.getrandbits(128)))
        sharpe = rng.gauss(0.0, 0.7)
        metrics = RunMetricsSummary(
            run_id,
            "done",
            "1d",
            total_positions=rng.randrange(500),
            win_rate=rng.random(),
            profit_factor=1.0 + sharpe / 10,
            net_pnl=sharpe * 1e4,
            sharpe_ratio=sharpe,
            max_drawdown=rng.random() / 2,
            pnl_return=sharpe / 100,
        )
        yield LedgerRun(
            run_id,
            sha256(run_id.encode()).hexdigest(),
            strategy,
            markets[number % N_MARKETS],
            ("2010-01-04", "2019-12-31"),
            metrics,
            kind="trial",
            interval="1d",
            rules=RULES,
            engine_version="0",
            track=ReturnMoments(2500, sharpe / 16, 0.0, 3.0),
            returns=noise[number % 997] if n_returns else None,
            first="2010-01-05",
        )


def milliseconds(what: Callable[[], object], n: int = 21) -> float:
    """Return the median time of a call, after a warm-up call."""
    what()
    taken = []
    for _ in range(n):
        started = time.perf_counter()
        what()
        taken.append(time.perf_counter() - started)
    return 1e3 * statistics.median(taken)


def seconds(what: Callable[[], object]) -> float:
    """Return the time of one call."""
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def write_runs(ledger: Ledger, n_runs: int, n_returns: int) -> list[str]:
    """Write all runs in blocks, and return some IDs."""
    block: list[LedgerRun] = []
    ids: list[str] = []
    for run in random_runs(n_runs, n_returns):
        block.append(run)
        if len(block) == BLOCK:
            ids += ledger.add(block)[:: BLOCK // 5]
            block = []
    return ids + ledger.add(block)


def measure(folder: Path, n_runs: int, n_returns: int) -> dict[str, float]:
    """Measure all figures by name."""
    figures: dict[str, float] = {"runs": n_runs, "returns a run": n_returns, "processors": os.cpu_count() or 0}
    ids: list[str] = []
    with Ledger(folder, session="scale") as ledger:
        figures["write, s"] = seconds(lambda: ids.extend(write_runs(ledger, n_runs, n_returns)))
        figures["catch up, s"] = seconds(lambda: ledger.read)
        figures["log, MB"] = sum(path.stat().st_size for path in folder.glob("*.jsonl")) / 1e6
        some = random.Random(1).sample(ids, min(50, len(ids)))
        figures["top 5, ms"] = milliseconds(lambda: ledger.top(5))
        figures["worst 3, ms"] = milliseconds(lambda: ledger.top(3, worst=True))
        figures[f"compare {len(some)}, ms"] = milliseconds(lambda: ledger.compare(some))
        figures["prior results, ms"] = milliseconds(lambda: ledger.prior_results(), 5)
        market = next(random_runs(1, 0)).market
        figures["count of a family, ms"] = milliseconds(lambda: ledger.count(market))
        one = next(random_runs(1, n_returns)).with_id(str(UUID(int=1)))
        figures["add one run, synced, ms"] = 1e3 * seconds(lambda: ledger.add([one]))
        figures["rebuild, s"] = seconds(ledger.rebuild)
        figures["index, MB"] = (folder / "index.sqlite").stat().st_size / 1e6
        figures["verify, s"] = seconds(lambda: ledger.verify())
        assert ledger.verify().n_records == n_runs + 1 + min(n_runs, N_MARKETS)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--returns", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-scale-", dir=options.folder))
    try:
        figures = measure(folder, options.runs, options.returns)
    finally:
        shutil.rmtree(folder)
    if options.json:
        json.dump(figures, sys.stdout)
    else:
        for name, value in figures.items():
            print(f"{name:28} {value:,.2f}".rstrip("0").rstrip("."))


if __name__ == "__main__":
    main()
