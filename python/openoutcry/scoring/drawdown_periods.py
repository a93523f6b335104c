"""Drawdowns of a NAV: peak, trough, recovery and length of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native

__all__ = ["Drawdown", "Drawdowns", "calendar_days", "drawdown_periods", "drawdowns_of"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


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


@dataclass(frozen=True)
class Drawdowns:
    """Every drawdown of a NAV, deepest first; equal ones by date.

    Attributes:
        peak: Last bar at the peak of each.
        after: First bar back at the peak or above; the number of bars if there is none.
        depth: Lowest NAV over that at the peak, less one; below 0.
        falls: Drawdown at each bar of the NAV.
    """

    peak: Places
    after: Places
    depth: Floats
    falls: Floats

    @property
    def end(self) -> Places:
        """Bar of the recovery of each, or the last bar."""
        return np.minimum(self.after, len(self.falls) - 1)

    @property
    def ulcer_index(self) -> float:
        """Root mean square drawdown over all bars (Martin and McCann 1989)."""
        return float(np.sqrt((self.falls**2).mean()))

    def deepest(self, n_most: int | None = None) -> list[Drawdown]:
        """Return the deepest drawdowns, by default all."""
        found = []
        columns = (self.peak, self.after, self.depth, self.end)
        for peak, after, depth, end in zip(*(column[:n_most].tolist() for column in columns), strict=True):
            trough = peak + 1 + int(self.falls[peak + 1 : after].argmin())
            found.append(Drawdown(peak, trough, after if after < len(self.falls) else None, depth, end - peak))
        return found


def drawdowns_of(nav: Floats) -> Drawdowns:
    """Return every drawdown of a NAV."""
    falls = native.drawdowns(np.ascontiguousarray(nav))
    edges = np.flatnonzero(np.diff(falls < 0.0, prepend=False, append=False))
    first, after = edges[::2], edges[1::2]
    # Drawdowns between two parts are 0, and so above the lowest of the part before them.
    depth = np.minimum.reduceat(falls, first) if len(first) else np.empty(0)
    order = np.lexsort((first, depth))
    return Drawdowns(first[order] - 1, after[order], depth[order], falls)


def drawdown_periods(nav: Floats) -> list[Drawdown]:
    """Return every drawdown of a NAV, deepest first; equal ones by date."""
    return drawdowns_of(nav).deepest()


def calendar_days(dates: Sequence[str], first: Places | int, last: Places | int) -> Any:
    """Return the calendar days between two bars, or between the bars of two arrays."""
    days = _days(dates, last) - _days(dates, first)
    return days.astype(np.int64) if days.ndim else int(days.astype(np.int64))


def _days(dates: Sequence[str], bars: Places | int) -> Any:
    if isinstance(dates, native.Dates):
        return dates.times[bars].astype("datetime64[D]")
    texts = [dates[bar][:10] for bar in np.ravel(bars).tolist()]
    return np.array(texts, dtype="datetime64[D]").reshape(np.shape(bars))
