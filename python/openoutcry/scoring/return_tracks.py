"""Return series of runs on their common dates, for a paired comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]

TRADED = ("turnover", "cost", "exposure", "net_exposure")
"""Metrics that need trades; a series of returns does not have them."""


@dataclass(frozen=True, eq=False)
class Track:
    """The returns of one run, with their dates and conditions.

    Attributes:
        name: Name in tables and charts.
        dates: Date of each return, ISO 8601, increasing.
        returns: Simple return of each bar. Shape `(n_returns,)`, float64.
        risk_free: Risk-free return of each bar, same shape; None without one.
        start: Date of the account before the first return.
        periods_per_year: Bars per year of its market; None if unknown.
        conditions: Market, costs and other conditions by name, as text; the comparison states those that differ.
        origin: Where the returns come from, as text.
        traded: Metrics that need trades, over all of its returns.
    """

    name: str
    dates: Sequence[str]
    returns: Array = field(repr=False)
    risk_free: Array | None = field(repr=False)
    start: str
    periods_per_year: float | None
    conditions: Mapping[str, str] = field(default_factory=dict, repr=False)
    origin: str = ""
    traded: Mapping[str, float | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        lengths = {len(self.dates), len(self.returns), *(() if self.risk_free is None else (len(self.risk_free),))}
        if len(lengths) > 1 or not self.dates:
            wanted = f"{self.name!r} must have at least one return, and a date and a risk-free rate for each"
            raise refusal("shape_mismatch", f"{wanted}; received {' and '.join(map(str, sorted(lengths)))}")

    @classmethod
    def of(cls, run: Run, name: str = "", origin: str = "") -> Track:
        """Return the track of a run.

        Args:
            run: The run.
            name: Name in tables and charts; that of the run by default.
            origin: Where the run comes from, as text.
        """
        start, end = run.window.resolve(run.dataset, run.lookback)
        rates = run.dataset.risk_free
        return cls(
            name or run.name,
            run.dates[1:],
            run.returns,
            None if rates is None else np.asarray(rates[start + 1 : end]),
            run.dates[0],
            run.dataset.periods_per_year,
            conditions_of(run.dataset.name, run.dataset.fingerprint, run.cost_model.to_dict(), run.limits.to_dict()),
            origin,
            {name: run.metrics[name] for name in TRADED},
        )


def conditions_of(market: str, fingerprint: str, costs: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, str]:
    """Return the conditions of a run as text, for comparison with those of others."""
    charged = {name: value for name, value in costs.items() if name != "capital"}
    capital = costs.get("capital")
    return {
        "market": f"{market} ({fingerprint[:8]})",
        "capital": "unknown" if capital is None else f"{float(capital):,.0f}",
        "costs": _listed(charged),
        "limits": _listed(limits),
    }


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in sorted(values.items())) or "unknown"


def _shown(value: Any) -> str:
    # JSON has no infinity: null is no limit.
    if value is None or value == inf:
        return "none"
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value).lower()


@dataclass(frozen=True, eq=False)
class Aligned:
    """Tracks on their common dates.

    Attributes:
        tracks: The tracks.
        start: Date before the first common return.
        dates: Dates on which every track has a return.
        returns: Simple returns from one common date to the next. Shape `(n_dates, n_tracks)`, float64.
        risk_free: Risk-free returns, same shape; None if a track has none.
        n_lost: Returns of each track that are not on a common date.
        n_compounded: Those between two common dates, which are part of the return of the later one.
    """

    tracks: tuple[Track, ...]
    start: str
    dates: tuple[str, ...]
    returns: Array
    risk_free: Array | None
    n_lost: tuple[int, ...]
    n_compounded: tuple[int, ...]

    @property
    def excess(self) -> Array:
        """Returns over the risk-free rate, or simple ones if a track has none."""
        return self.returns if self.risk_free is None else self.returns - self.risk_free


def align(tracks: Sequence[Track]) -> Aligned:
    """Return tracks on their common dates.

    Returns between two common dates are compounded into the later one, so that no gain or loss is left out and every
    row covers the same days. If the returns of the first common date cover different days, the rows begin after it.

    Raises:
        OpenOutcryError: `shape_mismatch`: no date is common.
    """
    shared = set(tracks[0].dates).intersection(*(track.dates for track in tracks[1:]))
    if not shared:
        spans = "; ".join(f"{track.name!r} from {track.dates[0]} to {track.dates[-1]}" for track in tracks)
        hint = "hint: compare runs of one window, `openoutcry run --window START:END`"
        raise refusal("shape_mismatch", f"runs with common dates are required; received {spans}; {hint}")
    dates = tuple(sorted(shared))
    places = [np.flatnonzero([date in shared for date in track.dates]) for track in tracks]
    before = {track.dates[at[0] - 1] if at[0] else track.start for track, at in zip(tracks, places, strict=True)}
    firsts = [int(at[0]) for at in places]
    if len(before) > 1 and len(dates) > 1:
        before, dates = {dates[0]}, dates[1:]
        firsts, places = [int(at[0]) + 1 for at in places], [at[1:] for at in places]
    pairs = list(zip(tracks, places, firsts, strict=True))
    rates = None
    if all(track.risk_free is not None for track in tracks):
        rates = np.column_stack(
            [_compounded(track.risk_free, at, first) for track, at, first in pairs if track.risk_free is not None]
        )
    return Aligned(
        tuple(tracks),
        max(before),
        dates,
        np.column_stack([_compounded(track.returns, at, first) for track, at, first in pairs]),
        rates,
        tuple(len(track.dates) - len(dates) for track in tracks),
        tuple(int(at[-1]) - first + 1 - len(dates) for _, at, first in pairs),
    )


def _compounded(returns: Array, places: npt.NDArray[np.intp], first: int) -> Array:
    """Return the returns from each place to the next, from `first` on.

    One bar keeps its return.
    """
    growth = np.multiply.reduceat(1.0 + returns[: places[-1] + 1], np.concatenate([[first], places[:-1] + 1]))
    is_single = np.diff(places, prepend=first - 1) == 1
    return np.where(is_single, returns[places], growth - 1.0)


def periods_of(aligned: Aligned) -> tuple[float | None, str]:
    """Return the bars per year of common dates, and a sentence if tracks differ."""
    stated = {track.periods_per_year for track in aligned.tracks}
    (first, *others) = stated
    n_dates = len(aligned.dates)
    is_thinned = any(20 * n > n_dates for n in aligned.n_compounded)
    if not others and not is_thinned:
        return first, ""
    inferred = native.inferred_periods_per_year([aligned.start, *aligned.dates])
    named = ", ".join("unknown" if each is None else f"{each:g}" for each in sorted(stated, key=lambda each: each or 0))
    shown = "unknown, so that annual metrics are undefined" if inferred is None else f"{inferred:g}"
    text = f"The runs have {named} bars per year; the common dates have {shown}."
    return inferred, text
