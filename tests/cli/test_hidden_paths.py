"""Every path on a command line with an agent is hidden from that agent."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from openoutcry.cli.commands import app
from openoutcry.cli.hidden_paths import SOURCES, hidden_paths
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.records.file_lock import VARIABLE

HOST = this_host()
pytestmark = pytest.mark.once

# Texts of commands with agents that name no file of prices: the agent itself, names, numbers and words.
NO_PATHS = {
    *("agent", "window", "name", "env", "sandbox", "masking", "symbol", "column", "names", "axis", "calendar"),
    *(
        "day_starts",
        "label",
        "tz",
        "date_order",
        "date_format",
        "decimal",
        "adjusted",
        "duplicates",
        "form",
        "every",
        "features",
    ),
}


def commands_with_agents() -> Iterator[Any]:
    """Yield every command that starts agents in a sandbox."""
    waiting = [typer.main.get_command(app)]
    while waiting:
        command: Any = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [command.get_command(None, name) for name in command.list_commands(None)]
        elif any(each.name == "sandbox" for each in command.params):
            yield command


def parameters_of(command: Any, kind: str) -> set[str]:
    """Return the parameters of a command that are annotated with a type."""
    parameters = inspect.signature(command.callback).parameters.items()
    return {name for name, each in parameters if re.search(rf"\b{kind}\b", str(each.annotation))}


def test_every_option_with_a_path_is_collected() -> None:
    """A new option that is a text must be in one of the two lists."""
    commands = list(commands_with_agents())
    assert {each.name for each in commands} == {"run", "conformance", "contamination"}
    assert len(commands) == 4
    for command in commands:
        assert parameters_of(command, "str") - NO_PATHS - set(SOURCES) == set(), command.name
        values: dict[str, Any] = {name: Path(f"{name}.file") for name in parameters_of(command, "Path")}
        assert values, command.name
        context = typer.Context(command)
        context.params = values
        assert {path.absolute() for path in values.values()} <= set(hidden_paths(context)), command.name


def collected(**params: Any) -> set[str]:
    context = typer.Context(next(commands_with_agents()))
    context.params = params
    return {os.path.relpath(path) for path in hidden_paths(context)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "agent"
    made.mkdir()
    monkeypatch.chdir(made)
    for name in [name for name in os.environ if name.startswith("OPENOUTCRY_")]:
        monkeypatch.delenv(name)
    return made


def test_companions_of_a_file_are_hidden(folder: Path) -> None:
    for name in ("prices.csv", "frozen.npz", "suite.json"):
        (folder / name).touch()
    found = collected(
        source="frozen.npz", data=["prices.csv", "us-treasury"], record=Path("a.json"), agent="suite.json"
    )
    assert {"frozen.json", "frozen.npz", "prices.csv", "a.json", "a.json.parts"} <= found
    assert not found & {"suite.json", "us-treasury"}
    assert "suite.json" in collected(source="suite.json")


def test_a_market_of_the_package_and_standard_input_are_no_paths(folder: Path) -> None:
    (folder / "ecb-fx").mkdir()
    assert not {each for each in collected(source="ecb-fx:all", keys=Path("-")) if not each.startswith("..")}


def test_variables_name_paths_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("secret", "settings.json"):
        (folder / name).touch()
    for name, value in (
        ("LEDGER", "trials"),
        ("CACHE", "cache"),
        ("HELD_OUT_SECRET", "@secret"),
        ("SETTINGS", "settings.json"),
        ("LOCK_SECONDS", "3"),
    ):
        monkeypatch.setenv(f"OPENOUTCRY_{name}", value)
    found = collected()
    assert {"trials", "cache", "secret", "settings.json"} <= found
    assert "3" not in found


def test_files_in_a_folder_around_the_agent_are_hidden(folder: Path) -> None:
    (folder / "00003.jsonl").touch()
    for place in (".", "..", str(folder), f"../{folder.name}"):
        found = {os.path.relpath(each) for each in collected(ledger_dir=Path(place))}
        base = "" if place not in ("..",) else "../"
        assert {f"{base}lock", f"{base}index.sqlite", f"{base}index.sqlite-wal", f"{base}run_ledger.jsonl"} <= found
        assert not found & {".", ".."}
    assert {"00003.jsonl", "00004.jsonl"} <= collected(ledger_dir=Path())


def test_parts_of_a_killed_process_are_hidden(folder: Path) -> None:
    """A killed run leaves its complete record under another name, and the next run may continue it."""
    left = ["[a].json.0f3a.part", ".[a].json.77"]
    around = ["index.sqlite.77.tmp", "tmp0f3a.part"]
    for name in (*left, *around, "a.json.0f3a.part", "own.csv"):
        (folder / name).touch()
    assert set(left) <= collected(record=Path("[a].json"))
    assert set(around) <= collected(ledger_dir=Path())
    assert not collected(record=Path("[a].json"), ledger_dir=Path("ledger")) & {"a.json.0f3a.part", "own.csv"}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="a sandbox needs Linux")
def test_files_of_standard_input_and_output_are_hidden(folder: Path) -> None:
    """`suite run --keys - < season.keys` names the keys as much as `--keys season.keys`."""
    list_hidden = (
        "import typer; from openoutcry.cli.commands import app; from openoutcry.cli.hidden_paths import hidden_paths;"
        "context = typer.Context(typer.main.get_command(app)); print(*hidden_paths(context), sep='\\n')"
    )
    (folder / "season.keys").touch()
    with (folder / "season.keys").open() as keys, (folder / "printed").open("w") as printed:
        subprocess.run([sys.executable, "-c", list_hidden], stdin=keys, stdout=printed, check=True)
    hidden = (folder / "printed").read_text().splitlines()
    assert {str(folder / "season.keys"), str(folder / "printed")} <= set(hidden)


SPY = """
import fcntl, glob, os, sys, time
waits = False
for line in sys.stdin:
    for path in ["ledger/lock", "../agent/ledger/lock", *glob.glob("**/*", recursive=True)]:
        try:
            file = os.open(path, os.O_RDONLY)
            if b"ret" b"urns" in os.read(file, 2**20):
                print("read", path, file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if "lock" in path:
                print("locked", path, file=sys.stderr, flush=True)
        except OSError:
            pass
    print('{"orders": []}', flush=True)
    waits = True
if waits:
    time.sleep(60)
"""
TIERS = [each.name for each in (Tier.T2, Tier.T3) if each <= HOST.tier]


def run_spy(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = os.path.realpath(sys.executable)
    command = [Path(sys.executable).with_name("openoutcry"), "run", "--agent", f"cmd:{program} -I -S spy.py"]
    command += ["--window", "19:22", "--ledger", "--ledger-dir", "./ledger", "--output-dir", "out", "--force"]
    return subprocess.run(
        [*command, "--record", "record.json", *options],
        capture_output=True,
        text=True,
        timeout=30.0,
        env=os.environ | variables,
    )


@pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}")
def test_an_agent_neither_reads_nor_locks_the_ledger_in_its_folder(folder: Path) -> None:
    (folder / "spy.py").write_text(SPY)
    for _ in range(2):
        made = run_spy()
        assert made.returncode == 0, made.stderr
        assert "a new trial" in made.stdout or "a known trial" in made.stdout
        assert re.findall("^(?:read|locked) .*", made.stderr, re.MULTILINE) == []
    assert (folder / "ledger" / "00000.jsonl").read_text().count('"returns"') == 2


def test_an_agent_without_a_sandbox_ends_before_the_ledger_is_written(folder: Path) -> None:
    (folder / "spy.py").write_text(SPY)
    assert run_spy("--sandbox", "none").returncode == 0
    # The lock of the first run is there now; the agent holds it until its end.
    made = run_spy("--sandbox", "none", **{VARIABLE: "5"})
    assert "locked ledger/lock" in made.stderr
    assert made.returncode == 0, made.stderr
