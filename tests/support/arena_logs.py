"""Logs and exports of an arena, built as by a server, with a given clock and given keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.log.log_records import Record, canonical, decimal_text, key_fingerprint, seal_submission
from openoutcry.arena.log.log_writer import Batch, LogWriter
from openoutcry.arena.log.signed_notes import WITNESS, SignerKey, encode_base64
from openoutcry.arena.log.tiles import WIDTH, Tile

LOG_KEY = SignerKey("arena.example/log", bytes(range(32)))
OTHER_KEY = SignerKey("arena.example/log", bytes(range(1, 33)))
WITNESS_KEY = SignerKey("witness.example/w1", bytes(range(2, 34)), WITNESS)
VKEY, WITNESS_VKEY = str(LOG_KEY.verifier), str(WITNESS_KEY.verifier)
FOREIGN_KEYS = ("x", "a+b+c", "arena.example/log+00000000+AA==", "é+12345678+AAAA")
"""Invalid public keys."""
AS_OF = "2026-05-08T12:00:00Z"
SNAPSHOT = canonical({"as_of": AS_OF, "items": [], "schema_version": "0.2.0"}).encode()
BASE_RATES = b'{"rows":[]}'


def tiles_of(size: int) -> Iterator[Tile]:
    """Yield every hash tile of a tree of this size, level by level."""
    level, n_hashes = 0, size
    while n_hashes:
        n_full, rest = divmod(n_hashes, WIDTH)
        yield from (Tile(level, index) for index in range(n_full))
        if rest:
            yield Tile(level, n_full, rest)
        level, n_hashes = level + 1, n_full


def ulid(number: int) -> str:
    return f"01{number:024}"


@dataclass
class Season:
    """A log, and the other files of its export."""

    writer: LogWriter = field(default_factory=lambda: LogWriter(LOG_KEY))
    records: list[Record] = field(default_factory=list)
    # Id and revealed decisions of each submission.
    opened: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    snapshots: dict[str, bytes] = field(default_factory=dict)
    base_rates: bytes | None = None
    checkpoint: str = ""
    # Time of the last record.
    newest: str = ""

    def append(self, *entries: dict[str, Any]) -> Batch:
        for each in entries:
            batch = self.store(self.writer.append([each | {"at": self.after(each["at"])} if "at" in each else each]))
        return batch

    def after(self, time: str) -> str:
        """Return the later of a time and the last record's time: times never decrease."""
        return time if time[:19] >= self.newest[:19] else self.newest

    def store(self, batch: Batch) -> Batch:
        self.records += batch.records
        last = json.loads(self.records[-1].text)
        self.newest = next(last[name] for name in ("at", "received_at", "created_at") if name in last)
        self.checkpoint = batch.checkpoint
        return batch

    def start(self) -> Season:
        self.append(
            {"type": "log", "origin": "arena.example/log", "vkey": VKEY, "created_at": AS_OF, "salt_of": "a commitment"}
        )
        return self

    def publish(self, as_of: str = AS_OF, content: bytes = SNAPSHOT) -> None:
        digest = sha256(content).hexdigest()
        self.append({"type": "snapshot", "as_of": as_of, "sha256": digest, "size": len(content), "at": as_of})
        self.snapshots[as_of] = content

    def register(self, slug: str = "ada", kind: str = "agent") -> None:
        key = key_fingerprint(sha256(slug.encode()).digest())
        self.append({"type": kind, "agent_slug": slug, "display_name": f"{slug} é\n", "at": AS_OF, "key_sha256": key})

    def submit(
        self, decisions: Sequence[dict[str, Any]], slug: str = "ada", received: str | None = None
    ) -> dict[str, Any]:
        """Append a submission and return its receipt."""
        name, (as_of, content) = ulid(len(self.opened)), next(iter(self.snapshots.items()))
        # One second after the newest snapshot.
        received = received or self.after(f"{max(self.snapshots)[:17]}01.000250Z")
        members = (name, slug, received, as_of, sha256(content).hexdigest())
        # Fixed salts, so that the log is the same in every run.
        salts = b"".join(sha256(f"{name} {each}".encode()).digest() for each in decisions)
        record, opened = seal_submission(
            members, [commitment_values(**each) for each in decisions], self.writer.end, salts
        )
        self.opened.append((name, json.loads(opened)))
        batch = self.store(self.writer.extend([record]))
        receipt: dict[str, Any] = json.loads(self.writer.receipt(batch, record, opened))
        return receipt

    def resolve(self, market_id: str, outcome: str | None = "yes", status: str = "finalized") -> None:
        entry = {"type": "resolution", "market_id": market_id, "status": status, "outcome": outcome}
        self.append({**entry, "actual_close_time": AS_OF, "at": AS_OF, "source": "kalshi"})

    def score(self) -> None:
        self.base_rates = BASE_RATES
        entry = {"type": "scoring", "scoring_version": "1", "parameters": {"replicates": 1999, "fee": "kalshi_taker"}}
        self.append({**entry, "base_rates": [], "base_rates_sha256": sha256(BASE_RATES).hexdigest(), "at": AS_OF})

    def end_day(self, date: str = "2026-05-08") -> None:
        size, head = self.writer.end
        entry = {"type": "day", "date": date, "tree_size": size, "root": encode_base64(self.writer.tree.root())}
        self.append({**entry, "head_sha256": head, "at": "2026-05-09T00:00:00Z"})

    def suspend(self, slug: str = "ada") -> None:
        self.append({"type": "suspension", "agent_slug": slug, "suspended": True, "reason": "two agents", "at": AS_OF})

    def files(self) -> dict[str, bytes]:
        """Return the files of the export by name, with all decisions revealed."""
        reveals = [canonical({"submission_id": name, "opened": opened}) + "\n" for name, opened in self.opened]
        text = self.checkpoint.rpartition("\n\n")[0] + "\n"
        found = {
            "log.jsonl": b"".join(record.text + b"\n" for record in self.records),
            "checkpoint": self.checkpoint.encode(),
            "vkey": f"{VKEY}\n".encode(),
            "reveals.jsonl": "".join(reveals).encode(),
            f"cosignatures/{WITNESS_KEY.verifier.key_id.hex()}": (
                self.checkpoint + WITNESS_KEY.line(text, 1_778_241_600)
            ).encode(),
        }
        found |= {f"snapshots/{as_of.replace(':', '-')}.json": content for as_of, content in self.snapshots.items()}
        return found | ({} if self.base_rates is None else {"base_rates.json": self.base_rates})

    def export(self, folder: Path) -> Path:
        return write(folder, self.files())


