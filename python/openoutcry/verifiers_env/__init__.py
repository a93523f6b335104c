"""Training and evaluation of language models with PrimeIntellect's `verifiers`.

`load_environment` returns the environment; `vf-eval openoutcry` runs it from the shell. Independent of the framework:
`task_rows` and `row_markets` (tasks), `rollout_state` and `parser` (steps), `prompts`, `episode_outcome`, `mandates`
and `rewards`, `record_store` and `record_conversations` (records), `scripted_policies` and `reward_hacking` (policies
without a model), `forecast_parser` (Arena questions). Classes of the framework: `trading_tasks`, `arena_tasks`,
`chat_harness`, `conversation_protocol`, `verifiers_environment`. Imports the core and `arena`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openoutcry.verifiers_env.arena_tasks import ArenaTaskset
    from openoutcry.verifiers_env.chat_harness import VerifiersHarness
    from openoutcry.verifiers_env.trading_tasks import VerifiersTaskset
    from openoutcry.verifiers_env.verifiers_environment import VerifiersEnv, load_environment

_HOMES = {
    "ArenaTaskset": "arena_tasks",
    "VerifiersEnv": "verifiers_environment",
    "VerifiersHarness": "chat_harness",
    "VerifiersTaskset": "trading_tasks",
    "load_environment": "verifiers_environment",
}

# The extra is empty on older Python versions.
_NEEDED = "needs `pip install openoutcry[verifiers]` on Python 3.11 or newer"

__all__ = ["ArenaTaskset", "VerifiersEnv", "VerifiersHarness", "VerifiersTaskset", "load_environment"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'openoutcry.verifiers_env' has no attribute {name!r}")
        try:
            home = import_module(f"openoutcry.verifiers_env.{_HOMES[name]}")
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] != "verifiers":
                raise
            raise ModuleNotFoundError(_NEEDED, name=error.name) from error
        return getattr(home, name)
