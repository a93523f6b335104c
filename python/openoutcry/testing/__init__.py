"""Checks for your tests: `check_agent`, `check_vector_env`, and a pytest plugin.

Imports `harness.conformance`, `audits` and Gymnasium on first use of a check: pytest loads the plugin in every project
whose environment has the package installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openoutcry.harness.conformance import ConformanceError, check_agent
    from openoutcry.testing.fixed_rollout import VectorEnvError
    from openoutcry.testing.vector_env import CHECKS, check_vector_env

__all__ = ["CHECKS", "ConformanceError", "VectorEnvError", "check_agent", "check_vector_env"]

_HOMES = {
    "CHECKS": "openoutcry.testing.vector_env",
    "ConformanceError": "openoutcry.harness.conformance",
    "VectorEnvError": "openoutcry.testing.fixed_rollout",
    "check_agent": "openoutcry.harness.conformance",
    "check_vector_env": "openoutcry.testing.vector_env",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'openoutcry.testing' has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(_HOMES[name]), name))
