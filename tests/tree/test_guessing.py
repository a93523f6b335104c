"""The guessing test: questions in standard words, and the files that answer them.

The test: answer each question with one path, from the list of paths alone. `guessing_test.json` has the right files, so
that a moved file fails here: update its path, and repeat the question with the new list.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads(Path(__file__).with_name("guessing_test.json").read_text(encoding="utf-8"))


def test_every_answer_of_the_guessing_test_is_a_file() -> None:
    assert len(CASES) == 60
    assert [file for case in CASES for file in case["files"] if not (ROOT / file).is_file()] == []
