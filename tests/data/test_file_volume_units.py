"""Test that volumes are in the units of adjusted prices: close times volume is the money traded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import openoutcry as oo

N, SPLIT, PAID = 80, 40, 60
DAYS = pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=N), name="Date")
RNG = np.random.default_rng(3)
BAR = np.arange(N)
# One split of 4 for 1 and one dividend of 2 per new share.
LATER = np.where(BAR < SPLIT, 4.0, 1.0)
WALK = 100.0 * np.exp(np.cumsum(RNG.normal(0.0, 0.01, N)))
CLOSE = WALK * LATER - np.where(BAR < PAID, 0.0, 2.0)
SHARES = 1e6 * np.exp(RNG.normal(0.0, 0.4, N)) / LATER
MONEY = CLOSE * SHARES
ADJUSTED = np.where(BAR < PAID, 1.0 - 2.0 / CLOSE[PAID - 1], 1.0) * CLOSE / LATER
RATIOS = np.where(BAR == SPLIT, 4.0, 1.0)
DIVIDENDS = np.where(BAR == PAID, 2.0, 0.0)
Prices = npt.NDArray[np.float64]


def read(adjusted: str | None = None, **columns: Prices) -> oo.Dataset:
    frame = pd.DataFrame({name.replace("_", " "): values for name, values in columns.items()}, index=DAYS)
    market = oo.Dataset.from_frame(frame.rename_axis("date").reset_index(), symbol="A", adjusted=adjusted)
    text = oo.Dataset.from_csv(frame.to_csv(), symbol="A", adjusted=adjusted)
    np.testing.assert_allclose(text.close, market.close)
    return text


def money(dataset: oo.Dataset) -> Prices:
    assert dataset.volume is not None
    product: Prices = dataset.close[:, 0] * dataset.volume[:, 0]
    return product


def notices(dataset: oo.Dataset) -> list[str]:
    return [notice for notice in dataset.notices if "olumes" in notice]


FILES: dict[str, dict[str, Prices]] = {
    "Yahoo": {"Close": CLOSE / LATER, "Adj_Close": ADJUSTED, "Volume": SHARES * LATER},
    "Yahoo with events": {
        "Close": CLOSE / LATER,
        "Adj_Close": ADJUSTED,
        "Volume": SHARES * LATER,
        "Dividends": DIVIDENDS,
        "Stock_Splits": np.where(RATIOS == 1.0, 0.0, RATIOS),
    },
    "Tiingo": {
        "close": CLOSE,
        "adjClose": ADJUSTED,
        "volume": SHARES,
        "adjVolume": SHARES * LATER,
        "divCash": DIVIDENDS,
        "splitFactor": RATIOS,
    },
    "EODHD": {"Close": CLOSE, "Adjusted_close": ADJUSTED, "Volume": SHARES * LATER},
    "a close and a volume as traded": {"Close": CLOSE, "Adj_Close": ADJUSTED, "Volume": SHARES},
}


@pytest.mark.parametrize("file", FILES)
def test_the_money_traded_stays_what_it_was(file: str) -> None:
    dataset = read("total", **FILES[file])
    np.testing.assert_allclose(dataset.close[:, 0], ADJUSTED)
    np.testing.assert_allclose(money(dataset), MONEY, rtol=1e-9)
    assert dataset.splits is None
    assert dataset.dividends is None


def test_volumes_as_traded_next_to_prices_that_hold_splits_are_multiplied() -> None:
    columns = {"Close": CLOSE / LATER, "Split": RATIOS}
    dataset = read("split", **columns, Volume=SHARES)
    np.testing.assert_allclose(money(dataset), MONEY)
    assert notices(dataset) == [
        "volumes are as traded and prices adjusted for splits: they are multiplied by later splits"
    ]
    right = read("split", **columns, Volume=SHARES * LATER)
    np.testing.assert_allclose(money(right), MONEY)
    assert not notices(right)


def test_volumes_of_yahoo_that_grow_after_a_split_are_kept() -> None:
    volume = SHARES * LATER * np.where(BAR >= SPLIT, 3.0, 1.0)
    dataset = read(Close=CLOSE / LATER, Adj_Close=ADJUSTED, Volume=volume, Dividends=DIVIDENDS, Stock_Splits=RATIOS)
    np.testing.assert_allclose(dataset.volume[:, 0], volume)  # type: ignore[index]


def test_volumes_that_do_not_show_a_split_have_a_notice() -> None:
    ratios, later = np.where(BAR == SPLIT, 1.5, 1.0), np.where(BAR < SPLIT, 1.5, 1.0)
    dataset = read("split", Close=WALK, Split=ratios, Volume=SHARES * LATER)
    assert notices(dataset) == [
        "the volumes do not show whether they are adjusted for the split 1.5 of A on 2024-02-26: they are read as the"
        " close is"
    ]
    np.testing.assert_allclose(money(dataset), WALK * SHARES * LATER)
    # The columns of Yahoo state it.
    yahoo = read(Close=WALK, Adj_Close=WALK * 0.999, Stock_Splits=ratios, Volume=SHARES * LATER)
    assert not notices(yahoo)
    traded = read("none", Close=WALK * later, Split=ratios, Volume=SHARES * LATER / later)
    np.testing.assert_allclose(money(traded), WALK * SHARES * LATER)


def test_volumes_next_to_prices_that_hold_unknown_dividends_have_a_notice() -> None:
    dataset = read("total", Close=ADJUSTED, Volume=SHARES * LATER)
    assert any("volumes are not adjusted for dividends as the prices are" in notice for notice in dataset.notices)
    np.testing.assert_allclose(dataset.volume[:, 0], SHARES * LATER)  # type: ignore[index]
    assert not notices(read("split", Close=CLOSE / LATER, Volume=SHARES * LATER))
    assert not notices(read("total", Close=ADJUSTED))


def test_a_share_of_the_volume_is_the_same_for_prices_as_traded_and_adjusted() -> None:
    costs = oo.CostModel(financing_bps=0, borrow_bps=0, slippage_bps=0, fee_bps=0, impact_bps=0, capital=1e9)
    limits = oo.Limits(max_participation=0.01)
    weights = np.where(BAR == 5, 1.0, np.nan)[:, None]
    traded = oo.Dataset.from_arrays(
        [f"{day:%Y-%m-%d}" for day in DAYS], ["A"], CLOSE[:, None], volume=SHARES[:, None], splits=RATIOS[:, None]
    )
    adjusted = read("total", **FILES["Yahoo"])
    runs = [oo.run_backtest(market, weights, costs=costs, limits=limits) for market in (traded, adjusted)]
    shares = [run.nav[SPLIT - 1] - 1.0 for run in runs]
    assert shares[0] == pytest.approx(shares[1], rel=1e-6)


def test_volumes_that_hold_a_split_next_to_closes_as_traded_are_a_notice() -> None:
    ratios = np.where(BAR == SPLIT, 20.0, 1.0)
    close, volume = WALK * np.where(BAR < SPLIT, 20.0, 1.0), 1e6 * np.exp(RNG.normal(0.0, 0.4, N))
    wanted = "volumes do not grow by the splits of the file"
    held = read(close=close, volume=volume, split=ratios)
    assert [notice for notice in held.notices if wanted in notice]
    assert held.volume is not None
    np.testing.assert_array_equal(held.volume[:, 0], volume)
    traded = read(close=close, volume=volume / np.where(BAR < SPLIT, 20.0, 1.0), split=ratios)
    assert not [notice for notice in traded.notices if wanted in notice]
