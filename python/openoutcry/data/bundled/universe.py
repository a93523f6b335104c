"""Select the symbols of a bundled dataset, and the bars on which they exist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.data.bundled.panel import FloatArray
from openoutcry.errors import refusal

DEFAULT = "major"
NAMES = (DEFAULT, "all")

Universe = str | Sequence[str] | None


def choose(universe: Universe, major: Sequence[str], every: Sequence[str]) -> list[str]:
    """Return the symbols of a universe.

    Args:
        universe: A name from `NAMES`, a list of symbols, or None for `DEFAULT`.
        major: Symbols of the default universe.
        every: All symbols of the dataset.

    Raises:
        OpenOutcryError: the name is unknown, a symbol is unknown or repeated, or the list is empty.
    """
    if universe is None:
        return list(major)
    if isinstance(universe, str):
        if universe not in NAMES:
            names = " or ".join(f"`{name}`" for name in NAMES)
            message = f"`universe` must be {names}, or a list of symbols; received {universe!r}"
            raise refusal("argument_invalid", message)
        return list(major if universe == DEFAULT else every)
    chosen = list(universe)
    if not chosen:
        raise refusal("symbol_invalid", "`universe` must name at least one symbol; received an empty list")
    for index, symbol in enumerate(chosen):
        if symbol not in every:
            message = f"`universe[{index}]` must be one of {', '.join(every)}; received {symbol!r}"
            raise refusal("symbol_invalid", message)
        if symbol in chosen[:index]:
            message = f"`universe[{index}]` must be named once; received {symbol!r} again"
            raise refusal("duplicate_symbol", message)
    return chosen


def bars(close: FloatArray, delistings: FloatArray | None = None) -> slice:
    """Return the bars from the first close of any symbol.

    The bars end with the data, because a suspended symbol can still be held. If every symbol has settled, they end
    with the last settlement.

    Args:
        close: Shape `(T, S)`, float64; NaN where there is no close.
        delistings: Shape `(T, S)`, float64; finite on the settlement bar of a symbol.
    """
    first = int(np.argmax(np.isfinite(close).any(axis=1)))
    if delistings is not None:
        settled = np.isfinite(delistings)
        if settled.any(axis=0).all():
            return slice(first, int(np.flatnonzero(settled.any(axis=1))[-1]) + 1)
    return slice(first, len(close))
