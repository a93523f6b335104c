"""Write `multiple_testing.json`: results of `arch` on twenty panels.

    python tests/oracle/multiple_testing.py

`tests/scoring/test_multiple_testing_oracles.py` reads the file. `arch` 8.0.0 compares means that are not studentized,
whatever its `studentize` argument, so it receives returns divided by the standard deviation of Hansen's kernel.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_PANELS, N_DRAWS, BLOCK = 20, 10_000, 8
SIZES = (0.05, 0.2)


def panel(seed: int) -> NDArray[np.float64]:
    """Return returns of a heterogeneous field, some agents with skill, shape `(n_days, n_agents)`."""
    random = np.random.default_rng(seed)
    n_days, n_agents = int(random.integers(250, 500)), int(random.integers(3, 12))
    noise = random.standard_normal((n_days, n_agents)) * random.uniform(0.3, 3.0, n_agents)
    for day in range(1, n_days):
        noise[day] += 0.1 * (seed % 4) * noise[day - 1]
    return 0.01 * noise + random.normal(0.0, 7e-4, n_agents)


def deviation(returns: NDArray[np.float64], block: float) -> NDArray[np.float64]:
    """Return the kernel standard deviation of each agent (Hansen 2005), from all autocovariances."""
    n, stay = len(returns), 1.0 - 1.0 / block
    centred = returns - returns.mean(axis=0)
    variance = (centred**2).mean(axis=0)
    for lag in range(1, n):
        weight = (n - lag) / n * stay**lag + lag / n * stay ** (n - lag)
        variance += 2.0 * weight * (centred[lag:] * centred[:-lag]).sum(axis=0) / n
    return np.asarray(np.sqrt(variance))


def answers(seed: int, n_draws: int = N_DRAWS) -> dict[str, object]:
    """Return the results of `arch` for a panel; it expects losses."""
    from arch.bootstrap import SPA, RealityCheck, StepM, optimal_block_length

    returns = panel(seed)
    scaled, nothing = returns / deviation(returns, BLOCK), np.zeros(len(returns))
    spa = SPA(nothing, -scaled, block_size=BLOCK, reps=n_draws, seed=seed)
    check = RealityCheck(nothing, -returns, block_size=BLOCK, reps=n_draws, seed=seed)
    spa.compute()
    check.compute()
    superior = []
    for size in SIZES:
        steps = StepM(nothing, -scaled, size=size, block_size=BLOCK, reps=n_draws, seed=seed)
        steps.compute()
        superior.append(sorted(int(place) for place in steps.superior_models))
    return {
        "spa": [float(spa.pvalues[name]) for name in ("lower", "consistent", "upper")],
        "reality_check": float(check.pvalues["upper"]),
        "superior": superior,
        "block_lengths": [float(length) for length in optimal_block_length(returns)["stationary"]],
    }


def main() -> None:
    """Write the file."""
    import arch

    found = {"arch": arch.__version__, "panels": [answers(seed) for seed in range(N_PANELS)]}
    path = Path(__file__).with_name("multiple_testing.json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
