"""Page that compares runs on their common dates, and the function that writes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from openoutcry.backtest.run import Run
from openoutcry.report.pages.comparison_page import comparison_verdict, render_comparison
from openoutcry.report.run_report import versions
from openoutcry.report.run_statistics import MIN_WINDOW
from openoutcry.report.views.comparison_view import ComparedRun, ComparisonView, Estimate, PairRow
from openoutcry.report.views.run_view import Floats, Provenance
from openoutcry.scoring.return_tracks import Track
from openoutcry.scoring.skill import rolling_sharpe
from openoutcry.scoring.track_comparison import LEVEL, Comparison, Difference, columns_of, compare_tracks


def compare(runs: Sequence[Run | Track], path: str | os.PathLike[str] | None = None, *, seed: int = 0) -> Comparison:
    """Compare runs on their common dates, and write the page if a path is given.

    Args:
        runs: From two to eight runs, or tracks of returns.
        path: HTML file to write; None for none.
        seed: Seed of the bootstrap.

    Raises:
        OpenOutcryError: the number of runs is another, or no date is common.
    """
    tracks = [each if isinstance(each, Track) else Track.of(each) for each in runs]
    comparison = compare_tracks(tracks, seed=seed)
    if path is not None:
        Path(path).write_text(comparison_page(comparison), encoding="utf-8")
    return comparison


def comparison_page(comparison: Comparison, command: str = "") -> str:
    """Return the HTML page of a comparison.

    Args:
        comparison: The comparison.
        command: Command line that wrote the page; empty if a program did.
    """
    return render_comparison(comparison_view(comparison, command))


def verdict_of(comparison: Comparison) -> str:
    """Return in one sentence which Sharpe ratios differ."""
    return comparison_verdict(comparison_view(comparison))


def comparison_view(comparison: Comparison, command: str = "") -> ComparisonView:
    """Return the view of a comparison."""
    aligned, periods = comparison.aligned, comparison.periods_per_year
    n_window = _window(len(aligned.dates), periods)
    navs = columns_of(comparison)
    runs = [
        ComparedRun(
            track.name,
            track.origin,
            len(track.dates),
            aligned.n_lost[place],
            navs[track.name],
            _rolling(np.ascontiguousarray(aligned.excess[:, place]), n_window, periods),
            comparison.metrics[place],
            comparison.undefined[place],
        )
        for place, track in enumerate(comparison.tracks)
    ]
    groups = {
        track.name: [("origin", track.origin or "passed in Python"), *track.conditions.items()]
        for track in comparison.tracks
    }
    method = (
        f"Intervals at {LEVEL:.0%} from {comparison.n_draws:,} block bootstrap resamples with seed {comparison.seed}: "
        "studentised, after Ledoit and Wolf (2008) for Sharpe ratios."
    )
    return ComparisonView(
        runs=runs,
        dates=(aligned.start, *aligned.dates),
        n_window=n_window,
        pairs=[
            PairRow(pair.first, pair.second, _estimate(pair.sharpe), _estimate(pair.mean, periods or 1.0))
            for pair in comparison.pairs
        ],
        correlation=comparison.correlation,
        method=method,
        mean_unit="per bar" if periods is None else "per year",
        notices=comparison.notices,
        provenance=Provenance([*versions(command), ("seed", str(comparison.seed))], groups),
    )


def _window(n_returns: int, periods: float | None) -> int:
    """Return the length of a rolling window: a year, or half of a short series."""
    return 0 if periods is None else min(max(round(periods), MIN_WINDOW), n_returns // 2)


def _rolling(excess: Floats, n_window: int, periods: float | None) -> Floats | None:
    if periods is None or n_window < MIN_WINDOW:
        return None
    rolled = rolling_sharpe(excess, n_window, periods).ratios
    return np.concatenate([np.full(n_window, np.nan), rolled])


def _estimate(difference: Difference, factor: float = 1.0) -> Estimate:
    found = difference.interval
    if found is None:
        return Estimate(None, reason=difference.reason)
    values = (found.estimate * factor, found.low * factor, found.high * factor)
    return Estimate(*values, found.p_value, 1.0 if difference.adjusted is None else difference.adjusted)
