"""Paths that an agent may read: its folder, interpreter and libraries.

Landlock grants everything below a path, without exceptions. A folder that contains a hidden path is therefore granted
child by child, without symbolic links; their targets must be granted separately.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from openoutcry.harness.sandbox.hidden_paths import HiddenPaths

LIST = 1 << 3
READ = 1 << 2 | LIST
EXECUTE = READ | 1 << 0
WRITE = READ | 1 << 1
"""Access rights below a path, as Landlock numbers them."""

Root = tuple[str, int]
Grant = tuple[int, str, list[str]]

PACKAGE = Path(__file__).resolve().parents[2]

_DEVICES: tuple[Root, ...] = (("/dev/null", WRITE), ("/dev/zero", READ), ("/dev/random", READ), ("/dev/urandom", READ))
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib32", "/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/usr/share/zoneinfo")
_PROGRAMS = ("/usr", "/bin", "/sbin")
_CRYPTOGRAPHY = ("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf")
_NAMES = ("/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services")
_CERTIFICATES = (
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
)


def libraries() -> list[str]:
    """Return the import paths of this interpreter, without folders of its user."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    if site.ENABLE_USER_SITE:
        places.add(site.getusersitepackages())
    places |= {str(sysconfig.get_config_var("DESTSHARED")), *site.getsitepackages()}
    kept = [each for each in sys.path if each in places]
    return [*kept, *(each for each in (str(PACKAGE.parent),) if each not in kept)]


def of_worker() -> list[Root]:
    """Return what a Python agent may read in addition to its folder."""
    modules = [each for each in libraries() if Path(each) != PACKAGE.parent or Path(each).name.endswith("-packages")]
    interpreter = os.path.join(sys.base_prefix, "lib")
    roots = [(each, READ) for each in (*_LIBRARIES, *_SYSTEM_FILES, interpreter, *modules, str(PACKAGE))]
    # Import needs to list the parent folder of the package; only the package in it is readable.
    parent = str(PACKAGE.parent)
    return [*roots, *([] if _is_broad(parent) else [(parent, LIST)]), *_DEVICES]


def of_command(program: str, folder: str) -> list[Root]:
    """Return what a foreign command may read and execute in addition to its folder.

    The installation prefix of the program, such as `lib` next to `bin`, is granted unless it links elsewhere.

    Args:
        program: Path of the program.
        folder: The agent's folder. A program inside it grants no prefix.
    """
    roots = [(each, EXECUTE) for each in (*_PROGRAMS, *_LIBRARIES)] + [(program, EXECUTE)]
    # Debian's links, which resolve programs such as `java` and `awk` in namespaces.
    roots += [(each, READ) for each in (*_SYSTEM_FILES, *_CRYPTOGRAPHY, "/etc/alternatives")] + [*_DEVICES]
    for found in (program, os.path.realpath(program)):
        prefix = os.path.dirname(os.path.dirname(found))
        is_installed = os.path.basename(os.path.dirname(found)) == "bin" and not _is_broad(prefix)
        if is_installed and not _is_below(os.path.realpath(os.path.dirname(found)), folder):
            places = [os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")]
            inside = os.path.realpath(prefix)
            roots += [(each, EXECUTE) for each in places if _is_below(os.path.realpath(each), inside)]
    return roots


def of_network() -> list[Root]:
    """Return the files of name resolution and TLS certificates."""
    return [(each, READ) for each in (*_NAMES, *_CERTIFICATES)]


def bundled_data() -> list[str]:
    """Return the bundled market data, which no agent may read."""
    folder = PACKAGE / "data" / "bundled"
    return sorted(str(path) for path in folder.iterdir() if path.is_file() and path.suffix != ".py")


def grants(roots: Iterable[Root], hidden: Sequence[str]) -> list[Grant]:
    """Return the Landlock grants for paths without the hidden ones.

    Each grant is the rights, a folder and names in it.
    """
    hidden_paths = HiddenPaths(hidden)
    granted: list[Grant] = []
    for path, rights in roots:
        found = os.path.realpath(path)
        if not os.path.exists(found) or hidden_paths.covers(found):
            continue
        granted += _split(found, rights, hidden_paths)
        if path != found and not hidden_paths.is_within(found):
            # In namespaces the target of a link is mounted at the link's own path.
            granted.append((rights, *_named(path)))
    return granted


def _split(folder: str, rights: int, hidden_paths: HiddenPaths) -> list[Grant]:
    if rights == LIST or not hidden_paths.is_within(folder):
        return [(rights, *_named(folder))]
    split: list[Grant] = [(LIST, *_named(folder))]
    visible = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.islink(path) or hidden_paths.hides(path):
            continue
        if hidden_paths.is_within(path):
            split += _split(path, rights, hidden_paths)
        else:
            visible.append(name)
    return [*split, (rights, folder, visible)]


def _named(path: str) -> tuple[str, list[str]]:
    folder, name = os.path.split(path)
    return folder, [name]


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root


def is_open(path: str) -> bool:
    """Return whether unprivileged users may read a path."""
    found = os.path.realpath(path)
    parents = Path(found).parents
    return all(each.stat().st_mode & 0o1 for each in parents) and bool(os.stat(found).st_mode & 0o4)


def _is_broad(folder: str) -> bool:
    """Return whether a folder is the root, `/usr` or contains the home directory."""
    return folder in {"/", "/usr"} or Path.home().is_relative_to(folder)
