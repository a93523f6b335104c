"""Bars on which a symbol can be traded, held to the fills of the engine."""

from __future__ import annotations

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.data.fill_bars import FillBars, fill_bars, fill_warnings

DAYS = [f"2024-03-{day:02d}" for day in range(1, 11)]
RISING = np.linspace(100.0, 109.0, 10)[:, None]


def market(**tables: object) -> oo.Dataset:
    return oo.Dataset.from_arrays(DAYS, ["A"], RISING, **tables)  # type: ignore[arg-type]


@pytest.mark.parametrize("has_opens", [True, False], ids=["opens", "close to close"])
def test_the_bars_that_fill_are_those_of_the_engine(has_opens: bool) -> None:
    random = np.random.default_rng(5)
    close = np.where(random.random((60, 4)) < 0.8, 100.0 + random.random((60, 4)), np.nan)
    close[0] = 100.0
    opens = np.where(random.random((60, 4)) < 0.9, close, np.nan)
    tables = {"volume": random.integers(0, 4, (60, 4)) * 1e9, "tradable": random.random((60, 4)) < 0.9}
    dates = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    data = oo.Dataset.from_arrays(dates, list("ABCD"), close, open=opens if has_opens else None, **tables)
    # An order on every bar: the weight changes sign.
    weights = np.where(np.arange(60) % 2, 0.2, -0.2)[:, None] * np.ones(4)
    run = oo.run_backtest(data, weights, window=(0, 60), costs=oo.CostModel.zero())
    filled = [int((run.trades["symbol"] == symbol).sum()) for symbol in data.symbols]
    assert [each.n_fills for each in fill_bars(data).values()] == filled


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"volume": np.zeros((10, 1))}, "its volume is 0 on every bar"),
        ({"open": np.where(np.arange(10)[:, None] == 0, 100.0, np.nan)}, "no bar after the first close has a price"),
        ({"tradable": np.zeros((10, 1), dtype=np.bool_)}, "trading is not allowed on any bar"),
    ],
    ids=["volume", "opens", "mask"],
)
def test_a_symbol_that_never_fills_is_said_with_its_reason(tables: dict[str, object], why: str) -> None:
    (sentence,) = fill_warnings(fill_bars(market(**tables)))
    assert sentence.startswith(f"A can never fill: {why}")


def test_only_the_bars_of_a_range_are_read() -> None:
    volume = np.ones((10, 1))
    volume[:6] = 0.0
    data = market(volume=volume)
    assert fill_bars(data)["A"] == FillBars("A", 9, 4, "volume", DAYS[1])
    assert fill_bars(data, 2, 6)["A"].n_fills == 0


def test_a_market_of_full_bars_has_no_warning() -> None:
    assert fill_warnings(fill_bars(market(open=RISING))) == []
    assert fill_warnings(fill_bars(oo.data.load("ecb-fx", "all"))) == []


def test_many_symbols_with_one_cause_are_one_sentence() -> None:
    close = np.tile(RISING, 6)
    close[3:6, 1:] = np.nan
    data = oo.Dataset.from_arrays(DAYS, list("ABCDEF"), close, open=close)
    (sentence,) = fill_warnings(fill_bars(data), hint="say more")
    assert sentence.startswith("B, C, D and 2 other symbols fill on only 67% of the bars (no close")
    assert sentence.endswith("; hint: say more")


def test_a_symbol_that_never_fills_for_two_causes_names_both() -> None:
    """Trading is allowed on each bar that has no open, so the mask alone is not the cause."""
    is_odd = np.arange(10)[:, None] % 2 == 1
    data = market(open=np.where(is_odd, 100.0, np.nan), tradable=~is_odd)
    (sentence,) = fill_warnings(fill_bars(data))
    assert sentence == "A can never fill: every bar has no price to fill at or does not allow trading"
    zero = market(volume=np.where(is_odd, 0.0, 5.0), tradable=is_odd)
    (sentence,) = fill_warnings(fill_bars(zero))
    assert sentence == "A can never fill: every bar does not allow trading or has volume 0"


def test_the_example_of_a_cause_is_a_bar_with_that_cause() -> None:
    volume, tradable = np.ones((10, 1)), np.ones((10, 1), dtype=np.bool_)
    tradable[2], volume[5:8] = False, 0.0
    (sentence,) = fill_warnings(fill_bars(market(volume=volume, tradable=tradable)))
    assert sentence.startswith(f"A fills on only 56% of the bars (mostly volume 0, such as on {DAYS[5]})")
    tradable[2] = True
    (sentence,) = fill_warnings(fill_bars(market(volume=volume, tradable=tradable)))
    assert sentence.startswith(f"A fills on only 67% of the bars (volume 0, such as on {DAYS[5]})")
