"""Windows of bars, given as bars or as dates."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from typing import Any, Protocol, TypeAlias

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_whole, lookback_of
from openoutcry.errors import refusal

Edge: TypeAlias = "int | str | date | np.datetime64 | None"

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(Z?))?", re.ASCII)
_EDGE = rf"(?:\+?\d{{1,18}}|{_DATE.pattern})?"
_TEXT = re.compile(rf"\s*(?P<start>{_EDGE})\s*:\s*(?P<end>{_EDGE})\s*", re.ASCII)


class _Dated(Protocol):
    @property
    def dates(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Window:
    """Bars `[start, end)` of a dataset, with `end - start - 1` decisions.

    An edge is a bar, as an index, or a date: the first bar on or after it. Dates are ISO 8601 texts, `datetime` objects
    (pandas timestamps too) or datetime64, without a time zone.

    Args:
        start: First bar. None: `lookback - 1` where the data is at least twice as long as the lookback, else 0.
        end: One past the last bar; that of a date is left out. None: the end of the data.
    """

    start: Edge = None
    end: Edge = None

    @classmethod
    def parse(cls, text: str) -> Window:
        """Read `A:B`, each side a bar, an ISO date or empty.

        `2010:2012` could be years or bars, so it is refused: years are `2010-01-01:2012-01-01`, bars `+2010:+2012`.

        Raises:
            OpenOutcryError: `window_invalid`: the text has no colon, or a side is neither.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise refusal("window_invalid", f"a window must be `START:END`, bars or ISO dates; received {text!r}")
        edges = found["start"], found["end"]
        if any(edges) and all(re.fullmatch(r"(19|20)\d\d|", edge) for edge in edges):
            years, bars = (
                ":".join(form.format(edge) if edge else "" for edge in edges) for form in ("{}-01-01", "+{}")
            )
            message = f"a window must say whether {text!r} means years or bars; received neither"
            raise refusal("window_invalid", f"{message}; hint: years are {years}, bars {bars}")
        return cls(*(_edge(edge) for edge in edges))

    def resolve(self, dataset: _Dated, lookback: int) -> tuple[int, int]:
        """Return the window's bars in a dataset as `(start, end)`.

        Raises:
            OpenOutcryError: `window_invalid`: the window leaves the data or holds no decision.
        """
        dates = dataset.dates
        start, end = (_bar(edge, dates) for edge in (self.start, self.end))
        try:
            return native.resolve_window(start, end, lookback_of(lookback), len(dates))
        except native.OpenOutcryError as error:
            edges = [edge for edge in (self.start, self.end) if edge is not None and not is_whole(edge)]
            if not edges:
                raise
            # In bars alone, an edge that was a date cannot be recognised.
            asked = ":".join("" if edge is None else _text(edge) for edge in (self.start, self.end))
            message = str(error).removeprefix(f"{error.slug}: ")
            raise refusal(error.slug, f"{message}, from {asked} in {dates[0]} .. {dates[-1]}") from error


def as_window(window: Any) -> Window:
    """Return any accepted form of a window as a `Window`.

    Forms: a `Window`, a pair of edges, `START:END` or None.
    """
    if window is None:
        return Window()
    if isinstance(window, Window):
        return window
    if isinstance(window, str):
        return Window.parse(window)
    if not isinstance(window, tuple) or len(window) != 2:
        message = f"`window` must be a Window, a pair, `START:END` or None; received {window!r}"
        raise refusal("window_invalid", message)
    return Window(*window)


def _edge(text: str) -> Edge:
    if not text:
        return None
    return text if "-" in text else int(text)


def _bar(edge: Edge, dates: Sequence[str]) -> int | None:
    """Return the bar of an edge: of a date, the first one on or after it."""
    if edge is None:
        return None
    if is_whole(edge) and 0 <= int(edge) < 2**63:  # type: ignore[arg-type]
        return int(edge)  # type: ignore[arg-type]
    day, clock, zone = _parts(edge)
    is_daily, is_zoned = len(dates[0]) == 10, dates[0].endswith("Z")
    if clock in ("", "00:00:00") and (is_daily or not zone):
        return bisect_left(dates, day)
    if is_daily or zone != ("Z" if is_zoned else ""):
        wanted = "a day" if is_daily else f"a day or a time such as {dates[0]}"
        raise refusal("window_invalid", f"a window's edge must be {wanted}, as the bars are; received {_text(edge)!r}")
    return bisect_left(dates, f"{day}T{clock}{zone}")


def _parts(edge: Any) -> tuple[str, str, str]:
    """Return the day of a date, its time and its zone, as far as it has them."""
    found = _DATE.fullmatch(_text(edge))
    with suppress(ValueError):
        if (
            found is not None
            and date.fromisoformat(found[1])
            and time.fromisoformat(found[2] or "00:00:00") is not None
        ):
            return found[1], found[2] or "", found[3] or ""
    shown = edge if isinstance(edge, str) else str(edge)
    message = f"a window's edge must be a bar or an ISO date such as 2008-01-31; received {shown!r}"
    raise refusal("window_invalid", message)


def _text(edge: Any) -> str:
    """Return a date as text, to the second where that is exact."""
    if isinstance(edge, np.datetime64):
        exact = edge.astype("datetime64[s]")
        return str(exact if exact == edge else edge)
    return str(edge.isoformat()) if isinstance(edge, date) else str(edge)
