"""Evaluations on the disk while they are made, so that one that was cut goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO

from openoutcry import openoutcry_py as native
from openoutcry.agents import Answer
from openoutcry.errors import refusal
from openoutcry.records.line_sink import LineSink, check_place, lines_of
from openoutcry.records.run_record import RunRecord

_ABOUT, _LOCK = "evaluation.json", "lock"
_SYNC_SECONDS = 1.0


def journal_of(record: str | os.PathLike[str]) -> Path:
    """Return the folder that keeps the runs of a record while they are made."""
    path = Path(record)
    return path.with_name(f"{path.name}.parts")


class Journal:
    """A folder with a file for each run of an evaluation, a record in lines.

    An answer is written before it is carried out. What is there when the evaluation goes on stands: a run that has
    ended is not made again, and one that was cut gives the answers that it gave.

    Args:
        folder: The folder, which `remove` removes when the record is written elsewhere.
        about: What the evaluation is, in JSON; another one cannot go on here.
        resume: Go on with what is there.

    Raises:
        OpenOutcryError: there is something and `resume` is False, or nothing and it is True; or it is of another
            evaluation, or of one that is under way.
    """

    def __init__(self, folder: str | os.PathLike[str], about: Mapping[str, Any], *, resume: bool = False) -> None:
        self._folder = Path(folder)
        self._about = dict(about)
        if self._folder.exists() and not resume:
            wanted = "a folder without an evaluation that was cut is required"
            raise refusal("argument_invalid", f"{wanted}; received '{folder}'; hint: go on with it, or remove it")
        if resume and not self._folder.exists():
            # Begun anew under a wrong name, it would show the agent all windows a second time.
            wanted = "the folder of an evaluation that was cut is required to go on with it"
            raise refusal("argument_invalid", f"{wanted}; received '{folder}', which is not there")
        self._folder.mkdir(exist_ok=True)
        self._lock = self._locked()
        try:
            self._check()
        except BaseException:
            self._lock.close()
            raise

    def _locked(self) -> BinaryIO:
        """Return a file that nobody else has locked while it is open."""
        file = (self._folder / _LOCK).open("wb")
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ModuleNotFoundError:
            # Windows, where no stranger's agent runs.
            return file
        except OSError as error:
            file.close()
            wanted = "an evaluation that nobody else goes on with is required"
            raise refusal("argument_invalid", f"{wanted}; received '{self._folder}', which is in use") from error
        return file

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def _check(self) -> None:
        place = self._folder / _ABOUT
        if not place.exists():
            # Whole or not there at all, whatever happens meanwhile.
            begun = place.with_suffix(".tmp")
            begun.write_text(json.dumps(self._about, indent=1), encoding="utf-8")
            begun.replace(place)
            return
        found = self._found(place)
        for name in sorted({*found, *self._about}):
            if found.get(name) != self._about.get(name):
                wanted = f"an evaluation must go on as it began, with `{name}` {found.get(name)!r}"
                raise refusal("argument_invalid", f"{wanted}; received {self._about.get(name)!r}")

    def _found(self, place: Path) -> dict[str, Any]:
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        wanted = f"an evaluation that was cut must have its `{_ABOUT}`"
        raise refusal("argument_invalid", f"{wanted}; received '{place}', which is torn")

    def part(self, run: int) -> Part:
        """Return the place of a run, by its number in the record."""
        return Part(self._folder / f"{run:05}.jsonl", self._about["agent"], self._about["in_sample_trials"])

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder)


class Part(LineSink):
    """One run of an evaluation on the disk: all of it, its beginning, or nothing yet."""

    def __init__(self, path: Path, agent_id: str, in_sample_trials: int) -> None:
        self._path = path
        self._agent_id = agent_id
        self._trials = in_sample_trials
        self._lines: deque[str] = deque()
        self._file: BinaryIO | None = None
        self._synced = 0.0
        self.record: RunRecord | None = None
        """The run, if it has ended."""
        self.answers: list[Answer] = []
        """What was answered, if it was cut."""
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            return
        found = RunRecord(native.Record.from_lines(whole))
        if found.unfinished is None and len(found) == 1:
            self.record = found
            return
        self._lines.extend(lines_of(whole.decode("utf-8"))[1:])
        if len(found):
            self.answers = [Answer(text, fault) for text, fault in found._core.decisions[0]]

    def tell(self, line: str) -> None:
        """Write a line of the run, or see that it is the one that is there."""
        file = self._file or self._open()
        if self._lines:
            if (there := self._lines.popleft()) != line:
                wanted = f"a run must go on as it began, with {there[:200]!r}"
                raise refusal("argument_invalid", f"{wanted}; received {line[:200]!r}")
            return
        file.write(line.encode())
        file.flush()
        # The system has it; a power cut costs what it had for a second.
        if monotonic() - self._synced > _SYNC_SECONDS:
            self._sync(file)

    def _open(self) -> BinaryIO:
        first = lines_of(native.Record.join(self._agent_id, self._trials, []).to_lines())[0].encode()
        kept = first + "".join(self._lines).encode()
        self._file = self._path.open("r+b" if self._path.exists() else "xb")
        self._file.truncate(len(kept))
        self._file.write(kept)
        return self._file

    def _sync(self, file: BinaryIO) -> None:
        os.fsync(file.fileno())
        self._synced = monotonic()

    def told(self, record: native.Record) -> None:
        """Take note that all lines of the run have been told."""
        self.record = RunRecord(record)
        done = native.Record.join(self._agent_id, self._trials, [record])
        with self._file or self._open() as file:
            file.write(lines_of(done.to_lines())[-1].encode())
            file.flush()
            self._sync(file)
            check_place(self._path, file)
        self._file = None

    def add(self, record: RunRecord) -> None:
        """Write a run that was made at once."""
        for line in lines_of(record._core.to_lines())[1:-1]:
            self.tell(line)
        self.told(record._core)

    def close(self) -> None:
        """Close the file of a run that was cut."""
        if self._file is not None:
            self._file.close()
            self._file = None
