"""Attempts on processes: to make one, to read one, to reach one."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = dict[str, Any]
CAT = next((each for each in ("/usr/bin/cat", "/bin/cat") if os.path.exists(each)), "cat")
LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
PTRACE_SEIZE, SIGURG = 0x4206, 23


def environment(place: Place) -> str:
    """Read a key of the harness from the environment."""
    return f"read {os.environ[place['variable']]!r}"


def inherited(place: Place) -> str:
    """Read a file that the harness has open, by its number."""
    return f"read {os.pread(place['descriptor'], 40, 0)!r}"


def session(place: Place) -> str:
    """Stay in the session of the harness, with its terminal."""
    if os.getsid(0) != place["session"]:
        raise PermissionError("it has a session of its own")
    return f"session {place['session']}"


def capabilities(place: Place) -> str:
    """Hold a right of the superuser."""
    header, sets = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0)), (ctypes.c_uint32 * 6)()
    checked(ctypes.CDLL(None, use_errno=True).capget(header, sets))
    if not (sets[0] or sets[3]):
        raise PermissionError("it holds none")
    return f"capabilities {sets[3]:x}{sets[0]:08x}"


def parents_environment(place: Place) -> str:
    """Read the environment of its parent."""
    return f"{length(f'/proc/{os.getppid()}/environ')} bytes"


def parents_command(place: Place) -> str:
    """Read the command line of its parent."""
    return f"{length(f'/proc/{os.getppid()}/cmdline')} bytes"


def decoys_environment(place: Place) -> str:
    """Read the environment of another process."""
    decoy = place["decoy"]
    return f"{length(f'/proc/{decoy}/environ')} bytes"


def list_processes(place: Place) -> str:
    """List the processes of the machine."""
    return f"{len([each for each in os.listdir('/proc') if each.isdigit()])} processes"


def existence(place: Place) -> str:
    """Tell whether another process is there, by its group."""
    return f"group {os.getpgid(place['decoy'])}"


def own_memory(place: Place) -> str:
    """Open its own memory to write, past the protection of pages."""
    os.close(os.open("/proc/self/mem", os.O_RDWR))
    return "opened"


def own_maps(place: Place) -> str:
    """Read where in memory everything is."""
    return f"{length('/proc/self/maps')} bytes"


def fork(place: Place) -> str:
    """Make a process."""
    return forked(1)


def forks(place: Place) -> str:
    """Make eight processes."""
    return forked(8)


def thread(place: Place) -> str:
    """Start a thread."""
    import threading

    made = threading.Thread(target=int)
    made.start()
    made.join()
    return "a thread ran"


def spawn(place: Place) -> str:
    """Spawn a program that reads the data."""
    number = os.posix_spawn(CAT, ["cat", place["secret"]], {})
    return ended(os.waitpid(number, 0)[1])


def subprocess_run(place: Place) -> str:
    """Run a program that reads the data, and take its output."""
    import subprocess

    made = subprocess.run([CAT, place["secret"]], capture_output=True)
    return f"read {made.stdout[:40]!r}" if made.stdout else ended(made.returncode)


def shell(place: Place) -> str:
    """Let a shell of the C library read the data."""
    return ended(ctypes.CDLL(None).system(f"exec {CAT} '{place['secret']}'".encode()))


def execute(place: Place) -> str:
    """Become a program that reads the data."""
    os.execv(CAT, ["cat", place["secret"]])


def loader(place: Place) -> str:
    """Become the loader of programs, which reads what may not be executed."""
    path = next(each for each in LOADERS if os.path.exists(each))
    os.execv(path, [path, CAT, place["secret"]])


def memory_file(place: Place) -> str:
    """Become a program that lies in memory alone."""
    descriptor = os.memfd_create("program", 0)
    with open(CAT, "rb") as file:
        os.write(descriptor, file.read())
    os.execve(descriptor, ["cat", place["secret"]], {})


def signal_decoy(place: Place) -> str:
    """Send another process a signal, one that it ignores."""
    os.kill(place["decoy"], SIGURG)
    return "sent"


def queue_signal(place: Place) -> str:
    """Send another process a signal with a value."""
    filled = ctypes.create_string_buffer(struct.pack("=iii", SIGURG, 0, -1), 128)
    checked(libc("rt_sigqueueinfo", place["decoy"], SIGURG, filled))
    return "sent"


def signal_by_descriptor(place: Place) -> str:
    """Send another process a signal by a descriptor of it."""
    checked(libc("pidfd_send_signal", checked(libc("pidfd_open", place["decoy"], 0)), SIGURG, 0, 0))
    return "sent"


def owner_signal(place: Place) -> str:
    """Have the kernel signal another process, as the owner of a pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 10, SIGURG)
    fcntl.fcntl(reader, fcntl.F_SETOWN, place["decoy"])
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    return "owner set"


