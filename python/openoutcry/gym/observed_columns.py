"""Observed columns of a market: features, prices and volumes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from openoutcry.arguments import is_bool, one_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.episode_markets import EpisodeMarkets

Labels: TypeAlias = "dict[str, list[str]]"

SCALES = ("none", "expanding", "window")
SCALE_BARS = 252
"""Bars of `scale="window"`."""
LISTED = "listed"
"""Column of the mask in observations without names."""
PRICES = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True)
class ObservedColumns:
    """Names of observed columns, in the order of the observation, and their scale.

    Attributes:
        symbol_names: Columns with a value per symbol.
        market_names: Features of the market.
        scale: One of `SCALES`.
        history: Columns of the windows of dict observations; empty for closes.
        mask: Whether the listed symbols are shown.
    """

    symbol_names: tuple[str, ...]
    market_names: tuple[str, ...]
    scale: str
    history: tuple[str, ...]
    mask: bool

    @property
    def native(self) -> tuple[list[str], list[str], tuple[str, int]]:
        """Names, names of windows, and scale, as the engine reads them."""
        return [*self.symbol_names, *self.market_names], [*self.history], (self.scale, SCALE_BARS)

    def window_shape(self, lookback: int, n_symbols: int) -> tuple[int, ...]:
        """Return the shape of the windows of dict observations."""
        return (lookback, n_symbols, len(self.history)) if self.history else (lookback, n_symbols)

    def bar_len(self, n_symbols: int) -> int:
        """Return the numbers per bar of a flat observation: returns, then columns."""
        return n_symbols * (1 + len(self.symbol_names)) + len(self.market_names)


def observation_labels(kind: str, symbols: Sequence[str], lookback: int, columns: ObservedColumns) -> Labels:
    """Return the labels of the numbers of an observation, by its keys.

    The key of a flat one is empty.

    A label is the name of a column with its lag in bars, and the symbol: `[rsi -1][AAPL]`.
    """
    of_symbol = {name: [f"[{name}][{symbol}]" for symbol in symbols] for name in ("closes", "positions", "listed")}
    account = [*(f"[weight][{symbol}]" for symbol in symbols), "[cash]"]
    if kind == "cursor":
        return {"account": account}
    lags = [f" -{back}" if back else "" for back in reversed(range(lookback))]
    if kind == "flat":
        names = ("return", *columns.symbol_names)
        bars = [
            [f"[{name}{lag}][{symbol}]" for name in names for symbol in symbols]
            + [f"[{name}{lag}]" for name in columns.market_names]
            for lag in lags
        ]
        return {"": [*(label for bar in bars for label in bar), *account]}
    shown = columns.history or ("close",)
    return {
        **of_symbol,
        "history": [f"[{name}{lag}][{symbol}]" for lag in lags for symbol in symbols for name in shown],
        "features": [f"[{name}][{symbol}]" for symbol in symbols for name in columns.symbol_names],
        "market_features": [f"[{name}]" for name in columns.market_names],
    }


def observed_columns(
    markets: EpisodeMarkets, features: Any, scale: Any, shown: tuple[str, Any, Any, Any]
) -> ObservedColumns:
    """Return the observed columns of markets.

    Args:
        markets: Markets with the same columns.
        features: Names of features or of `PRICES`; None for all features of the markets.
        scale: One of `SCALES`.
        shown: Kind of the observation, its `lookback`, its `history` and its `mask`. The listed symbols are shown in a
            dict by an array, else by a column.

    Raises:
        OpenOutcryError: a market lacks a column, a name is repeated, or the scale is unknown.
    """
    one_of("scale", scale, SCALES)
    datasets, (kind, lookback, windows, mask) = markets.datasets, shown
    if kind == "cursor" and len(datasets) > 1:
        message = "`observation` must be dict or flat with several datasets, as a cursor indexes one dataset"
        raise refusal("argument_invalid", f"{message}; received cursor and {len(datasets)} datasets")
    found = [_scopes(dataset, features) for dataset in datasets]
    # Equal dicts may have another order of names.
    if (other := next((each for each in found if list(each.items()) != list(found[0].items())), None)) is not None:
        first, second = (", ".join(f"{name} ({of})" for name, of in each.items()) for each in (found[0], other))
        wanted = f"`features` must be the same columns in one order, of a symbol or of the market: {first or 'none'}"
        raise refusal("argument_invalid", f"{wanted}; received {second or 'none'}")
    names = found[0]
    if scale != "none" and not names:
        message = f"`scale` must be none without `features`; received {scale!r}"
        raise refusal("argument_invalid", f"{message}; hint: Dataset.with_features, or features=('volume',)")
    symbol_names, market_names = (tuple(name for name in names if names[name] == of) for of in ("symbol", "market"))
    history, shows_mask = _history(datasets, kind, lookback, windows), _shows_mask(mask, kind, markets)
    if shows_mask and kind != "dict":
        if any(LISTED in dataset.features for dataset in datasets):
            message = f"a market with `mask` must have no feature named {LISTED}, the name of the mask"
            raise refusal("argument_invalid", f"{message}; received one")
        symbol_names += (LISTED,)
    return ObservedColumns(symbol_names, market_names, scale, history, shows_mask)


def _shows_mask(mask: Any, kind: str, markets: EpisodeMarkets) -> bool:
    """Return whether observations show the listed symbols.

    By default a dict does where symbols may come and go, and every observation where a market is padded.
    """
    if mask is None:
        return markets.is_padded or (markets.has_listing_changes and kind == "dict")
    if not is_bool(mask):
        raise refusal("argument_invalid", f"`mask` must be True, False or None; received {mask!r}")
    return bool(mask)


def _history(datasets: Sequence[Dataset], kind: str, lookback: Any, history: Any) -> tuple[str, ...]:
    """Return the columns of windows; none for closes."""
    if history is None:
        return ()
    if kind != "dict" or lookback is None:
        message = "`history` needs observation='dict' and a `lookback`"
        hint = "hint: `features` are shown in every bar of a flat observation"
        raise refusal("argument_invalid", f"{message}; received {kind} and {lookback}; {hint}")
    if not history:
        raise refusal("argument_invalid", "`history` must have at least one column; received none")
    known = [_known(dataset, *PRICES) for dataset in datasets]
    shared = [name for name in known[0] if all(of.get(name) == "symbol" for of in known)]
    return tuple(_names("history", history, shared))


def _scopes(dataset: Dataset, features: Any) -> dict[str, str]:
    """Return the scope of each observed column: of the named ones, or of all features."""
    if features is None:
        return _known(dataset)
    known = _known(dataset, *PRICES)
    return {name: known[name] for name in _names("features", features, known)}


def _known(dataset: Dataset, *prices: str) -> dict[str, str]:
    """Return the scope, `symbol` or `market`, of features and existing prices."""
    scopes = {name: "market" if feature.values.ndim == 1 else "symbol" for name, feature in dataset.features.items()}
    return scopes | {name: "symbol" for name in prices if getattr(dataset, name) is not None}


def _names(argument: str, names: Any, known: Iterable[str]) -> Sequence[str]:
    """Return different known names."""
    if isinstance(names, str) or not isinstance(names, Sequence) or len({*names}) < len(names):
        raise refusal("argument_invalid", f"`{argument}` must be a list of different names; received {names!r}")
    if unknown := [name for name in names if name not in known]:
        raise refusal("argument_invalid", f"`{argument}` must be among {', '.join(known)}; received {unknown[0]!r}")
    return names


__all__ = ["PRICES", "SCALES", "SCALE_BARS", "ObservedColumns", "observation_labels", "observed_columns"]
