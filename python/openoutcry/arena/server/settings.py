"""What a server is told before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from openoutcry.arena.times import CADENCE, now


def networks_of(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return networks of their texts, such as `10.0.0.0/8`."""
    return tuple(ip_network(each, strict=False) for each in texts)


@dataclass(frozen=True)
class Settings:
    """What a server is told.

    Attributes:
        public: Where the arena is found, such as `https://arena.example`; empty for links relative to it.
        rate_key: Requests a minute of each key; 0 for no bound.
        rate_anon: Those of each address without a key.
        register_cap: Registrations a day of each address.
        proxies: Networks whose `X-Forwarded-For` is believed.
        stale_after: Microseconds after which the newest snapshot is too old to be served as such.
        clock: Tells the moment.
    """

    public: str = ""
    rate_key: int = 60
    rate_anon: int = 60
    register_cap: int = 5
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    stale_after: int = 2 * CADENCE
    clock: Callable[[], int] = field(default=now, repr=False)
