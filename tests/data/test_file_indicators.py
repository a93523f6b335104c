"""Test columns of a wide table that are no prices of a symbol: a notice by name, a refusal by value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

DAYS = pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=40), name="date")
SPY = pd.Series(470.0 * np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, 40))), index=DAYS)
OTHER = pd.Series(20.0 * np.exp(np.cumsum(np.random.default_rng(2).normal(0.0, 0.05, 40))), index=DAYS)
INDICATORS = [
    "SPY_sma", "SPY_RSI14", "sma_20", "spyZscore", "zscore", "feature1", "target", "label", "tomorrow",
    "position", "signal", "pnl", "ret_SPY", "SPY Return", "SPY_vol", "SPY.pred", "SPY_next", "SPYMacd", "lag_1",
    "DFF", "DGS10", "FEDFUNDS", "TB3MS", "UNRATE", "GDP", "CPI", "PE10", "P/E", "EPS", "CAPE", "Dividend Yield",
    "Consumer Price Index", "Earnings", "Long Interest Rate",
]  # fmt: skip
SYMBOLS = [
    "SPY US Equity", "S&P 500 Total Return", "S&P 500 Equal Weight", "S&P 500 Low Volatility", "Dow Jones Average",
    "MSCI World Momentum", "MA", "Lead", "Gold Future", "NEXTERA", "RETL", "S&P High Beta",
    "iShares High Yield", "S&P 500 Dividend Aristocrats", "PEP", "TBILL Fund", "US Real Estate",
]  # fmt: skip


@pytest.mark.parametrize("name", INDICATORS)
def test_a_column_named_as_an_indicator_has_a_notice(name: str) -> None:
    frame = pd.DataFrame({"SPY": SPY, name: OTHER})
    for dataset in (oo.Dataset.from_frame(frame), oo.Dataset.from_csv(frame.to_csv())):
        assert dataset.symbols == ("SPY", name)
        assert any(f"{name!r} is read as a symbol" in notice for notice in dataset.notices)


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_column_named_as_an_index_or_a_company_has_none(name: str) -> None:
    frame = pd.DataFrame({"SPY": SPY, name: OTHER})
    assert not [text for text in oo.Dataset.from_csv(frame.to_csv()).notices if "is read as a symbol" in text]


@pytest.mark.parametrize("rows", [-5, -1, 1, 2])
@pytest.mark.parametrize("n_others", [0, 20])
def test_a_copy_of_other_days_is_no_symbol(rows: int, n_others: int) -> None:
    others = {f"S{place}": np.roll(SPY[::-1], place) * (1 + place) for place in range(n_others)}
    frame = pd.DataFrame({"SPY": SPY, **others, "XYZ": SPY.shift(rows)}, index=DAYS)
    first, second = ("XYZ", "SPY") if rows < 0 else ("SPY", "XYZ")
    with pytest.raises(oo.OpenOutcryError, match=f"received '{first}', which is '{second}' {abs(rows)} row") as refused:
        oo.Dataset.from_frame(frame)
    assert refused.value.slug == "value_invalid"
    with pytest.raises(oo.OpenOutcryError, match="columns must be symbols"):
        oo.Dataset.from_csv(frame.dropna().to_csv())
    assert oo.Dataset.from_csv(frame.to_csv(), columns={"close": "*"}).n_symbols == n_others + 2


def test_pegs_lines_and_cycles_are_no_copies() -> None:
    days = np.arange(40.0)
    columns = {"A": 100 + days, "B": 101 + days, "C": 1.0, "D": 1.0, "E": 1 + days % 2, "F": 2 - days % 2}
    columns |= {"G": 100 * 1.5**days, "H": 150 * 1.5**days}
    assert oo.Dataset.from_frame(pd.DataFrame(columns, index=DAYS)).n_symbols == 8


def test_a_constant_rate_has_a_notice() -> None:
    rates = pd.DataFrame({"DFF": 5.33}, index=DAYS.rename("DATE"))
    assert any("'DFF' is read as a symbol" in notice for notice in oo.Dataset.from_csv(rates.to_csv()).notices)
