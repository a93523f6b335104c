"""`openoutcry --version`: what is installed, as the numbers depend on it."""

from __future__ import annotations

import json

from openoutcry import data
from openoutcry.data.universe import NAMES
from openoutcry.openoutcry_py import CONTRACT_VERSION, ENGINE_VERSION


def told(as_json: bool) -> str:
    """Return versions and the fingerprints of the bundled markets.

    These are computed of the data at hand: a file that was changed has another one.
    """
    import openoutcry

    versions = {"openoutcry": openoutcry.__version__, "contract": CONTRACT_VERSION, "engine": ENGINE_VERSION}
    datasets = {f"{name}:{each}": data.load(name, each).fingerprint for name in data.names() for each in NAMES}
    if as_json:
        return json.dumps({**versions, "datasets": datasets})
    first = ", ".join(f"{of} {version}" for of, version in versions.items())
    return "\n".join([first, *(f"{source:<18} {fingerprint}" for source, fingerprint in datasets.items())])
