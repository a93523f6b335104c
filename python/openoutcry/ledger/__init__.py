"""Run ledger: an append-only log of backtests across sessions and a SQLite index.

`ledger_store` is the entry point, `log_segments` the log, `sqlite_index` and `queries` the index, `http_server` the web
service. Imports the core and `scoring`.
"""

from __future__ import annotations

from openoutcry.ledger.entry_builder import RunMetadata, failed_run, rules_of, run_of
from openoutcry.ledger.jsonl_view import append_view, prior_results_of, read_view
from openoutcry.ledger.ledger_entry import LedgerRun, ReturnMoments
from openoutcry.ledger.ledger_store import Ledger, default_folder
from openoutcry.ledger.market_families import FAMILY_LIMITS, Market
from openoutcry.ledger.prior_knowledge import PriorResults
from openoutcry.ledger.queries import StrategySummary, Trials, deflated
from openoutcry.ledger.ranking import Ranking
from openoutcry.ledger.run_listing import RunFilter, RunListItem
from openoutcry.ledger.run_settings import Setting
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.strategy_identity import code_identity, code_strategy, strategy_id, trial_key
from openoutcry.ledger.sweep_recorder import Recorder, recorder

__all__ = [
    "FAMILY_LIMITS",
    "Ledger",
    "LedgerRun",
    "Market",
    "PriorResults",
    "Ranking",
    "Recorder",
    "ReturnMoments",
    "RunFilter",
    "RunListItem",
    "RunMetadata",
    "RunMetricsSummary",
    "Setting",
    "StrategySummary",
    "Trials",
    "append_view",
    "code_identity",
    "code_strategy",
    "default_folder",
    "deflated",
    "failed_run",
    "prior_results_of",
    "read_view",
    "recorder",
    "rules_of",
    "run_of",
    "strategy_id",
    "trial_key",
]
