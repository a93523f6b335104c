"""The operator's plan of sources; `plan.json` is the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openoutcry.arena.protocol import Theater, is_market_id, shown
from openoutcry.arena.snapshots.item_kinds import URL, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import UTC
from openoutcry.arena.snapshots.theaters import default_table_bytes, read_table
from openoutcry.arena.sources.financial_risk import unknown_risk
from openoutcry.arena.sources.icalendar import parse
from openoutcry.arena.sources.operator_json import member, parse_object, text_members

FILES = ("calendar", "theaters")
MEMBERS = ("feeds", "series", "query", *FILES)
_NONE = type(None)


@dataclass(frozen=True)
class Plan:
    """The sources to fetch for each snapshot.

    Args:
        feeds: URLs of RSS or Atom feeds, by the name shown in articles.
        series: Kalshi series; their open markets are listed.
        query: Query for GDELT's article search, or None. GDELT rejects frequent callers.
        calendar: Bytes of an iCalendar file with scheduled events, or None.
        table: Bytes of the table of theaters.
        risk: Function that returns the financial risk of a theater.
        files: Paths of the calendar and the table, by their names in the plan.
    """

    feeds: dict[str, str]
    series: tuple[str, ...]
    query: str | None = None
    calendar: bytes | None = None
    table: bytes = field(default_factory=default_table_bytes)
    risk: Callable[[Theater], str] = unknown_risk
    files: Mapping[str, Path] = field(default_factory=dict)

    def reload(self) -> Plan:
        """Return the plan with its files read again.

        Raises:
            OSError: A file cannot be read.
        """
        files = {name: path.read_bytes() for name, path in self.files.items()}
        return replace(self, calendar=files.get("calendar", self.calendar), table=files.get("theaters", self.table))


def read_plan(raw: bytes, folder: Path | None = None) -> Plan:
    """Parse a plan from JSON with the fields in `MEMBERS`.

    Args:
        raw: Bytes of the plan.
        folder: Base of relative paths; the working directory by default.

    Raises:
        SnapshotError: The plan, or a file that it names, is invalid.
    """
    try:
        return _plan(parse_object(raw), folder or Path())
    except SnapshotError as error:
        raise SnapshotError(f"the plan cannot be read: {error}") from error


def _plan(fields: dict[str, Any], folder: Path) -> Plan:
    for name in fields:
        if name not in MEMBERS:
            raise SnapshotError(f"fields must be among {', '.join(MEMBERS)}; received {shown(name)}")
    feeds, series = text_members(fields, "feeds", dict), text_members(fields, "series", list)
    query = member(fields, "query", str, _NONE)
    for name, url in feeds.items():
        if not _is_http_url(url):
            raise SnapshotError(f"feeds must have http or https URLs; received {shown(url)} for {shown(name)}")
        # Snapshots publish the URLs of their sources.
        if "@" in urlsplit(url).netloc:
            wanted = "feeds must have URLs without user name and password, since snapshots publish them"
            raise SnapshotError(f"{wanted}; received one with them for {shown(name)}")
    for each in series:
        if not is_market_id(f"kalshi:{each}"):
            raise SnapshotError(f"series must be Kalshi series tickers such as KXIRANSTRIKE; received {shown(each)}")
    if query is not None and not query.strip():
        raise SnapshotError(f"`query` must be non-empty or left out; received {shown(query)}")
    if not (feeds or series or query):
        raise SnapshotError("a feed, a series or a query is required; received none")
    paths = {name: member(fields, name, str, _NONE) for name in FILES}
    files = {name: folder / path for name, path in paths.items() if path is not None}
    try:
        plan = Plan(feeds, tuple(series), query, files=files).reload()
    except OSError as error:
        raise SnapshotError(f"a readable file is required; received '{error.filename}': {error.strerror}") from error
    read_table(plan.table)
    if plan.calendar is not None and not parse(plan.calendar, datetime.now(UTC)).is_readable:
        raise SnapshotError(f"`calendar` must be an iCalendar file; received '{files['calendar']}'")
    return plan


def _is_http_url(url: str) -> bool:
    try:
        return URL.fullmatch(url) is not None and bool(urlsplit(url).hostname)
    except ValueError:
        return False


def default_plan() -> Plan:
    """Return the default plan: two public feeds, and Kalshi series of every theater."""
    return read_plan(resources.files(__package__).joinpath("plan.json").read_bytes())
