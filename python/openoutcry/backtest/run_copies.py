"""Copies of a run, which share its arrays."""

from __future__ import annotations

from typing import Any

__all__ = ["CopiedByReference"]


class CopiedByReference:
    """An immutable object: a copy shares its parts, and a worker cannot return it."""

    def __copy__(self) -> Any:
        copied = type(self).__new__(type(self))
        copied.__dict__ |= self.__dict__  # the core is immutable, and returned arrays are copies of it
        return copied

    def __deepcopy__(self, memo: object) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:
        hint = "return `run.nav`, `run.metrics`, `run.to_frame()` or `run.decisions` from a worker"
        raise TypeError(f"a {type(self).__name__} cannot be pickled; hint: {hint}")
