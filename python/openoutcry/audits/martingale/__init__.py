"""Whether anybody gains where nobody can: bots and hunters on martingales.

`check` lets them try under every cost and limit of the engine. The command is `openoutcry martingale`.
"""

from openoutcry.audits.martingale.cost_settings import SETTINGS, Setting
from openoutcry.audits.martingale.evolution_strategy import Hunt
from openoutcry.audits.martingale.martingale_gate import check
from openoutcry.audits.martingale.martingale_markets import Market, market_of
from openoutcry.audits.martingale.martingale_result import Row, Verdict
from openoutcry.audits.martingale.profit_tests import p_values
from openoutcry.audits.martingale.rule_bots import BOTS

__all__ = ["BOTS", "SETTINGS", "Hunt", "Market", "Row", "Setting", "Verdict", "check", "market_of", "p_values"]
