"""Features of a market: numbers that agents observe from a stated time on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, is_bool, unmasked_array
from openoutcry.data import columns
from openoutcry.errors import refusal

Values = npt.NDArray[np.float64]
NativeFeature: TypeAlias = "tuple[str, str, Values]"
"""Name, scope (`symbol` or `market`) and values, bar after bar."""

REFUSE, FORWARD = "refuse", "forward"


class Market(Protocol):
    """What a feature needs of a market."""

    @property
    def dates(self) -> tuple[str, ...]:
        """ISO 8601 dates of the bars."""

    @property
    def features(self) -> Mapping[str, Feature]:
        """Features by name."""

    def head(self, n_bars: int) -> Any:
        """Return the market of the first bars."""


@dataclass(frozen=True)
class Feature:
    """Values of a feature, when they are known, and a rule for missing ones.

    Attributes:
        values: Shape `(n_bars, n_symbols)`, or `(n_bars,)` for a feature of the market. A frame has the symbols as
            columns.
        lag: Bars from the bar of a value to the bar at whose close it is known; 0 for its own bar.
        known_at: ISO 8601 time per row from which the row is known, instead of the close of its bar. An agent sees the
            last row that is known at a bar.
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
    return [_native(name, as_feature(given), dates, symbols) for name, given in features.items()]


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


def _native(name: str, feature: Feature, dates: Sequence[str], symbols: Sequence[str]) -> NativeFeature:
    table = _table(name, feature.values, dates, symbols)
    lag = checked_integer(f"lag of feature {name!r}", feature.lag, 0, len(dates) - 1)
    if feature.known_at is not None:
        if lag:
            raise refusal("argument_invalid", f"feature {name!r} must have `lag` or `known_at`; received both")
        table = _as_known(name, table, feature.known_at, dates)
    elif lag:
        table = np.concatenate([np.full((lag, table.shape[1]), np.nan), table[:-lag]])
    scope = "market" if np.ndim(feature.values) == 1 else "symbol"
    return name, scope, np.ascontiguousarray(_filled(name, table, feature.missing)).ravel()


def _table(name: str, values: Any, dates: Sequence[str], symbols: Sequence[str]) -> Values:
    """Return values with one row per bar; one column for a feature of the market."""
    columns.check_index(f"feature {name!r}", values, dates)
    array = unmasked_array(f"feature {name!r}", columns.unlabelled(f"feature {name!r}", values, symbols))
    shapes = ((len(dates), len(symbols)), (len(dates),))
    if array.dtype.kind not in "fiub" or array.shape not in shapes:
        wanted = f"feature {name!r} must be numbers of shape {shapes[0]} (per symbol) or {shapes[1]} (of the market)"
        raise refusal("shape_mismatch", f"{wanted}; received {array.dtype} of shape {array.shape}")
    return array.astype(np.float64).reshape(len(dates), -1)


def _as_known(name: str, table: Values, known_at: Sequence[Any], dates: Sequence[str]) -> Values:
    """Return, for each bar, the last row that is known at its date."""
    times = columns.iso(known_at)
    if len(times) != len(table) or any(len(time) != len(dates[0]) for time in times):
        wanted = f"`known_at` of feature {name!r} must be {len(table)} times as precise as the dates of the bars"
        raise refusal("date_invalid", f"{wanted}; received {len(times)}, first {times[:1]}")
    shown = np.full_like(table, np.nan)
    # A row is seen from the first bar at or after its time; of several, the last row counts.
    for row, bar in enumerate(np.searchsorted(np.asarray(dates), np.asarray(times)).tolist()):
        if bar < len(table):
            shown[bar] = table[row]
    return forward(shown)


def _filled(name: str, table: Values, missing: str | float) -> Values:
    if isinstance(missing, str):
        if missing not in (REFUSE, FORWARD):
            wanted = f"`missing` of feature {name!r} must be {REFUSE!r}, {FORWARD!r} or a number"
            raise refusal("argument_invalid", f"{wanted}; received {missing!r}")
        return table if missing == REFUSE else np.nan_to_num(forward(table), nan=0.0)
    if is_bool(missing) or not np.isfinite(missing):
        raise refusal("argument_invalid", f"`missing` of feature {name!r} must be a finite number; received {missing}")
    return np.where(np.isnan(table), float(missing), table)


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
    for name, value in (computed(dataset, given) if callable(given) else dict(given)).items():
        if name in found:
            raise refusal(
                "value_invalid", f"the name of a feature must be new; received {name!r}, which the market has"
            )
        values = computed(dataset, value, name)[name] if callable(value) else value
        found[name] = values if isinstance(values, Feature) else Feature(values, lag=lag, missing=missing)
    return found


# Bars at which a function is computed again on the bars so far.
_N_CUTS = 12


def computed(dataset: Market, function: Callable[[Any], Any], name: str = "") -> dict[str, Any]:
    """Return the values of a function of a market, after a check that they are causal.

    Raises:
        OpenOutcryError: a value of a bar differs once later bars are missing.
    """
    whole = _by_name(function(dataset), function, name)
    for n_bars in _cuts(len(dataset.dates)):
        part = _by_name(function(dataset.head(n_bars)), function, name)
        for key, feature in whole.items():
            _check_causal(key, as_feature(feature), as_feature(part.get(key)), dataset.dates, n_bars)
    return whole


def _cuts(n_bars: int) -> Iterable[int]:
    """Return numbers of bars, from half of all on: a function may need many."""
    return sorted({int(n) for n in np.linspace(max(2, n_bars // 2), n_bars - 1, _N_CUTS)} if n_bars > 2 else set())


def _by_name(values: Any, function: Callable[[Any], Any], name: str) -> dict[str, Any]:
    if not name and isinstance(values, Mapping):
        return dict(values)
    return {name or getattr(function, "__name__", "feature"): values}


def _check_causal(name: str, whole: Feature, part: Feature, dates: Sequence[str], n_bars: int) -> None:
    before, after = (np.asarray(each.values, dtype=np.float64) for each in (whole, part))
    if after.shape != (n_bars, *before.shape[1:]):
        wanted = f"feature {name!r} must have one row per bar of the market that its function receives"
        raise refusal("shape_mismatch", f"{wanted}; received {after.shape} for {n_bars} bars")
    same = np.isclose(before[:n_bars], after, rtol=1e-9, atol=1e-12, equal_nan=True).reshape(n_bars, -1).all(axis=1)
    if not same.all():
        bar = int(np.argmin(same))
        message = f"feature {name!r} must be computed from bars up to its own; received a value of {dates[bar]} that"
        hint = 'hint: it uses later bars: shift them, and normalise by bars so far (`scale="expanding"` does)'
        raise refusal("value_invalid", f"{message} changes when the bars from {dates[n_bars]} on are missing; {hint}")


def cut(features: Mapping[str, Any], rows: slice | Values, places: Sequence[int]) -> dict[str, Any]:
    """Return features of some bars and symbols."""
    return {
        name: replace(
            feature, values=feature.values[rows] if feature.values.ndim == 1 else feature.values[rows][:, places]
        )
        for name, feature in features.items()
    }


__all__ = ["Feature", "Values", "as_feature", "computed", "cut", "forward", "native_features", "with_features"]
