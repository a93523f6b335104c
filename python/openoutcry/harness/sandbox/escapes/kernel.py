"""Attempts on the kernel: machine code, namespaces, rare system calls."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Target = dict[str, Any]
# A function that makes the system call numbered by its first argument with the other three.
CODE = {
    "x86_64": bytes.fromhex("4889f8 4889f7 4889d6 4889ca 0f05 c3"),
    "aarch64": struct.pack("<6I", 0xAA0003E8, 0xAA0103E0, 0xAA0203E1, 0xAA0303E2, 0xD4000001, 0xD65F03C0),
}
SOCKET = {"x86_64": 41, "aarch64": 198}
NEW_USER, NEW_NET = 0x10000000, 0x40000000
PROTECT = {"x86_64": 10, "aarch64": 226}


def code_in_memory(target: Target) -> str:
    """Open a socket from machine code in writable and executable memory."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    return socket_by(memory)


def code_made_executable(target: Target) -> str:
    """Open a socket from machine code in memory made executable later."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    checked(syscall(PROTECT[os.uname().machine], address, 4096, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
    return socket_by(memory)


def readable_is_executable(target: Target) -> str:
    """Make all readable memory executable."""
    checked(ctypes.CDLL(None, use_errno=True).personality(ctypes.c_ulong(0x0400000)))
    return "created"


def other_numbers(target: Target) -> str:
    """Make an x32 system call, past a filter of x86-64."""
    if os.uname().machine != "x86_64":
        raise LookupError("this architecture has no second numbering")
    syscall(0x40000000 | 39)
    return "the call went through"


def other_architecture(target: Target) -> str:
    """Make a 32-bit system call, past a filter of 64-bit calls."""
    if os.uname().machine != "x86_64":
        raise LookupError("this architecture has no 32-bit calls")
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # `getpid` by its 32-bit number.
    code = bytes.fromhex("b814000000 cd80 c3")
    memory[: len(code)] = code
    run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return f"process {run()}"


def user_namespace(target: Target) -> str:
    """Become root in a new user namespace."""
    checked(ctypes.CDLL(None, use_errno=True).unshare(NEW_USER))
    return "created"


def network_namespace(target: Target) -> str:
    """Clone itself into a new network namespace."""
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = checked(syscall(number, NEW_USER | NEW_NET | 17, 0, 0, 0, 0))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "created"


def child_of_parent(target: Target) -> str:
    """Clone itself as a sibling, a child that its parent does not expect."""
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    # The parent is this process, not the harness.
    inner = os.fork()
    if inner == 0:
        os._exit(0 if syscall(number, 0x8000 | 17, 0, 0, 0, 0) >= 0 else 1)
    if os.waitpid(inner, 0)[1] != 0:
        raise PermissionError("no child was created")
    os.wait()
    return "created"


def root_folder(target: Target) -> str:
    """Change its root directory."""
    os.chroot("/")
    return "moved"


def mount(target: Target) -> str:
    """Open a file system to mount."""
    checked(syscall(430, ctypes.c_char_p(b"tmpfs"), 0))
    return "created"


def kernel_program(target: Target) -> str:
    """Create a BPF map."""
    attributes = ctypes.create_string_buffer(struct.pack("=IIII", 1, 4, 8, 1), 72)
    checked(syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], 0, attributes, 72))
    return "a map was created"


def counters(target: Target) -> str:
    """Open a performance counter, a high-resolution clock."""
    attributes = ctypes.create_string_buffer(struct.pack("=IIQ", 1, 112, 0), 112)
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    checked(syscall(number, attributes, 0, ctypes.c_ulong(2**64 - 1), ctypes.c_ulong(2**64 - 1), 0))
    return "opened"


def page_faults(target: Target) -> str:
    """Handle its own page faults by `userfaultfd`, a part of many kernel exploits."""
    checked(syscall({"x86_64": 323, "aarch64": 282}[os.uname().machine], 1))
    return "opened"


def events(target: Target) -> str:
    """Reserve asynchronous I/O events, a limit shared by the whole machine."""
    context = ctypes.c_ulong(0)
    checked(syscall({"x86_64": 206, "aarch64": 0}[os.uname().machine], 128, ctypes.byref(context)))
    return "128 events"


def socket_by(memory: mmap.mmap) -> str:
    """Open a socket from machine code."""
    code = CODE[os.uname().machine]
    memory[: len(code)] = code
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    run = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 4)(address)
    descriptor = run(SOCKET[os.uname().machine], 2, 2, 0)
    if descriptor < 0:
        raise OSError(-descriptor, os.strerror(-descriptor))
    return f"socket {descriptor}"


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call."""
    wide = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *wide))


def checked(result: int) -> int:
    """Return the result of a system call, or raise its error."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


HELPERS = {"socket_by", "syscall", "checked"}
