"""`openoutcry --version`: versions and digests that results depend on."""

from __future__ import annotations

import json

from openoutcry import data
from openoutcry.data.bundled.universe import NAMES
from openoutcry.openoutcry_py import CONTRACT_VERSION, ENGINE_VERSION


def version_text(as_json: bool) -> str:
    """Return versions, and digests of the WebAssembly engine and of bundled markets.

    Digests and fingerprints are computed from the installed files.
    """
    import openoutcry
    from openoutcry.report.wasm_engine import engine_digest

    versions = {"openoutcry": openoutcry.__version__, "contract": CONTRACT_VERSION, "engine": ENGINE_VERSION}
    datasets = {
        f"{name}:{universe}": data.load(name, universe).fingerprint for name in data.names() for universe in NAMES
    }
    pages = engine_digest()
    if as_json:
        return json.dumps({**versions, "engine_for_pages": pages, "datasets": datasets})
    first = ", ".join(f"{name} {version}" for name, version in versions.items())
    digests = {"WebAssembly engine": pages or "not built", **datasets}
    return "\n".join([first, *(f"{name:<18} {digest}" for name, digest in digests.items())])
