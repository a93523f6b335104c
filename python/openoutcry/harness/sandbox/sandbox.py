"""Opening a sandbox, and what to start in it."""

from __future__ import annotations

import marshal
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.harness.sandbox import readable_paths
from openoutcry.harness.sandbox.host_features import Host, Tier, this_host
from openoutcry.harness.sandbox.namespaces import NOBODY, in_namespaces
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.protections import Lock
from openoutcry.harness.sandbox.seccomp_filters import command_filter, worker_filter

# A link may lead through folders that are not there in a namespace.
INTERPRETER = os.path.realpath(sys.executable)
LAUNCHER = str(Path(__file__).resolve().with_name("launcher.py"))
N_PROCESSES = 256
"""Processes and threads that a command may have beside those that its user already has."""

_TIERS = {Lock.LANDLOCK: Tier.T2, Lock.SECCOMP: Tier.T2, Lock.NAMESPACES: Tier.T3}
# The version of Landlock, newest first, and all rights over files from then on.
_FILE_RIGHTS = ((5, (1 << 16) - 1), (3, (1 << 15) - 1))
_ARGUMENT_LENGTH = 2**16
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPED_SOCKETS, _SCOPED_SIGNALS = 1, 2
_WORKER_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    # Sets of texts have one order in every run.
    "PYTHONHASHSEED": "0",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_COMMAND_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def in_pieces(plan: Mapping[str, Any]) -> list[str]:
    """Return a plan as arguments, none of which is longer than the kernel takes."""
    text = marshal.dumps(dict(plan)).hex()
    return [text[at : at + _ARGUMENT_LENGTH] for at in range(0, len(text), _ARGUMENT_LENGTH)]


def n_tasks(user: int) -> int:
    """Return how many processes and threads a user has."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid == user:
                count += len(os.listdir(process / "task"))
    return count


def described(sandbox: Sandbox | None) -> str:
    """Return which sandbox an agent is in, and why in none that is better.

    What holds less in it than it could is said, too.
    """
    missing = this_host().missing if sandbox is None else sandbox.host.missing
    reached = "no sandbox, the agent has all your rights" if sandbox is None else f"sandbox {sandbox.tier.name}"
    told = [f"no {each.name}: {why}" for each, why in sorted(missing.items())]
    return "; ".join([reached, *told, *(sandbox.notes if sandbox else ())])


@dataclass(frozen=True)
class Launch:
    """What to start, with pipes as its three descriptors.

    Start it in a session of its own, by a thread that outlives it.

    Attributes:
        command: The program and its arguments.
        environment: All its variables.
        plan: What the launcher is told, as the last arguments say in `marshal`.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    plan: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _Shut:
    """The locks of a kind of agent, without what is started.

    `user` is who it is to the kernel.
    """

    user: int
    plan: dict[str, Any]
    before: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True)
