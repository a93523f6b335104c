"""Proposals of code that fit weights of features to the market they are judged on, holdout included."""

from __future__ import annotations

import numpy as np
from strategy_sources import deciding

import openoutcry as oo

N_WEIGHTS = 90
"""Features with a weight: waves in the sums of moves over two horizons."""
_LAGS = 64
_FEATURES = """
r = np.log(closes)
s = [(r[-1] - r[-1 - h]) / np.diff(r, axis=0).std(axis=0) / h**0.5 for h in (4, 7, 12, 20, 36, 64)]
f = np.array([g(s[i] + k * s[j]) for i in range(6) for j in range(i) for k in (-1, 1, 2) for g in (np.sin, np.cos)])
"""


def features(closes: np.ndarray) -> np.ndarray:
    """Return the features of a window, shape `(N_WEIGHTS, n_symbols)`."""
    names = {"np": np, "closes": closes}
    exec(_FEATURES, names)
    return names["f"]


def fitted(market: oo.Dataset, n_weights: int = N_WEIGHTS) -> np.ndarray:
    """Return weights from 0 to 9 that fit the returns of all bars of a market, in hindsight."""
    close, rows, gains = market.close, [], []
    for bar in range(_LAGS, market.n_bars - 1):
        rows.append(features(close[bar - _LAGS : bar + 1])[:n_weights])
        gains.append(np.log(close[bar + 1] / close[bar]))
    x, y = np.concatenate([row.T for row in rows]), np.concatenate(gains)
    slope = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0]
    return np.clip(np.round(4.5 + 2.0 * slope / slope.std()), 0, 9).astype(int)


def weights_source(market: oo.Dataset, kind: str = "text", n_weights: int = N_WEIGHTS) -> str:
    """Return a source that holds a position in the weighted sum of features.

    Args:
        market: The market to fit.
        kind: How the weights are written: `text`, `integer`, `list` or `floats`.
        n_weights: Number of weights.
    """
    found = fitted(market, n_weights)
    digits = "".join(map(str, found))
    written = {
        "text": f'[int(c) - 4.5 for c in "{digits}"]',
        "integer": f"[int(c) - 4.5 for c in str({'1' + digits})[1:]]",
        "list": f"[c - 4.5 for c in {found.tolist()}]",
        "groups": f"[int(c) - 4.5 for g in {[int('1' + digits[i : i + 8]) for i in range(0, len(digits), 8)]} "
        "for c in str(g)[1:]]",
        "terms": "",
    }[kind]
    body = f"""{_FEATURES}
w = np.array({written})
v = w @ (f[:{n_weights}])
return np.tanh(v / 10) / closes.shape[1]"""
    return deciding(body, lookback=str(_LAGS + 1))
