"""Resumed evaluations: logged decisions stand, and the record equals that of an uninterrupted evaluation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import process_agents
import pytest

import openoutcry as oo
from openoutcry.agents import Answer
from openoutcry.harness import PythonAgent
from openoutcry.harness.agent_session import Launcher, Session
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord
from openoutcry.scenarios.scenario import ScenarioSpec
from openoutcry.scoring.evaluation_journal import Journal, journal_of
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

pytestmark = pytest.mark.once

SUPPORT = Path(__file__).parents[1] / "support"
COMMAND = Path(sys.executable).with_name("openoutcry")
SPEC = json.loads(ScenarioSpec("calm", n_symbols=3, n_days=60).to_json())
FX = {"name": "ecb-fx", "fingerprint": oo.data.load("ecb-fx").fingerprint, "windows": [["2020-01-01", "2020-02-01"]]}
ABOUT = {"agent": "a", "in_sample_trials": 2}


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def suite_of(n_markets: int) -> Suite:
    hidden = [{"name": f"m{at}", "scenario": SPEC, "windows": [[20, 32], [32, 44]]} for at in range(n_markets)]
    fields = {"suite_version": "1.0", "name": "small", "edition": "1", "markets": [FX, *hidden], "seeds": [4, 1]}
    return Suite.from_json(json.dumps(fields | {"costs": {"slippage_jitter": 1.0}}))


@cache
def evaluation() -> Evaluation:
    suite, keys = suite_of(3).seal()
    return Evaluation(suite, keys)


class Cut(Exception):  # noqa: N818 raised by the test, not an error of the code
    """Interrupts an evaluation."""


class Cutting(Launcher):
    """Launches agents that hold risen symbols, and interrupts after a total number of decisions."""

    def __init__(self, n_answers: int, change: str = "") -> None:
        self.left = n_answers
        self.change = change
        self.n_begun = 0
        self.lock = threading.Lock()

    @property
    def name(self) -> str:
        return "rising"

    def start(self) -> Session:
        self.n_begun += 1
        return CuttingSession(self)


class CuttingSession(Session):
    def __init__(self, of: Cutting) -> None:
        self.of = of
        self.seen: list[str] = []

    def answer(self, observation: str) -> Answer:
        with self.of.lock:
            if self.of.left == 0:
                raise Cut
            self.of.left -= 1
        self.seen.append(json.loads(observation)["date"])
        decision = process_agents.rising(json.loads(observation))
        # Decisions depend on the number of observations, so a missing repeated observation would change them.
        decision |= {"reasoning": f"{len(self.seen)} bars{self.of.change}"}
        return Answer(json.dumps(decision, ensure_ascii=False))

    def finish(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


@cache
def whole() -> RunRecord:
    """Return the record of an uninterrupted evaluation."""
    return evaluation().run(Cutting(10_000))


@pytest.mark.parametrize("n_answers", [0, 1, 5, 44, 63, 100])
def test_a_resumed_evaluation_gives_the_same_record(tmp_path: Path, n_answers: int) -> None:
    record = tmp_path / "r.json"
    with pytest.raises(Cut):
        evaluation().run(Cutting(n_answers), record=record)
    assert not record.exists()
    done: list[int] = []
    agent = Cutting(10_000)
    made = evaluation().run(agent, record=record, resume=True, on_run=lambda: done.append(1))
    assert made == whole() == RunRecord.load(record)
    assert not journal_of(record).exists()
    assert len(done) == evaluation().n_runs
    # Completed runs are not rerun.
    assert agent.n_begun <= evaluation().n_runs - 2 * (n_answers >= 63)


def test_logged_decisions_stand_even_if_the_agent_would_now_decide_differently(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    with pytest.raises(Cut):
        evaluation().run(Cutting(30), record=record)
    made = evaluation().run(Cutting(10_000, ", and what comes"), record=record, resume=True)
    n_old = sum("what comes" not in text for run in made.decisions for text in run)
    assert n_old == 30
    for run in made.decisions:
        changed = ["what comes" in text for text in run]
        assert changed == sorted(changed)
    assert oo.replay(made, evaluation().markets(), *evaluation().rules()).verified


def test_logged_faults_stand(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    launcher = PythonAgent("process_agents:raises", show=lambda line: None)
    faults: list[int] = []

    def cut(fault: object) -> None:
        faults.append(1)
        if len(faults) == 3:
            raise Cut

    with pytest.raises(Cut):
        evaluation().run(launcher, record=record, on_fault=cut)
    made = evaluation().run("process_agents:hold", "process_agents:raises", record=record, resume=True)
    first, second, *later = made.faults
    for run in (first, second):
        assert run in ({4: "agent_died"}, {4: "agent_died", 9: "agent_died"})
    assert later == [{}] * len(later)


@pytest.mark.parametrize("truncated", [b"", b'{"cash":1,"decis', b"\xff\xfe"])
def test_a_truncated_line_is_decided_again(tmp_path: Path, truncated: bytes) -> None:
    record = tmp_path / "r.json"
    with pytest.raises(Cut):
        evaluation().run(Cutting(30), record=record)
    for part in journal_of(record).glob("*.jsonl"):
        if b'"digest"' not in part.read_bytes().splitlines()[-1]:
            with part.open("ab") as file:
                file.write(truncated)
    assert evaluation().run(Cutting(10_000), record=record, resume=True) == whole()


def cut() -> None:
    raise Cut


def test_a_different_evaluation_cannot_resume_a_journal(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    with pytest.raises(Cut):
        evaluation().run(Cutting(5), record=record)
    with pytest.raises(oo.OpenOutcryError, match="hint: resume it, or remove it"):
        evaluation().run(Cutting(5), record=record)
    with pytest.raises(oo.OpenOutcryError, match="must keep its `agent`, 'rising'; received 'falling'"):
        evaluation().run(Cutting(5), "falling", record=record, resume=True)
    with pytest.raises(oo.OpenOutcryError, match="must keep its `in_sample_trials`, 0; received 7"):
        evaluation().run(Cutting(5), record=record, in_sample_trials=7, resume=True)
    drawn = tmp_path / "drawn.json"
    with pytest.raises(Cut):
        evaluation().run(oo.agents.random(3), record=drawn, on_run=cut)
    with pytest.raises(oo.OpenOutcryError, match="must keep its `agent_seed`, 3; received 4"):
        evaluation().run(oo.agents.random(4), record=drawn, resume=True)
    suite, keys = suite_of(1).seal()
    with pytest.raises(oo.OpenOutcryError, match="must keep its `suite`, "):
        Evaluation(suite, keys).run(Cutting(5), record=record, resume=True)


def test_a_journal_is_locked_and_must_exist_to_be_resumed(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", ABOUT) as journal:
        with pytest.raises(oo.OpenOutcryError, match=" holds"):
            Journal(tmp_path / "j", ABOUT, resume=True)
        journal.part(0)
    with Journal(tmp_path / "j", ABOUT, resume=True) as journal:
        journal.remove()
    with pytest.raises(oo.OpenOutcryError, match="is required to resume it; received"):
        Journal(tmp_path / "j", ABOUT, resume=True)
    assert not (tmp_path / "j").exists()


def test_a_resumed_run_refuses_lines_that_differ_from_the_logged_ones(tmp_path: Path) -> None:
    lines = evaluation().run("momentum").runs()[0]._core.to_lines().splitlines(keepends=True)
    with Journal(tmp_path / "j", ABOUT) as journal:
        part = journal.part(0)
        for line in lines[1:4]:
            part.write_line(line)
        part.close()
    with Journal(tmp_path / "j", ABOUT, resume=True) as journal:
        part = journal.part(0)
    assert len(part.answers) == 2
    part.write_line(lines[1])
    with pytest.raises(oo.OpenOutcryError, match="a resumed run must repeat its logged line"):
        part.write_line(lines[3])
    part.close()


def test_baselines_and_callables_resume_too(tmp_path: Path) -> None:
    for agent in ("momentum", process_agents.rising):
        record = tmp_path / "r.json"
        n_runs = 0

        def on_run() -> None:
            nonlocal n_runs
            n_runs += 1
            if n_runs == 5:
                raise Cut

        with pytest.raises(Cut):
            evaluation().run(agent, record=record, on_run=on_run)
        made = evaluation().run(agent, record=record, resume=True)
        assert made == evaluation().run(agent)
        record.unlink()


def test_a_decision_may_contain_unicode_line_separators(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    ends = "\x85\u2028\u2029"
    with pytest.raises(Cut):
        evaluation().run(Cutting(30, ends), f"a{ends}b", record=record)
    made = evaluation().run(Cutting(10_000, ends), f"a{ends}b", record=record, resume=True)
    assert made == evaluation().run(Cutting(10_000, ends), f"a{ends}b")
    with RecordWriter(tmp_path / "r.jsonl", f"a{ends}b") as writer:
        writer.add(made)
    assert RunRecord.load(tmp_path / "r.jsonl") == made


@pytest.mark.parametrize("gone", ["agent_given_up", "agent_lost"])
def test_an_agent_given_up_stays_given_up_after_a_resume(tmp_path: Path, gone: str) -> None:
    record = tmp_path / "r.json"
    agent = Cutting(30)
    asked = agent.start

    class Gone(CuttingSession):
        """Is given up at its third bar."""

        def answer(self, observation: str) -> Answer:
            answer = super().answer(observation)
            return answer if len(self.seen) < 3 else Answer("", gone)

    agent.start = lambda: Gone(agent)  # type: ignore[method-assign]
    with pytest.raises(Cut):
        evaluation().run(agent, record=record)
    agent.start, agent.left = asked, 10_000  # type: ignore[method-assign]
    made = evaluation().run(agent, record=record, resume=True)
    for faults, decisions in zip(made.faults[:2], made.decisions, strict=False):
        assert faults == dict.fromkeys(range(2, len(decisions)), gone)


@pytest.mark.parametrize("truncated", ["", '{"suite": "0', "[]"])
def test_a_truncated_description_of_an_evaluation_is_refused(tmp_path: Path, truncated: str) -> None:
    with Journal(tmp_path / "j", ABOUT):
        assert sorted(path.name for path in (tmp_path / "j").iterdir()) == ["evaluation.json", "lock"]
    (tmp_path / "j" / "evaluation.json").write_text(truncated, encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match=r"must have an intact `evaluation\.json`; received .* is truncated"):
        Journal(tmp_path / "j", ABOUT, resume=True)


# Parallel markets


def test_parallel_jobs_give_the_same_bytes_and_run_only_sealed_markets_concurrently() -> None:
    made = evaluation().run(Cutting(10_000), jobs=3)
    assert made == whole()
    gate = threading.Barrier(3, timeout=20.0)
    waited: list[int] = []

    class Meeting(Cutting):
        """Waits once for agents of two other markets."""

        def start(self) -> Session:
            session = super().start()
            assert isinstance(session, CuttingSession)
            answer = session.answer

            def meet(observation: str) -> Answer:
                if len(waited) < 3 and not session.seen and threading.current_thread() not in met:
                    met.add(threading.current_thread())
                    if json.loads(observation)["date"] not in dates:
                        return answer(observation)
                    with lock:
                        first = len(waited) < 3
                        waited.append(1)
                    if first:
                        gate.wait()
                return answer(observation)

            session.answer = meet  # type: ignore[method-assign]
            return session

    met: set[threading.Thread] = set()
    lock = threading.Lock()
    hidden = [place for place in evaluation().windows if place.sealed]
    dates = {place.dataset.dates[20] for place in hidden}
    # Three agents on three markets wait for each other; sequential runs would deadlock.
    assert evaluation().run(Meeting(10_000), jobs=4) == whole()
    assert len(waited) >= 3


def test_real_markets_never_run_concurrently() -> None:
    fields = json.loads(suite_of(1).to_json())
    other = oo.data.load("ecb-fx", ["USD", "JPY"])
    fields["markets"].append(
        FX | {"name": "two", "fingerprint": other.fingerprint, "windows": [["2019-01-01", "2019-03-01"]]}
    )
    suite, keys = Suite.from_json(json.dumps(fields)).seal()
    mixed = Evaluation(suite, keys, [other])
    shown: list[str] = []

    class Watching(Cutting):
        """Reports the days of real markets that it observes."""

        def start(self) -> Session:
            session = super().start()
            answer = session.answer

            def watched(observation: str) -> str | Answer:
                date = json.loads(observation)["date"]
                if date in days:
                    time.sleep(0.002)
                    shown.append("first" if date >= "2020" else "second")
                return answer(observation)

            session.answer = watched  # type: ignore[method-assign]
            return session

    days = {day for place in mixed.windows if not place.sealed for day in place.dataset.dates[place.start : place.end]}
    made = mixed.run(Watching(10_000), jobs=4)
    assert shown == sorted(shown)
    assert made == mixed.run(Cutting(10_000))


def test_an_error_in_one_market_stops_the_others() -> None:
    with pytest.raises(Cut):
        evaluation().run(Cutting(40), jobs=4)
    with pytest.raises(oo.OpenOutcryError, match="`jobs`"):
        evaluation().run("momentum", jobs=0)


# The command


def within(seconds: float, what: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not what():
        time.sleep(0.005)
    return what()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_command_resumes(tmp_path: Path, how: signal.Signals) -> None:
    suite, keys = suite_of(2).seal()
    (tmp_path / "s.json").write_text(suite.to_json(), encoding="utf-8")
    (tmp_path / "s.keys").write_text(json.dumps({"suite": suite.digest, "keys": keys}), encoding="utf-8")
    base: list[Any] = [COMMAND, "suite", "run", tmp_path / "s.json", "--keys", tmp_path / "s.keys", "--jobs", "2"]
    base += ["--agent", "process_agents:leisurely", "--name", "x"]
    record = tmp_path / "r.jsonl.zst"
    with subprocess.Popen([*base, "--record", record], stderr=subprocess.PIPE, text=True) as running:
        kept = journal_of(record)
        assert within(60.0, lambda: kept.exists() and len(list(kept.glob("*.jsonl"))) >= 3)
        running.send_signal(how)
        running.wait(20.0)
    assert not record.exists()
    done = subprocess.run([*base, "--record", record], capture_output=True, text=True, check=False)
    assert (done.returncode, "`--resume` continues it" in done.stderr) == (2, True), done.stderr
    subprocess.run([*base, "--record", record, "--resume"], check=True, capture_output=True)
    subprocess.run([*base, "--record", tmp_path / "whole.json"], check=True, capture_output=True)
    assert RunRecord.load(record) == RunRecord.load(tmp_path / "whole.json")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".parts") == []
