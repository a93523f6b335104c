"""`python -m openoutcry.worker module:function`: a Python agent as a process.

It reads one observation a line from standard input and writes one decision a line to standard output. What the agent
prints goes to standard error. It ends with its input; an agent that raises ends it with exit code 1 and its traceback.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from typing import BinaryIO

from openoutcry import agents
from openoutcry.answers import decision_text
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

NOT_FOUND = 64
"""Exit code where there is no such agent: the last line of standard error says what there is instead."""

_SET_PARENT_DEATH_SIGNAL = 1


def main() -> int:
    """Answer observations until there are no more, and return the exit code."""
    observations, decisions = _claim_pipes()
    _die_with_parent()
    try:
        agent = _load(sys.argv[1])
    except OpenOutcryError as error:
        print(error, file=sys.stderr)
        return NOT_FOUND
    try:
        for line in observations:
            _write(decisions, _line(decision_text(agent(json.loads(line)))))
    except Exception as error:  # noqa: BLE001 whatever an agent raises is told
        # From the agent on; how it came to be asked is nothing that its maker wants to read.
        trace = error.__traceback__ and (error.__traceback__.tb_next or error.__traceback__)
        traceback.print_exception(type(error), error, trace)
        return 1
    return 0


def _claim_pipes() -> tuple[BinaryIO, int]:
    """Take the two pipes away from whatever prints or reads by number."""
    observations, decisions = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return os.fdopen(observations, "rb"), decisions


def _die_with_parent() -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def _load(name: str) -> agents.Agent:
    module = name.partition(":")[0]
    try:
        return agents.load(name)
    except ModuleNotFoundError as error:
        # What the module itself imports in vain is its own fault, and keeps its traceback.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f"an agent must be a baseline or `module:function`; received {name!r}, and no module {error.name!r}"
        raise refusal("unknown_agent", message) from error


def _line(decision: str) -> bytes:
    """Return a decision as one line; JSON takes a blank for a line end.

    Raises:
        OpenOutcryError: a line end stands where JSON has none.
    """
    if "\n" in decision or "\r" in decision:
        try:
            json.loads(decision)
        except ValueError as error:
            message = "a decision must be one JSON object; received text that is not JSON"
            raise refusal("bad_json", f"{message}: {error}") from error
        decision = decision.replace("\n", " ").replace("\r", " ")
    return decision.encode("utf-8") + b"\n"


def _write(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


if __name__ == "__main__":
    sys.exit(main())
