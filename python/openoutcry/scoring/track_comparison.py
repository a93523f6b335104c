"""Paired comparison of runs on common dates: metrics, differences, correlation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.scoring.mean_difference import MeanInterval, mean_difference
from openoutcry.scoring.multiple_testing import N_DRAWS, SharpeInterval, holm, sharpe_difference
from openoutcry.scoring.return_tracks import TRADED, Aligned, Array, Track, align, periods_of

MOST = 8
"""Most runs of a comparison: eight colours are distinguishable."""
LEVEL = 0.95
_MOST_SEED = 2**53


@dataclass(frozen=True)
class Difference:
    """Difference of one statistic between two runs.

    Attributes:
        interval: Estimate with its interval and p-value; None if undefined.
        adjusted: p-value adjusted for all pairs of the comparison by Holm's method; None if undefined.
        reason: Why it is undefined; empty otherwise.
    """

    interval: SharpeInterval | MeanInterval | None
    adjusted: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class PairedDifference:
    """Differences between two runs, the first less the second.

    Attributes:
        first: Index of the first run.
        second: Index of the second run.
        sharpe: Difference of the annual Sharpe ratios.
        mean: Difference of the mean returns per bar.
    """

    first: int
    second: int
    sharpe: Difference
    mean: Difference


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs on their common dates, and the differences between them.

    Attributes:
        aligned: The tracks, and their returns on the common dates.
        periods_per_year: Bars per year of the common dates; None if unknown.
        metrics: Metrics of each run over the common dates, by name; None if undefined.
        undefined: Why a metric of a run is undefined, by name.
        pairs: Every pair of runs.
        correlation: Correlation of the simple returns, NaN if a run's are constant. Shape `(n_tracks, n_tracks)`.
        notices: What the reader must know, one sentence each.
        seed: Seed of the resamples.
        n_draws: Number of resamples.
    """

    aligned: Aligned
    periods_per_year: float | None
    metrics: tuple[dict[str, float | None], ...]
    undefined: tuple[dict[str, str], ...]
    pairs: tuple[PairedDifference, ...]
    correlation: Array
    notices: tuple[str, ...]
    seed: int
    n_draws: int

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The compared tracks."""
        return self.aligned.tracks

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain values, without the series."""
        aligned = self.aligned
        rows = zip(aligned.tracks, aligned.n_lost, aligned.n_compounded, self.metrics, self.undefined, strict=True)
        return {
            "runs": [
                {
                    "name": track.name,
                    "origin": track.origin,
                    "conditions": dict(track.conditions),
                    "n_returns": len(track.dates),
                    "n_lost": lost,
                    "n_compounded": compounded,
                    "metrics": metrics,
                    "undefined": reasons,
                }
                for track, lost, compounded, metrics, reasons in rows
            ],
            "common": {"first": aligned.dates[0], "last": aligned.dates[-1], "n_returns": len(aligned.dates)},
            "periods_per_year": self.periods_per_year,
            "pairs": [asdict(pair) for pair in self.pairs],
            "correlation": [[None if np.isnan(each) else float(each) for each in row] for row in self.correlation],
            "notices": list(self.notices),
            "bootstrap": {"seed": self.seed, "n_draws": self.n_draws, "level": LEVEL},
        }


def compare_tracks(tracks: Sequence[Track], *, seed: int = 0, n_draws: int = N_DRAWS) -> Comparison:
    """Compare runs on their common dates.

    Args:
        tracks: From two to eight.
        seed: Seed of the resamples.
        n_draws: Number of resamples.

    Raises:
        OpenOutcryError: `argument_invalid`: fewer than two or more than eight tracks; `shape_mismatch`: no date is
            common.
    """
    if not 2 <= len(tracks) <= MOST:
        raise refusal("argument_invalid", f"from 2 to {MOST} runs are required; received {len(tracks)}")
    seed, n_draws = checked_integer("seed", seed, 0, _MOST_SEED), checked_integer("n_draws", n_draws, 200, 100_000)
    aligned = align(_named(tracks))
    periods, periods_notice = periods_of(aligned)
    measured = [_metrics(aligned, column, periods) for column in range(len(tracks))]
    return Comparison(
        aligned,
        periods,
        tuple(metrics for metrics, _ in measured),
        tuple(reasons for _, reasons in measured),
        _pairs(aligned, periods, seed, n_draws),
        _correlation(aligned.returns),
        (*_notices(aligned), *((periods_notice,) if periods_notice else ())),
        seed,
        n_draws,
    )


def _named(tracks: Sequence[Track]) -> list[Track]:
    """Return tracks with unique names."""
    counts: dict[str, int] = {}
    named = []
    for track in tracks:
        counts[track.name] = counts.get(track.name, 0) + 1
        n_before = counts[track.name]
        named.append(track if n_before == 1 else replace(track, name=f"{track.name} ({n_before})"))
    return named


