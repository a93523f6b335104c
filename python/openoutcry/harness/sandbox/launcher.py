"""The launcher: locks itself in, step by step, then becomes the agent.

It is run as `python -s -S -B launcher.py PLAN...` with a minimal environment, before anything but the standard library
is imported, and by the one thread of a new process. The plan, `Launch.plan` in `marshal` and hexadecimal, is made by
`openoutcry.harness.sandbox`: which protections to set, which paths are readable, and the system call filter. The
launcher only carries it out, and ends with exit code 125 where the kernel refuses a step. A Python agent stays in this
process: libraries are imported inside Landlock, and the filter closes over all threads that they have started before
the first line of the agent is read. A foreign command replaces it.
"""


# What is imported costs each agent its time, and comes after the folder of this file has left the path.

from __future__ import annotations

import sys

if __name__ == "__main__":
    # The folder of this file: nothing in it may stand in for a module of the standard library.
    del sys.path[0]

import ctypes
import errno
import marshal
import os
import resource
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILED = 125
"""Exit code where a lock could not be set; nothing of the agent has run."""

SYSCALLS = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}
SECCOMP = {"x86_64": 317, "aarch64": 277}

_SET_PDEATHSIG, _CAPBSET_DROP, _SET_SECUREBITS, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 24, 28, 38, 47
_NO_ROOT_LOCKED, _CLEAR_ALL, _CAPABILITY_VERSION = 3, 4, 0x20080522
_FILTER_MODE, _ALL_THREADS, _ACTION_AVAILABLE = 1, 1, 2
_PATH_RULE = 1
# To execute, write and read; others are those of a folder.
_RIGHTS_OF_A_FILE = 1 | 2 | 4
_SIGKILL = 9

_libc = ctypes.CDLL(None, use_errno=True)


class LockError(Exception):
    """The kernel refused a lock."""


def call(name: str, number: int, *arguments: Any) -> int:
    """Make a system call; all arguments are passed in their full width."""
    wide = [each if isinstance(each, ctypes.c_void_p) else ctypes.c_ulong(each) for each in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *wide))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(name: str, option: int, *values: int) -> None:
    """Make a call of `prctl`."""
    padded = [ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {name}: {os.strerror(ctypes.get_errno())}")


def address(data: Any) -> ctypes.c_void_p:
    """Return where a buffer of `ctypes` is."""
    return ctypes.cast(data, ctypes.c_void_p)


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel has.

    Raises:
        OSError: it has none, or it is switched off.
    """
    return call("Landlock", SYSCALLS["landlock_create_ruleset"], 0, 0, 1)


def check_seccomp(machine: str) -> None:
    """Ask whether the kernel filters system calls.

    Raises:
        OSError: it does not.
    """
    action = ctypes.c_uint32(0x80000000)
    call("seccomp", SECCOMP[machine], _ACTION_AVAILABLE, 0, address(ctypes.pointer(action)))


def close_descriptors() -> None:
    """Close all descriptors but 0 to 2, and refuse files among those.

    A limit of 0 bytes a file would end the agent at its first word, without one.
    """
    os.closerange(3, 2**20)
    for descriptor in (1, 2):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LockError(f"descriptor {descriptor} must be a pipe; received a file")


def go_first() -> None:
    """Let the kernel end this process first where memory runs out.

    That goes for those that it starts, too.
    """
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit(limits: dict[str, int]) -> None:
    """Set resource limits, the soft and the hard one."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def become(user: int) -> None:
    """Become a user without rights."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def bound_capabilities() -> None:
    """See to it that no program gives the superuser's rights back."""
    if os.geteuid() != 0:
        return
    try:
        prctl("securebits", _SET_SECUREBITS, _NO_ROOT_LOCKED)
        for capability in range(64):
            prctl("bounding set", _CAPBSET_DROP, capability)
    except OSError as error:
        # After the last capability there is no such (`EINVAL`); without the right to drop them there are none.
        if error.errno not in (errno.EINVAL, errno.EPERM):
            raise


def drop_capabilities() -> None:
    """Give up what a superuser may do, for good."""
    header, nothing = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0)), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        raise LockError(f"capabilities must be given up: {os.strerror(ctypes.get_errno())}")
    prctl("ambient capabilities", _CAP_AMBIENT, _CLEAR_ALL)


