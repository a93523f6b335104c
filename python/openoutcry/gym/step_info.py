"""The `info` of a reset or a step: the same keys, types and shapes in both.

The scalar environment and the lanes of the vector environment have the same entries, and those of the lanes have the
layout of Gymnasium's `SyncVectorEnv`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset

_Flags: TypeAlias = npt.NDArray[np.bool_]


def light_info(nav: float) -> dict[str, Any]:
    """Return the light info of an account."""
    # A NumPy float is a float with a dtype, which TorchRL reads.
    return {"nav": np.float64(nav)}


def full_info(native_info: Mapping[str, Any], scheme: str) -> dict[str, Any]:
    """Return the full info of an account.

    Args:
        native_info: Info of the native environment; it has no costs and gains after a reset.
        scheme: Name of the reward scheme.
    """
    slugs = Counter(event["slug"] for event in native_info["events"])
    limits = Counter(event["reason"] for event in native_info["events"] if event["slug"] == "limited")
    return {
        **light_info(native_info["nav"]),
        "date": native_info["date"],
        "costs": native_info.get("costs") or dict.fromkeys(native.COST_KINDS, 0.0),
        **{name: native_info.get(name, 0.0) for name in native.GAINS},
        "events": {slug: slugs[slug] for slug in native.EVENTS},
        "limits": {reason: limits[reason] for reason in native.LIMIT_REASONS},
        "reward_scheme": scheme,
    }


def masked(values: Mapping[str, Any], mask: _Flags) -> dict[str, Any]:
    """Return values of lanes in the layout of Gymnasium.

    A key `k` has a mask `_k` of its lanes.

    Values outside of the mask are 0 or None.
    """
    info: dict[str, Any] = {}
    is_all = bool(mask.all())
    for name, value in values.items():
        if isinstance(value, Mapping):
            info[name] = masked(value, mask)
        elif is_all:
            info[name] = value
        else:
            # `np.empty` fills arrays of objects with None.
            kept = np.empty(value.shape, object) if value.dtype == object else np.zeros_like(value)
            kept[mask] = value[mask]
            info[name] = kept
        info[f"_{name}"] = mask.copy()
    return info


class LaneInfos:
    """Builds the info of the lanes of a batch.

    Args:
        core: The batch.
        datasets: Markets of the batch.
        scheme: Name of the reward scheme.
        is_full: Whether the batch keeps records, and info has them.
        shows_tradable: Whether info has the mask of tradable symbols.
        shows_invalid: Whether info has the lanes with invalid actions.
    """

    def __init__(
        self,
        core: native.Batch,
        datasets: Sequence[Dataset],
        scheme: str,
        *,
        is_full: bool,
        shows_tradable: bool,
        shows_invalid: bool,
    ) -> None:
        self._core, self._datasets, self._scheme = core, datasets, scheme
        self._is_full, self._shows_tradable, self._shows_invalid = is_full, shows_tradable, shows_invalid
        self.has_entries = is_full or shows_tradable or shows_invalid

    def after_reset(self, is_reset: _Flags) -> dict[str, Any]:
        """Return the info of a reset of some lanes."""
        return masked(self._entries(is_reset, None), is_reset)

    def after_step(self, started: _Flags, invalid: _Flags | None) -> dict[str, Any]:
        """Return the info of a step.

        Args:
            started: Lanes with an episode that has started in this step.
            invalid: Lanes with invalid actions; None for none.
        """
        return masked(self._entries(started, invalid), np.ones(started.shape, dtype=np.bool_))

    def final(self, ended: _Flags, invalid: _Flags | None) -> dict[str, Any]:
        """Return the final info of episodes that have ended in this step."""
        lanes = np.flatnonzero(ended).tolist()
        navs, bars, markets = np.zeros(ended.size), np.zeros(ended.size, dtype=np.int64), self._core.last_markets
        for lane, (nav, bar) in zip(lanes, self._core.ended(lanes), strict=True):
            navs[lane], bars[lane] = nav, bar
        values: dict[str, Any] = {"nav": navs}
        if self._is_full:
            values |= {
                "date": self._dates(bars, markets),
                **self._core.records,
                "reward_scheme": self._schemes(ended.size),
            }
        if self._shows_tradable:
            n_symbols = self._datasets[0].n_symbols
            values["tradable"] = np.zeros((ended.size, n_symbols), dtype=np.bool_)
            for lane in lanes:
                values["tradable"][lane] = listed_at(self._datasets[markets[lane]], int(bars[lane]))
        if self._shows_invalid:
            values["invalid_action"] = np.zeros(ended.shape, dtype=np.bool_) if invalid is None else invalid
        return masked(values, ended)

    def _entries(self, started: _Flags, invalid: _Flags | None) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self._is_full:
            values |= {"nav": self._core.nav, "date": self._dates(self._core.bars, self._core.markets)}
            values |= without(self._core.records, started)
            values["reward_scheme"] = self._schemes(started.size)
        if self._shows_tradable:
            values["tradable"] = self._core.tradable
        if self._shows_invalid:
            values["invalid_action"] = (
                np.zeros(started.shape, dtype=np.bool_) if invalid is None else invalid & ~started
            )
        return values

    def _dates(self, bars: npt.NDArray[np.int64], markets: Sequence[int]) -> npt.NDArray[Any]:
        dates = np.empty(bars.size, dtype=object)
        dates[:] = [self._datasets[market].dates[bar] for bar, market in zip(bars.tolist(), markets, strict=True)]
        return dates

    def _schemes(self, lanes: int) -> npt.NDArray[Any]:
        return np.full(lanes, self._scheme, dtype=object)


def without(records: Mapping[str, Any], lanes: _Flags) -> dict[str, Any]:
    """Return records with zeros for the lanes of a reset, which has no costs."""
    found: dict[str, Any] = {}
    for name, value in records.items():
        found[name] = (
            without(value, lanes) if isinstance(value, Mapping) else np.where(lanes, value.dtype.type(0), value)
        )
    return found


def listed_at(dataset: Dataset, bar: int) -> _Flags:
    """Return the symbols that are listed at the close of a bar."""
    shown = slice(None, bar + 1)
    listed = np.isfinite(dataset.close[shown]).any(axis=0)
    if dataset.delistings is not None:
        listed = listed & ~np.isfinite(dataset.delistings[shown]).any(axis=0)
    return np.asarray(listed, dtype=np.bool_)


def copied_observations(shown: Any, ended: _Flags) -> npt.NDArray[Any]:
    """Return final observations of ended episodes as objects; None for other lanes."""
    found = np.empty(ended.size, dtype=object)
    for lane in np.flatnonzero(ended).tolist():
        is_dict = isinstance(shown, dict)
        found[lane] = {name: part[lane].copy() for name, part in shown.items()} if is_dict else shown[lane].copy()
    return found


__all__ = ["LaneInfos", "copied_observations", "full_info", "light_info", "listed_at", "masked"]
