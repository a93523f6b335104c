"""Assembler for seccomp filters, which the kernel runs before each system call.

A filter is a list of rules, one per system call: clauses of argument tests, evaluated in order, and a default action.
It is assembled to a classic BPF program that checks the architecture first and then finds the rule of the call.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openoutcry.harness.sandbox.syscall_numbers import ARCHITECTURES, NUMBERS

ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000
EPERM = _ERRNO | 1
ENOTTY = _ERRNO | 25
ENOSYS = _ERRNO | 38
ENOTSUP = _ERRNO | 95

_LOAD, _AND, _EQUAL, _ABOVE, _SET, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000
_WHOLE = 0xFFFFFFFF

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True)
class Low:
    """Test that the low 32 bits of an argument, masked, equal `value`.

    Used for arguments that the kernel reads as 32 bits, or as flags.
    """

    argument: int
    value: int
    mask: int = _WHOLE


@dataclass(frozen=True)
class Null:
    """Test that all 64 bits of an argument are 0, as in a null pointer."""

    argument: int


@dataclass(frozen=True)
class OwnPid:
    """Test that an argument is the id of the process that installs the filter."""

    argument: int


Test = Low | Null | OwnPid
Clause = tuple[Sequence[Test], int]


@dataclass(frozen=True)
class Rule:
    """The rule of one system call: the first clause that matches, or `otherwise`."""

    otherwise: int
    clauses: Sequence[Clause] = ()


@dataclass(frozen=True)
class Program:
    """A filter in the binary form of the kernel, 8 bytes per instruction.

    Attributes:
        code: All instructions.
        own_pid: Indices of instructions whose constant is the id of the process that installs the filter.
    """

    code: bytes
    own_pid: tuple[int, ...]


def assemble(machine: str, rules: Mapping[str, Rule], otherwise: int, last: int | None = None) -> Program:
    """Return the filter for a machine, such as `x86_64`.

    Calls of another architecture, and of x32, kill the process.

    Args:
        machine: Value of `platform.machine()`.
        rules: Rules by name of the system call; calls that the machine does not have are ignored.
        otherwise: Action for calls without a rule.
        last: The highest known call number; calls above it return `ENOSYS`.

    Raises:
        KeyError: the machine or a call is not in the tables.
    """
    audit, column = ARCHITECTURES[machine]
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_SET, 0, 1, _X32),
        (_RETURN, 0, 0, KILL),
    ]
    if last is not None:
        code += [(_ABOVE, 0, 1, last), (_RETURN, 0, 0, ENOSYS)]
    own_pid = []
    for name, rule in rules.items():
        number = NUMBERS[name][column]
        if number is None:
            continue
        block, patched = _block(rule)
        own_pid += [len(code) + 1 + index for index in patched]
        code += [(_EQUAL, 0, len(block), number), *block]
    code.append((_RETURN, 0, 0, otherwise))
    return Program(b"".join(struct.pack("=HBBI", *each) for each in code), tuple(own_pid))


def _block(rule: Rule) -> tuple[list[Instruction], list[int]]:
    block: list[Instruction] = []
    patched: list[int] = []
    for tests, action in rule.clauses:
        body: list[Instruction] = [(_RETURN, 0, 0, action)]
        at_end: list[int] = []  # positions of process id constants, counted from the end of the clause
        for test in reversed(tests):
            if isinstance(test, OwnPid):
                at_end.append(len(body) + 1)
            body = _test(test, len(body)) + body
        patched += [len(block) + len(body) - index for index in at_end]
        block += body
    return [*block, (_RETURN, 0, 0, rule.otherwise)], patched


def _test(test: Test, n_after: int) -> list[Instruction]:
    """Return a test that jumps to the next clause if it does not hold."""
    low = _ARGUMENTS_AT + 8 * test.argument
    if isinstance(test, Null):
        return [(_LOAD, 0, 0, low), (_EQUAL, 0, n_after + 2, 0), (_LOAD, 0, 0, low + 4), (_EQUAL, 0, n_after, 0)]
    if isinstance(test, OwnPid):
        return [(_LOAD, 0, 0, low), (_EQUAL, 0, n_after, 0)]
    masked: list[Instruction] = [] if test.mask == _WHOLE else [(_AND, 0, 0, test.mask)]
    return [(_LOAD, 0, 0, low), *masked, (_EQUAL, 0, n_after, test.value)]