def commitment_values(
    market_id: str, yes_probability: float, confidence: float | None = None, reasoning: str | None = None
) -> tuple[str, str, str | None, str | None]:
    """Return a decision as arguments of `seal_submission`."""
    confidence = None if confidence is None else decimal_text(confidence)
    return market_id, decimal_text(yes_probability), confidence, reasoning


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def re_signed(files: dict[str, bytes], lines: Sequence[bytes], key: SignerKey = LOG_KEY) -> dict[str, bytes]:
    """Return an export with other log lines and a new signature of the operator."""
    writer = LogWriter(key)
    writer.tree.append(list(lines))
    text = f"arena.example/log\n{len(lines)}\n{encode_base64(writer.tree.root())}\n"
    return {**files, "log.jsonl": b"".join(line + b"\n" for line in lines), "checkpoint": key.sign(text).encode()}


def decision(market: str, yes: float = 0.04, **more: Any) -> dict[str, Any]:
    return {"market_id": f"kalshi:{market}", "yes_probability": yes, **more}


def season() -> Season:
    """Return a season of 20 records that has every record type."""
    made = Season().start()
    made.register()
    made.register("eve-2")
    made.publish()
    made.score()
    made.submit([decision("KXA-26", 0.04, confidence=0.82, reasoning='é\u2028 "quoted"\t\U0001f600')])
    made.submit([decision("KXA-26"), decision("KXB-26", 1), decision("KXC-26.5", 0.123456)], "eve-2")
    made.end_day()
    made.register("ada", "key")
    for yes in (0.5, 0.25, 0.125):
        made.submit([decision("KXD-26", yes), decision("KXE-26", 0)])
    made.publish("2026-05-08T12:10:00Z", SNAPSHOT + b"\n")
    made.resolve("kalshi:KXA-26")
    made.resolve("kalshi:KXB-26", None, "void")
    made.suspend("eve-2")
    made.submit([decision("KXF-26", 0.3)])
    made.end_day("2026-05-09")
    made.resolve("kalshi:KXD-26", "no", "determined")
    made.submit([decision("KXG-26", 0.7)])
    assert len(made.records) == 20
    return made


def members(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


Place = tuple[str, int | None]


def verifier_faults(
    folder: Path, vkey: str | None = VKEY, witnesses: Sequence[str] = (WITNESS_VKEY,)
) -> list[verifier.Fault]:
    export = verifier.Export(folder)
    export.check(vkey, list(witnesses))
    return export.faults


def fault_places(folder: Path, vkey: str | None = VKEY) -> set[Place]:
    """Return the places of the faults, and assert that both verifiers agree."""
    found = {(each.file, each.line) for each in verifier_faults(folder, vkey)}
    assert {(each.file, each.line) for each in audit(folder, vkey, [WITNESS_VKEY])} == found
    return found
