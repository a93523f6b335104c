"""`RunRecord`: the decisions of an agent, bound by a hash chain.

A record contains no results. Section 7 of `contract/README.md` defines its format and its chain.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.records.keys import key_bytes
from openoutcry.untrusted.bounded_file import RECORD_BYTES, read_bytes
from openoutcry.untrusted.counted_nouns import counted

_CANDIDATE, _HEAD = re.compile(rb'"format"\s*:\s*"openoutcry/candidate/'), 200
SUFFIXES = (".json", ".json.zst", ".jsonl", ".jsonl.zst")


class RunRecord:
    """Settings, observation hashes and decisions of runs, bound by a hash chain.

    A record contains no results: `replay` recomputes every number from the decisions and the data. Records are
    immutable; `sign` and `join` return new ones.
    """

    def __init__(self, core: native.Record, cut_bytes: int = 0) -> None:
        self._core = core
        self._cut_bytes = cut_bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunRecord:
        """Read a record from a `.json` or `.jsonl` file, or either with `.zst`.

        Parsing is strict: every byte must be canonical. A last line truncated by a crash is dropped, and `torn` is
        true.

        Raises:
            OpenOutcryError: the file is not a canonical record; the message states the position.
        """
        lines, is_compressed = file_kind(path)
        try:
            content = read_bytes(path, RECORD_BYTES, "a record", "record_invalid")
        except OSError as error:
            raise refusal(
                "argument_invalid", f"`record` must be a readable file; received '{path}': {error.strerror}"
            ) from error
        is_complete = True
        if is_compressed:
            content, is_complete = native.decompress(content)
        if lines:
            core = native.Record.from_lines(content)
            return cls(core, 0 if is_complete else 1)
        if not is_complete:
            raise refusal("record_invalid", f"{_WANTED} '{path}', which is truncated")
        try:
            return cls(native.Record.from_json(content))
        except native.OpenOutcryError as error:
            if not _CANDIDATE.search(content[:_HEAD]):
                raise
            hint = f"hint: `openoutcry run --agent {path} --record run.json` records a run of it"
            raise refusal("record_invalid", f"{_WANTED} '{path}', a candidate's file of research; {hint}") from error

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """Parse a record from canonical JSON.

        Raises:
            OpenOutcryError: the text is not a canonical record; the message states the position.
        """
        if not isinstance(text, str):
            raise refusal("argument_invalid", f"`text` must be a text; received {type(text).__name__}")
        return cls(native.Record.from_json(text.encode("utf-8", "surrogatepass")))

    @classmethod
    def join(cls, agent_id: str, records: Iterable[RunRecord], in_sample_trials: int = 0) -> RunRecord:
        """Return one unsigned record with the runs of several records, in order.

        Args:
            agent_id: Name of the agent.
            records: Records to join.
            in_sample_trials: Prior trials, as declared by the author of the agent. They can only increase the counted
                number.
        """
        return cls(native.Record.join(agent_id, checked_trials(in_sample_trials), [record._core for record in records]))

    @property
    def agent_id(self) -> str:
        """Name of the agent."""
        return self._core.agent_id

    @property
    def in_sample_trials(self) -> int:
        """Prior trials, as declared by the author of the agent."""
        return self._core.in_sample_trials

    @property
    def digest(self) -> str | None:
        """SHA-256 of agent, trials and runs; None for an unfinished record."""
        return self._core.digest

    @property
    def unfinished(self) -> str | None:
        """Why the record is unfinished, as text; None if it is finished."""
        return self._core.unfinished

    @property
    def torn(self) -> bool:
        """Whether the file was truncated by a crash and its last partial line was dropped."""
        return bool(self._core.torn_bytes or self._cut_bytes)

    @property
    def public_key(self) -> str | None:
        """Public key of the signature, in hexadecimal; None without one."""
        key = self._core.public_key
        return None if key is None else key.hex()

    @property
    def headers(self) -> list[dict[str, str]]:
        """Settings of each run: every field as a string, by its path."""
        return self._core.headers

    @property
    def decisions(self) -> list[list[str]]:
        """Decisions of the agent in each run, as the exact text it returned."""
        return [[text for text, _ in run] for run in self._core.decisions]

    @property
    def faults(self) -> list[dict[int, str]]:
        """Faults of the agent in each run, by step index."""
        return [{step: fault for step, (_, fault) in enumerate(run) if fault} for run in self._core.decisions]

    @property
    def run_digests(self) -> list[str | None]:
        """Digest of each run, the last link of its chain; None for an unfinished run."""
        return self._core.run_digests

    def runs(self) -> list[RunRecord]:
        """Return each run as a separate unsigned record."""
        return [RunRecord(self._core.only(run)) for run in range(len(self))]

    def is_whole(self) -> bool:
        """Return whether the record is finished and unchanged since its hashes were made.

        A signature in the record must be valid too. The digest and every link are recomputed, which needs no
        market. Whether cash, NAV and observations follow from the decisions is what `replay` finds: anyone can compute
        new hashes for changed contents, but not sign them.
        """
        return self._core.is_intact() and (self.public_key is None or self.verify_signature())

    def is_signed_by(self, public_keys: Iterable[bytes | str]) -> bool:
        """Return whether one of the keys signed these contents; see `verify_signature`."""
        return self.public_key is not None and any(self.verify_signature(key) for key in public_keys)

    def to_json(self) -> str:
        """Return the record as canonical JSON."""
        return self._core.to_json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file atomically.

        The suffix selects the format: `.json`, or `.jsonl` for one step per line. Append `.zst` to compress.
        """
        lines, is_compressed = file_kind(path)
        content = (self._core.to_lines() if lines else self._core.to_json()).encode()
        if is_compressed:
            frame = native.Compressor()
            content = frame.write(content) + frame.finish()
        temporary = Path(f"{os.fspath(path)}.{secrets.token_hex(4)}.part")
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def sign(self, private_key: bytes) -> RunRecord:
        """Return the record, signed with an Ed25519 private key of 32 bytes.

        Raises:
            OpenOutcryError: the record is unfinished, its hashes do not match its contents, or the key is not 32
                bytes.
        """
        return RunRecord(self._core.signed(key_bytes(private_key, "`private_key`")), self._cut_bytes)

    def verify_signature(self, public_key: bytes | str | None = None) -> bool:
        """Return whether the signature is valid for these contents and a key.

        Every link and the digest are recomputed, so a change of any field makes it False. It needs no market: that the
        signed NAVs follow from the decisions is what `replay` finds. Without a key, the key in the record is used. A
        valid signature then shows that the record is unchanged, but not who signed it.

        Args:
            public_key: 32 bytes, or hexadecimal digits.

        Raises:
            OpenOutcryError: the record has no signature, or the key is invalid.
        """
        return self._core.verify_signature(None if public_key is None else key_bytes(public_key, "`public_key`"))

    def _edited(self, public_key: bytes | str | None) -> list[dict[str, Any]]:
        return self._core.integrity_differences(None if public_key is None else key_bytes(public_key, "`public_key`"))

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, RunRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.agent_id, self.digest))

    def __len__(self) -> int:
        return len(self._core.headers)

    def __repr__(self) -> str:
        state = self.digest[:12] if self.digest else "unfinished"
        return native.readable_text(f"RunRecord({self.agent_id!r}, {counted(len(self), 'run')}, {state})")

    def __reduce__(self) -> Any:
        return RunRecord.from_json, (self.to_json(),)


