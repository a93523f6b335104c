"""What a process of an agent inherits: next to nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from openoutcry.errors import refusal

KEPT = (
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
"""Names of the variables that an agent is shown, those that find its code and libraries; the others may hold keys."""


def surroundings(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of an agent: what finds its code, and what is named.

    The hashes of texts are fixed, so that a set has one order in every run.

    Raises:
        OpenOutcryError: a variable that was named is not set.
    """
    for name in more:
        if name not in os.environ:
            raise refusal("argument_invalid", f"variables to pass on must be set; received `{name}`, which is not")
    kept = {name: os.environ[name] for name in (*KEPT, *more) if name in os.environ}
    return {"PYTHONHASHSEED": "0"} | kept
