"""How fast agents in processes of their own are asked, in the sandbox and out of it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from openoutcry.benchmarks.engine_speed import Row
from openoutcry.data import load
from openoutcry.harness import Bounds, CommandAgent, Launcher, PythonAgent
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.scenarios.scenario import ScenarioSpec
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

ECHO = "cat"
"""An agent that answers at once: what a round trip takes is what we take."""

MODULE = "openoutcry_bench_agent"
AGENT = """\
def decide(observation):
    held = [{"symbol": each["symbol"], "action": "hold", "target_weight": 0} for each in observation["symbols"]]
    return {"orders": held}
"""
N_ANSWERS, N_BEGINS = 3_000, 15
N_MARKETS, N_DAYS, JOBS = 16, 2_500, 8
ROUND_TRIP, DECISIONS, BEGINNING, BUSY = 30.0, 20_000.0, 50.0, 0.85
QUIET = Bounds(answer_bytes=2**22)


def measure() -> list[Row]:
    """Return the rows of round trips, of beginnings and of many agents at a time.

    Takes about half a minute.
    """
    with TemporaryDirectory() as folder, _python_path(folder):
        Path(folder, f"{MODULE}.py").write_text(AGENT, encoding="utf-8")
        Path(folder).chmod(0o755)
        sandboxes = _sandboxes(folder)
        line = _observation()
        return [*_round_trips(sandboxes, line), *_beginnings(sandboxes, line), _many(sandboxes)]


def _sandboxes(folder: str) -> dict[str, Sandbox | None]:
    """Return the sandboxes of this machine, by what rows call them."""
    tiers = [tier for tier in Tier if Tier.T2 <= tier <= this_host().tier]
    return {"bare": None} | {tier.name: Sandbox.open(Profile(folder), least=tier, most=tier) for tier in tiers}


@contextmanager
def _python_path(folder: str) -> Iterator[None]:
    """Let workers outside the sandbox find the agent."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, before)))
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _observation() -> str:
    """Return an observation of ten currencies, about 4 kB."""
    closes = load("ecb-fx").close[-20:]
    symbols = [
        {"close_history": [float(close) for close in column], "symbol": f"S{at}"} for at, column in enumerate(closes.T)
    ]
    return json.dumps({"cash": 1, "date": "2026-01-01", "portfolio": [], "symbols": symbols}, separators=(",", ":"))


def _round_trips(sandboxes: dict[str, Sandbox | None], line: str) -> list[Row]:
    """Return the rows of an echo and of a Python agent in each sandbox; they take turns."""
    times: dict[str, list[float]] = {}
    peer: list[float] = []
    with ExitStack() as ends:
        asked: dict[str, Callable[[], object]] = {}
        for name, sandbox in sandboxes.items():
            for kind, agent in _agents(sandbox).items():
                asked[f"{kind}, {name}"] = partial(ends.enter_context(agent.begin()).answer, line)
        plain = ends.enter_context(_plain(line))
        for ask in (*asked.values(), plain):
            ask()
        for _ in range(N_ANSWERS // 100):
            for name, ask in asked.items():
                times.setdefault(name, []).extend(_seconds(ask) for _ in range(100))
            peer += [_seconds(plain) for _ in range(100)]
    there, rows = median(peer) * 1e6, []
    for name, taken in times.items():
        here, is_echo = median(taken) * 1e6, name.startswith("echo")
        told = (f"{there:.3g} us", there / here, f"`{ECHO}` over blocking pipes") if is_echo else ()
        rows.append(Row(f"round trip of {name}, p50", here, ROUND_TRIP if is_echo else None, " us", *told))
        if is_echo:
            rate = len(taken) / sum(taken)
            rows.append(Row(f"decisions a second of {name}", rate, DECISIONS, "", at_least=True))
    return rows


def _agents(sandbox: Sandbox | None) -> dict[str, Launcher]:
    echo = CommandAgent(ECHO, bounds=QUIET, sandbox=sandbox)
    return {"echo": echo, "Python agent": PythonAgent(f"{MODULE}:decide", sandbox=sandbox)}


@contextmanager
def _plain(line: str) -> Iterator[Callable[[], object]]:
    """Yield what asks an echo over pipes that block, with nothing else in between."""
    text = line.encode() + b"\n"
    with subprocess.Popen([ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None, "a pipe was asked for"
        assert process.stdout is not None, "a pipe was asked for"
        to, back = process.stdin.fileno(), process.stdout.fileno()

        def ask() -> bytes:
            os.write(to, text)
            received = b""
            while not received.endswith(b"\n"):
                received += os.read(back, 2**16)
            return received

        yield ask
        process.stdin.close()


def _beginnings(sandboxes: dict[str, Sandbox | None], line: str) -> list[Row]:
    """Return the rows of how long it is from nothing to the first answer."""
    rows = []
    for name, sandbox in sandboxes.items():
        for kind, agent in _agents(sandbox).items():
            taken = [_seconds(partial(_first_answer, agent, line)) for _ in range(N_BEGINS)]
            rows.append(Row(f"first answer of {kind}, {name}, p50", median(taken) * 1e3, BEGINNING, " ms"))
    return rows


def _first_answer(agent: Launcher, line: str) -> None:
    with agent.begin() as session:
        session.answer(line)
        session.kill()


def _many(sandboxes: dict[str, Sandbox | None]) -> Row:
    """Return how busy the cores are when agents run markets at the same time."""
    spec = json.loads(ScenarioSpec("calm", n_symbols=5, n_days=N_DAYS).to_json())
    markets = [{"name": f"m{at}", "scenario": spec, "windows": [[20, N_DAYS]]} for at in range(N_MARKETS)]
    fields = {"suite_version": "1.0", "name": "bench", "edition": "1", "markets": markets, "seeds": [0]}
    suite, keys = Suite.from_json(json.dumps(fields)).seal()
    evaluation = Evaluation(suite, keys)
    name, sandbox = list(sandboxes.items())[-1]
    before = _busy_and_all()
    evaluation.run(PythonAgent(f"{MODULE}:decide", sandbox=sandbox), jobs=JOBS)
    busy, all_of_it = (now - then for now, then in zip(_busy_and_all(), before, strict=True))
    what = f"busy cores, {JOBS} agents at a time on {N_MARKETS} markets, {name}"
    return Row(what, 100.0 * busy / all_of_it, 100.0 * BUSY, " %", at_least=True)


def _busy_and_all() -> tuple[float, float]:
    """Return how much time the cores have been busy, and in all.

    Of this process and those that it has reaped, where the system does not say it of the machine.
    """
    stat = Path("/proc/stat")
    if stat.exists():
        ticks = [float(each) for each in stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        # What is idle, and what waits for a disk.
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    return sum(os.times()[:4]), time.perf_counter() * (os.cpu_count() or 1)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
