"""Test that the prices of a file fall by its dividends, or are read as prices that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import openoutcry as oo

N = 1500
DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2015-01-01", periods=N)]
SYMBOLS = [f"S{k:02d}" for k in range(30)]
Values = npt.NDArray[np.float64]


def market(seed: int = 0, share: float = 1.0, noise: float = 0.012, amount: float = 0.008) -> tuple[Values, Values]:
    """Return closes that fall by a share of their dividends, which are paid each quarter."""
    rng = np.random.default_rng(seed)
    shape = (N, len(SYMBOLS))
    days = (np.arange(N)[:, None] + rng.integers(0, 63, len(SYMBOLS))) % 63 == 62
    # Of the price before.
    paid = np.where(days, amount * rng.uniform(0.5, 1.5, shape), 0.0)
    growth = np.exp(rng.standard_t(4, shape) * noise / 2**0.5 + 0.0003) * (1.0 - share * paid)
    close = 50.0 * np.cumprod(growth, axis=0)
    before = np.vstack([close[:1], close[:-1]])
    return close, paid * before


def rows(close: Values, dividend: Values, names: str = "date,symbol,close,dividend") -> pd.DataFrame:
    n_symbols = close.shape[1]
    values = [np.repeat(DAYS, n_symbols), SYMBOLS[:n_symbols] * N, close.reshape(-1), dividend.reshape(-1)]
    return pd.DataFrame(dict(zip(names.split(","), values, strict=True)))


NAMES = ["date,symbol,close,dividend", "Date,Ticker,Close,Dividend"]


def read(frame: pd.DataFrame, door: str, folder: Path, **options: Any) -> oo.Dataset:
    if door == "frame":
        return oo.Dataset.from_frame(frame, **options)
    (folder / "bars.csv").write_text(frame.to_csv(index=False))
    return oo.Dataset.from_csv(folder / "bars.csv", **options)


@pytest.mark.parametrize("door", ["file", "frame"])
@pytest.mark.parametrize("names", NAMES)
def test_prices_that_hold_their_dividends_are_not_paid_them_again(names: str, door: str, tmp_path: Path) -> None:
    frame = rows(*market(share=0.0), names)
    for adjusted in (None, "split"):
        with pytest.raises(oo.OpenOutcryError, match="closes must fall by their dividends; received 7") as caught:
            read(frame, door, tmp_path, adjusted=adjusted)
        assert caught.value.slug == "value_invalid"
        assert 'hint: adjusted="total" if they hold them, `--adjusted total`' in str(caught.value)
    assert read(frame, door, tmp_path, adjusted="total").dividends is None


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("names", NAMES)
def test_prices_that_fall_by_their_dividends_are_read(names: str, share: float, tmp_path: Path) -> None:
    for seed in range(5):
        frame = rows(*market(seed, share), names)
        assert read(frame, "frame", tmp_path).dividends is not None
    with pytest.raises(oo.OpenOutcryError, match="prices that are adjusted for dividends must not fall by them") as e:
        read(frame, "file", tmp_path, adjusted="total")
    assert 'hint: adjusted="split", or "none" if they are as traded, `--adjusted split`' in str(e.value)


def test_dividends_on_other_days_are_refused(tmp_path: Path) -> None:
    close, dividend = market()
    late = np.vstack([np.zeros((3, dividend.shape[1])), dividend[:-3]])
    with pytest.raises(oo.OpenOutcryError, match="or write each dividend on its ex-date"):
        read(rows(close, late), "file", tmp_path)


def test_few_or_small_dividends_are_not_judged(tmp_path: Path) -> None:
    for seed in range(20):
        close, dividend = market(seed, share=0.0)
        assert read(rows(close[:, :1], dividend[:, :1]), "frame", tmp_path).dividends is not None
        close, dividend = market(seed, share=float(seed % 2), amount=0.0005)
        assert read(rows(close, dividend), "frame", tmp_path).dividends is not None
        assert read(rows(close, dividend), "frame", tmp_path, adjusted="total").dividends is None


def test_a_split_next_to_a_dividend_is_no_fall(tmp_path: Path) -> None:
    close, dividend = market()
    later = np.where(np.arange(N) < 700, 4.0, 1.0)[:, None]
    frame = rows(close * later, dividend * later)
    frame["split"] = np.repeat(np.where(np.arange(N) == 700, 4.0, 1.0), len(SYMBOLS))
    market_read = read(frame, "file", tmp_path)
    assert market_read.dividends is not None
    assert market_read.splits is not None


def test_one_special_dividend_decides_nothing(tmp_path: Path) -> None:
    close, _ = market(share=0.0)
    special = np.zeros_like(close)
    special[400, :3] = 0.2 * close[399, :3]
    assert read(rows(close, special), "file", tmp_path).dividends is not None


def test_a_fund_of_a_constant_value_pays_what_it_earns(tmp_path: Path) -> None:
    _, dividend = market()
    assert read(rows(np.ones_like(dividend), dividend / 50.0), "file", tmp_path).dividends is not None
