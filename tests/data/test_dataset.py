"""Test datasets from CSV and arrays: valid inputs, refused inputs, and the synthetic market."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

nan, inf = np.nan, np.inf
TABLES = ("close", "open", "high", "low", "volume", "dividends", "splits", "tradable", "delistings")
SLUGS = {
    each["slug"]
    for each in json.loads((Path(__file__).resolve().parents[2] / "contract" / "errors.json").read_text())["errors"]
}
LONG = """date,symbol,close,open,high,low,volume,dividend,split,delisting_return
2024-01-02,A,10,9.5,10.5,9,1000,,,
2024-01-02,B,20,20,20,20,,,,
2024-01-03,A,11,10,11,10,0,0.5,0.9,
2024-01-04,A,12.25,11,13,11,500,,,
2024-01-04,B,,,,,,,,-0.25
"""


def refusal(slug: str, *words: str) -> Any:
    """Expect an error with a slug of the contract and a message that contains all words."""
    return pytest.raises(oo.OpenOutcryError, check=lambda error: fits(error, slug, words))


def fits(error: BaseException, slug: str, words: tuple[str, ...]) -> bool:
    assert error.slug == slug
    assert slug in SLUGS
    assert str(error).startswith(f"{slug}: ")
    assert [word for word in words if word not in str(error)] == [], str(error)
    return True


def of(*rows: str, header: str = "date,symbol,close") -> str:
    return "\n".join([header, *rows]) + "\n"


def long_by_arrays() -> oo.Dataset:
    return oo.Dataset.from_arrays(
        ["2024-01-02", "2024-01-03", "2024-01-04"],
        ["A", "B"],
        [[10.0, 20.0], [11.0, nan], [12.25, nan]],
        open=[[9.5, 20.0], [10.0, nan], [11.0, nan]],
        high=[[10.5, 20.0], [11.0, nan], [13.0, nan]],
        low=[[9.0, 20.0], [10.0, nan], [11.0, nan]],
        volume=[[1000.0, nan], [0.0, nan], [500.0, nan]],
        dividends=[[nan, nan], [0.5, nan], [nan, nan]],
        splits=[[nan, nan], [0.9, nan], [nan, nan]],
        delistings=[[nan, nan], [nan, nan], [nan, -0.25]],
    )


def test_a_long_csv_equals_its_arrays_on_the_union_of_dates() -> None:
    from_csv, by_arrays = oo.Dataset.from_csv(LONG), long_by_arrays()
    assert from_csv.dates == ("2024-01-02", "2024-01-03", "2024-01-04")
    assert from_csv.symbols == ("A", "B")
    for name in TABLES:
        np.testing.assert_array_equal(getattr(from_csv, name), getattr(by_arrays, name))
    assert from_csv == by_arrays
    assert from_csv.fingerprint == by_arrays.fingerprint
    assert hash(from_csv) == hash(by_arrays)


def reordered(text: str) -> str:
    rows = [line.split(",") for line in text.strip().split("\n")]
    order = [9, 2, 0, 4, 3, 1, 5, 8, 7, 6]
    return "\n".join(",".join(row[place] for place in order) for row in rows)


WRITTEN = {
    "bom": "\ufeff" + LONG,
    "crlf": LONG.replace("\n", "\r\n"),
    "bom, crlf and blank lines": "\ufeff" + LONG.replace("\n", "\r\n\r\n"),
    "blank lines": LONG.replace("\n", "\n\n\n"),
    "no last line end": LONG.rstrip("\n"),
    "quotes": LONG.replace(",A,", ',"A",').replace("12.25", '"12.25"'),
    "other floats": LONG.replace("12.25", "1.225e1").replace(",11,", ",11.0,"),
    "header case": LONG.replace("date,symbol,close", "DATE, Symbol ,Close"),
    "row order": "\n".join([LONG.split("\n")[0], *sorted(LONG.strip().split("\n")[1:], reverse=True)]),
    "column order": reordered(LONG),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_the_layout_of_a_csv_does_not_change_the_market(how: str, tmp_path: Path) -> None:
    assert oo.Dataset.from_csv(WRITTEN[how]).fingerprint == long_by_arrays().fingerprint
    path = tmp_path / "prices.csv"
    path.write_bytes(WRITTEN[how].encode())
    for source in (path, str(path)):
        dataset = oo.Dataset.from_csv(source)
        assert (dataset, dataset.name) == (long_by_arrays(), "prices")


def test_a_wide_csv_has_one_column_of_closes_per_symbol() -> None:
    text = 'date,Z,"A, Inc",a\n2024-01-03,1,,3\n2024-01-02,4,5,6\n'
    dataset = oo.Dataset.from_csv(text, periods_per_year=12, name="wide")
    assert dataset.symbols == ("Z", "A, Inc", "a")
    assert dataset.dates == ("2024-01-02", "2024-01-03")
    np.testing.assert_array_equal(dataset.close, [[4.0, 5.0, 6.0], [1.0, nan, 3.0]])
    assert (dataset.periods_per_year, dataset.name, dataset.open, dataset.volume) == (12.0, "wide", None, None)
    assert any("close-to-close" in notice.lower() for notice in dataset.notices)


D1, D2, D3 = "2024-01-02", "2024-01-03", "2024-01-04"
CSV_REFUSALS = {
    "empty": ("\n", "missing_column", ["columns", "an empty file"]),
    "no date": ("symbol,close\nA,1\n", "missing_column", ["`date`", "symbol,close"]),
    "no close": (of(f"{D1},A,1", header="date,symbol,open"), "missing_column", ["`close`"]),
    "no symbol": (of(f"{D1},1,1", header="date,close,open"), "missing_column", ["`symbol`"]),
    "column twice": (of(f"{D1},A,1,1", header="date,symbol,close,close"), "unknown_column", ["close", "twice"]),
    "too few fields": (of(f"{D1},A,1", f"{D2},A"), "field_unparsable", ["line 3", "3 fields", "received 2"]),
    "too many fields": (of(f"{D1},A,1", f"{D2},A,1,2"), "field_unparsable", ["line 3", "received 4"]),
    "not a number": (of(f"{D1},A,1", f"{D2},A,1O0"), "field_unparsable", ["`close`", "line 3", "1O0"]),
    "nan spelled out": (of(f"{D1},A,1", f"{D2},A,nan"), "field_unparsable", ["line 3", "nan"]),
    "infinity": (of(f"{D1},A,1", f"{D2},A,inf"), "field_unparsable", ["line 3", "inf"]),
    "beyond a double": (of(f"{D1},A,1", f"{D2},A,1e999"), "field_unparsable", ["line 3", "1e999"]),
    "thousands": (of(f"{D1},A,1", f'{D2},A,"1,000"'), "field_unparsable", ["'1,000'", 'decimal=","']),
    "after blank lines": (of("", f"{D1},A,1", "", "", f"{D2},A,x"), "field_unparsable", ["line 6", '"x"']),
    "in a CRLF file": (of(f"{D1},A,1", f"{D2},A,x").replace("\n", "\r\n"), "field_unparsable", ["line 3", '"x"']),
    "after a quoted line end": (of(f'{D1},"A\nB",1', f"{D2},A,x"), "field_unparsable", ["line 4", '"x"']),
    "duplicate": (of(f"{D1},A,1", f"{D1},A,1"), "duplicate_row", [D1, '"A"', "lines 2 and 3"]),
    "duplicate in a CRLF file": (of(f"{D1},A,1", f"{D1},A,1").replace("\n", "\r\n"), "duplicate_row", ["2 and 3"]),
    "duplicate date": ("date,A\n2024-01-02,1\n2024-01-02,2\n", "duplicate_row", [D1, "lines 2 and 3"]),
    "duplicate symbol": ("date,A,A\n2024-01-02,1,2\n2024-01-03,1,2\n", "duplicate_symbol", ['"A"']),
    "American date": (of("01/02/2024,A,1", "01/03/2024,A,1"), "date_invalid", ["01/02/2024", 'date_order="mdy"']),
    "an invalid date": (of(f"{D1},A,1", "2024-02-30,A,1"), "date_invalid", ["2024-02-30", "line 3"]),
    "a date with a space": (of(f"{D1},A,1", f"{D2} 10:00:00,A,1"), "date_invalid", ["line 3"]),
    "two forms of date": (of(f"{D1},A,1", f"{D2}T00:00:00,A,1"), "date_order", ["line 3", "same format"]),
    "no symbol name": (of(f"{D1},,1", f"{D2},,1"), "symbol_invalid", ["symbols[0]"]),
    "a symbol with spaces": (of(f"{D1}, A,1", f"{D2}, A,1"), "symbol_invalid", ['" A"']),
    "one bar": (of(f"{D1},A,1"), "dataset_too_small", ["2 bars", "received 1 and 1"]),
    "no bar": (of(), "dataset_too_small", ["received 0 and 0"]),
    "negative": (of(f"{D1},A,1", f"{D2},A,-5"), "price_invalid", ["`close`", "line 3", D2, '"A"', "-5"]),
    "zero": (of(f"{D1},A,1", f"{D2},A,0"), "price_invalid", ["`close`", "line 3", '"A"', "received 0"]),
    "split of 0": (of(f"{D1},A,1,", f"{D2},A,1,0", header="date,symbol,close,split"), "value_invalid", ["`splits`"]),
}


@pytest.mark.parametrize("name", CSV_REFUSALS)
def test_an_invalid_csv_is_refused_with_position_and_reason(name: str) -> None:
    text, slug, words = CSV_REFUSALS[name]
    with refusal(slug, *words):
        oo.Dataset.from_csv(text)


def test_a_missing_or_binary_csv_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        oo.Dataset.from_csv(tmp_path / "none.csv")
    # No byte 0x81 is in UTF-8 on its own, nor in Windows-1252.
    (tmp_path / "binary.csv").write_bytes(b"date,A\n\x81,1\n")
    with refusal("field_unparsable", "text in UTF-8, or in an encoding that", "the bytes 81 on line 2"):
        oo.Dataset.from_csv(tmp_path / "binary.csv")


@pytest.mark.parametrize(
    ("n_rows", "words"),
    [(8_000, "8000 rows for 8000 symbols x 8000 bars"), (16_000, "received 16000 symbols x 16000 bars x 2 columns")],
)
def test_a_sparse_long_csv_is_refused(n_rows: int, words: str) -> None:
    days, symbols = np.datetime64("1980-01-01") + np.arange(n_rows), [f"S{i}" for i in range(n_rows)]
    text = "date,symbol,close\n" + "".join(f"{day},{name},1\n" for day, name in zip(days, symbols, strict=True))
    frame = pd.DataFrame({"date": days, "symbol": symbols, "close": 1.0})
    for read, source in ((oo.Dataset.from_csv, text), (oo.Dataset.from_frame, frame)):
        with refusal("dataset_too_large", words):
            read(source)


def arrays(**changes: Any) -> oo.Dataset:
    """Return a market of three bars and two symbols, with some columns replaced."""
    given = {"dates": [D1, D2, D3], "symbols": ["A", "B"], "close": np.full((3, 2), 10.0)}
    return oo.Dataset.from_arrays(**(given | changes))


def cell(row: int, column: int, value: float, rest: float) -> Any:
    table = np.full((3, 2), rest)
    table[row, column] = value
    return table


HERE = ["row 1", D2, '"B"']
ARRAY_REFUSALS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    **{
        f"{name} of {value}": ({name: cell(1, 1, value, 10.0)}, "price_invalid", [f"`{name}`", *HERE])
        for name in ("close", "open", "high", "low")
        for value in (0.0, -1.0, inf, -inf, 1e-16, 1.1e15)
    },
    **{
        f"{name} of {value}": (
            {"open": np.full((3, 2), 10.0), name: cell(1, 1, value, 1.0)},
            "value_invalid",
            [f"`{name}`", *HERE],
        )
        for name, values in {
            "volume": (-1.0, inf, 1.1e18),
            "dividends": (-0.1, inf, 1.1e15),
            "splits": (0.0, -2.0, inf, 1e-10, 1.1e9),
            "delistings": (-1.5, inf, 1.1e6),
        }.items()
        for value in values
    },
    "dividend of the close": (
        {"dividends": cell(1, 1, 10.0, 0.0)},
        "value_invalid",
        ["`dividends`", "previous close", *HERE],
    ),
    "settled before listed": (
        {"close": [[10, nan], [10, nan], [10, 10]], "delistings": cell(1, 1, 0.0, nan)},
        "value_invalid",
        ["`delistings`", "first close", *HERE],
    ),
    "settled twice": (
        {"close": [[10, 10], [10, nan], [10, nan]], "delistings": [[nan, nan], [nan, 0.0], [nan, 0.0]]},
        "value_invalid",
        ["`delistings`", "once", "row 2", D3],
    ),
    "closes after settlement": (
        {"close": [[10, 10], [10, nan], [10, 7]], "delistings": cell(1, 1, 0.0, nan)},
        "close_after_settlement",
        ["`close`", "row 2", D3, '"B"', "received 7"],
    ),
    "transposed": ({"close": np.full((2, 3), 10.0)}, "shape_mismatch", ["`close`", "(3, 2)", "(2, 3)"]),
    "transposed open": ({"open": np.full((2, 3), 10.0)}, "shape_mismatch", ["`open`", "(3, 2)", "(2, 3)"]),
    "transposed mask": ({"tradable": np.ones((2, 3), bool)}, "shape_mismatch", ["`tradable`", "(3, 2)", "(2, 3)"]),
    "a bar short": ({"volume": np.ones((2, 2))}, "shape_mismatch", ["`volume`", "(3, 2)", "(2, 2)"]),
    "a date short": ({"dates": [D1, D2]}, "shape_mismatch", ["`close`", "(2, 2)", "(3, 2)"]),
    "risk-free short": ({"risk_free": [0.0, 0.0]}, "shape_mismatch", ["`risk_free`", "3", "2"]),
    "risk-free of -1": ({"risk_free": [0.0, 0.0, -1.0]}, "value_invalid", ["`risk_free`", "row 2"]),
    "risk-free NaN": ({"risk_free": [0.0, nan, 0.0]}, "value_invalid", ["`risk_free`", "row 1"]),
    "no bars a year": ({"periods_per_year": 0}, "value_invalid", ["`periods_per_year`"]),
    "too few bars a year": ({"periods_per_year": 9.9e-4}, "value_invalid", ["`periods_per_year`", "1e-3 and 1e9"]),
    "too many bars a year": ({"periods_per_year": 1.1e9}, "value_invalid", ["`periods_per_year`", "1e-3 and 1e9"]),
    "infinite bars a year": ({"periods_per_year": inf}, "value_invalid", ["`periods_per_year`"]),
    "dates that fall": ({"dates": [D1, D3, D2]}, "date_order", ["row 2", D3, D2]),
    "a date twice": ({"dates": [D1, D2, D2]}, "date_order", ["row 2", D2]),
    "a date of another form": ({"dates": [D1, D2, D3 + "T00:00:01"]}, "date_order", ["row 2"]),
    "no date": ({"dates": [D1, D2, "NaT"]}, "date_invalid", ["row 2", "NaT"]),
    "not a time": ({"dates": np.array([D1, D2, "NaT"], dtype="M8[D]")}, "date_invalid", ["row 2", "NaT"]),
    "a symbol twice": ({"symbols": ["A", "A"]}, "duplicate_symbol", ['"A"']),
    "a control character": ({"symbols": ["A", "B\n"]}, "symbol_invalid", ["symbols[1]"]),
    "no name": ({"symbols": ["A", ""]}, "symbol_invalid", ["symbols[1]"]),
    "one bar": ({"dates": [D1], "close": [[1.0, 1.0]]}, "dataset_too_small", ["received 1 and 2"]),
    "no symbol": ({"symbols": [], "close": np.ones((3, 0))}, "dataset_too_small", ["received 3 and 0"]),
    "a number of an unknown symbol": ({"fundamentals": [("C", D1, "eps", 1.0)]}, "symbol_invalid", ['"C"']),
    "a number without a day": ({"fundamentals": [("A", "soon", "eps", 1.0)]}, "date_invalid", ["soon"]),
    "a number that is NaN": ({"fundamentals": [("A", D1, "eps", nan)]}, "value_invalid", ["eps"]),
    "two values of a number": (
        {"fundamentals": [("B", D1, "eps", 2.0), ("A", D1, "eps", 1.0), ("B", D1, "eps", -0.5)]},
        "value_invalid",
        ['"eps"', '"B"', f"at {D1}", "received -0.5 and 2.0"],
    ),
    "a number twice": (
        {"fundamentals": [("B", D1, "eps", 2.0), ("B", D1, "eps", 2.0)]},
        "value_invalid",
        ['"eps"', '"B"', f"at {D1}", "received 2.0 twice"],
    ),
    "news of an unknown symbol": ({"news": [("C", D1, "rumour")]}, "symbol_invalid", ['"C"']),
    "news without a day": ({"news": [("A", "2024-1-2", "rumour")]}, "date_invalid", ["2024-1-2"]),
    "news by the day on an axis of times": (
        {"dates": [f"{day}T16:00:00" for day in (D1, D2, D3)], "news": [("A", D2, "rumour")]},
        "date_invalid",
        ["as precise", D2],
    ),
}


@pytest.mark.parametrize("name", ARRAY_REFUSALS)
def test_invalid_arrays_are_refused_with_row_and_column(name: str) -> None:
    changes, slug, words = ARRAY_REFUSALS[name]
    with refusal(slug, *words):
        arrays(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"close": [10.0, 10.0, 10.0]},
        {"close": [["10", "10"]] * 3},
        {"close": [[10.0, None]] * 3},
        {"close": np.ones((3, 2), dtype=bool)},
        {"close": np.ones((3, 2), dtype=complex)},
        {"tradable": np.ones((3, 2))},
        {"volume": np.ones((3, 2, 1))},
    ],
    ids=["1-d", "text", "object", "bool", "complex", "float-mask", "3-d"],
)
def test_arrays_that_are_not_numeric_tables_are_refused(changes: dict[str, Any]) -> None:
    with refusal("shape_mismatch", f"`{next(iter(changes))}` must be a 2-d array of"):
        arrays(**changes)


def test_the_edges_of_every_range_are_accepted() -> None:
    edges = {"open": (1e-15, 1e15), "volume": (0.0, 1e18), "dividends": (0.0, 1e15), "splits": (1e-9, 1e9)}
    for name, values in {**edges, "close": (1e-15, 1e15)}.items():
        for value in values:
            assert (
                getattr(arrays(**({"open": np.full((3, 2), 1.0)} | {name: cell(1, 1, value, 1.0)})), name)[1, 1]
                == value
            )
    for value in (-1.0, 1e6):
        assert arrays(close=[[1, 1], [1, nan], [1, nan]], delistings=cell(1, 1, value, nan)).delistings[1, 1] == value


@pytest.mark.parametrize(
    "dates",
    [
        np.array([D1, D2, D3], dtype="M8[D]"),
        np.array([D1, D2, D3], dtype="M8[ns]"),
        np.array([D1, D2, D3]),
        [datetime.date(2024, 1, day) for day in (2, 3, 4)],
        [datetime.datetime(2024, 1, day) for day in (2, 3, 4)],
        [np.datetime64(day) for day in (D1, D2, D3)],
        iter([D1, D2, D3]),
    ],
    ids=["days", "nanoseconds", "texts", "dates", "datetimes", "scalars", "iterator"],
)
def test_dates_of_any_type_give_the_same_bars(dates: Any) -> None:
    assert arrays(dates=dates) == arrays()


def test_times_have_a_resolution_of_seconds() -> None:
    times = np.array([D1, D2, D3], dtype="M8[s]") + np.timedelta64(57_600, "s")
    assert arrays(dates=times).dates == tuple(f"{day}T16:00:00" for day in (D1, D2, D3))
    for finer in (times.astype("M8[ms]") + np.timedelta64(1, "ms"), [f"{day}T16:00:00.001" for day in (D1, D2, D3)]):
        with refusal("date_invalid", "row 0"):
            arrays(dates=finer)


def test_columns_are_read_only_copies() -> None:
    close = np.full((3, 2), 10.0)
    dataset = arrays(close=close, tradable=np.ones((3, 2), dtype=bool), risk_free=[0.0] * 3)
    fingerprint = dataset.fingerprint
    close[:] = 99.0
    for name in ("close", "tradable", "risk_free"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(dataset, name)[0] = 1
    assert dataset.close.max() == 10.0
    assert dataset.tradable.dtype == bool
    assert (
        arrays(close=np.full((3, 2), 10.0), tradable=dataset.tradable, risk_free=[0.0] * 3).fingerprint == fingerprint
    )


def test_table_layout_and_number_type_do_not_change_the_market() -> None:
    close = np.arange(1.0, 7.0).reshape(3, 2)
    wide = np.zeros((6, 4))
    wide[::2, ::2] = close
    variants = [
        np.asfortranarray(close),
        wide[::2, ::2],
        close.astype(np.float32),
        close.astype(np.int64),
        close.tolist(),
    ]
    assert {arrays(close=each).fingerprint for each in variants} == {arrays(close=close).fingerprint}


def test_a_market_round_trips_through_its_bytes() -> None:
    market = oo.Dataset.from_csv(LONG, name="long")
    content = market.to_bytes()
    assert hashlib.sha256(content).hexdigest() == market.fingerprint
    again = oo.Dataset.from_bytes(content, name="again", notices=["of a friend"])
    assert (again, again.name, again.notices[0]) == (market, "again", "of a friend")
    for name in TABLES:
        np.testing.assert_array_equal(getattr(again, name), getattr(market, name))
    with refusal("bytes_invalid", "a complete market"):
        oo.Dataset.from_bytes(content[:-1])
    with refusal("bytes_invalid", "a market in canonical form"):
        place = content.index(b"periods_per_year") - 8
        oo.Dataset.from_bytes(content + content[place : place + 40])
