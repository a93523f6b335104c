"""Attempts on processes: create, read, signal or trace one."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Target = dict[str, Any]
CAT = next((each for each in ("/usr/bin/cat", "/bin/cat") if os.path.exists(each)), "cat")
LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
PTRACE_SEIZE, SIGURG = 0x4206, 23


def environment(target: Target) -> str:
    """Read a key of the harness from the environment."""
    return f"read {os.environ[target['variable']]!r}"


def inherited(target: Target) -> str:
    """Read an open file of the harness by its descriptor number."""
    return f"read {os.pread(target['descriptor'], 40, 0)!r}"


def session(target: Target) -> str:
    """Stay in the session of the harness, which owns its terminal."""
    if os.getsid(0) != target["session"]:
        raise PermissionError("the process has a new session")
    return f"session {target['session']}"


def capabilities(target: Target) -> str:
    """Hold a capability of root."""
    header, sets = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0)), (ctypes.c_uint32 * 6)()
    checked(ctypes.CDLL(None, use_errno=True).capget(header, sets))
    if not (sets[0] or sets[3]):
        raise PermissionError("no capabilities")
    return f"capabilities {sets[3]:x}{sets[0]:08x}"


def parents_environment(target: Target) -> str:
    """Read the environment of its parent."""
    return f"{length(f'/proc/{os.getppid()}/environ')} bytes"


def parents_command(target: Target) -> str:
    """Read the command line of its parent."""
    return f"{length(f'/proc/{os.getppid()}/cmdline')} bytes"


def decoys_environment(target: Target) -> str:
    """Read the environment of another process."""
    decoy = target["decoy"]
    return f"{length(f'/proc/{decoy}/environ')} bytes"


def list_processes(target: Target) -> str:
    """List the processes of the machine."""
    return f"{len([each for each in os.listdir('/proc') if each.isdigit()])} processes"


def existence(target: Target) -> str:
    """Test whether another process exists, by its group."""
    return f"group {os.getpgid(target['decoy'])}"


def own_memory(target: Target) -> str:
    """Open its own memory for writing, past page protection."""
    os.close(os.open("/proc/self/mem", os.O_RDWR))
    return "opened"


def own_maps(target: Target) -> str:
    """Read its own memory map."""
    return f"{length('/proc/self/maps')} bytes"


def fork(target: Target) -> str:
    """Fork a process."""
    return fork_many(1)


def forks(target: Target) -> str:
    """Fork eight processes."""
    return fork_many(8)


def thread(target: Target) -> str:
    """Start a thread."""
    import threading

    worker = threading.Thread(target=int)
    worker.start()
    worker.join()
    return "a thread ran"


def spawn(target: Target) -> str:
    """Spawn a program that reads the data."""
    number = os.posix_spawn(CAT, ["cat", target["secret"]], {})
    return exit_text(os.waitpid(number, 0)[1])


def subprocess_run(target: Target) -> str:
    """Run a program that reads the data, and capture its output."""
    import subprocess

    done = subprocess.run([CAT, target["secret"]], capture_output=True)
    return f"read {done.stdout[:40]!r}" if done.stdout else exit_text(done.returncode)


def shell(target: Target) -> str:
    """Read the data through `system` of the C library."""
    return exit_text(ctypes.CDLL(None).system(f"exec {CAT} '{target['secret']}'".encode()))


def execute(target: Target) -> str:
    """Execute a program that reads the data."""
    os.execv(CAT, ["cat", target["secret"]])


def loader(target: Target) -> str:
    """Execute the dynamic loader, which runs readable files."""
    path = next(each for each in LOADERS if os.path.exists(each))
    os.execv(path, [path, CAT, target["secret"]])


def memory_file(target: Target) -> str:
    """Execute a program from an in-memory file."""
    descriptor = os.memfd_create("program", 0)
    with open(CAT, "rb") as file:
        os.write(descriptor, file.read())
    os.execve(descriptor, ["cat", target["secret"]], {})


def signal_decoy(target: Target) -> str:
    """Send another process a signal that it ignores."""
    os.kill(target["decoy"], SIGURG)
    return "sent"


def queue_signal(target: Target) -> str:
    """Send another process a signal with a value."""
    filled = ctypes.create_string_buffer(struct.pack("=iii", SIGURG, 0, -1), 128)
    checked(libc("rt_sigqueueinfo", target["decoy"], SIGURG, filled))
    return "sent"


def signal_by_descriptor(target: Target) -> str:
    """Send another process a signal through a pidfd."""
    checked(libc("pidfd_send_signal", checked(libc("pidfd_open", target["decoy"], 0)), SIGURG, 0, 0))
    return "sent"


def owner_signal(target: Target) -> str:
    """Let the kernel signal another process as the owner of a pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 10, SIGURG)
    fcntl.fcntl(reader, fcntl.F_SETOWN, target["decoy"])
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    return "owner set"


