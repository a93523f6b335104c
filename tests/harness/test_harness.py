"""Agents in separate processes: identical records, faults, and cleanup."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import process_agents
import pytest
from builders import of_template

import openoutcry as oo
from openoutcry.agents import TextAgent
from openoutcry.harness import AgentError, Bounds, PythonAgent
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.stdio_transport import StdioSession
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

pytestmark = pytest.mark.once

SUPPORT = Path(__file__).parents[1] / "support"
ERRORS = json.loads((Path(__file__).parents[2] / "contract/errors.json").read_text(encoding="utf-8"))
TEMPLATES = {error["slug"]: error["message"] for error in ERRORS["errors"]}
COMMAND = Path(sys.executable).with_name("openoutcry")
SUITE: dict[str, Any] = {
    "suite_version": "1.0",
    "name": "small",
    "edition": "1",
    "markets": [
        {
            "name": "ecb-fx",
            "fingerprint": oo.data.load("ecb-fx").fingerprint,
            "windows": [["2020-01-01", "2020-02-01"], ["2020-02-01", "2020-03-01"]],
        },
    ],
    "seeds": [4, 1],
    "costs": {"slippage_jitter": 1.0},
}
MARKET = oo.Dataset.synthetic(2, 60, 1)
QUICK = Bounds(start_seconds=30.0, answer_seconds=0.3, end_seconds=0.3, answer_bytes=1000, stderr_bytes=1000)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads `/proc`")


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the agents importable for workers, and give them a common temporary folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@cache
def small() -> Evaluation:
    return Evaluation(Suite.from_json(json.dumps(SUITE)))


def ask(session: TextAgent, n_bars: int = 6) -> oo.Run:
    """Run an agent over a few bars."""
    return oo.run_backtest(MARKET, session, (19, 19 + n_bars), capture=True)


def program(text: str, bounds: Bounds = QUICK, **more: Any) -> StdioSession:
    """Return a session of a Python program that is not the package's worker."""
    return StdioSession([sys.executable, "-u", "-c", text], agent_environment(), bounds, **more)


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def within(seconds: float, what: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not what():
        time.sleep(0.01)
    return what()


# Identical results


def test_a_record_equals_that_of_the_agent_in_process(tmp_path: Path) -> None:
    made, message = [], []
    for kind, agent in (("ours", process_agents.rising), ("theirs", "process_agents:rising")):
        on_run, record = partial(message.append, kind), tmp_path / f"{kind}.json"
        made.append(small().run(agent, "rising", in_sample_trials=2, record=record, on_run=on_run))
        assert RunRecord.load(record) == made[-1]
    assert message == ["ours"] * 4 + ["theirs"] * 4
    # Observations and decisions are identical; only the harness description differs.
    assert made[0].run_digests == made[1].run_digests
    assert made[0].decisions == made[1].decisions
    assert made[0].digest != made[1].digest
    assert oo.replay(made[1], small().markets(), *small().rules()).verified
    assert any("buy" in text for text in made[0].decisions[0])


def test_every_run_starts_a_new_process() -> None:
    record = small().run("process_agents:Counting")
    for texts in record.decisions:
        assert [json.loads(text)["reasoning"] for text in texts] == [str(k + 1) for k in range(len(texts))]
    assert record.agent_id == "process_agents:Counting"


def test_a_multi_line_decision_is_sent_as_one_line() -> None:
    with PythonAgent("process_agents:written").start() as session:
        (texts,) = ask(session).record.decisions
    (plain,) = ask_ours(process_agents.rising)
    assert [json.loads(text) for text in texts] == [json.loads(text) for text in plain]
    assert "\n" not in "".join(texts)


def ask_ours(agent: Any) -> list[list[str]]:
    return oo.run_backtest(MARKET, agent, (19, 25), capture=True).record.decisions


def test_printed_output_of_an_agent_is_shown_and_is_not_an_answer() -> None:
    shown: list[str] = []
    with PythonAgent("process_agents:loud", show=shown.append).start() as session:
        assert ask(session, 3).record.decisions == ask_ours_hold(2)
    assert "\n".join(shown).split("\n") == ["printed ", "by number\\x1b[2J", "to stderr", "by a child"] * 2


def ask_ours_hold(n_decisions: int) -> list[list[str]]:
    return [[json.dumps(process_agents.HOLD)] * n_decisions]


# Faults


FAULTS = [
    ("raises", "agent_died", "an agent must answer until its run ends; received its exit, exit code 1"),
    ("exits", "agent_died", "received its exit, exit code 3"),
    ("killed", "agent_died", "received its exit, signal 9 (Killed)"),
    ("sleeps", "agent_late", "an agent must answer within 0.4 s; received nothing"),
    ("lengthy", "answer_too_long", "an answer must be a line of at most 1,000 bytes; received more"),
    ("no_json", "agent_died", "received its exit, exit code 1"),
    ("half_json", "bad_json", "a decision must be one JSON object; received text that is not JSON"),
]


@pytest.mark.parametrize(("name", "slug", "message"), FAULTS)
def test_a_fault_states_its_slug_and_bar(name: str, slug: str, message: str) -> None:
    is_late = slug == "agent_late"
    bounds = Bounds(0.2 if is_late else 60.0, 0.2 if is_late else 60.0, end_seconds=0.3, answer_bytes=1000)
    with PythonAgent(f"process_agents:{name}", bounds=bounds, show=lambda line: None).start() as session:
        with pytest.raises(oo.OpenOutcryError) as caught:
            ask(session)
        if name == "raises":
            assert isinstance(caught.value, AgentError)
            back = pickle.loads(pickle.dumps(caught.value))
            assert (str(back), back.slug, back.stderr) == (str(caught.value), slug, caught.value.stderr)
            lines = caught.value.stderr.splitlines()
            assert lines[0] == "Traceback (most recent call last):"
            assert "in raises" in lines[1]
            assert lines[-1] == "ValueError: of its own doing"
    assert caught.value.slug == slug
    assert message in str(caught.value)
    assert re.fullmatch(f"{slug}: {of_template(TEMPLATES[slug])}", str(caught.value))
    bar = 23 if name == "raises" else 19
    assert caught.value.__notes__ == [f"in the decision at the close of bar {bar} ({MARKET.dates[bar]})"]


ANSWER = "print('{\\\"orders\\\":[]}')"
TWICE = "import os; os.write(1, b'{\\\"orders\\\":[]}' + b'\\n' + b'{\\\"orders\\\":[]}' + b'\\n')"
OTHER_FAULTS = [
    (f"input(); {TWICE}; input()", "answer_too_early", "received 14 bytes before it"),
    (f"{ANSWER}; input()", "answer_too_early", "an answer must come after its observation"),
    ("input(); import os; os.write(1, b'\\xff\\n'); input()", "answer_not_text", "invalid start byte at byte 0"),
    ("input(); import os; os.write(1, b'{half'); input(); input()", "agent_late", "received 5 bytes of a line"),
    (
        "input(); import os; os.write(1, b'{half')",
        "answer_cut_short",
        "must end with its line; received 5 bytes without",
    ),
    ("input(); import os; os.write(1, b'x' * 2**20)", "answer_too_long", "at most 1,000 bytes"),
    ("import os, time; os.close(0); os.close(1); time.sleep(9)", "agent_died", "signal 9"),
    ("import os, time; os.close(0); os.close(2); time.sleep(9)", "agent_late", "received nothing"),
    ("input(); print('{\"orders\": null}'); input()", "wrong_type", "expected a list in `orders`; received null"),
    ("input(); print(); input()", "bad_json", "text that is not JSON"),
]


def test_an_exit_is_detected_while_a_fork_holds_the_pipes(tmp_path: Path) -> None:
    bounds = Bounds(answer_seconds=6.0, end_seconds=0.2)
    with PythonAgent("process_agents:forks_and_ends", bounds=bounds).start() as session:
        with pytest.raises(AgentError, match="received its exit, exit code 5") as caught:
            ask(session)
        (tmp_path / "over").touch()
    assert caught.value.slug == "agent_died"


def test_output_before_the_exit_counts_while_a_fork_holds_the_pipes() -> None:
    text = (
        "import os, time\ninput()\nif os.fork() == 0:\n    os.setsid(); time.sleep(9.0); os._exit(0)\n"
        "os.write(1, b'[1]' + bytes([10])); os._exit(0)"
    )
    with program(text, Bounds(answer_seconds=6.0, end_seconds=0.2)) as session:
        assert session.answer("x") == "[1]"
        with pytest.raises(AgentError, match="received its exit, exit code 0"):
            session.answer("y")


def test_a_start_check_ends_while_a_fork_holds_the_pipes() -> None:
    text = "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(9.0); os._exit(0)\nos._exit(7)"
    with program(text, Bounds(start_seconds=4.0, end_seconds=0.2)) as session:
        assert session.start_and_stop() == 7


def test_every_fault_slug_of_agents_is_raised_in_these_tests() -> None:
    documented = {error["slug"] for error in ERRORS["errors"] if error["kind"] == "agent"}
    raised = {slug for _, slug, _ in (*FAULTS, *OTHER_FAULTS)}
    # The slugs of servers and of abandoned agents are in `test_transports.py`.
    assert documented - raised == {"answer_status", "agent_given_up"}
    assert raised <= set(TEMPLATES)


@pytest.mark.parametrize(("text", "slug", "message"), OTHER_FAULTS)
def test_a_fault_of_a_program_states_its_slug(text: str, slug: str, message: str) -> None:
    seconds = 1.0 if slug == "agent_late" else 60.0
    with program(text, Bounds(seconds, 0.1, end_seconds=0.3, answer_bytes=1000)) as session:
        if text.startswith(ANSWER):
            assert within(5.0, lambda: bool(session._poll.poll(0)))
        with pytest.raises(oo.OpenOutcryError) as caught:
            ask(session)
    assert (caught.value.slug, message in str(caught.value)) == (slug, True), str(caught.value)
    assert re.fullmatch(f"{slug}: {of_template(TEMPLATES[slug])}", str(caught.value))


def test_excess_standard_error_is_dropped_and_the_program_answers() -> None:
    shown: list[str] = []
    text = (
        "import sys\nfor line in sys.stdin:\n"
        f"    sys.stderr.write('x' * 99 + chr(10))\n    sys.stderr.write('y' * 200000)\n    {ANSWER}"
    )
    with program(text, Bounds(stderr_bytes=250), show=shown.append) as session:
        assert ask(session).record.decisions == [['{"orders":[]}'] * 5]
    assert "\n".join(shown).split("\n") == ["x" * 99, "y" * 150, "... further output of the agent is dropped"]


def test_an_observation_larger_than_a_pipe_is_written_while_the_answer_is_read() -> None:
    # The program answers before it has read everything: the harness must read while it writes.
    text = (
        "import os\nos.write(1, b' ' * 300000)\nheld = b''\n"
        "while not held.endswith(b'\\n'):\n    held += os.read(0, 2**16)\n"
        "os.write(1, str(len(held)).encode() + b'\\n')"
    )
    session = program(text, Bounds(answer_seconds=20.0))
    with session:
        session._check_silence = lambda: None  # type: ignore[method-assign]
        assert session.answer("o" * 500_000).strip() == "500001"


def test_no_such_program_or_agent_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="an agent must be a program that can be run; received 'no-such'"):
        StdioSession(["no-such"], {})
    for name in ("process_agents", ":hold", "process_agents:"):
        with pytest.raises(oo.OpenOutcryError, match="unknown_agent: an agent must be `module:function`"):
            PythonAgent(name)
    for name, message in (
        ("process_agents:nobody", "must have a callable `nobody`"),
        ("nowhere:f", "no module 'nowhere'"),
    ):
        with pytest.raises(oo.OpenOutcryError, match=message) as caught:
            PythonAgent(name).check()
        assert caught.value.slug == "unknown_agent"
    PythonAgent("process_agents:hold").check()
    with pytest.raises(oo.OpenOutcryError, match="`answer_seconds` must be a number above 0; received 0"):
        Bounds(answer_seconds=0)
    with pytest.raises(oo.OpenOutcryError, match="must be set; received `NO_SUCH_VARIABLE`, which is not"):
        agent_environment(["NO_SUCH_VARIABLE"])


