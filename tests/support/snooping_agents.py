"""Agents that attack the harness and report success by their target weight.

An attack that reaches anything changes the weight of its decision, so the record shows it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Observation = dict[str, Any]
WEIGHT = 0.5


def _weighing(attack: Callable[[], object], observation: Observation) -> dict[str, Any]:
    try:
        found = attack()
    except (OSError, LookupError, MemoryError, RuntimeError):
        found = None
    weight = WEIGHT if found is None else 1.0
    first = observation["symbols"][0]["symbol"]
    return {"orders": [{"symbol": first, "action": "buy", "target_weight": weight}]}


def honest(observation: Observation) -> Any:
    """Hold half of NAV in the first symbol."""
    return _weighing(lambda: None, observation)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


def reader(observation: Observation) -> Any:
    """Read the data next to its module."""
    return _weighing(lambda: _read("prices.csv"), observation)


def importer(observation: Observation) -> Any:
    """Load the bundled data with the package."""

    def load() -> object:
        import openoutcry

        return openoutcry.data.load("ecb-fx")

    try:
        return _weighing(load, observation)
    except Exception:  # noqa: BLE001 any error of the package on an unreadable file
        return honest(observation)


MARKET: dict[str, Any] = {"name": "calm", "n_symbols": 2, "n_days": 60}


def guesser(observation: Observation) -> Any:
    """Generate the markets of some seeds and search for the current one."""
    seen = observation["symbols"][0]["close_history"][-2:]

    def guess() -> int:
        from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

        for seed in range(8):
            closes = Scenario(ScenarioSpec(**MARKET), seed).dataset().close[:, 0].tolist()
            if seen in map(list, pairwise(closes)):
                return seed
        raise LookupError("no seed makes this market")

    return _weighing(guess, observation)


def spinner(observation: Observation) -> Any:
    """Ignore signals and compute for a while."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    return honest(observation)


def looker(observation: Observation) -> Any:
    """Read the command line of its parent."""
    return _weighing(lambda: _read(f"/proc/{os.getppid()}/cmdline"), observation)


def opener(observation: Observation) -> Any:
    """Open a socket."""
    import socket

    return _weighing(lambda: socket.socket().fileno(), observation)


def forker(observation: Observation) -> Any:
    """Fork a child that exits."""

    def fork() -> int:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child

    return _weighing(fork, observation)


def writer(observation: Observation) -> Any:
    """Write a file for the next run."""
    return _weighing(lambda: os.open("note", os.O_CREAT | os.O_WRONLY), observation)


def filler(observation: Observation) -> Any:
    """Allocate 600 MB, more than the limit."""
    return _weighing(lambda: [bytes(10**8) for _ in range(6)], observation)


def flooder(observation: Observation) -> Any:
    """Print a large text to standard output."""
    print("x" * 10**5)
    sys.stdout.flush()
    return honest(observation)


ZOO = (reader, importer, looker, opener, forker, writer, filler, spinner, flooder)
