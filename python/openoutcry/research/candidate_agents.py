"""Candidates of research as strategies and agents; code runs in the sandbox only."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack

from openoutcry.agents import Harness
from openoutcry.agents.decision_codec import decision_text
from openoutcry.backtest.strategies import Strategy, from_json
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.backtest.strategies.observing_agent import ObservingAgent
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Bounds, Launcher, Session
from openoutcry.research.code_loader import CodeStrategy, load_strategy_from_code
from openoutcry.research.sandboxed_worker import WorkerLimits

# A decision has the time that research gives it; runs of a suite advance in lockstep and may take hours.
_LIMITS = WorkerLimits(run_seconds=86_400.0)


def load_candidate(
    candidate: str | os.PathLike[str] | CandidateFile, *, allow_code: bool = False, unsafe_no_isolation: bool = False
) -> Strategy:
    """Return the strategy of a candidate, for `run_backtest`.

    Args:
        candidate: The file, or its path.
        allow_code: Allow a candidate that is code. It runs in a worker in the sandbox, tier T2 or higher.
        unsafe_no_isolation: Run code without a sandbox, with your rights.

    Raises:
        OpenOutcryError: `unknown_agent`: there is no such file. `argument_invalid`: it is no candidate, it is code
            without `allow_code`, or this machine does not reach the tier.
        AgentError: the worker died, timed out, or sent an invalid response.
    """
    found = candidate if isinstance(candidate, CandidateFile) else CandidateFile.read(candidate)
    if found.source is None:
        return from_json(found.content)
    if not allow_code:
        wanted = "a candidate that is code needs `allow_code=True`, on the command line `--allow-code-gen`"
        raise refusal("argument_invalid", f"{wanted}; received {found.content['strategy']!r} without it")
    strategy = load_strategy_from_code(
        found.source,
        found.content["params"],
        unsafe_no_isolation=unsafe_no_isolation,
        worker_limits=_LIMITS,
        # Research accepted it, perhaps under earlier budgets.
        earlier_gates=True,
    )
    strategy.candidate_file = found
    return strategy


class CodeCandidate(Launcher):
    """A candidate that is code, as an agent: a new worker in the sandbox for each run.

    Args:
        strategy: The loaded strategy.
        name: The name of the agent.
        symbols: All symbols of the market, in market order; without them, those observed so far.
    """

    def __init__(self, strategy: CodeStrategy, name: str, symbols: tuple[str, ...] = ()) -> None:
        self._strategy = strategy
        self._name = name
        self._symbols = symbols

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self._name

    @property
    def bounds(self) -> Bounds:
        """Limits of time and size."""
        return _LIMITS.bounds

    @property
    def harness(self) -> Harness:
        """Transport, tier and network access, as records state them."""
        if self._strategy.isolation == "none":
            return {"transport": "stdio", "tier": "T0", "allow_net": True}
        return {"transport": "stdio", "tier": "T3" if self._strategy.isolation == "T3" else "T2", "allow_net": False}

    def start(self) -> CodeSession:
        """Start a worker for one run."""
        return CodeSession(self._strategy, self._name, self._symbols)


class CodeSession(Session):
    """A worker with a strategy, for one run."""

    def __init__(self, strategy: CodeStrategy, name: str, symbols: tuple[str, ...]) -> None:
        self._stack = ExitStack()
        self._worker = self._stack.enter_context(strategy.open_worker())
        self._agent = ObservingAgent(self._worker.window_weights, strategy.lookback, name, symbols)

    def answer(self, observation: str) -> str:
        """Return the decision of the strategy.

        Raises:
            AgentError: the worker died, timed out, or sent no valid weights; or the observation is invalid.
        """
        try:
            return decision_text(self._agent(json.loads(observation)))
        except AgentError:
            raise
        except Exception as error:
            message = f"a strategy must answer with valid weights; received {type(error).__name__}: {error}"
            raise AgentError("agent_died", message) from error

    def finish(self) -> None:
        """Do nothing: the worker waits for requests."""

    def kill(self) -> None:
        """Kill the worker, from any thread."""
        self._worker.kill()

    def close(self) -> None:
        """End the worker."""
        self._stack.close()