def trace(target: Target) -> str:
    """Trace another process."""
    checked(libc("ptrace", PTRACE_SEIZE, target["decoy"], 0, 0))
    return "traced"


def read_memory(target: Target) -> str:
    """Read the memory of another process."""
    buffer = ctypes.create_string_buffer(8)
    into = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(buffer), 8))
    source = ctypes.create_string_buffer(struct.pack("@PN", target["address"], 8))
    checked(libc("process_vm_readv", target["decoy"], into, 1, source, 1, 0))
    return f"read {buffer.raw!r}"


def take_descriptor(target: Target) -> str:
    """Take an open file of another process."""
    checked(libc("pidfd_getfd", checked(libc("pidfd_open", target["decoy"], 0)), 0, 0))
    return "taken"


def limit_decoy(target: Target) -> str:
    """Set a resource limit of another process to its present value."""
    now = resource.prlimit(target["decoy"], resource.RLIMIT_CORE)
    resource.prlimit(target["decoy"], resource.RLIMIT_CORE, now)
    return "set"


def slow_decoy(target: Target) -> str:
    """Set the priority of another process to its present value."""
    checked(libc("setpriority", 0, target["decoy"], os.getpriority(os.PRIO_PROCESS, target["decoy"])))
    return "set"


def move_decoy(target: Target) -> str:
    """Set the processor affinity of another process to its present value."""
    os.sched_setaffinity(target["decoy"], os.sched_getaffinity(target["decoy"]))
    return "set"


def shared_segment(target: Target) -> str:
    """Attach a shared memory segment of another process."""
    attach = ctypes.CDLL(None, use_errno=True).shmat
    attach.restype = ctypes.c_void_p
    address = attach(target["segment"], None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        checked(-1)
    return f"read {ctypes.string_at(address, 6)!r}"


def message_queue(target: Target) -> str:
    """Create a message queue that another process can open."""
    queue = checked(libc("msgget", 0, 0o1600))
    checked(libc("msgctl", queue, 0, 0))
    return "created"


def keyring(target: Target) -> str:
    """Find the keyring of its user in the kernel."""
    return f"keyring {checked(libc('keyctl', 0, ctypes.c_ulong(2**64 - 4), 1)) > 0}"


def raise_limits(target: Target) -> str:
    """Raise a limit that only root may raise."""
    now, most = resource.getrlimit(resource.RLIMIT_NICE)
    resource.setrlimit(resource.RLIMIT_NICE, (now, most + 1))
    return f"from {most} to {most + 1}"


def leave_group(target: Target) -> str:
    """Leave the process group that the harness kills."""
    if (child := os.fork()) == 0:
        try:
            os.setsid()
        except OSError:
            os._exit(1)
        os._exit(0)
    return exit_text(os.waitpid(child, 0)[1])


def outlive(target: Target) -> str:
    """Cancel the signal at the death of its parent."""
    checked(libc("prctl", 1, 0, 0, 0, 0))
    return "no signal at the parent's death"


def libc(name: str, *arguments: Any) -> int:
    """Make a system call by its name."""
    numbers = {
        "ptrace": (101, 117),
        "msgget": (68, 186),
        "msgctl": (71, 187),
        "rt_sigqueueinfo": (129, 138),
        "setpriority": (141, 140),
        "prctl": (157, 167),
        "keyctl": (250, 219),
        "process_vm_readv": (310, 270),
        "pidfd_send_signal": (424, 424),
        "pidfd_open": (434, 434),
        "pidfd_getfd": (438, 438),
    }
    number = numbers[name][os.uname().machine == "aarch64"]
    wide = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *wide))


def checked(result: int) -> int:
    """Return the result of a system call, or raise its error."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def fork_many(n: int) -> str:
    """Fork processes that exit at once."""
    children = []
    for _ in range(n):
        if (child := os.fork()) == 0:
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return f"{n} forked"


def exit_text(status: int) -> str:
    """Return a text for exit status 0, or raise."""
    if status != 0:
        raise PermissionError(f"exit status {status}")
    return "exit status 0"


def length(path: str) -> int:
    """Return the number of bytes of a file that is not empty.

    Raises:
        LookupError: the file is empty.
    """
    with open(path, "rb") as file:
        n_bytes = len(file.read())
    if n_bytes == 0:
        raise LookupError("nothing was read")
    return n_bytes


HELPERS = {"libc", "checked", "fork_many", "exit_text", "length"}
# A foreign command may do these: they have no effect outside the sandbox.
WORKER = {"fork", "forks", "thread"}
# Process ids are visible outside of namespaces.
NAMESPACES = {"existence"}
