"""Journals of evaluations on disk, from which an interrupted evaluation resumes."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO

from openoutcry import openoutcry_py as native
from openoutcry.agents import Answer
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.records.file_lock import lock_file
from openoutcry.records.line_sink import LineSink, check_same_file, lines_of
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, RECORD_BYTES, read_bytes

_ABOUT, _LOCK = "evaluation.json", "lock"
_SYNC_SECONDS = 1.0


def journal_of(record: str | os.PathLike[str]) -> Path:
    """Return the journal folder of a record: its name with `.parts` appended."""
    path = Path(record)
    return path.with_name(f"{path.name}.parts")


class Journal:
    """A folder with one file per run of an evaluation, each a record in JSON lines.

    A decision is written before it is executed. A resumed evaluation skips completed runs, and replays the logged
    decisions of an interrupted run before it calls the agent again.

    Args:
        folder: The folder. `remove` deletes it once the record is written elsewhere.
        about: JSON-compatible description of the evaluation; a resumed evaluation must have the same one.
        resume: Continue the evaluation in the folder.

    Raises:
        OpenOutcryError: `argument_invalid`: the folder exists and `resume` is False, or is missing and `resume` is
            True; it holds another evaluation; or another process has locked it.
    """

    def __init__(self, folder: str | os.PathLike[str], about: Mapping[str, Any], *, resume: bool = False) -> None:
        self._folder = Path(folder)
        self._about = dict(about)
        if self._folder.exists() and not resume:
            wanted = "a journal folder that does not exist yet is required"
            raise refusal("argument_invalid", f"{wanted}; received '{folder}'; hint: resume it, or remove it")
        if resume and not self._folder.exists():
            # A fresh start under a mistyped name would show the agent all windows a second time.
            wanted = "the journal folder of an interrupted evaluation is required to resume it"
            raise refusal("argument_invalid", f"{wanted}; received '{folder}', which does not exist")
        self._folder.mkdir(exist_ok=True)
        self._lock = self._acquire_lock()
        try:
            self._check()
        except BaseException:
            self._lock.close()
            raise

    def _acquire_lock(self) -> ExitStack:
        """Return the lock of the folder, held until it is closed."""
        lock = ExitStack()
        wanted = "a journal folder that no other process uses is required"
        lock.enter_context(lock_file(self._folder / _LOCK, wanted, seconds=0.0))
        return lock

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def _check(self) -> None:
        place = self._folder / _ABOUT
        if not place.exists():
            # Atomic: a crash leaves either the complete file or none.
            staging = place.with_suffix(".tmp")
            staging.write_text(json.dumps(self._about, indent=1), encoding="utf-8")
            staging.replace(place)
            return
        stored = self._stored_about(place)
        for name in sorted({*stored, *self._about}):
            if stored.get(name) != self._about.get(name):
                wanted = f"a resumed evaluation must keep its `{name}`, {stored.get(name)!r}"
                raise refusal("argument_invalid", f"{wanted}; received {self._about.get(name)!r}")

    def _stored_about(self, place: Path) -> dict[str, Any]:
        try:
            stored = json.loads(read_bytes(place, DOCUMENT_BYTES, f"`{_ABOUT}`"))
        except OpenOutcryError:
            raise
        except ValueError:
            stored = None
        if isinstance(stored, dict):
            return stored
        wanted = f"an interrupted evaluation must have an intact `{_ABOUT}`"
        raise refusal("argument_invalid", f"{wanted}; received '{place}', which is truncated")

    def part(self, run: int) -> Part:
        """Return the journal file of a run, by its index in the record."""
        return Part(self._folder / f"{run:05}.jsonl", self._about["agent"], self._about["in_sample_trials"])

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder)


class Part(LineSink):
    """The journal file of one run: completed, interrupted or not started."""

    def __init__(self, path: Path, agent_id: str, in_sample_trials: int) -> None:
        self._path = path
        self._agent_id = agent_id
        self._trials = in_sample_trials
        self._lines: deque[str] = deque()
        self._file: BinaryIO | None = None
        self._synced = 0.0
        self.record: RunRecord | None = None
        """The run, if it is completed."""
        self.answers: list[Answer] = []
        """The logged decisions, if the run was interrupted."""
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = read_bytes(self._path, RECORD_BYTES, "the journal of a run")
        complete = content[: content.rfind(b"\n") + 1]
        if not complete:
            return
        stored = RunRecord(native.Record.from_lines(complete))
        if stored.unfinished is None and len(stored) == 1:
            self.record = stored
            return
        self._lines.extend(lines_of(complete.decode("utf-8"))[1:])
        if len(stored):
            self.answers = [Answer(text, fault) for text, fault in stored._core.decisions[0]]

    def write_line(self, line: str) -> None:
        """Write a line of the run, or check that it equals the logged one."""
        file = self._file or self._open()
        if self._lines:
            if (logged := self._lines.popleft()) != line:
                wanted = f"a resumed run must repeat its logged line {logged[:200]!r}"
                raise refusal("argument_invalid", f"{wanted}; received {line[:200]!r}")
            return
        file.write(line.encode())
        file.flush()
        # Flushed to the operating system at once, to the disk every second: a power cut loses one second at most.
        if monotonic() - self._synced > _SYNC_SECONDS:
            self._sync(file)

    def _open(self) -> BinaryIO:
        first = lines_of(native.Record.join(self._agent_id, self._trials, []).to_lines())[0].encode()
        content = first + "".join(self._lines).encode()
        self._file = self._path.open("r+b" if self._path.exists() else "xb")
        self._file.truncate(len(content))
        self._file.write(content)
        return self._file

    def _sync(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())
        self._synced = monotonic()

    def finish_run(self, record: native.Record) -> None:
        """Complete the file: all lines of the run are written."""
        self.record = RunRecord(record)
        done = native.Record.join(self._agent_id, self._trials, [record])
        with self._file or self._open() as file:
            file.write(lines_of(done.to_lines())[-1].encode())
            file.flush()
            self._sync(file)
            check_same_file(self._path, file)
        self._file = None

    def add(self, record: RunRecord) -> None:
        """Write a completed run."""
        for line in lines_of(record._core.to_lines())[1:-1]:
            self.write_line(line)
        self.finish_run(record._core)

    def close(self) -> None:
        """Close the file of an interrupted run."""
        if self._file is not None:
            self._file.close()
            self._file = None
