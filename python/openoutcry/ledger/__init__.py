"""The run ledger: every run that was made, remembered across sessions.

`docs/ledger.md` says how.
"""

from __future__ import annotations

from openoutcry.ledger.entry_builder import About, failed_run, rules_of, run_of
from openoutcry.ledger.jsonl_view import append_view, prior_results_of, read_view
from openoutcry.ledger.ledger_entry import LedgerRun, Track
from openoutcry.ledger.ledger_store import Ledger, default_folder
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.prior_knowledge import Learned
from openoutcry.ledger.queries import Standing, Trials, deflated
from openoutcry.ledger.run_listing import Listed, Which
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.strategy_identity import code_identity, code_strategy, strategy_id, trial_key
from openoutcry.ledger.sweep_recorder import Recorder, recorder

__all__ = [
    "About",
    "Learned",
    "Ledger",
    "LedgerRun",
    "Listed",
    "Market",
    "Recorder",
    "RunMetricsSummary",
    "Standing",
    "Track",
    "Trials",
    "Which",
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
