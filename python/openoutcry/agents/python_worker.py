"""`python -m openoutcry.agents.python_worker module:function`: a Python agent as a process.

It reads one observation a line from standard input and writes one decision a line to standard output. What the agent
prints goes to standard error. It ends with its input; an agent that raises ends it with exit code 1 and its traceback.

As a file of its own, `python worker.py`, it begins in the time that Python takes: it needs nothing but the standard
library until an answer holds a number of another one.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

NOT_FOUND = 64
"""Exit code where there is no such agent: the last line of standard error says what there is instead."""

_SET_PARENT_DEATH_SIGNAL = 1
_KILL = 9


def main() -> int:
    """Answer observations until there are no more, and return the exit code."""
    observations, decisions = claim_pipes()
    die_with_parent()
    # Where a module of the caller's is looked for first, as `python -m` would; not beside this file.
    sys.path[0] = os.getcwd()  # noqa: PTH109 a text is what the path holds
    try:
        agent = _agent(sys.argv[1])
        for line in observations:
            write(decisions, _line(_text(agent(json.loads(line)))))
    except NoAgentError as error:
        print(error, file=sys.stderr)
        return NOT_FOUND
    except Exception as error:  # noqa: BLE001 whatever an agent raises is told
        _tell(error)
        return 1
    return 0


class NoAgentError(LookupError):
    """There is nothing at `module:function` that can be asked."""


def callable_at(module: str, attribute: str) -> Callable[[dict[str, Any]], Any]:
    """Return the callable at `module:function`; a class is made into an agent.

    Raises:
        NoAgentError: the module has nothing of that name that can be called.
        ModuleNotFoundError: there is no such module, or it imports one that is not there.
    """
    found = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise NoAgentError(f"`{module}` must have a callable `{attribute}`; received {found!r}")
    made: Callable[[dict[str, Any]], Any] = found() if isinstance(found, type) else found
    return made


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
    """Return whether a module that is missing is one that `module` imports in vain.

    That is its own fault, and keeps its traceback.
    """
    return error.name is None or not f"{module}.".startswith(f"{error.name}.")


def claim_pipes() -> tuple[BinaryIO, int]:
    """Take the two pipes away from whatever prints or reads by number."""
    observations, decisions = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return os.fdopen(observations, "rb"), decisions


def die_with_parent() -> None:
    """Let the kernel end this process with the one that began it."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, _KILL, 0, 0, 0)


def _text(decision: Any) -> str:
    """Return what an agent decided as JSON; a text is taken for that."""
    if isinstance(decision, str):
        return decision
    try:
        text = json.dumps(decision)
    except (TypeError, ValueError, RecursionError):
        text = "NaN"
    if "NaN" not in text and "Infinity" not in text:
        return text
    # It holds what the standard library cannot say, or must not.
    from openoutcry.agents.decision_codec import decision_text

    return decision_text(decision)


def _line(decision: str) -> bytes:
    """Return a decision as one line; JSON takes a blank for a line end.

    Raises:
        ValueError: a line end stands where JSON has none.
    """
    if "\n" in decision or "\r" in decision:
        json.loads(decision)
        decision = decision.replace("\n", " ").replace("\r", " ")
    return decision.encode("utf-8") + b"\n"


def write(descriptor: int, line: bytes) -> None:
    """Write all of a line to a pipe."""
    while line:
        line = line[os.write(descriptor, line) :]


def _tell(error: Exception) -> None:
    import traceback

    # From the agent on: how it came to be asked is nothing that its maker wants to read.
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == __file__ and trace.tb_next:
        trace = trace.tb_next
    # At once, so that those of several agents do not mix.
    sys.stderr.write("".join(traceback.format_exception(type(error), error, trace)))


if __name__ == "__main__":
    sys.exit(main())
