"""Features of a market: numbers that agents observe from a stated time on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, is_bool, unmasked_array
from openoutcry.data import columns, feature_causality, known_times
from openoutcry.data.feature_causality import computed
from openoutcry.errors import refusal

Values = npt.NDArray[np.float64]
NativeFeature: TypeAlias = "tuple[str, str, Values]"
"""Name, scope (`symbol` or `market`) and values, bar after bar."""

REFUSE, FORWARD = "refuse", "forward"
LARGEST = 1e30
"""The largest value of a feature: the bound of float32 observation spaces."""


class Market(feature_causality.Market, Protocol):
    """What a feature needs of a market."""

    @property
    def features(self) -> Mapping[str, Feature]:
        """Features by name."""


@dataclass(frozen=True)
class Feature:
    """Values of a feature, when they are known, and a rule for missing ones.

    Attributes:
        values: Shape `(n_bars, n_symbols)`, or `(n_bars,)` for a feature of the market. A frame has the symbols as
            columns.
        lag: Bars from the bar of a value to the bar at whose close it is known; 0 for its own bar.
        known_at: ISO 8601 time per row from which the row is known, instead of the close of its bar. An agent sees the
            last row that is known at a bar, and 0 before the first unless `missing` is a number. Bars with times in UTC
            need times with a zone, other bars times without one; arrays of `datetime64` have the zone of the bars.
        missing: `refuse`, or a rule for missing values: `forward` repeats the last known value, 0 before the first; a
            number takes their place.
    """

    values: Any
    lag: int = 0
    known_at: Sequence[Any] | None = None
    missing: str | float = REFUSE


def native_features(features: Mapping[str, Any], dates: Sequence[str], symbols: Sequence[str]) -> list[NativeFeature]:
    """Return features as the engine reads them: as known at each bar.

    Raises:
        OpenOutcryError: values have another shape or are no numbers, or are missing without a rule.
    """
    if not isinstance(features, Mapping):
        raise refusal("argument_invalid", f"`features` must be a mapping of values by name; received {features!r}")
    for name in features:
        _check_name(name)
    texts = columns.iso(dates) if features else []
    return [_native(name, as_feature(given), texts, symbols) for name, given in features.items()]


def of_core(core: native.Dataset) -> Mapping[str, Feature]:
    """Return the features of a native market by name."""
    found = {}
    for name, scope, values in core.features:
        columns.frozen(values)
        found[name] = Feature(values[:, 0] if scope == "market" else values)
    return MappingProxyType(found)


def as_feature(given: Any) -> Feature:
    """Return values as a feature that is known at the close of its bar."""
    return given if isinstance(given, Feature) else Feature(given)


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise refusal("value_invalid", f"the name of a feature must be text; received {name!r}")


def _native(name: str, feature: Feature, dates: Sequence[str], symbols: Sequence[str]) -> NativeFeature:
    _check_rule(name, feature.missing)
    table = _table(name, feature.values, dates, symbols)
    lag = checked_integer(f"lag of feature {name!r}", feature.lag, 0, len(dates) - 1)
    if feature.known_at is not None:
        if lag:
            raise refusal("argument_invalid", f"feature {name!r} must have `lag` or `known_at`; received both")
        table = _as_known(name, table, feature, dates)
    elif lag:
        table = np.concatenate([np.full((lag, table.shape[1]), np.nan), table[:-lag]])
    scope = "market" if np.ndim(feature.values) == 1 else "symbol"
    table = _filled(table, feature.missing)
    _check_size(name, table, dates)
    return name, scope, np.ascontiguousarray(table).ravel()


def _table(name: str, values: Any, dates: Sequence[str], symbols: Sequence[str]) -> Values:
    """Return values with one row per bar; one column for a feature of the market."""
    columns.check_index(f"feature {name!r}", values, dates)
    array = unmasked_array(f"feature {name!r}", columns.unlabelled(f"feature {name!r}", values, symbols))
    shapes = ((len(dates), len(symbols)), (len(dates),))
    if array.dtype.kind not in "fiub" or array.shape not in shapes:
        wanted = f"feature {name!r} must be numbers of shape {shapes[0]} (per symbol) or {shapes[1]} (of the market)"
        raise refusal("shape_mismatch", f"{wanted}; received {array.dtype} of shape {array.shape}")
    return array.astype(np.float64).reshape(len(dates), -1)


def _as_known(name: str, table: Values, feature: Feature, dates: Sequence[str]) -> Values:
    """Return, for each bar, the last row that is known at its date.

    A missing value with the rule `forward` shows that of the row before it.
    """
    bars = known_times.first_bars(f"`known_at` of feature {name!r}", feature.known_at, dates)
    rows = np.broadcast_to(np.arange(len(table))[:, None], table.shape)
    if feature.missing == FORWARD:
        rows = np.where(np.isnan(table), -1, rows)
    is_seen = bars < len(table)
    latest = np.full(table.shape, -1)
    # A row that is published late does not replace a later row.
    np.maximum.at(latest, bars[is_seen], rows[is_seen])
    latest = np.maximum.accumulate(latest, axis=0)
    shown = np.take_along_axis(table, np.maximum(latest, 0), axis=0)
    # Before its first row, a feature is unknown, and no value of it is missing.
    return np.where(latest < 0, 0.0 if feature.missing == REFUSE else np.nan, shown)


def _check_rule(name: str, missing: Any) -> None:
    if isinstance(missing, str):
        if missing not in (REFUSE, FORWARD):
            wanted = f"`missing` of feature {name!r} must be {REFUSE!r}, {FORWARD!r} or a number"
            raise refusal("argument_invalid", f"{wanted}; received {missing!r}")
    elif (
        is_bool(missing)
        or not isinstance(missing, (int, float, np.integer, np.floating))
        or not abs(missing) <= LARGEST
    ):
        wanted = f"`missing` of feature {name!r} must be a number from {-LARGEST:g} to {LARGEST:g}"
        raise refusal("argument_invalid", f"{wanted}; received {missing!r}")


def _filled(table: Values, missing: str | float) -> Values:
    if missing == REFUSE:
        return table
    filled, rest = (forward(table), 0.0) if isinstance(missing, str) else (table, float(missing))
    return np.where(np.isnan(filled), rest, filled)


def _check_size(name: str, table: Values, dates: Sequence[str]) -> None:
    """Check that values lie in the observation space.

    The engine refuses infinite ones.
    """
    if (large := np.isfinite(table) & (np.abs(table) > LARGEST)).any():
        bar, place = np.argwhere(large)[0]
        wanted = f"feature {name!r} at row {bar} ({dates[bar]}) must be from {-LARGEST:g} to {LARGEST:g}"
        raise refusal("value_invalid", f"{wanted}; received {table[bar, place]:g}")


def forward(table: Values) -> Values:
    """Return a table in which a missing value repeats the one before it.

    NaN before the first.
    """
    rows = np.where(np.isnan(table), -1, np.arange(len(table))[:, None])
    last = np.maximum.accumulate(rows, axis=0)
    return np.where(last < 0, np.nan, np.take_along_axis(table, np.maximum(last, 0), axis=0))


def with_features(dataset: Market, given: Any, lag: int, missing: str | float) -> dict[str, Any]:
    """Return the features of a dataset and new ones, by name.

    Args:
        dataset: The market.
        given: Values by name, a function of the market, or functions by name.
        lag: `lag` of those that are no `Feature`.
        missing: Their `missing`.

    Raises:
        OpenOutcryError: a name is taken, or a function uses bars after the bar of its value.
    """
    found: dict[str, Any] = dict(dataset.features)
    if not callable(given) and not isinstance(given, Mapping):
        wanted = "`given` must be values by name, a function, or functions by name"
        raise refusal("argument_invalid", f"{wanted}; received {type(given).__name__}")
    for name, value in (computed(dataset, given) if callable(given) else given).items():
        _check_name(name)
        if name in found:
            raise refusal(
                "value_invalid", f"the name of a feature must be new; received {name!r}, which the market has"
            )
        values = computed(dataset, value, name)[name] if callable(value) else value
        found[name] = values if isinstance(values, Feature) else Feature(values, lag=lag, missing=missing)
    return found


def cut(features: Mapping[str, Any], rows: slice | Values, places: Sequence[int]) -> dict[str, Any]:
    """Return features of some bars and symbols."""
    return {
        name: replace(
            feature, values=feature.values[rows] if feature.values.ndim == 1 else feature.values[rows][:, places]
        )
        for name, feature in features.items()
    }


__all__ = ["Feature", "Values", "as_feature", "cut", "forward", "native_features", "with_features"]
