"""Test texts with lines before the header: separators of Excel, disclaimers and metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo

DAYS = range(2, 6)
TWO_COLUMNS = "Date;Close\n" + "".join(f"2024-01-0{day};1{day},5\n" for day in DAYS)
MACROTRENDS = """Macrotrends Data Download


AAPL - Historical Price and Volume Data
Historical prices are adjusted for both dividends and splits.


Disclaimer and Terms of Use: Historical stock data is provided "as is" and solely for informational purposes, \
not for trading purposes or advice.
MacroTrends LLC expressly disclaims the accuracy, adequacy, or completeness of any data and shall not be liable \
for any errors, omissions or other defects in,
delays or interruptions in such data, or for any actions taken in reliance thereon.  Neither \
MacroTrends LLC nor any of our information providers will be liable
for any damages relating to your use of the data provided.


ATTRIBUTION: Proper attribution requires clear indication of the data source as "www.macrotrends.net".
A "dofollow" backlink to the originating page is also required if the data is displayed on a web page.



"""
EURONEXT = """"Historical Data"
"From 2024-01-12 to 2024-01-15"
NL0010273215
Date;Open;High;Low;Last;Close;"Number of Shares";"Number of Trades";Turnover;vwap
15/01/2024;675,5;680,1;670,2;679,9;679,9;512345;34567;345678901;675,55
12/01/2024;674,5;679,1;669,2;678,9;678,9;412345;24567;245678901;674,55
"""
BUNDESBANK = """"";BBEX3.D.USD.EUR.BB.AC.000;BBEX3.D.USD.EUR.BB.AC.000_FLAGS
"";"Euro-Referenzkurs der EZB / 1 EUR = ... USD / Vereinigte Staaten";
Einheit;USD (US-Dollar);
Dimension;Eins;
"Stand vom";"05.01.2024 15:59:10";
2024-01-01;.;Kein Wert vorhanden
2024-01-02;1,0956;
2024-01-03;1,0919;
2024-01-04;1,0953;
"""


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "\ufeffsep=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_separator_of_excel_is_no_header(first: str, end: str, tmp_path: Path) -> None:
    wanted = oo.Dataset.from_csv(TWO_COLUMNS, symbol="A")
    text = f"{first}\n{TWO_COLUMNS}".replace("\n", end)
    (tmp_path / "A.csv").write_bytes(text.encode())
    assert oo.Dataset.from_csv(text, symbol="A") == oo.Dataset.from_csv(tmp_path / "A.csv") == wanted


@pytest.mark.parametrize(
    "text", ["date,A\n2024-01-02,1.5\n2024-01-03,2.5\n", "date,symbol,close\n2024-01-02,A,1.5\n2024-01-03,A,2.5\n"]
)
def test_a_plain_file_may_state_its_separator(text: str) -> None:
    assert oo.Dataset.from_csv(f"sep=,\n{text}") == oo.Dataset.from_csv(text)


def test_a_refusal_below_a_separator_names_the_line_of_the_file() -> None:
    with pytest.raises(oo.OpenOutcryError, match="on line 4 must be a number"):
        oo.Dataset.from_csv("sep=;\n" + TWO_COLUMNS.replace("13,5", "x"), symbol="A")


@pytest.mark.parametrize(
    "text",
    [
        "Date,Open,Close\n2024-01-02,1.5,1.6\n2024-01-03,2.5,2.6\n",
        '"Date";"Close"\n"2024-01-02";"1,25"\n"2024-01-03";"1,35"\n',
        "date,symbol,close\n2024-01-02,A,1.5\n2024-01-03,A,2.5\n",
    ],
)
def test_lines_may_end_as_on_an_old_mac(text: str, tmp_path: Path) -> None:
    (tmp_path / "A.csv").write_bytes(text.replace("\n", "\r").encode())
    assert oo.Dataset.from_csv(tmp_path / "A.csv") == oo.Dataset.from_csv(
        text, symbol=None if "symbol" in text else "A"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("n_rows", [2, 400])
@pytest.mark.parametrize("names", ["date,open,high,low,close,volume", "date,value", "date,close"])
def test_a_disclaimer_is_no_header(end: str, n_rows: int, names: str, tmp_path: Path) -> None:
    days = np.datetime64("2000-01-03") + np.arange(n_rows)
    fields = ",{0},{0},{0},{0},900" if "open" in names else ",{0}"
    rows = [f"{day}{fields.format(10 + place / 8)}" for place, day in enumerate(days)]
    (tmp_path / "AAPL.csv").write_bytes((MACROTRENDS + "\n".join([names, *rows]) + "\n").replace("\n", end).encode())
    dataset = oo.Dataset.from_csv(tmp_path / "AAPL.csv", periods_per_year=252)
    assert (dataset.symbols, dataset.dates) == (("AAPL",), tuple(map(str, days)))
    np.testing.assert_array_equal(dataset.close[:, 0], 10 + np.arange(n_rows) / 8)


def test_lines_of_euronext_before_the_header_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "ASML.csv").write_text(EURONEXT)
    dataset = oo.Dataset.from_csv(tmp_path / "ASML.csv", periods_per_year=252)
    assert (dataset.symbols, dataset.dates) == (("ASML",), ("2024-01-12", "2024-01-15"))
    assert dataset.volume is not None
    np.testing.assert_array_equal(dataset.close[:, 0], [678.9, 679.9])
    np.testing.assert_array_equal(dataset.volume[:, 0], [412345, 512345])


@pytest.mark.parametrize("language", ["de", "en"])
def test_metadata_of_the_bundesbank_is_left_out(language: str) -> None:
    text = BUNDESBANK if language == "de" else BUNDESBANK.replace(",", ".").replace(";", ",")
    dataset = oo.Dataset.from_csv(text)
    assert dataset.symbols == ("BBEX3.D.USD.EUR.BB.AC.000",)
    assert dataset.dates == ("2024-01-02", "2024-01-03", "2024-01-04")
    np.testing.assert_array_equal(dataset.close[:, 0], [1.0956, 1.0919, 1.0953])
    assert "lines 2 to 5 hold metadata and are not read" in dataset.notices
    assert "left out: 1 date without a close" in dataset.notices


def test_a_padded_line_above_the_header_is_no_header() -> None:
    rows = "".join(f"2024-03-{day:02},{100 + day},1000\n" for day in range(4, 9))
    with pytest.raises(oo.OpenOutcryError):
        oo.Dataset.from_csv(f"Date,2024-01-01,\nDate,Close,Volume\n{rows}", symbol="A")
