"""Backtest a moving-average crossover as an array of weights on real exchange rates.

Prints the result with and without a delay of one bar, next to buy-and-hold, and writes the report to `crossover.html`.
"""

import numpy as np

import openoutcry as oo

SHORT, LONG = 20, 100


def moving_average(closes: np.ndarray, n: int) -> np.ndarray:
    """Return the mean of the last `n` closes; NaN for the first `n` bars."""
    sums = np.cumsum(closes, axis=0)
    means = np.full_like(closes, np.nan)
    means[n:] = (sums[n:] - sums[:-n]) / n
    return means


fx = oo.data.load("ecb-fx")
above = moving_average(fx.close, SHORT) > moving_average(fx.close, LONG)
weights = above / fx.n_symbols
run = oo.run_backtest(fx, weights, limits=oo.Limits(allow_short=False), name=f"{SHORT}/{LONG} crossover")
benchmark = oo.run_backtest(fx, "buy-and-hold", limits=oo.Limits(allow_short=False))

for result in (run, run.delayed(), benchmark):
    sharpe, error = result.metrics["sharpe"], result.metrics["sharpe_se"]
    print(f"{result.name:32} {result.nav[-1] - 1:+7.1%}  Sharpe {sharpe:+.2f} ± {error:.2f}")
print(run.report("crossover.html"))
