"""Texts that are a day and a time of day.

Neither part has an effect on how the other is read, so each distinct one is read once.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from datetime import datetime, time, timezone

import numpy as np

from openoutcry.data.readers.distinct import Distinct, of_texts

_DAY = r"(?:\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./]\d{4}|\d{8})"
_LINES = {mark: re.compile(rf"(?:{_DAY}{mark}[^\n]*(?:\n|\Z))+", re.ASCII) for mark in ("T", " ")}


class SplitTimes:
    """Days and times of day of texts; a text of another form is a day."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        mark = "T" if texts and "T" in texts[0] else " "
        lines = "\n".join(texts)
        self.is_split = _LINES[mark].fullmatch(lines) is not None and lines.count("\n") == len(texts) - 1
        if self.is_split:
            parts = [text.partition(mark) for text in texts]
            self._days = of_texts([day for day, _, _ in parts])
            self._clocks = of_texts([clock for _, _, clock in parts])
        else:
            self._days = of_texts(texts)
            self._clocks = Distinct([""], np.zeros(len(texts), np.uint32))
        self._first_days = self._days.first_rows().tolist()
        self._first_clocks = self._clocks.first_rows().tolist()
        self._shown = sorted({*self._first_days, *self._first_clocks})

    def shown(self) -> list[str]:
        """Return a text of each day and of each time of day, in their order."""
        return [self._texts[row] for row in self._shown]

    def moments(self, known: Sequence[datetime]) -> list[datetime]:
        """Return the times of all texts, from those of `shown`."""
        days, clocks = self._parts(known)
        if not self.is_split:
            return [days[place] for place in self._days.places.tolist()]
        return list(map(datetime.combine, self._of_rows(self._days, days), self._of_rows(self._clocks, clocks)))

    def iso(self, known: Sequence[datetime], *, is_utc: bool) -> list[str] | None:
        """Return the times of all texts in ISO 8601, from those of `shown`.

        None if they may be days: all are midnight, or there is one a day. None if they have an offset.
        """
        days, clocks = self._parts(known)
        zones = {moment.tzinfo for moment in known}
        may_be_days = len(days) == len(self._texts) or all(clock.replace(tzinfo=None) == time() for clock in clocks)
        if may_be_days or zones not in ({None}, {timezone.utc}):
            return None
        end = "Z" if is_utc or zones == {timezone.utc} else ""
        dates = [day.date().isoformat() for day in days]
        hours = [f"T{clock.replace(tzinfo=None).isoformat()}{end}" for clock in clocks]
        return list(map(operator.add, self._of_rows(self._days, dates), self._of_rows(self._clocks, hours)))

    def _parts(self, known: Sequence[datetime]) -> tuple[list[datetime], list[time]]:
        of_row = dict(zip(self._shown, known, strict=True))
        return [of_row[row] for row in self._first_days], [of_row[row].timetz() for row in self._first_clocks]

    @staticmethod
    def _of_rows(column: Distinct, parts: Sequence[object]) -> map:  # type: ignore[type-arg]
        return map(parts.__getitem__, column.places.tolist())
