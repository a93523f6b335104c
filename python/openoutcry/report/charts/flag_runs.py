"""Runs of true values in a series of flags."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["flag_runs"]

Places = npt.NDArray[np.int64]


def flag_runs(flags: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return the first place of each run of true values, and the place after its last."""
    changes = np.flatnonzero(flags[1:] != flags[:-1]) + 1
    before, after = ([0] if len(flags) and flags[0] else []), ([len(flags)] if len(flags) and flags[-1] else [])
    edges = np.concatenate([np.array(before, np.int64), changes, np.array(after, np.int64)])
    return edges[::2], edges[1::2]
