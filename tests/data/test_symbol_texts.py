"""Test that symbols are the texts of their file, whatever they look like."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import openoutcry as oo

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04"]
# CUSIP and ISIN codes, tickers such as TrueCar and 3M, and codes of Hong Kong with and without leading zeros.
NUMBERS_OR_NULLS = [
    ["06738E10", "6738000000"], ["3M"], ["3M", "5K"], ["NA", "AAPL"], ["NULL", "NAN", "nan"], ["1E5", "100000"],
    ["0700", "700"], ["TRUE", "True"], ["1.5", "2.5"], ["700.0", "700"], ["1,000", "1000"],
]  # fmt: skip
FORMS = {
    "plain": (",", ".", ("date", "symbol", "close")),
    "vendor": (",", ".", ("Date", "Ticker", "Close")),
    "price": ("\t", ".", ("Date", "Symbol", "Price")),
    "german": (";", ",", ("Datum", "Symbol", "Schluss")),
}


def rows_of(symbols: list[str]) -> pd.DataFrame:
    """Return closes of symbols, a row for each date and symbol."""
    rows = [(day, symbol, 10.5 + row + place) for place, symbol in enumerate(symbols) for row, day in enumerate(DAYS)]
    return pd.DataFrame(rows, columns=["date", "symbol", "close"])


@pytest.mark.parametrize("symbols", NUMBERS_OR_NULLS, ids="-".join)
@pytest.mark.parametrize("form", FORMS)
def test_symbols_that_look_like_numbers_or_nulls_are_texts(form: str, symbols: list[str]) -> None:
    separator, mark, names = FORMS[form]
    for quoting in (0, 1):
        text = rows_of(symbols).to_csv(sep=separator, decimal=mark, header=names, index=False, quoting=quoting)
        assert sorted(oo.Dataset.from_csv(text).symbols) == sorted(symbols)


@pytest.mark.parametrize("symbols", NUMBERS_OR_NULLS, ids="-".join)
def test_symbols_of_frames_workbooks_and_json_are_texts(symbols: list[str], tmp_path: Path) -> None:
    frame = rows_of(symbols).rename(columns={"date": "Date", "symbol": "Ticker", "close": "Close"})
    frame.to_excel(tmp_path / "all.xlsx", index=False)
    frame.to_json(tmp_path / "all.json", orient="records")
    frame.to_parquet(tmp_path / "all.parquet")
    read = [oo.Dataset.from_csv(path) for path in sorted(tmp_path.iterdir())] + [oo.Dataset.from_frame(frame)]
    assert [sorted(each.symbols) for each in read] == 4 * [sorted(symbols)]


def test_tickers_that_excel_stores_as_truths_are_those_that_it_shows(tmp_path: Path) -> None:
    frame = rows_of(["TRUE"]).assign(symbol=True)
    frame.to_excel(tmp_path / "all.xlsx", index=False)
    assert oo.Dataset.from_csv(tmp_path / "all.xlsx").symbols == ("TRUE",)


@pytest.mark.parametrize("value", [True, 700.0])
def test_symbols_of_frames_that_lost_their_text_are_refused(value: object) -> None:
    frame = rows_of(["A"]).assign(symbol=value).rename(columns={"date": "Date", "symbol": "Ticker", "close": "Close"})
    with pytest.raises(
        oo.OpenOutcryError, match=r"`Ticker` at row 0 must be a text; received .*hint: read symbols as text"
    ):
        oo.Dataset.from_frame(frame)


@pytest.mark.parametrize("form", FORMS)
def test_a_row_without_a_symbol_is_refused_by_its_line(form: str) -> None:
    separator, mark, names = FORMS[form]
    text = rows_of(["A", "B"]).to_csv(sep=separator, decimal=mark, header=names, index=False)
    empty = text.replace(f"{separator}B{separator}", f"{separator}{separator}", 1)
    with pytest.raises(oo.OpenOutcryError, match="on line 5") as refused:
        oo.Dataset.from_csv(empty)
    assert refused.value.slug == "symbol_invalid"


def test_a_missing_symbol_of_a_frame_is_refused_by_its_row() -> None:
    frame = rows_of(["A", "B"]).rename(columns={"symbol": "Ticker", "close": "Close"})
    frame.loc[4, "Ticker"] = None
    with pytest.raises(oo.OpenOutcryError, match="`Ticker` at row 4 must be a text; received an empty"):
        oo.Dataset.from_frame(frame)


def test_symbols_that_differ_in_spaces_are_not_merged() -> None:
    text = "Date,Ticker,Close\n2024-01-02,A,10\n2024-01-03,A,11\n2024-01-04, A,12\n2024-01-05, A,13\n"
    with pytest.raises(oo.OpenOutcryError, match="must differ by more than spaces; received 'A' and ' A'"):
        oo.Dataset.from_csv(text)
    assert oo.Dataset.from_csv(text.replace(",A", ", A")).symbols == ("A",)


def test_columns_named_by_codes_are_symbols_in_every_form() -> None:
    plain = "Date,1301,7203\n2024-01-02,10,20\n2024-01-03,11,21\n2024-01-04,12,22\n"
    wanted = oo.Dataset.from_csv(plain)
    assert wanted.symbols == ("1301", "7203")
    assert oo.Dataset.from_csv(plain.replace(",", ";")).fingerprint == wanted.fingerprint
