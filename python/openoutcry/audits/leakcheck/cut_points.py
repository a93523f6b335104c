"""Bars after which the future is replaced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.target_trace import Trace, told

CUTS = 24
# Cuts on warm-up rows, where back-filled values end; dense, since each such leak is over after a few bars.
_EARLY = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)
# The same after the bar at which a column begins.
_AFTER = (1, 2, 3, 5, 8)
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


def cuts_of(n_bars: int, n_cuts: int) -> list[int]:
    """Return bars to cut at, dense on warm-up rows and spread over the rest."""
    last = n_bars - 2
    early = [cut for cut in _EARLY if cut < n_bars // 2][: max(n_cuts - 4, 1)]
    n_rest = max(n_cuts - len(early) - 1, 1)
    # Not evenly spaced: a leak within weeks would hide from cuts a number of weeks apart.
    rest = [int(early[-1] + (last - early[-1]) * ((k + 1) * _GOLDEN % 1.0)) for k in range(n_rest)]
    return sorted({*early, *rest, last})


def cuts_for(base: Trace, n_bars: int, n_cuts: int) -> list[int]:
    """Return the cuts of `cuts_of`, and more where what a target shows begins.

    The bar at which each column begins, half as many as `n_cuts` at most, and bars that follow it, while there are
    no more than a quarter of `n_cuts`.
    """
    cuts = set(cuts_of(n_bars, n_cuts))
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
    """Return the bars at which columns begin, or their constant fill ends."""
    starts: set[int] = set()
    for name, values in base.columns.items():
        if name not in base.flags:
            starts.update(_begins(values, base.bars, base.present & told(values)))
    return sorted(starts)


def _begins(values: npt.NDArray[np.generic], bars: npt.NDArray[np.intp], known: npt.NDArray[np.bool_]) -> Iterator[int]:
    rows = np.flatnonzero(known)
    if not len(rows):
        return
    yield int(bars[rows].min())
    if values.dtype.kind in "fiub":
        rows = rows[np.argsort(bars[rows], kind="stable")]
        others = np.flatnonzero(values[rows] != values[rows[0]])
        if len(others) and others[0] > 1:
            yield int(bars[rows[others[0]]])
