"""Tiles: the log as static files (c2sp.org/tlog-tiles).

A tile holds up to 256 hashes of one level; tile levels are eight tree levels apart. An entry bundle holds the records
below a tile of level 0.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from openoutcry.errors import refusal

WIDTH = 256
"""Number of hashes in a full tile."""

_PATH = re.compile(r"(entries|[0-7])/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


@dataclass(frozen=True)
class Tile:
    """A tile of hashes, or an entry bundle if `level` is None."""

    level: int | None
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """The path below `tile/`, such as `0/x001/067.p/5`."""
        thousands, last = divmod(self.index, 1000)
        groups = [f"{last:03}"]
        while thousands:
            thousands, group = divmod(thousands, 1000)
            groups.append(f"x{group:03}")
        part = "" if self.width == WIDTH else f".p/{self.width}"
        return f"{'entries' if self.level is None else self.level}/{'/'.join(reversed(groups))}{part}"

    @classmethod
    def parse(cls, path: str) -> Tile:
        """Parse the path of a tile below `tile/`.

        Raises:
            OpenOutcryError: `argument_invalid`: the path is not a tile path.
        """
        match = _PATH.fullmatch(path) if path.isascii() and len(path) < 100 else None
        if match is not None:
            level = None if match[1] == "entries" else int(match[1])
            found = cls(level, int(match[2].replace("x", "").replace("/", "")), int(match[3] or WIDTH))
            # Each tile has one path: no leading zeros, no partial tile of full width.
            if found.path == path:
                return found
        raise refusal("argument_invalid", f"the path of a tile must be `L/N[.p/W]`; received {path[:80]!r}")

    @property
    def first(self) -> int:
        """Index of the first record below the tile."""
        return int(self.index * WIDTH ** ((self.level or 0) + 1))

    def is_complete_at(self, size: int) -> bool:
        """Return whether a tree of this size contains the complete tile."""
        return bool((self.index * WIDTH + self.width) * WIDTH ** (self.level or 0) <= size)


def entry_bundle(entries: Iterable[bytes]) -> bytes:
    """Return entries as a bundle: each preceded by its length in two bytes.

    Raises:
        OpenOutcryError: `argument_invalid`: an entry exceeds 65,535 bytes.
    """
    parts = []
    for place, entry in enumerate(entries):
        if len(entry) >= 1 << 16:
            wanted = f"`entries[{place}]` must take at most 65535 bytes"
            raise refusal("argument_invalid", f"{wanted}; received {len(entry)}")
        parts += [struct.pack(">H", len(entry)), entry]
    return b"".join(parts)
