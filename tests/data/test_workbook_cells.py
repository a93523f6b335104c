"""Test that the cells of workbooks are those that openpyxl reads, and what a damaged sheet is refused for."""

from __future__ import annotations

import datetime as dt
import io
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from large_packed import packed, xlsx_bars
from openpyxl import Workbook, load_workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from test_file_attacks import sheet_of

import openoutcry as oo
from openoutcry.data.readers import sheet_table, text_table, workbook
from openoutcry.data.readers.text_table import TextTable

FORMATS = (
    "General", "0.00", "yyyy-mm-dd", "d-mmm-yy h:mm", "[Red]0.00;[Blue]-0.00", '0.00" days"', "[h]:mm:ss", "mm:ss.0",
    "[$-409]d/m/yyyy;@", "0_d", "[$USD] 0.0", "h:mm AM/PM", "@",
)  # fmt: skip
CELLS: tuple[Callable[[random.Random], Any], ...] = (
    lambda draw: draw.randrange(-9, 60_000), lambda draw: draw.randrange(10**20), lambda draw: draw.uniform(0, 60_000),
    lambda draw: round(draw.uniform(0, 999), draw.randrange(5)),
    lambda draw: draw.random() * 10.0 ** draw.choice((-9, -5, -4, -1, 4, 9, 17, 24)),
    lambda draw: draw.random() < 0.5, lambda draw: draw.choice(("a & b", "<c>", " d ", "é\n", "  ", "1,5", "#N/A")),
    lambda draw: dt.datetime(1990, 1, 1) + dt.timedelta(seconds=draw.randrange(10**9)),
    lambda draw: dt.date(1990, 1, 1) + dt.timedelta(draw.randrange(10**4)),
    lambda draw: dt.time(draw.randrange(24), draw.randrange(60)), lambda draw: dt.timedelta(hours=draw.uniform(0, 99)),
    lambda _: None,
)  # fmt: skip


def drawn(seed: int) -> bytes:
    """Return a workbook of any cells in any formats."""
    draw = random.Random(seed)
    book = Workbook()
    book.epoch = CALENDAR_MAC_1904 if seed % 3 == 0 else book.epoch
    sheet = book.active
    assert sheet is not None
    for row in draw.sample(range(1, 40), 15):
        for column in draw.sample(range(1, 15), 8):
            cell = sheet.cell(row, column, draw.choice(CELLS)(draw))
            # Negative dates are an error of openpyxl.
            if draw.random() < 0.3 and not (isinstance(cell.value, (int, float)) and not 0 <= cell.value < 60_000):
                cell.number_format = draw.choice(FORMATS)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def shown(cell: Any) -> str:
    """Return a cell of openpyxl as text."""
    if cell is None or isinstance(cell, bool):
        return "" if cell is None else str(cell).upper()
    text = str(cell.isoformat() if hasattr(cell, "isoformat") else cell).strip()
    return f"{text}0" if isinstance(cell, float) and text_table.re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3}", text) else text


def grid_of(content: bytes) -> list[tuple[int, list[str]]]:
    """Return the rows that have cells, as openpyxl reads them."""
    sheet = load_workbook(io.BytesIO(content), data_only=True).active
    assert sheet is not None
    rows = [(line, list(map(shown, cells))) for line, cells in enumerate(sheet.iter_rows(values_only=True), 1)]
    return [(line, row) for line, row in rows if any(row)]


def outcome(read: Callable[[], TextTable]) -> Any:
    """Return all that a table holds, or the reason why it is refused."""
    try:
        table = read()
    except oo.OpenOutcryError as error:
        return str(error)
    return table.names, list(map(list, table.rows)), list(table.lines), table.preamble, table.notes


@pytest.mark.parametrize("seed", range(count(300, 40)))
def test_the_cells_are_those_of_openpyxl(seed: int) -> None:
    content = drawn(seed)
    grid = grid_of(content)
    assert outcome(lambda: workbook.table_of(content, "a.xlsx")) == outcome(lambda: text_table.of_grid(grid))


