"""What a parser returns: items, and counts of what it had to leave out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from openoutcry.arena.snapshots.snapshot_times import UTC

# A body of brackets alone would otherwise end the interpreter's stack.
UNREADABLE = (RecursionError, UnicodeError, ValueError)


class Identified(Protocol):
    """What tells two items of a source apart."""

    @property
    def id(self) -> str:
        """The same for the same item, whenever it is read."""


T = TypeVar("T")
N = TypeVar("N", bound=Identified)


@dataclass
class Parsed(Generic[T]):
    """Items, and how many were lost for each reason, "unreadable" being the body.

    The counts are the operator's metric. No parser raises, whatever the bytes.
    """

    items: list[T] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    _ids: set[str] = field(default_factory=set, repr=False, compare=False)

    def add(self: Parsed[N], name: str, item: N | None) -> bool:
        """Take an item; count it as lost where there is none, or one of its id."""
        if item is None or item.id in self._ids:
            self.lost[name if item is None else "duplicate"] += 1
            return False
        self._ids.add(item.id)
        self.items.append(item)
        return True

    @property
    def is_readable(self) -> bool:
        """Whether the body was in the source's format at all."""
        return not self.lost["unreadable"]


def unreadable() -> Parsed[Any]:
    """Return the outcome of a body that is not in the source's format."""
    return Parsed(lost=Counter(unreadable=1))


def read_object(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a body, or None if it is none."""
    try:
        read = json.loads(raw)
    except UNREADABLE:
        return None
    return read if isinstance(read, dict) else None


def rows_of(value: object, most: int) -> list[dict[str, Any]]:
    """Return the objects among the first `most` of a list; none if it is no list."""
    return [row for row in value[:most] if isinstance(row, dict)] if isinstance(value, list) else []


def digest(*parts: str) -> str:
    """Return 16 hex digits that name these texts, whatever they hold."""
    text = json.dumps(parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def from_epoch(milliseconds: object) -> datetime | None:
    """Return the moment so many milliseconds after 1970 began, if there is one."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
        return None
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return None
