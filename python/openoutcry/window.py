"""Windows of bars, given as bars or as dates."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from operator import index
from typing import Protocol, TypeAlias

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

Edge: TypeAlias = "int | str | None"


class _Dated(Protocol):
    @property
    def dates(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Window:
    """Bars `[start, end)` of a dataset, with `end - start - 1` decisions.

    Args:
        start: First bar, as an index or an ISO date (the first bar on or after it). None: `lookback - 1` where the
            data is at least twice as long as the lookback, else 0.
        end: One past the last bar, as an index or an ISO date (the first bar on or after it is left out). None: the
            end of the data.
    """

    start: Edge = None
    end: Edge = None

    @classmethod
    def parse(cls, text: str) -> Window:
        """Read `A:B`, each side a bar, an ISO date or empty.

        Raises:
            OpenOutcryError: `window_invalid`: the text has no colon, or a side is neither.
        """
        start, colon, end = text.partition(":")
        if not colon or ":" in end:
            raise refusal("window_invalid", f"a window must be `START:END`, bars or ISO dates; received {text!r}")
        return cls(_edge(start), _edge(end))

    def resolve(self, dataset: _Dated, lookback: int) -> tuple[int, int]:
        """Return the window's bars in a dataset as `(start, end)`.

        Raises:
            OpenOutcryError: `window_invalid`: the window leaves the data or holds no decision.
        """
        dates = dataset.dates
        start, end = (_bar(edge, dates) for edge in (self.start, self.end))
        return native.resolve_window(start, end, lookback, len(dates))


def as_window(window: Window | tuple[Edge, Edge] | str | None) -> Window:
    """Return any accepted form of a window as a `Window`."""
    if window is None:
        return Window()
    if isinstance(window, Window):
        return window
    if isinstance(window, str):
        return Window.parse(window)
    if isinstance(window, tuple) and len(window) == 2:
        return Window(*window)
    raise TypeError(f"`window` must be a Window, a pair, `START:END` or None; received {window!r}")


def _edge(text: str) -> Edge:
    text = text.strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    return _date(text)


def _date(text: str) -> str:
    with suppress(ValueError):
        if text[4:5] == text[7:8] == "-" and date.fromisoformat(text[:10]):
            return text
    raise refusal(
        "window_invalid", f"a window's edge must be a bar or an ISO date such as 2008-01-31; received {text!r}"
    )


def _bar(edge: Edge, dates: Sequence[str]) -> int | None:
    if edge is None:
        return None
    if isinstance(edge, str):
        return bisect_left(dates, _date(edge))
    if isinstance(edge, bool) or not hasattr(edge, "__index__") or edge < 0:
        raise refusal("window_invalid", f"a window's edge must be a bar, an ISO date or None; received {edge!r}")
    return index(edge)
