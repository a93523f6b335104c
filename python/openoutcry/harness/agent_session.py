"""How agents are begun and asked, whatever they run on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import isfinite
from types import TracebackType
from typing import TypeVar

from openoutcry.agents import Harness, TextAgent
from openoutcry.errors import refusal

Own = TypeVar("Own", bound="Session")


@dataclass(frozen=True)
class Bounds:
    """What an agent may take before it is given up.

    Args:
        start_seconds: Time to begin in, on top of that for the first answer.
        answer_seconds: Time for each answer.
        end_seconds: Time to end in, after its last answer; then it is killed.
        answer_bytes: Longest answer.
        run_bytes: All answers of a run together, which its record keeps; after that the agent is asked no more.
        stderr_bytes: Bytes of its standard error that are passed on in a run; what follows is dropped.
        faults_in_a_row: Faults one after the other, after which it is asked no more.
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
    """An agent for the time of one run. Use it in a `with` block, which ends it."""

    outlives_faults = False
    """Whether it can be asked again after a fault; else what is left of it answers another bar."""

    def go_on_from(self, before: Session) -> None:
        """Take over what is left of the bounds of the run, after a fault."""

    @abstractmethod
    def finish(self) -> None:
        """Tell the agent that the run is over, and do not wait for it."""

    @abstractmethod
    def kill(self) -> None:
        """End the agent at once, from any thread; to who waits for it, it has died."""

    @abstractmethod
    def close(self) -> None:
        """End the agent, in time or by force, and free all that it held."""

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Launcher(ABC):
    """An agent that is begun anew for every run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the agent is called."""

    @property
    def bounds(self) -> Bounds:
        """What it may take."""
        return Bounds()

    @property
    def harness(self) -> Harness | None:
        """What records say of how it is asked: `transport`, `tier` and `allow_net`.

        None for one in this process.
        """
        return None

    @abstractmethod
    def begin(self) -> Session:
        """Begin the agent, which knows nothing of runs before."""

    def check(self) -> None:
        """Begin the agent once and ask it nothing.

        Raises:
            OpenOutcryError: it cannot be begun.
        """
        self.begin().close()
