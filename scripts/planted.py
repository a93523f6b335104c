#!/usr/bin/env python3
"""Run the martingale gate on an engine with faults that are planted in it.

    scripts/planted.py --fault fee-credited --fault lots-rounded=0.01 --setting fee --markets 20

Builds the engine with the feature `planted` into target/planted, which nothing ships, and lays it over the installed
package in a folder there. Prints a JSON object a fault; a size after `=` is what part of the fault is planted, 1 for
the whole, and the fault `none` is none.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "cargo build --profile planted --package openoutcry-py --features planted --locked --message-format json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", action="append", required=True, help="NAME or NAME=SIZE; once or more")
    parser.add_argument("--setting", action="append", default=[], help="costs and limits by name; all by default")
    parser.add_argument("--markets", type=int, default=20)
    parser.add_argument("--bars", type=int, default=120)
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def built() -> Path:
    """Build the engine and return its library."""
    # The stable ABI settles what pyo3 would ask an interpreter for: so no other environment makes it build anew.
    clean = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYO3_PYTHON"}}
    clean |= {"PYO3_NO_PYTHON": "1", "PYO3_BUILD_EXTENSION_MODULE": "1"}
    made = subprocess.run(BUILD.split(), cwd=ROOT, env=clean, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, made.stdout.splitlines())
    names = [name for each in messages for name in each.get("filenames", []) if "openoutcry_py" in Path(name).name]
    return Path(next(name for name in names if Path(name).suffix in {".so", ".dylib", ".dll"}))


def overlay(library: Path) -> Path:
    """Copy the package with the library in place of its own, and return the folder."""
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


def judge(given: argparse.Namespace) -> None:
    """Print what the gate says of each fault."""
    from openoutcry import openoutcry_py as native
    from openoutcry.martingale import SETTINGS, Hunt, check

    settings = [each for each in SETTINGS if not given.setting or each.name in given.setting]
    for fault in given.fault:
        name, _, size = fault.partition("=")
        if native.plant(name, float(size or 1.0)) is (name == "none"):
            raise SystemExit(f"error: no fault is called {name}")
        hunt = Hunt(given.generations, population=12, n_markets=6, n_bars=30)
        verdict = check(settings, n_markets=given.markets, n_bars=given.bars, hunt=hunt, seed=given.seed)
        told = {"fault": name, "size": float(size or 1.0), "passed": verdict.passed}
        for kind in ("gains", "unexplained"):
            told[kind] = sorted({row.setting for row in verdict.rows if getattr(row, kind)})
        print(json.dumps(told | {"bots": sorted({row.bot for row in verdict.failures})}), flush=True)


def main() -> None:
    given = arguments()
    if given.inside:
        judge(given)
        return
    environment = os.environ | {"PYTHONPATH": str(overlay(built()))}
    command = [sys.executable, __file__, *sys.argv[1:], "--inside"]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
