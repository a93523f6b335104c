"""Markets padded to one shape with symbols that are never listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from openoutcry.data.columns import TABLES
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

PREFIX = "PAD"


def padded(dataset: Dataset, n_symbols: int) -> Dataset:
    """Return a market padded to `n_symbols` symbols.

    Symbols of the padding are never listed, cannot be traded, and have features of 0.

    Raises:
        OpenOutcryError: `argument_invalid`: the market has more symbols, or one with the name of a padding.
    """
    n_more = n_symbols - dataset.n_symbols
    if n_more == 0:
        return dataset
    names = [f"{PREFIX}{i}" for i in range(dataset.n_symbols, n_symbols)]
    if n_more < 0 or set(names) & set(dataset.symbols):
        most = counted(n_symbols, "symbol")
        message = f"padding needs a market of at most {most}, none of them named {PREFIX} and a number"
        raise refusal("argument_invalid", f"{message}; received {dataset.n_symbols}: {', '.join(dataset.symbols)}")
    table: dict[str, Any] = dataset._columns()
    table["symbols"] = [*dataset.symbols, *names]
    shape = (dataset.n_bars, n_more)
    for name in ("close", *TABLES, "tradable"):
        if table[name] is not None:
            filler = np.zeros(shape, np.bool_) if name == "tradable" else np.full(shape, np.nan)
            table[name] = np.concatenate([table[name], filler], axis=1)
    table["features"] = {
        name: each.values if each.values.ndim == 1 else np.concatenate([each.values, np.zeros(shape)], axis=1)
        for name, each in dataset.features.items()
    }
    return Dataset.from_arrays(**table, name=dataset.name, notices=dataset.notices)


__all__ = ["padded"]
