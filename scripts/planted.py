#!/usr/bin/env python3
"""Run an `openoutcry` command on an engine with a deliberately planted bug.

    scripts/planted.py fee-credited martingale --setting fee
    scripts/planted.py lots-rounded=0.01 martingale --json

Builds the engine with the Cargo feature `planted` into target/planted, which is never released, and copies the
installed package with that engine into a folder there. The number after `=` scales the bug, 1 by default; `none`
plants no bug. rust/engine/src/step/planted_faults.rs defines the bugs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "cargo build --profile planted --package openoutcry-py --features planted --locked --message-format json"
INSIDE = """
import sys
from openoutcry import openoutcry_py as native
from openoutcry.cli import main
fault, _, size = sys.argv.pop(1).partition("=")
if native.plant(fault, float(size or 1.0)) is (fault == "none"):
    raise SystemExit(f"error: unknown fault {fault}")
main()
"""


def built() -> Path:
    """Build the engine and return the path of its library."""
    # With the stable ABI, pyo3 needs no interpreter; without one, a change of environment causes no rebuild.
    clean = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYO3_PYTHON"}}
    clean |= {"PYO3_NO_PYTHON": "1", "PYO3_BUILD_EXTENSION_MODULE": "1"}
    made = subprocess.run(BUILD.split(), cwd=ROOT, env=clean, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, made.stdout.splitlines())
    names = [name for each in messages for name in each.get("filenames", []) if "openoutcry_py" in Path(name).name]
    return Path(next(name for name in names if Path(name).suffix in {".so", ".dylib", ".dll"}))


def overlay(library: Path) -> Path:
    """Copy the installed package, replace its native library and return the folder."""
    spec = find_spec("openoutcry")
    assert spec is not None, "openoutcry must be installed"
    assert spec.submodule_search_locations is not None, "openoutcry is a package"
    folder = library.parent / "overlay"
    shutil.rmtree(folder, ignore_errors=True)
    package = Path(spec.submodule_search_locations[0])
    shutil.copytree(package, folder / "openoutcry", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    ending = ".pyd" if library.suffix == ".dll" else ".abi3.so"
    shutil.copy(library, folder / "openoutcry" / f"openoutcry_py{ending}")
    return folder


def main() -> None:
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    environment = os.environ | {"PYTHONPATH": str(overlay(built()))}
    command = [sys.executable, "-c", INSIDE, *sys.argv[1:]]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
