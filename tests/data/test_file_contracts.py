"""Test the notice of contracts that are joined along one symbol."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

N = 60
DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2024-01-01", periods=N)]
WALK = (4500.0 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.01, N)))).round(2)
# The next contract costs 2 % more, the one after it 1 %.
JOINED = (WALK * np.select([np.arange(N) < 20, np.arange(N) < 40], [1.0, 1.02], 1.03)).round(2)
CODES = np.select([np.arange(N) < 20, np.arange(N) < 40], ["ESH4", "ESM4"], "ESU4")


def rows(column: str, values: object, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"Date": DAYS, "Symbol": "ES", column: values, "Close": JOINED, **columns})


def joined(frame: pd.DataFrame) -> list[str]:
    found = [oo.Dataset.from_csv(frame.to_csv(index=False)), oo.Dataset.from_frame(frame)]
    texts = [[notice for notice in dataset.notices if "joined" in notice] for dataset in found]
    assert texts[0] == texts[1]
    return texts[0]


@pytest.mark.parametrize("column", ["contract", "Contract Month", "expiry", "Expiration_Date", "instrument_id"])
def test_contracts_along_one_symbol_are_a_notice(column: str) -> None:
    codes = pd.Series(CODES).map({"ESH4": 1, "ESM4": 2, "ESU4": 3}) if column == "instrument_id" else CODES
    (notice,) = joined(rows(column, codes))
    assert notice.startswith(f"the contracts in {column!r} are joined without adjustment: 2 changes, the largest from ")
    moves = np.abs(np.log(JOINED[[20, 40]] / JOINED[[19, 39]]))
    bar = [20, 40][int(np.argmax(moves))]
    assert f"from {JOINED[bar - 1]:g} to {JOINED[bar]:g} of ES on {DAYS[bar]}; hint: returns over a change" in notice


def test_rows_in_any_order_have_the_same_notice() -> None:
    frame = rows("contract", CODES)
    assert joined(frame.sample(frac=1.0, random_state=1)) == joined(frame)


def test_one_contract_of_each_symbol_has_no_notice() -> None:
    other = rows("contract", "NQH4").assign(Symbol="NQ")
    assert not joined(pd.concat([rows("contract", "ESH4"), other]))
    both = joined(pd.concat([rows("contract", CODES), other]))
    assert "2 changes, the largest from" in both[0]


def test_numbers_that_are_assigned_each_day_are_no_contracts() -> None:
    assert not joined(rows("instrument_id", np.arange(N)))


def test_contracts_that_are_read_as_symbols_have_no_notice() -> None:
    frame = rows("contract", CODES)
    dataset = oo.Dataset.from_csv(frame.to_csv(index=False), columns={"symbol": "contract"})
    assert not [notice for notice in dataset.notices if "joined" in notice]


def test_prices_of_several_currencies_are_a_notice() -> None:
    (notice,) = joined(rows("currency", np.where(np.arange(N) < 20, "GBP", "USD")))
    assert notice.startswith("prices of several currencies in 'currency' are joined as they are: 1 change, the largest")
    assert not joined(rows("currency", "USD"))
