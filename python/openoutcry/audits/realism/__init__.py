"""Whether a market looks like markets, and pays no rule that a fool could trade.

`check` judges panels of a tier, or one panel of anything; `facts_of(panel_of(dataset))` has the facts alone. The
command is `openoutcry realism`.
"""

from openoutcry.audits.realism.market_panel import Panel, panel_of
from openoutcry.audits.realism.realism_gate import check
from openoutcry.audits.realism.realism_result import FactRow, RuleRow, Verdict
from openoutcry.audits.realism.stylized_facts import FACTS, Fact, facts_of
from openoutcry.audits.realism.trading_rules import RULES, Rule

__all__ = ["FACTS", "RULES", "Fact", "FactRow", "Panel", "Rule", "RuleRow", "Verdict", "check", "facts_of", "panel_of"]
