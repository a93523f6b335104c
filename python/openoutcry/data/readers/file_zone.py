"""Time zone that a file states outside of its rows, and that of an option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from openoutcry.data.readers.date_zones import zone_of
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import OpenOutcryError

# Names of zones that a database of zones need not have.
_OLD_NAMES = {"US/Eastern": "America/New_York"}


@dataclass(frozen=True)
class FileZone:
    """Zone of the times of a file.

    Attributes:
        name: IANA name; None if unknown.
        stated: Names that the file states.
        is_option: Whether `name` is that of an option.
    """

    name: str | None
    stated: tuple[str, ...] = ()
    is_option: bool = False

    def taken_for(self, first: str) -> tuple[str | None, str | None]:
        """Return what the stated zone was taken for, and a notice, if any.

        Args:
            first: First date of the file in ISO 8601.

        Raises:
            OpenOutcryError: `date_invalid`: the file has times, and states several zones.
        """
        if not self.stated or len(first) == len("2024-01-02"):
            return None, None
        names = " and ".join(self.stated)
        if self.is_option:
            same = [_OLD_NAMES.get(name, name) for name in self.stated] == [self.name]
            return None, None if same else f"`tz` {self.name} was stated; the file states {names}"
        if len(self.stated) > 1:
            required, keyword = "times in one zone are required", f'tz="{self.stated[0]}", or a file per zone'
            raise unstated(Question("date_invalid", required, names, keyword, f"--tz {self.stated[0]}"))
        if self.name is None:
            return None, f"the file states the zone {names!r}, which is no IANA zone; hint: state `tz` (`--tz`)"
        return f"{self.name}, as the file states {names!r}; `tz` (`--tz`) if you requested another", None


def of(stated: Sequence[str], option: str | None) -> FileZone:
    """Return the zone of a file: the option, else the only one that it states."""
    if option is not None or len(stated) != 1:
        return FileZone(option, tuple(stated), is_option=option is not None)
    name = _OLD_NAMES.get(stated[0], stated[0])
    with suppress(OpenOutcryError):
        zone_of(name)
        return FileZone(name, tuple(stated))
    return FileZone(None, tuple(stated))


def states_utc(text: str) -> bool:
    """Return whether a text states that times are UTC; refuse an offset.

    Raises:
        OpenOutcryError: `date_invalid`: the times have an offset such as GMT-5.
    """
    match = re.search(r"\b(?:utc|gmt)\b\s*([+-]\s*\d+)?", text, re.IGNORECASE)
    if match is not None and match[1]:
        required, received = "times in UTC, or a stated zone, are required", f"{match[0]!r} in the header"
        keyword = 'tz="Etc/GMT+5" for GMT-5'
        raise unstated(Question("date_invalid", required, received, keyword, "--tz Etc/GMT+5"))
    return match is not None
