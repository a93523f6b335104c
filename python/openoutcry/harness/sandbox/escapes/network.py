"""Attempts on the network: reach any other process."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Target = dict[str, Any]


def tcp(target: Target) -> str:
    """Connect to a server."""
    with socket.create_connection(("127.0.0.1", target["tcp"]), timeout=1.5):
        return "connected"


def listen(target: Target) -> str:
    """Listen for connections."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        return f"port {server.getsockname()[1]}"


def udp(target: Target) -> str:
    """Send a datagram and receive the reply."""
    return exchange(socket.AF_INET, ("127.0.0.1", target["udp"]), b"ping")


def name_server(target: Target) -> str:
    """Send a message as the name in a DNS query."""
    query = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07invalid\x00\x00\x01\x00\x01"
    return exchange(socket.AF_INET, ("127.0.0.1", target["udp"]), query)


def unix_socket(target: Target) -> str:
    """Connect to a socket by its path."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(target["unix"])
        return "connected"


def abstract_socket(target: Target) -> str:
    """Connect to an abstract socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + target["abstract"])
        return "connected"


def pair(target: Target) -> str:
    """Send from one socket of a pair to another process."""
    first, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    first.sendto(b"ping", "\0" + target["abstract_datagrams"])
    return "sent"


def interfaces(target: Target) -> str:
    """List the network interfaces over netlink."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as client:
        client.bind((0, 0))
        return f"{len(socket.if_nameindex())} interfaces"


def pair_of_interfaces(target: Target) -> str:
    """Read the flags of a network interface through a socket pair."""
    first, second = socket.socketpair()
    with first, second:
        reply = fcntl.ioctl(first, 0x8913, struct.pack("16sH22x", b"lo", 0))
        return f"flags of the first interface: {struct.unpack_from('H', reply, 16)[0]:x}"


def pass_descriptor(target: Target) -> str:
    """Receive an open file from a server that passes it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(target["passing"])
        client.settimeout(1.5)
        _, descriptors, _, _ = socket.recv_fds(client, 1, 1)
        return f"read {os.pread(descriptors[0], 40, 0)!r}"


def exchange(family: int, address: Any, message: bytes) -> str:
    """Send a datagram and return the reply."""
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(1.5)
        client.sendto(message, address)
        return f"received {client.recv(16)!r}"


HELPERS = {"exchange"}
