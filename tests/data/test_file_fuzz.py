"""Test that no content of a file crashes the reader: it is read, or refused with a slug."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import openoutcry as oo

FOLDERS = [Path(__file__).parent / name for name in ("formats", "vendor_forms")]
NO_SAMPLES = ("expected.json", "README.md")
SAMPLES = [path.read_bytes() for folder in FOLDERS for path in sorted(folder.iterdir()) if path.name not in NO_SAMPLES]
# Texts that have crashed a reader, or needed quadratic time.
HOSTILE = {
    "deep JSON": "[" * 100_000 + "\n",
    "empty rows of JSON": "[[], []]\n",
    "an unfinished quote": 'date,close\n2024-01-02,"1\n',
    "a year that overflows": "Date,Close\n0001-01-01T01:00:00+05:00,1\n0001-01-02T01:00:00+05:00,2\n",
    "blanks in a number": f"Date,Close\n2024-01-02,1{' ' * 100_000}x\n2024-01-03,2\n",
    "blanks in a date": f"Date,Close\n2024-01-02T{' ' * 100_000}x,1\n2024-01-03,2\n",
    "many columns of one name": f"{','.join(['close'] * 20_000)}\n{','.join(['1'] * 20_000)}\n",
    "a long field": f"Date,Close\n{'9' * 200_000},1\n",
    "an offset that does not exist": "Date,Close\n2024-01-02 10:00:00+99:99,1\n2024-01-03 10:00:00+99:99,1\n",
    "nothing but separators": ",,,\n,,,\n;;\n",
}


def read(content: bytes, folder: Path) -> None:
    """Read a file; anything but a market or a refusal propagates."""
    path = folder / "sample.csv"
    path.write_bytes(content)
    with contextlib.suppress(oo.OpenOutcryError):
        oo.Dataset.from_csv(path, symbol="A")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_at_once(name: str, tmp_path: Path) -> None:
    start = time.process_time()
    with pytest.raises(oo.OpenOutcryError):
        oo.Dataset.from_csv(HOSTILE[name], symbol="A")
    # Quadratic time would take minutes.
    assert time.process_time() - start < 5.0


@given(content=st.binary(max_size=400))
def test_no_bytes_crash_the_reader(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    read(content, tmp_path_factory.getbasetemp())


@given(text=st.text(st.sampled_from("0123456789-:/., ;\t\n\"'TZ+abcdeoDateClosePrice[]{}$%KM"), max_size=300))
def test_no_text_crashes_the_reader(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    read(("Date,Close\n" + text).encode(), tmp_path_factory.getbasetemp())


@given(data=st.data())
def test_no_edit_of_a_sample_crashes_the_reader(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 30))
        content[place : place + length] = data.draw(
            st.binary(max_size=6) | st.sampled_from([b",", b"\n", b'"', b"NaN"])
        )
    read(bytes(content), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_samples_are_those_of_the_list(folder: Path) -> None:
    listed = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["files"]
    assert set(listed) == {path.name for path in folder.iterdir()} - set(NO_SAMPLES)
