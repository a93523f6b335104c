"""Target weights of users, checked against their market."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import unmasked_array
from openoutcry.data.columns import check_index, unlabelled
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
    # A shift by one bar would be look-ahead.
    check_index("weights", weights, dataset.dates, "dataset.dates")
    return array.astype(np.float64, copy=False)
