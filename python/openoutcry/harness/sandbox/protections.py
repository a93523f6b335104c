"""The locks of the sandbox, by name."""

from __future__ import annotations

from enum import Enum


class Lock(str, Enum):
    """One lock, and what it keeps an agent from."""

    ENVIRONMENT = "environment"
    """An environment of its own: no key of the harness is in it."""
    DESCRIPTORS = "descriptors"
    """Three pipes, and nothing else that the harness has open."""
    SESSION = "session"
    """A session and a process group of its own, which end with the harness."""
    LIMITS = "limits"
    """Memory, processor time, open files, bytes written."""
    CAPABILITIES = "capabilities"
    """No rights of the superuser, if it is one."""
    LANDLOCK = "landlock"
    """Files, ports, signals: those that are named."""
    SECCOMP = "seccomp"
    """System calls: those that an agent needs."""
    NAMESPACES = "namespaces"
    """A machine of its own: users, processes, network, mounts."""
