"""Proposals of code that fit weights of features to the market they are judged on, holdout included."""

from __future__ import annotations

from collections.abc import Callable

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


def weights_source(market: oo.Dataset, kind: str = "integer", n_weights: int = N_WEIGHTS) -> str:
    """Return a source that holds a position in the weighted sum of features.

    Args:
        market: The market to fit.
        kind: How the weights are written, a key of `FITS`.
        n_weights: Number of weights.
    """
    found = fitted(market, n_weights)
    body = f"""{_FEATURES}
w = np.array({FITS[kind](found)})
v = w @ (f[:{n_weights}])
return np.tanh(v / 10) / closes.shape[1]"""
    return deciding(body, lookback=str(_LAGS + 1))


FITS: dict[str, Callable[[np.ndarray], str]] = {
    "text": lambda found: f'[int(c) - 4.5 for c in "{_digits(found)}"]',
    "integer": lambda found: f"[int(c) - 4.5 for c in str(1{_digits(found)})[1:]]",
    "list": lambda found: f"[c - 4.5 for c in {found.tolist()}]",
    "groups": lambda found: f"[int(c) - 4.5 for g in {_groups(_digits(found))} for c in str(g)[1:]]",
    "expressions": lambda found: f"[{', '.join(f'{digit} - 4.5' for digit in found)}]",
    "subscripts": lambda found: f"np.concatenate([{_subscripts(found)}]) - 4.5",
    "rows": lambda found: f"[c - 4.5 for r in {found.reshape(-1, 5).tolist()} for c in r]",
}
"""The ways to write the weights: one expression for an array each."""


def _digits(found: np.ndarray) -> str:
    return "".join(map(str, found))


def _subscripts(found: np.ndarray) -> str:
    # The length of the window makes no part a constant expression.
    return ", ".join(f"np.r_[{', '.join(map(str, row))}, len(r)][:5]" for row in found.reshape(-1, 5))


def _groups(digits: str) -> list[int]:
    return [int(f"1{digits[at : at + 8]}") for at in range(0, len(digits), 8)]
