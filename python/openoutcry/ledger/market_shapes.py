"""Hashes of return orderings ("shapes"), which identify changed prices.

A change that keeps the order of neighbouring returns keeps the shapes: an added offset, leverage, drift, an inverted
quote, rounding and small noise. A path is 18 returns of a line; its shape records which of them exceed the returns one,
two and three places before. Lines are the symbols, and the ratios of symbols, which do not depend on the currency.
Paths have a distance of one to seven bars, or run over the last bars of hours, days, weeks or months.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.ledger.market_fingerprints import Words, mix

DAY_BITS = 16
"""Low bits of a shape, a hash of the date of its last price; the bits above are the hash of its path."""
_PATH_BITS, _BYTES = 40, 7

RETURNS, _LAGS = 18, (1, 2, 3)
# A path with more ties is skipped, one in eight comparisons, since constant or pegged prices identify no market. So is
# one with fewer turning points: random returns have 11 of 16 on average, and smooth curves have few and look alike.
_MAX_TIES, _TIE, _MIN_TURNS = 6, 1e-11, 6
_MIN_DISTINCT = 0.9
# One path in `2 ** bits` is selected, by its own hash, so a denser selection contains a sparser one.
_EVERY_BAR, _THINNED, _CALENDAR = 5, 7, {"h": 5, "D": 5, "W": 4, "M": 3}
_STEPS = (2, 3, 4, 5, 6, 7)
# With more symbols, the ratio of each to their mean replaces the ratios of pairs.
_MAX_PAIRED = 12
# Shapes that two lines share: at least three, four of 24 or more, and one in 16 of the shorter one. By chance, a path
# is found among 2 ** 28 others, and a line has about 64 paths per shape.
LEAST, _MANY, _FRACTION, _BY_CHANCE = 3, 24, 16, 2**20

Prices = npt.NDArray[np.float64]
Line = tuple[int, ...]
"""Sorted shapes of a symbol, a ratio or a derived series."""
AVERAGES = 2**20
"""Number of the first line of a moving average; below are the lines of prices, ratios and sizes of returns."""


class Common(NamedTuple):
    """Whether two markets have a line in common."""

    at_dates: bool = False
    at_any: bool = False


class Hit(NamedTuple):
    """A path that a line of one market shares with a line of another."""

    line: int
    other: int
    path: int
    is_dated: bool


def lines_of(dates: Sequence[str], close: Prices, days: Words) -> tuple[Line, ...]:
    """Return the lines of a market that have shapes.

    Args:
        dates: Date of each bar.
        close: Shape `(n_bars, n_symbols)`, float64, any unit; values that are not positive are missing.
        days: Hash of the date of each bar. Shape `(n_bars,)`, uint64.
    """
    logs: Prices = np.full(close.shape, np.nan)
    np.log(close, out=logs, where=np.isfinite(close) & (close > 0.0))
    periods, short = _periods(dates), days >> np.uint64(64 - DAY_BITS)
    lines = [_line(logs[:, at], periods, short) for at in range(logs.shape[1])]
    lines += [_line(ratio, periods, short, bits) for ratio, bits in _ratios(logs)]
    return tuple(line for line in lines if len(line) >= LEAST)


def in_common(one: Mapping[int, Line], two: Mapping[int, Line]) -> Common:
    """Return whether two markets, as numbered lines, have a line in common."""
    found = by_path(one)
    hits = [
        Hit(line, other, shape >> DAY_BITS, is_dated)
        for other, shapes in two.items()
        for shape in shapes
        for line, is_dated in found_in(found, shape)
    ]
    return common(hits, sizes_of(one), sizes_of(two))


def sizes_of(lines: Mapping[int, Line]) -> dict[int, int]:
    """Return the number of shapes of each line."""
    return {number: len(line) for number, line in lines.items()}


def by_path(lines: Mapping[int, Line]) -> dict[int, list[tuple[int, int]]]:
    """Return the lines and shapes of each path."""
    found: dict[int, list[tuple[int, int]]] = {}
    for at, line in lines.items():
        for shape in line:
            found.setdefault(shape >> DAY_BITS, []).append((at, shape))
    return found


def found_in(paths: Mapping[int, Sequence[tuple[int, int]]], shape: int) -> Iterator[tuple[int, bool]]:
    """Yield the lines that have the path of a shape, and whether at its date."""
    for line, own in paths.get(shape >> DAY_BITS, ()):
        yield line, own == shape


def common(hits: Iterable[Hit], sizes: Mapping[int, int], others: Mapping[int, int]) -> Common:
    """Return whether the shared paths of two markets imply a line in common.

    Averages of two markets are not compared: those of different markets are more alike than their prices. A smoothed
    copy shares the average of the one with the prices of the other.

    Args:
        hits: Shared paths.
        sizes: Number of shapes of each line of the first market, by its number.
        others: The same of the second market.
    """
    dated: dict[tuple[int, int], set[int]] = {}
    every: dict[tuple[int, int], set[int]] = {}
    for line, other, path, is_dated in hits:
        if min(line, other) >= AVERAGES:
            continue
        every.setdefault((line, other), set()).add(path)
        if is_dated:
            dated.setdefault((line, other), set()).add(path)
    at_dates, at_any = (any(_is_line(each, sizes, others) for each in found.items()) for found in (dated, every))
    return Common(at_dates, at_any)


def _is_line(found: tuple[tuple[int, int], set[int]], sizes: Mapping[int, int], others: Mapping[int, int]) -> bool:
    (line, other), paths = found
    fewer, more = sorted((sizes[line], others[other]))
    return len(paths) >= max(LEAST + (fewer >= _MANY), fewer // _FRACTION, fewer * more // _BY_CHANCE)


def packed(line: Line) -> str:
    """Return a line as text."""
    return b64encode(b"".join(shape.to_bytes(_BYTES, "big") for shape in line)).decode()


def unpacked(text: str) -> Line:
    """Return the line of a text."""
    raw = b64decode(text, validate=True)
    return tuple(int.from_bytes(raw[at : at + _BYTES], "big") for at in range(0, len(raw) - len(raw) % _BYTES, _BYTES))


def _line(logs: Prices, periods: Mapping[str, npt.NDArray[np.int64]], days: Words, bits: int = 0) -> Line:
    """Return the shapes of a line; a ratio has additional `bits` and no thinned paths."""
    bars = np.flatnonzero(np.isfinite(logs))
    found = [_shapes(logs, days, bars, 1, _EVERY_BAR + bits)]
    if not bits:
        found += [_shapes(logs, days, bars, step, _THINNED) for step in _STEPS]
    for unit, own in _CALENDAR.items():
        if unit in periods and len(bars):
            last = bars[np.append(np.diff(periods[unit][bars]) != 0, True)]
            found.append(_shapes(logs, days, last, 1, own + bits))
    return tuple(np.unique(np.concatenate(found)).tolist())


def _shapes(logs: Prices, days: Words, bars: npt.NDArray[np.int64], step: int, bits: int) -> Words:
    """Return the selected shapes of the prices at some bars."""
    moves = logs[bars[step:]] - logs[bars[:-step]]
    words, usable = path_words(moves, step)
    return selected_shapes(words, usable, days[bars[RETURNS * step :]], bits)


def path_words(moves: Prices, step: int = 1) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return the hash of each path of returns, and the places of the usable paths."""
    n_paths = max(0, len(moves) - (RETURNS - 1) * step)
    up, down = np.zeros(n_paths, dtype=np.uint64), np.zeros(n_paths, dtype=np.uint64)
    bit = 0
    for lag in _LAGS if n_paths else ():
        change = moves[lag * step :] - moves[: -lag * step]
        for words, is_signed in ((up, change > _TIE), (down, change < -_TIE)):
            words |= _window(is_signed.astype(np.uint64), RETURNS - lag, step)[:n_paths] << np.uint64(bit)
        bit += RETURNS - lag
    ties = bit - _ones(up | down)
    # The lowest bits compare neighbours, in the order of time.
    turns = _ones((up & (down >> np.uint64(1)) | down & (up >> np.uint64(1))) & np.uint64((1 << RETURNS - 2) - 1))
    # The order of an inverted quote is the reverse.
    words = mix(np.maximum(up, down) ^ mix(np.minimum(up, down)))
    return words, np.flatnonzero((ties <= _MAX_TIES) & (turns >= _MIN_TURNS))


