"""Write `skfolio_sharpe.json`: results of skfolio on return series from `uniforms`.

Run `python -m oracle.skfolio_sharpe` in `tests`, in an environment with skfolio. The tests read only the written file,
because skfolio depends on a convex solver and scikit-learn.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from market import uniforms


def track(seed, n):
    """Return returns with a heavy lower tail, computed with + - * / only."""
    u = uniforms(seed, n)
    return 0.02 * (u - 0.305) / (0.1 + u)


def cases():
    """Yield the seed of a series, its length, and the seeds of its trials."""
    for seed, n, n_trials in ((1, 24, 3), (2, 60, 10), (3, 250, 25), (4, 1250, 100), (5, 2520, 40)):
        yield seed, n, [1000 * seed + k for k in range(n_trials)]


def sharpe(returns):
    return float(returns.mean() / returns.std(ddof=1))


def main():
    from skfolio import measures

    found = []
    for seed, n, seeds in cases():
        returns, ratios = track(seed, n), np.array([sharpe(track(each, n)) for each in seeds])
        found.append(
            {
                "seed": seed,
                "n_returns": n,
                "first_trial": seeds[0],
                "n_trials": len(seeds),
                "psr": float(measures.probabilistic_sharpe_ratio(returns)),
                "psr_over_0.05": float(measures.probabilistic_sharpe_ratio(returns, benchmark_sharpe_ratio=0.05)),
                "dsr": float(measures.deflated_sharpe_ratio(returns, ratios)),
            }
        )
    best = {str(n): float(measures.expected_max_sharpe_ratio(n, 1.0)) for n in (1, 2, 3, 10, 46, 100, 10_000, 10**9)}
    written = {"skfolio": version("skfolio"), "expected_max": best, "tracks": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
