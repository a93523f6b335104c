"""The script that measures the duration of a turn, with and without the framework."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "verifiers_overhead.py"
PARTS = {"setup", "responses", "replay", "records", "rewards"}


def test_the_script_measures_environment_and_framework() -> None:
    command = [sys.executable, str(SCRIPT), "--episodes", "2", "--tier", "easy"]
    measured = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert measured["turns"] == 20
    assert set(measured["ours_us_per_turn"]) == PARTS
    assert all(each > 0.0 for each in measured["ours_us_per_turn"].values())
    assert measured["framework_us_per_turn"] > measured["ours_us_per_turn"]["responses"]
