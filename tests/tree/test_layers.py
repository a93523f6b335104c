"""Layers: the imports of each module and crate. A new import, module or crate fails until its row is added.

Each checker takes text, so that tests can plant violations.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib
from layers import ANY, DEFERRED, LAYERS
from rust_graph import cycles, violations
from rust_layers import RUST_LAYERS

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "openoutcry"

# Crate -> its allowed dependencies.
CRATES = {
    "openoutcry-engine": {"libm", "pulp", "rand_chacha", "sha2", "thiserror"},
    "openoutcry-contract": {"openoutcry-engine", "ed25519-dalek", "serde", "serde_json", "sha2", "thiserror", "zmij"},
    "openoutcry": {"openoutcry-contract", "openoutcry-engine", "libm", "rand_chacha", "sha2", "thiserror"},
    "openoutcry-score": {"openoutcry-contract", "libm", "pulp", "rand_chacha", "serde", "serde_json", "thiserror"},
    "openoutcry-py": {"openoutcry", "openoutcry-score", "numpy", "pyo3", "zstd"},
    "openoutcry-wasm": {"openoutcry", "openoutcry-score", "js-sys", "serde", "serde_json", "wasm-bindgen"},
}
PURE = "engine|contract|env|score"
POOL = "env/src/batch/thread_pool.rs"
# Folders of `rust/`, a pattern that their sources must not contain, and the reason.
BANNED = (
    (PURE, r"\bstd\s*::\s*(\{[^;]*\b)?(env|fs|net|time)\b", "no clock and no input or output"),
    # The pool starts threads and detects a fork.
    (f"(?!{POOL})({PURE})", r"\bstd\s*::\s*(\{[^;]*\b)?(io|process|thread)\b", "no threads, and no input or output"),
    ("engine", r"\bserde(_json)?\b", "the engine does not depend on a wire format"),
    ("env/src/agents", r"\bDataset\b", "an agent receives an `AsOf`, never the dataset"),
    (".*", r"\bHash(Map|Set)\b", "iteration order is random"),
    (".*", r"\b(e?print(ln)?|dbg|todo|unimplemented)!", "a library does not print and has no unfinished code"),
    (".*", r"#!?\[\s*(cfg_attr\s*\(.*,\s*)?allow\s*\(", "`#[expect(..., reason)]` instead of `#[allow]`"),
)
RUST_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)


def belongs(module: str, pattern: str) -> bool:
    """Return whether a module matches a pattern: `a`, `a.*` for all modules below `a`, or `*`."""
    return pattern in (module, ANY) or (pattern.endswith(".*") and module.startswith(pattern[:-1]))


def layer_of(module: str) -> str | None:
    """Return the row of a module; the longest pattern wins."""
    found = [(len(each), name) for name, row in LAYERS.items() for each in row.modules if belongs(module, each)]
    return max(found)[1] if found else None


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {*SOURCES, "openoutcry.openoutcry_py"}


def imports(node: ast.AST, later: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a syntax tree imports, and whether each import is deferred."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, later) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            origin = "." * child.level + (child.module or "")
            for alias in child.names:
                member = f"{origin}.{alias.name}"
                # Modules may import only `__version__` from the root: it re-exports their own names.
                is_surface = origin == "openoutcry" and alias.name != "__version__"
                yield (member if member in MODULES or is_surface else origin), later
        elif isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] in {"import_module", "__import__"}:
            yield "?", later
        deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        yield from imports(child, later or deferred or for_types)


def is_deferred(module: str, target: str) -> bool:
    return any(belongs(module, source) and belongs(target, to) for source, to in DEFERRED)


def is_allowed(module: str, target: str, later: bool) -> bool:
    name = layer_of(module)
    row = LAYERS[name]
    top = target.split(".")[0]
    if target == "?":
        return module in row.by_name
    if top == "openoutcry":
        other = layer_of(target)
        # The root defines `__version__` before it imports any module.
        is_near = other == name or other in row.layers or target == "openoutcry"
        return other is not None and (is_near or (later and is_deferred(module, target)))
    return top in sys.stdlib_module_names or top in row.libraries or (later and top in row.deferred)


def python_faults(module: str, text: str) -> list[str]:
    """Return the imports of a module that its layer does not allow."""
    name = layer_of(module)
    if name is None:
        return [f"{module} must have a row in LAYERS"]
    return [
        f"{module} ({name}) must not import {target}{' later' if later else ''}"
        for target, later in imports(ast.parse(text))
        if not is_allowed(module, target, later)
    ]


def arrows_of(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the imports of each module, without allowed deferred ones and the `__version__` of the root."""
    return {
        module: {
            target
            for target, later in imports(ast.parse(text))
            if target in MODULES
            and target not in (module, "openoutcry")
            and not (later and is_deferred(module, target))
        }
        for module, text in texts.items()
    }


