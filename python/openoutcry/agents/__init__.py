"""Agents: callables from an observation to a decision, and the built-in baselines.

`agent_call` calls an agent from a backtest, `decision_codec` encodes its decisions, and `python_worker` runs a Python
agent as a process. Imports `errors`, `arguments`, `data` and the native module; no harness, MCP or HTTP.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from openoutcry import openoutcry_py as native
from openoutcry.agents.python_worker import NoAgentError, callable_at
from openoutcry.errors import refusal

Agent: TypeAlias = "Callable[[dict[str, Any]], Mapping[str, Any] | str]"
"""A callable that takes an observation (dict) and returns a decision (dict or JSON)."""

NAMES: tuple[str, ...] = tuple(native.BASELINES)
"""Names of the baselines."""


class Answer(NamedTuple):
    """A response of an agent that never ends the run, even if it is invalid.

    On a fault, or if the text is not a valid decision, the decision defaults to hold, and the record states the fault.

    Attributes:
        text: Output of the agent.
        fault: Slug of the fault, such as `agent_late`; None without one. The text may still be an invalid decision.
    """

    text: str
    fault: str | None = None


class Harness(TypedDict):
    """How the harness runs an external agent, as stated in records.

    Attributes:
        allow_net: Whether the agent can use the network.
        tier: Isolation of the sandbox, from `T0` (an ordinary process) to `T3`.
        transport: Protocol between harness and agent.
    """

    allow_net: bool
    tier: Literal["T0", "T1", "T2", "T3"]
    transport: Literal["stdio", "http"]


class TextAgent(ABC):
    """An agent that reads and writes JSON, such as one in another process."""

    @abstractmethod
    def answer(self, observation: str) -> str | Answer:
        """Return the decision for an observation, both JSON.

        A string that is not a valid decision ends the run. Return an `Answer` to keep the run going.
        """

    @property
    def harness(self) -> Harness | None:
        """How the harness runs the agent; None if it runs in this process."""
        return None


class Baseline:
    """A baseline agent, implemented in Rust.

    A backtest starts a new session for every run. Calls from Python share one session until `reset`.
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
        """Seed of the random numbers. Only `random` uses it."""
        return self._core.seed

    def reset(self) -> None:
        """Start a new session."""
        self._session = self._core.session()

    def __call__(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        decision: dict[str, Any] = json.loads(self._session.decide(json.dumps(observation)))
        return decision

    def __repr__(self) -> str:
        return f"Baseline({self.name!r})"

    def __reduce__(self) -> Any:
        # A copy starts a new session, as every run does.
        return Baseline, (self.name, self.seed)


def hold_cash() -> Baseline:
    """Return an agent that holds only cash."""
    return Baseline("hold-cash")


def buy_and_hold() -> Baseline:
    """Return an agent that buys equal weights on the first bar and never trades again."""
    return Baseline("buy-and-hold")


def equal_weight() -> Baseline:
    """Return an agent that rebalances to equal weights on every bar."""
    return Baseline("equal-weight")


def momentum() -> Baseline:
    """Return an agent that holds the symbols that rose over the lookback, equally."""
    return Baseline("momentum")


def mean_reversion() -> Baseline:
    """Return an agent that holds the symbols that fell over five bars, equally."""
    return Baseline("mean-reversion")


def inverse_volatility() -> Baseline:
    """Return an agent that weights symbols by inverse volatility over the lookback."""
    return Baseline("inverse-volatility")


def random(seed: int = 0) -> Baseline:
    """Return an agent that draws random long-only weights on every bar."""
    return Baseline("random", seed)


def load(name: str, seed: int = 0) -> Agent:
    """Return a baseline by name, or the callable at `module:function`.

    Raises:
        OpenOutcryError: `unknown_agent`: no such baseline or callable exists.
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
