"""What the environment takes of a turn, and that the script that measures it does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "verifiers_overhead.py"


@pytest.mark.parametrize("style", ["tools", "text"])
def test_an_answer_takes_less_than_100_us_and_the_framework_more(style: str) -> None:
    command = [sys.executable, str(SCRIPT), "--episodes", "10", "--style", style]
    measured = []
    # A machine that is busy makes it slower and never faster.
    while len(measured) < 3 and not (measured and measured[-1]["ours_us_per_turn"]["answering"] < 100.0):
        measured.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert measured[-1]["ours_us_per_turn"]["answering"] < 100.0, measured
    assert measured[-1]["framework_us_per_turn"] > measured[-1]["ours_total_us_per_turn"]
