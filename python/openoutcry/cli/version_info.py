"""`openoutcry --version`: what is installed, as the numbers depend on it."""

from __future__ import annotations

import json

from openoutcry import data
from openoutcry.data.bundled.universe import NAMES
from openoutcry.openoutcry_py import CONTRACT_VERSION, ENGINE_VERSION


def version_text(as_json: bool) -> str:
    """Return versions, and digests of the engine for pages and the bundled markets.

    These are computed of the files at hand: one that was changed has another.
    """
    import openoutcry
    from openoutcry.report.wasm_engine import engine_digest

    versions = {"openoutcry": openoutcry.__version__, "contract": CONTRACT_VERSION, "engine": ENGINE_VERSION}
    datasets = {f"{name}:{each}": data.load(name, each).fingerprint for name in data.names() for each in NAMES}
    pages = engine_digest()
    if as_json:
        return json.dumps({**versions, "engine_for_pages": pages, "datasets": datasets})
    first = ", ".join(f"{of} {version}" for of, version in versions.items())
    digests = {"engine for pages": pages or "none", **datasets}
    return "\n".join([first, *(f"{of:<18} {digest}" for of, digest in digests.items())])
