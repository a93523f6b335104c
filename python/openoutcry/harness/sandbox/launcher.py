"""The launcher: protects its own process, then runs the agent in it.

Run as `python -s -S -B launcher.py PLAN...` with a minimal environment, by the single thread of a new process that has
imported only the standard library. The plan, `Launch.plan` in `marshal` and hexadecimal, comes from
`openoutcry.harness.sandbox`: which protections to set, which paths are readable, and the system call filter. The
launcher applies it and exits with code 125 if the kernel refuses a step. A Python agent runs in this process: libraries
are imported inside Landlock, then the filter is installed for all threads that they started, before the first line of
the agent is read. A foreign command replaces this process.
"""

# Imports delay the start of every agent, and must follow the removal of this folder from the path.

from __future__ import annotations

import sys

if __name__ == "__main__":
    # The folder of this file: its modules must not shadow the standard library.
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
"""Exit code if a protection could not be set; the agent has not started."""

SYSCALLS = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}
SECCOMP = {"x86_64": 317, "aarch64": 277}

_SET_PDEATHSIG, _CAPBSET_DROP, _SET_SECUREBITS, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 24, 28, 38, 47
_NO_ROOT_LOCKED, _CLEAR_ALL, _CAPABILITY_VERSION = 3, 4, 0x20080522
_FILTER_MODE, _ALL_THREADS, _ACTION_AVAILABLE = 1, 1, 2
_PATH_RULE = 1
# Execute, write and read; the other rights apply to folders only.
_RIGHTS_OF_A_FILE = 1 | 2 | 4
_SIGKILL = 9
_NEW_MOUNTS, _READ_ONLY, _BIND, _PRIVATE = 0x20000, 1, 0x1000, 0x4000 | 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


class ProtectionError(Exception):
    """A protection could not be set."""


