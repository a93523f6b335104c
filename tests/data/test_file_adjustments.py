"""Test what the prices of a file are adjusted for: each split and each adjusted close is judged by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import openoutcry as oo

N, AT = 60, 30
DAYS = pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=N), name="Date")
WALK = 100.0 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.01, N)))
Prices = npt.NDArray[np.float64]
FREE = oo.CostModel(financing_bps=0, borrow_bps=0)


def as_traded(ratio: float, bar: int = AT, prices: Prices = WALK) -> Prices:
    """Return prices before a split of one bar."""
    return np.where(np.arange(N) < bar, prices * ratio, prices)


def long(symbol: str, close: Prices, **splits: float) -> str:
    """Return rows of a long file; `b30=2` is a split of 2 on bar 30."""
    ratios = {int(name[1:]): ratio for name, ratio in splits.items()}
    rows = (f"{day:%Y-%m-%d},{symbol},{price!r},{ratios.get(bar, 1)}" for bar, (day, price) in enumerate(
        zip(DAYS, close.tolist(), strict=True)))  # fmt: skip
    return "\n".join(row.replace("nan", "") for row in rows) + "\n"


HEADER = "date,symbol,close,split\n"
OTHER_HEADER = "Date,Ticker,Close,Split\n"


@pytest.mark.parametrize("header", [HEADER, OTHER_HEADER])
def test_one_symbol_does_not_vouch_for_the_split_of_another(header: str) -> None:
    shown = header + long("A", as_traded(2), b30=2) + long("B", as_traded(20), b30=20)
    dataset = oo.Dataset.from_csv(shown)
    assert oo.run_backtest(dataset, np.tile([1.0, 0.0], (N, 1)), costs=FREE).metrics["return"] == pytest.approx(
        WALK[-1] / WALK[0] - 1, abs=1e-3
    )
    hidden = header + long("A", WALK, b30=2) + long("B", as_traded(20), b30=20)
    with pytest.raises(oo.OpenOutcryError, match="20 of B on 2024-02-12, which the close shows, and 2 of A on 2024-02"):
        oo.Dataset.from_csv(hidden)
    with pytest.raises(oo.OpenOutcryError, match="the split 2 of A on 2024-02-12, where the close does not show it"):
        oo.Dataset.from_csv(header + long("A", WALK, b30=2))


def test_one_split_does_not_vouch_for_another_of_its_symbol() -> None:
    with pytest.raises(oo.OpenOutcryError, match="2 of A on 2024-02-26, which it does not show"):
        oo.Dataset.from_csv(HEADER + long("A", as_traded(7, 10), b10=7, b40=2))


def test_a_split_on_a_bar_without_a_close_is_judged_by_the_closes_around_it() -> None:
    traded, adjusted = as_traded(2), WALK.copy()
    traded[AT] = adjusted[AT] = np.nan
    assert oo.Dataset.from_csv(HEADER + long("A", traded, b30=2)).splits is not None
    with pytest.raises(oo.OpenOutcryError, match="a split must show in the price"):
        oo.Dataset.from_csv(HEADER + long("A", adjusted, b30=2))


@pytest.mark.parametrize("ratio", [1.01, 1.05, 1.09])
def test_a_split_within_the_noise_has_a_notice(ratio: float) -> None:
    dataset = oo.Dataset.from_csv(HEADER + long("A", WALK, b30=ratio))
    assert any(f"adjusted for the split {ratio} of A on 2024-02-12: it is applied" in text for text in dataset.notices)
    assert not oo.Dataset.from_csv(HEADER + long("A", WALK, b30=ratio), adjusted="split").splits


def test_small_splits_count_together() -> None:
    traded = WALK.copy()
    for bar in (10, 20, 30, 40):
        traded = as_traded(1.07, bar, traded)
    splits = {f"b{bar}": 1.07 for bar in (10, 20, 30, 40)}
    assert not [text for text in oo.Dataset.from_csv(HEADER + long("A", traded, **splits)).notices if "split" in text]
    with pytest.raises(oo.OpenOutcryError, match="a split must show in the price"):
        oo.Dataset.from_csv(HEADER + long("A", WALK, **splits))


def test_a_fall_on_the_day_of_a_split_hides_nothing() -> None:
    fallen = np.where(np.arange(N) < AT, WALK, WALK * 0.85)
    assert oo.Dataset.from_csv(HEADER + long("A", as_traded(2, AT, fallen), b30=2)).splits is not None
    with pytest.raises(oo.OpenOutcryError, match="a split must show in the price"):
        oo.Dataset.from_csv(HEADER + long("A", fallen, b30=2))


def test_a_ratio_of_old_per_new_shares_is_named() -> None:
    with pytest.raises(oo.OpenOutcryError, match="the ratio as new shares per old share: 4"):
        oo.Dataset.from_csv(HEADER + long("A", as_traded(4), b30=0.25))


def test_stated_prices_that_hold_a_split_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="a split must not show in adjusted prices"):
        oo.Dataset.from_csv(HEADER + long("A", as_traded(2), b30=2), adjusted="split")


@pytest.mark.parametrize("ratio", [2.0, 4.0, 0.1])
def test_prices_that_are_said_to_be_as_traded_show_their_splits(ratio: float) -> None:
    hidden = HEADER + long("A", WALK, b30=ratio)
    with pytest.raises(oo.OpenOutcryError, match="must show in the price") as caught:
        oo.Dataset.from_csv(hidden, adjusted="none")
    assert 'hint: adjusted="split" if they are adjusted already' in str(caught.value)
    assert oo.Dataset.from_csv(hidden, adjusted="split").splits is None
    shown = HEADER + long("A", as_traded(ratio), b30=ratio)
    with pytest.raises(oo.OpenOutcryError, match='hint: adjusted="none" if they are as traded'):
        oo.Dataset.from_csv(shown, adjusted="split")
    assert oo.Dataset.from_csv(shown, adjusted="none").splits is not None


def test_stated_prices_decide_a_split_that_is_too_small_to_be_judged() -> None:
    dataset = oo.Dataset.from_csv(HEADER + long("A", WALK, b30=1.05), adjusted="none")
    assert dataset.splits is not None
    assert not [text for text in dataset.notices if "split" in text]


@pytest.mark.parametrize("adjusted", ["none", "split", "total"])
def test_no_statement_makes_one_way_of_two(adjusted: str) -> None:
    mixed = HEADER + long("A", as_traded(7, 10), b10=7, b40=2)
    with pytest.raises(oo.OpenOutcryError, match="must be adjusted in one way") as caught:
        oo.Dataset.from_csv(mixed, adjusted=adjusted)
    assert 'hint: leave out the splits that the prices hold already, and state adjusted="none"' in str(caught.value)
    assert oo.Dataset.from_csv(HEADER + long("A", as_traded(7, 10), b10=7), adjusted="none").splits is not None


def test_a_history_of_yfinance_is_not_as_traded() -> None:
    frame = history()
    with pytest.raises(oo.OpenOutcryError, match="the split 4 of A on 2024-02-12, where the close does not"):
        oo.Dataset.from_frame(frame, symbol="A", adjusted="none")
    with pytest.raises(oo.OpenOutcryError, match="the split 4 of A on 2024-02-12, where the close does not"):
        oo.Dataset.from_csv(frame.to_csv(), symbol="A", adjusted="none")
    assert oo.Dataset.from_frame(frame, symbol="A", adjusted="split").splits is None


def test_arrays_with_a_split_that_does_not_show_have_a_notice() -> None:
    splits = np.ones((N, 1))
    splits[AT] = 2.0
    dates = [f"{day:%Y-%m-%d}" for day in DAYS]
    hidden = oo.Dataset.from_arrays(dates, ["A"], WALK[:, None], splits=splits)
    assert any("the split 2 of A on 2024-02-12 does not show in the close" in text for text in hidden.notices)
    shown = oo.Dataset.from_arrays(dates, ["A"], as_traded(2)[:, None], splits=splits)
    assert not [text for text in shown.notices if "split" in text]


def yahoo(close: Prices, adj_close: Prices, **columns: Prices) -> str:
    return pd.DataFrame({"Close": close, "Adj Close": adj_close, **columns}, index=DAYS).to_csv()


@pytest.mark.parametrize("ratio", [4.0, 1.5, 4 / 3, 1.25, 1.35, 1.2, 1.1, 0.5, 0.1])
def test_a_split_that_only_the_adjusted_close_leaves_out_is_refused(ratio: float) -> None:
    with pytest.raises(oo.OpenOutcryError, match="a split must be in a column"):
        oo.Dataset.from_csv(yahoo(as_traded(ratio), WALK), symbol="A")
    dataset = oo.Dataset.from_csv(yahoo(as_traded(ratio), WALK), symbol="A", adjusted="total")
    np.testing.assert_array_equal(dataset.close[:, 0], WALK)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.03, 0.08, 0.12])
def test_a_dividend_is_no_split(share: float) -> None:
    adjusted = np.where(np.arange(N) < AT, WALK * (1.0 - share), WALK)
    assert oo.Dataset.from_csv(yahoo(WALK, adjusted), symbol="A").n_bars == N
    assert oo.Dataset.from_csv(yahoo(as_traded(1.0 / (1.0 - share)), WALK), symbol="A").n_bars == N


def test_a_large_dividend_of_the_file_is_no_split() -> None:
    close = as_traded(1.25)
    paid = np.where(np.arange(N) == AT, 0.2 * close[AT - 1], 0.0)
    assert oo.Dataset.from_csv(yahoo(close, WALK, Dividend=paid), symbol="A").dividends is not None


def history(**columns: Prices) -> pd.DataFrame:
    """Return a frame as `Ticker.history` of yfinance returns it."""
    names = {"Open": WALK, "High": WALK * 1.01, "Low": WALK * 0.99, "Close": WALK, "Volume": WALK * 0 + 1e6}
    split, paid = np.where(np.arange(N) == AT, 4.0, 0.0), np.where(np.arange(N) == 10, 1.5, 0.0)
    frame = pd.DataFrame({**names, "Dividends": paid, "Stock Splits": split, **columns}, index=DAYS)
    return frame.tz_localize("America/New_York")


def test_a_history_of_yfinance_is_adjusted_for_dividends_too() -> None:
    for columns in ({}, {"Capital Gains": WALK * 0}):
        frame = history(**columns)
        for dataset in (oo.Dataset.from_frame(frame, symbol="A"), oo.Dataset.from_csv(frame.to_csv(), symbol="A")):
            assert dataset.dividends is None
            assert dataset.splits is None
            assert any('hint: adjusted="split" if they are not adjusted for dividends' in n for n in dataset.notices)
    stated = oo.Dataset.from_frame(history(), symbol="A", adjusted="split")
    assert stated.dividends is not None
    assert stated.splits is None
    assert not [text for text in stated.notices if "Stock Splits" in text]


def test_a_history_with_an_adjusted_close_pays_its_dividends() -> None:
    factor = np.where(np.arange(N) < 10, 1.0 - 1.5 / WALK[9], 1.0)
    dataset = oo.Dataset.from_frame(history(**{"Adj Close": WALK * factor}), symbol="A")
    assert dataset.dividends is not None
    assert not [text for text in dataset.notices if "Stock Splits" in text]


def test_prices_that_are_stated_as_traded_must_show_their_splits() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"the split 4 of A on .* where the close does not show it"):
        oo.Dataset.from_frame(history(), symbol="A", adjusted="none")
    frame = history(**{name: as_traded(4.0) for name in ("Open", "High", "Low", "Close")})
    assert oo.Dataset.from_frame(frame, symbol="A", adjusted="none").splits is not None


@pytest.mark.parametrize(("factor", "is_unpaid"), [(1.0, False), (0.97, True)])
def test_dividends_that_only_the_adjusted_close_holds_are_a_notice(factor: float, is_unpaid: bool) -> None:
    text = yahoo(WALK, WALK * np.where(np.arange(N) < AT, factor, 1.0))
    dataset = oo.Dataset.from_csv(text, symbol="A")
    assert any("dividends that are not paid" in notice for notice in dataset.notices) == is_unpaid
    total = oo.Dataset.from_csv(text, symbol="A", adjusted="total")
    assert total.close[0, 0] == pytest.approx(WALK[0] * factor)
    assert not any("not paid" in notice for notice in total.notices)


@pytest.mark.parametrize("adjusted", [None, "none", "split"])
@pytest.mark.parametrize("ratio", [4.0, 1.5, 0.1])
def test_no_statement_hides_a_split_that_only_the_adjusted_close_leaves_out(ratio: float, adjusted: str | None) -> None:
    with pytest.raises(oo.OpenOutcryError, match="a split must be in a column; received the close of A") as caught:
        oo.Dataset.from_csv(yahoo(as_traded(ratio), WALK), symbol="A", adjusted=adjusted)
    assert 'hint: adjusted="total"' in str(caught.value)


@pytest.mark.parametrize("adjusted", ["none", "split"])
def test_dividends_that_only_the_adjusted_close_holds_are_a_notice_of_stated_prices_too(adjusted: str) -> None:
    text = yahoo(WALK, WALK * np.where(np.arange(N) < AT, 0.97, 1.0))
    dataset = oo.Dataset.from_csv(text, symbol="A", adjusted=adjusted)
    assert any("dividends that are not paid" in notice for notice in dataset.notices)


@pytest.mark.parametrize("adjusted", ["split", "total"])
@pytest.mark.parametrize("ratio", [2.0, 4.0, 10.0, 0.1])
def test_prices_that_are_stated_as_adjusted_and_move_as_by_a_split_have_a_notice(ratio: float, adjusted: str) -> None:
    text = pd.DataFrame({"Close": as_traded(ratio)}, index=DAYS).to_csv()
    notices = oo.Dataset.from_csv(text, symbol="A", adjusted=adjusted).notices
    move = as_traded(ratio)[AT] / as_traded(ratio)[AT - 1]
    moved = f"stated as adjusted move as by a split: A on 2024-02-12 by a factor of {move:.3g}"
    assert any(moved in notice for notice in notices)
    right = pd.DataFrame({"Close": WALK}, index=DAYS).to_csv()
    assert not [
        n for n in oo.Dataset.from_csv(right, symbol="A", adjusted=adjusted).notices if "stated as adjusted" in n
    ]
    fallen = pd.DataFrame({"Close": np.where(np.arange(N) < AT, WALK, WALK * 0.4)}, index=DAYS).to_csv()
    assert not [
        n for n in oo.Dataset.from_csv(fallen, symbol="A", adjusted=adjusted).notices if "stated as adjusted" in n
    ]
