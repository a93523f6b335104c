"""Interfaces of agents: `Launcher` starts one, `Session` is one run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import isfinite
from types import TracebackType
from typing import TypeVar

from openoutcry.agents import Harness, TextAgent
from openoutcry.errors import refusal

SessionT = TypeVar("SessionT", bound="Session")


@dataclass(frozen=True)
class Bounds:
    """Limits of time and size for an agent.

    Args:
        start_seconds: Time to start, added to the time for the first decision.
        answer_seconds: Time for each decision.
        end_seconds: Time to exit after the last decision; then the agent is killed.
        answer_bytes: Longest decision.
        run_bytes: Total size of all decisions of a run, which its record stores. Beyond it the agent is abandoned.
        stderr_bytes: Bytes of standard error forwarded per run; later output is dropped.
        faults_in_a_row: Consecutive faults after which the agent is abandoned.
    """

    start_seconds: float = 60.0
    answer_seconds: float = 60.0
    end_seconds: float = 1.0
    answer_bytes: int = 2**20
    run_bytes: int = 2**26
    stderr_bytes: int = 2**20
    faults_in_a_row: int = 3

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, (int, float)) or not (isfinite(value) and value > 0.0):
                raise refusal("argument_invalid", f"`{field.name}` must be a number above 0; received {value!r}")


class Session(TextAgent):
    """A running agent, for one run. Use it in a `with` block, which ends the agent."""

    survives_faults = False
    """Whether the session continues after a fault. Otherwise leftover output would answer the wrong bar."""

    def inherit_limits(self, previous: Session) -> None:
        """Take over the remaining per-run limits of the previous session, after a fault."""

    @abstractmethod
    def finish(self) -> None:
        """Signal the end of the run to the agent without waiting for it."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the agent, from any thread. A pending `answer` raises `agent_died`."""

    @abstractmethod
    def close(self) -> None:
        """End the agent, by force after `Bounds.end_seconds`, and free its resources."""

    def __enter__(self: SessionT) -> SessionT:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Launcher(ABC):
    """Starts a new session of an agent for every run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the agent."""

    @property
    def bounds(self) -> Bounds:
        """Limits of time and size."""
        return Bounds()

    @property
    def harness(self) -> Harness | None:
        """`transport`, `tier` and `allow_net` for records; None in this process."""
        return None

    @abstractmethod
    def start(self) -> Session:
        """Start the agent without state of earlier runs."""

    def check(self) -> None:
        """Start and end the agent once, without an observation.

        Raises:
            OpenOutcryError: the agent cannot be started.
        """
        self.start().close()
