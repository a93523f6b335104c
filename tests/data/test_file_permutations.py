"""Test that no order of the rows of a labelled input changes its market."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.readers import text_table
from openoutcry.data.readers.file_content import text_of

DATA = Path(__file__).parent
DRAWS = settings(max_examples=count(500, 30))
FILES: dict[str, Any] = {
    f"{folder}/{name}": each.get("with_arguments", each)
    for folder in ("formats", "vendor_forms")
    for name, each in json.loads((DATA / folder / "expected.json").read_text(encoding="utf-8"))["files"].items()
    if "reading" in each.get("with_arguments", each) and Path(name).suffix in (".csv", ".txt", ".json")
}
ORDERS = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def keywords(name: str) -> dict[str, Any]:
    """Return the arguments of a sample; a number of bars per year where the dates do not show it."""
    named = dict(FILES[name]["arguments"])
    close = named.pop("close", None)
    named |= {} if close is None else {"columns": {"close": close}}
    # Few rows can show a calendar that all of them show, but no permutation changes what was stated.
    return {"periods_per_year": FILES[name]["reading"]["periods_per_year"] or 8760.0} | named


def shuffled_text(text: str, order: np.random.Generator) -> str:
    """Return a delimited text with the rows below its headers in another order."""
    table = text_table.take_header(text_table.parse(text))
    lines = text.splitlines()
    first_cells = ("ticker", "date")
    places = [
        line - 1
        for line, row in zip(table.lines, table.rows, strict=True)
        if not (table.names and row[0].strip().lower() in first_cells)
    ]
    moved = [lines[place] for place in order.permutation(places)]
    for place, line in zip(places, moved, strict=True):
        lines[place] = line
    return "\n".join(lines) + "\n"


def shuffled_json(value: Any, order: np.random.Generator) -> Any:
    """Return a JSON value with the rows of its lists and the objects by date in another order."""
    if isinstance(value, list) and value and all(isinstance(row, (dict, list)) for row in value):
        return [value[place] for place in order.permutation(len(value))]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    if all(key[:2] == "20" for key in keys):
        return {keys[place]: value[keys[place]] for place in order.permutation(len(keys))}
    lists = [column for column in value.values() if isinstance(column, list)]
    if len(lists) > 4 and len({len(column) for column in lists}) == 1:
        places = order.permutation(len(lists[0]))
        return {key: [of[place] for place in places] if isinstance(of, list) else of for key, of in value.items()}
    return {key: shuffled_json(of, order) for key, of in value.items()}


def shuffled(name: str, order: np.random.Generator) -> str:
    text = text_of((DATA / name).read_bytes(), name)[0]
    if text.startswith(("{", "[")):
        return json.dumps(shuffled_json(json.loads(text), order)) + "\n"
    return shuffled_text(text, order)


@DRAWS
@given(name=st.sampled_from(sorted(FILES)), order=ORDERS)
def test_no_order_of_the_rows_of_a_file_changes_its_market(name: str, order: np.random.Generator) -> None:
    options = keywords(name)
    if len(FILES[name]["reading"]["symbols"]) == 1:
        options.setdefault("symbol", FILES[name]["reading"]["symbols"][0])
    with contextlib.suppress(oo.OpenOutcryError):
        straight = oo.Dataset.from_csv(DATA / name, **options)
        assert oo.Dataset.from_csv(shuffled(name, order), **options).fingerprint == straight.fingerprint


@pytest.mark.parametrize("name", FILES)
def test_a_reversed_file_is_read_as_the_file(name: str) -> None:
    class Reversed:
        """Order of rows from the last to the first."""

        def permutation(self, rows: Any) -> Any:
            return list(range(rows))[::-1] if isinstance(rows, int) else rows[::-1]

    options: dict[str, Any] = keywords(name)
    text = shuffled(name, Reversed())  # type: ignore[arg-type]
    straight = oo.Dataset.from_csv(DATA / name, **options)
    if straight.symbols == (Path(name).stem,):
        options["symbol"] = Path(name).stem
    assert oo.Dataset.from_csv(text, **options).fingerprint == straight.fingerprint


def test_records_with_other_keys_have_the_same_columns_in_any_order() -> None:
    records = [{"date": f"2024-01-0{day}", ("QXB" if day == 2 else "QXA"): day, "QXC": 9 * day} for day in (2, 3, 4, 5)]
    straight = oo.Dataset.from_csv(json.dumps(records) + "\n")
    assert oo.Dataset.from_csv(json.dumps(records[::-1]) + "\n") == straight
    assert straight.symbols == ("QXA", "QXB", "QXC")


def frame(n_bars: int, seed: int, times: bool) -> pd.DataFrame:
    """Return a long frame of three symbols, one of which starts later."""
    days = pd.date_range("2024-01-01", periods=n_bars, freq="h" if times else "B")
    steps = np.random.default_rng(seed).normal(0, 0.01, (n_bars, 3))
    # Prices of one bar are closer to each other.
    walk = np.round(np.array([100, 200, 400]) * np.exp(np.cumsum(steps, axis=0)), 4)
    long = pd.DataFrame(walk, index=days, columns=["QXA", "QXB", "QXC"])
    long.iloc[: n_bars // 2, 2] = np.nan
    return long


@DRAWS
@given(n_bars=st.integers(3, 30), order=ORDERS, times=st.booleans(), form=st.sampled_from(["wide", "long", "ohlc"]))
def test_no_order_of_the_rows_of_a_table_changes_its_market(
    n_bars: int, order: np.random.Generator, times: bool, form: str
) -> None:
    wide = frame(n_bars, n_bars, times).rename_axis("date")
    table = wide.reset_index()
    if form != "wide":
        table = table.melt("date", var_name="symbol", value_name="close").dropna(ignore_index=True)
    if form == "ohlc":
        table = table.assign(Open=table["close"], High=table["close"] + 1, Low=table["close"] - 1, Volume=5.5)
    other = table.iloc[order.permutation(len(table))].reset_index(drop=True)
    straight = oo.Dataset.from_frame(table, 252)
    assert oo.Dataset.from_frame(other, 252) == straight
    assert oo.Dataset.from_csv(other.to_csv(index=False), 252) == straight
    if form == "wide":
        assert oo.Dataset.from_frame(other.set_index("date"), 252) == straight
    records = other.assign(date=other["date"].astype(str)).to_json(orient="records", double_precision=15)
    assert oo.Dataset.from_csv(records + "\n", 252) == straight


@pytest.mark.parametrize("form", ["plain", "options", "time"])
@pytest.mark.parametrize("missing", ["", "NaN"])
def test_a_symbol_that_is_listed_after_many_rows_is_read(form: str, missing: str) -> None:
    days = pd.bdate_range("2010-01-04", periods=1500)
    rows = [f"{day:%Y-%m-%d},{100 + k % 7},{missing if k < 1200 else 50 + k % 5}" for k, day in enumerate(days)]
    header = "time,OLD,NEW" if form == "time" else "date,OLD,NEW"
    options: Any = {"adjusted": "total"} if form == "options" else {}
    for order in (rows, rows[::-1], [*rows[1200:], *rows[:1200]]):
        dataset = oo.Dataset.from_csv("\n".join([header, *order]) + "\n", **options)
        assert dataset.symbols == ("OLD", "NEW")
        assert int(np.isfinite(dataset.close[:, 1]).sum()) == 300
        assert not [notice for notice in dataset.notices if "is text" in notice]


def test_codes_of_symbols_are_found_in_any_order() -> None:
    days = pd.bdate_range("2024-01-01", periods=1100)
    rows = [f"{day:%Y-%m-%d},{code},{10 + k % 7}" for code in (600001, "AAPL") for k, day in enumerate(days)]
    for order in (rows, rows[::-1]):
        dataset = oo.Dataset.from_csv("\n".join(["date,code,close", *order]) + "\n", 252, adjusted="total")
        assert dataset.symbols == ("600001", "AAPL")
