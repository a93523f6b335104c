"""`openoutcry run` and `suite run` with agents that fail, are interrupted or do nothing."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from agent_servers import serving
from test_harness import COMMAND, SUITE, SUPPORT, is_alive, linux, within

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the agents importable for workers, and give them a common temporary folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def season(tmp_path: Path) -> tuple[str | Path, ...]:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SUITE), encoding="utf-8")
    return COMMAND, "suite", "run", path


def test_the_command_shows_a_fault_with_its_traceback(tmp_path: Path, season: tuple[str | Path, ...]) -> None:
    record = tmp_path / "r.jsonl"
    for name, code, last in (
        (
            "raises",
            0,
            "held: agent_died: an agent must answer until its run ends; received its exit, exit code 1; at the",
        ),
        ("half_json", 0, "sandbox "),
        ("nobody", 2, "error: unknown_agent: `process_agents` must have a callable `nobody`; received None"),
    ):
        command = [*season, "--agent", f"process_agents:{name}", "--record", record]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        assert (done.returncode, any(line.startswith(last) for line in lines)) == (code, True), done.stderr
        # The traceback starts in the agent, without frames of the package.
        assert "openoutcry/" not in done.stderr
        assert ("ValueError: of its own doing" in lines) == (name == "raises")
        assert ("; held for faults: " in done.stdout) == (name != "nobody"), done.stdout
        assert record.exists() == (name != "nobody")
        record.unlink(missing_ok=True)


@linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_command_leaves_no_agent_process(
    how: signal.Signals, tmp_path: Path, season: tuple[str | Path, ...]
) -> None:
    command = [*season, "--agent", "process_agents:sleeps", "--record", tmp_path / "r.json", "--sandbox", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr
        agents = process_ids(running.stderr)
        assert all(map(is_alive, agents))
        running.send_signal(how)
        running.wait(20.0)
    assert within(5.0, lambda: not any(map(is_alive, agents)))


def process_ids(lines: Iterable[str]) -> list[int]:
    """Return the process ids that two agents state, after notices of the command."""
    words = (line.split() for line in lines)
    return [int(each[1]) for each in islice((each for each in words if each[1:] and each[1].isdigit()), 2)]


@linux
def test_an_interrupted_command_ends_while_a_fork_holds_the_pipes(
    tmp_path: Path, season: tuple[str | Path, ...]
) -> None:
    command = [*season, "--agent", "process_agents:forks_and_sleeps", "--sandbox", "none"]
    command += ["--record", tmp_path / "r.json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr
        agents = process_ids(running.stderr)
        running.send_signal(signal.SIGINT)
        try:
            running.wait(20.0)
        finally:
            (tmp_path / "over").touch()
    assert within(5.0, lambda: not any(map(is_alive, agents)))


def test_a_record_does_not_contain_the_password_of_a_server(tmp_path: Path) -> None:
    with serving() as server:
        url = server.url.replace("http://", "http://me:secret@")
        base: list[str | Path] = [COMMAND, "run", "--window", "2024-01-01:2024-01-10", "--agent", url, "--json"]
        for options in (["--record", tmp_path / "r.jsonl"], ["--record", tmp_path / "r.json"]):
            report: list[str | Path] = ["--report", tmp_path / "r.html", "--force"]
            done = subprocess.run([*base, *options, *report], capture_output=True, text=True, check=True)
            assert "secret" not in done.stdout + done.stderr
    for path in tmp_path.iterdir():
        assert b"secret" not in path.read_bytes(), path


def test_a_program_that_cannot_start_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    base: list[str | Path] = [COMMAND, "run", "--window", "2024-01-01:2024-01-10", "--record", record]
    base += ["--agent", f"cmd:{sys.executable} no-such-file.py"]
    done = subprocess.run(base, capture_output=True, text=True, check=False)
    assert (done.returncode, "exit code 2" in done.stderr, record.exists()) == (1, True, False), done.stderr
    assert "no-such-file.py" in done.stderr


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ('{"orders":[]}', "the agent placed no order that changes a position"),
        ('{"order":[]}', "no response was a valid decision; run `openoutcry conformance` to see the errors"),
    ],
)
def test_an_agent_without_orders_is_reported(answer: str, message: str) -> None:
    text = f"import sys\nfor line in sys.stdin: print({answer!r}, flush=True)"
    agent = f"cmd:{shlex.join([sys.executable, '-c', text])}"
    base = [COMMAND, "run", "--window", "+20:+40", "--agent"]
    done = subprocess.run(
        [*base, agent], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert f"  · {message}\n" in done.stdout
    # `hold-cash` gets no message.
    done = subprocess.run([*base, "hold-cash"], capture_output=True, text=True, check=True)
    assert message not in done.stdout


@linux
def test_a_terminal_shows_the_progress_of_decisions() -> None:
    terminal, other = os.openpty()
    text = "import sys\nfor line in sys.stdin: print('{}', flush=True)"
    agent = f"cmd:{shlex.join([sys.executable, '-c', text])}"
    command = [COMMAND, "run", "--window", "+20:+40", "--agent", agent]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other) as running:
        os.close(other)
        shown = b""
        # Reading a closed pseudo-terminal raises an error.
        with suppress(OSError):
            while chunk := os.read(terminal, 2**16):
                shown += chunk
        running.wait(30.0)
    os.close(terminal)
    assert b"19/19" in shown
