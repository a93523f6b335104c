"""Whether anybody gains where nobody can: bots and hunters on martingales.

`check` lets them try under every cost and limit of the engine. The command is `openoutcry martingale`.
"""

from openoutcry.martingale.bots import BOTS
from openoutcry.martingale.evidence import p_values
from openoutcry.martingale.gate import check
from openoutcry.martingale.hunter import Hunt
from openoutcry.martingale.markets import Market, market_of
from openoutcry.martingale.settings import SETTINGS, Setting
from openoutcry.martingale.verdict import Row, Verdict

__all__ = ["BOTS", "SETTINGS", "Hunt", "Market", "Row", "Setting", "Verdict", "check", "market_of", "p_values"]
