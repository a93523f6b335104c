"""Histories that were multiplied after the fact, found from two versions of one.

A vendor who adjusts prices multiplies all that lies before a split or a dividend, and rounds. So the quotient of two
versions is a staircase, but for the cells that were revised besides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]

# Fewer bars than this that share a ratio are revisions, not a step.
SHORTEST = 5
# So many bars in a row off a step end it; fewer are revisions within it.
STRAY = 4
_VOTERS = 9
_EXACT = 1e-6
_ROUNDED = 0.95
# Vendors keep prices in single precision, half a unit of which is 6e-8 of the price.
_SINGLE = 2e-7


class Event(NamedTuple):
    """What a step ends with: all before it was multiplied by `factor`.

    Attributes:
        bar: First bar after the step; the number of bars if there is none.
        factor: New over old, beside that of the bars after the step.
        kind: `split`, `dividend` or `factor`.
        what: The size in words: `4 for 1`, `0.21 % of the price`, `times 1.25`.
    """

    bar: int
    factor: float
    kind: str
    what: str


class Steps(NamedTuple):
    """The staircase of two versions of a series.

    Attributes:
        ratio: Shape `(n,)`: new over old of the step that a bar is in, exactly 1 where nothing was multiplied.
        slack: Shape `(n,)`: how far from `ratio x old` rounding may take the new value.
        events: Where the steps end, oldest first.
    """

    ratio: Series
    slack: Series
    events: list[Event]


def steps(old: Series, new: Series) -> Steps:
    """Return the staircase between two versions of a series.

    Args:
        old: Shape `(n,)`, positive, none missing.
        new: As `old`.
    """
    if not len(old):
        return Steps(np.ones(0), np.zeros(0), [])
    units = _unit(old), _unit(new)
    runs = [run for run in _runs(old, new, units) if _is_step(*run)]
    ratio = np.ones(len(old))
    # From the last to the first, so that what no step claims takes the ratio of the step after it.
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
    """Return the event that multiplies a history by `factor`.

    The factor is known to a relative error of `noise`.
    """
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
    """Return runs of bars that share a ratio.

    Each has its first bar, the bar after its last, the ratio, and how many bars fit.
    """
    found, first = [], 0
    while first < len(old):
        run = _run(old, new, first, units)
        found.append(run)
        first = run[1]
    return found


def _run(old: Series, new: Series, first: int, units: tuple[float, float]) -> tuple[int, int, float, int]:
    ratio = _voted(old[first : first + _VOTERS], new[first : first + _VOTERS], units)
    last, total_old, total_new, n_fits, stray = first, 0.0, 0.0, 0, 0
    for bar in range(first, len(old)):
        before, now = float(old[bar]), float(new[bar])
        if abs(now - ratio * before) <= units[1] + ratio * units[0] + _SINGLE * now:
            # The sum of many rounded prices tells the ratio better than any one of them.
            total_old, total_new = total_old + before, total_new + now
            ratio, last, n_fits, stray = total_new / total_old, bar + 1, n_fits + 1, 0
        elif (stray := stray + 1) >= STRAY:
            break
    return (first, last, ratio, n_fits) if n_fits else (first, first + 1, float(new[first] / old[first]), 0)


def _voted(old: Series, new: Series, units: tuple[float, float]) -> float:
    """Return the ratio of a bar that most bars agree with, the earliest of such bars."""
    ratios = new / old
    off = np.abs(new[None, :] - ratios[:, None] * old[None, :])
    fits = off <= units[1] + ratios[:, None] * units[0] + _SINGLE * new[None, :]
    return float(ratios[int(np.argmax(fits.sum(axis=1)))])


def _is_step(first: int, last: int, ratio: float, n_fits: int) -> bool:
    return n_fits >= SHORTEST or abs(ratio - 1.0) <= _EXACT


def _settled(ratio: float, later: float, noise: float) -> float:
    """Return 1 or the next ratio where this one is the same but for rounding."""
    near = max(_EXACT, 0.2 * noise)
    for known in (later, 1.0):
        if abs(ratio / known - 1.0) <= near:
            return known
    return ratio


def _unit(values: Series) -> float:
    """Return half the decimal unit of nearly all values, 0 if there is none.

    Nearly, because a revision may be finer than what it revises.
    """
    for decimals in range(7):
        scaled = values * 10.0**decimals
        # A number of single precision is near its decimals, not on them.
        if np.mean(np.abs(scaled - np.round(scaled)) <= 1e-3 + 1e-7 * scaled) >= _ROUNDED:
            return 0.5 * 10.0**-decimals
    return 0.0


def _simple(ratio: float, near: float) -> Fraction | None:
    """Return the ratio of a split, new shares for old, if one is that near."""
    if not 1e-6 < ratio < 1e6:
        return None
    fraction = (
        Fraction(ratio).limit_denominator(10) if ratio >= 1.0 else 1 / Fraction(1.0 / ratio).limit_denominator(10)
    )
    return fraction if fraction != 1 and abs(float(fraction) / ratio - 1.0) <= near else None
