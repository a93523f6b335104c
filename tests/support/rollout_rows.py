"""Task rows of the verifiers environment for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.verifiers_env import row_markets
from openoutcry.verifiers_env.task_rows import Row

SECRET = "a secret of a worker, for tests"


def row_of(market: str = "pairs", index: int = 0, **fields: Any) -> Row:
    """Return a small row of a market; `fields` override its defaults."""
    sizes = {"n_symbols": 3, "horizon": 6, "lookback": 5} | fields
    digest = row_markets.digest_of(market, sizes["n_symbols"], sizes["lookback"] + sizes["horizon"])
    return Row(sizes.pop("split", "train"), index, market, digest, **sizes)


def csv_of(path: Path, closes: np.ndarray[Any, Any]) -> Path:
    """Write closes, shape `(n_bars, n_symbols)`, as a wide file and return its path."""
    names = [f"N{place}" for place in range(closes.shape[1])]
    days = np.datetime64("2001-01-01") + np.arange(len(closes))
    rows = [f"{day}," + ",".join(map(repr, line)) for day, line in zip(days, closes.tolist(), strict=True)]
    path.write_text("\n".join([",".join(["date", *names]), *rows]) + "\n")
    return path
