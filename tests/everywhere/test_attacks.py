"""What is no input of the JavaScript door: refused in words, never a trap, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count

import openoutcry as oo

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = count(2_000, 200)
SLUGS = {each["slug"] for each in json.loads((ROOT / "contract" / "errors.json").read_text(encoding="utf-8"))["errors"]}
N_FUZZED = 10


@pytest.fixture(scope="module")
def told() -> Any:
    print(f"{ROUNDS} changed texts of each of {N_FUZZED} kinds, of fixed seeds")
    package = ROOT / "rust" / "wasm" / "npm" / "dist"
    words = ["node", ROOT / "tests" / "everywhere" / "attacks.mjs", package, str(ROUNDS)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_what_is_no_input_is_refused_with_a_slug(told: Any) -> None:
    assert len(told["refusals"]) == 106
    assert {name: slug for name, slug in told["refusals"].items() if slug not in SLUGS} == {}


def test_what_is_said_comes_through_as_it_was_said(told: Any) -> None:
    def fingerprint(**more: Any) -> str:
        dates = ["2024-01-02", "2024-01-03", "2024-01-04"]
        return oo.Dataset.from_arrays(dates, ["A"], np.array([[1.0], [2.0], [3.0]]), **more).fingerprint

    zero = fingerprint(risk_free=np.array([0.0, -0.0, 0.0]))
    assert zero != fingerprint(risk_free=np.zeros(3))
    assert told["lossless"] == {
        "a zero below zero": zero,
        "rows that are arrays of doubles": fingerprint(),
        "what is undefined": fingerprint(),
        "a gap by either name": 1,
        "as many trials as a record can say": 2**53 - 1,
        "a seed of the draws of 64 bits": 1,
        "a run within runs": True,
        "settings of another realm": True,
        "settings without a class": True,
        "no limit by either name": 1,
    }


def test_a_text_that_was_changed_is_taken_or_refused_and_never_a_trap(told: Any) -> None:
    assert told["wrong"] == []
    assert told["refused"] > N_FUZZED * ROUNDS / 2


def test_the_engine_is_as_it_was_after_all_of_them(told: Any) -> None:
    assert told["again"] is True


def test_a_run_gives_its_memory_back(told: Any) -> None:
    assert told["grown"] == 0
