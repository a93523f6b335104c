"""Test prices outside of the low and the high of their bar: few have a notice, most are a mistaken column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

DAYS = pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=40), name="date")
CLOSE = 100.0 * np.exp(np.cumsum(np.random.default_rng(5).normal(0.0, 0.01, 40)))
OPEN = np.r_[100.0, CLOSE[:-1]]
BARS = pd.DataFrame(
    {"open": OPEN, "high": np.maximum(OPEN, CLOSE), "low": np.minimum(OPEN, CLOSE), "close": CLOSE}, index=DAYS
)


def read(bars: pd.DataFrame, door: str) -> oo.Dataset:
    """Read bars of a symbol, next to correct ones of another, by one of the doors."""
    if door == "one symbol":
        return oo.Dataset.from_csv(bars.to_csv(), symbol="A")
    long = pd.concat([bars.assign(symbol="A"), BARS.assign(symbol="B")]).reset_index()
    return oo.Dataset.from_csv(long.to_csv(index=False)) if door == "long" else oo.Dataset.from_frame(long)


@pytest.mark.parametrize("door", ["one symbol", "long", "frame"])
@pytest.mark.parametrize("name", ["close", "open"])
def test_prices_outside_of_most_bars_are_a_mistaken_column(name: str, door: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"{name}s must be within .* received 40 of 40 outside") as refused:
        read(BARS.assign(**{name: 150.0}), door)
    assert refused.value.slug == "value_invalid"
    adjusted = BARS.assign(**{name: np.where(np.arange(40) < 25, BARS[name] * 0.97, BARS[name])})
    with pytest.raises(oo.OpenOutcryError, match=f"{name}s must be within"):
        read(adjusted, door)


@pytest.mark.parametrize("door", ["one symbol", "long", "frame"])
def test_a_few_prices_outside_have_a_notice(door: str) -> None:
    settled = BARS.assign(close=np.where(np.arange(40) % 4 == 0, BARS.high * 1.002, BARS.close))
    notices = read(settled, door).notices
    assert any("10 closes outside of the low and the high of the bar, such as" in text for text in notices)


@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("door", ["one symbol", "long", "frame"])
def test_rounding_has_no_notice(door: str, digits: int) -> None:
    rounded = BARS.assign(high=BARS.high.round(digits), low=BARS.low.round(digits), close=BARS.close * (1 + 1e-7))
    assert not [text for text in read(rounded, door).notices if "outside" in text]


@pytest.mark.parametrize("door", ["one symbol", "long", "frame"])
def test_highs_and_lows_that_are_swapped_are_refused(door: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="highs must be above lows"):
        read(BARS.rename(columns={"high": "low", "low": "high"}), door)
