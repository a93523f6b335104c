"""Settings of the Arena's server."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from openoutcry.arena.log.signed_notes import WITNESS, VerifierKey
from openoutcry.arena.timestamps import CADENCE, now
from openoutcry.errors import refusal

_PUBLIC = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*")


def parse_networks(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Parse networks such as `10.0.0.0/8`.

    Raises:
        OpenOutcryError: `argument_invalid`: a text is not a network.
    """
    return tuple(map(_network, texts))


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        wanted = "networks such as 10.0.0.0/8 are required"
        raise refusal("argument_invalid", f"{wanted}; received {text[:80]!r}") from error


def parse_public_url(text: str) -> str:
    """Return the public address of an arena; empty means relative links.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is not an http(s) address without a trailing slash.
    """
    if text and not _PUBLIC.fullmatch(text):
        wanted = "an address such as https://arena.example, without a trailing slash, is required"
        raise refusal("argument_invalid", f"{wanted}; received {text[:200]!r}")
    return text


def parse_witnesses(texts: tuple[str, ...]) -> tuple[VerifierKey, ...]:
    """Parse the public keys of witnesses.

    Raises:
        OpenOutcryError: `argument_invalid`: a text is not a key, or is the key of a log.
    """
    keys = tuple(map(VerifierKey.parse, texts))
    for key in keys:
        if key.kind != WITNESS:
            raise refusal("argument_invalid", f"keys of witnesses are required; received the key of a log, {key}")
    return keys


class MonotonicClock:
    """A clock that stops while another clock runs backwards.

    A decision must not be received before the snapshot it is based on.

    Args:
        clock: The other clock, in microseconds since 1970.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._newest = clock, 0

    def __call__(self) -> int:
        """Return the latest time so far."""
        self._newest = max(self._newest, self._clock())
        return self._newest


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    Attributes:
        public: Public address such as `https://arena.example`; empty for relative links.
        rate_key: Requests per minute for each key; 0 for no limit.
        rate_anon: Requests per minute for each address without a key; 0 for no limit.
        register_cap: Registrations per day for each address; 0 for no limit.
        proxies: Networks whose `X-Forwarded-For` is trusted.
        witnesses: Keys of the witnesses whose cosignatures are accepted.
        stale_after: Maximum age of the newest snapshot in microseconds.
        clock: Returns the time in microseconds since 1970.
    """

    public: str = ""
    rate_key: int = 60
    rate_anon: int = 60
    register_cap: int = 5
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    witnesses: tuple[VerifierKey, ...] = ()
    stale_after: int = 2 * CADENCE
    clock: Callable[[], int] = field(default=now, repr=False)