@pytest.mark.parametrize("seed", range(count(300, 40)))
def test_a_table_by_column_is_the_table_by_row(seed: int) -> None:
    draw = random.Random(seed)
    width = draw.randrange(2, 5)
    rows: list[list[Any]] = [["a title"][: draw.randrange(2)] for _ in range(draw.randrange(3))]
    rows.append(["Date", *(f"S{place}" for place in range(1, width - draw.randrange(2)))])
    for day in range(draw.randrange(1, 6)):
        cells = [draw.choice((1.5, 2, None, "x" if draw.random() < 0.2 else 3)) for _ in range(width - 1)]
        rows.append([dt.date(2024, 1, 2 + day), *cells])
    rows += [draw.choice(([], ["Source: a vendor"], ["a", "b"])) for _ in range(draw.randrange(3))]
    book = Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    book.save(buffer := io.BytesIO())
    content = buffer.getvalue()
    found = outcome(lambda: workbook.table_of(content, "a.xlsx"))
    assert found == outcome(lambda: text_table.of_grid(grid_of(content)))


def test_number_cells_are_numbers_and_others_texts() -> None:
    rows = ('<row><c t="str"><v>Date</v></c><c t="str"><v>A</v></c><c t="str"><v>B</v></c></row>'
            '<row><c t="str"><v>2024-01-02</v></c><c><v>5</v></c><c t="str"><v>5</v></c></row>'
            '<row><c t="str"><v>2024-01-03</v></c><c r="C3"><v>6</v></c></row>')  # fmt: skip
    table = workbook.table_of(sheet_of(rows), "a.xlsx")
    assert isinstance(table, sheet_table.SheetTable)
    numbers = [table.numbers(place) for place in range(3)]
    assert (numbers[0], numbers[2]) == (None, None)
    np.testing.assert_array_equal(numbers[1], [5.0, np.nan])
    assert [list(table.column(place)) for place in (1, 2)] == [["5", ""], ["5", "6"]]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ('<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>', "rows in ascending order are required"),
        ('<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>', "cells of a row in ascending order"),
        ("<row><c><v>1,5</v></c></row>", "numbers in cells of numbers are required"),
        ('<row><c t="s"><v>0</v></c></row>', "places of shared texts are required"),
        ("<row><c><v>1</v></row>", "elements that end in the order of their starts"),
        ("</sheetData></worksheet><worksheet><sheetData>", "one root element is required"),
        ("<row><c><v>&lol;</v></c></row>", "a known reference to a character"),
    ],
)
def test_a_damaged_sheet_is_refused(rows: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet_of(rows))
    with pytest.raises(oo.OpenOutcryError, match=rf"field_unparsable: a complete workbook is required.*{reason}"):
        oo.Dataset.from_csv(path)


def with_part(name: str, text: str) -> bytes:
    """Return a workbook with one part replaced."""
    with zipfile.ZipFile(io.BytesIO(xlsx_bars(1000).content)) as archive:
        parts = {each: archive.read(each).decode() for each in archive.namelist()}
    return packed(parts | {name: text})


ENTITIES = '<!DOCTYPE a [<!ENTITY b "' + "b" * 1000 + '">]><a>' + "&b;" * 1000 + "</a>"


@pytest.mark.parametrize(
    "name", ["xl/workbook.xml", "xl/styles.xml", "xl/sharedStrings.xml", "xl/s.xml", "_rels/.rels"]
)
@pytest.mark.parametrize("text", [ENTITIES, "<a>" + " " * (20 << 20), "", "<a></b>", "\0\xff"], ids=str.__len__)
def test_no_part_is_expanded_or_read_without_a_limit(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(with_part(name, text))
    tracemalloc.start()
    try:
        with pytest.raises(oo.OpenOutcryError, match="a complete workbook is required"):
            oo.Dataset.from_csv(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_text_that_many_cells_share_takes_memory_once(tmp_path: Path) -> None:
    rows = '<c t="s"><v>0</v></c>' * 100
    text = "x" * 30_000
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(io.BytesIO(xlsx_bars(1000).content)) as archive:
        parts = {each: archive.read(each).decode() for each in archive.namelist()}
    parts["xl/s.xml"] = f"<worksheet><sheetData>{f'<row>{rows}</row>' * 1000}</sheetData></worksheet>"
    parts["xl/sharedStrings.xml"] = f"<sst><si><t>{text}</t></si></sst>"
    # 100,000 cells of 30 kB.
    columns = workbook._sheet(workbook.workbook_parts.opened(packed(parts)), "xl/s.xml", path.name).columns()[0]
    assert len({id(cell) for column in columns for cell in column}) == 1


def test_a_stated_decimal_mark_is_refused_for_number_cells(tmp_path: Path) -> None:
    path = tmp_path / "A.xlsx"
    path.write_bytes(xlsx_bars(1000).content)
    with pytest.raises(oo.OpenOutcryError, match="`decimal` must be left out for columns of numbers"):
        oo.Dataset.from_csv(path, decimal=",")
