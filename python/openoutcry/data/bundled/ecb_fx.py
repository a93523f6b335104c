"""Euro foreign exchange reference rates, as prices of currencies in euro.

Source: European Central Bank, `eurofxref-hist.zip`, units of currency per euro, bundled unmodified.
"""

from __future__ import annotations

import zipfile
from bisect import bisect_left
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from openoutcry.data.bundled.panel import FloatArray, Panel
from openoutcry.data.bundled.universe import Universe, bars, choose

NAME = "ecb-fx"
SOURCE = "Source: ECB, euro foreign exchange reference rates, 1999-01-04 to 2026-10-30"
TERMS = "free reuse when the source is cited (European Central Bank)"
# The bundled years hold 256.12 fixings a year; full years hold 254 to 259.
PERIODS_PER_YEAR = 256.0

# The G10 currencies against the euro, quoted on every TARGET day since 1999. CHF had a floor from 2011-09-06 to
# 2015-01-15, when it rose 16.8 % in one bar.
MAJOR = ("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "AUD", "CAD", "NZD")

# Day of euro adoption and irrevocable conversion rate. Source: Council Regulation (EC) No 2866/98, as amended up to
# the adoption in Bulgaria.
ADOPTIONS = {
    "SIT": ("2007-01-01", 239.640),
    "CYP": ("2008-01-01", 0.585274),
    "MTL": ("2008-01-01", 0.429300),
    "SKK": ("2009-01-01", 30.1260),
    "EEK": ("2011-01-01", 15.6466),
    "LVL": ("2014-01-01", 0.702804),
    "LTL": ("2015-01-01", 3.45280),
    "HRK": ("2023-01-01", 7.53450),
    "BGN": ("2026-01-01", 1.95583),
}

# A currency with two codes: old code, first bar under the new one, new units per old unit.
REDENOMINATIONS = {"TRY": ("TRL", "2005-01-03", 1e-6), "RON": ("ROL", "2005-07-01", 1e-4)}

# The fixing paused for nine years and resumed 132 % away. A single return over that gap could not be earned, so the
# currency ends suspended and resumes as another symbol.
REAPPEARANCES = {"ISK": ("ISK2018", "2018-02-01")}

# The fixing stopped on 2022-03-02. A suspension, not a settlement, because holders were never paid.
SUSPENDED = "RUB"

# Pegged to the euro or managed against it: annual volatility below 1 % in at least one year (EEK: 0 in all years).
# HKD is excluded because its peg is to the dollar, and prices are in euro.
MANAGED = frozenset({"BGN", "CYP", "CZK", "DKK", "EEK", "HRK", "LTL", "LVL", "MTL", "RON", "SIT"})


class _Market(NamedTuple):
    dates: tuple[str, ...]
    symbols: tuple[str, ...]
    close: FloatArray
    splits: FloatArray
    delistings: FloatArray


@lru_cache(maxsize=1)
def fixings() -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Read the rates of the bundled file, oldest day first.

    Returns:
        Dates, `T` ISO strings; currency codes of the file; rates, shape `(T, n_codes)`, float64, units
        of currency per euro, NaN where the file says `N/A`. Read-only.
    """
    with zipfile.ZipFile(Path(__file__).with_name("ecb_fx.zip")) as archive:
        text = archive.read("eurofxref-hist.csv").decode("ascii")
    header, *lines = text.replace("N/A", "nan").splitlines()
    lines.reverse()
    # Every line, the header too, ends with a comma.
    codes = tuple(header.removesuffix(",").split(",")[1:])
    dates = tuple(line.partition(",")[0] for line in lines)
    rates = np.loadtxt([line.partition(",")[2].removesuffix(",") for line in lines], delimiter=",", dtype=np.float64)
    rates.flags.writeable = False
    return dates, codes, rates


@lru_cache(maxsize=1)
def _market() -> _Market:
    dates, codes, rates = fixings()
    column = dict(zip(codes, rates.T, strict=True))
    splits: dict[str, tuple[int, float]] = {}
    delistings: dict[str, tuple[int, float]] = {}
    for code, (old_code, day, new_per_old) in REDENOMINATIONS.items():
        bar = bisect_left(dates, day)
        column[code] = np.concatenate([column.pop(old_code)[:bar], column[code][bar:]])
        splits[code] = (bar, new_per_old)
    for code, (later, day) in REAPPEARANCES.items():
        bar = bisect_left(dates, day)
        earlier = np.arange(len(dates)) < bar
        column[later] = np.where(earlier, np.nan, column[code])
        column[code] = np.where(earlier, column[code], np.nan)
    for code, (day, irrevocable_rate) in ADOPTIONS.items():
        # The market is closed on New Year's Day, so the settlement is paid on the first bar after it.
        bar = bisect_left(dates, day)
        delistings[code] = (bar, float(column[code][bar - 1]) / irrevocable_rate - 1.0)
    symbols = tuple(column)
    close = 1.0 / np.column_stack([column[symbol] for symbol in symbols])
    return _Market(
        dates, symbols, close, _events(splits, symbols, close, 1.0), _events(delistings, symbols, close, np.nan)
    )


def _events(
    events: dict[str, tuple[int, float]], symbols: tuple[str, ...], like: FloatArray, absent: float
) -> FloatArray:
    grid = np.full_like(like, absent)
    for symbol, (bar, size) in events.items():
        grid[bar, symbols.index(symbol)] = size
    return grid


def panel(universe: Universe = None) -> Panel:
    """Return prices in euro, one bar per fixing.

    Currencies that start late are NaN before their first fixing. A currency replaced by the euro settles at its
    irrevocable rate on the first bar of the adoption. TRL/TRY and ROL/RON are one symbol each, with a split. ISK is
    two symbols. RUB is suspended after its last fixing.

    Args:
        universe: `major` (default), `all`, or a list of symbols. The bars start at the first fixing of any of them.

    Raises:
        OpenOutcryError: the universe or a symbol is unknown.
    """
    market = _market()
    chosen = choose(universe, MAJOR, market.symbols)
    columns = [market.symbols.index(symbol) for symbol in chosen]
    delistings = market.delistings[:, columns]
    rows = bars(market.close[:, columns], delistings)
    dates = list(market.dates[rows])
    # Row-major for the engine; selecting columns in numpy gives column-major arrays.
    close, splits, delistings = (
        np.ascontiguousarray(grid[rows, columns]) for grid in (market.close, market.splits, market.delistings)
    )
    return Panel(
        name=NAME,
        dates=dates,
        symbols=chosen,
        close=close,
        splits=splits if (splits != 1.0).any() else None,
        delistings=delistings if np.isfinite(delistings).any() else None,
        risk_free=np.zeros(len(dates)),
        periods_per_year=PERIODS_PER_YEAR,
        notices=_notices(chosen),
        source=SOURCE,
        terms=TERMS,
        currency="EUR",
    )


def _notices(chosen: list[str]) -> list[str]:
    notices = [
        "prices are one reference fixing per day, close to close, and cannot be traded: no open, no volume",
        "no interest carry: a currency earns only its price change, cash earns 0 and the risk-free rate is 0",
    ]
    if not set(chosen) <= set(MAJOR):
        notices.append(
            "without carry, returns of shorting a high-yield currency are not real (short TRY alone has a Sharpe ratio"
            " near 0.9): run with shorts off"
        )
    if managed := [symbol for symbol in chosen if symbol in MANAGED]:
        notices.append(
            "pegged to the euro, or nearly so, for a year or more: inverse-volatility rules allocate nearly all to"
            f" them: {', '.join(managed)}"
        )
    if SUSPENDED in chosen:
        notices.append("RUB is suspended after 2022-03-01: unsellable, marked at its last fixing")
    if "ISK" in chosen:
        notices.append("ISK is suspended after 2008-12-09: unsellable, marked at its last fixing; ISK2018 follows")
    return notices
