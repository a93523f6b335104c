"""Mask a market: replace names, price levels and dates, and preserve returns.

Every draw is HMAC-SHA-256 under a key, with one stream per purpose and symbol. The masked value of a bar therefore does
not depend on later bars.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from openoutcry.arguments import checked_integer
from openoutcry.data.columns import TABLES
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

NAME = "masked"
LEVELS = ("names", "levels", "calendar", "full")

_DOMAIN = b"openoutcry/mask/v1\0"
_SEED_DOMAIN = b"openoutcry/mask-seed/v1\0"
_TABLES = ("close", *TABLES, "tradable")
_IN_MONEY = ("close", "open", "high", "low", "dividends")
_PRICES = ("close", "open", "high", "low")
# First prices are drawn from 2^3 = 8 to 2^10 = 1024, the range of share prices, uniformly in the octave.
_FIRST_OCTAVE, _N_OCTAVES = 3, 7
# Years that no model has data about.
_FIRST_YEAR, _N_YEARS = 2100, 200
_WEEKDAYS = 5
# Bars per year of a market that is open on weekdays, with or without holidays.
_WEEKDAY_BARS = (240.0, 262.0)
_DAYS_A_YEAR = 365.25


def mask(columns: Mapping[str, Any], key: bytes | int, level: str) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of the masked market, and its notices.

    Args:
        columns: Arguments of `Dataset.from_arrays`, already validated.
        key: 32 bytes, or an integer from 0 to 2^64 - 1.
        level: One of `LEVELS`. Each level includes the previous ones.

    Raises:
        OpenOutcryError: `argument_invalid`: the key or the level is invalid.
    """
    if level not in LEVELS:
        raise refusal("argument_invalid", f"`level` must be one of {', '.join(LEVELS)}; received {level!r}")
    secret, depth = _secret(key), LEVELS.index(level)
    masked = _renamed(columns, secret)
    if depth >= LEVELS.index("levels"):
        _rescale(masked, [columns["symbols"][place] for place in _order(columns["symbols"], secret)], secret)
    try:
        if level == "calendar":
            masked["dates"] = _shifted(columns["dates"], secret)
        elif level == "full":
            masked["dates"] = _even(columns["dates"], _known_periods(columns), secret)
    except OverflowError as error:
        received = f"{len(columns['dates'])} bars, {columns['periods_per_year']:g} a year"
        message = f"a masked calendar must end before the year 10000; received {received}"
        raise refusal("date_invalid", message) from error
    return masked, _notices(columns, level)


def places(symbols: tuple[str, ...], key: bytes | int) -> list[int]:
    """Return the index of the real symbol of each masked column."""
    return _order(symbols, _secret(key))


def _secret(key: bytes | int) -> bytes:
    if isinstance(key, (bytes, bytearray)):
        if len(key) != 32:
            raise refusal(
                "argument_invalid", f"`key` must be 32 bytes or an integer; received {counted(len(key), 'byte')}"
            )
        return hashlib.sha256(_DOMAIN + bytes(key)).digest()
    seed = checked_integer("key", key, 0, 2**64 - 1)
    return hashlib.sha256(_SEED_DOMAIN + seed.to_bytes(8, "little")).digest()


def _draw(secret: bytes, purpose: str, subject: str = "") -> bytes:
    return hmac.new(secret, f"{purpose}\0{subject}".encode(), hashlib.sha256).digest()


def _uniform(secret: bytes, purpose: str, subject: str = "") -> float:
    """Return a uniform number in [0, 1), a multiple of 2^-53."""
    return (int.from_bytes(_draw(secret, purpose, subject)[:8], "little") >> 11) * 2.0**-53


def _order(symbols: tuple[str, ...], secret: bytes) -> list[int]:
    """Return the indices of the symbols in a secret order."""
    return sorted(range(len(symbols)), key=lambda place: _draw(secret, "order", symbols[place]))


def _renamed(columns: Mapping[str, Any], secret: bytes) -> dict[str, Any]:
    places = _order(columns["symbols"], secret)
    digits = max(2, len(str(len(places))))
    masked: dict[str, Any] = {name: columns[name] for name in ("dates", "risk_free", "periods_per_year")}
    for name in _TABLES:
        table = columns[name]
        masked[name] = None if table is None else np.ascontiguousarray(table[:, places])
    return masked | {"symbols": [f"S{place:0{digits}d}" for place in range(1, len(places) + 1)]}


