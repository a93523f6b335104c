"""Detect back-adjusted price histories from two versions of a series.

A vendor that adjusts prices multiplies all values before a split or dividend, and rounds. The ratio of two versions is
therefore a step function, except at revised cells.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]

# Fewer bars than this that share a ratio are revisions, not a step.
SHORTEST = 5
# This many consecutive bars off a step end it; fewer are revisions within it.
STRAY = 4
_VOTERS = 9
_EXACT = 1e-6
_ROUNDED = 0.95
# Vendors store prices in single precision, with a rounding error of 6e-8 of the price.
_SINGLE = 2e-7


class Event(NamedTuple):
    """An adjustment: all values before `bar` were multiplied by `factor`.

    Attributes:
        bar: First bar after the step; the number of bars if the step reaches the end.
        factor: Ratio of new to old, relative to the ratio after the step.
        kind: `split`, `dividend` or `factor`.
        what: Description of the size: `4 for 1`, `0.21 % of the price`, `times 1.25`.
    """

    bar: int
    factor: float
    kind: str
    what: str


class Steps(NamedTuple):
    """The step function of the ratios of two versions of a series.

    Attributes:
        ratio: Shape `(n,)`: ratio of new to old of the step of each bar; exactly 1 where nothing was adjusted.
        slack: Shape `(n,)`: rounding tolerance of the new value around `ratio x old`.
        events: Where the steps end, oldest first.
    """

    ratio: Series
    slack: Series
    events: list[Event]


def steps(old: Series, new: Series) -> Steps:
    """Return the steps between two versions of a series.

    Args:
        old: Shape `(n,)`, positive, without missing values.
        new: As `old`.
    """
    if not len(old):
        return Steps(np.ones(0), np.zeros(0), [])
    units = _unit(old), _unit(new)
    runs = [run for run in _runs(old, new, units) if _is_step(*run)]
    ratio = np.ones(len(old))
    # Backwards, so that bars outside every step take the ratio of the next step.
    end, later = len(old), 1.0
    for first, last, step, _ in reversed(runs):
        ratio[last:end] = later
        later = _settled(step, later, units[1] / float(np.mean(new[first:last])))
        ratio[first:last] = later
        end = first
    ratio[:end] = later
    slack = np.where(ratio == 1.0, 0.0, units[1] + ratio * units[0] + _SINGLE * new)
    return Steps(ratio, slack, _events(ratio, new, units[1]))


def named(bar: int, factor: float, noise: float) -> Event:
    """Return the event of an adjustment by `factor`, with relative error `noise`."""
    split = None if 0.9 < factor < 1.0 else _simple(1.0 / factor, max(1e-5, noise))
    if split is not None:
        return Event(bar, factor, "split", f"{split.numerator} for {split.denominator}")
    if 0.5 < factor < 1.0:
        return Event(bar, factor, "dividend", f"{100.0 * (1.0 - factor):.2g} % of the price")
    return Event(bar, factor, "factor", f"times {factor:.6g}")


def _events(ratio: Series, new: Series, unit: float) -> list[Event]:
    after = np.append(ratio[1:], 1.0)
    ends = np.flatnonzero(ratio != after)
    noise = unit / float(np.mean(new))
    return [named(int(end) + 1, float(ratio[end] / after[end]), noise) for end in ends]


def _runs(old: Series, new: Series, units: tuple[float, float]) -> list[tuple[int, int, float, int]]:
    """Return runs of bars with one ratio: first bar, end, ratio, matching bars."""
    runs, first = [], 0
    while first < len(old):
        run = _run(old, new, first, units)
        runs.append(run)
        first = run[1]
    return runs


def _run(old: Series, new: Series, first: int, units: tuple[float, float]) -> tuple[int, int, float, int]:
    ratio = _voted(old[first : first + _VOTERS], new[first : first + _VOTERS], units)
    last, total_old, total_new, n_fits, stray = first, 0.0, 0.0, 0, 0
    for bar in range(first, len(old)):
        before, now = float(old[bar]), float(new[bar])
        if abs(now - ratio * before) <= units[1] + ratio * units[0] + _SINGLE * now:
            # A sum of rounded prices estimates the ratio better than any single price.
            total_old, total_new = total_old + before, total_new + now
            ratio, last, n_fits, stray = total_new / total_old, bar + 1, n_fits + 1, 0
        elif (stray := stray + 1) >= STRAY:
            break
    return (first, last, ratio, n_fits) if n_fits else (first, first + 1, float(new[first] / old[first]), 0)


def _voted(old: Series, new: Series, units: tuple[float, float]) -> float:
    """Return the ratio that fits the most bars; ties go to the earliest bar."""
    ratios = new / old
    off = np.abs(new[None, :] - ratios[:, None] * old[None, :])
    fits = off <= units[1] + ratios[:, None] * units[0] + _SINGLE * new[None, :]
    return float(ratios[int(np.argmax(fits.sum(axis=1)))])


def _is_step(first: int, last: int, ratio: float, n_fits: int) -> bool:
    return n_fits >= SHORTEST or abs(ratio - 1.0) <= _EXACT


def _settled(ratio: float, later: float, noise: float) -> float:
    """Return the next ratio, or 1, if this ratio equals it up to rounding."""
    near = max(_EXACT, 0.2 * noise)
    for known in (later, 1.0):
        if abs(ratio / known - 1.0) <= near:
            return known
    return ratio


def _unit(values: Series) -> float:
    """Return half the decimal unit of the values; 0 if they have none.

    A few values may be finer, because revisions can have more decimals.
    """
    for decimals in range(7):
        scaled = values * 10.0**decimals
        # Single-precision values are near their decimal value, not equal to it.
        if np.mean(np.abs(scaled - np.round(scaled)) <= 1e-3 + 1e-7 * scaled) >= _ROUNDED:
            return 0.5 * 10.0**-decimals
    return 0.0


def _simple(ratio: float, near: float) -> Fraction | None:
    """Return the split ratio (new shares per old) within `near` of `ratio`.

    None if there is none.
    """
    if not 1e-6 < ratio < 1e6:
        return None
    fraction = (
        Fraction(ratio).limit_denominator(10) if ratio >= 1.0 else 1 / Fraction(1.0 / ratio).limit_denominator(10)
    )
    return fraction if fraction != 1 and abs(float(fraction) / ratio - 1.0) <= near else None
