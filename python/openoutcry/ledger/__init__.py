"""The run ledger: every run that was made, remembered across sessions.

`docs/ledger.md` says how.
"""

from __future__ import annotations

from openoutcry.ledger.entry import LedgerRun, Track
from openoutcry.ledger.identity import code_identity, code_strategy, strategy_id, trial_key
from openoutcry.ledger.listing import Listed, Which
from openoutcry.ledger.making import About, failed_run, rules_of, run_of
from openoutcry.ledger.market import Market
from openoutcry.ledger.prior import Learned
from openoutcry.ledger.questions import Standing, Trials, deflated
from openoutcry.ledger.recording import Recorder, recorder
from openoutcry.ledger.store import Ledger, default_folder
from openoutcry.ledger.summary import RunMetricsSummary
from openoutcry.ledger.view import append_view, prior_results_of, read_view

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
