"""What this machine offers to lock an agent in with, and why it offers no more."""

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
"""Versions before it, of kernels before Linux 6.2, let files be cut to nothing."""


class Tier(IntEnum):
    """How well an agent is locked in; each tier holds those before it."""

    T0 = 0
    """Not at all: a process like any other."""
    T1 = 1
    """A process of its own, with limits, no capabilities and nothing inherited."""
    T2 = 2
    """Landlock and a filter of system calls."""
    T3 = 3
    """Namespaces of `bwrap`."""


@dataclass(frozen=True)
class Host:
    """What a machine offers.

    Attributes:
        machine: Its architecture, such as `x86_64`.
        landlock: Version of Landlock; 0 where there is none.
        bwrap: Path of `bwrap`, where it works.
        missing: Why a tier is not reached, by tier.
        becoming: Command before `bwrap` by which a superuser becomes nobody; empty where none does.
    """

    machine: str
    landlock: int
    bwrap: str | None
    missing: Mapping[Tier, str]
    becoming: tuple[str, ...] = ()

    @property
    def tier(self) -> Tier:
        """The highest tier that is reached."""
        return max(each for each in Tier if not any(tier <= each for tier in self.missing))


@lru_cache(maxsize=1)
def this_host() -> Host:
    """Return what this machine offers, asked once."""
    machine, missing, landlock, bwrap = platform.machine(), {}, 0, None
    becoming: tuple[str, ...] = ()
    if not sys.platform.startswith("linux"):
        missing[Tier.T1] = f"the locks are those of Linux; this is {platform.system()}"
    else:
        landlock, told = _landlock(machine)
        if told:
            missing[Tier.T2] = told
        bwrap, told = _bwrap()
        if told:
            missing[Tier.T3] = told
        becoming = _becoming(bwrap)
    return Host(machine, landlock, bwrap, MappingProxyType(missing), becoming)


def _landlock(machine: str) -> tuple[int, str]:
    """Return the version of Landlock, and what is missing of the second tier."""
    from openoutcry.harness.sandbox.launcher import check_seccomp, landlock_abi

    if machine not in ARCHITECTURES:
        return 0, f"system calls are filtered on {' and '.join(ARCHITECTURES)}; this is {machine}"
    try:
        check_seccomp(machine)
        version = landlock_abi()
    except OSError as error:
        return 0, f"the kernel has it not, or switched off: {error.strerror}"
    if version < LEAST_LANDLOCK:
        return version, f"Landlock must be version {LEAST_LANDLOCK} or later (Linux 6.2); this kernel has {version}"
    return version, ""


def _bwrap() -> tuple[str | None, str]:
    """Return `bwrap`, and what is missing of the third tier."""
    path = shutil.which("bwrap")
    if path is None:
        return None, "`bwrap` (bubblewrap) is not installed"
    told = _fault_of([path])
    return (None, told) if told else (path, "")


def _becoming(bwrap: str | None) -> tuple[str, ...]:
    """Return what is put before `bwrap` so that a superuser becomes nobody."""
    from openoutcry.harness.sandbox.namespaces import NOBODY

    setpriv = shutil.which("setpriv")
    if bwrap is None or setpriv is None or os.geteuid() != 0:
        return ()
    command = (setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    # Some machines let nobody but the superuser make namespaces.
    return () if _fault_of([*command, bwrap]) else command


def _fault_of(bwrap: Sequence[str]) -> str:
    """Return why a command makes no namespaces; nothing where it does."""
    from openoutcry.harness.sandbox.namespaces import NAMESPACES

    command = [*bwrap, *NAMESPACES, "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5.0)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`bwrap` does not run: {error}"
    return f"`bwrap` makes no namespaces: {' '.join(made.stderr.split())}" if made.returncode != 0 else ""
