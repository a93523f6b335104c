"""Scheduled events from an operator's iCalendar file.

Reads `SUMMARY`, `DTSTART` and `UID`, and `CREATED` as the time of announcement. `DTSTART` must be in UTC or in a named
time zone. Repeating events are not supported and are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from openoutcry.arena.snapshots.item_kinds import MAX_TITLE, ScheduledEvent, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import UTC
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.parse_result import Parsed, digest, unreadable
from openoutcry.arena.sources.text_sanitizer import clean_text

SOURCE = "calendar"
MAX_EVENTS = 1000
STAMP = re.compile(r"\d{8}T\d{6}Z?", re.ASCII)
ESCAPED = re.compile(r"\\(.)")
Properties = dict[str, tuple[str, str]]


def fetch(raw: bytes, now: datetime) -> Capture:
    """Return the calendar file as a capture, for the replay."""
    return Capture(SOURCE, "events", "", now, 200, body=raw)


def parse(raw: bytes, fetched_at: datetime) -> Parsed[ScheduledEvent]:
    """Parse the events of a calendar."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return unreadable()
    # A line that starts with a blank continues the previous line.
    lines = re.sub(r"\r?\n[ \t]", "", text).splitlines()
    if not lines or lines[0].strip().upper() != "BEGIN:VCALENDAR":
        return unreadable()
    found: Parsed[ScheduledEvent] = Parsed()
    for count, properties in enumerate(_events(lines)):
        found.add("event", _event(properties, fetched_at) if count < MAX_EVENTS else None)
    return found


def _events(lines: list[str]) -> Iterator[Properties]:
    """Yield the properties of each event, without those of nested alarms."""
    inside: list[str] = []
    properties: Properties = {}
    for line in lines:
        head, _, value = line.partition(":")
        name, _, parameters = head.partition(";")
        name = name.strip().upper()
        if name == "BEGIN":
            inside.append(value.strip().upper())
            if inside[-1] == "VEVENT":
                properties = {}
        elif name == "END" and inside:
            if inside.pop() == "VEVENT":
                yield properties
        elif inside and inside[-1] == "VEVENT":
            properties.setdefault(name, (parameters, value))


def _event(properties: Properties, fetched_at: datetime) -> ScheduledEvent | None:
    scheduled, created = _parse_stamp(properties.get("DTSTART")), _parse_stamp(properties.get("CREATED"))
    if scheduled is None or "RRULE" in properties or properties.get("STATUS", ("", ""))[1].upper() == "CANCELLED":
        return None
    summary = ESCAPED.sub(lambda match: " " if match[1] in "nN" else match[1], properties.get("SUMMARY", ("", ""))[1])
    try:
        return ScheduledEvent(
            id=f"scheduled_event:{digest(properties.get('UID', ('', summary))[1], scheduled.isoformat())}",
            title=clean_text(summary, MAX_TITLE),
            scheduled_at=scheduled,
            # An announcement after the fetch is an error in the file and is ignored.
            published_at=created if created is not None and created <= fetched_at else None,
        )
    except SnapshotError:
        return None


def _parse_stamp(prop: tuple[str, str] | None) -> datetime | None:
    if prop is None or not STAMP.fullmatch(prop[1].strip()):
        return None
    parameters, stamp = prop[0], prop[1].strip()
    zone = re.search(r"(?:^|;)TZID=\"?([^;\"]+)", parameters, re.IGNORECASE)
    if not stamp.endswith("Z") and zone is None:
        return None
    try:
        local = datetime.strptime(stamp.rstrip("Z"), "%Y%m%dT%H%M%S")
        place = UTC if stamp.endswith("Z") or zone is None else ZoneInfo(zone[1])
        return local.replace(tzinfo=place).astimezone(UTC)
    except (KeyError, OSError, OverflowError, ValueError):
        return None
