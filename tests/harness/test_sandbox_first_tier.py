"""A hostile agent of `openoutcry run` on a machine without Landlock and namespaces, as the user's own user."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from command_line import typed

from openoutcry.cli import sandbox as command
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.harness.sandbox import sandbox as opening

HOST = this_host()
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not HOST.has_filters, reason="no filter of system calls"),
]

AGENT = """
import os, socket, subprocess, sys
PARENT, OTHER = os.getppid(), int(sys.argv[1])
# Its output is no pipe of the harness, and its group another one.
LEAVE = "import os, time\\nos.setsid()\\nif os.fork(): os._exit(0)\\ntime.sleep(60)"

def attempt(name, do):
    try:
        do()
        print("\\nsucceeds:", name, file=sys.stderr, flush=True)
    except Exception as error:
        print("\\nfails:", name, type(error).__name__, file=sys.stderr, flush=True)

def leave():
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run([sys.executable, "-S", "-c", LEAVE, os.getcwd()], **quiet).returncode:
        raise OSError("it could not leave")

attempt("environment", lambda: os.environ["KEY_OF_THE_USER"])
attempt("environment of the harness", lambda: open(f"/proc/{PARENT}/environ").read(1))
attempt("memory of the harness", lambda: open(f"/proc/{PARENT}/mem"))
attempt("files of the harness", lambda: os.readlink(f"/proc/{PARENT}/root"))
attempt("write", lambda: os.write(os.open("../victim", os.O_WRONLY), b"x"))
attempt("truncate", lambda: os.truncate("../victim", 0))
attempt("delete", lambda: os.unlink("../victim"))
attempt("delete the ledger", lambda: os.unlink("../ledger/00000.jsonl"))
attempt("rename", lambda: os.rename("../victim", "../moved"))
attempt("folder", lambda: os.mkdir("../folder"))
attempt("link", lambda: os.link("../victim", "../hard"))
attempt("symbolic link", lambda: os.symlink("x" * 2000, "../soft"))
attempt("mode", lambda: os.chmod("../victim", 0o777))
attempt("signal to the harness", lambda: os.kill(PARENT, 0))
attempt("signal to another process", lambda: os.kill(OTHER, 0))
attempt("network", lambda: socket.socket())
attempt("leave a process", leave)
for line in sys.stdin:
    print('{"orders": []}', flush=True)
"""


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process of the user."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_an_agent_of_the_first_tier_reaches_no_process_network_or_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[bytes]
) -> None:
    """It can read files of the user, and empty them, as the command says."""
    missing = MappingProxyType({Tier.T2: "no Landlock", Tier.T3: "no bwrap"})
    for module in (opening, command):
        monkeypatch.setattr(module, "this_host", lambda: replace(HOST, missing=missing))
    monkeypatch.setenv("KEY_OF_THE_USER", "secret")
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    assert typed("run", "--agent", "momentum", "--window", "19:24", "--ledger", cwd=tmp_path).returncode == 0
    folder = tmp_path / "agent"
    # Root keeps its own user, as any user does, if others cannot read the agent.
    folder.mkdir(mode=0o700)
    (folder / "agent.py").write_text(AGENT)
    (tmp_path / "victim").write_text("precious")
    agent = f"cmd:{shlex.quote(os.path.realpath(sys.executable))} -S agent.py {other.pid}"
    done = typed("run", "--agent", agent, "--window", "19:24", "--ledger", "--sandbox", "T1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "sandbox T1; no T2: no Landlock; no T3: no bwrap; an agent can read all your files" in done.stderr
    assert "a filter of system calls protects processes, folders and the network" in done.stderr
    results = {name.strip(): outcome for outcome, name in re.findall(r"(succeeds|fails): ([a-z ]+)", done.stderr)}
    assert len(results) == AGENT.count("\nattempt(")
    assert {name for name, outcome in results.items() if outcome == "succeeds"} == set()
    assert (tmp_path / "victim").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "ledger", "victim"]
    running = (path for path in Path("/proc").glob("[0-9]*/cmdline"))
    assert [path for path in running if str(tmp_path) in text_of(path)] == []


def text_of(path: Path) -> str:
    """Return a command line; empty if its process has ended."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
