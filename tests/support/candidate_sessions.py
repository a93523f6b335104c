"""Short research sessions whose candidates a test runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from research_markets import trending

import openoutcry as oo
from openoutcry.ledger import Ledger
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_files import write_session_files
from openoutcry.research.session_manager import Workspace, recorded_setup, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

RISING = '''
from openoutcry.backtest.strategies import Strategy


class Rising(Strategy):
    """Hold symbols that are above an earlier close."""

    PARAM_RANGES = {"span": {"type": "int", "min": 5, "max": 60, "default": 20}}

    @property
    def lookback(self):
        return self.params["span"] + 1

    def weights(self, closes):
        return (closes[-1] > closes[0]) / closes.shape[1]
'''
MARKET = trending(3, 420, 2)
WHY = "prices that have risen for weeks go on to rise, since investors react late"
CONFIG = ResearchConfig(
    split=Split(n_folds=2, holdout_bars=40),
    budgets=Budgets(12, 9),
    gates=Thresholds(*(None,) * 5, min_trades=0, min_dsr=None),
    allow_code=True,
    inner_trials=2,
    costs=oo.CostModel(fee_bps=3.0),
)
RESEARCHED = {"symbols": list(MARKET.symbols), "last": MARKET.dates[379]}
TUNE = {"kind": "tune", "strategy": "trend", "params": {"fast": 5, "slow": 65}, "rationale": WHY}
CODE = {"kind": "code", "source": RISING, "rationale": WHY}


def searched(folder: Path, *proposals: Any, **changes: Any) -> tuple[Result, Any, list[Path]]:
    """Run a session, and return its result, its validation inputs and the files of its candidates."""
    workspace = Workspace(folder / "out", Ledger(folder / "ledger"))
    result = research(lambda: MARKET, FixedProposer(list(proposals)), replace(CONFIG, **changes), workspace)
    setup = recorded_setup(lambda: MARKET, session_of(workspace.journal))
    paths = write_session_files(result, setup, workspace.folder)
    return result, setup, [path for path in paths if path.parent.name == "candidates"]


def market_file(path: Path, symbols: Sequence[str] = MARKET.symbols) -> Path:
    """Write the market of the sessions to a CSV file, and return its path."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["date", *symbols])
        rows.writerows(
            [date, *map(repr, map(float, row))] for date, row in zip(MARKET.dates, MARKET.close, strict=True)
        )
    return path
