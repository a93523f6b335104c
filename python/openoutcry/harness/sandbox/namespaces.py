"""Namespaces of `bwrap`: a machine that holds nothing but what an agent may read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

NOBODY = 65534
SCRATCH_BYTES = 16 * 2**20

NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--uid",
    str(NOBODY),
    "--gid",
    str(NOBODY),
    "--die-with-parent",
    "--new-session",
    # Of the processes in there alone. A program finds by it what lies beside its own file, as the JVM its libraries.
    "--proc",
    "/proc",
)


def in_namespaces(bwrap: str, roots: Sequence[str], hidden: Iterable[str], *, allow_net: bool) -> list[str]:
    """Return the command before which another one runs in namespaces of its own.

    Args:
        bwrap: Path of `bwrap`.
        roots: What may be read, by the paths that name it.
        hidden: What may not, below those.
        allow_net: Leave it in the network of the machine.
    """
    command = [bwrap, *NAMESPACES, *(() if allow_net else ("--unshare-net",))]
    command += ["--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp", "--dev", "/dev"]
    bound: list[str] = ["/dev", "/proc"]
    # What lies in another comes with it.
    for root in sorted(set(roots), key=len):
        if not any(_is_below(root, each) for each in bound):
            command += ["--ro-bind-try", root, root]
            bound.append(root)
    for path in hidden:
        # What is yet to be made is not allowed by Landlock, which names what is there.
        if os.path.exists(path) and any(_is_below(path, os.path.realpath(root)) for root in roots):
            command += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return [*command, "--chdir", "/", "--"]


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root
