"""Texts of users, right and mistaken, with their readings in Python for other hosts of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import openoutcry as oo
from openoutcry.data.market_warnings import is_warning

N, AT = 60, 30
DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2024-01-01", periods=N)]
WALK = 100.0 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.01, N)))
TRADED = np.where(np.arange(N) < AT, WALK * 10.0, WALK)
Table = npt.NDArray[np.float64]
BARS = "date,A,B\n" + "".join(f"{day},{100 + k},{50 - k % 5}\n" for k, day in enumerate(DAYS))


def long(symbols: list[str], **tables: Table) -> str:
    """Return a long text; a missing value is an empty field."""
    rows = ["date,symbol," + ",".join(tables)]
    for bar, column in np.ndindex(N, len(symbols)):
        cells = [repr(float(table[bar, column])) for table in tables.values()]
        rows.append(",".join([DAYS[bar], symbols[column], *cells]).replace("nan", ""))
    return "\n".join(rows) + "\n"


def with_split(ratio: float, close: Table, bar: int = AT) -> str:
    split = np.ones((N, 1))
    split[bar] = ratio
    return long(["A"], close=close[:, None], split=split)


def with_volume(*volumes: float) -> str:
    close = np.tile(WALK[:, None], len(volumes))
    volume = np.tile(np.asarray(volumes), (N, 1))
    return long([f"S{k}" for k in range(len(volumes))], close=close, volume=volume)


def with_range(high: float, low: float) -> str:
    price = WALK[:, None]
    return long(["A"], close=price, open=price, high=price * high, low=price * low)


def with_closes(**bars: float) -> str:
    """Return closes next to those of another symbol; `b5=100` multiplies that of bar 5."""
    factors = np.ones(N)
    for name, factor in bars.items():
        factors[int(name[1:])] = factor
    return long(["A", "B"], close=np.column_stack([WALK * factors, WALK]))


def with_opens(factor: float) -> str:
    adjusted = np.where(np.arange(N) < AT, factor, 1.0)
    return long(["A"], close=(WALK * adjusted)[:, None], open=np.append(WALK[0], WALK[:-1])[:, None])


TEXTS = {
    "a lost decimal point": with_closes(b20=100.0),
    "several lost decimal points": with_closes(b20=0.01, b30=0.01, b31=0.01),
    "pence and pounds": with_closes(**{f"b{bar}": 100.0 for bar in range(AT)}),
    "a symbol without a close": with_closes(**{f"b{bar}": np.nan for bar in range(N)}),
    "opens of adjusted closes": with_opens(1.0),
    "opens as traded next to adjusted closes": with_opens(0.96),
    "a split of the prices": with_split(10.0, TRADED),
    "a split in adjusted prices": with_split(10.0, WALK),
    "an inverted ratio": with_split(0.1, TRADED),
    "a small split": with_split(1.05, WALK),
    "a split before the first close": with_split(10.0, np.where(np.arange(N) < AT, np.nan, WALK), AT),
    "a split on a bar without a close": with_split(10.0, np.where(np.arange(N) == AT, np.nan, TRADED)),
    "a split between two adjusted closes": with_split(10.0, np.where(np.arange(N) == AT, np.nan, WALK)),
    "volume 0 of all symbols": with_volume(0.0, 0.0),
    "volume 0 of one symbol": with_volume(0.0, 900.0),
    "a volume that is 0 or missing": with_volume(np.nan, 0.0),
    "an empty volume": with_volume(np.nan),
    "highs and lows": with_range(1.01, 0.99),
    "highs as lows": with_range(0.99, 1.01),
    "a close outside of each bar": with_range(1.03, 1.02),
    "rounded highs and lows": with_range(1.0 - 1e-4, 1.0 - 2e-4),
    "a market without opens": BARS,
}


def reading(csv: str, periods: float | None = None) -> dict[str, Any]:
    """Return the reading of a text in Python, in the form of `files.mjs`.

    Warnings about valid values are those of Python alone.
    """
    try:
        market = oo.Dataset.from_csv(csv, periods)
    except oo.OpenOutcryError as error:
        return {"slug": error.slug, "message": str(error)}
    notices = [notice for notice in market.notices if not is_warning(notice)]
    return {"fingerprint": market.fingerprint, "periods": market.periods_per_year, "notices": notices}


def compared(found: dict[str, Any]) -> dict[str, Any]:
    """Return a reading without hints, which name options of a language."""
    if "slug" in found:
        message = found["message"].removeprefix(f"{found['slug']}: ")
        return {"slug": found["slug"], "message": message.partition("; hint:")[0]}
    texts = [text.partition("; hint:")[0].replace("periods_per_year", "periodsPerYear") for text in found["notices"]]
    return found | {"notices": texts}


def random_text(seed: int) -> str:
    """Return a market with splits, volumes and ranges, right or mistaken."""
    rng = np.random.default_rng(seed)
    n_symbols, noise = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.002, 0.01, 0.05]))
    price = 50.0 * np.exp(np.cumsum(rng.normal(0.0, noise, (N, n_symbols)), axis=0))
    split = np.ones((N, n_symbols))
    for _ in range(int(rng.integers(4))):
        bar, column, ratio = (
            int(rng.integers(N)),
            int(rng.integers(n_symbols)),
            rng.choice([0.1, 0.5, 1.05, 1.5, 2, 20]),
        )
        split[bar, column] = ratio
        if rng.random() < 0.7:
            price[:bar, column] *= ratio
    close = np.where(rng.random((N, n_symbols)) < rng.choice([0.0, 0.3]), np.nan, price)
    close[rng.integers(N), :] = price[0]
    volume = rng.integers(0, 3, (N, n_symbols)) * (rng.random(n_symbols) < 0.5)
    high, low = price * (1 + rng.choice([0.0, 0.01])), price * (1 - rng.choice([-0.002, 0.0, 0.01]))
    swapped = rng.random((N, n_symbols)) < rng.choice([0.0, 0.02, 0.2])
    tables = {"close": close, "split": split, "volume": volume * 1.0}
    tables |= {"high": np.where(swapped, low, high), "low": np.where(swapped, high, low)}
    if rng.random() < 0.4:
        # On the basis of the closes, or not, and seldom far from them.
        opens = np.vstack([price[:1], price[:-1] / split[1:]]) * rng.choice([0.97, 1.0], p=[0.5, 0.5])
        tables["open"] = np.where(rng.random(opens.shape) < 0.002, opens * 100.0, opens)
        if rng.random() < 0.6:
            del tables["high"], tables["low"]
    if rng.random() < 0.2:
        far = rng.random(close.shape) < 0.005
        tables["close"] = np.where(far, close * rng.choice([0.01, 60.0, 1000.0]), close)
    return long([f"S{k}" for k in range(n_symbols)], **tables)
