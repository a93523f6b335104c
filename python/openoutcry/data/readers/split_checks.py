"""Checks of splits against the closes around them, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]

# A split is judged if its logarithm is this multiple of the standard deviation of the returns of its symbol.
_DECISIVE = 8.0
# A smaller logarithm is within the noise of news on one day.
_SMALLEST = 0.1
# Standard deviation of returns of a symbol with too few of them, and the least one.
_USUAL, _LEAST, _FEWEST = 0.025, 1e-3, 3
# Closes from which on a market of arrays, which can be an example of a few bars, is judged.
_KNOWN = 20
# Ratio of the standard deviation to the median of the absolute value, of a normal distribution.
_DEVIATION = 1.4826
_MOST_NAMES = 3


@dataclass(frozen=True)
class _Split:
    """A split between two closes.

    Attributes:
        bar: Bar of the split.
        column: Column of its symbol.
        ratio: New shares per old share.
        expected: Logarithm of the ratio; of all splits between the two closes.
        move: Logarithmic return from the close before to the close at or after it.
        noise: Standard deviation of that return without a split.
    """

    bar: int
    column: int
    ratio: float
    expected: float
    move: float
    noise: float

    @property
    def is_decisive(self) -> bool:
        """Whether the return shows if the split is in the price."""
        return _judged([self]) is not None


def check_splits(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> list[str]:
    """Check that each split shows in the prices.

    Returns a notice if some are too small to tell.

    Raises:
        OpenOutcryError: `value_invalid`: the prices do not move as a split says, so they are adjusted already.
    """
    found = list(_splits(close, splits))
    judged = list(_judgements(found))
    _check_one_way(judged, dates, symbols)
    for split, share in judged:
        if share < 0.5:
            received = f"the split {_at(split, dates, symbols)}, where the close does not show it"
            keyword = 'adjusted="split" if they are adjusted already'
            if share < -0.5:
                received += f" but moves by {np.exp(split.move):.3g}"
                keyword += f", or the ratio as new shares per old share: {1.0 / split.ratio:g}"
            raise unstated(
                Question("value_invalid", "a split must show in the price", received, keyword, "--adjusted split")
            )
    unclear = _unclear(found)
    if not unclear:
        return []
    listed = ", ".join(_at(split, dates, symbols) for split in unclear[:_MOST_NAMES])
    rest = f" and {len(unclear) - _MOST_NAMES} more" if len(unclear) > _MOST_NAMES else ""
    text = f"the prices do not show whether they are adjusted for the split {listed}{rest}: it is applied"
    return [f'{text}; hint: adjusted="split" if they are adjusted already']


def check_adjusted(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Check that no split shows in prices that are adjusted for splits.

    Raises:
        OpenOutcryError: `value_invalid`: the prices move as a split says, so they are as traded.
    """
    judged = list(_judgements(list(_splits(close, splits))))
    _check_one_way(judged, dates, symbols)
    for split, share in judged:
        if share >= 0.5:
            received = f"the split {_at(split, dates, symbols)}, which the close shows"
            required, keyword = "a split must not show in adjusted prices", 'adjusted="none" if they are as traded'
            raise unstated(Question("value_invalid", required, received, keyword, "--adjusted none"))


def hidden_split(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> str:
    """Return the first split that the closes should show and do not.

    Empty if there is none. Symbols with few closes are not judged.
    """
    n_closes = np.isfinite(close).sum(axis=0)
    for split in _splits(close, splits):
        share = _judged([split]) if n_closes[split.column] >= _KNOWN else None
        if share is not None and share < 0.5:
            return _at(split, dates, symbols)
    return ""


def _check_one_way(judged: Sequence[tuple[_Split, float]], dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Refuse prices that show some splits and not others."""
    shown = next((split for split, share in judged if share >= 0.5), None)
    hidden = next((split for split, share in judged if share < 0.5), None)
    if shown is not None and hidden is not None:
        message = f"the prices of all splits must be adjusted in one way; received {_at(shown, dates, symbols)}, which"
        message += f" the close shows, and {_at(hidden, dates, symbols)}, which it does not show"
        hint = 'leave out the splits that the prices hold already, and state adjusted="none", `--adjusted none`'
        raise refusal("value_invalid", f"{message}; hint: {hint}")


def _at(split: _Split, dates: Sequence[str], symbols: Sequence[str]) -> str:
    return f"{split.ratio:g} of {symbols[split.column]} on {dates[split.bar]}"


def _unclear(splits: Sequence[_Split]) -> list[_Split]:
    """Return the splits that are too small to be judged, with those of their symbol."""
    by_column: dict[int, list[_Split]] = {}
    for split in splits:
        if not split.is_decisive:
            by_column.setdefault(split.column, []).append(split)
    return [split for group in by_column.values() if _judged(group) is None for split in group]


def _judgements(splits: Sequence[_Split]) -> Iterator[tuple[_Split, float]]:
    """Yield splits with the share that shows in the price, about 1 or 0.

    Splits that are too small count together, those of a symbol and those of all symbols.
    """
    unclear: dict[int, list[_Split]] = {}
    for split in splits:
        share = _judged([split])
        if share is not None:
            yield split, share
        else:
            unclear.setdefault(split.column, []).append(split)
    together = [split for each in unclear.values() for split in each]
    for group in (*unclear.values(), together):
        share = _judged(group)
        if share is not None:
            yield group[0], share


def _judged(splits: Sequence[_Split]) -> float | None:
    """Return the share of splits that shows in the price.

    None if it is within the noise.
    """
    if not splits:
        return None
    expected = np.array([split.expected for split in splits])
    moves, weights = np.array([split.move for split in splits]), np.array([split.noise**-2.0 for split in splits])
    total = float((weights * expected**2).sum())
    if total < _DECISIVE**2 or float((expected**2).sum()) < _SMALLEST**2:
        return None
    return float(-(weights * expected * moves).sum()) / total


def _splits(close: Table, splits: Table) -> Iterator[_Split]:
    """Yield the splits of a market that have a close before and after."""
    with np.errstate(invalid="ignore"):
        events = np.isfinite(splits) & (splits > 0.0) & (splits != 1.0)
    for column in np.flatnonzero(events.any(axis=0)).tolist():
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        returns = np.diff(np.log(close[bars, column]))
        # The close at or after a split.
        rows = np.flatnonzero(events[:, column])
        places = np.searchsorted(bars, rows)
        others = np.delete(returns, np.unique(places[(places > 0) & (places < len(bars))]) - 1)
        noise = _DEVIATION * float(np.median(np.abs(others))) if len(others) >= _FEWEST else _USUAL
        for place in np.unique(places).tolist():
            same = rows[places == place]
            expected = float(np.log(splits[same, column]).sum())
            # Without a close on both sides, nothing shows it, and no holding is split.
            if 0 < place < len(bars) and expected:
                span = max(1, int(bars[place] - bars[place - 1])) ** 0.5
                move = float(returns[place - 1])
                ratio = float(splits[same[0], column])
                yield _Split(int(same[0]), column, ratio, expected, move, max(noise, _LEAST) * span)
