"""Chained logs: appended records persist, and tampering is detected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.records.chained_lines import Draft, is_truncated, record_of
from openoutcry.records.chained_log import ChainedLog, Link, iterate, scan, verify

pytestmark = pytest.mark.once

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))


def ticking() -> Callable[[], str]:
    ticks = count()
    return lambda: f"2024-01-01T00:00:{next(ticks) % 60:02}Z"


def log_at(path: Path, session: str = "s1") -> ChainedLog:
    return ChainedLog(path, session=session, clock=ticking())


PAYLOADS: list[dict[str, Any]] = [
    {"a": 1},
    {"text": 'é "},{" \\ \u2028\n\x7f😀', "deep": [{"x": [1.5e-7, 1e21, -0.0, None, True]}]},
    {"prev_hash": "0" * 64, "seq": 1, "v": 1, "event": "x", "hash": "f" * 64},
    {},
]


def test_a_record_has_the_members_of_a18_and_its_hash_is_of_all_others(tmp_path: Path) -> None:
    """A18."""
    with log_at(tmp_path / "log.jsonl") as log:
        made = [log.append("trial", payload) for payload in PAYLOADS]
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(line) for line in lines] == made
    previous = "0" * 64
    for place, (line, record) in enumerate(zip(lines, made, strict=True)):
        assert set(record) == {"v", "seq", "ts", "session_id", "event", "prev_hash", "hash", "payload"}
        assert (record["v"], record["seq"], record["prev_hash"]) == (1, place, previous)
        assert line.decode() == native.canonicalize(line.decode()) + "\n"
        body = {name: value for name, value in record.items() if name != "hash"}
        assert sha256(native.canonicalize(json.dumps(body)).encode()).hexdigest() == record["hash"]
        previous = record["hash"]
    assert [record for _, record in iterate(tmp_path / "log.jsonl")] == made
    found = verify(tmp_path / "log.jsonl", head=made[1]["hash"])
    assert (found.is_intact, found.n_records, found.n_torn, found.head) == (True, 4, 0, Link(4, previous))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=4))
@settings(max_examples=2_000 if FULL else 100)
def test_a_line_is_the_canonical_json_of_its_record(payload: dict[str, Any]) -> None:
    line, digest = Draft("trial", payload).line((7, "a" * 64), "s", "2024-01-01T00:00:00Z")
    assert native.canonicalize(line) + "\n" == line
    record = record_of(line[:-1].encode())
    assert record is not None
    assert record["payload"] == payload
    assert record["hash"] == digest
    for cut in range(1, len(line) - 2, 7):
        assert is_truncated(line[:cut].encode())
        assert record_of(line[:cut].encode()) is None


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"a": {"b": [0.0, float("nan")]}}, r"`payload\.a\.b\[1\]` must be finite; received nan"),
        ({"a": float("inf")}, "must be finite; received inf"),
        ({"a": 2**53 + 1}, r"must lie within 2\^53 of 0"),
        ({1: 2}, "must be texts; received 1"),
        ({"a": {1, 2}}, "must be a JSON value; received set"),
        ({"a": b""}, "must be a JSON value; received bytes"),
        ({"a": "\ud800"}, "must be valid Unicode"),
        ([], "`payload` must be an object; received list"),
        ({"a": "x" * (32 * 2**20)}, "must take at most"),
    ],
)
def test_a_payload_that_is_not_json_is_refused_before_anything_is_written(
    tmp_path: Path, payload: Any, message: str
) -> None:
    log = log_at(tmp_path / "log.jsonl")
    log.append("trial", {"a": 1})
    before = log.path.read_bytes()
    with pytest.raises(oo.OpenOutcryError, match=message) as caught:
        log.append_all([("trial", {"a": 2}), ("trial", payload)])
    assert caught.value.slug == "argument_invalid"
    assert log.path.read_bytes() == before


def test_nesting_beyond_the_limit_of_readers_is_refused(tmp_path: Path) -> None:
    nested: Any = 1
    for _ in range(70):
        nested = [nested]
    with pytest.raises(oo.OpenOutcryError, match="at most 64 levels"):
        log_at(tmp_path / "log.jsonl").append("trial", {"a": nested})


@pytest.mark.parametrize("session", ["", "a b", 'a"', "a\n", "é", 7])
def test_a_session_that_would_need_escapes_is_refused(tmp_path: Path, session: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`session` must match"):
        ChainedLog(tmp_path / "log.jsonl", session=session)


# Tampering


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("chain") / "log.jsonl"
    log_at(path).append_all([("trial", payload) for payload in PAYLOADS])
    return path.read_bytes()


def is_detected(content: bytes, path: Path) -> bool:
    path.write_bytes(content)
    return not verify(path).is_intact


@pytest.mark.once
def test_every_change_of_one_byte_is_detected(log: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert not is_detected(log, path)
    others = [*b'"{}[],:\\0a1\n\0x ', 255]
    # Readers do not depend on the end of the last line.
    missed = [
        (at, byte)
        for at in range(0, len(log) - 1, 1 if FULL else 17)
        for byte in others
        if byte != log[at] and not is_detected(log[:at] + bytes([byte]) + log[at + 1 :], path)
    ]
    assert missed == []


@pytest.mark.once
def test_every_change_of_a_byte_of_the_last_line_is_detected(log: bytes, tmp_path: Path) -> None:
    path, start = tmp_path / "log.jsonl", log[:-1].rindex(b"\n") + 1
    last = log[start:]
    for at in range(len(last) - 1):
        for byte in b'"{}[],:\\0a1\n\0x ' if FULL else b'"}0\0':
            if byte != last[at]:
                assert is_detected(log[:start] + last[:at] + bytes([byte]) + last[at + 1 :], path), (at, byte)


def test_deleted_inserted_and_moved_lines_are_detected(log: bytes, tmp_path: Path) -> None:
    path, lines = tmp_path / "log.jsonl", log.splitlines(keepends=True)
    for one in range(4):
        if one < 3:
            assert is_detected(b"".join(lines[:one] + lines[one + 1 :]), path)
        assert is_detected(b"".join([*lines[:one], lines[one], *lines[one:]]), path)
        assert is_detected(b"".join([*lines[:one], b"\n", *lines[one:]]), path)
        assert is_detected(b"".join([*lines[:one], b"{}\n", *lines[one:]]), path)
        for other in range(one):
            moved = list(lines)
            moved[one], moved[other] = lines[other], lines[one]
            assert is_detected(b"".join(moved), path)


def test_an_anchor_detects_a_truncated_or_rewritten_log(log: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log)
    head = verify(path).head.hash
    path.write_bytes(b"".join(log.splitlines(keepends=True)[:-1]))
    assert verify(path).is_intact
    assert [fault.what for fault in verify(path, head=head).faults] == [f"the record {head} is missing"]
    path.unlink()
    log_at(path, "other").append("trial", {"a": 1})
    assert (verify(path).is_intact, verify(path, head=head).is_intact) == (True, False)
    assert not verify(tmp_path / "gone.jsonl", head=head).is_intact


# Truncated ends


def test_the_chain_continues_past_a_truncated_record_without_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log_at(path).append_all([("trial", payload) for payload in PAYLOADS])
    whole = path.read_bytes()
    start = whole[:-1].rindex(b"\n", 0, whole[:-1].rindex(b"\n")) + 1
    for cut in range(start, len(whole) + 1, 1 if FULL else 7):
        for zeros in (b"", b"\0" * 5):
            path.write_bytes(whole[:cut] + zeros)
            ends = record_of(whole[:cut].split(b"\n")[-1]) is not None
            if zeros and (ends or whole[cut : cut + 2] == b"}\n"):
                continue
            n_before = verify(path).n_records
            n_torn = verify(path).n_torn
            assert n_torn == (0 if ends or (not zeros and whole[:cut].endswith(b"\n")) else 1)
            log_at(path, "s2").append("trial", {"next": True})
            found = verify(path)
            assert (found.is_intact, found.n_records, found.n_torn) == (True, n_before + 1, n_torn), cut


def test_a_writer_continues_after_records_and_truncated_lines_of_others(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    one, two = log_at(path, "one"), log_at(path, "two")
    for number in range(3):
        assert one.append("trial", {"n": number})["seq"] == 2 * number
        with path.open("ab") as file:
            file.write(b'{"event":"tr')
        assert two.append("trial", {"n": "x" * 200_000})["seq"] == 2 * number + 1
    assert (verify(path).n_torn, verify(path).n_records, verify(path).is_intact) == (3, 6, True)
    assert one.link() == two.link() == verify(path).head


def test_the_chain_continues_past_a_changed_end_with_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log_at(path).append_all([("trial", {"n": number}) for number in range(3)])
    path.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":7'))
    log_at(path).append("trial", {"n": 3})
    assert [fault.what for fault in verify(path).faults] == ["the line is not what was written"]
    assert [line.fault for line in scan(path)] == [None, None, "changed", None]


@pytest.mark.parametrize("how", ["cut", "removed", "replaced"])
def test_a_log_truncated_or_replaced_under_its_writer_is_refused(tmp_path: Path, how: str) -> None:
    log = log_at(tmp_path / "log.jsonl")
    log.append_all([("trial", {"n": number}) for number in range(3)])
    content = log.path.read_bytes()
    if how == "cut":
        os.truncate(log.path, 100)
    else:
        log.path.unlink()
    if how == "replaced":
        log.path.write_bytes(content + content)
    with pytest.raises(oo.OpenOutcryError, match="a log must only grow while it is open"):
        log.append("trial", {"n": 3})


# Schema evolution


def test_unknown_members_and_later_versions_are_valid_records(tmp_path: Path) -> None:
    record = {"v": 2, "seq": 0, "ts": "later", "session_id": "s", "event": "new.kind", "prev_hash": "0" * 64}
    record |= {"payload": {"a": 1}, "host": {"name": "x"}}
    record["hash"] = sha256(native.canonicalize(json.dumps(record)).encode()).hexdigest()
    path = tmp_path / "log.jsonl"
    path.write_text(native.canonicalize(json.dumps(record)) + "\n", encoding="utf-8")
    assert log_at(path).append("trial", {"b": 2})["prev_hash"] == record["hash"]
    found = verify(path)
    assert (found.is_intact, found.n_records) == (True, 2)
    assert next(iterate(path))[1]["host"] == {"name": "x"}
    path.write_bytes(path.read_bytes().replace(b'"host":{"name":"x"}', b'"host":{"name":"y"}'))
    assert not verify(path).is_intact


@pytest.mark.parametrize("line", [b"[" * 5_000, b"[]", b"7", b"\xff\xfe", b'{"event":"trial"}', b'{"hash":1}'])
def test_invalid_lines_are_faults_and_are_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line + b"\n")
    log_at(path).append("trial", {"n": 0})
    assert [record["payload"] for _, record in iterate(path)] == [{"n": 0}]
    assert len(verify(path).faults) == 1


# Many writers


def _append(path: Path, name: str, n: int) -> None:
    log = ChainedLog(path, session=name)
    for number in range(n):
        log.append("trial", {"n": number}, sync=False)


@pytest.mark.once
def test_eight_writers_lose_no_record_and_the_chain_is_intact(tmp_path: Path) -> None:
    n = 5_000 if FULL else 100
    path = tmp_path / "log.jsonl"
    with get_context("spawn").Pool(8) as pool:
        pool.starmap(_append, [(path, f"w{number}", n) for number in range(8)])
    found = verify(path)
    assert (found.is_intact, found.n_records, found.n_torn) == (True, 8 * n, 0)
    by_session: dict[str, list[int]] = {}
    for _, record in iterate(path):
        by_session.setdefault(record["session_id"], []).append(record["payload"]["n"])
    assert by_session == {f"w{number}": list(range(n)) for number in range(8)}


def test_threads_and_forks_share_a_log(tmp_path: Path) -> None:
    log = log_at(tmp_path / "log.jsonl")
    threads = [
        threading.Thread(target=lambda: [log.append("trial", {"n": n}, sync=False) for n in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = verify(log.path)
    assert (found.is_intact, found.n_records) == (True, 200)


WRITER = """
import sys
from openoutcry.records.chained_log import ChainedLog
log = ChainedLog(sys.argv[1], session=sys.argv[2])
n = 0
while True:
    log.append("trial", {"n": n, "text": "x" * 5_000}, sync=False)
    n += 1
