"""What to ask, of whom: the operator's plan, which `plan.json` gives defaults for."""

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
    """What is fetched for each snapshot.

    Args:
        feeds: Name of each feed, as articles show it, to its address.
        series: Series of Kalshi whose open markets are listed.
        query: What to ask GDELT's article search for, or None. It refuses all but rare callers.
        calendar: The bytes of the calendar of scheduled events, an iCalendar file, or None.
        table: The bytes of the table of theaters.
        risk: Says the financial risk of a theater.
        files: Where the calendar and the table are read from, by the plan's own names.
    """

    feeds: dict[str, str]
    series: tuple[str, ...]
    query: str | None = None
    calendar: bytes | None = None
    table: bytes = field(default_factory=default_table_bytes)
    risk: Callable[[Theater], str] = unknown_risk
    files: Mapping[str, Path] = field(default_factory=dict)

    def reload(self) -> Plan:
        """Return the plan with its files as they are now.

        Raises:
            OSError: One of them cannot be read.
        """
        files = {name: path.read_bytes() for name, path in self.files.items()}
        return replace(self, calendar=files.get("calendar", self.calendar), table=files.get("theaters", self.table))


def read_plan(raw: bytes, folder: Path | None = None) -> Plan:
    """Return the plan of a JSON file, whose members are `MEMBERS`.

    Args:
        raw: The bytes.
        folder: What paths in it are relative to; by default where this runs.

    Raises:
        SnapshotError: It is no such file, or another that it names is not what it must be.
    """
    try:
        return _plan(parse_object(raw), folder or Path())
    except SnapshotError as error:
        raise SnapshotError(f"the plan cannot be read: {error}") from error


def _plan(told: dict[str, Any], folder: Path) -> Plan:
    for name in told:
        if name not in MEMBERS:
            raise SnapshotError(f"members must be of {', '.join(MEMBERS)}; received {shown(name)}")
    feeds, series = text_members(told, "feeds", dict), text_members(told, "series", list)
    query = member(told, "query", str, _NONE)
    for name, url in feeds.items():
        if not _is_http_url(url):
            raise SnapshotError(f"feeds must have addresses of http or https; received {shown(url)} of {shown(name)}")
    for each in series:
        if not is_market_id(f"kalshi:{each}"):
            raise SnapshotError(f"series must be as Kalshi names them, such as KXIRANSTRIKE; received {shown(each)}")
    if query is not None and not query.strip():
        raise SnapshotError(f"`query` must have words, or be left out; received {shown(query)}")
    if not (feeds or series or query):
        raise SnapshotError("a feed, a series or a query is required; received none")
    paths = {name: member(told, name, str, _NONE) for name in FILES}
    files = {name: folder / path for name, path in paths.items() if path is not None}
    try:
        plan = Plan(feeds, tuple(series), query, files=files).reload()
    except OSError as error:
        raise SnapshotError(
            f"a file that can be read is required; received '{error.filename}': {error.strerror}"
        ) from error
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
    """Return the plan that ships: two public feeds, and a few series of every theater."""
    return read_plan(resources.files(__package__).joinpath("plan.json").read_bytes())