# Cleanup


@linux
def test_a_process_starts_with_three_descriptors_a_new_group_and_no_terminal() -> None:
    text = (
        "import os, json\ninput()\n"
        "fds = sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1]\n"
        "alone = os.getpgid(0) == os.getsid(0) == os.getpid()\n"
        "tty = [fd for fd in fds if os.isatty(fd)]\n"
        "print(json.dumps([fds, alone, tty]))"
    )
    with (SUPPORT / "process_agents.py").open() as file:
        os.set_inheritable(file.fileno(), True)
        with program(text, Bounds()) as session:
            assert json.loads(session.answer("x")) == [[0, 1, 2], True, []]


@linux
def test_child_processes_of_an_agent_are_killed_with_it() -> None:
    shown: list[str] = []
    with PythonAgent("process_agents:parent", bounds=Bounds(end_seconds=0.2), show=shown.append).start() as session:
        ask(session, 3)
        children = [int(line) for text in shown for line in text.split("\n")]
        assert all(map(is_alive, children))
    assert within(5.0, lambda: not any(map(is_alive, children)))
    assert not is_alive(session._process.pid)
    assert session._process.returncode is not None
    session.close()


def test_a_run_leaves_no_descriptor_open() -> None:
    def n_open() -> int:
        return sum(1 for _ in Path("/dev/fd").iterdir())

    before = n_open()
    small().run("process_agents:hold")
    small().run("process_agents:exits")
    assert n_open() == before


def test_a_run_continues_after_every_fault_and_reports_the_holds() -> None:
    message: list[str] = []
    record = small().run("process_agents:raises", on_fault=lambda fault: message.append(str(fault)))
    n_bars = [len(run) for run in record.decisions]
    # Restarted after each fault, the agent raises on every fifth bar.
    assert record.faults == [dict.fromkeys(range(4, n, 5), "agent_died") for n in n_bars]
    assert len(message) == sum(map(len, record.faults))
    assert message[0].startswith(
        "held: agent_died: an agent must answer until its run ends; received its exit, exit code 1"
    )
    start, end = small().windows[1].start, small().windows[1].end
    assert any(each.endswith(f"window [{start}, {end}) of `ecb-fx` under seed 1") for each in message), message
    assert oo.replay(record, small().markets(), *small().rules()).verified
    gone = small().run("process_agents:half_json").faults
    assert [set(run.values()) for run in gone] == [{"malformed"}] * 4
