"""Run one attempt: `python run_attempt.py MODULE NAME`.

The target is a line of standard input, `marshal` in hexadecimal. The output is a line `started`, then the result as a
Python `dict`: `reached` or `stopped`.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def host(future: list[float], account: dict[str, float], attempt: Any, target: dict[str, Any]) -> str:
    """Call an attempt with future prices and the account in the caller's frame."""
    return str(attempt(target))


def run(module: str, name: str, target: dict[str, Any]) -> None:
    """Run an attempt, print what it reached or how it was stopped, and exit."""
    sys.path += [each for each in target["libraries"] if each not in sys.path]
    attempt = getattr(__import__(module), name)
    # Only an in-process harness holds these; an agent in a separate process does not.
    future, account = target.pop("future", None), target.pop("account", None)
    os.write(1, b"started\n")
    try:
        result = {"reached": host(future, account, attempt, target)}
    except BaseException as error:  # noqa: BLE001 any exception is a result
        result = {"stopped": f"{type(error).__name__}: {error}"}
    os.write(1, repr(result).encode() + b"\n")
    # An attempt may have broken the interpreter's own shutdown.
    os._exit(0)


def main() -> None:
    """Run the attempt named on the command line."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module, name = sys.argv[1:]
    run(module, name, marshal.loads(bytes.fromhex(sys.stdin.readline())))


if __name__ == "__main__":
    main()
