"""The environment of the framework; it needs no sandbox and no network."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf

from openoutcry.errors import refusal
from openoutcry.verifiers_env.chat_harness import VerifiersHarnessConfig

NAME, ARENA = "openoutcry", "openoutcry-arena"


class VerifiersEnvConfig(vf.EnvConfig):
    """One agent, in a process on this machine, since models run no code."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})
    """The agent that trades or answers."""


class VerifiersEnv(vf.Env[VerifiersEnvConfig]):
    """One agent plays one task, as one trace.

    Raises:
        OpenOutcryError: `argument_invalid`: the harness of the agent is not this package's, so its model cannot trade.
    """

    def __init__(self, config: VerifiersEnvConfig) -> None:
        # It would be rewarded as holding, and a harness with a shell could read the secret and files of the worker.
        harness = config.agent.harness
        if harness is not None and not isinstance(harness, VerifiersHarnessConfig):
            wanted = f"`agent.harness` must be `{NAME}`, or left out"
            raise refusal("argument_invalid", f"{wanted}; received `{harness.id}`, which cannot trade")
        super().__init__(config)

    async def run(self, task: vf.Task[Any, Any, Any], agents: vf.Agents) -> None:
        """Play the task."""
        await agents.agent.run(task)


def load_environment(
    *, agent: dict[str, Any] | None = None, task: dict[str, Any] | None = None, **taskset: Any
) -> vf.Env[Any]:
    """Return the environment of a configuration.

    Args:
        agent: Fields of the agent, such as `max_turns`.
        task: Fields of the task configuration, such as `records`, or `rewards={"pass_k_reward": {"weight": 1}}`.
        **taskset: Fields of `VerifiersTasksetConfig`, such as `market="ecb-fx"`; with `season`, an Arena export, fields
            of `ArenaTasksetConfig`.

    Raises:
        ValidationError: a field is unknown, or its value has the wrong type.
    """
    rows = {"id": ARENA if "season" in taskset else NAME} | taskset | ({"task": task} if task else {})
    return vf.load_environment(vf.resolve_env_config({"taskset": rows} | ({"agent": agent} if agent else {})))
