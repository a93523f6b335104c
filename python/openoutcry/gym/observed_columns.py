"""Observed columns of a market: features, prices and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

SCALES = ("none", "expanding", "window")
SCALE_BARS = 252
"""Bars of `scale="window"`."""
PRICES = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True)
class ObservedColumns:
    """Names of observed columns, in the order of the observation, and their scale.

    Attributes:
        symbol_names: Columns with a value per symbol.
        market_names: Features of the market.
        scale: One of `SCALES`.
    """

    symbol_names: tuple[str, ...]
    market_names: tuple[str, ...]
    scale: str

    @property
    def native(self) -> tuple[list[str], tuple[str, int]]:
        """Names and scale, as the engine reads them."""
        return [*self.symbol_names, *self.market_names], (self.scale, SCALE_BARS)

    def bar_len(self, n_symbols: int) -> int:
        """Return the numbers per bar of a flat observation: returns, then columns."""
        return n_symbols * (1 + len(self.symbol_names)) + len(self.market_names)


def observed_columns(datasets: Sequence[Dataset], features: Any, scale: Any) -> ObservedColumns:
    """Return the observed columns of markets.

    Args:
        datasets: Markets with the same columns.
        features: Names of features or of `PRICES`; None for all features of the markets.
        scale: One of `SCALES`.

    Raises:
        OpenOutcryError: a market lacks a column, a name is repeated, or the scale is unknown.
    """
    if scale not in SCALES:
        raise refusal("argument_invalid", f"`scale` must be one of {', '.join(SCALES)}; received {scale!r}")
    found = [_scopes(dataset, features) for dataset in datasets]
    # Equal dicts may have another order of names.
    if (other := next((each for each in found if list(each.items()) != list(found[0].items())), None)) is not None:
        wanted = f"`features` must be columns that all markets have, in one order: {', '.join(found[0])}"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(other) or 'none'}")
    names = found[0]
    if scale != "none" and not names:
        message = f"`scale` must be none without `features`; received {scale!r}"
        raise refusal("argument_invalid", f"{message}; hint: Dataset.with_features, or features=('volume',)")
    symbol_names, market_names = (tuple(name for name in names if names[name] == of) for of in ("symbol", "market"))
    return ObservedColumns(symbol_names, market_names, scale)


def _scopes(dataset: Dataset, features: Any) -> dict[str, str]:
    """Return the scope, `symbol` or `market`, of each named column."""
    known = {name: "market" if feature.values.ndim == 1 else "symbol" for name, feature in dataset.features.items()}
    if features is None:
        return known
    known |= {name: "symbol" for name in PRICES if getattr(dataset, name) is not None}
    if isinstance(features, str) or not isinstance(features, Sequence) or len({*features}) < len(features):
        raise refusal("argument_invalid", f"`features` must be a list of different names; received {features!r}")
    if unknown := [name for name in features if name not in known]:
        raise refusal("argument_invalid", f"`features` must be among {', '.join(known)}; received {unknown[0]!r}")
    return {name: known[name] for name in features}


__all__ = ["PRICES", "SCALES", "SCALE_BARS", "ObservedColumns", "observed_columns"]
