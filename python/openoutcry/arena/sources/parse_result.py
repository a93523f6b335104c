"""Result of a parser: items, and counts of skipped data."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from openoutcry.arena.snapshots.snapshot_times import UTC

# Deeply nested brackets raise RecursionError.
UNREADABLE = (RecursionError, UnicodeError, ValueError)


class Identified(Protocol):
    """An item with an id."""

    @property
    def id(self) -> str:
        """Id of the item, stable between parses."""


T = TypeVar("T")
N = TypeVar("N", bound=Identified)


@dataclass
class Parsed(Generic[T]):
    """Parsed items, and the number of skipped ones by reason.

    The reason "unreadable" means the complete body. Parsers never raise.
    """

    items: list[T] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    _ids: set[str] = field(default_factory=set, repr=False, compare=False)

    def add(self: Parsed[N], name: str, item: N | None) -> bool:
        """Add an item; count a None or a duplicate id as lost, and return False."""
        if item is None or item.id in self._ids:
            self.lost[name if item is None else "duplicate"] += 1
            return False
        self._ids.add(item.id)
        self.items.append(item)
        return True

    @property
    def is_readable(self) -> bool:
        """Whether the body had the source's format."""
        return not self.lost["unreadable"]


def unreadable() -> Parsed[Any]:
    """Return the result for a body without the source's format."""
    return Parsed(lost=Counter(unreadable=1))


def read_object(raw: bytes) -> dict[str, Any] | None:
    """Parse a JSON object; None if the body is not one."""
    try:
        read = json.loads(raw)
    except UNREADABLE:
        return None
    return read if isinstance(read, dict) else None


def rows_of(value: object, most: int) -> list[dict[str, Any]]:
    """Return the objects among the first `most` elements; [] if it is not a list."""
    return [row for row in value[:most] if isinstance(row, dict)] if isinstance(value, list) else []


def digest(*parts: str) -> str:
    """Return 16 hex digits of SHA-256 over strings."""
    text = json.dumps(parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def from_epoch(milliseconds: object) -> datetime | None:
    """Return the time of milliseconds since 1970, or None if out of range."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
        return None
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return None
