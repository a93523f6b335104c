"""Target weights of users, checked against their market."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import unmasked_array
from openoutcry.data.columns import unlabelled
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal


def weight_table(dataset: Dataset, weights: Any) -> npt.NDArray[np.float64]:
    """Return weights as an array of shape `(n_bars, n_symbols)`, float64.

    Raises:
        OpenOutcryError: `shape_mismatch`: `weights` is not a two-dimensional array of numbers, or its index or columns
            are not the dates and symbols of the dataset.
    """
    array = unmasked_array("weights", unlabelled("weights", weights, dataset.symbols))
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        wanted = f"an agent or an array of shape ({dataset.n_bars}, {dataset.n_symbols}) is required"
        raise refusal("shape_mismatch", f"{wanted}; received {array.ndim}-d {array.dtype}")
    _check_index(dataset, weights)
    return array.astype(np.float64, copy=False)


def _check_index(dataset: Dataset, weights: Any) -> None:
    """Refuse a pandas frame with other dates: a shift by one bar would be look-ahead."""
    rows: Any = getattr(weights, "index", None)
    if not hasattr(rows, "inferred_type") or rows.inferred_type == "integer":
        return
    texts = [date.isoformat() if hasattr(date, "isoformat") else str(date) for date in rows]
    dates = [text[: len(dataset.dates[0])] for text in texts]
    if dates != list(dataset.dates):
        wanted = f"the index of weights must be the dates of the dataset, {dataset.dates[0]} .. {dataset.dates[-1]}"
        received = f"{dates[0]} .. {dates[-1]}, {len(dates)} rows" if dates else "no rows"
        raise refusal("shape_mismatch", f"{wanted}; received {received}")
