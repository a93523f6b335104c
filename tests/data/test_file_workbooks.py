"""Test Excel workbooks: titles above the table, ragged rows, several sheets, and damaged files."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook

import openoutcry as oo

DAYS = [dt.datetime(2024, 1, day) for day in (2, 3, 4, 5, 8, 9, 10, 11)]
CLOSES = [10.5, 11.25, 11.0, 12.75, 12.5, 13.0, 13.25, 13.5]
HEADER = ["Exchange Date", "Close", "Net", "Open", "Volume"]


def saved(path: Path, *sheets: list[list[Any]]) -> Path:
    """Write a workbook with a sheet per list of rows."""
    book = Workbook()
    for place, rows in enumerate(sheets):
        sheet = book.active if place == 0 else book.create_sheet()
        assert sheet is not None
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows(days: list[Any] = DAYS, closes: list[Any] = CLOSES) -> list[list[Any]]:
    return [[day, close, None, 10, 900] for day, close in zip(days, closes, strict=True)]


@pytest.mark.parametrize(
    "sheet",
    [
        [HEADER, *rows()],
        [["QXA.O | Price History"], [], ["Currency", "USD"], [], HEADER, *rows()],
        [[None, None, *HEADER], *([None, None, *row] for row in rows())],
        [HEADER, *rows([day.date() for day in DAYS], [str(close) for close in CLOSES])],
        [HEADER, *rows([f"{day:%d-%b-%Y}" for day in DAYS], [f"${close}" for close in CLOSES])],
        [HEADER, *rows(), [], ["Source: a vendor"]],
    ],
    ids=["plain", "titles", "margins", "numbers as text", "dates as text", "footer"],
)
def test_a_sheet_is_read(sheet: list[list[Any]], tmp_path: Path) -> None:
    dataset = oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", sheet))
    assert (dataset.symbols, dataset.dates[0], dataset.dates[-1]) == (("QXA",), "2024-01-02", "2024-01-11")
    np.testing.assert_array_equal(dataset.close[:, 0], CLOSES)


def test_times_of_day_are_kept(tmp_path: Path) -> None:
    times = [dt.datetime(2024, 1, 2, hour, 30) for hour in range(9, 17)]
    dataset = oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", [HEADER, *rows(times)]), 2016)
    assert dataset.dates[:2] == ("2024-01-02T09:30:00", "2024-01-02T10:30:00")


def test_rows_that_end_early_have_missing_values(tmp_path: Path) -> None:
    sheet = [["Date", "AA", "BB"], *([day, close, close] for day, close in zip(DAYS, CLOSES, strict=True))]
    sheet[3] = [DAYS[2], 11.0]
    dataset = oo.Dataset.from_csv(saved(tmp_path / "wide.xlsx", sheet))
    assert np.isnan(dataset.close[2, 1])


def test_sheets_without_cells_are_left_out_and_others_refused(tmp_path: Path) -> None:
    dataset = oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", [HEADER, *rows()], []))
    assert "sheets without cells are left out; 'Sheet' is read" in dataset.notices
    with pytest.raises(oo.OpenOutcryError, match="one sheet with cells is required; received Sheet, Sheet1"):
        oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", [HEADER, *rows()], [["a note", 1]]))
    with pytest.raises(oo.OpenOutcryError, match="received no cell"):
        oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", []))


def test_a_date_that_is_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="a number of five digits is a date of a spreadsheet"):
        oo.Dataset.from_csv(saved(tmp_path / "QXA.xlsx", [HEADER, *rows(list(range(45293, 45301)))]))


@pytest.mark.parametrize("place", [30, 300, 2000, -200, -30])
def test_a_damaged_workbook_is_refused_or_read_as_it_was(place: int, tmp_path: Path) -> None:
    path = saved(tmp_path / "QXA.xlsx", [HEADER, *rows()])
    straight = oo.Dataset.from_csv(path)
    content = bytearray(path.read_bytes())
    for damaged in (content[:place], content[:place] + b"\x00\xff\x00\xff" + content[place + 4 :]):
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(oo.OpenOutcryError):
            assert oo.Dataset.from_csv(path) == straight


def test_a_number_of_three_decimals_shows_its_mark(tmp_path: Path) -> None:
    days = [dt.date(2024, 1, day) for day in range(2, 6)]
    sheet = [["Datum", "Schluss"], *([day, close] for day, close in zip(days, [49, 50.092, 48, 98.316], strict=True))]
    market = oo.Dataset.from_csv(saved(tmp_path / "a.xlsx", sheet), symbol="A")
    np.testing.assert_array_equal(market.close[:, 0], [49.0, 50.092, 48.0, 98.316])
