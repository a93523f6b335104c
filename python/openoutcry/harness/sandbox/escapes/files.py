"""Attempts on files: to read what is not its own, and to write anywhere."""

from __future__ import annotations

import fcntl
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = dict[str, Any]


def open_data(place: Place) -> str:
    """Open the data by its path."""
    return f"read {content(place['secret'])[:40]!r}"


def parent_folder(place: Place) -> str:
    """Go up from its own folder by `..`."""
    return open_data({"secret": f"{place['folder']}/../outside/secret.csv"})


def symbolic_link(place: Place) -> str:
    """Open a link in its own folder that leads to the data."""
    return open_data({"secret": f"{place['folder']}/link.csv"})


def hidden_in_folder(place: Place) -> str:
    """Open data that lies in its own folder."""
    return open_data({"secret": place["hidden"]})


def bundled_market(place: Place) -> str:
    """Open a market that the package brings along."""
    return f"read {len(content(place['market']))} bytes"


def list_folder(place: Place) -> str:
    """List a folder that is not its own."""
    return f"{len(os.listdir(place['outside']))} names"


def list_home(place: Place) -> str:
    """List the home directory."""
    return f"{len(os.listdir(place['home']))} names"


def metadata(place: Place) -> str:
    """Look at the size of the data, and when it was changed."""
    found = os.stat(place["secret"])
    return f"{found.st_size} bytes, {found.st_mtime:.0f}"


def own_folder(place: Place) -> str:
    """Write into its own folder, where the next run would find it."""
    return written(place["folder"])


def temporary(place: Place) -> str:
    """Write a temporary file, without a name."""
    return nameless(place["temporary"])


def home(place: Place) -> str:
    """Write into the home directory, without a name."""
    return nameless(place["home"])


def shared_memory(place: Place) -> str:
    """Write shared memory that another process could open."""
    return written("/dev/shm")


def overwrite(place: Place) -> str:
    """Write into a file that is there."""
    with open(place["victim"], "r+") as file:
        file.write("x")
    return "wrote a byte"


def truncate(place: Place) -> str:
    """Cut a file to nothing."""
    os.truncate(place["victim"], 0)
    return "cut to 0 bytes"


def truncate_as_read(place: Place) -> str:
    """Cut a file to nothing while opening it to read."""
    os.close(os.open(place["victim"], os.O_RDONLY | os.O_TRUNC))
    return "cut to 0 bytes"


def remove(place: Place) -> str:
    """Remove a file."""
    os.remove(place["victim"])
    return "removed"


def rename(place: Place) -> str:
    """Rename a file."""
    os.rename(place["victim"], place["victim"] + ".1")
    return "renamed"


def folder(place: Place) -> str:
    """Make a folder."""
    os.mkdir(place["outside"] + "/folder")
    return "made"


def hard_link(place: Place) -> str:
    """Give the data a second name."""
    os.link(place["secret"], place["outside"] + "/second")
    return "linked"


def soft_link(place: Place) -> str:
    """Make a symbolic link to the data."""
    os.symlink(place["secret"], place["outside"] + "/soft")
    return "linked"


def fifo(place: Place) -> str:
    """Make a named pipe, through which two runs could talk."""
    os.mkfifo(place["outside"] + "/fifo")
    return "made"


def bound_name(place: Place) -> str:
    """Make a socket with a name."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(place["outside"] + "/bound")
    return "bound"


def change_mode(place: Place) -> str:
    """Open a file to everybody, which Landlock does not look at."""
    os.chmod(place["victim"], 0o666)
    return "mode 666"


def change_owner(place: Place) -> str:
    """Set the owner of a file, to whom it belongs already."""
    os.chown(place["victim"], os.getuid(), os.getgid())
    return "owner set"


def change_times(place: Place) -> str:
    """Set the times of a file, a channel between two runs."""
    os.utime(place["victim"], (0, 0))
    return "from 1970"


def attribute(place: Place) -> str:
    """Write an extended attribute of a file, a channel between two runs."""
    os.setxattr(place["victim"], "user.note", b"up")
    return "attribute set"


def generation(place: Place) -> str:
    """Number a file that it may read, a note for the next run."""
    return f"number {asked_of(place['own'], fcntl.ioctl, 0x40087602)}"


def hint(place: Place) -> str:
    """Hint how long a file that it may read will live, a note for the next run."""
    return f"hint {asked_of(place['own'], fcntl.fcntl, 1036)}"


def lease(place: Place) -> str:
    """Take a lease of a file that it may read, which holds up whoever writes it."""
    descriptor = os.open(place["own"], os.O_RDONLY)
    fcntl.fcntl(descriptor, 1024, fcntl.F_RDLCK)
    return "taken"


def read_time(place: Place) -> str:
    """Leave the time at which it has read a file, a note for the next run."""
    before = os.stat(place["own"]).st_atime
    content(place["own"])
    if os.stat(place["own"]).st_atime == before:
        raise LookupError("no time is kept")
    return f"read, first since {before:.0f}"


def read_attribute(place: Place) -> str:
    """Read an extended attribute of the data, which Landlock does not look at."""
    return f"read {os.getxattr(place['secret'], 'user.note')!r}"


def watch(place: Place) -> str:
    """Watch what happens to a file."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(0)
    if descriptor < 0 or libc.inotify_add_watch(descriptor, place["victim"].encode(), 0x3) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "watched"


def ring(place: Place) -> str:
    """Set up a ring, which opens files without a call that is filtered."""
    import ctypes

    parameters = ctypes.create_string_buffer(120)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(ctypes.c_long(425), ctypes.c_ulong(1), parameters)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "a ring was made"


def content(path: str) -> bytes:
    """Read a file."""
    with open(path, "rb") as file:
        return file.read()


def written(where: str) -> str:
    """Make a file, and remove it again."""
    path = f"{where}/openoutcry-{os.urandom(8).hex()}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.remove(path)
    return "made a file"


def nameless(where: str) -> str:
    """Write a file without a name, which is gone when it is closed."""
    descriptor = os.open(where, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"x")
    return "wrote a byte"


def asked_of(path: str, ask: Any, command: int) -> int:
    """Ask the kernel to set a number of a file, and return the number."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return int(struct.unpack("@l", ask(descriptor, command, struct.pack("@l", 2)))[0])
    finally:
        os.close(descriptor)


HELPERS = {"content", "written", "nameless", "asked_of"}
# Landlock does not look at these; namespaces do.
NAMESPACES = {"metadata", "read_time"}
