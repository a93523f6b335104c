"""File objects are read as their files are: from their position, to the same market, and they stay open."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import openoutcry as oo

TEXT = "date,symbol,close\n2024-01-02,A,1\n2024-01-03,A,2\n"
VENDOR = "Date;Close\n2024-01-02;1,5\n2024-01-03;2,5\n"


def zipped(path: Path) -> Any:
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        archive.writestr("prices.csv", path.read_bytes())
    return zipfile.ZipFile(path.with_suffix(".zip")).open("prices.csv")


def unzipped(path: Path, mode: str) -> Any:
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    return gzip.open(path.with_suffix(".csv.gz"), mode)


def temporary(path: Path) -> Any:
    file = tempfile.TemporaryFile()  # noqa: SIM115 the test closes it
    file.write(path.read_bytes())
    file.seek(0)
    return file


class Remote:
    """An object that has only `read`, as those of object stores."""

    def __init__(self, path: Path) -> None:
        self._file = io.BytesIO(path.read_bytes())

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, 7))


OBJECTS: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda path: path.open("rb"),
    "text": lambda path: path.open(encoding="utf-8"),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "StringIO": lambda path: io.StringIO(path.read_text(encoding="utf-8")),
    "gzip": lambda path: unzipped(path, "rb"),
    "gzip as text": lambda path: unzipped(path, "rt"),
    "gz in BytesIO": lambda path: io.BytesIO(gzip.compress(path.read_bytes())),
    "zip": zipped,
    "temporary": temporary,
    "only read": Remote,
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("text", [TEXT, VENDOR], ids=["plain", "vendor"])
def test_a_file_object_is_the_market_of_its_file(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text, encoding="utf-8")
    options: dict[str, Any] = {"symbol": "A"} if text == VENDOR else {}
    file = OBJECTS[kind](path)
    found = oo.Dataset.from_csv(file, **options)
    assert found == oo.Dataset.from_csv(path, **options)
    assert not getattr(file, "closed", False)
    assert found.name == ("prices" if hasattr(file, "name") and isinstance(file.name, str) else "unnamed")
    getattr(file, "close", lambda: None)()


def test_a_file_object_is_read_from_its_position_and_names_its_symbol(tmp_path: Path) -> None:
    path = tmp_path / "ABC.csv"
    path.write_text(f"a line above\n{VENDOR}", encoding="utf-8")
    with path.open("rb") as file:
        file.readline()
        assert oo.Dataset.from_csv(file).symbols == ("ABC",)
    with pytest.raises(oo.OpenOutcryError, match="a `symbol` is required"):
        oo.Dataset.from_csv(io.StringIO(VENDOR))


def test_parquet_and_lists_of_file_objects_are_read(tmp_path: Path) -> None:
    paths = [tmp_path / "A.parquet", tmp_path / "B.parquet"]
    for path in paths:
        pd.DataFrame({"date": ["2024-01-02", "2024-01-03"], "close": [1.0, 2.0]}).to_parquet(path)
    with paths[0].open("rb") as first, paths[1].open("rb") as second:
        for read in (oo.Dataset.from_parquet, oo.Dataset.from_csv):
            assert read(first) == read(paths[0])
            first.seek(0)
        assert oo.Dataset.from_csv([first, second]) == oo.Dataset.from_csv(paths)
        first.seek(0)
        assert oo.OpenOutcryEnv(first).dataset == oo.Dataset.from_csv(paths[0])
    content = paths[0].read_bytes()
    with pytest.raises(oo.OpenOutcryError, match="in a list must have a `name`"):
        oo.Dataset.from_csv([io.BytesIO(content), io.BytesIO(content)])


class Failing:
    """An object whose `read` gives a value, or raises it."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def read(self, _: int) -> Any:
        if isinstance(self._value, BaseException):
            raise self._value
        return self._value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "must have content after its position; .*hint: `.seek"),
        (7, "must return text or bytes; received int"),
        (EOFError("ended"), "a complete archive is required"),
        (io.UnsupportedOperation("not readable"), 'must be open for reading; .*hint: `open.PATH, "rb"'),
    ],
)
def test_what_cannot_be_read_is_refused(value: Any, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message):
        oo.Dataset.from_csv(Failing(value))


def test_errors_of_the_object_propagate_and_closed_or_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="lost"):
        oo.Dataset.from_csv(Failing(ConnectionError("lost")))
    with (tmp_path / "a.csv").open("w") as file, pytest.raises(oo.OpenOutcryError, match="must be open for reading"):
        oo.Dataset.from_csv(file)
    with pytest.raises(oo.OpenOutcryError, match="must be an open file"):
        oo.Dataset.from_csv(file)


def test_a_parquet_file_as_text_is_refused_with_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "A.parquet"
    pd.DataFrame({"date": ["2024-01-02", "2024-01-03"], "close": [1.0, 2.0]}).to_parquet(path)
    with path.open(encoding="ascii") as file, pytest.raises(oo.OpenOutcryError, match=r'hint: open it .*, "rb"'):
        oo.Dataset.from_parquet(file)
    with pytest.raises(oo.OpenOutcryError, match=r"a complete Parquet file is required; received '\.StringIO'"):
        oo.Dataset.from_parquet(io.StringIO("PAR1"))
