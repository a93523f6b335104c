"""System call filters, evaluated by a BPF interpreter for all supported architectures."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from openoutcry.harness.sandbox.bpf_assembler import (
    ALLOW,
    ENOSYS,
    ENOTSUP,
    ENOTTY,
    EPERM,
    KILL,
    Low,
    Null,
    OwnPid,
    Program,
    Rule,
    assemble,
)
from openoutcry.harness.sandbox.seccomp_filters import command_filter, worker_filter
from openoutcry.harness.sandbox.syscall_numbers import ARCHITECTURES, LAST, NUMBERS

pytestmark = pytest.mark.once

MACHINES = sorted(ARCHITECTURES)
OWN = 4242


def decided(program: Program, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Return the action of a filter for a system call."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    given = struct.pack("=IIQ6Q", number, audit, 0, *(each & (2**64 - 1) for each in padded))
    code = [list(struct.unpack_from("=HBBI", program.code, at)) for at in range(0, len(program.code), 8)]
    for index in program.own_pid:
        code[index][3] = OWN
    at, held = 0, 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x20:
            held = int.from_bytes(given[value : value + 4], "little")
        elif kind == 0x54:
            held &= value
        elif kind == 0x06:
            return value
        else:
            holds = {0x15: held == value, 0x25: held > value, 0x45: bool(held & value)}[kind]
            at += yes if holds else no


def on(machine: str, program: Program, name: str, *arguments: int) -> int:
    audit, column = ARCHITECTURES[machine]
    number = NUMBERS[name][column]
    assert number is not None
    return decided(program, audit, number, arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_other_architectures_kill_the_process(machine: str) -> None:
    audit, _ = ARCHITECTURES[machine]
    for program in (
        worker_filter(machine, allow_net=False),
        command_filter(machine, allow_net=True, landlock_abi=7),
    ):
        # `getpid` on 32 bits, and x32 numbers.
        assert decided(program, 0x40000003, 20) == KILL
        assert decided(program, audit, 0x40000000 | 39) == KILL
        assert decided(program, audit, 2**31) in {EPERM, ENOSYS}
        assert len(program.code) // 8 < 4096


@pytest.mark.parametrize("machine", MACHINES)
def test_the_worker_creates_no_process_thread_socket_or_code(machine: str) -> None:
    program = worker_filter(machine, allow_net=False)
    for name in ("read", "write", "futex", "openat", "exit_group", "getrandom"):
        assert on(machine, program, name) == ALLOW
    for name in ("socket", "clone", "clone3", "kill", "ptrace", "io_uring_setup", "connect", "bpf", "unshare"):
        assert on(machine, program, name) == EPERM
    assert decided(program, ARCHITECTURES[machine][0], 9999) == EPERM
    read, write, execute, private, anonymous = 1, 2, 4, 2, 0x20
    assert on(machine, program, "mmap", 0, 4096, read | write, private | anonymous) == ALLOW
    assert on(machine, program, "mmap", 0, 4096, read | execute, private) == ALLOW
    assert on(machine, program, "mmap", 0, 4096, read | execute, private | anonymous) == EPERM
    assert on(machine, program, "mmap", 0, 4096, read | write | execute, private) == EPERM
    assert on(machine, program, "mprotect", 0, 4096, read | write) == ALLOW
    assert on(machine, program, "mprotect", 0, 4096, read | execute) == EPERM
    assert on(machine, program, "prlimit64", 0, 7, 0) == ALLOW
    assert on(machine, program, "prlimit64", 0, 7, 2**32) == EPERM
    assert on(machine, program, "prlimit64", 1, 7, 0) == EPERM
    assert on(machine, program, "tgkill", OWN, OWN, 6) == ALLOW
    assert on(machine, program, "tgkill", 1, 1, 6) == EPERM
    assert on(machine, program, "fcntl", 0, 8, 1) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("of", ["worker", "command"])
def test_allow_net_permits_internet_sockets_only(machine: str, of: str) -> None:
    program = (
        worker_filter(machine, allow_net=True)
        if of == "worker"
        else command_filter(machine, allow_net=True, landlock_abi=7)
    )
    unix, inet, inet6, netlink, packet = 1, 2, 10, 16, 17
    stream, datagram, raw, not_blocking = 1, 2, 3, 0o4000
    for family in (inet, inet6):
        assert on(machine, program, "socket", family, stream | not_blocking, 0) == ALLOW
        assert on(machine, program, "socket", family, datagram, 0) == ALLOW
        assert on(machine, program, "socket", family, raw, 0) == EPERM
        tcp, udp, icmp, sctp, light, multipath = 6, 17, 1, 132, 136, 262
        assert on(machine, program, "socket", family, stream, tcp) == ALLOW
        assert on(machine, program, "socket", family, datagram, udp) == ALLOW
        for kind, others in ((stream, (sctp, multipath, udp)), (datagram, (icmp, light, tcp))):
            assert {on(machine, program, "socket", family, kind, each) for each in others} == {EPERM}
    for family in (unix, netlink, packet):
        assert on(machine, program, "socket", family, stream, 0) == EPERM
    for name in ("bind", "listen", "accept4"):
        assert on(machine, program, name) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_a_command_may_thread_and_fork_but_reaches_no_other_process(machine: str) -> None:
    program = command_filter(machine, allow_net=False, landlock_abi=7)
    for name in ("mmap", "mprotect", "kill", "futex", "read"):
        assert on(machine, program, name, 0, 0, 7) == ALLOW
    assert on(machine, program, "clone", 0x3D0F00) == ALLOW
    assert on(machine, program, "clone", 0x10000011) == EPERM
    assert on(machine, program, "clone", 0x8011) == EPERM
    assert on(machine, program, "clone3") == ENOSYS
    assert on(machine, program, "socket", 2, 1) == EPERM
    assert on(machine, program, "socketpair", 1, 1) == ALLOW
    assert on(machine, program, "socketpair", 1, 2) == EPERM
    assert on(machine, program, "prlimit64", OWN, 7, 1) == ALLOW
    assert on(machine, program, "prlimit64", 1, 7, 1) == EPERM
    # Inserting terminal input; terminal attributes, and the number of bytes to read.
    assert on(machine, program, "ioctl", 0, 0x5412) == EPERM
    assert {on(machine, program, "ioctl", 1, each) for each in (0x5401, 0x541B, 0x5421, 0x802C542A)} == {ALLOW}
    # Network interfaces, allowed with `allow_net`.
    assert on(machine, program, "ioctl", 0, 0x8913) == ENOTTY
    assert on(machine, command_filter(machine, allow_net=True, landlock_abi=7), "ioctl", 0, 0x8913) == ALLOW
    assert {on(machine, program, each) for each in ("getxattr", "lgetxattr", "listxattr", "llistxattr")} == {ENOTSUP}
    assert on(machine, program, "io_setup", 128) == ENOSYS
    # File attributes, generation and subvolumes; FIFREEZE.
    for each in (0x40086602, 0x401C5820, 0x40087602, 0x5000940E, 0xC0045877):
        assert on(machine, program, "ioctl", 0, each) == ENOTTY
    assert {on(machine, program, "fcntl", 0, each) for each in (0, 3, 4, 6, 1030, 1031)} == {ALLOW}
    # Owner, lease, notification, hint, and a command newer than the tables.
    assert {on(machine, program, "fcntl", 0, each) for each in (8, 10, 15, 1024, 1026, 1036, 1040)} == {EPERM}
    assert on(machine, program, "prctl", 1) == EPERM
    assert on(machine, program, "setsid") == EPERM
    assert decided(program, ARCHITECTURES[machine][0], LAST) == ALLOW
    assert decided(program, ARCHITECTURES[machine][0], LAST + 1) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_restricts_signals_if_landlock_does_not(machine: str) -> None:
    program = command_filter(machine, allow_net=False, landlock_abi=5)
    for name in ("kill", "tgkill", "rt_sigqueueinfo"):
        assert on(machine, program, name, OWN) == ALLOW
        assert on(machine, program, name, 1) == EPERM
        assert on(machine, program, name, -1) == EPERM
    assert on(machine, program, "tkill", OWN) == EPERM


def test_clauses_are_evaluated_in_order_and_all_their_tests_must_hold() -> None:
    rules = {
        "ioctl": Rule(1, [([Low(0, 5), OwnPid(1), Null(2)], 2), ([Low(0, 4, 6)], 3), ([], 4)]),
        "read": Rule(7),
    }
    program = assemble("x86_64", rules, 9)
    audit = ARCHITECTURES["x86_64"][0]
    assert decided(program, audit, 16, (5, OWN, 0)) == 2
    assert decided(program, audit, 16, (5, OWN, 2**40)) == 3
    assert decided(program, audit, 16, (5, 1, 0)) == 3
    assert decided(program, audit, 16, (6, OWN, 0)) == 4
    assert decided(program, audit, 0) == 7
    assert decided(program, audit, 1) == 9


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_call_numbers_match_the_kernel_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]}")
    found, other = {}, {}
    for line in HEADERS[machine].read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["#define", name, value] if name.startswith(("__NR_", "__NR3264_")):
                (found if value.isdigit() else other)[name] = value
    numbers = {name.removeprefix("__NR_").removeprefix("__NR3264_"): int(value) for name, value in found.items()}
    numbers |= {name.removeprefix("__NR_"): int(found[value]) for name, value in other.items() if value in found}
    column = ARCHITECTURES[machine][1]
    listed = {name: pair[column] for name, pair in NUMBERS.items() if pair[column] is not None}
    assert {name: number for name, number in listed.items() if numbers.get(name, number) != number} == {}
    assert len(listed.keys() & numbers.keys()) > 150
