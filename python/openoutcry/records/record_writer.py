"""Write the record of a run line by line, during the run."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.records.keys import key_bytes
from openoutcry.records.line_sink import LineSink, check_same_file, lines_of
from openoutcry.records.run_record import RunRecord, checked_trials, file_kind


class RecordWriter(LineSink):
    """Writes a record during its runs, so that a crash loses little.

    Each decision is on disk before it is executed. Pass the writer to `run_backtest(capture=...)`; leaving its `with`
    block finishes the record. An existing file raises.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        agent_id: str = "",
        in_sample_trials: int = 0,
        *,
        private_key: bytes | None = None,
        flush_every: int = 1,
    ) -> None:
        """Create a file that ends in `.jsonl` or `.jsonl.zst`.

        Args:
            path: The file.
            agent_id: Name of the agent.
            in_sample_trials: Prior trials, as declared by the author of the agent.
            private_key: Ed25519 key of 32 bytes that signs the finished record.
            flush_every: Lines between writes to disk. With 1, a crash loses at most one decision.
        """
        lines, is_compressed = file_kind(path)
        if not lines:
            raise refusal(
                "argument_invalid",
                f"`record` must be a name that ends in .jsonl or .jsonl.zst; received '{os.fspath(path)}'",
            )
        if isinstance(flush_every, bool) or not isinstance(flush_every, int) or flush_every < 1:
            raise refusal(
                "argument_invalid", f"`flush_every` must be an integer of at least 1; received {flush_every!r}"
            )
        self._private_key = None if private_key is None else key_bytes(private_key, "`private_key`")
        self._flush_every = flush_every
        self._records: list[native.Record] = []
        self._agent_id, self._trials = agent_id, checked_trials(in_sample_trials)
        self._buffered: list[str] = []
        self._is_open_run = False
        first_line = lines_of(native.Record.join(agent_id, self._trials, []).to_lines())[0]
        self._path = Path(path).absolute()
        try:
            self._file = self._path.open("xb")
        except OSError as error:
            message = f"`path` must be a new file in a writable folder; received '{os.fspath(path)}': {error.strerror}"
            raise refusal("argument_invalid", message) from error
        self._frame = native.Compressor() if is_compressed else None
        self._write(first_line)
        self.flush()

    def add(self, record: RunRecord) -> None:
        """Write the runs of a finished record."""
        self._check()
        lines = lines_of(record._core.to_lines())
        if record.unfinished:
            raise refusal("record_unfinished", f"a finished record is required; received one {record.unfinished}")
        for line in lines[1:-1]:
            self._write(line)
        self._records.append(record._core)
        self.flush()

    def write_line(self, line: str) -> None:
        """Write a line of the current run."""
        self._check(is_inside=True)
        self._is_open_run = True
        self._write(line)

    def finish_run(self, record: native.Record) -> None:
        """Finish the current run, after its last line."""
        self._is_open_run = False
        self._records.append(record)
        self.flush()

    def _check(self, *, is_inside: bool = False) -> None:
        if self._file.closed or (self._is_open_run and not is_inside):
            state = "a closed writer" if self._file.closed else "one with an unfinished run"
            raise refusal("argument_invalid", f"`capture` must be an open writer; received {state}")

    def _write(self, line: str) -> None:
        self._buffered.append(line)
        if len(self._buffered) >= self._flush_every:
            self.flush()

    def flush(self) -> None:
        """Write all buffered lines to disk."""
        content = "".join(self._buffered).encode()
        self._buffered.clear()
        self._put(self._frame.write(content) if self._frame else content)

    def _put(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> RunRecord | None:
        """Finish the record and return it; None if one of its runs is unfinished.

        Raises:
            OpenOutcryError: the file was removed or replaced in the meantime, so the record is lost.
        """
        if self._file.closed:
            return None
        record = None
        if not self._is_open_run:
            core = native.Record.join(self._agent_id, self._trials, self._records)
            core = core.signed(self._private_key) if self._private_key else core
            self._buffered.append(lines_of(core.to_lines())[-1])
            record = RunRecord(core)
        self.flush()
        if self._frame:
            self._put(self._frame.finish())
        with self._file:
            # For an unfinished record, the error that interrupted the run is the one to raise.
            if record is not None:
                check_same_file(self._path, self._file)
        return record

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An exception can leave a run incomplete even if no line is missing yet.
        self._is_open_run = self._is_open_run or kind is not None
        self.close()
