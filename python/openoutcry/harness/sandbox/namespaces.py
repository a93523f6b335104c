"""Command lines of `bwrap`: namespaces that contain only what an agent may read."""

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
    # Shows only processes of the namespace. Programs such as the JVM locate their libraries through it.
    "--proc",
    "/proc",
)


def in_namespaces(bwrap: str, roots: Sequence[str], hidden: Iterable[str], *, allow_net: bool) -> list[str]:
    """Return the command prefix that runs another command in new namespaces.

    Args:
        bwrap: Path of `bwrap`.
        roots: Readable paths, as the program names them.
        hidden: Paths below them that are not readable.
        allow_net: Keep the network of the machine.
    """
    command = [bwrap, *NAMESPACES, *(() if allow_net else ("--unshare-net",))]
    command += ["--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp", "--dev", "/dev"]
    bound: list[str] = ["/dev", "/proc"]
    # A path below another one is bound with it.
    for root in sorted(set(roots), key=len):
        if not any(_is_below(root, each) for each in bound):
            command += ["--ro-bind-try", root, root]
            bound.append(root)
    found = [os.path.realpath(root) for root in roots]
    for path in hidden:
        # A path that does not exist yet needs no mount: Landlock grants only existing paths. The target of a link is a
        # hidden path of its own.
        is_mounted = os.path.exists(path) and not os.path.islink(path)
        if is_mounted and any(_is_below(path, root) for root in found):
            command += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return [*command, "--chdir", "/", "--"]


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root
