"""Local times that occur twice when clocks are set back, and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.errors import OpenOutcryError, refusal

Seconds = npt.NDArray[np.int64]


def ambiguous(text: str) -> OpenOutcryError:
    """Return the refusal of a local time that occurs twice, or never."""
    message = f"times must be unambiguous in their zone; received {text} at a change of clocks"
    hint = "hint: write times with an offset, or in UTC; the hour that clocks repeat is read if the rows of each symbol"
    error = refusal("date_invalid", f"{message}; {hint} are in order and have its times twice")
    error.is_ambiguous = True  # type: ignore[attr-defined]
    return error


def are_in(error: OpenOutcryError) -> bool:
    """Return whether a refusal is that of an ambiguous time."""
    return getattr(error, "is_ambiguous", False)


def second_passes(
    seconds: Seconds, is_ambiguous: npt.NDArray[np.bool_], symbols: Sequence[int]
) -> npt.NDArray[np.intp]:
    """Return the rows of repeated hours that come after the clocks were set back.

    The rows of each symbol must be in order, and the times of a repeated hour must go back once, to one that was there.

    Args:
        seconds: Local times of the rows.
        is_ambiguous: Whether a time occurs twice in its zone.
        symbols: Number of the symbol of each row.

    Raises:
        OpenOutcryError: `date_invalid`: the order does not tell the times apart.
    """
    found: list[int] = []
    numbers = np.asarray(symbols)
    for symbol in np.unique(numbers[is_ambiguous]).tolist():
        rows = np.flatnonzero(numbers == symbol)
        if (np.diff(seconds[rows]) < 0).sum() > len(rows) / 2:
            rows = rows[::-1]
        found += _second_of_symbol(seconds, is_ambiguous, rows)
    return np.array(found, np.intp)


def _second_of_symbol(seconds: Seconds, is_ambiguous: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp]) -> list[int]:
    """Return the rows of one symbol that are in the second pass of their hour."""
    times, marks = seconds[rows], is_ambiguous[rows]
    steps_back = np.flatnonzero(np.diff(times) <= 0) + 1
    found: list[int] = []
    for start, end in _runs(marks):
        back = [step for step in steps_back.tolist() if start < step < end]
        first, second = times[start : back[0]] if back else times[start:end], times[back[0] : end] if back else ()
        if len(back) != 1 or not set(first.tolist()) & set(np.asarray(second).tolist()):
            raise ambiguous(str(times[start].astype("datetime64[s]")))
        found += rows[back[0] : end].tolist()
        steps_back = steps_back[steps_back != back[0]]
    if len(steps_back):
        raise ambiguous(str(times[marks][0].astype("datetime64[s]")))
    return found


def _runs(marks: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the start and the end of each run of marks."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
