"""Run records: what was decided, bound by a chain of hashes, and its replay.

A record holds no result. Its form and its chain are in `contract/README.md`, section 7.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.records.keys import key_bytes

SUFFIXES = (".json", ".json.zst", ".jsonl", ".jsonl.zst")


class RunRecord:
    """What an agent was told and decided in its runs, with a chain of hashes.

    It holds no result: `replay` recomputes every number from the decisions and the data. Records are values: `sign` and
    `join` return new ones.
    """

    def __init__(self, core: native.Record, cut_bytes: int = 0) -> None:
        self._core = core
        self._cut_bytes = cut_bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunRecord:
        """Return the record of a file: `.json`, `.jsonl`, or either with `.zst`.

        Reading is strict: every byte counts. What a crash tore off the last line is dropped, and `torn` says so.

        Raises:
            OpenOutcryError: the file holds no record, or is not in canonical form; the message says where.
        """
        lines, packed = file_kind(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise refusal(
                "argument_invalid", f"`path` must be the file of a record; received '{path}': {error.strerror}"
            ) from error
        is_whole = True
        if packed:
            content, is_whole = native.decompress(content)
        if lines:
            core = native.Record.from_lines(content)
            return cls(core, 0 if is_whole else 1)
        if not is_whole:
            raise refusal("record_invalid", f"{_WANTED} '{path}', which is cut short")
        return cls(native.Record.from_json(content))

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """Return the record in a JSON text, which must be canonical.

        Raises:
            OpenOutcryError: the text is no record, or is not in canonical form; the message says where.
        """
        if not isinstance(text, str):
            raise refusal("argument_invalid", f"`text` must be a text; received {type(text).__name__}")
        return cls(native.Record.from_json(text.encode("utf-8", "surrogatepass")))

    @classmethod
    def join(cls, agent_id: str, records: Iterable[RunRecord], in_sample_trials: int = 0) -> RunRecord:
        """Return one record of the runs of several, in their order, unsigned.

        Args:
            agent_id: What the agent is called.
            records: Records with the runs.
            in_sample_trials: Trials made before that the maker of the agent declares; they can only add to those that
                are counted.
        """
        return cls(native.Record.join(agent_id, checked_trials(in_sample_trials), [each._core for each in records]))

    @property
    def agent_id(self) -> str:
        """What the agent is called."""
        return self._core.agent_id

    @property
    def in_sample_trials(self) -> int:
        """Trials made before that the maker of the agent declares."""
        return self._core.in_sample_trials

    @property
    def digest(self) -> str | None:
        """SHA-256 over agent, trials and runs; None for an unfinished record."""
        return self._core.digest

    @property
    def unfinished(self) -> str | None:
        """What the record lacks to be finished, in words; None if nothing."""
        return self._core.unfinished

    @property
    def torn(self) -> bool:
        """Whether a crash tore the file, so that its last piece was dropped."""
        return bool(self._core.torn_bytes or self._cut_bytes)

    @property
    def public_key(self) -> str | None:
        """Public key of the signature, in hexadecimal; None without one."""
        key = self._core.public_key
        return None if key is None else key.hex()

    @property
    def headers(self) -> list[dict[str, str]]:
        """What each run was told, every field as text by its path."""
        return self._core.headers

    @property
    def decisions(self) -> list[list[str]]:
        """The answers of the agent in each run, character by character."""
        return [[text for text, _ in run] for run in self._core.decisions]

    @property
    def faults(self) -> list[dict[int, str]]:
        """What was wrong with answers in each run, by the index of the step."""
        return [{step: fault for step, (_, fault) in enumerate(run) if fault} for run in self._core.decisions]

    @property
    def run_digests(self) -> list[str | None]:
        """Digest of each run, its last link; None for one that is unfinished."""
        return self._core.run_digests

    def runs(self) -> list[RunRecord]:
        """Return each run as a record of its own, unsigned."""
        return [RunRecord(self._core.only(run)) for run in range(len(self))]

    def is_intact(self) -> bool:
        """Return whether it is finished, with a digest and signature of what is in it.

        The chain of its runs is a replay's to check.
        """
        is_signed = self.public_key is None or self.verify_signature()
        return self.digest is not None and self.digest == self._core.computed_digest and is_signed

    def is_signed_by(self, public_keys: Iterable[bytes | str]) -> bool:
        """Return whether it bears a good signature by one of these keys."""
        return self.public_key is not None and any(self.verify_signature(key) for key in public_keys)

    def to_json(self) -> str:
        """Return the record as canonical JSON."""
        return self._core.to_json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file, whole or not at all.

        The suffix says how: `.json`, or `.jsonl` for one step a line, or either with `.zst`.
        """
        lines, packed = file_kind(path)
        content = (self._core.to_lines() if lines else self._core.to_json()).encode()
        if packed:
            frame = native.Compressor()
            content = frame.write(content) + frame.finish()
        beside = Path(f"{os.fspath(path)}.{secrets.token_hex(4)}.part")
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def sign(self, private_key: bytes) -> RunRecord:
        """Return this record signed with a private key of Ed25519, 32 bytes.

        Raises:
            OpenOutcryError: the record is unfinished, or the key has another length.
        """
        return RunRecord(self._core.signed(key_bytes(private_key, "`private_key`")), self._cut_bytes)

    def verify_signature(self, public_key: bytes | str | None = None) -> bool:
        """Return whether the signature is of this record, and by the key given.

        Without a key the one in the record is taken: it then says that the record is whole, by whoever holds that key.

        Args:
            public_key: 32 bytes, or their hexadecimal digits.

        Raises:
            OpenOutcryError: the record holds no signature, or the key is none.
        """
        return self._core.verify_signature(None if public_key is None else key_bytes(public_key, "`public_key`"))

    def _edited(self, public_key: bytes | str | None) -> list[dict[str, Any]]:
        return self._core.edited(None if public_key is None else key_bytes(public_key, "`public_key`"))

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, RunRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.agent_id, self.digest))

    def __len__(self) -> int:
        return len(self._core.headers)

    def __repr__(self) -> str:
        state = self.digest[:12] if self.digest else "unfinished"
        return f"RunRecord({self.agent_id!r}, {len(self)} runs, {state})"

    def __reduce__(self) -> Any:
        return RunRecord.from_json, (self.to_json(),)


_WANTED = "a record must be the JSON of `record.schema.json`; received"


def file_kind(path: str | os.PathLike[str]) -> tuple[bool, bool]:
    """Return whether a record's file holds lines, and whether it is compressed."""
    name = os.fspath(path)
    packed = name.endswith(".zst")
    bare = name.removesuffix(".zst")
    if not bare.endswith((".json", ".jsonl")):
        raise refusal("argument_invalid", f"`path` must be a name in {', '.join(SUFFIXES)}; received '{name}'")
    return bare.endswith(".jsonl"), packed


def check_record_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose suffix is not that of a record."""
    file_kind(path)


def checked_trials(in_sample_trials: int) -> int:
    """Return a declared number of trials; refuse one that is no count."""
    if isinstance(in_sample_trials, bool) or not isinstance(in_sample_trials, int) or not 0 <= in_sample_trials < 2**53:
        message = f"`in_sample_trials` must be an integer from 0 to {2**53 - 1}; received {in_sample_trials!r}"
        raise refusal("argument_invalid", message)
    return in_sample_trials
