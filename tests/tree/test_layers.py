"""Layers: the imports of each Python module. A new import or module fails until its row is added.

`test_rust_layers.py` tests the crates.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from crate_layers import RUST
from layer_checks import (
    BY_NAME,
    FOLDERS,
    IMPORTS,
    MODULES,
    PACKAGE,
    SOURCES,
    TEXTS,
    arrows_of,
    belongs,
    docstring_faults,
    layer_of,
    python_faults,
    uses,
)
from layers import DEFERRED, DEFERRED_CYCLES, LAYERS, ROOT_NAMES
from rust_graph import cycles

pytestmark = pytest.mark.once


@pytest.mark.parametrize("module", SOURCES)
def test_a_python_module_imports_what_its_layer_allows(module: str) -> None:
    assert python_faults(module, TEXTS[module]) == []


def test_every_row_has_modules() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)


def test_a_row_names_only_rows_above_it() -> None:
    names = list(LAYERS)
    below = {name: row.layers - set(names[: names.index(name)]) for name, row in LAYERS.items()}
    assert {name: rows for name, rows in below.items() if rows} == {}


def test_a_row_allows_only_imports_that_occur() -> None:
    unused = {}
    for name, used in uses().items():
        row = LAYERS[name]
        at_once = {target for target, later in used.items() if not later}
        unused[name] = (row.layers | row.libraries) - at_once | row.deferred - set(used)
        unused[name] |= {module for module in row.by_name if BY_NAME not in dict(IMPORTS[module])}
    assert {name: targets for name, targets in unused.items() if targets} == {}


def is_needed(source: str, to: str) -> bool:
    """Return whether a deferred import needs a row of `DEFERRED`, because its layer does not allow it."""
    for module, targets in IMPORTS.items():
        if belongs(module, source):
            name = layer_of(module)
            found = [layer_of(target) for target, later in targets if later and belongs(target, to)]
            if set(found) - {name} - LAYERS[name].layers:
                return True
    return False


def test_every_deferred_import_occurs_and_needs_its_row() -> None:
    assert [row for row in DEFERRED if not is_needed(*row)] == []
    read = {name: {m for m, targets in IMPORTS.items() if f"openoutcry.{name}" in dict(targets)} for name in ROOT_NAMES}
    assert read == ROOT_NAMES


def cycles_of(texts: dict[str, str]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cycles of files, and those that remain without the known deferred imports."""
    arrows = arrows_of(texts)
    known = {module: {to for module_, to in DEFERRED_CYCLES if module_ == module} for module in arrows}
    return cycles(arrows), cycles({module: targets - known[module] for module, targets in arrows.items()})


def test_no_file_is_part_of_a_cycle_apart_from_the_known_deferred_imports() -> None:
    assert cycles_of(TEXTS) == (sorted(map(sorted, DEFERRED_CYCLES.values())), [])


PLANTED_CYCLES = {
    "two files": {
        "errors": "from openoutcry.arguments import text",
        "arguments": "from openoutcry.errors import refusal",
    },
    "an import in a function": {
        "records.keys": "from openoutcry.records.run_record import RunRecord",
        "records.run_record": "def f():\n    from openoutcry.records.keys import sign",
    },
    "an import for types": {
        "records.keys": "from openoutcry.records.run_record import RunRecord",
        "records.run_record": "if TYPE_CHECKING:\n    from openoutcry.records.keys import sign",
    },
    "a deferred row": {
        "gym.environment": "def f():\n    from openoutcry.report.charts.raster import draw",
        "report.charts.raster": "from openoutcry.gym.environment import OpenOutcryEnv",
    },
    "a package": {
        "records": "from openoutcry.errors import refusal",
        "errors": "from openoutcry.records.keys import sign",
    },
}


@pytest.mark.parametrize("planted", PLANTED_CYCLES.values(), ids=list(PLANTED_CYCLES))
def test_a_planted_cycle_is_found(planted: dict[str, str]) -> None:
    found = [sorted(f"openoutcry.{module}" for module in planted)]
    assert cycles_of({f"openoutcry.{module}": text for module, text in planted.items()}) == (found, found)


