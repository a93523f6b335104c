"""Series of dates and of symbols are in the order of their index, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2024-01-01", periods=6)]
CLOSE = np.linspace(100.0, 120.0, 12).reshape(6, 2)


def market(dates: Any = DAYS, symbols: Any = ("A", "B")) -> oo.Dataset:
    return oo.Dataset.from_arrays(dates, symbols, CLOSE)


@pytest.mark.parametrize(
    "names",
    [
        {"dates": pd.Series(DAYS)},
        {"dates": pd.Series(DAYS, index=range(4, 10))},
        {"dates": pd.Series(DAYS, index=pd.to_datetime(DAYS))},
        {"dates": pd.DatetimeIndex(DAYS).to_series()},
        {"dates": pd.DatetimeIndex(DAYS, tz="UTC").tz_localize(None)},
        {"symbols": pd.Series(["A", "B"])},
        {"symbols": pd.Series(["A", "B"], index=["A", "B"])},
        {"symbols": pd.Index(["A", "B"])},
    ],
    ids=["rows", "later rows", "dates", "own index", "index", "symbols", "own symbols", "index of symbols"],
)
def test_names_in_the_order_of_their_index_equal_a_list(names: dict[str, Any]) -> None:
    assert market(**names) == market()


@pytest.mark.parametrize(
    "names",
    [
        {"dates": pd.Series(DAYS, index=range(5, -1, -1))},
        {"dates": pd.Series(DAYS, index=pd.to_datetime(DAYS[::-1]))},
        {"dates": pd.Series(DAYS, index=[1, 1, 2, 3, 4, 5])},
        {"symbols": pd.Series(["A", "B"], index=[1, 0])},
        {"symbols": pd.Series(["A", "B"], index=["B", "A"])},
    ],
    ids=["permuted", "other dates", "repeated", "permuted symbols", "other symbols"],
)
def test_names_in_another_order_than_their_index_are_refused(names: dict[str, Any]) -> None:
    (name,) = names
    wanted = rf"`{name}` must be without an index, or in its order; received the index .*; hint: `{name}.to_numpy\(\)`"
    with pytest.raises(oo.OpenOutcryError, match=wanted) as refused:
        market(**names)
    assert refused.value.slug == "shape_mismatch"