"""


@pytest.mark.once
def test_a_log_continues_after_its_writer_is_killed(tmp_path: Path) -> None:
    path, n_kills = tmp_path / "log.jsonl", 50 if FULL else 4
    for number in range(n_kills):
        size = path.stat().st_size if path.exists() else 0
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"w{number}"]) as writer:
            while not path.exists() or path.stat().st_size < size + 50_000:
                assert writer.poll() is None
            writer.send_signal(signal.SIGKILL)
    log_at(path, "last").append("trial", {"n": 0})
    found = verify(path)
    assert found.is_intact
    by_session: dict[str, list[int]] = {}
    for _, record in iterate(path):
        by_session.setdefault(record["session_id"], []).append(record["payload"]["n"])
    assert set(by_session) == {*(f"w{number}" for number in range(n_kills)), "last"}
    assert all(numbers == list(range(len(numbers))) for numbers in by_session.values())


def test_a_full_disk_leaves_the_log_unchanged(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "log.jsonl"
    log_at(path).append("trial", {"n": 0})
    before = path.read_bytes()
    code = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
    code += "from openoutcry.records.chained_log import ChainedLog;"
    code += "ChainedLog(%r, session='x').append('trial', {'n': 'x' * 5000})"
    done = subprocess.run([sys.executable, "-c", code % str(path)], capture_output=True, text=True, check=False)
    assert resource.RLIMIT_FSIZE is not None
    assert "File too large" in done.stderr
    assert path.read_bytes() == before