def _rescale(masked: dict[str, Any], symbols: list[str], secret: bytes) -> None:
    """Multiply prices and dividends by one factor per symbol, and divide volume by it.

    The factor maps the first price to a drawn level, so that the real level does not show. It is not a power of two,
    which would preserve the binary digits of every price.
    """
    for place, symbol in enumerate(symbols):
        level = _level(secret, symbol)
        prices = np.column_stack([masked[name][:, place] for name in _PRICES if masked[name] is not None])
        known = np.argwhere(np.isfinite(prices))
        # Values before the first price are scaled by the level alone: a later price would leak the future.
        factor = np.full(len(prices), level)
        if len(known):
            factor[known[0][0] :] = level / prices[tuple(known[0])]
        for name in _IN_MONEY:
            if masked[name] is not None:
                masked[name][:, place] *= factor
        if masked["volume"] is not None:
            masked["volume"][:, place] /= factor


def _level(secret: bytes, symbol: str) -> float:
    """Return a level with a uniformly drawn octave.

    The operations are exact, hence the same on every machine.
    """
    octave, mantissa = divmod(_N_OCTAVES * _uniform(secret, "level", symbol), 1.0)
    return math.ldexp(1.0 + mantissa, _FIRST_OCTAVE + int(octave))


def _shifted(dates: tuple[str, ...], secret: bytes) -> list[str]:
    """Return dates shifted by whole weeks, which preserves weekdays and gaps."""
    start = date.fromisoformat(dates[0][:10])
    weeks = (_first_day(secret) - start).days // 7
    moved = [date.fromisoformat(text[:10]) + timedelta(weeks=weeks) for text in dates]
    return [day.isoformat() + text[10:] for day, text in zip(moved, dates, strict=True)]


def _known_periods(columns: Mapping[str, Any]) -> float:
    periods = float(columns["periods_per_year"])
    if np.isnan(periods):
        message = "`periods_per_year` is required for a masked calendar; received a market without it"
        raise refusal("value_invalid", f"{message}; hint: load the market with `periods_per_year`, or level='calendar'")
    return periods


def _even(dates: tuple[str, ...], periods_per_year: float, secret: bytes) -> list[str]:
    """Return evenly spaced dates in the format of the real ones.

    They reveal only the number of bars.

    Daily bars of a market with weekends fall on every weekday, without holidays.
    """
    first = _first_day(secret)
    if len(dates[0]) > 10:
        step = timedelta(seconds=max(1, round(_DAYS_A_YEAR * 86_400 / periods_per_year)))
        start = datetime(first.year, first.month, first.day)
        return [(start + bar * step).isoformat() + dates[0][19:] for bar in range(len(dates))]
    if _WEEKDAY_BARS[0] <= periods_per_year <= _WEEKDAY_BARS[1]:
        monday, phase = first - timedelta(days=first.weekday()), int(_WEEKDAYS * _uniform(secret, "phase"))
        weeks = (divmod(phase + bar, _WEEKDAYS) for bar in range(len(dates)))
        return [(monday + timedelta(weeks=week, days=day)).isoformat() for week, day in weeks]
    spacing = timedelta(days=max(1, round(_DAYS_A_YEAR / periods_per_year)))
    return [(first + bar * spacing).isoformat() for bar in range(len(dates))]


def _first_day(secret: bytes) -> date:
    days = int(_N_YEARS * _DAYS_A_YEAR * _uniform(secret, "calendar"))
    return date(_FIRST_YEAR, 1, 1) + timedelta(days=days)


def _notices(columns: Mapping[str, Any], level: str) -> list[str]:
    hidden = {
        "names": "names",
        "levels": "names and price levels",
        "calendar": "names, price levels and years",
        "full": "names, price levels and dates",
    }[level]
    notices = [f"masked market, level {level}: {hidden} are replaced; returns are real and can be recognised"]
    omitted = [f"{len(columns[feed])} {feed}" for feed in ("fundamentals", "news") if columns[feed]]
    if omitted:
        notices.append(f"{' and '.join(omitted)} items left out: headlines and balance sheets identify the company")
    if columns["features"]:
        count = len(columns["features"])
        notices.append(f"{count} feature{'s' * (count != 1)} left out: their values can identify the market")
    return notices
