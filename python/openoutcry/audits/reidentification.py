"""Re-identification attacks: guess the symbol and date of a masked window.

Each attacker has the public history of the market and matches one feature: the name, the price level, the rounding
unit, the calendar, or the returns. Masking preserves returns, so matching returns identifies nearly every window.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import checked_integer, is_integer
from openoutcry.data import masking
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]

# A date counts as identified if the guess is within a trading week of it.
NEAR = 5
LENGTHS = (5, 20, 60, 250)
# Number of bars for the first comparison with all windows, and number of nearest windows compared on all bars.
_FIRST_BARS = 16
_BEST = 64


@dataclass(frozen=True, slots=True)
class Rate:
    """Success rate of one attacker on windows of one length.

    Attributes:
        level: Masking level; `none` is the unmasked market.
        attacker: Matched feature: `name`, `level`, `rounding`, `calendar`, `returns` or `signs`.
        n_bars: Length of a window in bars.
        n_windows: Number of windows.
        symbol: Share of windows with a correct symbol.
        date: Share of windows whose last bar is dated to within `NEAR` bars.
        symbol_by_chance: Expected share of correct symbols of a random guess.
        date_by_chance: Expected share of correct dates of a random guess.
    """

    level: str
    attacker: str
    n_bars: int
    n_windows: int
    symbol: float
    date: float
    symbol_by_chance: float
    date_by_chance: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


class Excerpt(NamedTuple):
    """Window of one symbol without missing closes, the input of an attacker."""

    name: str
    dates: Sequence[str]
    closes: Array


class Guess(NamedTuple):
    """Guessed column of the symbol and last bar; None where the attacker has no guess."""

    column: int | None
    bar: int | None


# Maximum and minimum number of rounding units in a price that can be recovered.
_MOST_UNITS = 2_000_000
_FEWEST_UNITS = 10
_MOST_DECIMALS = 7
# Relative rounding error of masking and of a quotient.
_ROUNDING = 1e-15

Attacker = Callable[["History", Excerpt], Guess]


class History:
    """Public history of the market, prepared once for all attackers."""

    def __init__(self, market: Dataset) -> None:
        self.market = market
        self.levels = np.log(market.close)
        self.returns = np.diff(self.levels, axis=0)
        self.signs = np.sign(self.returns)
        self.days = _days(market.dates)

    def nearest(self, table: Array, row: Array) -> Guess:
        """Find the window of `table` that is nearest to `row` by mean absolute distance.

        All windows are compared on their first bars, and the nearest of them on all bars. Ties, as of constant
        prices, select the first window.
        """
        n_places = len(table) - len(row) + 1
        off = np.zeros((n_places, table.shape[1]))
        for bar, value in enumerate(row[:_FIRST_BARS]):
            off += np.abs(table[bar : bar + n_places] - value)
        far = np.where(np.isnan(off), np.inf, off).ravel()
        best = np.sort(np.argpartition(far, min(_BEST, far.size - 1))[:_BEST])
        places, columns = np.divmod(best, table.shape[1])
        whole_windows = table[places[:, None] + np.arange(len(row)), columns[:, None]]
        distance = np.abs(whole_windows - row).sum(axis=1)
        nearest = int(np.argmin(np.where(np.isnan(distance), np.inf, distance)))
        return Guess(int(columns[nearest]), int(places[nearest]) + len(row) - 1 + len(self.levels) - len(table))


def by_name(history: History, shown: Excerpt) -> Guess:
    """Match the name and the date literally."""
    market = history.market
    column = market.symbols.index(shown.name) if shown.name in market.symbols else None
    bar = market.dates.index(shown.dates[-1]) if shown.dates[-1] in market.dates else None
    return Guess(column, bar)


def by_level(history: History, shown: Excerpt) -> Guess:
    """Match the price levels."""
    return history.nearest(history.levels, np.log(shown.closes))


def by_rounding(history: History, shown: Excerpt) -> Guess:
    """Recover the prices from their rounding unit, and match those.

    Prices in whole cents remain integer multiples of one unit under any masking that preserves returns, and so do
    inverse rates. The smallest number of units that makes all prices integers recovers the price.
    """
    best, nearest = Guess(None, None), np.inf
    for sign in (1.0, -1.0):
        quoted = shown.closes**sign
        units = _units(quoted / quoted[0])
        if units is None:
            continue
        for decimals in range(_MOST_DECIMALS):
            prices = sign * np.log(units * (quoted / quoted[0]) * 10.0**-decimals)
            guess = history.nearest(history.levels, prices)
            assert guess.column is not None, "a nearest window has a column"
            assert guess.bar is not None, "a nearest window has a last bar"
            rows = slice(guess.bar - len(prices) + 1, guess.bar + 1)
            off = float(np.abs(history.levels[rows, guess.column] - prices).mean())
            if off < nearest:
                best, nearest = guess, off
    return best


def _units(ratios: Array) -> int | None:
    """Return the smallest number whose products with all ratios are integers, or None."""
    units = 1
    for ratio in ratios.tolist():
        fraction = Fraction(ratio).limit_denominator(_MOST_UNITS)
        if abs(float(fraction) / ratio - 1.0) > _ROUNDING:
            return None
        units = math.lcm(units, fraction.denominator)
    # Constant prices are integers at any number of units, which identifies nothing.
    return units if _FEWEST_UNITS < units <= _MOST_UNITS else None


def by_calendar(history: History, shown: Excerpt) -> Guess:
    """Match weekdays, weekends and holidays."""
    days = _days(shown.dates)
    pattern = np.append(np.diff(days), (days[-1] + 3) % 7)
    n_bars, gaps = len(days), np.diff(history.days)
    places = np.arange(len(history.days) - n_bars + 1)
    known = np.column_stack(
        [gaps[places[:, None] + np.arange(n_bars - 1)], (history.days[places + n_bars - 1] + 3) % 7]
    )
    off = (known != pattern).sum(axis=1)
    nearest = np.flatnonzero(off == off.min())
    # Break ties by a hash of the input.
    digest = hashlib.sha256("\n".join(shown.dates).encode()).digest()
    return Guess(None, int(nearest[int.from_bytes(digest[:8], "little") % len(nearest)]) + n_bars - 1)


def by_returns(history: History, shown: Excerpt) -> Guess:
    """Match the returns."""
    return history.nearest(history.returns, np.diff(np.log(shown.closes)))


def by_signs(history: History, shown: Excerpt) -> Guess:
    """Match the signs of the returns."""
    return history.nearest(history.signs, np.sign(np.diff(shown.closes)))


ATTACKERS: dict[str, Attacker] = {
    "name": by_name,
    "level": by_level,
    "rounding": by_rounding,
    "calendar": by_calendar,
    "returns": by_returns,
    "signs": by_signs,
}


def rates(
    market: Dataset,
    lengths: Iterable[int] = LENGTHS,
    levels: Iterable[str] = ("none", *masking.LEVELS),
    n_windows: int = 100,
    seed: int = 0,
) -> list[Rate]:
    """Measure the success rate of each attacker, by masking level and window length.

    Each window has a random symbol, position and masking key. Windows with a missing close are excluded. An attacker
    without a guess scores the rate of a random guess.

    Args:
        market: The market, which the attackers know.
        lengths: Window lengths in bars, each at least 2.
        levels: Masking levels; `none` for no masking.
        n_windows: Number of windows of each length.
        seed: Seed of windows and keys.

    Raises:
        OpenOutcryError: `window_invalid`: a length is below 2, or no symbol has that many closes in a row;
            `argument_invalid`: `n_windows` is below 1, or a level is unknown.
    """
    checked_integer("n_windows", n_windows, 1, 1_000_000)
    history, found = History(market), []
    for level in levels:
        for n_bars in lengths:
            trials = [_trial(market, n_bars, level, seed, k) for k in range(n_windows)]
            for name, attacker in ATTACKERS.items():
                found.append(
                    _rate(history, level, name, [(attacker(history, shown), truth) for shown, truth in trials])
                )
    return found


def _rate(history: History, level: str, name: str, guesses: list[tuple[Guess, tuple[int, int, int]]]) -> Rate:
    n_bars = guesses[0][1][2]
    n_symbols, n_places = history.market.n_symbols, history.market.n_bars - n_bars + 1
    by_chance = 1.0 / n_symbols, min(1.0, (2 * NEAR + 1) / n_places)
    symbol, dated = 0.0, 0.0
    for guess, (column, bar, _) in guesses:
        symbol += by_chance[0] if guess.column is None else float(guess.column == column)
        dated += by_chance[1] if guess.bar is None else float(abs(guess.bar - bar) <= NEAR)
    n = len(guesses)
    return Rate(level, name, n_bars, n, symbol / n, dated / n, *by_chance)


def _trial(market: Dataset, n_bars: int, level: str, seed: int, k: int) -> tuple[Excerpt, tuple[int, int, int]]:
    """Return the k-th window of a length, and its true symbol, last bar and length."""
    drawn = hashlib.sha256(f"openoutcry/reidentify/v1\0{seed}\0{n_bars}\0{k}".encode()).digest()
    column, last = _place(market, n_bars, np.random.default_rng(list(drawn)))
    rows = slice(last - n_bars + 1, last + 1)
    if level == "none":
        return Excerpt(market.symbols[column], market.dates[rows], market.close[rows, column]), (column, last, n_bars)
    masked = market.masked(drawn, level)
    hidden = masking.places(market.symbols, drawn).index(column)
    return Excerpt(masked.symbols[hidden], masked.dates[rows], masked.close[rows, hidden]), (column, last, n_bars)


def _place(market: Dataset, n_bars: int, rng: np.random.Generator) -> tuple[int, int]:
    if not is_integer(n_bars) or not 2 <= n_bars <= market.n_bars:
        required = f"`lengths` must be between 2 and {market.n_bars}, the bars of the market"
        raise refusal("window_invalid", f"{required}; received {n_bars!r}; hint: set `--length` on the command line")
    closes = np.isfinite(market.close).astype(np.int64)
    counts = np.cumsum(np.vstack([np.zeros((1, market.n_symbols), dtype=np.int64), closes]), axis=0)
    lasts, columns = np.nonzero(counts[n_bars:] - counts[:-n_bars] == n_bars)
    if not len(lasts):
        message = f"a symbol must have {n_bars} consecutive closes; received no such symbol"
        raise refusal("window_invalid", message)
    drawn = int(rng.integers(len(lasts)))
    return int(columns[drawn]), int(lasts[drawn]) + n_bars - 1


def _days(dates: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return days since 1970-01-01, a Thursday."""
    return np.array([date.fromisoformat(text[:10]).toordinal() - 719_163 for text in dates], dtype=np.int64)
