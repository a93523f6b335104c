"""The cache of commands: a second command does not parse, and no entry is trusted."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import openoutcry as oo
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


def signed(head: object, market: bytes) -> bytes:
    """Return an entry with a valid digest."""
    body = json.dumps(head).encode() + b"\n" + market
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_an_entry_of_another_market_is_not_used(cache: Path, prices: Path) -> None:
    first = check(prices)
    (entry,) = entries(cache)
    whole = entry.read_bytes()
    other = oo.Dataset.from_csv("date,symbol,close\n2024-01-02,A,1\n2024-01-03,A,900\n").to_bytes()
    # The entry of another file under this name, with its own key or in the form before keys.
    for head in (["0" * 64, [], []], [[], []]):
        entry.write_bytes(signed(head, other))
        assert check(prices) == first
        assert entry.read_bytes() == whole


HEADS = (1, None, [1, 2], {}, [[], [[1, 2, 3]]], ["", 1, []], ["", [], [1]], ["", [], [["a"]]], ["", [3], []], [[]] * 3)


@pytest.mark.parametrize("head", HEADS, ids=map(repr, HEADS))
def test_an_entry_of_another_form_is_not_used(head: object, tmp_path: Path) -> None:
    market = oo.Dataset.synthetic(1, 30).to_bytes()
    entry = tmp_path / "a.entry"
    entry.write_bytes(signed(head, market))
    assert market_cache._load(entry, "") is None
    entry.write_bytes(signed(["", [], []], market))
    assert market_cache._load(entry, "") is not None
    entry.write_bytes(signed(["", [], []], market[:-1]))
    assert market_cache._load(entry, "") is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("what", ["folder", "entry", "a link", "a pipe"])
def test_what_others_can_write_is_not_used(what: str, cache: Path, prices: Path, tmp_path: Path) -> None:
    first = check(prices)
    (entry,) = entries(cache)
    market_cache._say_unsafe.cache_clear()
    if what in ("folder", "entry"):
        (cache if what == "folder" else entry).chmod(0o777)
    else:
        moved = entry.rename(tmp_path / "moved")
        entry.symlink_to(moved) if what == "a link" else os.mkfifo(entry)
    if entry.is_file():
        os.utime(entry, (0, 0))
    found = CliRunner().invoke(app, ["data", "check", str(prices), "--json"])
    assert json.loads(found.stdout) == first
    if what == "folder":
        assert entry.stat().st_mtime == 0, "the entry was not used"
        assert f"other users can write '{cache}'; hint: `chmod go-w {cache}`" in found.stderr
    else:
        # Another file of the user replaces it.
        assert entry.stat().st_mode & 0o177 == 0
        assert entry.stat().st_mtime > 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such owners")
def test_the_folder_of_another_user_is_not_used(cache: Path, prices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(prices)
    (entry,) = entries(cache)
    os.utime(entry, (0, 0))
    market_cache._say_unsafe.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: entry.stat().st_uid + 1)
    done = CliRunner().invoke(app, ["data", "check", str(prices), "--json"])
    assert done.exit_code == 0
    assert entry.stat().st_mtime == 0


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
