"""`Sandbox`: choose the tier, and build the commands that start agents in it."""

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
from openoutcry.harness.sandbox.hidden_paths import hard_links, names_of
from openoutcry.harness.sandbox.host_features import Host, Tier, this_host
from openoutcry.harness.sandbox.namespaces import NOBODY, in_namespaces
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.protections import Protection
from openoutcry.harness.sandbox.seccomp_filters import command_filter, worker_filter

# Resolved: a symbolic link may lead through folders that a namespace does not contain.
INTERPRETER = os.path.realpath(sys.executable)
LAUNCHER = str(Path(__file__).resolve().with_name("launcher.py"))
N_PROCESSES = 256
"""Limit of processes and threads for a command, in addition to those that its user already has."""

_TIERS = {Protection.LANDLOCK: Tier.T2, Protection.SECCOMP: Tier.T2, Protection.NAMESPACES: Tier.T3}
# Landlock version, newest first, and all file access rights of that version.
_FILE_RIGHTS = ((5, (1 << 16) - 1), (3, (1 << 15) - 1))
_ARGUMENT_LENGTH = 2**16
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPED_SOCKETS, _SCOPED_SIGNALS = 1, 2
_WORKER_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    # Sets of strings have the same order in every run.
    "PYTHONHASHSEED": "0",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_COMMAND_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def plan_arguments(plan: Mapping[str, Any]) -> list[str]:
    """Return a plan as command line arguments of an accepted length."""
    text = marshal.dumps(dict(plan)).hex()
    return [text[at : at + _ARGUMENT_LENGTH] for at in range(0, len(text), _ARGUMENT_LENGTH)]


def n_tasks(user: int) -> int:
    """Return the number of processes and threads of a user."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid == user:
                count += len(os.listdir(process / "task"))
    return count


def describe_sandbox(sandbox: Sandbox | None) -> str:
    """Describe a sandbox: its tier, missing tiers with reasons, limitations."""
    missing = this_host().missing if sandbox is None else sandbox.host.missing
    reached = "no sandbox, the agent has all your permissions" if sandbox is None else f"sandbox {sandbox.tier.name}"
    reasons = [f"no {each.name}: {why}" for each, why in sorted(missing.items())]
    return "; ".join([reached, *reasons, *(sandbox.notes if sandbox else ())])


@dataclass(frozen=True)
class Launch:
    """A command to start, with pipes as its three descriptors.

    Start it in a new session, from a thread that outlives it.

    Attributes:
        command: The program and its arguments.
        environment: The complete environment.
        plan: The plan of the launcher, which the last arguments hold in `marshal`.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    plan: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _Plan:
    """The launch plan of a kind of agent, without the program to start."""

    user: int
    plan: dict[str, Any]
    prefix: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True)
