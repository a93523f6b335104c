"""Module under which `verifiers` finds the Arena tasks: `vf-eval openoutcry-arena`.

The framework loads one taskset per module, by a name without dots; `openoutcry` is the taskset of trading tasks.
"""

from openoutcry.verifiers_env import ArenaTaskset, VerifiersEnv, VerifiersHarness

__all__ = ["ArenaTaskset", "VerifiersEnv", "VerifiersHarness"]
