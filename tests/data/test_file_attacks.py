"""Attacks on the reader of files: each is refused with a reason, before memory or time is used."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
from pathlib import Path

import pytest

import openoutcry as oo
from openoutcry.data.market_source import open_market
from openoutcry.data.readers import file_content

ZEROS = b"0" * (16 << 20)


def zipped(content: bytes, name: str = "prices.csv") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.zip", "a.xlsx", "a.market.gz"])
def test_a_decompression_bomb_is_refused_before_memory_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_content, "SMALL_BYTES", 1 << 20)
    monkeypatch.setattr(file_content, "MAX_BYTES", 1 << 20)
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lambda each: lzma.compress(each, preset=0), "zip": zipped}
    suffix = name.rpartition(".")[2]
    path = tmp_path / name
    path.write_bytes(zipped(ZEROS, "[Content_Types].xml") if suffix == "xlsx" else pack[suffix](ZEROS))
    tracemalloc.start()
    try:
        with pytest.raises(oo.OpenOutcryError, match="at most 1048576 bytes of prices.*; hint: decompress it") as error:
            open_market(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert error.value.slug == "dataset_too_large"


def test_the_limit_of_an_archive_follows_its_size() -> None:
    megabyte, limit = 1 << 20, file_content._most_bytes
    assert limit(100) == 64 * megabyte
    assert limit(megabyte) == 200 * megabyte
    # A large archive of prices is read, since its ratio is plausible.
    assert limit(8 * megabyte) == 1024 * megabyte
    assert limit(100 * megabyte) == 3000 * megabyte


def test_an_archive_within_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outer.zip"
    path.write_bytes(zipped(zipped(b"date,close\n"), "inner.zip"))
    with pytest.raises(oo.OpenOutcryError, match="received a zip in 'outer.zip'; hint: unpack it"):
        oo.Dataset.from_csv(path)
