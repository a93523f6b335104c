"""The market of the second episode, drawn anew for each examination.

Its symbols are listed, halted and delisted on the way, paid for and split, with fundamentals and news.
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
# The first bar is moved on by less than twenty years.
_WEEKS = 1_000
_NEWS_EVERY = 25


def draw() -> int:
    """Return a seed that nobody knew, of a market in which all happens that can."""
    while True:
        seed = secrets.randbelow(_N_SEEDS)
        if is_lively(market(seed)):
            return seed


def market(seed: int) -> Dataset:
    """Return the market of a seed."""
    spec = ScenarioSpec("hard", n_symbols=N_SYMBOLS, n_days=N_BARS, **_CHANGES)
    columns = Scenario(spec, seed, split=_SPLIT).dataset()._columns()
    later = timedelta(weeks=seed % _WEEKS)
    dates = [(date.fromisoformat(day) + later).isoformat() for day in columns["dates"]]
    told = [(place, day) for place in range(N_SYMBOLS) for day in dates[place * 3 :: _NEWS_EVERY]]
    names = columns["symbols"]
    columns |= {
        "dates": dates,
        "news": [(names[place], day, f"{names[place]} reports on {day}") for place, day in told],
        "fundamentals": [(names[place], day, "earnings_per_share", 0.25 * place) for place, day in told],
    }
    return Dataset.from_arrays(**columns, name=f"conformance-{seed}")


def is_lively(of: Dataset) -> bool:
    """Return whether symbols are listed late, delisted, and halted in between."""
    is_known = np.isfinite(of.close)
    was_known = np.maximum.accumulate(is_known, axis=0)
    will_be_known = np.maximum.accumulate(is_known[::-1], axis=0)[::-1]
    is_halted = was_known & will_be_known & ~is_known
    # At the last bar nobody is asked.
    is_delisted = of.delistings is not None and bool(np.isfinite(of.delistings[:-1]).any())
    return is_delisted and bool(is_halted.any()) and not bool(is_known[0].all()) and bool(is_known[0].any())
