"""Environment variables that an agent process inherits."""

from __future__ import annotations

import os
from collections.abc import Iterable

from openoutcry.errors import refusal

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
)
"""Variables that every agent receives: those that locate its code and libraries. Any other variable may hold a key."""


def agent_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of an agent: inherited variables and those in `more`.

    `PYTHONHASHSEED` defaults to 0, so that sets of strings have the same order in every run.

    Raises:
        OpenOutcryError: `argument_invalid`: a named variable is not set.
    """
    for name in more:
        if name not in os.environ:
            raise refusal("argument_invalid", f"variables to pass on must be set; received `{name}`, which is not")
    kept = {name: os.environ[name] for name in (*INHERITED, *more) if name in os.environ}
    return {"PYTHONHASHSEED": "0"} | kept
