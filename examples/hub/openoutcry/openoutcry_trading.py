"""Environments Hub module that re-exports `openoutcry.verifiers_env`.

The Hub accepts pure Python only. The environment has a native module, so it is part of the wheel `openoutcry`, on which
this module depends.
"""

from openoutcry.verifiers_env import VerifiersEnv, VerifiersHarness, VerifiersTaskset, load_environment

__all__ = ["VerifiersEnv", "VerifiersHarness", "VerifiersTaskset", "load_environment"]
