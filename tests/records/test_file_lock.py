"""Locks between processes: every wait ends, and its error names the holder."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger_runs import ledger_run, market

import openoutcry as oo
from openoutcry.errors import OpenOutcryError
from openoutcry.ledger import Ledger
from openoutcry.records.chained_log import ChainedLog
from openoutcry.records.file_lock import VARIABLE, holder_of, lock_file, lock_seconds
from openoutcry.scoring.evaluation_journal import Journal

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.once

HOLD = (
    "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print(flush=True); input()"
)


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Lock a file from another process, which can only read it."""
    path.touch()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def lock_of(folder: Path) -> None:
    with lock_file(folder / "lock"):
        pass


def ledger(folder: Path) -> None:
    with Ledger(folder) as opened:
        opened.add([ledger_run(1)])


def log(folder: Path) -> None:
    ChainedLog(folder / "lock", session="a").append("e", {})


def log_end(folder: Path) -> None:
    ChainedLog(folder / "lock", session="a").link()


def journal(folder: Path) -> None:
    Journal(folder, {}, resume=True)


@pytest.mark.parametrize("use", [lock_of, ledger, log, log_end, journal])
def test_a_held_lock_is_an_error_in_time_that_names_its_process(
    use: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0.2")
    with held(tmp_path / "lock") as process:
        started = time.monotonic()
        with pytest.raises(oo.OpenOutcryError) as caught:
            use(tmp_path)
        assert time.monotonic() - started < 2.0
    holder = rf"which process {process}( \(\S+\))? on this machine holds; hint: wait for that process"
    if Path("/proc/locks").exists():
        assert re.search(holder, str(caught.value))
    assert str(tmp_path / "lock") in str(caught.value)


def test_a_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "20")
    with held(tmp_path / "lock") as process:
        os.kill(process, 9)
        lock_of(tmp_path)


def test_a_lock_states_its_holder_while_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock_file(path):
        assert path.read_text() == f"{os.getpid()} {socket.gethostname()}\n"
        assert f"process {os.getpid()}" in holder_of(path)
    assert path.read_text() == ""


def test_the_holder_on_another_machine_is_read_from_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("123 node-7.example.org\n")
    assert holder_of(path) == "process 123 on node-7.example.org"
    path.write_text("123 \x1b[31mnode\n")
    assert holder_of(path) == holder_of(tmp_path / "absent") == "a process that the system does not name"


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
def test_another_time_must_be_a_number(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(oo.OpenOutcryError, match=f"`{VARIABLE}` must be a number of seconds"):
        lock_seconds()


def test_a_locked_index_is_an_error_that_names_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openoutcry.ledger.sqlite_index._LOCK_SECONDS", 0.2)
    with Ledger(tmp_path) as opened, Ledger(tmp_path) as second:
        opened.add([ledger_run(1)])
        second.count(market())
        writer = sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        # Only the log: the index is locked.
        opened._segments.append_all([("run", ledger_run(2).to_json())])
        with pytest.raises(oo.OpenOutcryError, match=r"the index .* must be free within"):
            second.count(market())
        writer.close()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="Windows locks nothing")
def test_a_lock_is_no_link_folder_or_pipe(tmp_path: Path) -> None:
    """A link would empty the file that it leads to."""
    target = tmp_path / "target"
    target.write_text("content")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "dangling").symlink_to(tmp_path / "created")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "folder", "pipe"):
        with pytest.raises(OpenOutcryError, match=f"a lock must be a file.*{name}"), lock_file(tmp_path / name):
            pass
    assert target.read_text() == "content"
    assert not (tmp_path / "created").exists()


def test_a_file_with_the_name_of_a_lock_keeps_its_content(tmp_path: Path) -> None:
    """A ledger may be in a folder with other files, as with `--ledger-dir .`."""
    path = tmp_path / "lock"
    for content in ("content", "12 host\nmore\n"):
        path.write_text(content)
        with lock_file(path):
            assert path.read_text() == content
        assert path.read_text() == content


def test_the_holder_of_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert holder_of(tmp_path / "pipe") == "a process that the system does not name"
