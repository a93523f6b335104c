"""Entry of the Environments Hub to `openoutcry.verifiers_env`, of which it is a name.

The Hub takes pure Python, and a wheel with a native module is not; so the environment is in the wheel `openoutcry`, and
this is a module that depends on it.
"""

from openoutcry.verifiers_env import VerifiersEnv, VerifiersHarness, VerifiersTaskset, load_environment

__all__ = ["VerifiersEnv", "VerifiersHarness", "VerifiersTaskset", "load_environment"]
