"""Measure the reference bands of `openoutcry realism` on real markets and write `bands.json`.

    python scripts/realism_bands.py SKFOLIO_WHEEL ARCH_WHEEL

`pip download --no-deps skfolio==1.12.2 arch==8.0.0` fetches both wheels. The script reads their price files and stores
only the resulting numbers. `ecb-fx` is bundled.

A draw is a block bootstrap of ten years of consecutive days, with replacement, over half of the symbols without
replacement: a mean over half of the symbols has the spread of a bootstrap over all of them, and no pair contains the
same symbol twice. A band is the central 95 % of the draws.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zipfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import Dataset, data
from openoutcry.audits.realism.market_panel import Panel, panel_of
from openoutcry.audits.realism.stylized_facts import FACTS, autocorrelation, facts_of

Table = npt.NDArray[np.float64]

SEED, DRAWS, YEARS = 20260101, 4000, 10
LEVELS = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999)
TARGET = Path(__file__).resolve().parents[1] / "python" / "openoutcry" / "audits" / "realism" / "bands.json"
# Before 2000 the adjusted closes of several stocks are below 1 and rounded to 0.001, so returns are mostly rounding.
STOCKS_FROM = "1999-12-31"
UNSIGNED = "acf_return_1 of days with random signs"
STOCKS, INDEX = "skfolio/datasets/data/sp500_dataset.csv.gz", "skfolio/datasets/data/sp500_index.csv.gz"
ARCH = {name: f"arch/data/{name}/{name}.csv.gz" for name in ("sp500", "nasdaq")}
LITERATURE: dict[str, tuple[float, float, str]] = {
    "volume_volatility": (0.2, 0.5, "literature: Karpoff (1987), volume rises with absolute returns"),
    "range_ratio": (0.7, 1.0, "literature: Parkinson (1980), less closed hours; Garman and Klass (1980)"),
    "overnight_share": (0.1, 0.45, "literature: French and Roll (1986); Hansen and Lunde (2005)"),
}


@dataclass(frozen=True)
class Tier:
    """Source of the bands of a tier: blocks of days between two quantiles of volatility."""

    source: str
    block: int
    least_volatile: float = 0.0
    most_volatile: float = 1.0


TIERS = {
    "calm": Tier("stocks", 500, 0.0, 0.5),
    "hard": Tier("stocks", 500),
    "extreme": Tier("stocks", 500, 0.6667, 1.0),
    "fx": Tier("ecb-fx", 500),
}


def main() -> None:
    """Measure the bands and write the file."""
    skfolio, arch = (zipfile.ZipFile(path) for path in sys.argv[1:3])
    stocks = read_prices(skfolio, STOCKS, STOCKS_FROM)
    index = read_prices(skfolio, INDEX)
    fx = data.load("ecb-fx")
    markets = {"stocks": stocks, "index": index, "ecb-fx": fx}
    about = {
        "stocks": "20 stocks of the S&P 500, skfolio 1.12.2 load_sp500_dataset",
        "index": "S&P 500, skfolio 1.12.2 load_sp500_index",
        "ecb-fx": "nine currencies against the euro, bundled",
    }
    index_facts = {name: facts_of_index(name, read_prices(arch, path)) for name, path in ARCH.items()}
    with ProcessPoolExecutor() as pool:
        measured = pool.map(measure, TIERS, TIERS.values(), [markets] * len(TIERS))
        tiers = dict(zip(TIERS, measured, strict=True))
    found = {
        "script": "scripts/realism_bands.py",
        "seed": SEED,
        "draws": DRAWS,
        "years": YEARS,
        "levels": LEVELS,
        "sources": {name: describe_source(about[name], market) for name, market in markets.items()},
        "seen": index_facts,
        "tiers": tiers,
    }
    text = re.sub(r"\[[^\[\]{}]*\]", one_line, json.dumps(found, indent=1))
    TARGET.write_text(text + "\n", encoding="utf-8")


def one_line(numbers: re.Match[str]) -> str:
    """Format a list of numbers on one line."""
    return "".join(numbers[0].split()).replace(",", ", ")


def read_prices(wheel: zipfile.ZipFile, path: str, start: str = "") -> Dataset:
    """Read a price file of a wheel, starting at a date."""
    text = gzip.decompress(wheel.read(path)).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["Date"] >= start]
    dates = [iso(row.pop("Date")) for row in rows]
    if "Adj Close" not in rows[0]:
        return Dataset.from_arrays(dates, list(rows[0]), np.array([list(row.values()) for row in rows], dtype=float))
    tables = {name.lower(): [[float(row[name])] for row in rows] for name in ("Close", "Open", "High", "Low", "Volume")}
    close = np.array(tables.pop("close"))
    return Dataset.from_arrays(dates, [Path(path).parent.name], close, **tables)


def iso(date: str) -> str:
    """Convert a date to ISO 8601; arch writes month/day/year."""
    return date[:10] if "-" in date else "{2}-{0:0>2}-{1:0>2}".format(*date.split("/"))


def measure(name: str, tier: Tier, markets: dict[str, Dataset]) -> dict[str, Any]:
    """Return the bands of a tier by fact."""
    rng = np.random.default_rng([SEED, list(TIERS).index(name)])
    market = markets[tier.source]
    draws = bootstrap_draws(market, tier, rng)
    # Years selected by volatility are selected by return too, and the stocks are survivors: use an index, all years.
    sharpe_source = "index" if tier.source == "stocks" else tier.source
    sharpe = bootstrap_draws(markets[sharpe_source], Tier(sharpe_source, 500), rng)["buy_and_hold_sharpe"]
    bands = {fact: band(values, tier.source) for fact, values in draws.items() if fact != UNSIGNED}
    # A random sign for each day keeps the volatility clustering and removes the predictability of returns.
    why = f"{tier.source}, the sign of each day drawn at random"
    bands["acf_return_1"] = band(draws[UNSIGNED], why) | {"measured": quantiles(draws["acf_return_1"])}
    bands["buy_and_hold_sharpe"] = band(sharpe, f"{sharpe_source}, all years")
    if tier.source == "stocks":
        for fact, (low, high, source) in LITERATURE.items():
            bands[fact] = {"source": source, "low": low, "high": high}
    return {"blocks": asdict(tier), "facts": {fact: bands[fact] for fact in FACTS if fact in bands}}


def bootstrap_draws(market: Dataset, tier: Tier, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the bootstrap draws of each fact that the market has."""
    returns, bars = panel_of(market).returns, market.periods_per_year
    starts = block_starts(returns, tier)
    n_bars, n_symbols = int(YEARS * bars), max(market.n_symbols // 2, 1)
    found: dict[str, list[float]] = {}
    for _ in range(DRAWS):
        first = rng.choice(starts, size=-(-n_bars // tier.block))
        rows = (first[:, None] + np.arange(tier.block)).ravel()[:n_bars]
        table = returns[np.ix_(rows, rng.permutation(market.n_symbols)[:n_symbols])]
        values = {fact: each.value for fact, each in facts_of(Panel(table, periods_per_year=bars)).items()}
        unsigned = (table * rng.choice([-1.0, 1.0], size=(n_bars, 1))).T
        values[UNSIGNED] = float(np.median([autocorrelation(each[np.isfinite(each)], 1) for each in unsigned]))
        for fact, value in values.items():
            if value is not None:
                found.setdefault(fact, []).append(value)
    return found


def block_starts(returns: Table, tier: Tier) -> npt.NDArray[np.int64]:
    """Return the start rows of blocks whose market volatility lies between the quantiles of a tier."""
    total = np.concatenate([[0.0], np.cumsum(np.nanmean(returns, axis=1) ** 2)])
    volatility = total[tier.block :] - total[: -tier.block]
    low, high = np.quantile(volatility, [tier.least_volatile, tier.most_volatile])
    return np.flatnonzero((volatility >= low) & (volatility <= high))


def band(values: list[float], source: str) -> dict[str, Any]:
    """Return a band with its source and the quantiles of all draws."""
    found = quantiles(values)
    low, high = found[LEVELS.index(0.025)], found[LEVELS.index(0.975)]
    return {"source": source, "low": low, "high": high, "quantiles": found}


def quantiles(values: list[float]) -> list[float]:
    """Return the quantiles at `LEVELS`."""
    return [round(float(each), 4) for each in np.quantile(values, LEVELS)]


def describe_source(about: str, market: Dataset) -> dict[str, str]:
    """Describe a source and its first and last date."""
    return {"what": about, "from": market.dates[0], "to": market.dates[-1]}


def facts_of_index(name: str, market: Dataset) -> dict[str, Any]:
    """Return the facts of an index of arch, for comparison with the bands from the literature.

    The overnight share is omitted because the opens of the index are not prices of trades.
    """
    facts = {fact: each.value for fact, each in facts_of(panel_of(market)).items() if each.value is not None}
    facts.pop("overnight_share")
    return describe_source(f"{name}, arch 8.0.0", market) | {fact: round(value, 4) for fact, value in facts.items()}


if __name__ == "__main__":
    main()
