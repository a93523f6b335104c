"""The dependencies of the crates, and patterns that Rust sources must not contain.

Each checker takes text, so that tests can plant violations.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[2]

# Crate -> its allowed dependencies.
CRATES = {
    "openoutcry-engine": {"libm", "pulp", "rand_chacha", "sha2", "thiserror"},
    "openoutcry-contract": {"openoutcry-engine", "ed25519-dalek", "serde", "serde_json", "sha2", "thiserror", "zmij"},
    "openoutcry": {"openoutcry-contract", "openoutcry-engine", "libm", "rand_chacha", "sha2", "thiserror"},
    "openoutcry-score": {"openoutcry-contract", "libm", "pulp", "rand_chacha", "serde", "serde_json", "thiserror"},
    "openoutcry-py": {"openoutcry", "openoutcry-score", "libc", "numpy", "pyo3", "zstd"},
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
    (".*", r"#!?\[\s*path\b|\binclude!", "the source of a module is the file of its name"),
    (".*", r"(?<!#\[cfg\(test\)\]\n)\bmod\s+(?!x86\b)\w+\s*\{", "a module is a file, apart from tests and SIMD"),
    (".*", r"#!?\[\s*(cfg_attr\s*\(.*,\s*)?allow\s*\(", "`#[expect(..., reason)]` instead of `#[allow]`"),
)
RUST_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)


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


def module_docs(text: str) -> str:
    """Return the comment at the start of a Rust file."""
    lines = [line.removeprefix("//!").strip() for line in text.splitlines() if line.startswith("//!")]
    return " ".join(lines)


def stated_uses(text: str) -> set[str] | None:
    """Return the modules that the comment of a `mod.rs` states after `Imports`; `None` without such a sentence."""
    found = re.search(r"\bImports (.*?)\.(?=\s|$)", module_docs(text))
    if found is None:
        return None
    names = set(re.findall(r"`(\w+)`", found[1]))
    return names if names or found[1] == "no other module of the crate" else None