def dependencies(manifest: dict[str, Any]) -> set[str]:
    """Return the dependencies of a crate on any platform, without those of its tests."""
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "build-dependencies")
    listed = [item for table in tables for kind in kinds for item in table.get(kind, {}).items()]
    return {each.get("package", name) if isinstance(each, dict) else name for name, each in listed}


def crate_faults(text: str) -> list[str]:
    """Return the dependencies of a manifest that its crate's row does not allow."""
    manifest = tomllib.loads(text)
    name = manifest["package"]["name"]
    if name not in CRATES:
        return [f"{name} must have a row in CRATES"]
    return [f"{name} must not depend on {each}" for each in sorted(dependencies(manifest) - CRATES[name])]


def rust_faults(place: str, text: str) -> list[str]:
    """Return the banned patterns in the source at `place` below `rust/`; comments and strings may contain them."""
    code = RUST_TEXT.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    return [
        f"rust/{place}:{code.count(chr(10), 0, match.start()) + 1} must not contain `{match[0]}`: {why}"
        for folders, pattern, why in BANNED
        if re.match(rf"({folders})/", place)
        for match in re.finditer(pattern, code)
    ]


MANIFESTS = sorted((ROOT / "rust").glob("*/Cargo.toml"))
RUST = [path.relative_to(ROOT / "rust") for crate in MANIFESTS for path in sorted((crate.parent / "src").rglob("*.rs"))]


@pytest.mark.parametrize("module", SOURCES)
def test_a_python_module_imports_what_its_layer_allows(module: str) -> None:
    assert python_faults(module, SOURCES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_crate_depends_on_what_its_row_allows(manifest: Path) -> None:
    assert crate_faults(manifest.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("place", RUST, ids=str)
def test_a_rust_source_contains_no_pattern_banned_in_its_crate(place: Path) -> None:
    assert rust_faults(place.as_posix(), (ROOT / "rust" / place).read_text(encoding="utf-8")) == []


def test_every_row_of_the_tables_is_in_use() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)
    assert {tomllib.loads(path.read_text(encoding="utf-8"))["package"]["name"] for path in MANIFESTS} == set(CRATES)


def test_a_row_names_only_rows_above_it() -> None:
    names = list(LAYERS)
    below = {name: row.layers - set(names[: names.index(name)]) for name, row in LAYERS.items()}
    assert {name: rows for name, rows in below.items() if rows} == {}


def test_every_deferred_row_is_in_use() -> None:
    found = [
        (module, target)
        for module, path in SOURCES.items()
        for target, later in imports(ast.parse(path.read_text(encoding="utf-8")))
        if later or target == "openoutcry"
    ]
    unused = [row for row in DEFERRED if not any(belongs(m, row[0]) and belongs(t, row[1]) for m, t in found)]
    assert unused == []


def test_no_file_is_part_of_a_cycle() -> None:
    texts = {module: path.read_text(encoding="utf-8") for module, path in SOURCES.items()}
    assert cycles(arrows_of(texts)) == []


def test_a_planted_cycle_is_found() -> None:
    texts = {
        "openoutcry.errors": "from openoutcry.arguments import text",
        "openoutcry.arguments": "from openoutcry.errors import refusal",
        "openoutcry.records.keys": "def f():\n    from openoutcry.errors import refusal",
        "openoutcry.backtest.run": "def f():\n    from openoutcry.report.run_report import plot",
        "openoutcry.report.run_report": "from openoutcry.backtest.run import Run",
    }
    assert cycles(arrows_of(texts)) == [["openoutcry.arguments", "openoutcry.errors"]]


@pytest.mark.parametrize("crate", RUST_LAYERS)
def test_a_folder_of_a_crate_uses_only_its_row_and_no_cycle(crate: str) -> None:
    assert violations(ROOT / "rust" / crate / "src", RUST_LAYERS[crate]) == []


def test_a_planted_use_and_a_planted_cycle_of_folders_are_found(tmp_path: Path) -> None:
    for name, text in {
        "lib": "mod a;\nmod b;",
        "a": "use crate::b::B;\npub struct A;",
        "b": "use crate::a::A;\npub struct B;",
    }.items():
        (tmp_path / f"{name}.rs").write_text(text + "\n", encoding="utf-8")
    found = violations(tmp_path, {"a": set(), "b": {"a"}})
    assert any(fault == "a must not use b" for fault in found)
    assert any("use each other" in fault for fault in found)
    assert violations(tmp_path, {"a": {"b"}}) != []


FLAT = 8
# Names with the same meaning in every folder, and files that tools look for.
COMMON = {"__init__", "__main__", "build", "conftest", "env", "error", "lib", "main", "mod"}


def test_few_modules_are_outside_of_folders() -> None:
    flat = [path.name for path in PACKAGE.iterdir() if path.suffix in {".py", ".pyi"}]
    assert len(flat) <= FLAT, flat


def test_every_folder_has_a_docstring_of_its_contents_and_imports() -> None:
    folders = {path.parent for path in SOURCES.values()} - {PACKAGE / "arena" / "store" / "migrations" / "versions"}
    texts = {}
    for folder in folders - {PACKAGE, PACKAGE / "arena" / "store" / "migrations"}:
        home = folder / "__init__.py"
        text = ast.get_docstring(ast.parse(home.read_text(encoding="utf-8"))) if home.exists() else None
        texts[folder.relative_to(PACKAGE).as_posix()] = text or ""
    assert [name for name, text in texts.items() if len(text.splitlines()) < 3 or "mports" not in text] == []


def test_no_base_name_occurs_more_than_twice() -> None:
    # Bindings have the names of the bound files, and commands those of their verbs.
    crates = [place for place in RUST if place.parts[0] not in {"python", "wasm"}]
    modules = [path for path in SOURCES.values() if path.parent.name != "cli"]
    names = Counter(path.stem for path in [*modules, *crates] if path.stem not in COMMON)
    assert {name: count for name, count in names.items() if count > 2} == {}


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
        # no score may depend on how newsworthy a kind is.
        ("openoutcry.scoring.scorer", "from openoutcry.arena.snapshots.item_ranking import WEIGHTS"),
        ("openoutcry.arena.scoring", "from openoutcry.arena.snapshots.item_ranking import WEIGHTS"),
        ("openoutcry.unheard_of", ""),
        ("openoutcry.cli.run", "import openoutcry.unheard_of"),
    ],
)
def test_a_planted_import_is_found(module: str, text: str) -> None:
    assert len(python_faults(module, text)) == 1


