"""The protections of the sandbox, by name."""

from __future__ import annotations

from enum import Enum


class Protection(str, Enum):
    """One protection of the sandbox."""

    ENVIRONMENT = "environment"
    """A new environment without the harness's variables, such as API keys."""
    DESCRIPTORS = "descriptors"
    """Three pipes and no other open descriptor of the harness."""
    SESSION = "session"
    """A new session and process group, which end with the harness."""
    LIMITS = "limits"
    """Limits of memory, processor time, open files and bytes written."""
    CAPABILITIES = "capabilities"
    """No capabilities, also if started by root."""
    LANDLOCK = "landlock"
    """Access only to listed files, ports and processes."""
    SECCOMP = "seccomp"
    """A filter of system calls."""
    NAMESPACES = "namespaces"
    """Separate namespaces of users, processes, network and mounts."""
