"""Mandates: constraints on positions, checked at every close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native

Flags = npt.NDArray[np.bool_]
Series = npt.NDArray[np.float64]

MOST_NET = 0.2
MOST_DRAWDOWN = 0.05
# A weight that rounding may leave of a closed position.
_DUST = 1e-9


@dataclass(frozen=True)
class Mandate:
    """A constraint on positions.

    Args:
        description: Its description in a prompt; empty without a constraint.
        benchmark: Benchmark of the episode.
        breaches: Returns at which closes a run breaches it. Shape `(n_bars,)`, from weights of shape
            `(n_bars, n_symbols)` and NAV of shape `(n_bars,)`.
    """

    description: str
    benchmark: str
    breaches: Callable[[Series, Series], Flags]


def _none(weights: Series, nav: Series) -> Flags:
    return np.zeros(len(nav), dtype=np.bool_)


def _short(weights: Series, nav: Series) -> Flags:
    return np.asarray((weights < -_DUST).any(axis=1))


def _directional(weights: Series, nav: Series) -> Flags:
    return np.asarray(np.abs(weights.sum(axis=1)) > MOST_NET)


def _sunk(weights: Series, nav: Series) -> Flags:
    return native.drawdowns(nav) < -MOST_DRAWDOWN


MANDATES = {
    "beat-benchmark": Mandate("", "buy-and-hold", _none),
    "long-only": Mandate("no position may be short at any close", "buy-and-hold", _short),
    "market-neutral": Mandate(
        f"the weights must add up to a number from -{MOST_NET:g} to {MOST_NET:g} at every close",
        "hold-cash",
        _directional,
    ),
    "drawdown-cap": Mandate(
        f"the account must stay within {MOST_DRAWDOWN:.0%} of its highest value at every close", "buy-and-hold", _sunk
    ),
}
