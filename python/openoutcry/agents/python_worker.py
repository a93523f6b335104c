"""Run a Python agent as a process: `python -m ...python_worker module:function`.

The process reads one observation per line from standard input and writes one decision per line to standard output. The
output of the agent goes to standard error. The process ends with its input, or with exit code 1 and a traceback if the
agent raises.

Run as a file (`python python_worker.py`), it starts as fast as Python does: it imports only the standard library until
a decision contains a number of another library.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

NOT_FOUND = 64
"""Exit code if the agent does not exist. The last line of standard error says why."""

_SET_PARENT_DEATH_SIGNAL = 1
_KILL = 9


def main() -> int:
    """Decide on observations until the input ends, and return the exit code."""
    observations, decisions = claim_pipes()
    die_with_parent()
    # Search the working directory first, as `python -m` does, not the directory of this file.
    sys.path[0] = os.getcwd()  # noqa: PTH109 `sys.path` holds strings
    try:
        agent = _agent(sys.argv[1])
        for line in observations:
            write(decisions, _line(_text(agent(json.loads(line)))))
    except NoAgentError as error:
        print(error, file=sys.stderr)
        return NOT_FOUND
    except Exception as error:  # noqa: BLE001 any exception of an agent is printed
        _print_traceback(error)
        return 1
    return 0


class NoAgentError(LookupError):
    """No callable exists at `module:function`."""


def callable_at(module: str, attribute: str) -> Callable[[dict[str, Any]], Any]:
    """Return the callable at `module:function`. A class is instantiated.

    Raises:
        NoAgentError: the module has no callable of that name.
        ModuleNotFoundError: the module, or a module that it imports, does not exist.
    """
    value = getattr(importlib.import_module(module), attribute, None)
    if not callable(value):
        raise NoAgentError(f"`{module}` must have a callable `{attribute}`; received {value!r}")
    agent: Callable[[dict[str, Any]], Any] = value() if isinstance(value, type) else value
    return agent


def _agent(name: str) -> Callable[[dict[str, Any]], Any]:
    module, _, attribute = name.partition(":")
    try:
        return callable_at(module, attribute)
    except ModuleNotFoundError as error:
        if is_missing_dependency(error, module):
            raise
        raise NoAgentError(
            f"an agent must be `module:function`; received {name!r}, and no module {error.name!r}"
        ) from error


def is_missing_dependency(error: ModuleNotFoundError, module: str) -> bool:
    """Return whether the missing module is an import of `module`, not itself.

    Such an error is a bug of the agent and keeps its traceback.
    """
    return error.name is None or not f"{module}.".startswith(f"{error.name}.")


def claim_pipes() -> tuple[BinaryIO, int]:
    """Duplicate the protocol pipes and redirect standard input and output.

    The agent can then print, and read standard input, without breaking the protocol.
    """
    observations, decisions = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return os.fdopen(observations, "rb"), decisions


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux)."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, _KILL, 0, 0, 0)


def _text(decision: Any) -> str:
    """Return a decision as JSON. A string is returned unchanged."""
    if isinstance(decision, str):
        return decision
    try:
        text = json.dumps(decision)
    except (TypeError, ValueError, RecursionError):
        text = "NaN"
    if "NaN" not in text and "Infinity" not in text:
        return text
    # The decision contains a number of another library, or one that is not finite.
    from openoutcry.agents.decision_codec import decision_text

    return decision_text(decision)


def _line(decision: str) -> bytes:
    """Return a decision as one line. Line breaks between JSON tokens become spaces.

    Raises:
        ValueError: the decision has line breaks and is not valid JSON.
    """
    if "\n" in decision or "\r" in decision:
        json.loads(decision)
        decision = decision.replace("\n", " ").replace("\r", " ")
    return decision.encode("utf-8") + b"\n"


def write(descriptor: int, line: bytes) -> None:
    """Write a complete line to a pipe."""
    while line:
        line = line[os.write(descriptor, line) :]


def _print_traceback(error: Exception) -> None:
    import traceback

    # Start the traceback at the agent: frames of this file do not help its author.
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == __file__ and trace.tb_next:
        trace = trace.tb_next
    # In one write, so that tracebacks of several agents do not interleave.
    sys.stderr.write("".join(traceback.format_exception(type(error), error, trace)))


if __name__ == "__main__":
    sys.exit(main())
