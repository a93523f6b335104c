"""Settings of a backtest: window, costs, limits, lookback and seeds."""

from __future__ import annotations

from openoutcry import openoutcry_py as native
from openoutcry.arguments import costs_and_limits, lookback_of, seed_of, type_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window, as_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.keys import fill_key_of


def settings_of(
    dataset: Dataset,
    window: Window | tuple[Edge, Edge] | str | None,
    rules: tuple[CostModel | None, Limits | None],
    seed: int,
    lookback: int,
    fill_key: bytes | None = None,
) -> native.Settings:
    """Check each argument and return the settings for the native module."""
    if not isinstance(dataset, Dataset):
        raise refusal("argument_invalid", f"`dataset` must be a Dataset; received {type_of(dataset)}")
    costs, limits = costs_and_limits(*rules)
    lookback, seed = lookback_of(lookback), seed_of(seed)
    bars = as_window(window).resolve(dataset, lookback)
    fill_key = None if fill_key is None else fill_key_of(fill_key)
    return {
        "window": bars,
        "costs": costs,
        "limits": limits,
        "lookback": lookback,
        "seed": seed,
        "fill_key": fill_key,
    }
