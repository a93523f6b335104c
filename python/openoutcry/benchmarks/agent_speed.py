"""Speed of agents in other processes, with and without the sandbox."""

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
"""An agent that responds at once, so that a round trip measures the overhead of the harness."""

MODULE = "openoutcry_bench_agent"
AGENT = """\
def decide(observation):
    orders = [{"symbol": entry["symbol"], "action": "hold", "target_weight": 0} for entry in observation["symbols"]]
    return {"orders": orders}
"""
N_DECISIONS, N_STARTS = 3_000, 15
N_MARKETS, N_DAYS, JOBS = 16, 2_500, 8
# Goals: microseconds, decisions per second, milliseconds, fraction of busy cores.
ROUND_TRIP, DECISIONS, START, BUSY = 30.0, 20_000.0, 50.0, 0.85
QUIET = Bounds(answer_bytes=2**22)


def measure() -> list[Row]:
    """Return the rows of round trips, start-up and parallel agents.

    Takes about half a minute.
    """
    with TemporaryDirectory() as folder, _python_path(folder):
        Path(folder, f"{MODULE}.py").write_text(AGENT, encoding="utf-8")
        Path(folder).chmod(0o755)
        sandboxes = _sandboxes(folder)
        line = _observation()
        return [*_round_trips(sandboxes, line), *_starts(sandboxes, line), _parallel(sandboxes)]


def _sandboxes(folder: str) -> dict[str, Sandbox | None]:
    """Return the available sandboxes by the name of their rows."""
    tiers = [tier for tier in Tier if Tier.T2 <= tier <= this_host().tier]
    opened = {tier.name: Sandbox.open(Profile(folder), min_tier=tier, max_tier=tier) for tier in tiers}
    return {"no sandbox": None} | opened


@contextmanager
def _python_path(folder: str) -> Iterator[None]:
    """Put the folder of the agent on the path of workers outside the sandbox."""
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
    """Return the rows of an echo and a Python agent per sandbox, measured in turns."""
    times: dict[str, list[float]] = {}
    peer: list[float] = []
    with ExitStack() as ends:
        calls: dict[str, Callable[[], object]] = {}
        for name, sandbox in sandboxes.items():
            for kind, agent in _agents(sandbox).items():
                calls[f"{kind}, {name}"] = partial(ends.enter_context(agent.start()).answer, line)
        baseline = ends.enter_context(_blocking_echo(line))
        for call in (*calls.values(), baseline):
            call()
        for _ in range(N_DECISIONS // 100):
            for name, call in calls.items():
                times.setdefault(name, []).extend(_seconds(call) for _ in range(100))
            peer += [_seconds(baseline) for _ in range(100)]
    there, rows = median(peer) * 1e6, []
    for name, taken in times.items():
        here, is_echo = median(taken) * 1e6, name.startswith("echo")
        compared = (f"{there:.3g} us", there / here, f"`{ECHO}` over blocking pipes") if is_echo else ()
        rows.append(Row(f"round trip of {name}, p50", here, ROUND_TRIP if is_echo else None, " us", *compared))
        if is_echo:
            rate = len(taken) / sum(taken)
            rows.append(Row(f"decisions per second of {name}", rate, DECISIONS, "", at_least=True))
    return rows


def _agents(sandbox: Sandbox | None) -> dict[str, Launcher]:
    echo = CommandAgent(ECHO, bounds=QUIET, sandbox=sandbox)
    return {"echo": echo, "Python agent": PythonAgent(f"{MODULE}:decide", sandbox=sandbox)}


@contextmanager
def _blocking_echo(line: str) -> Iterator[Callable[[], object]]:
    """Yield a function that sends a line to an echo over blocking pipes."""
    text = line.encode() + b"\n"
    with subprocess.Popen([ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None, "stdin and stdout must be pipes"
        assert process.stdout is not None, "stdin and stdout must be pipes"
        to, back = process.stdin.fileno(), process.stdout.fileno()

        def call() -> bytes:
            os.write(to, text)
            received = b""
            while not received.endswith(b"\n"):
                received += os.read(back, 2**16)
            return received

        yield call
        process.stdin.close()


def _starts(sandboxes: dict[str, Sandbox | None], line: str) -> list[Row]:
    """Return the rows of the time from start to first decision."""
    rows = []
    for name, sandbox in sandboxes.items():
        for kind, agent in _agents(sandbox).items():
            taken = [_seconds(partial(_first_decision, agent, line)) for _ in range(N_STARTS)]
            rows.append(Row(f"first decision of {kind}, {name}, p50", median(taken) * 1e3, START, " ms"))
    return rows


def _first_decision(agent: Launcher, line: str) -> None:
    with agent.start() as session:
        session.answer(line)
        session.kill()


def _parallel(sandboxes: dict[str, Sandbox | None]) -> Row:
    """Return the row of CPU utilization while agents run markets in parallel."""
    spec = json.loads(ScenarioSpec("calm", n_symbols=5, n_days=N_DAYS).to_json())
    markets = [{"name": f"m{at}", "scenario": spec, "windows": [[20, N_DAYS]]} for at in range(N_MARKETS)]
    fields = {"suite_version": "1.0", "name": "bench", "edition": "1", "markets": markets, "seeds": [0]}
    suite, keys = Suite.from_json(json.dumps(fields)).seal()
    evaluation = Evaluation(suite, keys)
    name, sandbox = list(sandboxes.items())[-1]
    before = _busy_and_total()
    evaluation.run(PythonAgent(f"{MODULE}:decide", sandbox=sandbox), jobs=JOBS)
    busy, total = (now - then for now, then in zip(_busy_and_total(), before, strict=True))
    what = f"busy cores, {JOBS} parallel agents on {N_MARKETS} markets, {name}"
    return Row(what, 100.0 * busy / total, 100.0 * BUSY, " %", at_least=True)


def _busy_and_total() -> tuple[float, float]:
    """Return busy and total CPU time of the machine.

    Without `/proc/stat`, busy time is that of this process and its finished children.
    """
    stat = Path("/proc/stat")
    if stat.exists():
        ticks = [float(word) for word in stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        # Fields 3 and 4 are idle time and time waiting for I/O.
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    return sum(os.times()[:4]), time.perf_counter() * (os.cpu_count() or 1)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
