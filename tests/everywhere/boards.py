"""Seeded markets, baseline records and boards, with expected results for other hosts of the engine."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.scenarios.scenario import Scenario
from openoutcry.scoring.scorer import submit

Fields = dict[str, Any]
SCENARIOS = ("calm", "hard", "extreme", "fx", "pairs", "regime-shift", "crisis", "martingale")
SPLITS = ("train", "validation", "test")
CSV = """date,symbol,close,open,volume
2024-01-02,A,1.1,1,5
2024-01-02,B,2,2,
2024-01-03,A,0.3,1.2,7
2024-01-04,A,1e-3,,9
"""


def boards(seed: int) -> tuple[Fields, Fields]:
    """Return the inputs, and the results in Python."""
    market = Scenario("hard", seed).dataset()
    edges = np.linspace(19, market.n_bars - 1, 5, dtype=int).tolist()
    given: Fields = {
        "csv": CSV,
        "scenarios": SCENARIOS,
        "splits": SPLITS,
        "seed": str(seed),
        "market": "hard",
        "windows": [(start, end + 1) for start, end in pairwise(edges)],
        "costs": {"fee_bps": 1.5, "slippage_bps": 2.0, "slippage_jitter": 0.25},
        "trials": 3,
        "returns": np.random.default_rng(seed % 2**32).normal(3e-4, 0.01, 600).tolist(),
    }
    return given, _results(given, oo.Dataset(market._core, name="hard"), seed)


def _results(given: Fields, market: oo.Dataset, seed: int) -> Fields:
    costs = oo.CostModel(**given["costs"])
    records = {name: _record(name, market, given, costs, seed) for name in oo.agents.NAMES}
    submitted = [submit(record, market) for record in records.values()]
    first, second, board = (native.score_field(submitted, f'{{"edition": {edition}}}') for edition in (1, 2, 3))
    return {
        "csv": oo.Dataset.from_csv(CSV).fingerprint,
        "walk": oo.Dataset.synthetic(3, 90, seed).fingerprint,
        "scenarios": [
            [Scenario(name, seed, split=split).dataset().fingerprint for split in SPLITS] for name in SCENARIOS
        ],
        "records": {name: _sha256(record.to_json()) for name, record in records.items()},
        "first_edition": _sha256(native.canonicalize(first)),
        "second_edition": _sha256(native.canonicalize(second)),
        "board": _sha256(native.canonicalize(board)),
        "returns": _sha256(native.canonicalize(oo.score_run(given["returns"], given["trials"]))),
    }


def _record(name: str, market: oo.Dataset, given: Fields, costs: oo.CostModel, seed: int) -> oo.RunRecord:
    runs = [oo.run_backtest(market, name, window, costs, seed=seed, capture=True).record for window in given["windows"]]
    return oo.RunRecord.join(name, runs, given["trials"])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
