"""Drawdowns of a NAV: peak, trough, recovery and length of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native

__all__ = ["Drawdown", "calendar_days", "drawdown_periods", "ulcer_index"]

Floats = npt.NDArray[np.float64]


class Drawdown(NamedTuple):
    """A period below a peak, as indices of bars.

    Attributes:
        peak: Last bar at the peak.
        trough: First bar at the lowest NAV.
        recovery: First bar back at the peak or above; None if there is none.
        depth: NAV at the trough over that at the peak, less one; below 0.
        n_bars: Bars from the peak to the recovery, or to the end.
    """

    peak: int
    trough: int
    recovery: int | None
    depth: float
    n_bars: int


def drawdown_periods(nav: Floats) -> list[Drawdown]:
    """Return every drawdown of a NAV, deepest first; equal ones by date."""
    falls = native.drawdowns(np.ascontiguousarray(nav))
    is_under = np.concatenate([[False], falls < 0.0, [False]])
    edges = np.flatnonzero(np.diff(is_under.astype(np.int8)))
    found = []
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        trough = first + int(falls[first:after].argmin())
        recovery = after if after < len(nav) else None
        end = len(nav) - 1 if recovery is None else recovery
        found.append(Drawdown(first - 1, trough, recovery, float(falls[trough]), end - first + 1))
    return sorted(found, key=lambda each: (each.depth, each.peak))


def calendar_days(dates: Sequence[str], first: int, last: int) -> int:
    """Return the calendar days between two bars."""
    days = np.array([dates[first][:10], dates[last][:10]], dtype="datetime64[D]")
    return int((days[1] - days[0]).astype(np.int64))


def ulcer_index(nav: Floats) -> float:
    """Return the root mean square drawdown over all bars (Martin and McCann 1989)."""
    return float(np.sqrt((native.drawdowns(np.ascontiguousarray(nav)) ** 2).mean()))
