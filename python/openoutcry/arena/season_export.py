"""Export of a season as files, from which all scores can be recomputed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns

from sqlalchemy import select

from openoutcry.arena import rescoring
from openoutcry.arena.log.log_records import canonical
from openoutcry.arena.log.log_writer import checkpoint_of_records
from openoutcry.arena.scoring import Board, Row, ScoreInputs, read_score_inputs, score
from openoutcry.arena.scoring.settlement import SETTLED, settle
from openoutcry.arena.store.arena_store import COSIGNATURES, Arena
from openoutcry.arena.store.read_queries import facts_at, record_texts, visible_submissions
from openoutcry.arena.store.tables import meta, snapshots
from openoutcry.arena.timestamps import format_timestamp
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError


def export(arena: Arena, folder: Path, timestamp: int) -> int:
    """Write the public data of an arena to a new folder; return the record count.

    Args:
        arena: An open arena; it may be served meanwhile.
        folder: An empty or missing folder.
        timestamp: Current time. Decisions on markets whose cutoff has not passed are left out.
    """
    if folder.exists() and any(folder.iterdir()):
        raise refusal("argument_invalid", f"an export must go to an empty folder; received '{folder}'")
    (folder / "snapshots").mkdir(parents=True)
    # Copied before the log is read, so that no cosignature covers a record that is not exported.
    if (arena.folder / COSIGNATURES).exists():
        copytree(arena.folder / COSIGNATURES, folder / COSIGNATURES, ignore=ignore_patterns("*.tmp"))
    with arena.reading.connect() as connection:
        # One transaction, so that all files are consistent while a server writes.
        texts = list(record_texts(connection))
        _write(folder / "log.jsonl", texts)
        (folder / "checkpoint").write_text(checkpoint_of_records(arena.key, texts), encoding="utf-8")
        (folder / "vkey").write_text(f"{arena.key.verifier}\n", encoding="utf-8")
        ordered = sorted(visible_submissions(connection, timestamp), key=lambda each: each.seq)
        lines = (canonical({"submission_id": each.submission_id, "opened": list(each.opened)}) for each in ordered)
        _write(folder / "reveals.jsonl", (line.encode() for line in lines))
        for row in connection.execute(select(snapshots.c.as_of, snapshots.c.body)):
            name = format_timestamp(row.as_of).replace(":", "-")
            (folder / "snapshots" / f"{name}.json").write_bytes(bytes(row.body))
        rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
        (folder / "base_rates.json").write_bytes(rates.encode())
        board = score(facts_at(connection, timestamp))
    (folder / "scores.json").write_text(json.dumps(board.to_json(), allow_nan=False) + "\n", encoding="utf-8")
    return len(texts)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line + b"\n")


def board_at(arena: Arena, timestamp: int, window: tuple[int, int] | None = None, theater: str | None = None) -> Board:
    """Return the leaderboard at a time, for one season and theater or for all.

    Args:
        arena: An open arena.
        timestamp: Time, in microseconds since 1970.
        window: Half-open window of a season; None for all time.
        theater: One region; None for all.
    """
    with arena.reading.connect() as connection:
        facts = replace(facts_at(connection, timestamp), window=window)
    return score(facts, theater)


def standings(
    arena: Arena, timestamp: int, windows: Mapping[str, tuple[int, int] | None]
) -> dict[str, tuple[int, list[Row]]]:
    """Return the number of settled markets and the scored agents of each season."""
    with arena.reading.connect() as connection:
        facts = facts_at(connection, timestamp)
    settlements = settle(facts.resolutions, timestamp, facts.parameters.grace_s).values()
    finals = [each.settled_us for each in settlements if each.state == SETTLED and each.settled_us is not None]
    standings_by_season = {}
    for name, window in windows.items():
        rows = [row for row in score(replace(facts, window=window)).rows if row.n_scored]
        standings_by_season[name] = sum(window is None or window[0] <= at < window[1] for at in finals), rows
    return standings_by_season


def score_faults(folder: Path) -> list[str]:
    """Recompute the scores of an export and return the differences.

    `rescoring` recomputes them with the standard library. If it agrees, the server's code recomputes the intervals too.
    """
    faults = rescoring.faults(folder)
    if faults:
        return faults
    exported = json.loads((folder / "scores.json").read_bytes())
    try:
        wanted = score(replace(facts_of_export(folder), window=exported["window"]), exported["theater"]).to_json()
    except OpenOutcryError as error:
        # Without the slug: the caller prints one fault per line.
        return [str(error).partition(": ")[2] or str(error)]
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A signed record may lack members that `rescoring` does not read.
        received = f"one without {error}" if isinstance(error, KeyError) else "another"
        return [f"a complete export is required; received {received}"]
    return list(rescoring.differences("scores", json.loads(json.dumps(wanted)), exported))


def facts_of_export(folder: Path) -> ScoreInputs:
    """Return the inputs of an export's leaderboard, at the time of its scores."""
    opened = (json.loads(line) for line in (folder / "reveals.jsonl").read_bytes().splitlines())
    records = [json.loads(line) for line in (folder / "log.jsonl").read_bytes().splitlines()]
    as_ofs = [each["as_of"] for each in records if each["type"] == "snapshot"]
    return read_score_inputs(
        records,
        {each["submission_id"]: each["opened"] for each in opened},
        {each: (folder / "snapshots" / f"{each.replace(':', '-')}.json").read_bytes() for each in as_ofs},
        (folder / "base_rates.json").read_bytes(),
        at_us=json.loads((folder / "scores.json").read_bytes())["at_us"],
    )
