"""Markets of a row: scenarios by key, or masked pieces of real data."""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.data.market_source import open_market
from openoutcry.errors import refusal
from openoutcry.scenarios.scenario import NAMES, Scenario, ScenarioSpec
from openoutcry.verifiers_env.task_rows import Row, market_key

# Split boundaries of real data, as shares of its bars. An episode with its lookback lies within one split.
_ENDS = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "held-out": (0.8, 1.0)}


def digest_of(market: str, n_symbols: int, n_bars: int) -> str:
    """Return the digest of a row's market: of the scenario's spec, or of the data.

    Raises:
        OpenOutcryError: the scenario, dataset or file does not exist.
    """
    return _spec(market, n_symbols, n_bars).digest if market in NAMES else _source(market).fingerprint


def draw(row: Row, window: int) -> Dataset:
    """Return the market of a window, a function of row and split secret.

    Raises:
        OpenOutcryError: the secret of the split is missing, the data differs from the row's, or is too short.
    """
    if digest_of(row.market, row.n_symbols, _n_bars(row)) != row.digest:
        message = f"the market of a row must have the digest {row.digest[:12]}"
        raise refusal("value_invalid", f"{message}; received another `{row.market}`, of another version or edited")
    key = market_key(row, window)
    if row.market not in NAMES:
        return _window_of_real_data(row, key)
    made = Scenario.revealed(_spec(row.market, row.n_symbols, _n_bars(row)), key.hex()).dataset()
    # A commitment is useful only if its key is revealed, which never happens here.
    return Dataset(made._core, name=made.name, notices=made.notices)


def _n_bars(row: Row) -> int:
    return row.window[1]


@lru_cache(maxsize=64)
def _spec(market: str, n_symbols: int, n_bars: int) -> ScenarioSpec:
    return ScenarioSpec(market, n_symbols=n_symbols, n_days=n_bars)


@lru_cache(maxsize=4)
def _source(market: str) -> Dataset:
    """Return real data, loaded once per worker."""
    return open_market(market, others=NAMES)


def _window_of_real_data(row: Row, key: bytes) -> Dataset:
    source, n_bars = _source(row.market), _n_bars(row)
    first, last = (round(share * source.n_bars) for share in _ENDS[row.split])
    if last - first < n_bars:
        wanted = f"the {row.split} part of `{row.market}` must have at least {n_bars} bars"
        raise refusal("window_invalid", f"{wanted}; received {last - first} of {source.n_bars}")
    start = first + _uniform(key, "start") % (last - first - n_bars + 1)
    cut = source.between(start, start + n_bars)
    # Symbols that can be traded on the first bar, judged by data up to that bar.
    known = np.asarray(np.isfinite(cut.close[: row.lookback]).any(axis=0))
    names = [name for name, is_known in zip(cut.symbols, known, strict=True) if is_known]
    names.sort(key=lambda name: _uniform(key, f"symbol\0{name}"))
    if not names:
        wanted = f"a symbol of `{row.market}` must have a close before the first decision"
        raise refusal("value_invalid", f"{wanted}; received none in bars {start} to {start + row.lookback}")
    chosen = cut.select(sorted(names[: row.n_symbols], key=cut.symbols.index))
    return chosen.masked(key) if row.masked else chosen


def _uniform(key: bytes, what: str) -> int:
    return int.from_bytes(hmac.new(key, what.encode(), hashlib.sha256).digest()[:8], "little")
