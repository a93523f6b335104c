"""Attempts on files: read files outside the agent's folder, and write anywhere."""

from __future__ import annotations

import fcntl
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Target = dict[str, Any]


def open_data(target: Target) -> str:
    """Open the data file by its path."""
    return f"read {content(target['secret'])[:40]!r}"


def parent_folder(target: Target) -> str:
    """Leave the agent's folder through `..`."""
    return open_data({"secret": f"{target['folder']}/../outside/secret.csv"})


def symbolic_link(target: Target) -> str:
    """Open a symbolic link in the agent's folder to the data."""
    return open_data({"secret": f"{target['folder']}/link.csv"})


def hidden_in_folder(target: Target) -> str:
    """Open a hidden data file inside the agent's folder."""
    return open_data({"secret": target["hidden"]})


def ledger_returns(target: Target) -> str:
    """Read the returns in a ledger inside the agent's folder."""
    return open_data({"secret": f"{target['ledger']}/00000.jsonl"})


def ledger_lock(target: Target) -> str:
    """Lock a ledger inside the agent's folder, so that no run can be recorded."""
    descriptor = os.open(f"{target['ledger']}/lock", os.O_RDONLY)
    try:
        # A shared lock, since attempts run concurrently, keeps out a writer as well.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)
    return "locked"


def output_in_folder(target: Target) -> str:
    """Read the run list in an output folder inside the agent's folder."""
    return open_data({"secret": target["output"]})


def key_in_folder(target: Target) -> str:
    """Read the keys of a sealed suite inside the agent's folder."""
    return open_data({"secret": target["key"]})


def hidden_hard_link(target: Target) -> str:
    """Open a hard link in the agent's folder to a hidden file."""
    return open_data({"secret": target["hard_link"]})


def created_output(target: Target) -> str:
    """Read an output that was written into the agent's folder during the run."""
    return open_data({"secret": target["created"]})


def left_behind(target: Target) -> str:
    """Read the ledger from a process that outlives its parent."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            with open(writer, "wb") as pipe:
                try:
                    pipe.write(content(f"{target['ledger']}/00000.jsonl"))
                except OSError as error:
                    pipe.write(f"{error.errno}".encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    with open(reader, "rb") as pipe:
        text = pipe.read()
    if text.isdigit():
        raise OSError(int(text), os.strerror(int(text)))
    return f"read {text[:40]!r}"


def bundled_market(target: Target) -> str:
    """Open a market bundled with the package."""
    return f"read {len(content(target['market']))} bytes"


def list_folder(target: Target) -> str:
    """List a folder outside the agent's folder."""
    return f"{len(os.listdir(target['outside']))} names"


def list_home(target: Target) -> str:
    """List the home directory."""
    return f"{len(os.listdir(target['home']))} names"


def metadata(target: Target) -> str:
    """Read size and modification time of the data file."""
    status = os.stat(target["secret"])
    return f"{status.st_size} bytes, {status.st_mtime:.0f}"


def own_folder(target: Target) -> str:
    """Write into the agent's folder, where the next run would find the file."""
    return new_file(target["folder"])


def temporary(target: Target) -> str:
    """Write an unnamed temporary file."""
    return unnamed_file(target["temporary"])


def home(target: Target) -> str:
    """Write an unnamed file in the home directory."""
    return unnamed_file(target["home"])


def shared_memory(target: Target) -> str:
    """Create shared memory that another process could open."""
    return new_file("/dev/shm")


def overwrite(target: Target) -> str:
    """Overwrite an existing file."""
    with open(target["victim"], "r+") as file:
        file.write("x")
    return "wrote a byte"


def truncate(target: Target) -> str:
    """Truncate a file."""
    os.truncate(target["victim"], 0)
    return "cut to 0 bytes"


def truncate_as_read(target: Target) -> str:
    """Truncate a file while opening it for reading."""
    os.close(os.open(target["victim"], os.O_RDONLY | os.O_TRUNC))
    return "cut to 0 bytes"


def remove(target: Target) -> str:
    """Remove a file."""
    os.remove(target["victim"])
    return "removed"


