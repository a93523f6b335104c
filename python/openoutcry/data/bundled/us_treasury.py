"""US Treasury par yields, as total-return indices of constant maturity.

The return of a bar is that of a par bond bought at the previous yield and sold at the current one. There is no
roll-down: the yield of the same maturity prices both trades.

Source: US Department of the Treasury, daily par yield curve, as a fraction per year.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from openoutcry.data.bundled.panel import FloatArray, Panel
from openoutcry.data.bundled.universe import Universe, bars, choose

NAME = "us-treasury"
SOURCE = "Source: US Department of the Treasury, daily par yield curve rates, 1990-01-02 to 2017-03-29"
TERMS = "US Government work, not subject to copyright in the United States"
# The bundled years have 250.22 days per year: the bond market has more holidays than the stock exchange (252).
PERIODS_PER_YEAR = 250.0
DAYS_PER_YEAR = 365.25
FIRST_CLOSE = 100.0

# Bonds quoted on every bar. Bills are excluded: their near-zero volatility dominates an inverse-volatility portfolio,
# and the 3-month bill is the risk-free rate.
MAJOR = ("UST1Y", "UST2Y", "UST3Y", "UST5Y", "UST7Y", "UST10Y")


class _Series(NamedTuple):
    tenor: str
    maturity_years: float
    first_day: str = ""
    last_day: str = "9999"


# The 30-year yield was not published from 2002-02-19 to 2006-02-08. A resumed index would earn the yield change of
# those 994 days in one bar, so it ends suspended and resumes as another symbol.
SERIES = {
    "UST1M": _Series("1month", 1 / 12),
    "UST3M": _Series("3month", 3 / 12),
    "UST6M": _Series("6month", 6 / 12),
    "UST1Y": _Series("1year", 1),
    "UST2Y": _Series("2year", 2),
    "UST3Y": _Series("3year", 3),
    "UST5Y": _Series("5year", 5),
    "UST7Y": _Series("7year", 7),
    "UST10Y": _Series("10year", 10),
    "UST20Y": _Series("20year", 20),
    "UST30Y": _Series("30year", 30, last_day="2002-02-15"),
    "UST30Y2006": _Series("30year", 30, first_day="2006-02-09"),
}
BILLS = ("UST1M", "UST3M", "UST6M")


@lru_cache(maxsize=1)
def par_yields() -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Read the yields of the bundled file.

    Returns:
        Dates, `T` ISO strings; tenors of the file; yields, shape `(T, n_tenors)`, float64, fraction per year, NaN
        where none was published. Read-only.
    """
    text = gzip.decompress(Path(__file__).with_name("us_treasury.csv.gz").read_bytes()).decode("ascii")
    header, *lines = text.splitlines()
    rows = [line.split(",") for line in lines]
    dates = tuple(row[0].partition(" ")[0] for row in rows)
    yields = np.array([[float(cell) if cell else np.nan for cell in row[1:]] for row in rows])
    yields.flags.writeable = False
    return dates, tuple(header.split(",")[1:]), yields


def bill_return(y0: FloatArray, y1: FloatArray, delta: FloatArray, maturity_years: float) -> FloatArray:
    """Return the return of a bill from yield `y0` to `y1` over `delta` years.

    Args:
        y0: Shape `(n,)`, float64, simple annual yield at purchase.
        y1: Shape `(n,)`, float64, simple annual yield at sale.
        delta: Shape `(n,)`, float64, holding period in years.
        maturity_years: Years to maturity at purchase.
    """
    return (1.0 + y0 * maturity_years) / (1.0 + y1 * (maturity_years - delta)) - 1.0


def bond_return(y0: FloatArray, y1: FloatArray, delta: FloatArray, maturity_years: int) -> FloatArray:
    """Return the return of a par bond bought at yield `y0` and sold at `y1`.

    The annual coupon is `y0`, paid in halves every six months. The sale price is that of the same maturity at `y1`,
    compounded over `delta` at `y1` for the accrued interest.

    Args:
        y0: Shape `(n,)`, float64, annual par yield at purchase, compounded half-yearly.
        y1: Shape `(n,)`, float64, annual par yield at sale, compounded half-yearly.
        delta: Shape `(n,)`, float64, holding period in years.
        maturity_years: Years to maturity, a whole number.
    """
    discount = np.ones_like(y1)
    for _ in range(2 * maturity_years):
        discount = discount / (1.0 + 0.5 * y1)
    with np.errstate(divide="ignore", invalid="ignore"):
        annuity = np.where(y1 == 0.0, float(maturity_years), (1.0 - discount) / y1)
    return _compound(0.5 * y1, 2.0 * delta) * (y0 * annuity + discount) - 1.0


