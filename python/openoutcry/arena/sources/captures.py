"""Captures stored as files, and the replay of a season's snapshots from them.

A season folder has one folder per snapshot time with two files per capture: `rss.0.raw` holds the body, `rss.0.json`
the URL, fetch time, status and headers. `memory.json` in the season folder holds the saved state of an observer.
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
    """Return the folder name of a snapshot time, such as `2026-05-08T12-00-00Z`."""
    return format_time(as_of).replace(":", "-")


def save(folder: Path, as_of: datetime, captures: Iterable[Capture]) -> Path:
    """Store the captures of a snapshot time atomically: all of them, or none.

    Raises:
        SnapshotError: Captures of this time exist; they are never overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / folder_name(as_of)
    if place.exists():
        raise SnapshotError(f"a snapshot time without captures is required; received {format_time(as_of)} again")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
        staging = Path(new, "complete")
        staging.mkdir()
        for each in captures:
            name = f"{each.source}.{counts[each.source]}"
            counts[each.source] += 1
            (staging / f"{name}.raw").write_bytes(each.body)
            fields = {
                "part": each.part,
                "url": each.url,
                "fetched_at": format_time(each.fetched_at),
                "status": each.status,
                "headers": dict(each.headers),
                "error": each.error,
            }
            (staging / f"{name}.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
        staging.replace(place)
    return place


def load(folder: Path) -> Iterator[tuple[datetime, list[Capture]]]:
    """Yield the snapshot times of a folder in order, with their captures.

    Raises:
        SnapshotError: A file is missing or invalid.
    """
    for place in _capture_folders(folder):
        yield _load_folder(place)


def replay(folder: Path) -> Iterator[Snapshot]:
    """Yield the snapshots of a folder's captures, with the same bytes as published.

    A snapshot time at which no source responded has no snapshot.

    Raises:
        SnapshotError: There are no captures, a file is invalid, or a capture is later than its snapshot time. At the
            end: no source responded at any time.
    """
    if not folder.is_dir() or not _capture_folders(folder):
        wanted = "captures in folders named by snapshot time, such as 2026-05-08T12-00-00Z, are required"
        raise SnapshotError(f"{wanted}; received '{folder}' without captures")
    observer, n_times, n_built = Observer(), 0, 0
    for as_of, captures in load(folder):
        observation = observer.observe(as_of, captures)
        n_times += 1
        if not observation.is_down:
            n_built += 1
            yield build(as_of, observation.seen)
    if not n_built:
        received = f"{n_times:,} without a response of {', '.join(FETCHED_SOURCES)}"
        raise SnapshotError(f"a snapshot time with a response of a source is required; received {received}")


def save_state(folder: Path, observer: Observer) -> None:
    """Save the state of an observer, replacing the previous state."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
        file = Path(new, STATE_FILE)
        file.write_bytes(dump_state(observer.state))
        file.replace(folder / STATE_FILE)


def load_captures(folder: Path, as_of: datetime) -> list[Capture] | None:
    """Return the captures of a snapshot time, or None if there are none.

    Raises:
        SnapshotError: A file is missing or invalid.
    """
    place = folder / folder_name(as_of)
    return _load_folder(place)[1] if place.exists() else None


def resume(folder: Path, before: datetime | None = None) -> Observer:
    """Return an observer that has observed every snapshot time of a folder.

    It starts from the saved state and observes only later captures, or all captures without a saved state.

    Args:
        folder: Season folder with captures.
        before: Observe only earlier snapshot times; all by default.

    Raises:
        SnapshotError: A file is invalid. You may delete `memory.json`, since it is derived from the captures.
    """
    state_file = folder / STATE_FILE
    observer = Observer(read_state(state_file.read_bytes()) if state_file.exists() else None)
    for place in _capture_folders(folder):
        last = observer.state.as_of
        is_due = before is None or place.name < folder_name(before)
        if is_due and (last is None or place.name > folder_name(last)):
            observer.observe(*_load_folder(place))
    return observer


def _capture_folders(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))


def _load_folder(place: Path) -> tuple[datetime, list[Capture]]:
    try:
        date, _, hour = place.name.partition("T")
        as_of = parse_time(f"{date}T{hour.replace('-', ':')}")
    except ValueError as error:
        wanted = "a folder named by its snapshot time, such as 2026-05-08T12-00-00Z, is required"
        raise SnapshotError(f"the captures of {place.name} cannot be read: {wanted}") from error
    return as_of, [_read(path) for path in sorted(place.glob("*.json"), key=_file_key)]


def _file_key(path: Path) -> tuple[str, int]:
    source, _, count = path.stem.rpartition(".")
    if not count.isascii() or not count.isdigit():
        wanted = "files named by source and number, such as rss.0.json, are required"
        raise SnapshotError(f"the captures of {path.parent.name} cannot be read: {wanted}; received {path.name!r}")
    return source, int(count)


def _read(path: Path) -> Capture:
    try:
        fields = parse_object(path.read_bytes())
        return Capture(
            source=_file_key(path)[0],
            part=member(fields, "part", str),
            url=member(fields, "url", str),
            fetched_at=parse_time(member(fields, "fetched_at", str)),
            status=member(fields, "status", int),
            headers=text_members(fields, "headers", dict),
            body=path.with_suffix(".raw").read_bytes(),
            error=member(fields, "error", str, type(None)),
        )
    except (OSError, ValueError) as error:
        why = f"'{error.filename}': {error.strerror}" if isinstance(error, OSError) else error
        raise SnapshotError(f"the captures of {path.parent.name} cannot be read: {path.name}: {why}") from error
