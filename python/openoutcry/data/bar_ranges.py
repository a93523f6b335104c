"""Ranges of bars: the opens, highs and lows that conditions of orders need."""

from __future__ import annotations

from openoutcry.data.dataset import Dataset


def has_bar_ranges(dataset: Dataset) -> bool:
    """Return whether a market has columns of opens, highs and lows.

    Without them, a limit, stop or exit of an order is never met (`contract/README.md`, section 1.9).
    """
    return dataset.has_opens and dataset.high is not None and dataset.low is not None
