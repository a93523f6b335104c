"""Make one attempt: `python attempt.py MODULE NAME`.

The place is a line of standard input, `marshal` in hexadecimal. What is written is that it has begun, then what came of
it as a `dict` of Python.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def host(future: list[float], account: dict[str, float], attempt: Any, place: dict[str, Any]) -> str:
    """Call an agent as a harness would in its process, with all at hand."""
    return str(attempt(place))


def make(module: str, name: str, place: dict[str, Any]) -> None:
    """Make an attempt, print what it reached or how it was stopped, and end."""
    sys.path += [each for each in place["libraries"] if each not in sys.path]
    attempt = getattr(__import__(module), name)
    # Only a harness has these; an agent in a process of its own does not.
    future, account = place.pop("future", None), place.pop("account", None)
    os.write(1, b"begun\n")
    try:
        told = {"reached": host(future, account, attempt, place)}
    except BaseException as error:  # noqa: BLE001 whatever stops it is what is asked for
        told = {"stopped": f"{type(error).__name__}: {error}"}
    os.write(1, repr(told).encode() + b"\n")
    # What an attempt has broken in this process may break its end, too.
    os._exit(0)


def main() -> None:
    """Make the attempt that the command line names."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module, name = sys.argv[1:]
    make(module, name, marshal.loads(bytes.fromhex(sys.stdin.readline())))


if __name__ == "__main__":
    main()
