"""Downsampling of long series for charts that preserves extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.report.views.run_view import Floats

__all__ = ["Times", "bucket_means", "bucket_size", "decimate", "largest", "month_returns", "seconds", "year_returns"]

Indices = npt.NDArray[np.intp]
Times = npt.NDArray[np.int64]


def seconds(dates: Sequence[str]) -> Times:
    """Return ISO 8601 dates as seconds since 1970, shape `(n_bars,)`, int64."""
    if isinstance(dates, native.Dates):
        return dates.times.astype(np.int64)
    # NumPy refuses time zones. All dates of a dataset share one form, so the suffix is redundant.
    texts, last = np.array(dates, dtype=np.str_), dates[-1] if dates else ""
    bare = last.removesuffix("Z").removesuffix("+00:00")
    return texts.astype(f"U{max(len(bare), 1)}").astype("datetime64[s]").astype(np.int64)


def bucket_size(n: int, budget: int) -> int:
    """Return the values of a bucket of `decimate`."""
    return -(-n // max(budget // 2, 1))


def decimate(values: Floats, budget: int) -> Indices:
    """Return ascending indices of about `budget` points that preserve extremes.

    They are both ends, and the minimum and maximum of every bucket.
    """
    n = len(values)
    if n <= budget:
        return np.arange(n)
    size = bucket_size(n, budget)
    whole, rest = values[: n // size * size].reshape(-1, size), values[n // size * size :]
    offsets = np.arange(len(whole)) * size
    picks = [offsets + whole.argmin(axis=1), offsets + whole.argmax(axis=1), np.array([0, n - 1])]
    picks += [n - len(rest) + np.array([rest.argmin(), rest.argmax()])] if len(rest) else []
    return np.unique(np.concatenate(picks))


def bucket_means(values: Floats, budget: int) -> tuple[Floats, Indices]:
    """Average rows into at most `budget` buckets.

    Returns:
        The means, shape `(n_buckets, n_columns)`, and the index of the first row of each bucket.
    """
    n = len(values)
    if n <= budget:
        return values, np.arange(n)
    edges = np.linspace(0, n, budget + 1).astype(np.intp)
    means = np.add.reduceat(values, edges[:-1], axis=0) / np.diff(edges)[:, None]
    return means, edges[:-1]


def largest(values: Floats, keep: int) -> tuple[list[int], list[int]]:
    """Return the columns with the largest mean magnitude, and the remaining ones."""
    rank = np.argsort(-np.abs(values).mean(axis=0), kind="stable")
    return sorted(rank[:keep].tolist()), sorted(rank[keep:].tolist())


def month_returns(dates: Sequence[str], nav: Floats) -> dict[tuple[int, int], float]:
    """Return the simple return of each calendar month, keyed by year and month.

    A month runs from the last bar of the month before it, the first one from the first bar; a month without a
    bar is absent, and a month that starts at a NAV of zero is NaN.
    """
    returns = _period_returns(_keys(dates, 7), nav)
    return {(int(key[:4]), int(key[5:7])): value for key, value in returns.items()}


def year_returns(dates: Sequence[str], nav: Floats) -> dict[int, float]:
    """Return the simple return of each calendar year, by the rule of `month_returns`."""
    returns = _period_returns(_keys(dates, 4), nav)
    return {int(key): value for key, value in returns.items()}


def _keys(dates: Sequence[str], length: int) -> npt.NDArray[Any]:
    """Return the start of each date, such as its year."""
    if isinstance(dates, native.Dates):
        return dates.times.astype("datetime64[M]" if length == 7 else "datetime64[Y]")
    return np.array([date[:length] for date in dates])


def _period_returns(keys: npt.NDArray[Any], nav: Floats) -> dict[str, float]:
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True))
    before = nav[np.concatenate([[0], last[:-1]])]
    growth = np.divide(nav[last], before, out=np.full(len(last), np.nan), where=before > 0.0)
    # The first bar opens the account: a period with only that bar has no return.
    first_is_alone = last[0] == 0
    pairs = zip(map(str, keys[last]), (growth - 1.0).tolist(), strict=True)
    return {key: value for i, (key, value) in enumerate(pairs) if not (i == 0 and first_is_alone)}
