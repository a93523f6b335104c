"""What an agent may have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openoutcry.errors import refusal

# Of the loader, the C library and Python, which the launcher itself runs on.
_LOADING = ("LD_", "GCONV_", "GLIBC_", "LOCPATH", "MALLOC_", "PYTHON")


@dataclass(frozen=True)
class Profile:
    """What an agent may have, in any tier.

    Args:
        folder: Its own folder, where it starts and which it may read.
        hidden: Files and folders that it may not read wherever they lie, such as the data and the keys of a suite.
        readable: Files and folders that it may read besides. A Python agent finds modules there, too, and a command may
            execute programs there.
        allow_net: It may connect to others, as one that asks a language model must. To be said wherever it is ranked.
        pass_on: Names of environment variables that it is shown; none that says what a program loads as it begins,
            before it is locked in.
        memory_bytes: Address space of each process.
        cpu_seconds: Processor time of each process.

    Raises:
        OpenOutcryError: `argument_invalid`: a folder does not exist, or holds the home directory; a variable is not
            set, or loads code; a limit is no whole number above 0.
    """

    folder: str | os.PathLike[str] = "."
    hidden: Sequence[str | os.PathLike[str]] = ()
    readable: Sequence[str | os.PathLike[str]] = ()
    allow_net: bool = False
    pass_on: Sequence[str] = ()
    memory_bytes: int = 4 * 2**30
    cpu_seconds: int = 3600

    def __post_init__(self) -> None:
        folder = Path(self.folder).resolve()
        if not folder.is_dir():
            raise refusal("argument_invalid", f"`folder` must be a folder; received '{self.folder}'")
        if Path.home().resolve().is_relative_to(folder):
            message = "`folder` must be a folder of the agent's own; received one that holds the home directory"
            raise refusal("argument_invalid", f"{message}: '{folder}'")
        if any(folder.is_relative_to(Path(each).resolve()) for each in self.hidden):
            raise refusal("argument_invalid", f"`hidden` must not hold the agent's folder; received '{folder}'")
        for each in self.readable:
            if not Path(each).exists():
                raise refusal("argument_invalid", f"`readable` must be files and folders; received '{each}'")
            if Path.home().resolve().is_relative_to(Path(each).resolve()):
                message = "`readable` must not hold the home directory"
                raise refusal("argument_invalid", f"{message}; received '{each}', which does")
        for name in self.pass_on:
            if name.startswith(_LOADING):
                wanted = "variables to pass on must not load code before the agent is locked in"
                raise refusal("argument_invalid", f"{wanted}; received `{name}`")
            if name not in os.environ:
                raise refusal("argument_invalid", f"variables to pass on must be set; received `{name}`, which is not")
        for name in ("memory_bytes", "cpu_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise refusal("argument_invalid", f"`{name}` must be a whole number above 0; received {value!r}")
