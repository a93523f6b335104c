"""What a server is told before it starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from openoutcry.arena.log.signed_notes import WITNESS, VerifierKey
from openoutcry.arena.timestamps import CADENCE, now
from openoutcry.errors import refusal

_PUBLIC = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*")


def networks_of(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return networks of their texts, such as `10.0.0.0/8`.

    Raises:
        OpenOutcryError: `argument_invalid`: one is none.
    """
    return tuple(map(_network, texts))


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        wanted = "networks such as 10.0.0.0/8 are required"
        raise refusal("argument_invalid", f"{wanted}; received {text[:80]!r}") from error


def public_of(text: str) -> str:
    """Return where an arena is found, or nothing where that is not said.

    Raises:
        OpenOutcryError: `argument_invalid`: it is no address to which a path can be added.
    """
    if text and not _PUBLIC.fullmatch(text):
        wanted = "an address such as https://arena.example, without a slash at its end, is required"
        raise refusal("argument_invalid", f"{wanted}; received {text[:200]!r}")
    return text


def witnesses_of(texts: tuple[str, ...]) -> tuple[VerifierKey, ...]:
    """Return the keys of witnesses of their texts.

    Raises:
        OpenOutcryError: `argument_invalid`: one is no key, or that of a log.
    """
    found = tuple(map(VerifierKey.parse, texts))
    if any(each.kind != WITNESS for each in found):
        raise refusal("argument_invalid", f"keys of witnesses are required; received one of a log, of {len(found)}")
    return found


class Forward:
    """A clock that stands where another one goes back.

    What was shown at a moment may not be decided before it.

    Args:
        clock: The other one.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._newest = clock, 0

    def __call__(self) -> int:
        """Return the newest moment that was told."""
        self._newest = max(self._newest, self._clock())
        return self._newest


@dataclass(frozen=True)
class Settings:
    """What a server is told.

    Attributes:
        public: Where the arena is found, such as `https://arena.example`; empty for links relative to it.
        rate_key: Requests a minute of each key; 0 for no bound.
        rate_anon: Those of each address without a key.
        register_cap: Registrations a day of each address.
        proxies: Networks whose `X-Forwarded-For` is believed.
        witnesses: Keys of those whose cosignatures are taken.
        stale_after: Microseconds after which the newest snapshot is too old to be served as such.
        clock: Tells the moment.
    """

    public: str = ""
    rate_key: int = 60
    rate_anon: int = 60
    register_cap: int = 5
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    witnesses: tuple[VerifierKey, ...] = ()
    stale_after: int = 2 * CADENCE
    clock: Callable[[], int] = field(default=now, repr=False)
