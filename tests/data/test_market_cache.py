"""The cache of commands: a second command does not parse, and no entry is trusted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from openoutcry.cli.commands import app
from openoutcry.data import market_cache

ROWS = [f"{year}-{month:02}-{day:02},A,{year + day}.5,100" for year in range(1990, 2024) for month in range(1, 13)
        for day in range(1, 29)]  # fmt: skip
TEXT = "\n".join(["date,symbol,close,volume", *ROWS, ""])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(market_cache.VARIABLE, str(folder))
    return folder


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text(TEXT, encoding="utf-8")
    assert path.stat().st_size > market_cache.SMALLEST
    return path


def check(path: Path, *words: str) -> dict[str, object]:
    done = CliRunner().invoke(app, ["data", "check", str(path), "--json", *words])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.entry"))


def test_a_second_command_reads_the_entry_of_the_first(cache: Path, prices: Path) -> None:
    first = check(prices)
    (entry,) = entries(cache)
    assert entry.stat().st_mode & 0o077 == 0
    os.utime(entry, (0, 0))
    assert check(prices) == first
    assert entry.stat().st_mtime > 0, "the entry was used"
    described = CliRunner().invoke(app, ["data", "describe", str(prices), "--json"])
    assert json.loads(described.stdout)["fingerprint"] == first["fingerprint"]
    assert entries(cache) == [entry]


@pytest.mark.parametrize("damage", ["a bit", "the end", "all"])
def test_a_damaged_entry_is_written_again(damage: str, cache: Path, prices: Path) -> None:
    first = check(prices)
    (entry,) = entries(cache)
    whole = entry.read_bytes()
    bit = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    entry.write_bytes({"a bit": bit, "the end": whole[:-9], "all": b""}[damage])
    assert check(prices) == first
    assert entry.read_bytes() == whole


def test_another_content_name_or_option_is_another_entry(cache: Path, prices: Path) -> None:
    first = check(prices)
    assert check(prices, "--periods-per-year", "300")["fingerprint"] != first["fingerprint"]
    prices.write_text(TEXT.replace("1991.5", "1991.25"), encoding="utf-8")
    changed = check(prices)
    assert changed["fingerprint"] != first["fingerprint"]
    check(prices.rename(prices.with_name("other.csv")))
    assert len(entries(cache)) == 4


def test_the_cache_keeps_a_limited_number_of_entries(
    cache: Path, prices: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(market_cache, "MOST_ENTRIES", 3)
    for place in range(5):
        check(prices, "--periods-per-year", str(250 + place))
        for entry in entries(cache):
            os.utime(entry, ns=(0, entry.stat().st_mtime_ns - 10**9))
    assert len(entries(cache)) == 3


@pytest.mark.parametrize("place", ["off", "a file"])
def test_without_a_folder_the_file_is_read(
    place: str, prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file in place of the folder cannot be written into, by any user.
    monkeypatch.setenv(market_cache.VARIABLE, "off" if place == "off" else str(prices))
    assert check(prices)["fingerprint"]
    assert list(tmp_path.iterdir()) == [prices]


def test_a_small_file_has_no_entry(cache: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    small.write_text(TEXT[:2000].rpartition("\n")[0], encoding="utf-8")
    check(small)
    assert not cache.exists()


def test_the_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(market_cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert market_cache.folder() == tmp_path / "openoutcry"
    # A relative folder is invalid by the specification of XDG.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert market_cache.folder() == tmp_path / ".cache" / "openoutcry"
