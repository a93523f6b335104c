"""Test that a dividend of a file is one of its bar, and not the amount of a year in each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import openoutcry as oo

N = 120
RNG = np.random.default_rng(5)
WALK = 100.0 * np.exp(np.cumsum(RNG.normal(0.0, 0.01, N)))
DAYS = pd.bdate_range("2020-01-01", periods=N)
WEEKS = pd.date_range("2020-01-03", periods=N, freq="7D")
MONTHS = pd.date_range("2010-01-01", periods=N, freq="MS")
Values = npt.NDArray[np.float64]


def text(dates: pd.DatetimeIndex, paid: Values | float, names: str = "date,symbol,close,dividend") -> str:
    amounts = np.broadcast_to(paid, N)
    rows = [f"{day:%Y-%m-%d},A,{price:.3f},{amount:.5g}" for day, price, amount in zip(
        dates, WALK.tolist(), amounts.tolist(), strict=True)]  # fmt: skip
    return "\n".join([names, *rows]) + "\n"


def refused(source: str, **options: Any) -> str:
    with pytest.raises(oo.OpenOutcryError, match="each dividend must be on its ex-date only") as caught:
        oo.Dataset.from_csv(source, **options)
    return str(caught.value)


@pytest.mark.parametrize("names", ["date,symbol,close,dividend", "Date,Ticker,Close,Dividend"])
def test_a_trailing_amount_on_every_day_is_refused(names: str, tmp_path: Path) -> None:
    source = text(DAYS, 0.96, names)
    message = refused(source)
    assert "dividends of A on 120 of 120 bars, 0.96 on 2020-01-01 and 0.96 on 2020-01-02" in message
    assert "hint: leave the column out, or keep each amount on its ex-date" in message
    (tmp_path / "A.csv").write_text(source)
    refused(str(tmp_path / "A.csv"))
    frame = pd.DataFrame({"date": DAYS, "symbol": "A", "close": WALK, "dividend": 0.96})
    with pytest.raises(oo.OpenOutcryError, match="each dividend must be on its ex-date only"):
        oo.Dataset.from_frame(frame)
    assert oo.Dataset.from_csv(source, adjusted="total").dividends is None


def test_arrays_may_pay_on_every_bar() -> None:
    dates = [f"{day:%Y-%m-%d}" for day in DAYS]
    dataset = oo.Dataset.from_arrays(dates, ["A"], WALK[:, None], dividends=np.full((N, 1), 0.96))
    assert dataset.dividends is not None


def test_a_symbol_does_not_vouch_for_another() -> None:
    other = text(DAYS, np.where(np.arange(N) % 60 == 5, 0.5, 0.0)).replace(",A,", ",B,").split("\n", 1)[1]
    assert "dividends of A on" in refused(text(DAYS, 0.96) + other)


@pytest.mark.parametrize("amount", [4.2, 2.5])
@pytest.mark.parametrize("dates", [WEEKS, MONTHS])
def test_a_steady_amount_above_any_yield_is_annual(dates: pd.DatetimeIndex, amount: float) -> None:
    growing = amount * 1.004 ** np.arange(N)
    refused(text(dates, growing))


def test_the_table_of_shiller_has_annual_dividends() -> None:
    frame = pd.DataFrame({"Date": MONTHS, "SP500": WALK, "Dividend": 1.8, "Earnings": 5.0, "PE10": 20.0})
    refused(frame.to_csv(index=False), columns={"close": "SP500"}, symbol="SPX")


PAYERS = {
    "a bond fund each month": (MONTHS, 0.3),
    "a mortgage trust each month": (MONTHS, 1.2),
    "options each month": (MONTHS, RNG.uniform(4.0, 12.0, N)),
    "options each week": (WEEKS, RNG.uniform(0.5, 3.0, N)),
    "a bond fund each week": (WEEKS, 0.09),
    "options each fifth day": (DAYS, np.where(np.arange(N) % 5 == 2, RNG.uniform(0.5, 3.0, N), 0.0)),
    "each quarter": (DAYS, np.where(np.arange(N) % 63 == 2, 1.0, 0.0)),
}


@pytest.mark.parametrize("payer", PAYERS)
def test_payers_of_every_week_and_month_are_read(payer: str) -> None:
    for names in ("date,symbol,close,dividend", "Date,Ticker,Close,Dividend"):
        assert oo.Dataset.from_csv(text(*PAYERS[payer], names)).dividends is not None
