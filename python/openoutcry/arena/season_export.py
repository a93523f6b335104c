"""A season as files, from which anybody can recompute all that the Arena says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns

from sqlalchemy import select

from openoutcry.arena import rescoring
from openoutcry.arena.log.log_records import canonical
from openoutcry.arena.log.log_writer import checkpoint_of
from openoutcry.arena.scoring import Board, Facts, Row, facts_of, score
from openoutcry.arena.scoring.settlement import SETTLED, settle
from openoutcry.arena.store.arena_store import COSIGNATURES, Arena
from openoutcry.arena.store.read_queries import facts_at, record_texts, visible_submissions
from openoutcry.arena.store.tables import meta, snapshots
from openoutcry.arena.timestamps import format_timestamp
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError


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
    # Before the log is read, so that none is of records that come later.
    if (arena.folder / COSIGNATURES).exists():
        copytree(arena.folder / COSIGNATURES, folder / COSIGNATURES, ignore=ignore_patterns("*.tmp"))
    with arena.reading.connect() as connection:
        # One transaction: all files are of one moment, whatever a server writes meanwhile.
        texts = list(record_texts(connection))
        _write(folder / "log.jsonl", texts)
        (folder / "checkpoint").write_text(checkpoint_of(arena.key, texts), encoding="utf-8")
        (folder / "vkey").write_text(f"{arena.key.verifier}\n", encoding="utf-8")
        found = sorted(visible_submissions(connection, moment), key=lambda each: each.seq)
        lines = (canonical({"submission_id": each.submission_id, "opened": list(each.opened)}) for each in found)
        _write(folder / "reveals.jsonl", (line.encode() for line in lines))
        for row in connection.execute(select(snapshots.c.as_of, snapshots.c.body)):
            name = format_timestamp(row.as_of).replace(":", "-")
            (folder / "snapshots" / f"{name}.json").write_bytes(bytes(row.body))
        rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
        (folder / "base_rates.json").write_bytes(rates.encode())
        board = score(facts_at(connection, moment))
    (folder / "scores.json").write_text(json.dumps(board.to_json(), allow_nan=False) + "\n", encoding="utf-8")
    return len(texts)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line + b"\n")


def board_at(arena: Arena, moment: int, window: tuple[int, int] | None = None, theater: str | None = None) -> Board:
    """Return the board of a moment, of one season and theater or of all.

    Args:
        arena: Open.
        moment: Now.
        window: First moment of a season, and the one after its last.
        theater: Region whose board it is.
    """
    with arena.reading.connect() as connection:
        facts = replace(facts_at(connection, moment), window=window)
    return score(facts, theater)


def standings(
    arena: Arena, moment: int, windows: Mapping[str, tuple[int, int] | None]
) -> dict[str, tuple[int, list[Row]]]:
    """Return each season's count of settled markets, and its agents with a score."""
    with arena.reading.connect() as connection:
        facts = facts_at(connection, moment)
    ends = settle(facts.resolutions, moment, facts.parameters.grace_s).values()
    finals = [each.settled_us for each in ends if each.state == SETTLED and each.settled_us is not None]
    found = {}
    for name, window in windows.items():
        rows = [row for row in score(replace(facts, window=window)).rows if row.n_scored]
        found[name] = sum(window is None or window[0] <= at < window[1] for at in finals), rows
    return found


def score_faults(folder: Path) -> list[str]:
    """Return what in the scores of an export is not what its log makes.

    They are recomputed by the standard library and, where that agrees, once more as a server does: intervals, too.
    """
    found = rescoring.faults(folder)
    if found:
        return found
    said = json.loads((folder / "scores.json").read_bytes())
    try:
        wanted = score(replace(facts_of_export(folder), window=said["window"]), said["theater"]).to_json()
    except OpenOutcryError as error:
        # The slug is of the package's own table.
        return [str(error).partition(": ")[2] or str(error)]
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # What a signed record lacks: `rescoring` reads no more of one than it needs.
        came = f"one without {error}" if isinstance(error, KeyError) else "another"
        return [f"a whole export is required; received {came}"]
    return list(rescoring.differences("scores", json.loads(json.dumps(wanted)), said))


def facts_of_export(folder: Path) -> Facts:
    """Return what the board of an export depends on, of the moment of its scores."""
    opened = (json.loads(line) for line in (folder / "reveals.jsonl").read_bytes().splitlines())
    records = [json.loads(line) for line in (folder / "log.jsonl").read_bytes().splitlines()]
    as_ofs = [each["as_of"] for each in records if each["type"] == "snapshot"]
    return facts_of(
        records,
        {each["submission_id"]: each["opened"] for each in opened},
        {each: (folder / "snapshots" / f"{each.replace(':', '-')}.json").read_bytes() for each in as_ofs},
        (folder / "base_rates.json").read_bytes(),
        at_us=json.loads((folder / "scores.json").read_bytes())["at_us"],
    )
