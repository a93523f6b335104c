"""Selection of cuts: bars after which the data is perturbed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.target_trace import Trace, not_missing

CUTS = 24
# Cuts in the warm-up, dense because a leak by back-filling lasts only a few bars.
_EARLY = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)
# Cuts after the bar at which a column starts.
_AFTER = (1, 2, 3, 5, 8)
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


def grid_cuts(n_bars: int, n_cuts: int) -> list[int]:
    """Return cuts that are dense in the warm-up and spread over the rest."""
    last = n_bars - 2
    early = [cut for cut in _EARLY if cut < n_bars // 2][: max(n_cuts - 4, 1)]
    n_rest = max(n_cuts - len(early) - 1, 1)
    # Not evenly spaced: cuts a whole number of weeks apart would miss a leak within a week.
    rest = [int(early[-1] + (last - early[-1]) * ((k + 1) * _GOLDEN % 1.0)) for k in range(n_rest)]
    return sorted({*early, *rest, last})


def cuts_of_trace(base: Trace, n_bars: int, n_cuts: int) -> list[int]:
    """Return the cuts of `grid_cuts` and additional cuts where columns start.

    Adds the start bar of each column, at most `n_cuts // 2` of them, and bars shortly after them while fewer than
    `n_cuts // 4` cuts have been added.
    """
    cuts = set(grid_cuts(n_bars, n_cuts))
    starts = [start for start in _starts(base) if start <= n_bars - 2]
    most = max(n_cuts // 2, 1)
    picked = starts if len(starts) <= most else [starts[len(starts) * k // most] for k in range(most)]
    more = set(picked) - cuts
    for after in _AFTER:
        for start in picked:
            if len(more) < n_cuts // 4 and start + after <= n_bars - 2:
                more |= {start + after} - cuts
    return sorted(cuts | more)


def _starts(base: Trace) -> list[int]:
    """Return the bars at which columns start or their constant fill ends."""
    starts: set[int] = set()
    for name, values in base.columns.items():
        if name not in base.flags:
            starts.update(_column_starts(values, base.bars, base.present & not_missing(values)))
    return sorted(starts)


def _column_starts(
    values: npt.NDArray[np.generic], bars: npt.NDArray[np.intp], known: npt.NDArray[np.bool_]
) -> Iterator[int]:
    rows = np.flatnonzero(known)
    if not len(rows):
        return
    yield int(bars[rows].min())
    if values.dtype.kind in "fiub":
        rows = rows[np.argsort(bars[rows], kind="stable")]
        others = np.flatnonzero(values[rows] != values[rows[0]])
        if len(others) and others[0] > 1:
            yield int(bars[rows[others[0]]])
