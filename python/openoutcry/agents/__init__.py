"""Agents: callables from an observation to a decision, and the baselines."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from openoutcry import openoutcry_py as native
from openoutcry.agents.python_worker import NoAgentError, callable_at
from openoutcry.errors import refusal

Agent: TypeAlias = "Callable[[dict[str, Any]], Mapping[str, Any] | str]"
"""A callable that is given an observation (a dict) and returns a decision (a dict, or its JSON)."""

NAMES: tuple[str, ...] = tuple(native.BASELINES)
"""Names of the baselines, in the order of tables."""


class Answer(NamedTuple):
    """An answer that never ends its run, whatever is wrong with it.

    Of a fault everything is held, and of a text that is no decision, too; the record of the run says why.

    Attributes:
        text: What came of the agent.
        fault: Slug of what was wrong, such as `agent_late`; None if nothing, though the text may be no decision.
    """

    text: str
    fault: str | None = None


class Harness(TypedDict):
    """How an agent is run that is a process of its own, as records say it.

    Attributes:
        allow_net: Whether it can reach a network.
        tier: How far it is locked in, from `T0`, a process like any other.
        transport: How it is spoken to.
    """

    allow_net: bool
    tier: Literal["T0", "T1", "T2", "T3"]
    transport: Literal["stdio", "http"]


class TextAgent(ABC):
    """An agent that reads and writes JSON itself, as one in another process does."""

    @abstractmethod
    def answer(self, observation: str) -> str | Answer:
        """Return the decision on an observation, both JSON.

        A plain text that is no decision ends the run; see `Answer`.
        """

    @property
    def harness(self) -> Harness | None:
        """How the agent is run; None inside this process."""
        return None


class Baseline:
    """A baseline agent of the core.

    Backtests run it in Rust, anew for every run. Called from Python it is one session, which `reset` begins anew.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self._core = native.Baseline(name, seed)
        self._session = self._core.session()

    @property
    def name(self) -> str:
        """Name of the baseline."""
        return self._core.name

    @property
    def seed(self) -> int:
        """Seed of its draws, which only `random` makes."""
        return self._core.seed

    def reset(self) -> None:
        """Forget what was seen."""
        self._session = self._core.session()

    def __call__(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        decision: dict[str, Any] = json.loads(self._session.decide(json.dumps(observation)))
        return decision

    def __repr__(self) -> str:
        return f"Baseline({self.name!r})"

    def __reduce__(self) -> Any:
        # A copy begins anew, as every run does.
        return Baseline, (self.name, self.seed)


def hold_cash() -> Baseline:
    """Hold nothing but cash."""
    return Baseline("hold-cash")


def buy_and_hold() -> Baseline:
    """Buy equal parts on the first bar and never trade again."""
    return Baseline("buy-and-hold")


def equal_weight() -> Baseline:
    """Bring every symbol back to an equal part on every bar."""
    return Baseline("equal-weight")


def momentum() -> Baseline:
    """Hold an equal part of each symbol that has risen over the closes shown."""
    return Baseline("momentum")


def mean_reversion() -> Baseline:
    """Hold an equal part of each symbol that has fallen over the last five bars."""
    return Baseline("mean-reversion")


def inverse_volatility() -> Baseline:
    """Weigh each symbol by one over its volatility over the closes shown."""
    return Baseline("inverse-volatility")


def random(seed: int = 0) -> Baseline:
    """Draw new long-only weights on every bar."""
    return Baseline("random", seed)


def load(name: str, seed: int = 0) -> Agent:
    """Return a baseline by name, or the callable at `module:function`.

    Raises:
        OpenOutcryError: `unknown_agent`: there is no such baseline or callable.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return Baseline(name, seed)
    if not module:
        raise refusal("unknown_agent", f"an agent must be a baseline or `module:function`; received {name!r}")
    try:
        return callable_at(module, attribute)
    except NoAgentError as error:
        raise refusal("unknown_agent", str(error)) from error
