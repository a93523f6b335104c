"""Random markets with splits, halts, listings and delistings."""

from __future__ import annotations

import numpy as np
from builders import dataset_of
from markets import Market, draw_close, draw_open, draw_splits, halt, list_and_delist

import openoutcry as oo


def rare_market(seed: int, n_bars: int = 110, n_symbols: int = 5) -> oo.Dataset:
    """Return a market with splits, halts, listings and settlements."""
    rng = np.random.default_rng(seed)
    shape = (n_bars, n_symbols)
    splits = draw_splits(rng, shape)
    close = draw_close(rng, shape, splits)
    opens = draw_open(rng, close, splits)
    halt(rng, close, opens)
    delistings = list_and_delist(rng, close, opens)
    # Every bar needs at least one close.
    close[:, 0] = np.where(np.isfinite(close[:, 0]), close[:, 0], 50.0)
    if delistings is not None:
        delistings[:, 0] = np.nan
    return dataset_of(Market(close, open=opens, splits=splits, delistings=delistings))
