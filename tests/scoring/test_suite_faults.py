"""Failures of `openoutcry suite run`: messages about agent, journal and sealed windows."""

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
    """Put the test agents on `PYTHONPATH`."""
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
    """Run a command that must fail with `code`, and return the last line of its standard error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "openoutcry/" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_failed_evaluation_warns_that_sealed_windows_were_seen(tmp_path: Path) -> None:
    for markets, is_said in (([PUBLIC, HIDDEN], True), ([PUBLIC], False)):
        command = [*season(tmp_path, *markets, seeds=tuple(range(40))), "--agent", "process_agents:hold"]
        error = failed(limited([*command, "--record", tmp_path / "r.json"]), 1)
        assert (SEEN in error, "continue with `--resume`" in error) == (is_said, is_said), error
        shutil.rmtree(tmp_path / "r.json.parts")
    # An agent that does not start has seen no window.
    command = season(tmp_path, HIDDEN)
    assert SEEN not in failed([*command, "--agent", "process_agents:nobody", "--record", tmp_path / "r.json"], 2)


def limited(command: list[str | Path]) -> list[str | Path]:
    """Return the command with a low limit of open files."""
    return ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command]


def test_a_journal_removed_by_the_agent_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "r.json"
    monkeypatch.setenv("AGENT_RECORD", str(tmp_path / "r.json.parts" / "00000.jsonl"))
    run = [*season(tmp_path, HIDDEN), "--agent", "process_agents:remover", "--env", "AGENT_RECORD", "--record", record]
    # The sandbox hides the journal.
    subprocess.run([*run, "--force"], check=True, capture_output=True)
    error = failed([*run, "--force", "--sandbox", "none"], 2)
    assert f"received '{tmp_path / 'r.json.parts' / '00000.jsonl'}', removed or replaced" in error
    assert SEEN in error


def test_too_many_seeds_for_the_file_descriptors_are_reported(tmp_path: Path) -> None:
    run = [*season(tmp_path, HIDDEN, seeds=tuple(range(40))), "--agent", "process_agents:hold"]
    error = failed(limited([*run, "--record", tmp_path / "r.json"]), 1)
    assert "agent_not_started: the host must have a free process and file descriptor for each agent" in error
    assert "while starting 40 agents at the same time, one for each seed of a window" in error


@pytest.mark.parametrize("seconds", ["3000000", "1e12"])
def test_long_timeouts_are_accepted(tmp_path: Path, seconds: str) -> None:
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
