"""Named statistics, each a number or the reason why it is undefined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["NO_YEAR", "Statistics", "collected"]

NO_YEAR = "the number of bars per year is unknown"


@dataclass(frozen=True)
class Statistics:
    """Statistics by name.

    Attributes:
        values: Name to value; None is undefined.
        undefined: Name to the reason of each value that is None.
    """

    values: Mapping[str, float | None]
    undefined: Mapping[str, str] = field(default_factory=dict)


def collected(found: Mapping[str, float | str]) -> Statistics:
    """Return statistics by name; a text is the reason of an undefined one."""
    values = {name: None if isinstance(each, str) else float(each) for name, each in found.items()}
    return Statistics(values, {name: each for name, each in found.items() if isinstance(each, str)})
