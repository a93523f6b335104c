"""The worker of a generated strategy, and the words that are exchanged with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from openoutcry.backtest.strategies.base import checked
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Bounds
from openoutcry.harness.child_environment import surroundings
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.harness.stderr_capture import written_out
from openoutcry.harness.stdio_transport import StdioSession

_MODULE = "openoutcry.research.code_worker"
# Those start threads, which the filter of system calls then closes over.
_IMPORTS = ("openoutcry.backtest.strategies", "openoutcry.research.source_checks")
_MOST_TOLD = 200
_encoded = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Allowance:
    """What a worker may take before it is given up.

    Args:
        start_seconds: Time to begin in, and to construct the strategy.
        answer_seconds: Time for the weights of a bar.
        run_seconds: Time for a table.
        answer_bytes: Longest answer.
        memory_bytes: Address space.
    """

    start_seconds: float = 20.0
    answer_seconds: float = 1.0
    run_seconds: float = 120.0
    answer_bytes: int = 2**16
    memory_bytes: int = 2**30

    @property
    def bounds(self) -> Bounds:
        """The same, as a session takes it."""
        return Bounds(
            start_seconds=self.start_seconds,
            answer_seconds=self.answer_seconds,
            end_seconds=0.2,
            answer_bytes=self.answer_bytes,
            stderr_bytes=2**14,
        )


def check_tier(tier: Tier | None) -> None:
    """Refuse generated code where this machine does not reach a tier.

    Raises:
        OpenOutcryError: `argument_invalid`: it does not; the message says why.
    """
    host = this_host()
    if tier is not None and host.tier < tier:
        why = "; ".join(f"{each.name}: {text}" for each, text in sorted(host.missing.items()) if each <= tier)
        wanted = f"generated code needs a sandbox of {tier.name}; received {host.tier.name}, for {why}"
        raise refusal("argument_invalid", f"{wanted}; hint: `openoutcry sandbox doctor`")


@contextmanager
def start(tier: Tier | None, allowance: Allowance) -> Iterator[SandboxedWorker]:
    """Start a worker in the sandbox, and end it after.

    Where `tier` is None, it is outside of the sandbox.
    """
    quiet = [].append  # type: ignore[var-annotated]
    if tier is None:
        with StdioSession([sys.executable, "-m", _MODULE], surroundings(), allowance.bounds, quiet) as session:
            yield SandboxedWorker(session, allowance, "none")
        return
    with TemporaryDirectory(prefix="openoutcry-") as folder:
        # Empty, and open to nobody, whom a superuser makes of the worker.
        Path(folder).chmod(0o755)
        seconds = int(allowance.start_seconds + allowance.run_seconds) + 1
        profile = Profile(folder, memory_bytes=allowance.memory_bytes, cpu_seconds=seconds)
        sandbox = Sandbox.open(profile, least=tier)
        launch = sandbox.module(_MODULE, imports=_IMPORTS)
        with StdioSession(launch.command, launch.environment, allowance.bounds, quiet) as session:
            yield SandboxedWorker(session, allowance, sandbox.tier.name)


class SandboxedWorker:
    """A worker that is asked, one question at a time.

    Args:
        session: Its process.
        allowance: What it may take.
        isolation: Tier of its sandbox, or `none`.
    """

    def __init__(self, session: StdioSession, allowance: Allowance, isolation: str) -> None:
        self.isolation = isolation
        self._session, self._allowance = session, allowance
        self._n_asked = 0
        self._until = monotonic() + allowance.start_seconds + allowance.run_seconds

    def make(self, source: str, params: Mapping[str, Any]) -> Any:
        """Construct the strategy, and return its lookback as the worker has it."""
        return self._ask({"source": source, "params": dict(params)}, "lookback")

    def ask_window(self, window: Array) -> Array:
        """Return the weights of a window."""
        return self._weights({"window": [_plain(row) for row in window]}, window)

    def ask_row(self, window: Array) -> Array:
        """Return the weights of the window one bar after the one asked about before.

        Only its last row is sent.
        """
        return self._weights({"row": _plain(window[-1])}, window)

    def _weights(self, question: dict[str, Any], window: Array) -> Array:
        weights = self._ask(question, "weights")
        if not isinstance(weights, list) or not all(type(each) in (int, float) for each in weights):
            raise refusal("argument_invalid", f"`weights` must be a list of numbers; received {shown(weights)}")
        try:
            array = np.array(weights, dtype=np.float64)
        except OverflowError as error:
            raise refusal("weight_not_finite", f"weights must be finite; received {shown(weights)}") from error
        return checked(array, np.isfinite(window[-1]))

    def _ask(self, question: dict[str, Any], name: str) -> Any:
        if monotonic() > self._until:
            most = f"{self._allowance.run_seconds:g} s"
            raise AgentError("agent_late", f"a strategy must make its table within {most}; received no end of it")
        number, self._n_asked = self._n_asked, self._n_asked + 1
        line = self._session.answer(_encoded({"id": number} | question))
        try:
            answer = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise refusal("bad_json", f"an answer must be JSON; received {shown(line)}") from error
        if not isinstance(answer, dict) or type(answer.get("id")) is not int or answer["id"] != number:
            raise refusal("argument_invalid", f"an answer must have the id {number}; received {shown(answer)}")
        if set(answer) == {"id", "error"}:
            told = written_out(str(answer["error"]))[:_MOST_TOLD]
            raise refusal("argument_invalid", f"a strategy must answer with `{name}`; received {told}")
        if set(answer) != {"id", name}:
            raise refusal("argument_invalid", f"an answer must have `id` and `{name}`; received {shown(answer)}")
        return answer[name]


def _plain(row: Array) -> list[float | None]:
    # A number that is none is not JSON; numpy reads null as one.
    return [None if value != value else value for value in row.tolist()]


def _refuse(constant: str) -> Any:
    raise ValueError(f"numbers must be finite; received {constant}")
