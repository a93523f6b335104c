"""The environment of the framework, without a sandbox or network of its own."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf

from openoutcry.errors import refusal
from openoutcry.verifiers_env.chat_harness import VerifiersHarnessConfig

NAME, ARENA = "openoutcry", "openoutcry-arena"


class VerifiersEnvConfig(vf.EnvConfig):
    """One seat, in a process of this machine: models run no code."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})
    """Who trades, or answers."""


class VerifiersEnv(vf.Env[VerifiersEnvConfig]):
    """One agent plays one task, as one trace.

    Raises:
        OpenOutcryError: `argument_invalid`: the seat has a harness that knows no desk, whose model cannot trade.
    """

    def __init__(self, config: VerifiersEnvConfig) -> None:
        # It would be paid as who holds, and one that gives its model a shell could read the worker's secret and files.
        harness = config.agent.harness
        if harness is not None and not isinstance(harness, VerifiersHarnessConfig):
            wanted = f"`agent.harness` must be `{NAME}`, or left out"
            raise refusal("argument_invalid", f"{wanted}; received `{harness.id}`, through which no model can trade")
        super().__init__(config)

    async def run(self, task: vf.Task[Any, Any, Any], agents: vf.Agents) -> None:
        """Play the task."""
        await agents.agent.run(task)


def load_environment(
    *, agent: dict[str, Any] | None = None, task: dict[str, Any] | None = None, **taskset: Any
) -> vf.Env[Any]:
    """Return the environment of a configuration, resolved.

    Args:
        agent: Fields of the seat, such as `max_turns`.
        task: Fields of the task's configuration, such as `records`, or `rewards={"pass_k_reward": {"weight": 1}}`.
        **taskset: Fields of `VerifiersTasksetConfig`, such as `market="ecb-fx"`; with `season`, an export of the Arena,
            those of `ArenaTasksetConfig`.

    Raises:
        ValidationError: a field is unknown, or its value is of another type.
    """
    rows = {"id": ARENA if "season" in taskset else NAME} | taskset | ({"task": task} if task else {})
    return vf.load_environment(vf.resolve_env_config({"taskset": rows} | ({"agent": agent} if agent else {})))
