"""A season as files, from which anybody can recompute all that the Arena says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import select

from openoutcry.arena.log.records import canonical
from openoutcry.arena.log.writer import checkpoint_of
from openoutcry.arena.scoring import score
from openoutcry.arena.store.arena import Arena
from openoutcry.arena.store.reading import facts_at, record_texts, submitted
from openoutcry.arena.store.state import State
from openoutcry.arena.store.tables import meta, snapshots
from openoutcry.arena.times import text_of
from openoutcry.errors import refusal


def export(arena: Arena, folder: Path, moment: int) -> int:
    """Write what anybody may know to a new folder, and return how many records.

    Args:
        arena: Open; it may be served meanwhile.
        folder: Must be empty, or not be there.
        moment: Now: of markets that still take decisions none is shown.
    """
    if folder.exists() and any(folder.iterdir()):
        raise refusal("argument_invalid", f"an export must go to an empty folder; received '{folder}'")
    (folder / "snapshots").mkdir(parents=True)
    with arena.reading.connect() as connection:
        # One transaction: all files are of one moment, whatever a server writes meanwhile.
        state = State()
        state.read(connection)
        texts = list(record_texts(connection))
        _write(folder / "log.jsonl", texts)
        (folder / "checkpoint").write_text(checkpoint_of(arena.key, texts), encoding="utf-8")
        (folder / "vkey").write_text(f"{arena.key.verifier}\n", encoding="utf-8")
        found = sorted(submitted(connection, state, moment), key=lambda each: each.seq)
        lines = (canonical({"submission_id": each.submission_id, "opened": list(each.opened)}) for each in found)
        _write(folder / "reveals.jsonl", (line.encode() for line in lines))
        for row in connection.execute(select(snapshots.c.as_of, snapshots.c.body)):
            name = text_of(row.as_of).replace(":", "-")
            (folder / "snapshots" / f"{name}.json").write_bytes(bytes(row.body))
        rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
        (folder / "base_rates.json").write_bytes(rates.encode())
        board = score(facts_at(connection, state, moment))
    (folder / "scores.json").write_text(json.dumps(board.to_json(), allow_nan=False) + "\n", encoding="utf-8")
    return len(texts)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line + b"\n")
