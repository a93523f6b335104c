"""The market of the second episode, with a new random seed for each examination.

Symbols are listed late, halted, delisted and split and pay dividends, with fundamentals and news.
"""

from __future__ import annotations

import secrets
from datetime import date, timedelta

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

N_SYMBOLS, N_BARS = 8, 250
_SPLIT = "conformance"
_CHANGES = {"late_listings": 0.5, "delisting_rate": 0.7, "halt_rate": 3.0, "split_above": 100.0}
_N_SEEDS = 2**32
# The first bar is moved by less than twenty years.
_WEEKS = 1_000
_NEWS_EVERY = 25


def draw_seed() -> int:
    """Return a random seed of a market in which all kinds of events occur."""
    while True:
        seed = secrets.randbelow(_N_SEEDS)
        if has_all_events(market(seed)):
            return seed


def market(seed: int) -> Dataset:
    """Return the market of a seed."""
    spec = ScenarioSpec("hard", n_symbols=N_SYMBOLS, n_days=N_BARS, **_CHANGES)
    columns = Scenario(spec, seed, split=_SPLIT).dataset()._columns()
    later = timedelta(weeks=seed % _WEEKS)
    dates = [(date.fromisoformat(day) + later).isoformat() for day in columns["dates"]]
    published = [(place, day) for place in range(N_SYMBOLS) for day in dates[place * 3 :: _NEWS_EVERY]]
    names = columns["symbols"]
    columns |= {
        "dates": dates,
        "news": [(names[place], day, f"{names[place]} reports on {day}") for place, day in published],
        "fundamentals": [(names[place], day, "earnings_per_share", 0.25 * place) for place, day in published],
    }
    return Dataset.from_arrays(**columns, name=f"conformance-{seed}")


def has_all_events(dataset: Dataset) -> bool:
    """Return whether symbols are listed late, halted and delisted."""
    is_known = np.isfinite(dataset.close)
    was_known = np.maximum.accumulate(is_known, axis=0)
    will_be_known = np.maximum.accumulate(is_known[::-1], axis=0)[::-1]
    is_halted = was_known & will_be_known & ~is_known
    # The last bar has no decision.
    is_delisted = dataset.delistings is not None and bool(np.isfinite(dataset.delistings[:-1]).any())
    return is_delisted and bool(is_halted.any()) and not bool(is_known[0].all()) and bool(is_known[0].any())