class Sandbox:
    """A sandbox of a tier, for any number of agents. Create it with `Sandbox.open`.

    Attributes:
        profile: What an agent may access.
        tier: The tier of protection.
        host: Sandbox features of the machine.
    """

    profile: Profile
    tier: Tier
    host: Host
    _protections: frozenset[Protection]

    @classmethod
    def open(cls, profile: Profile, *, min_tier: Tier = Tier.T2, max_tier: Tier = Tier.T3) -> Sandbox:
        """Open a sandbox of the highest tier that this machine reaches, up to `max_tier`.

        Raises:
            OpenOutcryError: `argument_invalid`: the machine does not reach `min_tier`; the message says why.
        """
        host = this_host()
        tier, min_tier = min(host.tier, max_tier), max(min_tier, Tier.T1)
        if tier < min_tier:
            why = "; ".join(f"{each.name}: {text}" for each, text in sorted(host.missing.items()) if each <= min_tier)
            reached = f"{tier.name}, as `max_tier` requires" if max_tier < min_tier else f"{tier.name}, for {why}"
            raise refusal("argument_invalid", f"the sandbox must reach {min_tier.name}; received {reached}")
        protections = {each for each in Protection if tier >= _TIERS.get(each, Tier.T1)}
        # Without Landlock, a filter still keeps an agent from other processes, from the network and from folders.
        protections |= {Protection.SECCOMP} if host.has_filters else set()
        return cls(profile, tier, host, frozenset(protections))

    @classmethod
    def best(cls, profile: Profile, *, max_tier: Tier = Tier.T3) -> Sandbox | None:
        """Open the sandbox of the highest tier that this machine reaches.

        On Linux that is at least T1; on other systems the result is None. Below T2 the agent can read files and use the
        network: report the tier, for example with `describe_sandbox`.
        """
        return None if this_host().tier is Tier.T0 else cls.open(profile, min_tier=Tier.T1, max_tier=max_tier)

    def to_dict(self) -> dict[str, Any]:
        """Return the description for records: tier and reasons of missing tiers."""
        return {
            "tier": self.tier.name,
            "missing": {each.name: text for each, text in sorted(self.host.missing.items())},
            "landlock": self.host.landlock,
            "allow_net": self.profile.allow_net,
            "notes": list(self.notes),
        }

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Limitations of this sandbox, as sentences."""
        notes = []
        if self.tier is Tier.T1:
            text = "an agent can read all your files, including keys and data, and empty those that you can write"
            if Protection.SECCOMP not in self._protections:
                text += ", delete them, use the network, and signal or leave processes"
            elif self.profile.allow_net:
                text += "; a filter of system calls protects processes and folders"
            else:
                text += "; a filter of system calls protects processes, folders and the network"
            if os.geteuid() == 0:
                text += "; paths that the command names or `hidden` lists are covered by mounts, if root may mount"
            notes.append(text)
        if self.tier >= Tier.T2 and self.host.landlock < 6 and self.tier < Tier.T3:
            notes.append("a command can signal only itself: Landlock scopes signals from version 6 on")
        if self.tier >= Tier.T1 and os.geteuid() == 0:
            runs = "the agent runs as `nobody` if all its files are world-readable. Otherwise it runs"
            if self.tier >= Tier.T3 and not self.host.setpriv:
                runs = "without a working `setpriv` the agent runs"
            notes.append(f"started by root: {runs} as root without capabilities and without a process limit")
        if self.profile.allow_net:
            notes.append("the network is open, including servers of this machine and of the local network")
        return tuple(notes)

    def module(self, name: str, arguments: Sequence[str] = (), *, imports: Sequence[str] = ("openoutcry",)) -> Launch:
        """Return the command that starts a Python module, as `python -m` does.

        The module is imported from the standard library, site-packages, the parent folder of this package or the
        folders of the profile.

        Args:
            name: The module.
            arguments: Its arguments.
            imports: Modules to import before system calls are filtered, such as those that start threads.
        """
        return self._python("module", [name, *arguments], imports)

    def script(self, path: str | os.PathLike[str], arguments: Sequence[str] = ()) -> Launch:
        """Return the command that starts a Python file.

        Only the standard library is imported before it.
        """
        return self._python("script", [str(Path(path).resolve()), *arguments], ())

    def command(self, command: Sequence[str]) -> Launch:
        """Return the command that starts a program in any language.

        Raises:
            OpenOutcryError: `unknown_agent`: the program does not exist, or is a shim of a version manager.
        """
        folder, name = self._folder, command[0] if command else ""
        # A relative path starts at the agent's folder, the working directory of the program.
        program = shutil.which(os.path.join(folder, name) if os.sep in name else name)
        if not name or program is None:
            # `NAME=VALUE` is no program, and the value may be a secret.
            shown = name.partition("=")[0] + "=..." if "=" in name else name
            raise refusal("unknown_agent", f"an agent must be a program that can be run; received {shown!r}")
        if Path(program).parent.name == "shims":
            wanted = "a program in the sandbox must be the executable itself, not a shim of a version manager"
            hint = f"hint: use the path that the version manager prints, such as `pyenv which {Path(program).name}`"
            raise refusal("unknown_agent", f"{wanted}; received '{program}'; {hint}")
        if program not in self._commands:
            self._commands[program] = self._plan_for(readable_paths.of_command(program, folder), is_worker=False)
        base = self._commands[program]
        limits = base.plan["limits"]
        if limits and base.user != 0:
            limits = limits | {"NPROC": n_tasks(base.user) + N_PROCESSES}
        start = {"how": "command", "arguments": [program, *command[1:]], "limits": limits}
        return self._launch(base, start)

    def _python(self, how: str, arguments: list[str], imports: Sequence[str]) -> Launch:
        own = [self._worker.plan["folder"], *(str(Path(each).resolve()) for each in self.profile.readable)]
        start = {"how": how, "arguments": arguments, "imports": list(imports)}
        return self._launch(self._worker, start | {"path": readable_paths.libraries(), "own_path": own})

    @cached_property
    def _worker(self) -> _Plan:
        return self._plan_for(readable_paths.of_worker(), is_worker=True)

    @cached_property
    def _commands(self) -> dict[str, _Plan]:
        return {}

    def _plan_for(self, roots: list[readable_paths.Root], *, is_worker: bool) -> _Plan:
        """Return the launch plan of a Python agent or of a command."""
        is_active = self._protections.__contains__
        is_outside = not is_active(Protection.NAMESPACES)
        folder = self._folder
        right = readable_paths.READ if is_worker else readable_paths.EXECUTE
        roots += [(each, right) for each in (folder, *(str(Path(each).resolve()) for each in self.profile.readable))]
        if self.profile.allow_net:
            roots += readable_paths.of_network()
        # In namespaces the interpreter and the launcher must be visible until Landlock applies.
        visible = (
            roots
            if is_outside
            else [*roots, *readable_paths.of_worker(), *readable_paths.of_command(INTERPRETER, folder)]
        )
        user = self._user([path for path, _ in visible if os.path.exists(path)], is_outside=is_outside)
        plan: dict[str, Any] = {
            "folder": folder,
            "imports": [],
            "path": [],
            "own_path": [],
            "session": is_active(Protection.SESSION) and is_outside,
            "descriptors": is_active(Protection.DESCRIPTORS),
            "limits": self._limits if is_active(Protection.LIMITS) else {},
            "user": user if is_outside and user != os.geteuid() else None,
            # Landlock hides them in higher tiers.
            "covered": [] if is_active(Protection.LANDLOCK) else self._hidden,
            "capabilities": is_active(Protection.CAPABILITIES),
            "landlock": self._landlock(roots) if is_active(Protection.LANDLOCK) else None,
            "seccomp": self._seccomp(is_worker=is_worker) if is_active(Protection.SECCOMP) else None,
        }
        prefix = () if is_outside else self._bwrap(visible, user)
        return _Plan(user, plan, prefix, self._environment(is_worker=is_worker))

    def _user(self, read: Iterable[str], *, is_outside: bool) -> int:
        """Return the user id of an agent: `nobody` for root, if it can read the paths."""
        can_become = os.geteuid() == 0 and (is_outside or bool(self.host.setpriv))
        return NOBODY if can_become and all(map(readable_paths.is_open, read)) else os.geteuid()

    def _launch(self, base: _Plan, start: dict[str, Any]) -> Launch:
        # In namespaces the parent is `bwrap`, which kills all processes when it exits.
        plan = base.plan | start | {"parent": os.getpid() if base.plan["session"] else None}
        command = (*base.prefix, INTERPRETER, "-s", "-S", "-B", LAUNCHER, *plan_arguments(plan))
        return Launch(command, base.environment, plan)

    def _bwrap(self, visible: Iterable[readable_paths.Root], user: int) -> tuple[str, ...]:
        assert self.host.bwrap is not None, "tier T3 was reached"
        needed = [path for path, rights in visible if rights != readable_paths.LIST]
        command = in_namespaces(self.host.bwrap, needed, self._hidden, allow_net=self.profile.allow_net)
        return (*(self.host.setpriv if user != os.geteuid() else ()), *command)

    def _environment(self, *, is_worker: bool) -> dict[str, str]:
        fixed = _WORKER_ENVIRONMENT if is_worker else _COMMAND_ENVIRONMENT
        if Protection.ENVIRONMENT not in self._protections:
            return dict(os.environ) | fixed
        return fixed | {name: os.environ[name] for name in self.profile.pass_on}

    @property
    def _folder(self) -> str:
        return str(Path(self.profile.folder).resolve())

    @cached_property
    def _hidden(self) -> list[str]:
        named = [name for each in self.profile.hidden for name in names_of(each)]
        own = [self._folder, *(str(Path(each).resolve()) for each in self.profile.readable)]
        return [*named, *hard_links(named, own), *readable_paths.bundled_data()]

    @property
    def _limits(self) -> dict[str, int]:
        most = {"AS": self.profile.memory_bytes, "CPU": self.profile.cpu_seconds, "NOFILE": 64, "FSIZE": 0}
        # With a limit of 0 the kernel still pipes the core dump to a handler program, if the host has one.
        return most | {"CORE": 1}

    def _seccomp(self, *, is_worker: bool) -> dict[str, Any]:
        machine, allow_net = self.host.machine, self.profile.allow_net
        if is_worker:
            program = worker_filter(machine, allow_net=allow_net)
        else:
            abi = self.host.landlock if Protection.LANDLOCK in self._protections else 0
            program = command_filter(machine, allow_net=allow_net, landlock_abi=abi)
        return {"machine": machine, "code": program.code, "own_pid": list(program.own_pid)}

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