def trace(place: Place) -> str:
    """Trace another process."""
    checked(libc("ptrace", PTRACE_SEIZE, place["decoy"], 0, 0))
    return "traced"


def read_memory(place: Place) -> str:
    """Read the memory of another process."""
    buffer = ctypes.create_string_buffer(8)
    into = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(buffer), 8))
    source = ctypes.create_string_buffer(struct.pack("@PN", place["address"], 8))
    checked(libc("process_vm_readv", place["decoy"], into, 1, source, 1, 0))
    return f"read {buffer.raw!r}"


def take_descriptor(place: Place) -> str:
    """Take an open file of another process."""
    checked(libc("pidfd_getfd", checked(libc("pidfd_open", place["decoy"], 0)), 0, 0))
    return "taken"


def limit_decoy(place: Place) -> str:
    """Set a limit of another process, to what it is."""
    now = resource.prlimit(place["decoy"], resource.RLIMIT_CORE)
    resource.prlimit(place["decoy"], resource.RLIMIT_CORE, now)
    return "set"


def slow_decoy(place: Place) -> str:
    """Set the priority of another process, to what it is."""
    checked(libc("setpriority", 0, place["decoy"], os.getpriority(os.PRIO_PROCESS, place["decoy"])))
    return "set"


def move_decoy(place: Place) -> str:
    """Set the processors of another process, to what they are."""
    os.sched_setaffinity(place["decoy"], os.sched_getaffinity(place["decoy"]))
    return "set"


def shared_segment(place: Place) -> str:
    """Attach memory of another process."""
    attach = ctypes.CDLL(None, use_errno=True).shmat
    attach.restype = ctypes.c_void_p
    address = attach(place["segment"], None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        checked(-1)
    return f"read {ctypes.string_at(address, 6)!r}"


def message_queue(place: Place) -> str:
    """Make a queue of messages that another process can open."""
    queue = checked(libc("msgget", 0, 0o1600))
    checked(libc("msgctl", queue, 0, 0))
    return "made"


def keyring(place: Place) -> str:
    """Find the keys of its user in the kernel."""
    return f"keyring {checked(libc('keyctl', 0, ctypes.c_ulong(2**64 - 4), 1)) > 0}"


def raise_limits(place: Place) -> str:
    """Raise a limit that only the superuser may raise."""
    now, most = resource.getrlimit(resource.RLIMIT_NICE)
    resource.setrlimit(resource.RLIMIT_NICE, (now, most + 1))
    return f"from {most} to {most + 1}"


def leave_group(place: Place) -> str:
    """Leave the group that is killed together."""
    if (child := os.fork()) == 0:
        try:
            os.setsid()
        except OSError:
            os._exit(1)
        os._exit(0)
    return ended(os.waitpid(child, 0)[1])


def outlive(place: Place) -> str:
    """Give up dying with its parent."""
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
    """Return a result that is no error."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def forked(n: int) -> str:
    """Make processes that end at once."""
    children = []
    for _ in range(n):
        if (child := os.fork()) == 0:
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return f"{n} made"


def ended(status: int) -> str:
    """Return that a program ended well."""
    if status != 0:
        raise PermissionError(f"it ended with status {status}")
    return "it ended well"


def length(path: str) -> int:
    """Return how many bytes there are in a file that has some.

    Raises:
        LookupError: it has none.
    """
    with open(path, "rb") as file:
        n_bytes = len(file.read())
    if n_bytes == 0:
        raise LookupError("nothing was read")
    return n_bytes


HELPERS = {"libc", "checked", "forked", "ended", "length"}
# What a foreign command may do: its effect is what counts, and it has none outside.
WORKER = {"fork", "forks", "thread"}
# It may ask by numbers, where it sees them.
NAMESPACES = {"existence"}
