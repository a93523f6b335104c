"""What to ask, of whom: the operator's plan, which `plan.json` gives defaults for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources

from openoutcry.arena.protocol import Theater
from openoutcry.arena.snapshots.kinds import SnapshotError
from openoutcry.arena.snapshots.theaters import shipped_bytes
from openoutcry.arena.sources.risk import unknown
from openoutcry.arena.sources.told import member, object_of, texts

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
    """

    feeds: dict[str, str]
    series: tuple[str, ...]
    query: str | None = None
    calendar: bytes | None = None
    table: bytes = field(default_factory=shipped_bytes)
    risk: Callable[[Theater], str] = unknown


def read_plan(raw: bytes) -> Plan:
    """Return the plan of a JSON file with `feeds`, `series` and perhaps `query`.

    Raises:
        SnapshotError: It is no such file.
    """
    try:
        told = object_of(raw)
        return Plan(texts(told, "feeds", dict), tuple(texts(told, "series", list)), member(told, "query", str, _NONE))
    except SnapshotError as error:
        raise SnapshotError(f"the plan cannot be read: {error}") from error


def shipped_plan() -> Plan:
    """Return the plan that ships: two public feeds, and a few series of every theater."""
    return read_plan(resources.files(__package__).joinpath("plan.json").read_bytes())
