"""Which paths an agent may read: its folder and what its language is made of.

Landlock allows what is below a path and knows no exceptions. A folder that holds something hidden is therefore allowed
child by child, without symbolic links, whose targets have to be allowed as themselves.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

LIST = 1 << 3
READ = 1 << 2 | LIST
EXECUTE = READ | 1 << 0
WRITE = READ | 1 << 1
"""Rights over what is below a path, as Landlock numbers them."""

Root = tuple[str, int]
Grant = tuple[int, str, list[str]]

PACKAGE = Path(__file__).resolve().parents[2]

_DEVICES: tuple[Root, ...] = (("/dev/null", WRITE), ("/dev/zero", READ), ("/dev/random", READ), ("/dev/urandom", READ))
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib32", "/lib64")
_FACTS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/usr/share/zoneinfo")
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
    """Return where this interpreter finds modules, but for folders of its user."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    if site.ENABLE_USER_SITE:
        places.add(site.getusersitepackages())
    places |= {str(sysconfig.get_config_var("DESTSHARED")), *site.getsitepackages()}
    kept = [each for each in sys.path if each in places]
    return [*kept, *(each for each in (str(PACKAGE.parent),) if each not in kept)]


def of_worker() -> list[Root]:
    """Return what a Python agent may read besides its own folder."""
    modules = [each for each in libraries() if Path(each) != PACKAGE.parent or Path(each).name.endswith("-packages")]
    interpreter = os.path.join(sys.base_prefix, "lib")
    roots = [(each, READ) for each in (*_LIBRARIES, *_FACTS, interpreter, *modules, str(PACKAGE))]
    # Of the folder of the package only the package, which has to be found there: beside it may lie anything.
    beside = str(PACKAGE.parent)
    return [*roots, *([] if _is_broad(beside) else [(beside, LIST)]), *_DEVICES]


def of_command(program: str, folder: str) -> list[Root]:
    """Return what a foreign command may read and execute besides its own folder.

    What lies beside a program, as `lib` beside `bin`, is allowed as far as it does not lead elsewhere.

    Args:
        program: Its path.
        folder: The folder of the agent, whose author has no say in what lies beside a program there.
    """
    roots = [(each, EXECUTE) for each in (*_PROGRAMS, *_LIBRARIES)] + [(program, EXECUTE)]
    # Links of Debian's, by which programs such as `java` and `awk` are found in namespaces.
    roots += [(each, READ) for each in (*_FACTS, *_CRYPTOGRAPHY, "/etc/alternatives")] + [*_DEVICES]
    for found in (program, os.path.realpath(program)):
        prefix = os.path.dirname(os.path.dirname(found))
        is_installed = os.path.basename(os.path.dirname(found)) == "bin" and not _is_broad(prefix)
        if is_installed and not _is_below(os.path.realpath(os.path.dirname(found)), folder):
            places = [os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")]
            inside = os.path.realpath(prefix)
            roots += [(each, EXECUTE) for each in places if _is_below(os.path.realpath(each), inside)]
    return roots


def of_network() -> list[Root]:
    """Return what is read to find and to trust others."""
    return [(each, READ) for each in (*_NAMES, *_CERTIFICATES)]


def bundled_data() -> list[str]:
    """Return the markets of this package, whose future no agent may read."""
    return sorted(str(path) for path in (PACKAGE / "data").iterdir() if path.is_file() and path.suffix != ".py")


def grants(roots: Iterable[Root], hidden: Sequence[str]) -> list[Grant]:
    """Return what is allowed without what is hidden.

    Each is rights, a folder, and names in it.
    """
    veil = _Veil(hidden)
    granted: list[Grant] = []
    for path, rights in roots:
        found = os.path.realpath(path)
        if not os.path.exists(found) or veil.covers(found):
            continue
        granted += _split(found, rights, veil)
        if path != found and not veil.is_within(found):
            # In namespaces what a link leads to is there by the link's name.
            granted.append((rights, *_named(path)))
    return granted


class _Veil:
    """What is hidden, by what it is.

    A file has as many names as hard links and mounts give it, and where case does not matter each of them has more.
    What is yet to be made has only its name.
    """

    def __init__(self, hidden: Iterable[str]) -> None:
        self._names = {os.path.realpath(each) for each in hidden}
        self._found = _identities(self._names)
        self._above = _identities(str(parent) for each in self._names for parent in Path(each).parents)

    def hides(self, path: str) -> bool:
        """Return whether a path is hidden itself."""
        return path in self._names or bool(_identities([path]) & self._found)

    def covers(self, path: str) -> bool:
        """Return whether a path is hidden, or below what is."""
        return any(self.hides(str(each)) for each in (path, *Path(path).parents))

    def is_within(self, path: str) -> bool:
        """Return whether something hidden is below a path."""
        return bool(_identities([path]) & self._above)


def _identities(paths: Iterable[str]) -> set[tuple[int, int]]:
    found = set()
    for each in paths:
        with suppress(FileNotFoundError):
            status = os.stat(each)
            found.add((status.st_dev, status.st_ino))
    return found


def _split(folder: str, rights: int, veil: _Veil) -> list[Grant]:
    if rights == LIST or not veil.is_within(folder):
        return [(rights, *_named(folder))]
    split: list[Grant] = [(LIST, *_named(folder))]
    whole = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.islink(path) or veil.hides(path):
            continue
        if veil.is_within(path):
            split += _split(path, rights, veil)
        else:
            whole.append(name)
    return [*split, (rights, folder, whole)]


def _named(path: str) -> tuple[str, list[str]]:
    folder, name = os.path.split(path)
    return folder, [name]


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root


def is_open(path: str) -> bool:
    """Return whether users of no rights may read a path."""
    found = os.path.realpath(path)
    parents = Path(found).parents
    return all(each.stat().st_mode & 0o1 for each in parents) and bool(os.stat(found).st_mode & 0o4)


def _is_broad(folder: str) -> bool:
    """Return whether a folder holds more than programs: the root, or a home."""
    return folder in {"/", "/usr"} or Path.home().is_relative_to(folder)
