"""Test that volumes in lots of 100 shares become shares, and that the traded money decides what the names do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

FORMS = Path(__file__).parent / "vendor_forms"
N_BARS = 20


def bars(*, factor: float = 1.0, lot: float = 100.0) -> pd.DataFrame:
    """Return bars with a volume in lots, the traded money, and prices that are adjusted by a factor."""
    close = 10.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 0.02, N_BARS)))
    shares = 1000.0 * np.random.default_rng(1).integers(100, 900, N_BARS)
    frame = pd.DataFrame({"open": close, "close": close, "high": 1.01 * close, "low": 0.99 * close}) * factor
    days = pd.bdate_range("2024-01-02", periods=N_BARS).strftime("%Y-%m-%d")
    return frame.round(3).assign(date=days, volume=shares / lot, money=shares * close)


def tushare(frame: pd.DataFrame, code: str = "000001.SZ", unit: float = 1000.0) -> str:
    named = frame.assign(ts_code=code, trade_date=frame.date.str.replace("-", ""), amount=frame.money / unit)
    columns = ["ts_code", "trade_date", "open", "high", "low", "close", "vol", "amount"]
    return str(named.rename(columns={"volume": "vol"})[columns].to_csv(index=False))


def akshare(frame: pd.DataFrame, *left_out: str) -> str:
    names = {"date": "日期", "open": "开盘", "close": "收盘", "high": "最高", "low": "最低", "volume": "成交量"}
    named = frame.rename(columns=names | {"money": "成交额"}).assign(换手率=0.4)
    return str(named.drop(columns=list(left_out)).to_csv(index=False))


def volume(content: str, **options: Any) -> tuple[list[float], str]:
    """Return the volumes of a text, and the notices."""
    found = oo.Dataset.from_csv(content, 252.0, **options)
    assert found.volume is not None
    return found.volume[:, 0].tolist(), " ".join(found.notices)


SHARES = bars().volume.mul(100.0).tolist()
LOTS = bars().volume.tolist()


def test_lots_of_tushare_and_akshare_are_shares() -> None:
    for content, options in ((tushare(bars()), {}), (akshare(bars()), {"symbol": "600001"})):
        found, notices = volume(content, **options)
        assert found == SHARES
        assert "is in lots of 100 shares (手), and is multiplied by 100: amount / volume confirms it" in notices
    frame = pd.read_csv(FORMS / "tushare.csv", index_col=0, dtype={"trade_date": str})
    assert oo.Dataset.from_frame(frame) == oo.Dataset.from_csv(FORMS / "tushare.csv")


def test_a_volume_in_shares_stays_one_under_the_names_of_a_form_in_lots() -> None:
    shares = bars(lot=1.0)
    for content, options in ((tushare(shares), {}), (akshare(shares), {"symbol": "00700"})):
        found, notices = volume(content, **options)
        assert found == SHARES
        assert "is read in shares, and not in lots of 100" in notices


@pytest.mark.parametrize("factor", [0.4, 130.0])
def test_the_form_decides_where_adjusted_prices_do_not_show_the_unit(factor: float) -> None:
    for content, options in ((tushare(bars(factor=factor)), {}), (akshare(bars(factor=factor)), {"symbol": "600001"})):
        found, notices = volume(content, **options)
        assert found == SHARES
        assert "documents, and is multiplied by 100; amount / volume does not show it, as with adjusted" in notices


def test_other_markets_with_the_same_names_are_read_as_they_are() -> None:
    assert volume(tushare(bars(lot=1.0), "00700.HK", 1.0)) == (SHARES, volume(tushare(bars(lot=1.0), "AAPL", 1.0))[1])
    # Hong Kong has the columns of akshare, and no lots in them.
    found, notices = volume(akshare(bars(factor=0.4, lot=1.0)), symbol="00700")
    assert found == SHARES
    assert "'成交量' can be in lots of 100 shares (手), and is read as shares; amount / volume does not" in notices


def test_a_chinese_volume_without_the_traded_money_has_an_unknown_unit() -> None:
    found, notices = volume(akshare(bars(), "成交额", "换手率"), symbol="600001")
    assert found == LOTS
    assert "'成交量' can be in lots of 100 shares (手), and is read as shares" in notices
    assert volume(akshare(bars(), "换手率"), symbol="600001")[0] == SHARES


def test_prices_without_a_range_confirm_the_lots_by_the_close() -> None:
    found, notices = volume(akshare(bars(), "开盘", "最高", "最低"), symbol="data")
    assert found == SHARES
    assert "amount / volume confirms it" in notices
