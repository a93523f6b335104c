"""Agents that write without end or do not read: neither blocks the harness."""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep

import pytest

from openoutcry.harness import AgentError, Bounds, CommandAgent, SupervisedAgent

pytestmark = pytest.mark.once

BOUNDS = Bounds(start_seconds=0.3, answer_seconds=0.2, end_seconds=0.2, stderr_bytes=2**40)
WRITER = "import os\nwhile True:\n    os.write(2, b'x' * 65535 + b'\\n')\n"
# A child that left the process group holds standard error open and survives the kill.
ORPHAN = f"import os\nif os.fork():\n    os._exit(0)\nos.setsid()\n{WRITER}"


class Reader:
    """A slow reader of the agent's output, so that the pipe is always full."""

    def __init__(self) -> None:
        self.n_lines = 0

    def __call__(self, text: str) -> None:
        self.n_lines += text.count("\n") + 1
        assert self.n_lines < 400, "it is read without end"
        sleep(0.01)


@pytest.mark.parametrize("text", [WRITER, ORPHAN], ids=["writer", "orphan"])
def test_output_after_the_timeout_is_not_read_forever(text: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(text, encoding="utf-8")
    reader = Reader()
    agent = CommandAgent([sys.executable, str(path)], (), BOUNDS, reader)
    session = agent.start()
    try:
        with pytest.raises(AgentError) as raised:
            session.answer("{}")
        assert raised.value.slug in {"agent_late", "agent_died"}
    finally:
        # Closing the pipe ends the remaining process.
        session.close()


def test_an_agent_with_too_many_bytes_of_decisions_is_abandoned(tmp_path: Path) -> None:
    """Each decision is within its limit, but a record would store a thousand of them: a gibibyte."""
    path = tmp_path / "agent.py"
    path.write_text("import sys\nfor line in sys.stdin:\n    print('7' * 999, flush=True)", encoding="utf-8")
    bounds = Bounds(start_seconds=30.0, answer_bytes=1000, run_bytes=3500)
    faults: list[str] = []
    agent = CommandAgent([sys.executable, str(path)], (), bounds)
    with SupervisedAgent(agent, lambda fault, step: faults.append(f"{step} {fault}")) as session:
        answers = [session.answer("{}") for _ in range(6)]
    assert [len(each.text) for each in answers] == [999, 999, 999, 0, 0, 0]
    assert [each.fault for each in answers] == [None] * 3 + ["answer_too_long", "agent_given_up", "agent_given_up"]
    message = "all decisions of a run must be at most 3,500 bytes in total; received more"
    # Every earlier answer is malformed.
    assert [each for each in faults if "malformed" not in each] == [f"3 answer_too_long: {message}"]


def test_an_answer_before_the_observation_was_read_is_too_early(tmp_path: Path) -> None:
    """The unread rest of the observation would precede the next one."""
    answer = "select.select([0], [], []); os.write(1, b'{}\\n'); os.read(0, 8192)"
    text = f"import os, select\nwhile True:\n    {answer}\n"
    (tmp_path / "agent.py").write_text(text, encoding="utf-8")
    agent = CommandAgent([sys.executable, str(tmp_path / "agent.py")], (), Bounds(start_seconds=30.0))
    with SupervisedAgent(agent) as session:
        faults = []
        for _ in range(2):
            faults.append(session.answer("7" * 2**18).fault)
            # Makes the agent read a part of the line.
            sleep(0.05)
    assert faults == ["answer_too_early"] * 2


THIEF = """
import os
mine = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK)
for _ in range(3):
    if os.fork() == 0:
        break
while True:
    os.write(2, b"y")
    try:
        os.read(mine, 2**16)
    except BlockingIOError:
        pass
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="opens its pipe in `/proc`")
def test_an_agent_that_reads_its_own_standard_error_does_not_block_the_harness(tmp_path: Path) -> None:
    """Data that `poll` reported may be gone when the harness reads."""
    (tmp_path / "agent.py").write_text(THIEF, encoding="utf-8")
    bounds = Bounds(start_seconds=0.1, answer_seconds=0.1, end_seconds=0.3)
    for _ in range(4):
        session = CommandAgent([sys.executable, str(tmp_path / "agent.py")], (), bounds, lambda text: None).start()
        with pytest.raises(AgentError, match="agent_late"):
            session.answer("{}")
        session.close()
