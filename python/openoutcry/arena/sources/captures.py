"""Captures kept as files, and the snapshots of a season made again from them.

A folder holds one folder an edge, and in it two files a capture: `rss.0.raw`, the body, and `rss.0.json`, the address,
when it was fetched, the status and the headers. Beside the edges, `memory.json` may hold what an observer remembers.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from openoutcry.arena.snapshots.item_kinds import SnapshotError
from openoutcry.arena.snapshots.snapshot_builder import Snapshot, build
from openoutcry.arena.snapshots.snapshot_times import format_time, parse_time
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.observer import FETCHED_SOURCES, Observer
from openoutcry.arena.sources.observer_state import dump_state, read_state
from openoutcry.arena.sources.operator_json import member, parse_object, text_members

STATE_FILE = "memory.json"


def folder_name(as_of: datetime) -> str:
    """Return the name of an edge's folder, `2026-05-08T12-00-00Z`."""
    return format_time(as_of).replace(":", "-")


def save(folder: Path, as_of: datetime, captures: Iterable[Capture]) -> Path:
    """Keep the captures of an edge, all of them or, if this is cut short, none.

    Raises:
        SnapshotError: The edge has its captures already; they are never written over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / folder_name(as_of)
    if place.exists():
        raise SnapshotError(f"an edge is captured once; received {format_time(as_of)} again")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
        whole = Path(new, "whole")
        whole.mkdir()
        for each in captures:
            name = f"{each.source}.{counts[each.source]}"
            counts[each.source] += 1
            (whole / f"{name}.raw").write_bytes(each.body)
            told = {
                "part": each.part,
                "url": each.url,
                "fetched_at": format_time(each.fetched_at),
                "status": each.status,
                "headers": dict(each.headers),
                "error": each.error,
            }
            (whole / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        whole.replace(place)
    return place


def load(folder: Path) -> Iterator[tuple[datetime, list[Capture]]]:
    """Yield the edges of a folder in order, each with its captures.

    Raises:
        SnapshotError: A file is missing or is not what `save` writes.
    """
    for place in _places(folder):
        yield _edge(place)


def replay(folder: Path) -> Iterator[Snapshot]:
    """Yield the snapshots that a folder's captures make, the bytes once published.

    An edge at which every source was down has none.

    Raises:
        SnapshotError: There is no edge, a file cannot be read, or an edge's captures are from after it. At the end: no
            source answered at any edge.
    """
    if not folder.is_dir() or not _places(folder):
        wanted = "captures, in a folder for each edge such as 2026-05-08T12-00-00Z, are required"
        raise SnapshotError(f"{wanted}; received '{folder}', which has none")
    observer, n_edges, n_made = Observer(), 0, 0
    for as_of, captures in load(folder):
        observation = observer.observe(as_of, captures)
        n_edges += 1
        if not observation.is_down:
            n_made += 1
            yield build(as_of, observation.seen)
    if not n_made:
        came = f"{n_edges:,}, at none of which did {', '.join(FETCHED_SOURCES)}"
        raise SnapshotError(f"an edge at which a source answered is required; received {came}")


def save_state(folder: Path, observer: Observer) -> None:
    """Keep what an observer remembers, in the place of what was kept before."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
        file = Path(new, STATE_FILE)
        file.write_bytes(dump_state(observer.state))
        file.replace(folder / STATE_FILE)


def load_captures(folder: Path, as_of: datetime) -> list[Capture] | None:
    """Return the captures of an edge, or None where it has none.

    Raises:
        SnapshotError: A file is missing or is not what `save` writes.
    """
    place = folder / folder_name(as_of)
    return _edge(place)[1] if place.exists() else None


def resume(folder: Path, before: datetime | None = None) -> Observer:
    """Return an observer that goes on as if it had seen every edge of a folder.

    It sees again only the edges after what `remember` kept, or all where nothing is kept.

    Args:
        folder: With captures.
        before: Only edges that are earlier than this; all by default.

    Raises:
        SnapshotError: A file cannot be read. What is remembered may be deleted: it follows from the captures.
    """
    kept = folder / STATE_FILE
    observer = Observer(read_state(kept.read_bytes()) if kept.exists() else None)
    for place in _places(folder):
        last = observer.state.as_of
        is_due = before is None or place.name < folder_name(before)
        if is_due and (last is None or place.name > folder_name(last)):
            observer.observe(*_edge(place))
    return observer


def _places(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))


def _edge(place: Path) -> tuple[datetime, list[Capture]]:
    try:
        date, _, hour = place.name.partition("T")
        as_of = parse_time(f"{date}T{hour.replace('-', ':')}")
    except ValueError as error:
        wanted = "a folder named by its edge, such as 2026-05-08T12-00-00Z, is required"
        raise SnapshotError(f"the captures of {place.name} cannot be read: {wanted}") from error
    return as_of, [_read(path) for path in sorted(place.glob("*.json"), key=_order)]


def _order(path: Path) -> tuple[str, int]:
    source, _, count = path.stem.rpartition(".")
    if not count.isascii() or not count.isdigit():
        wanted = "files named by source and number, such as rss.0.json, are required"
        raise SnapshotError(f"the captures of {path.parent.name} cannot be read: {wanted}; received {path.name!r}")
    return source, int(count)


def _read(path: Path) -> Capture:
    try:
        told = parse_object(path.read_bytes())
        return Capture(
            source=_order(path)[0],
            part=member(told, "part", str),
            url=member(told, "url", str),
            fetched_at=parse_time(member(told, "fetched_at", str)),
            status=member(told, "status", int),
            headers=text_members(told, "headers", dict),
            body=path.with_suffix(".raw").read_bytes(),
            error=member(told, "error", str, type(None)),
        )
    except (OSError, ValueError) as error:
        why = f"'{error.filename}': {error.strerror}" if isinstance(error, OSError) else error
        raise SnapshotError(f"the captures of {path.parent.name} cannot be read: {path.name}: {why}") from error