def test_a_cycle_through_a_known_deferred_import_must_be_that_of_the_table() -> None:
    run = "def f():\n    from openoutcry.report.run_report import plot"
    texts = {
        "openoutcry.backtest.run": run,
        "openoutcry.report.run_report": "from openoutcry.report.score_report import plot",
        "openoutcry.report.score_report": "from openoutcry.backtest.run import Run",
    }
    found, without = cycles_of(texts)
    assert (found, without) == ([sorted(texts)], [])
    assert set(found[0]) not in DEFERRED_CYCLES.values()


FLAT = 8
# Names with the same meaning in every folder, and files that tools look for.
COMMON = {"__init__", "__main__", "build", "conftest", "env", "error", "lib", "main", "mod"}


def test_few_modules_are_outside_of_folders() -> None:
    flat = [path.name for path in PACKAGE.iterdir() if path.suffix in {".py", ".pyi"}]
    assert len(flat) <= FLAT, flat


def test_every_folder_has_a_docstring_of_its_contents_and_imports() -> None:
    # Alembic runs the migrations as scripts, which are no package.
    assert {path.parent for path in SOURCES.values() if "migrations" not in path.parts} - {PACKAGE} == {
        SOURCES[folder].parent for folder in FOLDERS
    }
    texts = {folder: ast.get_docstring(ast.parse(TEXTS[folder])) or "" for folder in FOLDERS}
    assert [folder for folder, text in texts.items() if len(text.splitlines()) < 3] == []
    assert [fault for folder, text in sorted(texts.items()) for fault in docstring_faults(folder, text)] == []


def test_a_planted_docstring_is_found() -> None:
    stated = "Imports `errors`, `data`, `cli` and\n`arguments`."
    assert docstring_faults("openoutcry.agents", f"Agents.\n\n{stated}") == [
        "openoutcry.agents imports openoutcry_py",
        "openoutcry.agents does not import cli",
    ]
    assert docstring_faults("openoutcry.agents", "Agents.") == ["openoutcry.agents must state what it imports"]


# Base names of more than two files, with their number.
REPEATED = {
    # The arrays of a batch: of Gymnasium, of the Rust batch, and the binding between them.
    "buffers": 3,
    # `Dataset`: the Rust type, its two bindings, and the Python class.
    "dataset": 4,
    # The trading environment: of Gymnasium, and the bindings of the Rust type.
    "environment": 3,
    # The power of a test: the calculation in Rust, its Python interface, and the verb `power`.
    "power": 3,
    # A backtest: in Rust, its binding, its Python interface, and the verb `run`.
    "run": 4,
    # The verdict of the scorer: two bindings, and the Python result. The Rust module is a folder.
    "verdict": 3,
}


def test_no_base_name_occurs_more_than_twice() -> None:
    names = Counter(path.stem for path in [*SOURCES.values(), *RUST] if path.stem not in COMMON)
    assert {name: count for name, count in names.items() if count > 2} == REPEATED


IMPORTED = """
import sys
before = set(sys.modules)
import {module}
# Compiled modules add entries without a spec, which are not imports.
new = {{name.partition(".")[0] for name in set(sys.modules) - before if getattr(sys.modules[name], "__spec__", None)}}
print(*sorted(new - sys.stdlib_module_names))
"""