def restrict_files(rules: dict[str, Any]) -> None:
    """Restrict this process to the paths, ports and processes of some rules."""
    wide = struct.pack("=QQQ", rules["files"], rules["net"], rules["scoped"])
    attributes = ctypes.create_string_buffer(wide[: rules["size"]], rules["size"])
    ruleset = call("Landlock", SYSCALLS["landlock_create_ruleset"], address(attributes), rules["size"], 0)
    for rights, folder, names in rules["grants"]:
        for name in names:
            grant(ruleset, os.path.join(folder, name), rights)
    call("Landlock", SYSCALLS["landlock_restrict_self"], ruleset, 0)
    os.close(ruleset)


def grant(ruleset: int, path: str, rights: int) -> None:
    """Allow what is below a path, or a file."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _RIGHTS_OF_A_FILE
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        call(f"Landlock {path}", SYSCALLS["landlock_add_rule"], ruleset, _PATH_RULE, address(rule), 0)
    finally:
        os.close(descriptor)


def filter_calls(machine: str, code: bytes, own_pid: list[int]) -> None:
    """Install a filter of system calls over all threads of this process."""
    instructions = bytearray(code)
    for index in own_pid:
        instructions[8 * index + 4 : 8 * index + 8] = struct.pack("=I", os.getpid())
    buffer = ctypes.create_string_buffer(bytes(instructions), len(instructions))
    program = ctypes.create_string_buffer(
        struct.pack("@HP", len(instructions) // 8, address(buffer).value), struct.calcsize("@HP")
    )
    # Where a thread cannot be included its number comes back.
    if call("seccomp", SECCOMP[machine], _FILTER_MODE, _ALL_THREADS, address(program)) != 0:
        raise LockError("all threads must take the filter; received one that does not")


def lock(plan: dict[str, Any]) -> None:
    """Set all locks but the filter of system calls."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise LockError("the launcher must be a single thread")
    if plan["session"] and os.getsid(0) != os.getpid():
        os.setsid()
    if plan["descriptors"]:
        close_descriptors()
    os.chdir(plan["folder"])
    if plan["limits"]:
        go_first()
        limit(plan["limits"])
    if plan["capabilities"]:
        bound_capabilities()
    if plan["user"] is not None:
        become(plan["user"])
    if plan["capabilities"]:
        drop_capabilities()
    # After the user has changed, which clears it.
    if plan["parent"] is not None:
        prctl("death signal", _SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != plan["parent"]:
            raise LockError("the parent must live; received its end")
    prctl("no new privileges", _SET_NO_NEW_PRIVS, 1)
    if plan["landlock"]:
        restrict_files(plan["landlock"])


def main() -> None:
    """Carry out a plan; returns only where the agent is a Python module that ends."""
    plan = marshal.loads(bytes.fromhex("".join(sys.argv[1:])))
    filtering = plan["seccomp"]
    try:
        lock(plan)
        sys.path[:] = plan["path"]
        for module in plan["imports"]:
            __import__(module)
        if filtering:
            filter_calls(filtering["machine"], filtering["code"], filtering["own_pid"])
        # From here on what the agent calls like a library stands before the library.
        sys.path[:0] = plan["own_path"]
        sys.argv[:] = plan["arguments"]
        if plan["how"] == "command":
            os.execve(sys.argv[0], sys.argv, dict(os.environ))
    except (OSError, LockError) as error:
        print(f"the sandbox could not be locked: {error}", file=sys.stderr)
        sys.exit(FAILED)
    if plan["how"] == "script":
        with open(sys.argv[0], "rb") as file:
            code = compile(file.read(), sys.argv[0], "exec")
        exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
    else:
        import runpy

        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
