"""Invalid input to the JavaScript interface: refused with a slug, without traps, state changes or leaks."""

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
def results() -> Any:
    print(f"{ROUNDS} changed texts of each of {N_FUZZED} kinds, of fixed seeds")
    package = ROOT / "rust" / "wasm" / "npm" / "dist"
    words = ["node", ROOT / "tests" / "everywhere" / "attacks.mjs", package, str(ROUNDS)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_invalid_input_is_refused_with_a_slug(results: Any) -> None:
    assert len(results["refusals"]) == 106
    assert {name: slug for name, slug in results["refusals"].items() if slug not in SLUGS} == {}


def test_text_and_numbers_pass_through_unchanged(results: Any) -> None:
    def fingerprint(**more: Any) -> str:
        dates = ["2024-01-02", "2024-01-03", "2024-01-04"]
        return oo.Dataset.from_arrays(dates, ["A"], np.array([[1.0], [2.0], [3.0]]), **more).fingerprint

    zero = fingerprint(risk_free=np.array([0.0, -0.0, 0.0]))
    assert zero != fingerprint(risk_free=np.zeros(3))
    assert results["lossless"] == {
        "a negative zero": zero,
        "rows that are arrays of doubles": fingerprint(),
        "an undefined column": fingerprint(),
        "a gap by either name": 1,
        "the maximum number of trials": 2**53 - 1,
        "a 64-bit seed of the draws": 1,
        "nested runs": True,
        "settings of another realm": True,
        "settings without a class": True,
        "no limit by either name": 1,
    }


def test_fuzzed_input_is_accepted_or_refused_without_a_trap(results: Any) -> None:
    assert results["wrong"] == []
    assert results["refused"] > N_FUZZED * ROUNDS / 2


def test_the_engine_is_unchanged_after_all_attacks(results: Any) -> None:
    assert results["again"] is True


def test_a_run_releases_its_memory(results: Any) -> None:
    assert results["grown"] == 0
