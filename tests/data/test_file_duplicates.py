"""Test rows of one date: a column that is not read can tell several instruments apart."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import openoutcry as oo

DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2024-01-01", periods=6)]


def several(column: str, *values: Any, symbol: str = "ABC") -> pd.DataFrame:
    """Return the same dates of a symbol for each value of a column."""
    parts = [
        pd.DataFrame({"Date": DAYS, "Symbol": symbol, column: value, "Close": [10.0 * (k + 1) + n for n in range(6)]})
        for k, value in enumerate(values)
    ]
    return pd.concat(parts)


def refused(rows: pd.DataFrame, **options: Any) -> str:
    messages = []
    for source in (rows.to_csv(index=False), rows):
        door = oo.Dataset.from_csv if isinstance(source, str) else oo.Dataset.from_frame
        with pytest.raises(oo.OpenOutcryError, match="a date must occur once") as caught:
            door(source, **options)
        assert caught.value.slug == "duplicate_row"
        messages.append(str(caught.value))
    assert messages[0].partition(" on ")[0] == messages[1].partition(" on ")[0]
    return messages[0]


INSTRUMENTS = {
    "exchange": ("NSE", "BSE"),
    "SERIES": ("EQ", "BE"),
    "expiry": ("2024-03-15", "2024-06-21"),
    "Contract Month": ("H4", "M4"),
    "strike": (100.0, 105.0),
    "interval": ("1d", "1w"),
    "is_adjusted": (True, False),
    "Currency": ("GBP", "USD"),
    "publisher_id": (1, 2),
    "BOARDID": ("TQBR", "SMAL"),
    "tf": ("1d", "4h"),
    "quote": ("USDT", "USD"),
}


@pytest.mark.parametrize("duplicates", [None, "last"])
@pytest.mark.parametrize("column", INSTRUMENTS)
def test_several_instruments_of_a_date_are_refused_with_the_column_that_tells_them_apart(
    column: str, duplicates: str | None
) -> None:
    first, second = INSTRUMENTS[column]
    message = refused(several(column, first, second), duplicates=duplicates)
    assert f'2024-01-01 of "ABC" twice, on lines 2 and 8, with {column!r} {str(first)!r} and {str(second)!r}' in message
    assert f'columns={{"symbol": "{column}"}}, `--column symbol={column}` if each {column!r} is a symbol' in message
    value = second if isinstance(second, int | float) and not isinstance(second, bool) else repr(str(second))
    assert f"frame[frame[{column!r}] == {value}] in pandas" in message
    assert f"such as ABC-{second}" in message


def test_the_column_that_is_stated_as_the_symbol_reads_them() -> None:
    rows = several("contract", "ESH4", "ESM4")
    dataset = oo.Dataset.from_csv(rows.to_csv(index=False), columns={"symbol": "contract"})
    assert dataset.symbols == ("ESH4", "ESM4")


def test_values_that_several_symbols_share_are_no_symbols() -> None:
    rows = pd.concat([several("exchange", "NSE", "BSE", symbol=symbol) for symbol in ("ABC", "XYZ")])
    message = refused(rows, duplicates="last")
    assert "columns=" not in message
    assert "hint: keep the rows of one series" in message


def test_all_columns_of_an_option_are_named() -> None:
    parts = [several("strike", 100.0, 105.0).assign(expiry=expiry) for expiry in ("2024-03-15", "2024-06-21")]
    message = refused(pd.concat(parts), duplicates="last")
    assert "with 'strike' '100.0' and '105.0', with 'expiry' '2024-03-15' and '2024-06-21'" in message
    assert "such as ABC-105.0-2024-03-15" in message


def test_one_symbol_without_a_column_of_symbols_is_refused_too() -> None:
    rows = several("interval", "1d", "1w").drop(columns="Symbol")
    assert "with 'interval' '1d' and '1w'" in refused(rows, symbol="A", duplicates="last")


def test_a_later_version_of_a_row_is_the_last_one() -> None:
    rows = several("version", 1, 2)
    assert "with 'version' '1' and '2'; hint: duplicates=\"last\"" in refused(rows)
    for source in (rows.to_csv(index=False), rows):
        door = oo.Dataset.from_csv if isinstance(source, str) else oo.Dataset.from_frame
        dataset = door(source, duplicates="last")
        assert dataset.close[0, 0] == 20.0
        left_out = "left out: 6 rows with a date that occurs again further down, with 'version' '1' and '2'"
        assert left_out in dataset.notices


def test_rows_that_no_column_tells_apart_are_read_as_before() -> None:
    rows = several("exchange", "NSE", "NSE").assign(amount=range(12))
    assert refused(rows).count("with ") == 0
    assert oo.Dataset.from_csv(rows.to_csv(index=False), duplicates="last").close[0, 0] == 20.0
