"""Arguments of an environment that describe its market and limits."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np

from openoutcry.arguments import is_file_object, is_frame, is_integer, type_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.market_source import open_market
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import Limits
from openoutcry.scenarios.scenario import NAMES as TIERS
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Market: TypeAlias = "Dataset | Scenario | ScenarioSpec | str | os.PathLike[str]"


class Default(int):
    """A default value that is distinct from an equal number passed by the user."""


N_SYMBOLS, N_DAYS = Default(4), Default(120)
REQUIRED = ""
"""Value of `dataset` in an environment id that has no market of its own."""
SYNTHETIC, SYNTHETIC_DAYS = "synthetic", 1260
"""Name of the synthetic market, and its number of days if `n_days` is not given."""


def market_of(n_symbols: Any, n_days: int, seed: int, dataset: Any, split: str) -> Dataset:
    """Return the dataset that the arguments of an environment describe."""
    is_market = isinstance(n_symbols, (str, os.PathLike, Dataset, Scenario, ScenarioSpec)) or is_file_object(n_symbols)
    if is_market and dataset is None:
        n_symbols, dataset = N_SYMBOLS, n_symbols
    if isinstance(dataset, str) and dataset == SYNTHETIC:
        dataset, n_days = None, SYNTHETIC_DAYS if n_days is N_DAYS else n_days
    if dataset is None and is_integer(n_symbols):
        return Dataset.synthetic(n_symbols, n_days, seed)
    if dataset is None:
        received = type_of(n_symbols) if is_frame(n_symbols) else repr(n_symbols)
        raise refusal("argument_invalid", f"`n_symbols` must be an integer of at least 1; received {received}")
    if n_symbols is not N_SYMBOLS or n_days is not N_DAYS:
        sizes = "`n_symbols` or `n_days`, which set the size of the synthetic market"
        hint = "hint: for a scenario, pass the size as ScenarioSpec('hard', n_symbols=8)"
        raise refusal("argument_invalid", f"`dataset` must be None with {sizes}; received both; {hint}")
    if is_split(dataset):
        dataset = Scenario(dataset, seed, split=split)
    if isinstance(dataset, Scenario):
        return dataset.dataset()
    if isinstance(dataset, str) and dataset == REQUIRED:
        hint = 'hint: gymnasium.make("openoutcry.gym:OpenOutcry/Market-v1", dataset="prices.csv")'
        raise refusal("argument_invalid", f"`dataset` must be a market or the path of a file; received none; {hint}")
    if isinstance(dataset, (str, os.PathLike)) or is_file_object(dataset):
        return open_market(dataset, others=TIERS)
    if not isinstance(dataset, Dataset):
        wanted = "a Dataset, a Scenario, a ScenarioSpec, the name of a bundled market or a tier, a path, or None"
        raise refusal("argument_invalid", f"`dataset` must be {wanted}; received {type_of(dataset)}")
    return dataset


def is_split(market: Any) -> bool:
    """Return whether a split selects the market that an argument describes."""
    return isinstance(market, ScenarioSpec) or (isinstance(market, str) and market in TIERS)


def limits_of(limits: Limits | None, max_weight: float | None, allow_short: bool | None) -> Limits | None:
    """Return the limits of `limits` or of the shorthands."""
    if limits is None:
        return Limits(max_weight=max_weight, allow_short=allow_short)
    if max_weight is not None or allow_short is not None:
        shorthands = "`max_weight` or `allow_short`, which are shorthands for it"
        raise refusal("limit_invalid", f"`limits` must be None with {shorthands}; received both")
    return limits


def has_listing_changes(dataset: Dataset, start: int) -> bool:
    """Return whether symbols may list or delist during an episode.

    True if a symbol is unlisted at bar `start`, or if the dataset has a delisting column. Its values are not read: they
    would reveal the future.
    """
    return dataset.delistings is not None or bool(np.isnan(dataset.close[: start + 1]).all(axis=0).any())