def _metrics(aligned: Aligned, column: int, periods: float | None) -> tuple[dict[str, float | None], dict[str, str]]:
    returns = np.ascontiguousarray(aligned.returns[:, column])
    rates = None if aligned.risk_free is None else np.ascontiguousarray(aligned.risk_free[:, column])
    metrics, reasons = native.summarize(returns, periods_per_year=periods, risk_free=rates)
    track = aligned.tracks[column]
    for name in TRADED:
        value = track.traded.get(name)
        if value is not None and not aligned.n_lost[column]:
            metrics[name] = value
            reasons.pop(name, None)
        elif value is not None:
            reasons[name] = "it is known over all dates of the run only, and some are not common"
        else:
            reasons[name] = "it needs the trades of a record; only returns are known"
    return metrics, reasons


def _pairs(aligned: Aligned, periods: float | None, seed: int, n_draws: int) -> tuple[PairedDifference, ...]:
    excess, returns = np.ascontiguousarray(aligned.excess.T), np.ascontiguousarray(aligned.returns.T)
    constant = [native.is_riskless(each) for each in excess]
    places = list(combinations(range(len(aligned.tracks)), 2))

    def check(one: int, two: int) -> None:
        if np.array_equal(returns[one], returns[two]):
            raise refusal("insufficient", "different returns are required; these two runs have the same ones")

    def sharpe_of(one: int, two: int) -> SharpeInterval:
        if periods is None:
            raise refusal("argument_invalid", "bars per year are required; received dates that do not show them")
        check(one, two)
        if constant[one] or constant[two]:
            name = aligned.tracks[one if constant[one] else two].name
            raise refusal("insufficient", f"varying returns are required; those of {name} are constant")
        return sharpe_difference(
            excess[one], excess[two], periods_per_year=periods, seed=seed, level=LEVEL, n_draws=n_draws
        )

    def mean_of(one: int, two: int) -> MeanInterval:
        check(one, two)
        return mean_difference(returns[one], returns[two], seed=seed, n_draws=n_draws, level=LEVEL)

    sharpes, means = (_adjusted([_tried(each, *pair) for pair in places]) for each in (sharpe_of, mean_of))
    rows = zip(places, sharpes, means, strict=True)
    return tuple(PairedDifference(*pair, sharpe, mean) for pair, sharpe, mean in rows)


def _tried(compute: Callable[[int, int], SharpeInterval | MeanInterval], one: int, two: int) -> Difference:
    try:
        return Difference(compute(one, two))
    except OpenOutcryError as error:
        return Difference(None, None, str(error).removeprefix(f"{error.slug}: "))


def _adjusted(differences: Sequence[Difference]) -> list[Difference]:
    values = [each.interval.p_value for each in differences if each.interval is not None]
    adjusted = iter(holm(values).tolist() if values else [])
    return [each if each.interval is None else replace(each, adjusted=next(adjusted)) for each in differences]


def _correlation(returns: Array) -> Array:
    n_tracks = returns.shape[1]
    found = np.full((n_tracks, n_tracks), np.nan)
    varying = [place for place in range(n_tracks) if not native.is_riskless(np.ascontiguousarray(returns[:, place]))]
    if varying and len(returns) > 1:
        known = np.corrcoef(returns[:, varying], rowvar=False).reshape(len(varying), -1)
        found[np.ix_(varying, varying)] = np.clip(known, -1.0, 1.0)
    return found


def _notices(aligned: Aligned) -> list[str]:
    tracks, notices = aligned.tracks, []
    for track, lost, compounded in zip(tracks, aligned.n_lost, aligned.n_compounded, strict=True):
        if lost:
            inside = f"; {compounded:,} compounded into the next common date" if compounded else ""
            notices.append(
                f"Not on a common date: {lost:,} of the {len(track.dates):,} returns of {track.name}{inside}."
            )
    names = dict.fromkeys(name for track in tracks for name in track.conditions)
    for name in names:
        values = [track.conditions.get(name, "unknown") for track in tracks]
        if len(set(values)) > 1:
            listed = "; ".join(f"{track.name}: {value}" for track, value in zip(tracks, values, strict=True))
            notices.append(f"The {name} differ{'' if name in ('costs', 'limits') else 's'}: {listed}.")
    return notices + _rate_notices(aligned)


def _rate_notices(aligned: Aligned) -> list[str]:
    without = [track.name for track in aligned.tracks if track.risk_free is None]
    if without and len(without) < len(aligned.tracks):
        return [f"Sharpe ratios use raw returns, because {', '.join(without)} has no risk-free rate."]
    if aligned.risk_free is not None and not (aligned.risk_free == aligned.risk_free[:, :1]).all():
        return ["The risk-free rates differ; each Sharpe ratio is over the rate of its own market."]
    return ["Sharpe ratios use raw returns, because no market has a risk-free rate."] if without else []


def columns_of(comparison: Comparison) -> Mapping[str, Array]:
    """Return the NAV of each run on the common dates, by name; 1 at the start."""
    growth = np.cumprod(1.0 + comparison.aligned.returns, axis=0)
    navs = np.vstack([np.ones((1, growth.shape[1])), growth])
    return {track.name: np.ascontiguousarray(navs[:, i]) for i, track in enumerate(comparison.tracks)}