def test_an_allowed_import_is_not_found() -> None:
    text = "import json\nimport numpy as np\nfrom openoutcry.data.window import Window\ndef f():\n    import pyarrow"
    assert python_faults("openoutcry.data.dataset", text) == []


@pytest.mark.parametrize(
    "text",
    [
        '[package]\nname = "openoutcry-engine"\n[dependencies]\nserde = "1"',
        '[package]\nname = "openoutcry-engine"\n[dependencies]\nlibm = { package = "serde", version = "1" }',
        '[package]\nname = "openoutcry-score"\n[dependencies]\nopenoutcry.workspace = true',
        '[package]\nname = "openoutcry-engine"\n[build-dependencies]\ncc = "1"',
        '[package]\nname = "openoutcry-engine"\n[target."cfg(unix)".dependencies]\nlibc = "0.2"',
        '[package]\nname = "openoutcry-unheard-of"',
    ],
)
def test_a_planted_dependency_is_found(text: str) -> None:
    assert len(crate_faults(text)) == 1


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("engine/src/account/book.rs", "use std::time::Instant;"),
        ("engine/src/account/book.rs", "use std::{fmt, fs};"),
        ("engine/src/account/book.rs", "fn f() { std::thread::spawn(|| ()); }"),
        ("engine/src/account/book.rs", "#[derive(serde::Serialize)] struct Book;"),
        ("env/src/backtest/run.rs", "use std::net::TcpStream;"),
        ("env/src/batch/thread_share.rs", "use std::thread::spawn;"),
        ("env/src/agents/trend.rs", "fn decide(data: &Dataset) {}"),
        ("score/src/lib.rs", "use std::collections::HashMap;"),
        ("python/src/lib.rs", '#[allow(dead_code)] const A: &str = "// not a comment";'),
        ("python/src/lib.rs", "#![cfg_attr(test, allow(clippy::all))]"),
        ("engine/src/account/book.rs", r'fn f(c: char) { if c == \'"\' { println!("{c}"); } }'.replace("\\'", "'")),
    ],
)
def test_a_planted_source_is_found(place: str, text: str) -> None:
    assert len(rust_faults(place, text)) == 1


def test_comments_and_strings_may_contain_banned_patterns() -> None:
    text = '// println! in std::fs\n/* HashMap */ const A: [&str; 2] = ["#[allow(x)] std::time", r#"a "HashSet""#];'
    assert rust_faults("engine/src/account/book.rs", text) == []
