"""The martingale gate detects each bug that is planted in the engine; release builds cannot plant one."""

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

# Planted bug -> setting of the run, whether the gain alone is significant, and whether the accounting check fails.
# Rounding to whole shares at a capital of a million is worth 2 bp of traded notional, less than the noise.
FAULTS = {
    "none": ("free", False, False),
    "fee-credited": ("fee", True, True),
    "proceeds-twice": ("free", True, True),
    "same-bar-fill": ("free", True, True),
    "lots-rounded": ("free", False, True),
    "short-free": ("free", True, True),
    "fills-chosen": ("free", True, False),
    # A tenth and a millionth of a basis point of traded notional.
    "fee-credited=0.505": ("fee", False, True),
    "lots-rounded=0.05": ("free", False, True),
    "proceeds-twice=2e-10": ("free", False, True),
}


def call(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the engine with a planted bug."""
    command = [sys.executable, str(ROOT / "scripts" / "planted.py"), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@cache
def run_gate(fault: str, setting: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the verdict of the gate on a planted bug."""
    done = call(fault, *GATE, setting)
    assert done.returncode in (0, 1), done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, verdict


@pytest.mark.parametrize("fault", list(FAULTS)[: count(len(FAULTS), len(FAULTS) - 2)])
def test_the_gate_detects_a_planted_bug(fault: str) -> None:
    setting, gains, unexplained = FAULTS[fault]
    code, verdict = run_gate(fault, setting)
    assert (code, verdict["passed"]) == ((0, True) if fault == "none" else (1, False))
    assert any(row["gains"] for row in verdict["rows"]) is gains
    assert any(row["unexplained"] for row in verdict["rows"]) is unexplained


def test_a_bug_in_short_positions_does_not_show_without_shorts() -> None:
    assert run_gate("short-free", "long-only")[0] == 0


def test_an_unknown_bug_is_refused() -> None:
    assert "unknown fault nothing" in call("nothing", *GATE, "free").stderr


def test_the_shipped_engine_cannot_plant_a_bug() -> None:
    assert not hasattr(oo.openoutcry_py, "plant")
    for crate in ("engine", "env", "python"):
        manifest = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text(encoding="utf-8"))
        # There is no `default` feature and no other feature that enables it.
        assert list(manifest["features"]) == ["planted"]
        assert "features" not in str(manifest["dependencies"])
    assert "features" not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]


def test_the_hooks_for_planted_bugs_are_compiled_only_with_the_feature() -> None:
    hooks = []
    for path in sorted((ROOT / "rust").rglob("src/**/*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            if path.name != "planted_faults.rs" and "planted" in line and "feature" not in line and "///" not in line:
                hooks.append(line.strip())
                assert before.strip() in {'#[cfg(feature = "planted")]', "fn plant(fault: &str, size: f64) -> bool {"}
    assert len(hooks) == 8
