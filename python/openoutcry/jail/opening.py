"""Opening a jail, and what to start in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.jail import launcher, paths
from openoutcry.jail.bpf import Program
from openoutcry.jail.filters import command_filter, worker_filter
from openoutcry.jail.host import Host, Tier, this_host
from openoutcry.jail.locks import Lock
from openoutcry.jail.namespaces import NOBODY, in_namespaces
from openoutcry.jail.profile import Profile

LAUNCHER = str(Path(launcher.__file__).resolve())
N_PROCESSES = 256
"""Processes and threads that a command may have beside those that its user already has."""

_TIERS = {Lock.LANDLOCK: Tier.T2, Lock.SECCOMP: Tier.T2, Lock.NAMESPACES: Tier.T3}
_WORKER_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    # Sets of texts have one order in every run.
    "PYTHONHASHSEED": "0",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_COMMAND_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(frozen=True)
class Launch:
    """What to start: in a session of its own, with pipes as its three descriptors, by a thread that outlives it.

    Attributes:
        command: The program and its arguments.
        environment: All its variables.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Jail:
    """A jail of a tier, open for any number of agents. Made by `Jail.open`.

    Attributes:
        profile: What an agent may have.
        tier: How well it is locked in.
        host: What the machine offers.
    """

    profile: Profile
    tier: Tier
    host: Host
    _locks: frozenset[Lock]

    @classmethod
    def open(cls, profile: Profile, *, least: Tier = Tier.T2, most: Tier = Tier.T3) -> Jail:
        """Open a jail of the highest tier that this machine reaches, up to `most`.

        Raises:
            OpenOutcryError: `argument_invalid`: the machine does not reach `least`; the message says why.
        """
        host = this_host()
        tier = min(host.tier, most)
        if tier < least:
            why = "; ".join(f"{each.name}: {text}" for each, text in sorted(host.missing.items()) if each <= least)
            reached = f"{tier.name}, as `most` says" if most < least else f"{tier.name}, for {why}"
            raise refusal("argument_invalid", f"the jail must reach {least.name}; received {reached}")
        locks = frozenset(each for each in Lock if tier >= _TIERS.get(each, Tier.T1))
        return cls(profile, tier, host, locks)

    def to_dict(self) -> dict[str, Any]:
        """Return what a record says of the jail: the tier, why it is no higher, and what was let in."""
        return {
            "tier": self.tier.name,
            "missing": {each.name: text for each, text in sorted(self.host.missing.items())},
            "landlock": self.host.landlock,
            "allow_net": self.profile.allow_net,
            "notes": list(self.notes),
        }

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What holds less here than it could, in words."""
        told = []
        if self.tier >= Tier.T2 and self.host.landlock < 6 and self.tier < Tier.T3:
            told.append("a command may signal itself alone: Landlock keeps signals inside from version 6 on")
        if self.tier >= Tier.T1 and os.geteuid() == 0:
            told.append("the superuser started it: the number of processes of a command has no limit below T3's end")
        if self.profile.allow_net:
            told.append("the network is open: servers of this machine and its neighbours can be reached, too")
        return tuple(told)

    def module(self, name: str, arguments: Sequence[str] = (), *, imports: Sequence[str] = ("openoutcry",)) -> Launch:
        """Return how to start a Python module as `python -m` would, in this interpreter's version.

        It is found in the standard library, in site-packages, beside this package and in the profile's folder.

        Args:
            name: The module.
            arguments: Its arguments.
            imports: Modules that are imported before the system calls are filtered, those that start threads.
        """
        return self._python("module", [name, *arguments], imports)

    def script(self, path: str | os.PathLike[str], arguments: Sequence[str] = ()) -> Launch:
        """Return how to start a Python file, which nothing but the standard library is imported for."""
        return self._python("script", [str(Path(path).resolve()), *arguments], ())

    def command(self, command: Sequence[str]) -> Launch:
        """Return how to start a program in any language.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such program.
        """
        folder, name = Path(self.profile.folder).resolve(), command[0] if command else ""
        # A path is one from the agent's folder, as the program itself would see it.
        program = shutil.which(str(folder / name) if os.sep in name else name)
        if not name or program is None:
            raise refusal("unknown_agent", f"an agent must be a program that can be run; received {name!r}")
        roots = paths.of_command(program)
        plan = self._plan("command", [program, *command[1:]], roots, self._filter(is_worker=False))
        return self._launch(plan, roots, _COMMAND_ENVIRONMENT)

    def _python(self, how: str, arguments: list[str], imports: Sequence[str]) -> Launch:
        roots = paths.of_worker()
        plan = self._plan(how, arguments, roots, self._filter(is_worker=True))
        plan |= {"imports": list(imports), "path": [*paths.libraries(), plan["folder"]]}
        return self._launch(plan, roots, _WORKER_ENVIRONMENT)

    def _plan(self, how: str, arguments: list[str], roots: list[paths.Root], program: Program) -> dict[str, Any]:
        held = self._locks.__contains__
        in_bwrap = held(Lock.NAMESPACES)
        folder = Path(self.profile.folder).resolve()
        right = paths.EXECUTE if how == "command" else paths.READ
        roots += [(str(folder), right), *((str(Path(each).resolve()), right) for each in self.profile.readable)]
        if self.profile.allow_net:
            roots += paths.of_network()
        code = {"machine": self.host.machine, "code": program.code.hex(), "own_pid": program.own_pid}
        return {
            "how": how,
            "arguments": arguments,
            "folder": str(folder),
            "imports": [],
            "path": [],
            "session": held(Lock.SESSION) and not in_bwrap,
            "parent": os.getpid() if held(Lock.SESSION) and not in_bwrap else None,
            "descriptors": held(Lock.DESCRIPTORS),
            "limits": self._limits(how) if held(Lock.LIMITS) else {},
            "user": None,
            "capabilities": held(Lock.CAPABILITIES),
            "landlock": self._landlock(roots) if held(Lock.LANDLOCK) else None,
            "seccomp": code if held(Lock.SECCOMP) else None,
        }

    def _launch(self, plan: dict[str, Any], roots: Iterable[paths.Root], fixed: Mapping[str, str]) -> Launch:
        # A link may lead through folders that are not there.
        interpreter = os.path.realpath(sys.executable)
        command = [interpreter, "-s", "-S", "-B", LAUNCHER, json.dumps(plan)]
        if Lock.NAMESPACES in self._locks:
            assert self.host.bwrap is not None, "the third tier was reached"
            # The interpreter and its launcher have to be there before they lock themselves in.
            needed = [path for path, _ in (*roots, *paths.of_worker(), *paths.of_command(interpreter))]
            before = in_namespaces(self.host.bwrap, needed, self._hidden, allow_net=self.profile.allow_net)
            command = [*before, *command]
        environment = dict(fixed) | {name: os.environ[name] for name in self.profile.pass_on}
        if Lock.ENVIRONMENT not in self._locks:
            environment = dict(os.environ) | dict(fixed)
        return Launch(tuple(command), environment)

    @property
    def _hidden(self) -> list[str]:
        return [*(str(Path(each).resolve()) for each in self.profile.hidden), *paths.bundled_data()]

    def _limits(self, how: str) -> dict[str, int]:
        limits = {"AS": self.profile.memory_bytes, "CPU": self.profile.cpu_seconds, "NOFILE": 64, "FSIZE": 0, "CORE": 0}
        return limits

    def _filter(self, *, is_worker: bool) -> Program:
        if Lock.SECCOMP not in self._locks:
            return Program(b"", ())
        if is_worker:
            return worker_filter(self.host.machine, allow_net=self.profile.allow_net)
        return command_filter(
            self.host.machine, allow_net=self.profile.allow_net, landlock_abi=self.host.landlock
        )

    def _landlock(self, roots: Iterable[paths.Root]) -> dict[str, Any]:
        version = self.host.landlock
        net = launcher.BIND_TCP | (0 if self.profile.allow_net else launcher.CONNECT_TCP)
        return {
            "size": 24 if version >= 6 else 16 if version >= 4 else 8,
            "files": next(rights for since, rights in launcher.ALL_FILE_RIGHTS if version >= since),
            "net": net if version >= 4 else 0,
            "scoped": launcher.SCOPED_SOCKETS | launcher.SCOPED_SIGNALS if version >= 6 else 0,
            "grants": paths.grants(roots, self._hidden),
        }
