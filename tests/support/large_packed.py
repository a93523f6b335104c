"""Files of any size in many shapes, written from a seed: JSON, archives, workbooks and Arrow files."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from large_files import LargeFile, Shape, bar, days, filled, long, minutes, of_bars, price
from pyarrow import feather, ipc, parquet

NAMES = ("date", "open", "high", "low", "close", "volume")
OF = "http://schemas.openxmlformats.org"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{OF}/package/2006/content-types"><Override PartName="/xl/workbook.xml" '
    f'ContentType="{KIND}.sheet.main+xml"/><Override PartName="/xl/s.xml" ContentType="{KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{OF}/package/2006/relationships"><Relationship Id="r" '
    f'Type="{OF}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{OF}/spreadsheetml/2006/main" '
    f'xmlns:r="{OF}/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r"/></sheets>'
    "</workbook>",
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{OF}/package/2006/relationships"><Relationship Id="r" '
    f'Type="{OF}/officeDocument/2006/relationships/worksheet" Target="s.xml"/></Relationships>',
}


def of_json(text: str) -> LargeFile:
    """Return a JSON text as a file."""
    return LargeFile(text.encode(), ".json")


def bars(size: int, width: int) -> list[list[Any]]:
    """Return bars of `width` bytes each."""
    draw = random.Random(size)
    return [[str(days(row)), *bar(draw)] for row in range(size // width)]


def records(size: int) -> LargeFile:
    """Return a list of objects."""
    return of_json(json.dumps([dict(zip(NAMES, row, strict=True)) for row in bars(size, 100)]))


def epoch_records(size: int) -> LargeFile:
    """Return a list of objects with single letters and epochs, as of Polygon."""
    draw = random.Random(size)
    letters = ("o", "h", "l", "c", "v")
    rows = [
        {"t": (1_000_000_000 + 60 * row) * 1000} | dict(zip(letters, bar(draw), strict=True))
        for row in range(size // 90)
    ]
    return of_json(json.dumps({"ticker": "A", "results": rows}))


def nested_records(size: int) -> LargeFile:
    """Return objects with prices in inner objects, as of OANDA."""
    draw = random.Random(size)
    letters = ("o", "h", "l", "c")
    rows = [
        {"time": str(minutes(row)), "volume": 1, "mid": dict(zip(letters, map(str, bar(draw)), strict=False))}
        for row in range(size // 120)
    ]
    return of_json(json.dumps({"instrument": "A", "candles": rows}))


def uneven_records(size: int) -> LargeFile:
    """Return objects with other keys on every row."""
    draw = random.Random(size)
    rows = [{"date": str(days(row)), "close": price(draw), f"k{row % 7}": row} for row in range(size // 65)]
    return of_json(json.dumps(rows))


def unlike_records(size: int) -> LargeFile:
    """Return objects, each with a key of its own."""
    return of_json(json.dumps([{"date": str(days(row)), f"k{row}": row} for row in range(size // 40)]))


def columns(size: int) -> LargeFile:
    """Return an object of lists."""
    rows = zip(*bars(size, 55), strict=True)
    return of_json(json.dumps(dict(zip(NAMES, rows, strict=True))))


def columns_by_row(size: int) -> LargeFile:
    """Return an object of objects by row, as pandas writes it."""
    rows = zip(*bars(size, 110), strict=True)
    return of_json(json.dumps({name: dict(enumerate(column)) for name, column in zip(NAMES, rows, strict=True)}))


def by_date(size: int) -> LargeFile:
    """Return objects by date, as of Alpha Vantage."""
    found = {row[0]: dict(zip(NAMES[1:], map(str, row[1:]), strict=True)) for row in bars(size, 110)}
    return of_json(json.dumps({"Meta Data": {"2. Symbol": "A"}, "Time Series (Daily)": found}))


def split(size: int) -> LargeFile:
    """Return names, and rows below them."""
    return of_json(json.dumps({"columns": NAMES, "data": bars(size, 55)}))


def arrays(size: int) -> LargeFile:
    """Return rows of klines without names."""
    draw = random.Random(size)
    rows = [[(1_000_000_000 + 60 * row) * 1000, *map(str, bar(draw))] for row in range(size // 65)]
    return of_json(json.dumps(rows))


def wide_records(size: int) -> LargeFile:
    """Return objects with a close of many symbols."""
    draw = random.Random(size)
    names = [f"S{place:04}" for place in range(1000)]
    rows = [{"date": str(days(row)), **{name: price(draw) for name in names}} for row in range(size // 16_000 + 2)]
    return of_json(json.dumps(rows))


def many_lists(size: int) -> LargeFile:
    """Return a list of bars for each of many symbols."""
    draw = random.Random(size)
    n_symbols = size // 1200 + 1
    rows = {
        f"S{place}": [dict(zip(NAMES, (str(days(row)), *bar(draw)), strict=True)) for row in range(12)]
        for place in range(n_symbols)
    }
    return of_json(json.dumps({"data": rows}))


def yahoo_chart(size: int) -> LargeFile:
    """Return the chart form of Yahoo."""
    draw = random.Random(size)
    rows = [bar(draw) for _ in range(size // 50)]
    quote = dict(zip(NAMES[1:], zip(*rows, strict=True), strict=True))
    meta = {"symbol": "A", "dataGranularity": "1d", "exchangeTimezoneName": "America/New_York"}
    stamps = [-2_000_000_000 + 86_400 * row for row in range(len(rows))]
    return of_json(
        json.dumps({"chart": {"result": [{"meta": meta, "timestamp": stamps, "indicators": {"quote": [quote]}}]}})
    )


def xlsx(size: int, n_columns: int, cell_of: Callable[[random.Random], str]) -> LargeFile:
    """Return a workbook of one sheet with days and numbers, stored without compression."""
    draw = random.Random(size)
    head = "".join(f'<c t="str"><v>S{place}</v></c>' for place in range(n_columns))

    def line_of(row: int) -> str:
        cells = "".join(f"<c><v>{cell_of(draw)}</v></c>" for _ in range(n_columns))
        return f'<row r="{row + 2}"><c t="str"><v>{days(row)}</v></c>{cells}</row>'

    sheet = filled(size, f'<row r="1"><c t="str"><v>Date</v></c>{head}</row>', line_of)
    start = f'<worksheet xmlns="{OF}/spreadsheetml/2006/main"><sheetData>'
    return LargeFile(
        packed(PARTS | {"xl/s.xml": f"{start}{sheet}</sheetData></worksheet>"}, zipfile.ZIP_STORED), ".xlsx"
    )


def xlsx_compressed(size: int) -> LargeFile:
    """Return a workbook that takes a tenth of its sheet."""
    draw = random.Random(size)
    sheet = filled(
        10 * size,
        '<row r="1"><c t="str"><v>Date</v></c><c t="str"><v>Close</v></c></row>',
        lambda row: (
            f'<row r="{row + 2}"><c r="A{row + 2}" t="str"><v>{days(row)}</v></c>'
            f'<c r="B{row + 2}"><v>{draw.random() * 100:.16f}</v></c></row>'
        ),
    )
    start = f'<worksheet xmlns="{OF}/spreadsheetml/2006/main"><sheetData>'
    return LargeFile(packed(PARTS | {"xl/s.xml": f"{start}{sheet}</sheetData></worksheet>"}), ".xlsx")


def xlsx_bars(size: int, *, has_date_cells: bool = True) -> LargeFile:
    """Return a workbook of minutes as spreadsheets write it: names of cells, compressed, with shared texts."""
    draw = random.Random(size)
    texts, rows = list(map(str.title, NAMES)), []
    # A row takes 31 bytes of the archive.
    for row in range(2, size // 31 + 2):
        rows.append(f'<row r="{row}" spans="1:6">')
        if has_date_cells:
            rows.append(f'<c r="A{row}" s="1"><v>{36_526 + row / 1440!r}</v></c>')
        else:
            rows.append(f'<c r="A{row}" t="s"><v>{len(texts)}</v></c>')
            texts.append(str(minutes(row)))
        rows.extend(f'<c r="{column}{row}"><v>{cell}</v></c>' for column, cell in zip("BCDEF", bar(draw), strict=True))
        rows.append("</row>")
    head = "".join(f'<c r="{column}1" t="s"><v>{place}</v></c>' for place, column in enumerate("ABCDEF"))
    space = f'xmlns="{OF}/spreadsheetml/2006/main"'
    references = "".join(
        f'<Relationship Id="{name}" Type="{OF}/officeDocument/2006/relationships/{name}" Target="{name}.xml"/>'
        for name in ("styles", "sharedStrings")
    )
    book = "xl/_rels/workbook.xml.rels"
    parts = PARTS | {
        book: PARTS[book].replace("</Relationships>", f"{references}</Relationships>"),
        "xl/styles.xml": f'<styleSheet {space}><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f"<sst {space}>{''.join(f'<si><t>{text}</t></si>' for text in texts)}</sst>",
        "xl/s.xml": f'<worksheet {space}><sheetData><row r="1">{head}</row>{"".join(rows)}</sheetData></worksheet>',
    }
    return LargeFile(packed(parts), ".xlsx")


def packed(parts: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of texts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def table(size: int, width: int) -> Any:
    """Return an Arrow table of minutes with rows of `width` bytes."""
    n_rows = max(size // width, 2)
    values = 50.0 + np.random.default_rng(size).random((n_rows, 2))
    times = np.datetime64("2000-01-03T00:00", "s") + 60 * np.arange(n_rows)
    return pa.table({"Date": times, "Close": values[:, 0], "Open": values[:, 1]})


def texts(size: int) -> Any:
    """Return an Arrow table of days and closes as texts."""
    draw = random.Random(size)
    n_rows = size // 28
    return pa.table(
        {"Date": [f"{days(row):%d.%m.%Y}" for row in range(n_rows)], "Close": [str(price(draw)) for _ in range(n_rows)]}
    )


def feather_of(frame: Any, compression: str = "uncompressed") -> LargeFile:
    """Return a table as a Feather file."""
    buffer = io.BytesIO()
    feather.write_feather(frame, buffer, compression=compression)
    return LargeFile(buffer.getvalue(), ".feather")


def parquet_of(frame: Any) -> LargeFile:
    """Return a table as a Parquet file."""
    buffer = io.BytesIO()
    parquet.write_table(frame, buffer)
    return LargeFile(buffer.getvalue(), ".parquet")


def feather_bomb(size: int, n_rows: int = 1 << 22) -> LargeFile:
    """Return a Feather file of many columns of zeros, which compress 100 times or more."""
    zeros = pa.array(np.zeros(n_rows))
    n_columns = max(1, size * 200 // (8 * n_rows))
    names = ["Date", *(f"S{place}" for place in range(n_columns))]
    return feather_of(pa.table([pa.array(np.zeros(n_rows, "datetime64[s]")), *[zeros] * n_columns], names), "zstd")


def feather_runs(size: int) -> LargeFile:
    """Return a Feather file of one value in a dictionary on many rows."""
    n_rows = size * 20
    codes = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int8), ["2024-01-02"])
    return feather_of(pa.table([codes, pa.array(np.zeros(n_rows, np.int8))], ["Date", "Close"]), "zstd")


def feather_batches(size: int) -> LargeFile:
    """Return an Arrow file of very many batches without columns of data."""
    buffer = io.BytesIO()
    schema = pa.schema([("Date", pa.null()), ("Close", pa.null())])
    batch = pa.record_batch([pa.nulls(1 << 20), pa.nulls(1 << 20)], schema=schema)
    with ipc.new_file(buffer, schema) as writer:
        for _ in range(size // 500):
            writer.write(batch)
    return LargeFile(buffer.getvalue(), ".feather")


def sparse(size: int, head: str, mark: str, n_days: int) -> LargeFile:
    """Return a row per date and symbol, nearly all of them missing."""
    draw = random.Random(size)

    def line_of(row: int) -> str:
        return f"{days(row % n_days)}{mark}S{draw.randrange(3 * n_days):05}{mark}{price(draw)}\n"

    return LargeFile(filled(size, head, line_of).encode())


def sparse_records(size: int) -> LargeFile:
    """Return bars of a symbol each day, with another one on the next."""
    rows = [dict(zip(NAMES, row, strict=True)) | {"symbol": f"S{place}"} for place, row in enumerate(bars(size, 120))]
    return of_json(json.dumps(rows))


PACKED: dict[str, Shape] = {
    "JSON records": records,
    "JSON records with epochs": epoch_records,
    "JSON nested records": nested_records,
    "JSON uneven records": uneven_records,
    "JSON unlike records": unlike_records,
    "JSON columns": columns,
    "JSON columns by row": columns_by_row,
    "JSON by date": by_date,
    "JSON split": split,
    "JSON arrays": arrays,
    "JSON wide records": wide_records,
    "JSON many symbols": many_lists,
    "JSON chart": yahoo_chart,
    "JSON sparse records": sparse_records,
    "JSON deep": lambda size: of_json("[" * size),
    "JSON deep and closed": lambda size: of_json("[" * (size // 2) + "]" * (size // 2)),
    "JSON deep objects": lambda size: of_json('{"a":' * (size // 5)),
    "JSON empty lists": lambda size: of_json("[" + "[]," * (size // 3) + "[]]"),
    "JSON empty objects": lambda size: of_json("[" + "{}," * (size // 3) + "{}]"),
    "JSON objects in objects": lambda size: of_json(json.dumps({f"S{k}": {"a": {"b": {}}} for k in range(size // 30)})),
    "JSON one number": lambda size: of_json(f'[{{"date":"2024-01-02","close":{"9" * size}}}]'),
    "JSON one text": lambda size: of_json(f'[{{"date":"{"9" * size}","close":1}}]'),
    "JSON many keys": lambda size: of_json("[" + json.dumps({f"k{place}": place for place in range(size // 16)}) + "]"),
    "JSON a fault at the end": lambda size: of_json(records(size).content.decode()[:-1] + ",]"),
    "sparse, plain": lambda size: sparse(size, "date,symbol,close\n", ",", 9_000),
    "sparse, of a vendor": lambda size: sparse(size, "Date;Ticker;Close\n", ";", 9_000),
    "Excel, 1 column": lambda size: xlsx(size, 1, lambda draw: str(price(draw))),
    "Excel, 100 columns": lambda size: xlsx(size, 100, lambda draw: str(price(draw))),
    "Excel, empty cells": lambda size: xlsx(size, 1000, lambda draw: ""),
    "Excel, compressed": xlsx_compressed,
    "Excel, minutes": xlsx_bars,
    "Excel, minutes as texts": lambda size: xlsx_bars(size, has_date_cells=False),
    "gzip of bars": lambda size: LargeFile(gzip.compress(of_bars(3 * size, minutes).content, 6), ".csv.gz"),
    "zip of long rows": lambda size: LargeFile(packed({"a.csv": long(3 * size, 500).content.decode()}), ".zip"),
    "gzip of zeros": lambda size: LargeFile(gzip.compress(bytes(200 * size), 6), ".csv.gz"),
    "gzip of blank lines": lambda size: LargeFile(gzip.compress(b"Date,Close\n" + b"\n" * (size * 20), 6), ".csv.gz"),
    "Feather": lambda size: feather_of(table(size, 24)),
    "Feather, compressed": lambda size: feather_of(table(size, 20), "zstd"),
    "Feather of texts": lambda size: feather_of(texts(size)),
    "Feather of zeros": feather_bomb,
    "Feather of one value": feather_runs,
    "Feather of nulls": feather_batches,
    "Parquet": lambda size: parquet_of(table(size, 20)),
    "Parquet of texts": lambda size: parquet_of(texts(size)),
}
