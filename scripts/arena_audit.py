"""Measure the two verifiers on an exported season (G7): `python scripts/arena_audit.py [--records 100000]`.

Builds a log of submissions with one decision each, and prints the CPU time of a complete audit by each verifier.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.log.log_records import canonical, seal_submission
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.log.signed_notes import SignerKey

AS_OF = "2026-05-08T12:00:00Z"
SNAPSHOT = canonical({"as_of": AS_OF, "items": [], "schema_version": "0.2.0"}).encode()


def export(folder: Path, n_records: int) -> None:
    """Write an export with `n_records` records whose decisions are all revealed."""
    key = SignerKey("arena.example/log", bytes(range(32)))
    writer, digest = LogWriter(key), sha256(SNAPSHOT).hexdigest()
    origin = {"origin": key.verifier.name, "vkey": str(key.verifier), "created_at": AS_OF, "salt_of": "a commitment"}
    published = {"as_of": AS_OF, "sha256": digest, "size": len(SNAPSHOT), "at": AS_OF}
    records = list(writer.append([{"type": "log", **origin}, {"type": "snapshot", **published}]).records)
    reveals, end = [], writer.end
    for number in range(n_records - len(records)):
        name = f"01{number:024}"
        decisions = [(f"kalshi:KXA-{number % 500}", "0.04", "0.82", None)]
        record, opened = seal_submission((name, "ada", AS_OF, AS_OF, digest), decisions, end)
        records.append(record)
        end = record.link
        reveals.append(f'{{"opened":{opened},"submission_id":"{name}"}}\n')
    batch = writer.extend(records[2:])
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / f"{AS_OF.replace(':', '-')}.json").write_bytes(SNAPSHOT)
    (folder / "log.jsonl").write_bytes(b"".join(record.text + b"\n" for record in records))
    (folder / "reveals.jsonl").write_text("".join(reveals), encoding="utf-8")
    (folder / "checkpoint").write_text(batch.checkpoint, encoding="utf-8")
    (folder / "vkey").write_text(f"{key.verifier}\n", encoding="utf-8")


def seconds(name: str, work: Callable[[], Any], wanted: Any) -> None:
    """Run `work`, check its result and print its CPU time."""
    started = time.process_time()
    result = work()
    assert result == wanted, result
    print(f"{name:28} {time.process_time() - started:8.2f} s")


def main() -> None:
    """Measure both verifiers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    n_records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(folder, n_records)
        print(f"{n_records:,} records, {sum(each.stat().st_size for each in folder.glob('*.jsonl')) / 1e6:.0f} MB")
        seconds("openoutcry arena verify", lambda: audit(folder), [])
        seconds("openoutcry-verify", lambda: verifier.main(["export", str(folder)]), 0)


if __name__ == "__main__":
    main()