def rename(target: Target) -> str:
    """Rename a file."""
    os.rename(target["victim"], target["victim"] + ".1")
    return "renamed"


def folder(target: Target) -> str:
    """Create a folder."""
    os.mkdir(target["outside"] + "/folder")
    return "created"


def hard_link(target: Target) -> str:
    """Create a hard link to the data."""
    os.link(target["secret"], target["outside"] + "/second")
    return "linked"


def soft_link(target: Target) -> str:
    """Create a symbolic link to the data."""
    os.symlink(target["secret"], target["outside"] + "/soft")
    return "linked"


def fifo(target: Target) -> str:
    """Create a named pipe, through which two runs could communicate."""
    os.mkfifo(target["outside"] + "/fifo")
    return "created"


def bound_name(target: Target) -> str:
    """Bind a socket to a path."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(target["outside"] + "/bound")
    return "bound"


def change_mode(target: Target) -> str:
    """Make a file writable for all users, which Landlock does not restrict."""
    os.chmod(target["victim"], 0o666)
    return "mode 666"


def change_owner(target: Target) -> str:
    """Set the owner of a file to its present owner."""
    os.chown(target["victim"], os.getuid(), os.getgid())
    return "owner set"


def change_times(target: Target) -> str:
    """Set the times of a file, a channel between two runs."""
    os.utime(target["victim"], (0, 0))
    return "from 1970"


def attribute(target: Target) -> str:
    """Write an extended attribute of a file, a channel between two runs."""
    os.setxattr(target["victim"], "user.note", b"up")
    return "attribute set"


def generation(target: Target) -> str:
    """Set the generation number of a readable file, a message to the next run."""
    return f"number {set_number(target['own'], fcntl.ioctl, 0x40087602)}"


def hint(target: Target) -> str:
    """Set the write-lifetime hint of a readable file, a message to the next run."""
    return f"hint {set_number(target['own'], fcntl.fcntl, 1036)}"


def lease(target: Target) -> str:
    """Take a lease on a readable file, which delays its writers."""
    descriptor = os.open(target["own"], os.O_RDONLY)
    fcntl.fcntl(descriptor, 1024, fcntl.F_RDLCK)
    return "taken"


def read_time(target: Target) -> str:
    """Set the access time of a file by reading it, a message to the next run."""
    before = os.stat(target["own"]).st_atime
    content(target["own"])
    if os.stat(target["own"]).st_atime == before:
        raise LookupError("access times are not recorded")
    return f"read; access time changed from {before:.0f}"


def read_attribute(target: Target) -> str:
    """Read an extended attribute of the data, which Landlock does not restrict."""
    return f"read {os.getxattr(target['secret'], 'user.note')!r}"


def watch(target: Target) -> str:
    """Watch the events of a file."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(0)
    if descriptor < 0 or libc.inotify_add_watch(descriptor, target["victim"].encode(), 0x3) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "watched"


def ring(target: Target) -> str:
    """Set up `io_uring`, which opens files without filtered system calls."""
    import ctypes

    parameters = ctypes.create_string_buffer(120)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(ctypes.c_long(425), ctypes.c_ulong(1), parameters)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "a ring was created"


def content(path: str) -> bytes:
    """Read a file."""
    with open(path, "rb") as file:
        return file.read()


def new_file(where: str) -> str:
    """Create a file and remove it."""
    path = f"{where}/openoutcry-{os.urandom(8).hex()}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.remove(path)
    return "made a file"


def unnamed_file(where: str) -> str:
    """Write an unnamed file, which disappears when it is closed."""
    descriptor = os.open(where, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"x")
    return "wrote a byte"


def set_number(path: str, call: Any, command: int) -> int:
    """Set a number of a file by `ioctl` or `fcntl`, and return it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return int(struct.unpack("@l", call(descriptor, command, struct.pack("@l", 2)))[0])
    finally:
        os.close(descriptor)


HELPERS = {"content", "new_file", "unnamed_file", "set_number"}
# Landlock does not restrict these; namespaces do.
NAMESPACES = {"metadata", "read_time"}
