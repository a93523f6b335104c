"""Audit of a season's export, with hashing in Rust.

It reports the same faults as `openoutcry.arena.verifier`, faster. The two share no code, so each checks the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry.arena.log.signed_notes import Note, VerifierKey, encode_base64, open_checkpoint
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import LogAudit, OpenOutcryError


class Fault(NamedTuple):
    """A fault in an export: file, line (from 0, or None) and description."""

    file: str
    line: int | None
    why: str

    def __str__(self) -> str:
        """Return the fault as one line of text, with line numbers from 1."""
        return f"{self.file}{'' if self.line is None else f':{self.line + 1}'}: {self.why.strip()}"


def audit(folder: Path, vkey: str | None = None, witnesses: Sequence[str] = ()) -> list[Fault]:
    """Return the faults in the export of a season; an empty list if it is valid.

    Args:
        folder: Folder of the export.
        vkey: The log's public key; by default the key stated in the export.
        witnesses: Public keys of witnesses whose cosignatures are required.
    """
    return _Audit(folder).check(vkey, witnesses)


class _Audit:
    def __init__(self, folder: Path) -> None:
        self._folder, self._faults = folder, list[Fault]()
        self._log = LogAudit(self._read("log.jsonl"))
        self._faults += [Fault("log.jsonl", line, why) for line, why in self._log.faults()]
        self._others: list[tuple[int, dict[str, Any]]] = [(line, json.loads(text)) for line, text in self._log.others()]

    def _read(self, file: str) -> bytes:
        found = list[bytes]()
        with self._collect_faults(file):
            found.append((self._folder / file).read_bytes())
        return b"".join(found)

    @contextmanager
    def _collect_faults(self, file: str, line: int | None = None) -> Iterator[None]:
        try:
            yield
        except OpenOutcryError as error:
            # The prefix is the error slug.
            self._faults.append(Fault(file, line, str(error).partition(": ")[2] or str(error)))
        except OSError as error:
            self._faults.append(Fault(file, line, f"a file is required; received {error.strerror}"))
        except UnicodeDecodeError as error:
            self._faults.append(Fault(file, line, f"UTF-8 is required; received an invalid byte at {error.start}"))
        except ValueError:
            self._faults.append(Fault(file, line, "a valid file name is required; received another"))

    def check(self, vkey: str | None, witnesses: Sequence[str]) -> list[Fault]:
        first = self._others[0][1] if self._others else {}
        own = first.get("vkey")
        vkey = vkey or (own if isinstance(own, str) else "")
        with self._collect_faults("vkey"):
            _require_equal("the log's key", f"{vkey}\n", (self._folder / "vkey").read_bytes().decode())
        with self._collect_faults("checkpoint"):
            key, size = VerifierKey.parse(vkey), len(self._log)
            found = open_checkpoint((self._folder / "checkpoint").read_bytes().decode(), key)
            _require_equal("`origin` of the first record", key.name, first.get("origin"))
            _require_equal("`vkey` of the first record", vkey, first.get("vkey"))
            _require_equal("the size, as of `log.jsonl`,", size, found.size)
            _require_equal(
                "the root, as of `log.jsonl`,", encode_base64(self._log.root(size)), encode_base64(found.root)
            )
        for line, record in self._others:
            if record.get("type") == "day":
                with self._collect_faults("log.jsonl", line):
                    self._check_day(line, record)
        # From the records' own times; otherwise an operator without `day` records would need no witness.
        ended = max(1, self._log.n_before_today)
        for witness in witnesses:
            with self._collect_faults("cosignatures"):
                self._check_witness(VerifierKey.parse(witness), VerifierKey.parse(vkey), ended)
        self._check_files()
        self._faults += [Fault("reveals.jsonl", *fault) for fault in self._log.reveal(self._read("reveals.jsonl"))]
        return self._faults

    def _check_witness(self, witness: VerifierKey, key: VerifierKey, ended: int) -> None:
        note = (self._folder / "cosignatures" / witness.key_id.hex()).read_bytes().decode()
        Note.parse(note).verify(witness)
        seen = open_checkpoint(note, key)
        if not ended <= seen.size <= len(self._log):
            wanted = f"a cosignature over a tree of size {ended} to {len(self._log)} is required"
            raise refusal("argument_invalid", f"{wanted}; received one over {seen.size}")
        _require_equal("the cosigned root", encode_base64(self._log.root(seen.size)), encode_base64(seen.root))

    def _check_day(self, line: int, day: dict[str, Any]) -> None:
        size = day.get("tree_size")
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= line:
            raise refusal("argument_invalid", f"`tree_size` must be from 1 to {line}; received {_to_json(size)}")
        _require_equal("`root`", encode_base64(self._log.root(size)), day.get("root"))
        _require_equal("`head_sha256`", self._log.digest(size - 1).hex(), day.get("head_sha256"))

    def _check_files(self) -> None:
        digests: dict[str, Any] = {}
        for _, record in self._others:
            as_of, digest = record.get("as_of"), record.get("sha256")
            if record.get("type") == "scoring":
                digests["base_rates.json"] = record.get("base_rates_sha256")
            elif record.get("type") == "snapshot" and isinstance(as_of, str) and isinstance(digest, str):
                digests.setdefault(f"snapshots/{as_of.replace(':', '-')}.json", digest)
        for path in sorted((self._folder / "snapshots").glob("*")):
            digests.setdefault(f"snapshots/{path.name}", None)
        for file, wanted in digests.items():
            # The name comes from the log: escape it, so that it prints on one line.
            with self._collect_faults(json.dumps(file)[1:-1]):
                content = (self._folder / file).read_bytes()
                _require_equal("its SHA-256", wanted, sha256(content).hexdigest())


def _require_equal(name: str, wanted: object, received: object) -> None:
    if wanted != received:
        raise refusal("argument_invalid", f"{name} must be {_to_json(wanted)}; received {_to_json(received)}")


def _to_json(value: object) -> str:
    """Return a value as JSON on one line, cut to 160 characters."""
    return json.dumps(value)[:160]
