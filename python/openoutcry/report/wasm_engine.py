"""The engine compiled to WebAssembly, which self-verifying pages carry.

`scripts/wasm` builds it. A package that was built without it has no such pages.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

ENGINE = Path(__file__).with_name("engine")
"""Folder of the compiled engine."""

_FILES = ("engine.js", "engine.wasm.gz")


def has_engine() -> bool:
    """Return whether this package was built with the WebAssembly engine."""
    return all((ENGINE / name).is_file() for name in _FILES)


def engine_digest() -> str | None:
    """Return the SHA-256 of the WebAssembly engine; None where there is none."""
    if not has_engine():
        return None
    return hashlib.sha256(gzip.decompress((ENGINE / "engine.wasm.gz").read_bytes())).hexdigest()


def engine_script() -> str:
    """Return the script that loads the engine."""
    return (ENGINE / "engine.js").read_text(encoding="utf-8")
