"""The sandboxed worker of a generated strategy, and its protocol."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from openoutcry.backtest.strategies.base import checked_weights
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Bounds
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.harness.stdio_transport import StdioSession
from openoutcry.research.strategy_faults import output_fault
from openoutcry.untrusted.terminal import readable

_MODULE = "openoutcry.research.code_worker"
# Imported first: they start threads, which the system call filter then blocks.
_IMPORTS = ("openoutcry.backtest.strategies", "openoutcry.research.source_checks")
_MAX_MESSAGE = 200
_encoded = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class WorkerLimits:
    """Resource limits of a worker.

    Args:
        start_seconds: Time to start and to construct the strategy.
        answer_seconds: Time per bar.
        run_seconds: Time per table.
        answer_bytes: Maximum length of a response.
        memory_bytes: Address space.
        print_bytes: Maximum number of bytes that a strategy may print per table.
    """

    start_seconds: float = 20.0
    answer_seconds: float = 1.0
    run_seconds: float = 120.0
    answer_bytes: int = 2**16
    memory_bytes: int = 2**30
    print_bytes: int = 2**20

    @property
    def bounds(self) -> Bounds:
        """The limits in the form of a stdio session."""
        return Bounds(
            start_seconds=self.start_seconds,
            answer_seconds=self.answer_seconds,
            end_seconds=0.2,
            answer_bytes=self.answer_bytes,
            stderr_bytes=self.print_bytes,
        )


def check_tier(tier: Tier | None) -> None:
    """Refuse generated code if this machine does not reach a sandbox tier.

    Raises:
        OpenOutcryError: `argument_invalid`: it does not; the message says why.
    """
    host = this_host()
    if tier is not None and host.tier < tier:
        why = "; ".join(f"{each.name}: {text}" for each, text in sorted(host.missing.items()) if each <= tier)
        wanted = f"generated code needs a sandbox of {tier.name}; received {host.tier.name}, because of {why}"
        raise refusal("argument_invalid", f"{wanted}; hint: `openoutcry sandbox doctor`")


@contextmanager
def start(tier: Tier | None, worker_limits: WorkerLimits) -> Iterator[SandboxedWorker]:
    """Start a worker, and end it afterwards; `tier` None runs it without a sandbox."""
    if tier is None:
        with StdioSession([sys.executable, "-m", _MODULE], agent_environment(), worker_limits.bounds, _drop) as session:
            yield SandboxedWorker(session, worker_limits, "none")
        return
    with TemporaryDirectory(prefix="openoutcry-") as folder:
        # Empty, and readable by the unprivileged user that a superuser's worker runs as.
        Path(folder).chmod(0o755)
        seconds = int(worker_limits.start_seconds + worker_limits.run_seconds) + 1
        profile = Profile(folder, memory_bytes=worker_limits.memory_bytes, cpu_seconds=seconds)
        sandbox = Sandbox.open(profile, min_tier=tier)
        launch = sandbox.module(_MODULE, imports=_IMPORTS)
        with StdioSession(launch.command, launch.environment, worker_limits.bounds, _drop) as session:
            yield SandboxedWorker(session, worker_limits, sandbox.tier.name)


class SandboxedWorker:
    """A worker process that serves one request at a time.

    Args:
        session: Its process.
        worker_limits: Its resource limits.
        isolation: Tier of its sandbox, or `none`.
    """

    def __init__(self, session: StdioSession, worker_limits: WorkerLimits, isolation: str) -> None:
        self.isolation = isolation
        self._session, self._worker_limits = session, worker_limits
        self._n_requests = 0
        self._shown_as: Callable[[str], str] = str
        self._until = monotonic() + worker_limits.start_seconds + worker_limits.run_seconds

    @property
    def is_output_cut(self) -> bool:
        """Whether the strategy printed more than its limit."""
        return self._session.is_stderr_cut

    def construct(self, source: str, params: Mapping[str, Any], shown_as: Callable[[str], str] = str) -> Any:
        """Construct the strategy and return its lookback, unchecked.

        Args:
            source: The source to run.
            params: Parameters of the strategy.
            shown_as: Translates messages of the source to the words of its author.
        """
        self._shown_as = shown_as
        return self._request({"source": source, "params": dict(params)}, "lookback")

    def window_weights(self, window: Array) -> Array:
        """Return the weights of a window."""
        return self._weights({"window": [_plain(row) for row in window]}, window)

    def next_row_weights(self, window: Array) -> Array:
        """Return the weights of a window that is one bar after the previous one.

        Only its last row is sent.
        """
        return self._weights({"row": _plain(window[-1])}, window)

    def kill(self) -> None:
        """Kill the process, from any thread; a pending request raises `agent_died`."""
        self._session.kill()

    def _weights(self, request: dict[str, Any], window: Array) -> Array:
        weights = self._request(request, "weights")
        if not isinstance(weights, list) or not all(type(each) in (int, float) for each in weights):
            raise refusal("argument_invalid", f"`weights` must be a list of numbers; received {shown(weights)}")
        try:
            array = np.array(weights, dtype=np.float64)
        except OverflowError as error:
            raise refusal("weight_not_finite", f"weights must be finite; received {shown(weights)}") from error
        return checked_weights(array, np.isfinite(window[-1]))

    def _request(self, request: dict[str, Any], name: str) -> Any:
        if monotonic() > self._until:
            most = f"{self._worker_limits.run_seconds:g} s"
            raise AgentError("agent_late", f"a strategy must complete its table within {most}; received no end of it")
        number, self._n_requests = self._n_requests, self._n_requests + 1
        line = self._session.answer(_encoded({"id": number} | request))
        if self.is_output_cut:
            raise output_fault(self._worker_limits)
        try:
            response = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise refusal("bad_json", f"a response must be JSON; received {shown(line)}") from error
        if not isinstance(response, dict) or type(response.get("id")) is not int or response["id"] != number:
            raise refusal("argument_invalid", f"a response must have the id {number}; received {shown(response)}")
        if set(response) == {"id", "error"}:
            message = self._shown_as(readable(str(response["error"])))[:_MAX_MESSAGE]
            raise refusal("argument_invalid", f"a strategy must return `{name}`; received {message}")
        if set(response) != {"id", name}:
            raise refusal("argument_invalid", f"a response must have `id` and `{name}`; received {shown(response)}")
        return response[name]


def _plain(row: Array) -> list[float | None]:
    # JSON has no NaN; numpy reads null as NaN.
    return [None if value != value else value for value in row.tolist()]


def _drop(text: str) -> None:
    """Ignore what a strategy prints."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"numbers must be finite; received {constant}")
