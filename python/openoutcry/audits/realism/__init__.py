"""Realism gate: stylized facts against real data, and alpha of trading rules.

`check` tests panels of a scenario tier or a single dataset; `facts_of(panel_of(dataset))` computes the facts alone. The
command is `openoutcry realism`. Imports the core.
"""

from openoutcry.audits.realism.market_panel import Panel, panel_of
from openoutcry.audits.realism.realism_gate import check
from openoutcry.audits.realism.realism_result import FactRow, RuleRow, Verdict
from openoutcry.audits.realism.stylized_facts import FACTS, Fact, facts_of
from openoutcry.audits.realism.trading_rules import RULES, Rule

__all__ = ["FACTS", "RULES", "Fact", "FactRow", "Panel", "Rule", "RuleRow", "Verdict", "check", "facts_of", "panel_of"]