def _compound(rate: FloatArray, periods: FloatArray) -> FloatArray:
    # (1 + rate) ** periods by Newton's binomial series. The last bit of `**` depends on the processor, and the
    # fingerprint of the dataset must not. At rates below 5 % the 14th term is under 1e-18.
    term = np.ones_like(rate)
    total = np.ones_like(rate)
    for k in range(14):
        term = term * rate * (periods - k) / (k + 1)
        total = total + term
    return total


def _years_since_last(dates: tuple[str, ...]) -> FloatArray:
    return np.diff(np.array(dates, dtype="datetime64[D]")).astype(np.float64) / DAYS_PER_YEAR


def _index(series: _Series, dates: tuple[str, ...], yields: FloatArray) -> FloatArray:
    day = np.array(dates)
    quoted = np.flatnonzero(np.isfinite(yields) & (day >= series.first_day) & (day <= series.last_day))
    rows = slice(quoted[0], quoted[-1] + 1)
    y, delta = yields[rows], _years_since_last(dates[rows])
    if series.maturity_years < 1:
        returns = bill_return(y[:-1], y[1:], delta, series.maturity_years)
    else:
        returns = bond_return(y[:-1], y[1:], delta, int(series.maturity_years))
    close = np.full(len(dates), np.nan)
    close[rows] = FIRST_CLOSE * np.cumprod(np.concatenate([[1.0], 1.0 + returns]))
    return close


def risk_free() -> FloatArray:
    """Return the return of a 3-month bill over each bar at an unchanged yield.

    It is `bill_return` with `y1 = y0`, the part of the return that is known when the bar begins. The price change from
    a moving yield is excluded because it is a risk: the bill lost 0.19 % on 2008-09-19.

    Returns:
        Shape `(T,)`, float64, simple return from bar `t - 1` to bar `t`. Element 0 is 0.
    """
    dates, tenors, yields = par_yields()
    bill = SERIES["UST3M"]
    y0 = yields[:-1, tenors.index(bill.tenor)]
    return np.concatenate([[0.0], bill_return(y0, y0, _years_since_last(dates), bill.maturity_years)])


def panel(universe: Universe = None) -> Panel:
    """Return total-return indices in dollars, each 100 on its first bar.

    Args:
        universe: `major` (default), `all`, or a list of symbols. The bars start at the first bar of any of them.

    Raises:
        OpenOutcryError: the universe or a symbol is unknown.
    """
    chosen = choose(universe, MAJOR, list(SERIES))
    dates, tenors, yields = par_yields()
    columns = [_index(SERIES[symbol], dates, yields[:, tenors.index(SERIES[symbol].tenor)]) for symbol in chosen]
    close = np.column_stack(columns)
    rows = bars(close)
    rate = risk_free()[rows]
    rate[0] = 0.0
    return Panel(
        name=NAME,
        dates=list(dates[rows]),
        symbols=chosen,
        close=close[rows],
        splits=None,
        delistings=None,
        risk_free=rate,
        periods_per_year=PERIODS_PER_YEAR,
        notices=_notices(chosen),
        source=SOURCE,
        terms=TERMS,
        currency="USD",
    )


def _notices(chosen: list[str]) -> list[str]:
    notices = [
        "prices are total-return indices computed from a fitted yield curve, close to close, without roll-down, and"
        " cannot be traded",
        "the risk-free rate is the 3-month bill of the same curve; idle cash earns `cash_bps`, which is not that rate",
        "yields fell from 8 % to 2 % over these years: buy and hold has a Sharpe ratio of 0.5 to 0.7",
    ]
    if bills := [symbol for symbol in chosen if symbol in BILLS]:
        notices.append(
            f"bills have almost no volatility, so inverse-volatility rules overweight them: {', '.join(bills)}"
        )
    if "UST30Y" in chosen:
        notices.append("UST30Y is suspended after 2002-02-15: unsellable, marked at its last index; UST30Y2006 follows")
    return notices
