"""Attacks of agents in a suite: look-ahead through shared memory and files, and reading the harness process.

Each attack succeeds without the protection under test, so that a missing protection fails a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import process_agents
import pytest
from builders import count

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.agents import TextAgent
from openoutcry.harness import PythonAgent, process_privacy
from openoutcry.scenarios.scenario import ScenarioSpec
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

pytestmark = pytest.mark.once

SUPPORT = Path(__file__).parents[1] / "support"
SPEC = json.loads(ScenarioSpec("calm", n_symbols=3, n_days=290).to_json())
SUITE: dict[str, Any] = {
    "suite_version": "1.0",
    "name": "sealed",
    "edition": "1",
    "markets": [{"name": "hidden", "scenario": SPEC, "windows": [[20, 110], [110, 200], [200, 290]]}],
    "seeds": [1, 2, 3],
    # Random slippage makes runs differ: seeds without effect would count once.
    "costs": {"slippage_bps": 1.0, "slippage_jitter": 0.5},
    "draws": {"replicates": 200},
    "luck_floor": {"agents": 0},
}
# The last one uses files, too, and lets one run go ahead of the others.
PROPHETS = ("by_module", "by_file", "by_scout")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads `/proc`")


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the agents importable for workers, and give them a common temporary folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(process_agents, "SEEN", {})
    monkeypatch.setattr(process_agents, "LAST", [])


def sealed() -> tuple[Evaluation, str]:
    suite, keys = Suite.from_json(json.dumps(SUITE)).seal()
    (key,) = keys.values()
    return Evaluation(suite, keys), key


def verdict(record: oo.RunRecord, evaluation: Evaluation) -> str:
    return str(oo.score(record, suite=evaluation).scores[0].verdict)


# Memory


@pytest.mark.parametrize("name", PROPHETS)
def test_a_prophet_of_one_process_is_eligible_on_a_sealed_market(name: str) -> None:
    evaluation, _ = sealed()
    record = evaluation.run(getattr(process_agents, name), name)
    assert verdict(record, evaluation) == "eligible"


def test_fresh_processes_one_after_the_other_are_not_enough() -> None:
    evaluation, _ = sealed()
    made = []
    for place in evaluation.windows:
        for seed in evaluation.suite.seeds:
            with PythonAgent("process_agents:by_file").start() as agent:
                rules = (evaluation.suite.costs, evaluation.suite.limits)
                window = (place.start, place.end)
                made.append(oo.run_backtest(place.dataset, agent, window, *rules, seed, capture=True).record)
    assert verdict(oo.RunRecord.join("by_file", made), evaluation) == "eligible"


@pytest.mark.parametrize("name", PROPHETS[:: count(1, 2)])
def test_a_prophet_in_lockstep_never_knows_the_next_bar(name: str) -> None:
    evaluation, _ = sealed()
    record = evaluation.run(f"process_agents:{name}")
    # The decision without look-ahead knowledge, on every bar of every run.
    assert {text for run in record.decisions for text in run} == {json.dumps(process_agents.HOLD)}
    assert verdict(record, evaluation) == "not_eligible"


# The process


def memory_of(pid: int) -> list[bytes]:
    """Return the writable memory mappings of a process, which contain all data that it received."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            start, end = (int(edge, 16) for edge in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                memory.seek(start)
                found.append(memory.read(end - start))
    return found


@linux
def test_the_memory_of_an_agent_contains_neither_keys_nor_future_prices() -> None:
    evaluation, key = sealed()
    place = evaluation.windows[1]
    shown: list[str] = []
    held: list[bytes] = []
    with PythonAgent("process_agents:rising").start() as session:

        class Watched(TextAgent):
            def answer(self, observation: str) -> str:
                text = session.answer(observation)
                shown.append(observation)
                if len(shown) == 30:
                    held.extend(memory_of(session._process.pid))
                return text

        oo.run_backtest(place.dataset, Watched(), (place.start, place.end))

    def holds(needle: bytes) -> bool:
        return any(needle in each for each in held)

    def shapes(bar: int) -> list[bytes]:
        """Return representations of three bars of a symbol, and of all symbols of a bar, in memory."""
        columns = place.dataset.close[bar : bar + 3]
        text = native.canonicalize(json.dumps(columns[:, 0].tolist()))
        return [text[1:-1].encode(), columns[0].tobytes()]

    # The search finds a bar that was shown; the following bars must not be found.
    assert holds(shapes(place.start + 27)[0])
    assert json.loads(shown[29])["date"] == place.dataset.dates[place.start + 29]
    assert not any(holds(shape) for bar in range(place.start + 30, place.start + 40) for shape in shapes(bar))
    for needle in (key.encode(), bytes.fromhex(key), place.dataset.fingerprint.encode()):
        assert not holds(needle)


def test_an_agent_sees_neither_arguments_nor_environment_of_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_TOKEN", "hunter2")
    monkeypatch.setenv("MODEL_KEY", "for the agent")
    suite, keys = Suite.from_json(json.dumps({**SUITE, "seeds": [1]})).seal()
    season, secret = tmp_path / "season.json", tmp_path / "season.keys"
    season.write_text(suite.to_json(), encoding="utf-8")
    secret.write_text(json.dumps({"suite": suite.digest, "keys": keys}), encoding="utf-8")
    command = [Path(sys.executable).with_name("openoutcry"), "suite", "run", season, "--keys", secret]
    command += ["--agent", "process_agents:environment", "--env", "MODEL_KEY", "--sandbox", "none"]
    command += ["--record", tmp_path / "r.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    assert message["argv"][1:] == ["process_agents:environment"]
    assert message["environ"]["MODEL_KEY"] == "for the agent"
    assert "BROKER_TOKEN" not in message["environ"]
    assert not any(word in done.stderr for word in ("hunter2", str(secret), str(season)))


# A process of `nobody`, and a child of it that tries to read its parent.
HOLDER = """
import ctypes, os, sys
from contextlib import nullcontext
names = {}
exec(sys.argv[1], names)
if os.geteuid() == 0:
    # Root may read everything. A change of user clears the dumpable flag: set it, as in an ordinary process.
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
with names["private_process"]() if sys.argv[2] == "closed" else nullcontext(False) as is_closed:
    print(is_closed, flush=True)
    if os.fork() == 0:
        for name in ("environ", "maps", "mem"):
            try:
                open(f"/proc/{os.getppid()}/{name}", "rb").close()
                print(name, "read", flush=True)
            except PermissionError:
                print(name, "refused", flush=True)
        os._exit(0)
    os.wait()
"""


@linux
@pytest.mark.parametrize(("how", "message"), [("closed", "refused"), ("open", "read")])
def test_a_process_of_the_same_user_cannot_read_the_harness(how: str, message: str) -> None:
    source = Path(process_privacy.__file__).read_text(encoding="utf-8")
    command = [sys.executable, "-I", "-c", HOLDER, source, how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    closed, *seen = done.stdout.splitlines()
    assert closed == str(how == "closed")
    # `mem` has the same result with and without Yama restrictions on tracing.
    assert seen == [f"environ {message}", f"maps {message}", f"mem {message}"]


@linux
def test_protection_ends_after_the_last_of_several_blocks() -> None:
    dumpable: Callable[[], bool] = lambda: process_privacy._prctl()(3, 0) == 1  # type: ignore[misc] # noqa: E731
    assert dumpable()
    with process_privacy.private_process() as first:
        with process_privacy.private_process() as second:
            assert first
            assert second
        assert not dumpable()
    assert dumpable()