def call(name: str, number: int, *arguments: Any) -> int:
    """Make a system call with 64-bit arguments."""
    wide = [each if isinstance(each, ctypes.c_void_p) else ctypes.c_ulong(each) for each in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *wide))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(name: str, option: int, *values: int) -> None:
    """Call `prctl`."""
    padded = [ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {name}: {os.strerror(ctypes.get_errno())}")


def address(data: Any) -> ctypes.c_void_p:
    """Return the address of a `ctypes` buffer."""
    return ctypes.cast(data, ctypes.c_void_p)


def landlock_abi() -> int:
    """Return the Landlock version of the kernel.

    Raises:
        OSError: Landlock is missing or disabled.
    """
    return call("Landlock", SYSCALLS["landlock_create_ruleset"], 0, 0, 1)


def check_seccomp(machine: str) -> None:
    """Check that the kernel supports seccomp filters.

    Raises:
        OSError: the kernel does not support them.
    """
    action = ctypes.c_uint32(0x80000000)
    call("seccomp", SECCOMP[machine], _ACTION_AVAILABLE, 0, address(ctypes.pointer(action)))


def close_descriptors() -> None:
    """Close all descriptors except 0 to 2, and refuse regular files as output.

    The file size limit of 0 bytes would kill the agent at its first write, without a message.
    """
    os.closerange(3, 2**20)
    for descriptor in (1, 2):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ProtectionError(f"descriptor {descriptor} must be a pipe; received a file")


def go_first() -> None:
    """Make this process and its children the first to be killed when memory runs out."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit(limits: dict[str, int]) -> None:
    """Set soft and hard resource limits."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def become(user: int) -> None:
    """Change to an unprivileged user and group."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def cover(paths: list[str]) -> None:
    """Cover files and folders by empty ones for this process and its children.

    Only root may, unless it is the root of a container without this right. What cannot be covered stays readable.
    """
    if not paths or os.geteuid() != 0 or _libc.unshare(_NEW_MOUNTS) != 0:
        return
    # Changes of mounts must not reach the other processes.
    if _libc.mount(None, b"/", None, _PRIVATE, None) != 0:
        return
    for path in paths:
        if os.path.isdir(path):
            _libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", _READ_ONLY, b"size=4k")
        elif os.path.exists(path):
            _libc.mount(b"/dev/null", os.fsencode(path), None, _BIND, None)


def bound_capabilities() -> None:
    """Clear the capability bounding set, so that no program regains privileges."""
    if os.geteuid() != 0:
        return
    try:
        prctl("securebits", _SET_SECUREBITS, _NO_ROOT_LOCKED)
        for capability in range(64):
            prctl("bounding set", _CAPBSET_DROP, capability)
    except OSError as error:
        # `EINVAL`: past the last capability. `EPERM`: the process has no capabilities to drop.
        if error.errno not in (errno.EINVAL, errno.EPERM):
            raise


def drop_capabilities() -> None:
    """Drop all capabilities permanently."""
    header, nothing = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0)), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        raise ProtectionError(f"capabilities must be dropped; received {os.strerror(ctypes.get_errno())}")
    prctl("ambient capabilities", _CAP_AMBIENT, _CLEAR_ALL)


def restrict_files(rules: dict[str, Any]) -> None:
    """Restrict this process by Landlock to the given paths, ports and processes."""
    wide = struct.pack("=QQQ", rules["files"], rules["net"], rules["scoped"])
    attributes = ctypes.create_string_buffer(wide[: rules["size"]], rules["size"])
    ruleset = call("Landlock", SYSCALLS["landlock_create_ruleset"], address(attributes), rules["size"], 0)
    for rights, folder, names in rules["grants"]:
        for name in names:
            grant(ruleset, os.path.join(folder, name), rights)
    call("Landlock", SYSCALLS["landlock_restrict_self"], ruleset, 0)
    os.close(ruleset)


def grant(ruleset: int, path: str, rights: int) -> None:
    """Grant access to a file or to everything below a folder."""
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
    """Install a system call filter for all threads of this process."""
    instructions = bytearray(code)
    for index in own_pid:
        instructions[8 * index + 4 : 8 * index + 8] = struct.pack("=I", os.getpid())
    buffer = ctypes.create_string_buffer(bytes(instructions), len(instructions))
    program = ctypes.create_string_buffer(
        struct.pack("@HP", len(instructions) // 8, address(buffer).value), struct.calcsize("@HP")
    )
    # The call returns the id of a thread that cannot be included.
    if call("seccomp", SECCOMP[machine], _FILTER_MODE, _ALL_THREADS, address(program)) != 0:
        raise ProtectionError("all threads must accept the filter; received one that does not")


def lock(plan: dict[str, Any]) -> None:
    """Set all protections except the system call filter."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise ProtectionError("the launcher must be a single thread")
    if plan["session"] and os.getsid(0) != os.getpid():
        os.setsid()
    if plan["descriptors"]:
        close_descriptors()
    cover(plan["covered"])
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
    # After the change of user, which clears this setting.
    if plan["parent"] is not None:
        prctl("death signal", _SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != plan["parent"]:
            raise ProtectionError("the parent process must still run; received its exit")
    prctl("no new privileges", _SET_NO_NEW_PRIVS, 1)
    if plan["landlock"]:
        restrict_files(plan["landlock"])


def main() -> None:
    """Apply the plan and run the agent."""
    plan = marshal.loads(bytes.fromhex("".join(sys.argv[1:])))
    filtering = plan["seccomp"]
    try:
        lock(plan)
        sys.path[:] = plan["path"]
        for module in plan["imports"]:
            __import__(module)
        if filtering:
            filter_calls(filtering["machine"], filtering["code"], filtering["own_pid"])
        # From here on the agent's modules take precedence over libraries of the same name.
        sys.path[:0] = plan["own_path"]
        sys.argv[:] = plan["arguments"]
        if plan["how"] == "command":
            os.execve(sys.argv[0], sys.argv, dict(os.environ))
    except (OSError, ProtectionError) as error:
        print(f"the sandbox could not be set up: {error}", file=sys.stderr)
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
