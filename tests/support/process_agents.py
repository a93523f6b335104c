"""Agents for separate processes: honest ones, faulty ones, and look-ahead agents that share what they saw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Observation = dict[str, Any]
Decision = dict[str, Any]

HOLD: Decision = {"orders": []}


def hold(observation: Observation) -> Decision:
    return HOLD


def rising(observation: Observation) -> Decision:
    """Buy symbols that have risen; the decision depends on every close."""
    parts = [each for each in observation["symbols"] if each["close_history"][-1] > each["close_history"][0]]
    names = [each["symbol"] for each in parts]
    return {"orders": [{"symbol": name, "action": "buy", "target_weight": 0.9 / len(names)} for name in names]}


def written(observation: Observation) -> str:
    """Answer with multi-line JSON text."""
    return json.dumps(rising(observation), indent=1)


class Counting:
    """An agent class that states its number of calls in each decision."""

    def __init__(self) -> None:
        self.n_calls = 0

    def __call__(self, observation: Observation) -> Decision:
        self.n_calls += 1
        return {"orders": [], "reasoning": str(self.n_calls)}


def loud(observation: Observation) -> Decision:
    """Write to standard output and error by every means other than the protocol."""
    print("printed", sys.stdin.read())
    os.write(1, b"by number\x1b[2J\n")
    os.write(2, b"to stderr\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
    return HOLD


def environment(observation: Observation) -> Decision:
    """Print arguments and environment of the process."""
    seen = {"argv": sys.argv, "environ": dict(os.environ)}
    print(json.dumps(seen))
    return HOLD


def contract(observation: Observation) -> Decision:
    """State the contract version that the environment states."""
    return {"orders": [], "reasoning": os.environ.get("OPENOUTCRY_CONTRACT", "none")}


def parent(observation: Observation) -> Decision:
    """Start a child process and print its process id."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(child.pid)
    return HOLD


def remover(observation: Observation) -> Decision:
    """Remove the record in `AGENT_RECORD` while it is being written."""
    Path(os.environ["AGENT_RECORD"]).unlink(missing_ok=True)
    return HOLD


def _leave_a_fork() -> None:
    """Leave a fork in a new session that holds the agent's pipes open until the test ends."""
    until = time.monotonic() + 90.0
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < until and not Path(tempfile.gettempdir(), "over").exists():
            time.sleep(0.02)
        os._exit(0)


def forks_and_ends(observation: Observation) -> Decision:
    """Exit, while a fork holds the pipes."""
    _leave_a_fork()
    os._exit(5)


def forks_and_sleeps(observation: Observation) -> Decision:
    """Never answer, while a fork holds the pipes."""
    _leave_a_fork()
    return sleeps(observation)


def second_fails(observation: Observation) -> Decision:
    """Raise on the fifth bar in the second process that reaches it."""
    if len(LAST) == 4:
        place = sum(1 for _ in Path(tempfile.gettempdir()).glob("here-*"))
        Path(tempfile.gettempdir(), f"here-{os.getpid()}").touch()
        if place == 1:
            raise ValueError("the second")
    LAST.append(observation["date"])
    return HOLD


def raises(observation: Observation) -> Decision:
    if len(LAST) == 4:
        raise ValueError("of its own doing")
    LAST.append(observation["date"])
    return HOLD


def exits(observation: Observation) -> Decision:
    os._exit(3)


def killed(observation: Observation) -> Decision:
    os.kill(os.getpid(), 9)
    return HOLD


def sleeps(observation: Observation) -> Decision:
    print("asleep", os.getpid(), flush=True)
    time.sleep(60)
    return HOLD


def leisurely(observation: Observation) -> Decision:
    """Sleep briefly, so that a test can interrupt."""
    time.sleep(0.01)
    return rising(observation)


def lengthy(observation: Observation) -> Decision:
    return {"orders": [], "reasoning": "x" * 5000}


def no_json(observation: Observation) -> str:
    return "{buy\n"


def half_json(observation: Observation) -> str:
    return "{buy"


# Look-ahead agents: each looks up its bar in what any run has seen, and buys the best symbol until the next bar.

SEEN: dict[str, dict[str, float]] = {}
LAST: list[str] = []


def by_module(observation: Observation) -> Decision:
    """Share observations in the memory of the process."""
    if LAST:
        SEEN[LAST[-1]] = _closes(observation)
    LAST[:] = [observation["date"]]
    return _bet(SEEN, observation)


def by_file(observation: Observation) -> Decision:
    """Share observations in files, one per bar with the following closes."""
    folder = Path(tempfile.gettempdir())
    if LAST:
        (folder / f"after-{LAST[-1]}").write_text(json.dumps(_closes(observation)), encoding="utf-8")
    LAST[:] = [observation["date"]]
    after = folder / f"after-{observation['date']}"
    return _bet(
        {observation["date"]: json.loads(after.read_text(encoding="utf-8"))} if after.exists() else {}, observation
    )


def by_scout(observation: Observation) -> Decision:
    """Let one run go ahead: the others wait before they read its files."""
    scout = Path(tempfile.gettempdir(), "scout")
    try:
        scout.mkdir()
        (scout / str(os.getpid())).touch()
    except FileExistsError:
        if not (scout / str(os.getpid())).exists():
            time.sleep(0.003)
    return by_file(observation)


def _closes(observation: Observation) -> dict[str, float]:
    return {each["symbol"]: each["close_history"][-1] for each in observation["symbols"]}


def _bet(later: dict[str, dict[str, float]], observation: Observation) -> Decision:
    now = _closes(observation)
    known = later.get(observation["date"])
    if known is None:
        return HOLD
    best = max(now, key=lambda name: known[name] / now[name])
    return {"orders": [{"symbol": name, "action": "buy", "target_weight": 0.9 * (name == best)} for name in now]}
