"""Whether a market looks like markets, and pays no rule that a fool could trade.

`check` judges panels of a tier, or one panel of anything; `facts_of(panel_of(dataset))` has the facts alone. The
command is `openoutcry realism`.
"""

from openoutcry.realism.facts import FACTS, Fact, facts_of
from openoutcry.realism.gate import check
from openoutcry.realism.panel import Panel, panel_of
from openoutcry.realism.rules import RULES, Rule
from openoutcry.realism.verdict import FactRow, RuleRow, Verdict

__all__ = ["FACTS", "RULES", "Fact", "FactRow", "Panel", "Rule", "RuleRow", "Verdict", "check", "facts_of", "panel_of"]
