"""The name by which `verifiers` finds the Arena's questions: `vf-eval openoutcry-arena`.

The framework takes one taskset of a module, by a name without dots; `openoutcry` is that of markets to trade.
"""

from openoutcry.verifiers_env import ArenaTaskset, VerifiersEnv, VerifiersHarness

__all__ = ["ArenaTaskset", "VerifiersEnv", "VerifiersHarness"]
