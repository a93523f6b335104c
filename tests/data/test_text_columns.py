"""Fast ways through the readers return what the slow ones do."""

from __future__ import annotations

import csv
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.benchmarks.reading_speed import write_vendor
from openoutcry.data.readers import date_text, number_text
from openoutcry.data.readers.date_text import DateOptions
from openoutcry.data.readers.split_times import SplitTimes

FIELDS = st.text(alphabet='ab1.,; \t\r\n"\x0c\x85', max_size=4)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=3), max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
@example([["a", "b"], ["", ""], [" ", ""], ["1", "2"]], "\n")
@example([["Report"], ["a", "b"], ["1", "2"]], "\r\n")
@example([['"a"', "b"], ['"1,5"', '"2"'], ['""', '" "'], ["", '"x"']], "\n")
@example([['"a"', "b"], ['"1""5"', '"2"']], "\n")
def test_columns_are_those_of_the_csv_module(rows: list[list[str]], end: str) -> None:
    text = "".join(",".join(row) + end for row in rows)
    found = native.split_columns(text, ",", 2)
    if found is None:
        return
    lines = text.splitlines(keepends=True)
    read = [(line, row) for line, row in enumerate(csv.reader(lines, strict=True), 1) if "".join(row).strip()]
    kept = [(line, row) for line, row in read if len(row) == 2]
    assert found[1:] == ([list(column) for column in zip(*(row for _, row in kept), strict=True)] or [[], []], [
        line for line, _ in kept
    ])  # fmt: skip
    assert found[0] == [",".join(row) for _, row in read if len(row) != 2]


@given(
    st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)), min_size=1, max_size=12),
    st.sampled_from(["%Y-%m-%d %H:%M:%S", "%Y/%m/%dT%H:%M", "%Y%m%d %H%M%S", "%d.%m.%Y %H:%M", "%Y-%m-%d"]),
    st.sampled_from(["", "Z", "+00:00", "+02:00"]),
    st.sampled_from([None, "UTC", "America/New_York"]),
)
def test_times_read_in_two_parts_are_those_read_one_by_one(
    moments: list[datetime], form: str, suffix: str, zone: str | None
) -> None:
    texts = [moment.strftime(form) + (suffix if "%H" in form else "") for moment in moments]
    options = DateOptions(zone=zone, order="dmy" if form.startswith("%d") else None)

    def read(values: list[str]) -> Any:
        try:
            return date_text.parse(values, range(len(values)), options)
        except oo.OpenOutcryError as error:
            return error.slug

    with pytest.MonkeyPatch.context() as patch:
        fast = read(texts)
        patch.setattr(SplitTimes, "iso", lambda *_, **__: None)
        assert read(texts) == fast


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000])
def test_epochs_are_times_or_days(unit: int) -> None:
    first = datetime(2024, 1, 1)
    seconds = [int((first - datetime(1970, 1, 1)).total_seconds()) + step for step in range(0, 7200, 60)]
    texts = [str(second * unit) for second in seconds]
    found = date_text.parse(texts, range(len(texts)))
    assert found.texts == [(first + timedelta(minutes=place)).isoformat() + "Z" for place in range(len(texts))]
    days = [str((seconds[0] + 86_400 * place) * unit) for place in range(9)]
    assert date_text.parse(days, range(9)).texts == [f"2024-01-0{place + 1}" for place in range(9)]


NUMBERS = st.from_regex(r"[+-]?\d{1,4}([.,]\d{1,4}){0,2}[.,]?", fullmatch=True) | st.just("")


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.sampled_from([".", ","]))
@example(["1.234,5", "1.234.567", ""], ",")
@example(["1,234.5", "-1,234,567", "+5."], ".")
def test_grouped_numbers_are_those_read_one_by_one(texts: list[str], decimal: str) -> None:
    def read() -> Any:
        try:
            return number_text.parse(texts, range(len(texts)), "close", decimal).tobytes()
        except oo.OpenOutcryError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        fast = read()
        patch.setattr(number_text, "_grouped_numbers", lambda *_: None)
        assert read() == fast


FRAME = pd.DataFrame(
    {
        "timestamp": [pd.Timestamp("2024-01-01") + pd.Timedelta(day, "D") for day in range(20) for _ in range(2)],
        "ticker": ["A", "B"] * 20,
        "Close": np.random.default_rng(0).uniform(50.0, 60.0, 40),
        "Volume": np.arange(100, 140),
        "note": [None, "x"] * 20,
    }
)
FRAMES: dict[str, Any] = {
    "pandas": FRAME,
    "categories": FRAME.assign(ticker=FRAME["ticker"].astype("category")),
    "objects": FRAME.astype({"ticker": object, "Volume": object}),
    "nullable": FRAME.astype({"Close": "Float64", "Volume": "Int64"}),
    "narrow": FRAME.astype({"Volume": "uint16"}),
    "zoned": FRAME.assign(timestamp=FRAME["timestamp"].dt.tz_localize("America/New_York")),
    "texts": FRAME.assign(timestamp=FRAME["timestamp"].dt.strftime("%d %b %Y")),
    "days": FRAME.assign(timestamp=FRAME["timestamp"].dt.date),
    "shuffled": FRAME.sample(frac=1.0, random_state=1),
    "polars": pl.from_pandas(FRAME),
    "polars categories": pl.from_pandas(FRAME).with_columns(pl.col("ticker").cast(pl.Categorical)),
    "polars days": pl.from_pandas(FRAME).with_columns(pl.col("timestamp").cast(pl.Date)),
    "arrow": pa.Table.from_pandas(FRAME),
    "arrow in chunks": pa.concat_tables([pa.Table.from_pandas(FRAME[:7]), pa.Table.from_pandas(FRAME[7:])]),
    "arrow dictionaries": pa.Table.from_pandas(FRAME.assign(ticker=FRAME["ticker"].astype("category"))),
    "arrow with a zone": pa.Table.from_pandas(
        FRAME.assign(timestamp=FRAME["timestamp"].dt.tz_localize("Asia/Tokyo"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_with_the_names_of_a_vendor_is_the_market_of_its_text(name: str) -> None:
    wanted = oo.Dataset.from_csv(FRAME.to_csv(index=False))
    assert wanted.symbols == ("A", "B")
    assert oo.Dataset.from_frame(FRAMES[name]) == wanted


def test_a_decimal_mark_of_numbers_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`decimal` must be left out for columns of numbers"):
        oo.Dataset.from_frame(FRAME, decimal=",")


def test_an_infinite_number_of_a_frame_is_refused_with_its_row() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`Close` on line 3 must be a finite number; received infinity"):
        oo.Dataset.from_frame(FRAME.assign(Close=[1.0, 2.0, 3.0, np.inf] * 10))


def test_more_columns_than_symbols_can_be_are_refused_at_once() -> None:
    head = ";".join(["Date", *(f"S{place}" for place in range(70_000))])
    with pytest.raises(oo.OpenOutcryError, match="at most 65536 columns are required; received 70001"):
        oo.Dataset.from_csv(f"{head}\n2024-01-01{';1' * 70_000}\n")


_LIMITS = """
import sys
import openoutcry as oo
market = oo.Dataset.from_csv(sys.argv[1], periods_per_year=525600.0, date_order="mdy")
# The peak that `getrusage` returns can be that of the parent.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(market.dates), peak)
"""


def test_ten_megabytes_of_a_vendor_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    write_vendor(tmp_path / "vendor.csv")
    command = [sys.executable, "-c", _LIMITS, str(tmp_path / "vendor.csv")]
    n_bars, kilobytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert int(n_bars) > 100_000
    assert int(kilobytes) < 1 << 20