@pytest.mark.parametrize("module", ["openoutcry", "openoutcry.harness.conformance", "openoutcry.report"])
def test_importing_a_module_imports_only_numpy(module: str, tmp_path: Path) -> None:
    code = IMPORTED.format(module=module)
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert {"openoutcry"} <= set(printed.stdout.split()) <= {"numpy", "openoutcry"}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("openoutcry.backtest.run", "import gymnasium"),
        ("openoutcry.backtest.run", "import pandas as pd"),
        ("openoutcry.backtest.run", "from openoutcry.cli import main"),
        ("openoutcry.backtest.run", "def f():\n    from openoutcry import cli"),
        ("openoutcry.backtest.run", "from openoutcry.report import run_report"),
        ("openoutcry.backtest.run", "if TYPE_CHECKING:\n    from openoutcry.gym import OpenOutcryEnv"),
        ("openoutcry.backtest.run", "try:\n    import polars\nexcept ImportError:\n    polars = None"),
        ("openoutcry.backtest.run", "import importlib\nimportlib.import_module('gymnasium')"),
        ("openoutcry.backtest.run", "from . import dataset"),
        ("openoutcry.data.dataset", "import pyarrow"),
        ("openoutcry.report.charts.equity_charts", "from openoutcry.backtest.run import Run"),
        ("openoutcry.report.charts.equity_charts", "def f():\n    import matplotlib"),
        ("openoutcry.gym", "import torch"),
        ("openoutcry.gym", "def f():\n    from openoutcry.sb3 import OpenOutcryVecEnv"),
        ("openoutcry.vector", "import torch"),
        ("openoutcry.vector", "def f():\n    from openoutcry.sb3 import OpenOutcryVecEnv"),
        ("openoutcry.sb3", "import torch"),
        ("openoutcry.sb3", "from openoutcry.testing import check_vector_env"),
        ("openoutcry.puffer", "import stable_baselines3"),
        ("openoutcry.testing", "from openoutcry.vector import OpenOutcryVectorEnv"),
        ("openoutcry.gym", "from openoutcry import OpenOutcryEnv"),
        ("openoutcry.cli.run", "import pandas"),
        ("openoutcry.arena.snapshots.item_ranking", "from openoutcry.arena.sources.source_plan import Plan"),
        ("openoutcry.arena.sources.kalshi", "from openoutcry import cli"),
        # No score may depend on how newsworthy a kind is.
        ("openoutcry.scoring.scorer", "from openoutcry.arena.snapshots.item_ranking import WEIGHTS"),
        ("openoutcry.arena.scoring", "from openoutcry.arena.snapshots.item_ranking import WEIGHTS"),
        ("openoutcry.unheard_of", ""),
        ("openoutcry.cli.run", "import openoutcry.unheard_of"),
        # The root and modules as values.
        ("openoutcry.data.window", "import openoutcry as oo"),
        ("openoutcry.data.window", "from openoutcry import *"),
        ("openoutcry.data.window", "from openoutcry import __version__"),
        ("openoutcry.ledger.entry_builder", "import openoutcry as oo\noo.OpenOutcryEnv()"),
        ("openoutcry.ledger.entry_builder", "import openoutcry as oo\noo.arena.app.create()"),
        ("openoutcry.ledger.entry_builder", "import openoutcry\ngetattr(openoutcry, 'OpenOutcryEnv')"),
        ("openoutcry.ledger.entry_builder", "from openoutcry import CONTRACT_VERSION"),
        ("openoutcry.benchmarks.engine_speed", "from openoutcry import gym\ngym.sb3.OpenOutcryVecEnv"),
        # Imports by name.
        ("openoutcry.data.window", "from importlib import import_module as load\nload('gymnasium')"),
        ("openoutcry.data.window", "import importlib as library"),
        ("openoutcry.data.window", "from importlib.util import spec_from_file_location"),
        ("openoutcry.data.window", "def f():\n    import runpy"),
        ("openoutcry.data.window", "from pkgutil import resolve_name"),
        ("openoutcry.data.window", "import sys\nsys.modules['openoutcry.cli']"),
        ("openoutcry.data.window", "import sys as system\nsystem.modules['openoutcry.cli']"),
        ("openoutcry.data.window", "from sys import modules"),
        ("openoutcry.data.window", "exec('import gymnasium')"),
        ("openoutcry.data.window", "run = eval"),
        ("openoutcry.data.window", "__import__('gymnasium')"),
        ("openoutcry.data.window", "from builtins import exec as run"),
        ("openoutcry.data.window", "import builtins\nbuiltins.exec('import gymnasium')"),
        ("openoutcry.data.window", "import builtins\ngetattr(builtins, '__import__')('gymnasium')"),
        ("openoutcry.data.window", "import importlib.resources\nimportlib.import_module('gymnasium')"),
        # Only the first branch is for types.
        ("openoutcry.data.dataset", "if TYPE_CHECKING:\n    import pandas\nelse:\n    import polars"),
        ("openoutcry.data.dataset", "if not TYPE_CHECKING:\n    import polars"),
    ],
)
def test_a_planted_import_is_found(module: str, text: str) -> None:
    assert len(python_faults(module, text)) == 1


def test_an_allowed_import_is_not_found() -> None:
    text = "import json\nimport numpy as np\nfrom openoutcry.data.window import Window\ndef f():\n    import pyarrow"
    assert python_faults("openoutcry.data.dataset", text) == []
