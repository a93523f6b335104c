"""Test that one table is one market in every form of file, or is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo

DAYS = pd.bdate_range("2024-01-02", periods=9).strftime("%Y-%m-%d").tolist()
MINUTES = pd.date_range("2024-01-02 09:30", periods=9, freq="min").strftime("%Y-%m-%dT%H:%M:%S").tolist()
SYMBOLS = ["A", "BRK.B", "0700", "NA", "3M", "1E5", "TRUE"]
CENTS = st.integers(500, 900).map(lambda cents: cents / 100)
CELLS = {
    "close": CENTS, "open": CENTS, "high": CENTS.map(lambda price: round(price + 5, 2)),
    "low": CENTS.map(lambda price: round(price - 4, 2)),
    "volume": st.sampled_from([0.0, 100.0, 2500.0]),
    "dividend": st.sampled_from([0.0, 0.0, 0.0, 0.25]),
    "split": st.sampled_from([1.0, 1.0, 1.0, 1.0, 2.0]), "delisting_return": st.just(np.nan),
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Return a long or wide table with missing values, rows in any order."""
    dates = draw(st.sampled_from([DAYS, MINUTES]))[: draw(st.integers(2, 9))]
    symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, max_size=3, unique=True))
    is_wide = draw(st.booleans())
    names = ["close"] if is_wide else ["close", *draw(st.lists(st.sampled_from(list(CELLS)[1:]), unique=True))]
    frame = pd.DataFrame([(date, symbol) for date in dates for symbol in symbols], columns=["date", "symbol"])
    for name in names:
        # A column without a value is frequent among fixed columns.
        missing = draw(st.sampled_from([0.0, 0.3, 1.0] if name != "close" else [0.0, 0.3]))
        cells = st.lists(CELLS[name], min_size=len(frame), max_size=len(frame))
        marks = st.lists(st.floats(0, 1), min_size=len(frame), max_size=len(frame))
        frame[name] = np.where(np.array(draw(marks)) < missing, np.nan, draw(cells))
    empty = draw(st.sampled_from([None, *dates]))
    frame.loc[frame["date"] == empty, names] = np.nan
    if is_wide:
        frame = frame.pivot(index="date", columns="symbol", values="close")[symbols].reset_index()
    return frame.rename_axis(columns=None).sample(frac=1, random_state=draw(st.integers(0, 9))).reset_index(drop=True)


def forms_of(frame: pd.DataFrame, folder: Path) -> Iterator[tuple[str, oo.Dataset]]:
    """Yield a table as every form of file and frame reads it, unless it is refused."""
    folder = Path(folder)
    texts = {
        "comma": {}, "semicolon": {"sep": ";"}, "tab": {"sep": "\t"}, "bar": {"sep": "|"}, "quoted": {"quoting": 1},
        "quoted semicolon": {"sep": ";", "quoting": 1}, "german": {"sep": ";", "decimal": ","},
        "names": {"header": [name.title() if name in ("date", "symbol", *CELLS) else name for name in frame]},
        "gz": {"compression": "gzip"}, "zip": {"compression": {"method": "zip", "archive_name": "a.csv"}},
        "crlf": {"lineterminator": "\r\n"}, "utf-16": {"encoding": "utf-16"},
    }  # fmt: skip
    for name, options in texts.items():
        frame.to_csv(folder / name, index=False, **options)
    frame.to_excel(folder / "excel", index=False, engine="openpyxl")
    frame.to_json(folder / "json", orient="records", double_precision=15)
    frame.to_json(folder / "columns", orient="split", double_precision=15, index=False)
    frame.to_parquet(folder / "parquet")
    frame.to_feather(folder / "feather")
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(oo.OpenOutcryError):
            yield path.name, oo.Dataset.from_csv(path)
    for name, each in {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pl.from_pandas(frame).to_arrow(),
    }.items():
        with contextlib.suppress(oo.OpenOutcryError):
            yield name, oo.Dataset.from_frame(each)


@settings(max_examples=count(200, 12), deadline=None)
@given(tables())
def test_one_table_is_one_market_in_every_form(frame: pd.DataFrame) -> None:
    with TemporaryDirectory() as folder:
        markets: dict[str, list[str]] = {}
        for name, dataset in forms_of(frame, Path(folder)):
            markets.setdefault(dataset.fingerprint, []).append(name)
        assert len(markets) <= 1, f"{markets} of\n{frame.to_csv(index=False)}"


def test_an_ordinary_table_is_read_in_every_form(tmp_path: Path) -> None:
    rows = [(day, symbol, 5.25 + row, 5.5 + row, 100.0) for row, day in enumerate(DAYS) for symbol in SYMBOLS]
    frame = pd.DataFrame(rows, columns=["date", "symbol", "open", "close", "volume"])
    found = dict(forms_of(frame, tmp_path))
    assert len(found) == 20
    assert len({dataset.fingerprint for dataset in found.values()}) == 1


EMPTY = "date,symbol,close,open,volume\n2024-01-02,A,5,5,\n2024-01-03,A,,,9\n2024-01-04,A,6,5,\n2024-01-05,A,7,5,\n"


@pytest.mark.parametrize("separator", [",", ";"])
def test_dates_without_a_close_are_left_out_with_a_notice(separator: str) -> None:
    dataset = oo.Dataset.from_csv(EMPTY.replace(",", separator))
    assert dataset.dates == ("2024-01-02", "2024-01-04", "2024-01-05")
    assert "left out: 1 date without a close" in dataset.notices
    assert dataset.volume is None


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize(("column", "value"), [("dividend", 1), ("dividend", 0.5), ("delisting_return", 0)])
def test_a_date_with_an_event_is_kept(separator: str, column: str, value: float) -> None:
    text = f"date,symbol,close,{column}\n2024-01-02,A,50,\n2024-01-03,A,51,\n2024-01-04,A,,{value}\n"
    assert oo.Dataset.from_csv(text.replace(",", separator)).n_bars == 3


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_column_of_opens_without_a_value_is_no_column(separator: str) -> None:
    text = "date,symbol,close,open\n2024-01-02,A,50,\n2024-01-03,A,51,\n2024-01-04,A,52,\n"
    assert not oo.Dataset.from_csv(text.replace(",", separator)).has_opens


@pytest.mark.parametrize("field", ["", '""'])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_an_empty_field_is_found_at_any_place_of_a_file(field: str, end: str, tmp_path: Path) -> None:
    rows = {"date,symbol,close": "{day},A,{}", "close,date,symbol": "{},{day},A", "date,A": "{day},{}"}
    rows["date,symbol,close,volume"] = "{day},A,{},5"
    for names, row in rows.items():
        for empty in range(3):
            cells = [row.format(field if day == empty else 10 + day, day=DAYS[day]) for day in range(3)]
            lines = [names, *cells]
            (tmp_path / "plain.csv").write_bytes((end or "\n").join(lines).encode() + end.encode())
            dataset = oo.Dataset.from_csv(tmp_path / "plain.csv")
            assert dataset.dates == tuple(day for place, day in enumerate(DAYS[:3]) if place != empty)