class Sandbox:
    """A sandbox of a tier, open for any number of agents. Made by `Sandbox.open`.

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
    def open(cls, profile: Profile, *, least: Tier = Tier.T2, most: Tier = Tier.T3) -> Sandbox:
        """Open a sandbox of the highest tier that this machine reaches, up to `most`.

        Where it reaches none there is no sandbox.

        Raises:
            OpenOutcryError: `argument_invalid`: the machine does not reach `least`; the message says why.
        """
        host = this_host()
        tier, least = min(host.tier, most), max(least, Tier.T1)
        if tier < least:
            why = "; ".join(f"{each.name}: {text}" for each, text in sorted(host.missing.items()) if each <= least)
            reached = f"{tier.name}, as `most` says" if most < least else f"{tier.name}, for {why}"
            raise refusal("argument_invalid", f"the sandbox must reach {least.name}; received {reached}")
        locks = frozenset(each for each in Lock if tier >= _TIERS.get(each, Tier.T1))
        return cls(profile, tier, host, locks)

    @classmethod
    def best(cls, profile: Profile, *, most: Tier = Tier.T3) -> Sandbox | None:
        """Open the sandbox of the highest tier that this machine reaches.

        On Linux that is T1 at least; elsewhere there is none, `None`. Below T2 it keeps no stranger's agent from files
        and the network: say what came of it, as `described` does.
        """
        return None if this_host().tier is Tier.T0 else cls.open(profile, least=Tier.T1, most=most)

    def to_dict(self) -> dict[str, Any]:
        """Return what a record says of the sandbox, and why its tier is no higher."""
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
        if self.tier is Tier.T1:
            told.append("an agent reads what you can, keys and data too, and connects to whom it likes")
        if self.tier >= Tier.T2 and self.host.landlock < 6 and self.tier < Tier.T3:
            told.append("a command may signal itself alone: Landlock keeps signals inside from version 6 on")
        if self.tier >= Tier.T1 and os.geteuid() == 0:
            becomes = "an agent becomes nobody where all that it reads is open to others; else it "
            if self.tier >= Tier.T3 and not self.host.becoming:
                becomes = "in namespaces an agent, without a `setpriv` that works, "
            stays = "stays a superuser without rights, for whom a number of processes is no limit"
            told.append(f"the superuser started it: {becomes}{stays}")
        if self.profile.allow_net:
            told.append("the network is open: servers of this machine and its neighbours can be reached, too")
        return tuple(told)

    def module(self, name: str, arguments: Sequence[str] = (), *, imports: Sequence[str] = ("openoutcry",)) -> Launch:
        """Return how to start a Python module as `python -m` would.

        It is found in the standard library, in site-packages, beside this package and in the profile's folder.

        Args:
            name: The module.
            arguments: Its arguments.
            imports: Modules that are imported before the system calls are filtered, those that start threads.
        """
        return self._python("module", [name, *arguments], imports)

    def script(self, path: str | os.PathLike[str], arguments: Sequence[str] = ()) -> Launch:
        """Return how to start a Python file.

        Nothing but the standard library is imported for it.
        """
        return self._python("script", [str(Path(path).resolve()), *arguments], ())

    def command(self, command: Sequence[str]) -> Launch:
        """Return how to start a program in any language.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such program, or it is the stand-in of a version manager.
        """
        folder, name = self._folder, command[0] if command else ""
        # A path is one from the agent's folder, as the program itself would see it.
        program = shutil.which(os.path.join(folder, name) if os.sep in name else name)
        if not name or program is None:
            raise refusal("unknown_agent", f"an agent must be a program that can be run; received {name!r}")
        if Path(program).parent.name == "shims":
            wanted = "a program in the sandbox must be itself, and none that looks for it"
            hint = f"hint: the path that its version manager has for it, as `pyenv which {Path(program).name}` tells"
            raise refusal("unknown_agent", f"{wanted}; received '{program}'; {hint}")
        if program not in self._commands:
            self._commands[program] = self._shut(readable_paths.of_command(program, folder), is_worker=False)
        shut = self._commands[program]
        limits = shut.plan["limits"]
        if limits and shut.user != 0:
            limits = limits | {"NPROC": n_tasks(shut.user) + N_PROCESSES}
        told = {"how": "command", "arguments": [program, *command[1:]], "limits": limits}
        return self._launch(shut, told)

    def _python(self, how: str, arguments: list[str], imports: Sequence[str]) -> Launch:
        own = [self._worker.plan["folder"], *(str(Path(each).resolve()) for each in self.profile.readable)]
        told = {"how": how, "arguments": arguments, "imports": list(imports)}
        return self._launch(self._worker, told | {"path": readable_paths.libraries(), "own_path": own})

    @cached_property
    def _worker(self) -> _Shut:
        return self._shut(readable_paths.of_worker(), is_worker=True)

    @cached_property
    def _commands(self) -> dict[str, _Shut]:
        return {}

    def _shut(self, roots: list[readable_paths.Root], *, is_worker: bool) -> _Shut:
        """Return the locks of a Python agent or of a command."""
        held = self._locks.__contains__
        is_outside = not held(Lock.NAMESPACES)
        folder = self._folder
        right = readable_paths.READ if is_worker else readable_paths.EXECUTE
        roots += [(each, right) for each in (folder, *(str(Path(each).resolve()) for each in self.profile.readable))]
        if self.profile.allow_net:
            roots += readable_paths.of_network()
        # In namespaces the interpreter and its launcher have to be there before they lock themselves in.
        seen = (
            roots
            if is_outside
            else [*roots, *readable_paths.of_worker(), *readable_paths.of_command(INTERPRETER, folder)]
        )
        user = self._user([path for path, _ in seen if os.path.exists(path)], is_outside=is_outside)
        plan: dict[str, Any] = {
            "folder": folder,
            "imports": [],
            "path": [],
            "own_path": [],
            "session": held(Lock.SESSION) and is_outside,
            "descriptors": held(Lock.DESCRIPTORS),
            "limits": self._limits if held(Lock.LIMITS) else {},
            "user": user if is_outside and user != os.geteuid() else None,
            "capabilities": held(Lock.CAPABILITIES),
            "landlock": self._landlock(roots) if held(Lock.LANDLOCK) else None,
            "seccomp": self._seccomp(is_worker=is_worker) if held(Lock.SECCOMP) else None,
        }
        before = () if is_outside else self._bwrap(seen, user)
        return _Shut(user, plan, before, self._environment(is_worker=is_worker))

    def _user(self, read: Iterable[str], *, is_outside: bool) -> int:
        """Return who an agent is that reads some paths.

        It is nobody instead of the superuser, where that can be.
        """
        can_become = os.geteuid() == 0 and (is_outside or bool(self.host.becoming))
        return NOBODY if can_become and all(map(readable_paths.is_open, read)) else os.geteuid()

    def _launch(self, shut: _Shut, told: dict[str, Any]) -> Launch:
        # Within namespaces the parent is `bwrap`, which ends all with its own end.
        plan = shut.plan | told | {"parent": os.getpid() if shut.plan["session"] else None}
        command = (*shut.before, INTERPRETER, "-s", "-S", "-B", LAUNCHER, *in_pieces(plan))
        return Launch(command, shut.environment, plan)

    def _bwrap(self, seen: Iterable[readable_paths.Root], user: int) -> tuple[str, ...]:
        assert self.host.bwrap is not None, "the third tier was reached"
        needed = [path for path, rights in seen if rights != readable_paths.LIST]
        command = in_namespaces(self.host.bwrap, needed, self._hidden, allow_net=self.profile.allow_net)
        return (*(self.host.becoming if user != os.geteuid() else ()), *command)

    def _environment(self, *, is_worker: bool) -> dict[str, str]:
        fixed = _WORKER_ENVIRONMENT if is_worker else _COMMAND_ENVIRONMENT
        if Lock.ENVIRONMENT not in self._locks:
            return dict(os.environ) | fixed
        return fixed | {name: os.environ[name] for name in self.profile.pass_on}

    @property
    def _folder(self) -> str:
        return str(Path(self.profile.folder).resolve())

    @property
    def _hidden(self) -> list[str]:
        return [*(str(Path(each).resolve()) for each in self.profile.hidden), *readable_paths.bundled_data()]

    @property
    def _limits(self) -> dict[str, int]:
        most = {"AS": self.profile.memory_bytes, "CPU": self.profile.cpu_seconds, "NOFILE": 64, "FSIZE": 0}
        # Of 0 bytes it is still written to a program, where the host has one for cores.
        return most | {"CORE": 1}

    def _seccomp(self, *, is_worker: bool) -> dict[str, Any]:
        machine, allow_net = self.host.machine, self.profile.allow_net
        if is_worker:
            made = worker_filter(machine, allow_net=allow_net)
        else:
            made = command_filter(machine, allow_net=allow_net, landlock_abi=self.host.landlock)
        return {"machine": machine, "code": made.code, "own_pid": list(made.own_pid)}

    def _landlock(self, roots: Iterable[readable_paths.Root]) -> dict[str, Any]:
        version = self.host.landlock
        net = _BIND_TCP | (0 if self.profile.allow_net else _CONNECT_TCP)
        return {
            "size": 24 if version >= 6 else 16 if version >= 4 else 8,
            "files": next(rights for since, rights in _FILE_RIGHTS if version >= since),
            "net": net if version >= 4 else 0,
            "scoped": _SCOPED_SOCKETS | _SCOPED_SIGNALS if version >= 6 else 0,
            "grants": readable_paths.grants(roots, self._hidden),
        }
