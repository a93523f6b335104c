"""Sandbox features of this machine, and the reason for each missing tier."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType

from openoutcry.harness.sandbox.syscall_numbers import ARCHITECTURES

LEAST_LANDLOCK = 3
"""Earlier versions (before Linux 6.2) do not restrict the truncation of files."""


class Tier(IntEnum):
    """Tier of the sandbox; each tier includes the protections of those below it."""

    T0 = 0
    """No sandbox."""
    T1 = 1
    """A separate process with resource limits, no capabilities and no inherited descriptors or variables.

    It has the filter of system calls, too, if the machine has filters."""
    T2 = 2
    """Landlock and a filter of system calls."""
    T3 = 3
    """Namespaces of `bwrap`."""


@dataclass(frozen=True)
class Host:
    """Sandbox features of a machine.

    Attributes:
        machine: Its architecture, such as `x86_64`.
        landlock: Version of Landlock; 0 if it is unavailable.
        bwrap: Path of `bwrap`; None if it does not work.
        missing: Reason why a tier is unavailable, by tier.
        setpriv: Command prefix of `bwrap` that changes root to `nobody`; empty if it does not work.
        has_filters: Whether it can filter system calls, without Landlock as well.
    """

    machine: str
    landlock: int
    bwrap: str | None
    missing: Mapping[Tier, str]
    setpriv: tuple[str, ...] = ()
    has_filters: bool = False

    @property
    def tier(self) -> Tier:
        """The highest available tier."""
        return max(each for each in Tier if not any(tier <= each for tier in self.missing))


@lru_cache(maxsize=1)
def this_host() -> Host:
    """Return the features of this machine, detected once."""
    machine, missing, landlock, bwrap = platform.machine(), {}, 0, None
    setpriv, has_filters = tuple[str, ...](), False
    if not sys.platform.startswith("linux"):
        missing[Tier.T1] = f"the sandbox needs Linux; this is {platform.system()}"
    else:
        has_filters = _has_filters(machine)
        landlock, error = _landlock(machine)
        if error:
            missing[Tier.T2] = error
        bwrap, error = _bwrap()
        if error:
            missing[Tier.T3] = error
        setpriv = _setpriv(bwrap)
    return Host(machine, landlock, bwrap, MappingProxyType(missing), setpriv, has_filters)


def _has_filters(machine: str) -> bool:
    from openoutcry.harness.sandbox.launcher import check_seccomp

    try:
        if machine in ARCHITECTURES:
            check_seccomp(machine)
        return machine in ARCHITECTURES
    except OSError:
        return False


def _landlock(machine: str) -> tuple[int, str]:
    """Return the version of Landlock, and why tier T2 is unavailable."""
    from openoutcry.harness.sandbox.launcher import check_seccomp, landlock_abi

    if machine not in ARCHITECTURES:
        return 0, f"system calls are filtered on {' and '.join(ARCHITECTURES)}; this is {machine}"
    try:
        check_seccomp(machine)
        version = landlock_abi()
    except OSError as error:
        return 0, f"Landlock or seccomp is missing or disabled in the kernel: {error.strerror}"
    if version < LEAST_LANDLOCK:
        return version, f"Landlock must be version {LEAST_LANDLOCK} or later (Linux 6.2); this kernel has {version}"
    return version, ""


def _bwrap() -> tuple[str | None, str]:
    """Return the path of `bwrap`, and why tier T3 is unavailable."""
    path = shutil.which("bwrap")
    if path is None:
        return None, "`bwrap` (bubblewrap) is not installed"
    error = _namespace_error([path])
    return (None, error) if error else (path, "")


def _setpriv(bwrap: str | None) -> tuple[str, ...]:
    """Return the command prefix that changes root to `nobody` before `bwrap`."""
    from openoutcry.harness.sandbox.namespaces import NOBODY

    path = shutil.which("setpriv")
    if bwrap is None or path is None or os.geteuid() != 0:
        return ()
    command = (path, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    # Some machines permit namespaces for root only.
    return () if _namespace_error([*command, bwrap]) else command


def _namespace_error(bwrap: Sequence[str]) -> str:
    """Return why a command cannot create namespaces; empty if it can."""
    from openoutcry.harness.sandbox.namespaces import NAMESPACES

    command = [*bwrap, *NAMESPACES, "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5.0)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`bwrap` does not run: {error}"
    return f"`bwrap` cannot create namespaces: {' '.join(done.stderr.split())}" if done.returncode != 0 else ""
