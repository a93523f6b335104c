"""The sandbox: protections of Python agents and of foreign commands."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

import pytest

import openoutcry as oo
from openoutcry.harness.sandbox import Launch, Profile, Sandbox, Tier
from openoutcry.harness.sandbox.host_features import this_host
from openoutcry.harness.sandbox.readable_paths import is_open
from openoutcry.harness.sandbox.sandbox import INTERPRETER, LAUNCHER, plan_arguments

pytestmark = pytest.mark.once

HOST = this_host()


def needs(tier: Tier) -> pytest.MarkDecorator:
    missing = "; ".join(text for each, text in HOST.missing.items() if each <= tier)
    return pytest.mark.skipif(HOST.tier < tier, reason=f"{tier.name}: {missing}")


def run(launch: Launch, message: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a launch to its end."""
    settings: dict[str, Any] = {"capture_output": True} | options
    return subprocess.run(
        launch.command, env=launch.environment, input=message, text=True, timeout=60, start_new_session=True, **settings
    )


def printed(launch: Launch, message: str = "") -> str:
    made = run(launch, message)
    assert made.returncode == 0, made.stderr
    return made.stdout


def script(folder: Path, text: str, name: str = "agent.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


TRIES = """
def tried(f):
    try:
        return f() or "did"
    except OSError as error:
        return error.strerror
"""


@needs(Tier.T2)
def test_a_python_agent_reads_only_its_folder_and_libraries(tmp_path: Path) -> None:
    for name in ("agent", "other"):
        (tmp_path / name).mkdir()
        script(tmp_path / name, "7", "data.txt")
    text = f"""
import os, sys, zoneinfo
import numpy
{TRIES}
print(open("data.txt").read(), tried(lambda: open({str(tmp_path / "other" / "data.txt")!r}).read()))
print(numpy.linalg.inv(numpy.eye(200)).sum(), zoneinfo.ZoneInfo("Europe/Paris"), sys.stdin.read())
print(sorted(os.environ))
"""
    agent = script(tmp_path / "agent", text)
    files, libraries, variables = printed(Sandbox.open(Profile(tmp_path / "agent")).script(agent), "line").splitlines()
    # In namespaces the path does not exist.
    assert files in {"7 Permission denied", "7 No such file or directory"}
    assert libraries == "200.0 Europe/Paris line"
    assert "PATH" not in variables
    assert "PYTHONHASHSEED" in variables


@needs(Tier.T2)
def test_hidden_paths_in_the_folder_are_unreadable_and_others_readable(tmp_path: Path) -> None:
    deep = tmp_path / "deep" / "deeper"
    deep.mkdir(parents=True)
    for path in (tmp_path / "open.txt", deep / "open.txt", tmp_path / "hidden.txt", deep / "hidden.txt"):
        path.write_text(path.stem, encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "hidden.txt")
    names = ["open.txt", "deep/deeper/open.txt", "hidden.txt", "deep/deeper/hidden.txt", "link.txt"]
    agent = script(tmp_path, f"{TRIES}\nfor name in {names}: print(tried(lambda: open(name).read()))")
    profile = Profile(tmp_path, hidden=[tmp_path / "hidden.txt", deep / "hidden.txt"])
    message = printed(Sandbox.open(profile, max_tier=Tier.T2).script(agent)).splitlines()
    assert message == ["open", "open", *["Permission denied"] * 3]
    if HOST.tier >= Tier.T3:
        message = printed(Sandbox.open(profile).script(agent)).splitlines()
        assert message[:2] == ["open", "open"]
        assert "hidden" not in message


@needs(Tier.T2)
def test_the_plan_of_a_folder_with_many_files_is_split_over_arguments(tmp_path: Path) -> None:
    """The names are longer than one command line argument may be."""
    for index in range(3000):
        (tmp_path / f"{'n' * 40}{index}").write_text("", encoding="utf-8")
    (tmp_path / "hidden.txt").write_text("", encoding="utf-8")
    agent = script(
        tmp_path, f"{TRIES}\nfor name in ('{'n' * 40}2999', 'hidden.txt'): print(tried(lambda: open(name).read()))"
    )
    launch = Sandbox.open(Profile(tmp_path, hidden=[tmp_path / "hidden.txt"]), max_tier=Tier.T2).script(agent)
    assert sum(map(len, launch.command)) > 2**17
    assert printed(launch) == "did\nPermission denied\n"


@needs(Tier.T2)
def test_links_next_to_a_program_in_the_folder_grant_nothing(tmp_path: Path) -> None:
    """The installation prefix of a program is granted; inside the agent's folder its author would control it."""
    agent, other = tmp_path / "agent", tmp_path / "other"
    for folder in (agent / "bin", other):
        folder.mkdir(parents=True)
    (other / "secret.txt").write_text("7", encoding="utf-8")
    program = script(agent / "bin", f"#!/bin/sh\ncat {other}/secret.txt || echo no\n", "run")
    program.chmod(0o755)
    for target in (other, "/"):
        (agent / "lib").unlink(missing_ok=True)
        (agent / "lib").symlink_to(target)
        assert printed(Sandbox.open(Profile(agent), max_tier=Tier.T2).command(["bin/run"])) == "no\n"


@needs(Tier.T2)
def test_a_module_is_imported_from_the_package_parent_and_from_the_folder(tmp_path: Path) -> None:
    script(tmp_path, "import sys, openoutcry\nprint(openoutcry.__name__, sys.argv[1:], __name__)", "decider.py")
    sandbox = Sandbox.open(Profile(tmp_path))
    assert printed(sandbox.module("decider", ["a", "b"])) == "openoutcry ['a', 'b'] __main__\n"


@needs(Tier.T2)
def test_threads_started_by_a_library_are_restricted_too(tmp_path: Path) -> None:
    """By default both Landlock and seccomp apply to the calling thread only."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "secret").write_text("7", encoding="utf-8")
    text = f"""
import socket, threading
{TRIES}
go, results = threading.Event(), []
def work():
    go.wait()
    results.append(tried(lambda: open({str(tmp_path / "secret")!r}).read()))
    results.append(tried(socket.socket))
thread = threading.Thread(target=work)
thread.start()
"""
    script(tmp_path / "agent", text, "library.py")
    script(
        tmp_path / "agent",
        "import library\nlibrary.go.set(); library.thread.join(); print(library.results)",
        "agent.py",
    )
    launch = Sandbox.open(Profile(tmp_path / "agent"), max_tier=Tier.T2).module("agent", imports=["library"])
    assert launch.plan is not None
    # As if it were an installed library.
    plan = launch.plan | {"path": [*launch.plan["path"], str(tmp_path / "agent")]}
    at = launch.command.index(LAUNCHER) + 1
    launch = replace(launch, command=(*launch.command[:at], *plan_arguments(plan)))
    assert printed(launch) == "['Permission denied', 'Operation not permitted']\n"


@needs(Tier.T2)
def test_no_line_of_the_agent_runs_before_the_filter_is_installed(tmp_path: Path) -> None:
    """A module of the agent with the name of a library would run early if its folder came first too soon."""
    shadow = "import socket\ntry:\n    socket.socket()\n    print('open')\nexcept OSError:\n    print('locked')"
    for name in ("numpy", "openoutcry", "marshal", "ctypes"):
        script(tmp_path, shadow, f"{name}.py")
    script(tmp_path, "import sys; del sys.modules['openoutcry']; import openoutcry", "agent.py")
    assert printed(Sandbox.open(Profile(tmp_path)).module("agent")) == "locked\n"


@needs(Tier.T2)
def test_an_agent_started_by_root_has_no_privileges(tmp_path: Path) -> None:
    """Below a private home directory the agent stays root, without capabilities."""
    if os.geteuid() != 0:
        pytest.skip("the user is no superuser")
    text = "while read name value rest; do case $name in Uid:|CapEff:|CapBnd:) echo $value;; esac; done"
    text += " < /proc/self/status; ulimit -u"
    with TemporaryDirectory() as name:
        for mode, user in ((0o755, "65534"), (0o700, "0")):
            os.chmod(name, mode)  # noqa: PTH101
            sandbox = Sandbox.open(Profile(name, readable=["/proc"]), max_tier=Tier.T2)
            message = printed(sandbox.command(["bash", "-c", text])).split()
            assert message[:3] == [user, "0" * 16, "0" * 16]
            assert (message[3] == "unlimited" or int(message[3]) > 5000) == (user == "0")


@needs(Tier.T3)
def test_an_agent_started_by_root_becomes_nobody_in_namespaces(tmp_path: Path) -> None:
    """Files that are not world-readable are unreadable, and the limit of processes applies."""
    if os.geteuid() != 0 or not HOST.setpriv:
        pytest.skip("the user is no superuser, or there is no `setpriv`")
    with TemporaryDirectory() as name:
        os.chmod(name, 0o755)  # noqa: PTH101
        (Path(name) / "closed.txt").write_text("closed", encoding="utf-8")
        (Path(name) / "closed.txt").chmod(0o600)
        sandbox = Sandbox.open(Profile(name))
        message = printed(sandbox.command(["bash", "-c", "cat closed.txt || echo no; ulimit -u"])).split()
        # Unless the interpreter itself is not world-readable, as below a private home directory.
        if all(map(is_open, [INTERPRETER, LAUNCHER])):
            assert message[0] == "no"
            assert int(message[1]) < 5000
        else:
            assert message[0].startswith("closed")


@pytest.mark.parametrize("tier", [pytest.param(each, marks=needs(each), id=each.name) for each in Tier if each])
def test_the_agent_is_the_first_oom_victim_and_writes_no_core_dump(tier: Tier, tmp_path: Path) -> None:
    """With a core limit of 0 the kernel still pipes the dump to a handler that runs as root; with 1 it does not."""
    text = "import resource\nprint(open('/proc/self/oom_score_adj').read().strip(), resource.getrlimit(4))"
    sandbox = Sandbox.open(Profile(tmp_path, readable=["/proc"]), min_tier=tier, max_tier=tier)
    message = printed(sandbox.script(script(tmp_path, text))), printed(sandbox.command([sys.executable, "-c", text]))
    assert set(message) == {"1000 (1, 1)\n"}


COMMANDS = {
    "bash": ["-c", "read line; echo $line | tr a b"],
    "node": ["-e", "require('readline').createInterface({input: process.stdin}).on('line', l => console.log('b'))"],
    "jq": ["-r", 'if . == "a" then "b" else . end'],
    "awk": ['/a/ { print "b" }'],
    "perl": ["-ne", "print 'b' if /a/"],
}


@needs(Tier.T2)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_foreign_command_answers_in_the_sandbox(name: str, tmp_path: Path) -> None:
    try:
        launch = Sandbox.open(Profile(tmp_path)).command([name, *COMMANDS[name]])
    except oo.OpenOutcryError:
        pytest.skip(f"{name} is not installed")
    assert printed(launch, '"a"\n' if name == "jq" else "a\n").strip() == "b"


@needs(Tier.T2)
def test_a_python_environment_works_as_a_foreign_command(tmp_path: Path) -> None:
    text = (
        "import json, threading, numpy\nt = threading.Thread(target=print, args=(json.dumps(1),)); t.start(); t.join()"
    )
    launch = Sandbox.open(Profile(tmp_path)).command([sys.executable, "-c", text])
    assert printed(launch) == "1\n"


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@needs(Tier.T2)
@pytest.mark.parametrize("kind", ["script", "command"])
def test_allow_net_permits_outgoing_connections_only(kind: str, tmp_path: Path) -> None:
    with listening() as port:
        text = f"""
import socket
{TRIES}
def listen():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
print(tried(lambda: socket.create_connection(("127.0.0.1", {port}), 1.0).close()))
print(tried(listen), tried(lambda: socket.socket(socket.AF_UNIX)), tried(lambda: socket.socketpair(type=2)))
"""
        agent = script(tmp_path, text)
        for allow_net in (False, True):
            sandbox = Sandbox.open(Profile(tmp_path, allow_net=allow_net))
            launch = sandbox.script(agent) if kind == "script" else sandbox.command([sys.executable, str(agent)])
            first, second = printed(launch).splitlines()
            assert first == ("did" if allow_net else "Operation not permitted")
            assert second == " ".join(["Operation not permitted"] * 3)
            assert sandbox.to_dict()["allow_net"] is allow_net


@needs(Tier.T1)
def test_the_environment_contains_only_passed_on_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEY_OF_A_MODEL", "1")
    monkeypatch.setenv("KEY_OF_THE_HARNESS", "2")
    agent = script(tmp_path, "import os; print(*[each for each in os.environ if 'KEY' in each])")
    sandbox = Sandbox.open(Profile(tmp_path, pass_on=["KEY_OF_A_MODEL"]), min_tier=Tier.T1)
    assert printed(sandbox.script(agent)) == "KEY_OF_A_MODEL\n"


@needs(Tier.T1)
def test_a_file_as_output_is_refused_before_the_agent_runs(tmp_path: Path) -> None:
    agent = script(tmp_path, "print('ran')")
    with (tmp_path / "output").open("w") as output:
        made = run(
            Sandbox.open(Profile(tmp_path), min_tier=Tier.T1).script(agent),
            capture_output=False,
            stdout=output,
            stderr=subprocess.PIPE,
        )
    assert made.returncode == 125
    assert made.stderr == "the sandbox could not be set up: descriptor 1 must be a pipe; received a file\n"


HARNESS = """
import subprocess, sys
from openoutcry.harness.sandbox import Sandbox, Profile, Tier
sandbox = Sandbox.open(Profile(sys.argv[1]), min_tier=Tier.T1, max_tier=Tier[sys.argv[2]])
launch = sandbox.script(sys.argv[1] + "/agent.py")
agent = subprocess.Popen(launch.command, env=launch.environment, stdin=subprocess.PIPE, stdout=1, stderr=2)
agent.wait()
"""


@pytest.mark.parametrize("tier", [pytest.param(each, marks=needs(each), id=each.name) for each in Tier if each])
def test_an_agent_ends_when_the_harness_is_killed(tier: Tier, tmp_path: Path) -> None:
    script(tmp_path, "print('ready', flush=True)\nimport time\ntime.sleep(60)")
    command = [sys.executable, "-c", HARNESS, str(tmp_path), tier.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n", harness.stderr and harness.stderr.read()
        harness.kill()
        # The pipe closes when the agent exits.
        ended = threading.Thread(target=harness.stdout.read)
        ended.start()
        ended.join(10.0)
        assert not ended.is_alive()


@needs(Tier.T2)
def test_a_command_ends_with_all_its_child_processes(tmp_path: Path) -> None:
    text = "(setsid sleep 60; sleep 60) & (trap '' TERM HUP; sleep 60) & echo ready; wait"
    launch = Sandbox.open(Profile(tmp_path)).command(["bash", "-c", text])
    with subprocess.Popen(
        launch.command, env=launch.environment, stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    ) as agent:  # fmt: skip
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"ready\n"
        sleep(0.1)
        os.killpg(agent.pid, signal.SIGKILL)
        until = monotonic() + 10.0
        assert agent.stdout.read() == b""
        # The pipe closes when all processes have exited.
        assert monotonic() < until
