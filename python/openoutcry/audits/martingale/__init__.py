"""Martingale test of the engine: expected profit is zero without price drift.

`check` runs rule bots and trained networks under every cost and limit; a significant profit is a bug in the engine. The
command is `openoutcry martingale`. Imports the core, `gym` and the rules of `audits.realism`.
"""

from openoutcry.audits.martingale.cost_settings import SETTINGS, Setting
from openoutcry.audits.martingale.evolution_strategy import Training
from openoutcry.audits.martingale.martingale_gate import check
from openoutcry.audits.martingale.martingale_markets import Market, market_of
from openoutcry.audits.martingale.martingale_result import Row, Verdict
from openoutcry.audits.martingale.profit_tests import p_values
from openoutcry.audits.martingale.rule_bots import BOTS

__all__ = ["BOTS", "SETTINGS", "Market", "Row", "Setting", "Training", "Verdict", "check", "market_of", "p_values"]
