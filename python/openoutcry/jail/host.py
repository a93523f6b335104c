"""What this machine offers to lock an agent in with, and why it offers no more."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType

from openoutcry.jail.syscalls import ARCHITECTURES

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
    """

    machine: str
    landlock: int
    bwrap: str | None
    missing: Mapping[Tier, str]

    @property
    def tier(self) -> Tier:
        """The highest tier that is reached."""
        return max(each for each in Tier if not any(tier <= each for tier in self.missing))


@lru_cache(maxsize=1)
def this_host() -> Host:
    """Return what this machine offers, asked once."""
    machine, missing, landlock, bwrap = platform.machine(), {}, 0, None
    if not sys.platform.startswith("linux"):
        missing[Tier.T1] = f"the locks are those of Linux; this is {platform.system()}"
    else:
        landlock, told = _landlock(machine)
        if told:
            missing[Tier.T2] = told
        bwrap, told = _bwrap()
        if told:
            missing[Tier.T3] = told
    return Host(machine, landlock, bwrap, MappingProxyType(missing))


def _landlock(machine: str) -> tuple[int, str]:
    """Return the version of Landlock, and what is missing of the second tier."""
    from openoutcry.jail.launcher import check_seccomp, landlock_abi

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
    from openoutcry.jail.namespaces import NAMESPACES

    path = shutil.which("bwrap")
    if path is None:
        return None, "`bwrap` (bubblewrap) is not installed"
    command = [path, *NAMESPACES, "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5.0)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"`bwrap` does not run: {error}"
    if made.returncode != 0:
        return None, f"`bwrap` makes no namespaces: {' '.join(made.stderr.split())}"
    return path, ""
