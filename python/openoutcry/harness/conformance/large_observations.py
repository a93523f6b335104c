"""Generated observations that are too large for fixture files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def observations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, description and observation, identical on every machine."""
    yield (
        "huge_history",
        "100 symbols of 5,000 closes each, one line of more than 3 MB.",
        _observation(n_symbols=100, n_closes=5_000, n_held=10),
    )
    yield (
        "long_history",
        "One symbol of 200,000 closes, one line of more than 1 MB.",
        _observation(n_symbols=1, n_closes=200_000, n_held=1),
    )
    yield (
        "many_symbols",
        "2,500 symbols, 500 of them held.",
        _observation(n_symbols=2_500, n_closes=2, n_held=500),
    )


def _observation(n_symbols: int, n_closes: int, n_held: int) -> dict[str, Any]:
    names = [f"S{i:04}" for i in range(n_symbols)]
    symbols = [{"symbol": name, "close_history": _closes(i, n_closes)} for i, name in enumerate(names)]
    portfolio = [{"symbol": name, "shares": 2.0**-20, "avg_price": 100.5} for name in names[:n_held]]
    return {"date": "2024-01-09", "cash": 0.5, "symbols": symbols, "portfolio": portfolio}


def _closes(symbol: int, n_closes: int) -> list[float]:
    # Multiples of 1/8, which every language reads and writes exactly.
    return [50.0 + (symbol * 7919 + bar * 104_729) % 2_003 / 8.0 for bar in range(n_closes)]
