"""`Profile`: what an agent in the sandbox may access."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openoutcry.errors import refusal

# Variables of the loader, the C library and Python, which also affect the launcher.
_LOADING = ("LD_", "GCONV_", "GLIBC_", "LOCPATH", "MALLOC_", "PYTHON")


@dataclass(frozen=True)
class Profile:
    """What an agent may access, in every tier.

    Args:
        folder: The agent's folder: its working directory, which it may read.
        hidden: Files and folders that it may not read, wherever they are and whether they exist yet, such as the data
            and the keys of a suite, and the ledger. Their hard links in the folders of the profile are hidden as well.
        readable: Further files and folders that it may read. A Python agent may import modules from there, and a
            command may execute programs there.
        allow_net: Allow outgoing connections, which an agent that calls a language model needs. Report it wherever the
            agent is ranked.
        pass_on: Names of environment variables for the agent. Variables that load code into a starting program are
            refused, since they take effect before the sandbox.
        memory_bytes: Address space of each process.
        cpu_seconds: Processor time of each process.

    Raises:
        OpenOutcryError: `argument_invalid`: a folder does not exist, or holds the home directory; a variable is not
            set, or loads code; a limit is not an integer above 0.
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
            message = "`folder` must not contain the home directory; received one that does"
            raise refusal("argument_invalid", f"{message}: '{folder}'")
        if any(folder.is_relative_to(Path(each).resolve()) for each in self.hidden):
            raise refusal("argument_invalid", f"`hidden` must not contain the agent's folder; received '{folder}'")
        for each in self.readable:
            if not Path(each).exists():
                raise refusal("argument_invalid", f"`readable` must be existing files and folders; received '{each}'")
            if Path.home().resolve().is_relative_to(Path(each).resolve()):
                message = "`readable` must not contain the home directory"
                raise refusal("argument_invalid", f"{message}; received '{each}', which does")
        for name in self.pass_on:
            if name.startswith(_LOADING):
                wanted = "variables to pass on must not load code before the sandbox is set up"
                raise refusal("argument_invalid", f"{wanted}; received `{name}`")
            if name not in os.environ:
                raise refusal("argument_invalid", f"variables to pass on must be set; received `{name}`, which is not")
        for name in ("memory_bytes", "cpu_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise refusal("argument_invalid", f"`{name}` must be a whole number above 0; received {value!r}")
