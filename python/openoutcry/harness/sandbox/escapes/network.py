"""Attempts on the network: whatever another process of this machine hears."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = dict[str, Any]


def tcp(place: Place) -> str:
    """Connect to a server."""
    with socket.create_connection(("127.0.0.1", place["tcp"]), timeout=1.5):
        return "connected"


def listen(place: Place) -> str:
    """Listen to whoever connects."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        return f"port {server.getsockname()[1]}"


def udp(place: Place) -> str:
    """Send a datagram, and wait for what comes back."""
    return asked(socket.AF_INET, ("127.0.0.1", place["udp"]), b"ping")


def name_server(place: Place) -> str:
    """Ask a name server for an address, the name being the message."""
    query = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07invalid\x00\x00\x01\x00\x01"
    return asked(socket.AF_INET, ("127.0.0.1", place["udp"]), query)


def unix_socket(place: Place) -> str:
    """Connect to a socket by its path."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(place["unix"])
        return "connected"


def abstract_socket(place: Place) -> str:
    """Connect to a socket that has a name but no path."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("\0" + place["abstract"])
        return "connected"


def pair(place: Place) -> str:
    """Send from one of a pair of sockets to somebody else."""
    first, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    first.sendto(b"ping", "\0" + place["abstract_datagrams"])
    return "sent"


def interfaces(place: Place) -> str:
    """Ask the kernel for the network's interfaces."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as made:
        made.bind((0, 0))
        return f"{len(socket.if_nameindex())} interfaces"


def pair_of_interfaces(place: Place) -> str:
    """Ask one of a pair of sockets about the interfaces of the network."""
    first, second = socket.socketpair()
    with first, second:
        told = fcntl.ioctl(first, 0x8913, struct.pack("16sH22x", b"lo", 0))
        return f"flags of the first interface: {struct.unpack_from('H', told, 16)[0]:x}"


def pass_descriptor(place: Place) -> str:
    """Take an open file from a server that passes it."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(place["passing"])
        made.settimeout(1.5)
        _, descriptors, _, _ = socket.recv_fds(made, 1, 1)
        return f"read {os.pread(descriptors[0], 40, 0)!r}"


def asked(family: int, address: Any, message: bytes) -> str:
    """Send a datagram and return what came back."""
    with socket.socket(family, socket.SOCK_DGRAM) as made:
        made.settimeout(1.5)
        made.sendto(message, address)
        return f"received {made.recv(16)!r}"


HELPERS = {"asked"}