_WANTED = "a record must be the JSON of `record.schema.json`; received"


def file_kind(path: str | os.PathLike[str], what: str = "`record`") -> tuple[bool, bool]:
    """Return whether a record file is in JSON lines, and whether it is compressed.

    An error names the path by `what`.
    """
    name = os.fspath(path)
    is_compressed = name.endswith(".zst")
    bare = name.removesuffix(".zst")
    if not bare.endswith((".json", ".jsonl")):
        wanted = f"{what} must be a name that ends in {', '.join(SUFFIXES)}"
        raise refusal("argument_invalid", f"{wanted}; received '{name}'")
    return bare.endswith(".jsonl"), is_compressed


def check_record_path(path: str | os.PathLike[str], what: str) -> None:
    """Raise if a path, named `what` in errors, does not have the suffix of a record."""
    file_kind(path, what)


def checked_trials(in_sample_trials: int) -> int:
    """Return a declared number of trials; raise if it is not a count."""
    if isinstance(in_sample_trials, bool) or not isinstance(in_sample_trials, int) or not 0 <= in_sample_trials < 2**53:
        message = f"`in_sample_trials` must be an integer from 0 to {2**53 - 1}; received {in_sample_trials!r}"
        raise refusal("argument_invalid", message)
    return in_sample_trials
