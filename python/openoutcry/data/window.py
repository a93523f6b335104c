"""`Window`: a range of bars, given by bar index or by date."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Any, Protocol, TypeAlias

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_integer, lookback_of
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

    An edge is a bar index or a date. A date means the first bar on or after it. Dates are ISO 8601 strings, `datetime`
    objects (including pandas timestamps) or datetime64, without a time zone.

    Args:
        start: First bar. None: 0 for an array of weights; for agents, which need a history, `lookback - 1` if the data
            has at least twice as many bars as the lookback, else 0.
        end: One past the last bar, so a date is excluded. None: the end of the data.
    """

    start: Edge = None
    end: Edge = None

    @classmethod
    def parse(cls, text: str) -> Window:
        """Parse `START:END`, where each side is a bar index, an ISO date or empty.

        `2010:2012` is ambiguous and raises: write years as `2010-01-01:2012-01-01`, bars as `+2010:+2012`.

        Raises:
            OpenOutcryError: `window_invalid`: the colon is missing, or a side is neither a bar nor a date.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise refusal("window_invalid", f"a window must be `START:END`, bars or ISO dates; received {text!r}")
        edges = match["start"], match["end"]
        if any(edges) and all(re.fullmatch(r"(19|20)\d\d|", edge) for edge in edges):
            years, bars = (
                ":".join(form.format(edge) if edge else "" for edge in edges) for form in ("{}-01-01", "+{}")
            )
            message = f"a window must be unambiguous; received {text!r}, which can mean years or bars"
            raise refusal("window_invalid", f"{message}; hint: write {years} for years, {bars} for bars")
        return cls(*(_edge(edge) for edge in edges))

    def resolve(self, dataset: _Dated, lookback: int) -> tuple[int, int]:
        """Return the bars of the window in a dataset as `(start, end)`.

        Raises:
            OpenOutcryError: `window_invalid`: the window exceeds the data or has no decision.
        """
        # Those of the engine, where there is one: a tuple would have a text per bar.
        dates = getattr(dataset, "_core", dataset).dates
        start, end = (_bar(edge, dates) for edge in (self.start, self.end))
        try:
            return native.resolve_window(start, end, lookback_of(lookback), len(dates))
        except native.OpenOutcryError as error:
            edges = [edge for edge in (self.start, self.end) if edge is not None and not is_integer(edge)]
            if not edges:
                raise
            # The native message names bars only; add the dates that the caller passed.
            given = ":".join("" if edge is None else _text(edge) for edge in (self.start, self.end))
            message = str(error).removeprefix(f"{error.slug}: ")
            raise refusal(error.slug, f"{message}, from {given} in {dates[0]} .. {dates[-1]}") from error


def as_window(window: Any) -> Window:
    """Return a `Window` from a `Window`, a pair of edges, `START:END` or None."""
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


def weights_window(window: Any) -> Window:
    """Return the window of an array of weights, which starts at the first bar."""
    checked = as_window(window)
    return replace(checked, start=0) if checked.start is None else checked


def _edge(text: str) -> Edge:
    if not text:
        return None
    return text if "-" in text else int(text)


def _bar(edge: Edge, dates: Sequence[str]) -> int | None:
    """Return the bar of an edge; for a date, the first bar on or after it."""
    if edge is None:
        return None
    if is_integer(edge) and 0 <= int(edge) < 2**63:  # type: ignore[arg-type]
        return int(edge)  # type: ignore[arg-type]
    day, clock, zone = _parts(edge)
    is_daily, is_zoned = len(dates[0]) == 10, dates[0].endswith("Z")
    if clock in ("", "00:00:00") and (is_daily or not zone):
        return bisect_left(dates, day)
    if is_daily or zone != ("Z" if is_zoned else ""):
        wanted = "a date" if is_daily else f"a date or a time such as {dates[0]}"
        message = f"an edge of a window must be {wanted}, like the bars; received {_text(edge)!r}"
        raise refusal("window_invalid", message)
    return bisect_left(dates, f"{day}T{clock}{zone}")


def _parts(edge: Any) -> tuple[str, str, str]:
    """Return the day, time and zone of a date; empty where it has none."""
    match = _DATE.fullmatch(_text(edge))
    with suppress(ValueError):
        if (
            match is not None
            and date.fromisoformat(match[1])
            and time.fromisoformat(match[2] or "00:00:00") is not None
        ):
            return match[1], match[2] or "", match[3] or ""
    shown = edge if isinstance(edge, str) else str(edge)
    message = f"an edge of a window must be a bar or an ISO date such as 2008-01-31; received {shown!r}"
    raise refusal("window_invalid", message)


def _text(edge: Any) -> str:
    """Return a date as a string, to the second if that is exact."""
    if isinstance(edge, np.datetime64):
        exact = edge.astype("datetime64[s]")
        return str(exact if exact == edge else edge)
    return str(edge.isoformat()) if isinstance(edge, date) else str(edge)
