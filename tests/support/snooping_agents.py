"""Agents that want more than their bar, each honest in what it answers: what an attack brings would show.

What they find is what they weigh: an attack that reached anything answers another weight.
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
    """Hold half of the first symbol."""
    return _weighing(lambda: None, observation)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


def reader(observation: Observation) -> Any:
    """Read the data beside its own module."""
    return _weighing(lambda: _read("prices.csv"), observation)


def importer(observation: Observation) -> Any:
    """Let the package load the future."""

    def load() -> object:
        import openoutcry

        return openoutcry.data.load("ecb-fx")

    try:
        return _weighing(load, observation)
    except Exception:  # noqa: BLE001 whatever the package says of a file that it may not read
        return honest(observation)


MARKET: dict[str, Any] = {"name": "calm", "n_symbols": 2, "n_days": 60}


def guesser(observation: Observation) -> Any:
    """Let the engine make the markets of some seeds, and look for this one among them."""
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
    """Ignore what may be ignored, and compute for a while."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    return honest(observation)


def looker(observation: Observation) -> Any:
    """Look at its parent."""
    return _weighing(lambda: _read(f"/proc/{os.getppid()}/cmdline"), observation)


def opener(observation: Observation) -> Any:
    """Open a socket."""
    import socket

    return _weighing(lambda: socket.socket().fileno(), observation)


def forker(observation: Observation) -> Any:
    """Fork, and let the child end."""

    def fork() -> int:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return child

    return _weighing(fork, observation)


def writer(observation: Observation) -> Any:
    """Leave a note for the next run."""
    return _weighing(lambda: os.open("note", os.O_CREAT | os.O_WRONLY), observation)


def filler(observation: Observation) -> Any:
    """Take six hundred megabytes, which is more than it may."""
    return _weighing(lambda: [bytes(10**8) for _ in range(6)], observation)


def flooder(observation: Observation) -> Any:
    """Print without end to what it takes for its answers."""
    print("x" * 10**5)
    sys.stdout.flush()
    return honest(observation)


ZOO = (reader, importer, looker, opener, forker, writer, filler, spinner, flooder)
