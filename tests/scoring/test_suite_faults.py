"""`openoutcry suite run` where it fails: what it says of the agent, of the record and of the markets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import openoutcry as oo
from openoutcry.scenarios.scenario import ScenarioSpec
from openoutcry.scoring.suite import Suite

pytestmark = pytest.mark.once

SUPPORT = Path(__file__).parents[1] / "support"
COMMAND = Path(sys.executable).with_name("openoutcry")
PUBLIC: dict[str, Any] = {
    "name": "ecb-fx",
    "fingerprint": oo.data.load("ecb-fx").fingerprint,
    "windows": [["2020-01-01", "2020-02-01"]],
}
HIDDEN: dict[str, Any] = {
    "name": "hidden",
    "scenario": json.loads(ScenarioSpec("calm", n_symbols=3, n_days=60).to_json()),
    "windows": [[20, 40]],
}
SEEN = (
    "the agent has seen sealed windows up to where it stopped, so a new evaluation under this suite is not out of"
    " sample"
)


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the agents."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def season(folder: Path, *markets: dict[str, Any], seeds: tuple[int, ...] = (4, 1)) -> list[str | Path]:
    """Write a suite and its keys, and return the command that runs it."""
    fields = {"suite_version": "1.0", "name": "small", "edition": "1", "markets": markets, "seeds": seeds}
    suite, keys = Suite.from_json(json.dumps(fields)).seal()
    (folder / "season.json").write_text(suite.to_json(), encoding="utf-8")
    (folder / "season.keys").write_text(json.dumps({"suite": suite.digest, "keys": keys}), encoding="utf-8")
    return [COMMAND, "suite", "run", folder / "season.json", "--keys", folder / "season.keys"]


def failed(command: list[str | Path], code: int) -> str:
    """Return the last line that a command says, which must end so."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "openoutcry/" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_failed_evaluation_says_that_its_sealed_windows_are_no_secret(tmp_path: Path) -> None:
    for markets, is_said in (([PUBLIC, HIDDEN], True), ([PUBLIC], False)):
        command = [*season(tmp_path, *markets, seeds=tuple(range(40))), "--agent", "process_agents:hold"]
        told = failed(limited([*command, "--record", tmp_path / "r.json"]), 1)
        assert (SEEN in told, "continue with `--resume`" in told) == (is_said, is_said), told
        shutil.rmtree(tmp_path / "r.json.parts")
    # What has not begun has seen nothing.
    command = season(tmp_path, HIDDEN)
    assert SEEN not in failed([*command, "--agent", "process_agents:nobody", "--record", tmp_path / "r.json"], 2)


def limited(command: list[str | Path]) -> list[str | Path]:
    """Return a command that may open few files."""
    return ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command]


def test_runs_that_the_agent_removes_are_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "r.json"
    monkeypatch.setenv("AGENT_RECORD", str(tmp_path / "r.json.parts" / "00000.jsonl"))
    run = [*season(tmp_path, HIDDEN), "--agent", "process_agents:remover", "--env", "AGENT_RECORD", "--record", record]
    # In the sandbox there is nothing to be seen of it.
    subprocess.run([*run, "--force"], check=True, capture_output=True)
    told = failed([*run, "--force", "--sandbox", "none"], 2)
    assert f"received '{tmp_path / 'r.json.parts' / '00000.jsonl'}', removed or replaced" in told
    assert SEEN in told


def test_more_seeds_than_the_host_has_descriptors_for_are_counted(tmp_path: Path) -> None:
    run = [*season(tmp_path, HIDDEN, seeds=tuple(range(40))), "--agent", "process_agents:hold"]
    told = failed(limited([*run, "--record", tmp_path / "r.json"]), 1)
    assert "agent_not_started: as many agents at a time as the host has processes and descriptors for" in told
    assert "while starting 40 agents at the same time, one for each seed of a window" in told


@pytest.mark.parametrize("seconds", ["3000000", "1e12"])
def test_an_agent_may_be_given_any_time(tmp_path: Path, seconds: str) -> None:
    run = [
        *season(tmp_path, HIDDEN),
        "--agent",
        "process_agents:hold",
        "--timeout",
        seconds,
        "--start-timeout",
        seconds,
    ]
    subprocess.run([*run, "--record", tmp_path / "r.json"], check=True, capture_output=True)
    assert len(oo.RunRecord.load(tmp_path / "r.json")) == 2
