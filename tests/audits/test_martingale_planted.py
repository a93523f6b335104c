"""The martingale gate finds each fault that is planted in the engine, which ships without the switch for them."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib
from builders import count

import openoutcry as oo

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
GATE = ["martingale", "--json", "--markets", "16", "--bars", "80", "--generations", "4", "--setting"]

# Fault -> the setting it is looked for in, whether the gain alone is significant, and whether the books show it.
# Rounding to whole lots, of a share at a capital of a million, gives 2 bp of what is traded: less than the noise.
FAULTS = {
    "none": ("free", False, False),
    "fee-credited": ("fee", True, True),
    "proceeds-twice": ("free", True, True),
    "same-bar-fill": ("free", True, True),
    "lots-rounded": ("free", False, True),
    "short-free": ("free", True, True),
    "fills-chosen": ("free", True, False),
    # A tenth of a basis point of what is traded, and a thousandth of a thousandth of one.
    "fee-credited=0.505": ("fee", False, True),
    "lots-rounded=0.05": ("free", False, True),
    "proceeds-twice=2e-10": ("free", False, True),
}


def call(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the engine with a fault."""
    command = [sys.executable, str(ROOT / "scripts" / "planted.py"), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@cache
def judged(fault: str, setting: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of the gate on a fault, and its verdict."""
    done = call(fault, *GATE, setting)
    assert done.returncode in (0, 1), done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, verdict


@pytest.mark.parametrize("fault", list(FAULTS)[: count(len(FAULTS), len(FAULTS) - 2)])
def test_the_gate_finds_what_is_planted(fault: str) -> None:
    setting, gains, unexplained = FAULTS[fault]
    code, verdict = judged(fault, setting)
    assert (code, verdict["passed"]) == ((0, True) if fault == "none" else (1, False))
    assert any(row["gains"] for row in verdict["rows"]) is gains
    assert any(row["unexplained"] for row in verdict["rows"]) is unexplained


def test_a_fault_of_shorts_is_none_of_a_setting_without_them() -> None:
    assert judged("short-free", "long-only")[0] == 0


def test_an_unknown_fault_is_refused() -> None:
    assert "no fault is called nothing" in call("nothing", *GATE, "free").stderr


def test_the_shipped_engine_has_no_such_switch() -> None:
    assert not hasattr(oo.openoutcry_py, "plant")
    for crate in ("engine", "env", "python"):
        manifest = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text(encoding="utf-8"))
        # No `default`, and nothing else that could bring it.
        assert list(manifest["features"]) == ["planted"]
        assert "features" not in str(manifest["dependencies"])
    assert "features" not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]


def test_the_hooks_of_the_faults_are_compiled_for_tests_alone() -> None:
    hooks = []
    for path in sorted((ROOT / "rust").rglob("src/**/*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            if path.name != "planted.rs" and "planted" in line and "feature" not in line and "///" not in line:
                hooks.append(line.strip())
                assert before.strip() in {'#[cfg(feature = "planted")]', "fn plant(fault: &str, size: f64) -> bool {"}
    assert len(hooks) == 7