def selected_shapes(words: Words, usable: npt.NDArray[np.int64], days: Words, bits: int) -> Words:
    """Return the shapes of one usable path in `2 ** bits`, selected by its hash.

    Args:
        words: Hash of each path.
        usable: Places of the usable paths.
        days: Hash of the date of the last price of each path.
        bits: Density of the selection.
    """
    # A pattern, such as a wave, repeats its paths and is not a market.
    distinct, first, counts = np.unique(words[usable], return_index=True, return_counts=True)
    if len(distinct) < _MIN_DISTINCT * len(usable):
        return np.empty(0, dtype=np.uint64)
    is_selected = (distinct & np.uint64((1 << bits) - 1) == 0) & (counts == 1)
    kept = usable[first[is_selected]]
    shapes: Words = (words[kept] >> np.uint64(64 - _PATH_BITS) << np.uint64(DAY_BITS)) | days[kept]
    return shapes


def _window(bits: Words, length: int, step: int) -> Words:
    """Return words of `length` bits, each `step` places after the one before."""
    word, n_bits = bits, 1
    for digit in f"{length:b}"[1:]:
        word, n_bits = word[: -n_bits * step] | word[n_bits * step :] << np.uint64(n_bits), 2 * n_bits
        if digit == "1":
            rest = bits[n_bits * step :]
            word, n_bits = word[: len(rest)] | rest << np.uint64(n_bits), n_bits + 1
    return word


def _ones(words: Words) -> npt.NDArray[np.int64]:
    """Return the number of bits that are set."""
    # Sums of neighbouring pairs, then of four bits, then of all bytes.
    pairs = words - ((words >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    counts: npt.NDArray[np.int64] = ((bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.int64)
    return counts


def _ratios(logs: Prices) -> Iterator[tuple[Prices, int]]:
    """Yield the log ratios of symbols, and the bits that make their selection sparser."""
    n_symbols = logs.shape[1]
    if 2 <= n_symbols <= _MAX_PAIRED:
        # About as many shapes as those of the symbols: n (n - 1) / 2 pairs.
        bits = max(1, (n_symbols - 2).bit_length())
        for one, two in combinations(range(n_symbols), 2):
            yield logs[:, one] - logs[:, two], bits
    elif n_symbols > _MAX_PAIRED:
        known = np.isfinite(logs)
        mean = np.where(known, logs, 0.0).sum(axis=1) / np.maximum(1, known.sum(axis=1))
        for column in logs.T:
            yield column - mean, 1


def _periods(dates: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Return the number of the hour, day, week and month of each bar.

    Empty for labels that are no dates.
    """
    try:
        hours = np.array([date[:13] for date in dates], dtype="datetime64[h]")
    except ValueError:
        return {}
    days = hours.astype("datetime64[D]")
    number = days.astype(np.int64)
    # Days are numbered from a Thursday; a week starts on Monday.
    periods = {"W": (number + 3) // 7, "M": days.astype("datetime64[M]").astype(np.int64)}
    if any(len(date) > 10 for date in dates):
        periods |= {"h": hours.astype(np.int64), "D": number}
    return periods
