"""Who asks: the key that a request comes with, or its address, and whether it may."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

from starlette.requests import HTTPConnection

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.server.rate_limit import SlidingWindow
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.cached_state import Agent, State
from openoutcry.arena.store.entry_writes import key_digest


class Door:
    """Knows who asks, by key or by address, and how often each may.

    Args:
        settings: What the server was told.
        state: Who there is.
    """

    def __init__(self, settings: Settings, state: State) -> None:
        self._settings, self._state = settings, state
        self._keys, self._addresses = SlidingWindow(settings.rate_key), SlidingWindow(settings.rate_anon)

    def agent(self, request: HTTPConnection) -> Agent | None:
        """Return whose key a request comes with; None where it comes without one (R-02).

        Raises:
            ArenaError: `bad_auth`: it comes with one that is none.
        """
        told = request.headers.get("authorization")
        return None if told is None else self._owner(told, request)

    def _owner(self, told: str, request: HTTPConnection) -> Agent:
        scheme, _, key = told.partition(" ")
        agent = self._state.keys.get(key_digest(key.strip())) if scheme.lower() == "bearer" else None
        if agent is None:
            self.count(request)
            raise ArenaError("bad_auth", "`Authorization: Bearer <api_key>` with a key that is valid is required")
        return agent

    def count(self, request: HTTPConnection) -> None:
        """Let a request through, counted by its address.

        Raises:
            ArenaError: `rate_limited`.
        """
        if self._settings.rate_anon:
            self._addresses.hit(self.bucket(request), self._settings.clock())

    def admitted(self, request: HTTPConnection) -> Agent | None:
        """Let a request through that needs no key, counted by its key or its address."""
        agent = self.agent(request)
        if agent is None:
            self.count(request)
        else:
            self._keys.hit(agent.id, self._settings.clock())
        return agent

    def known(self, request: HTTPConnection) -> Agent:
        """Let a request through that needs a key."""
        told = request.headers.get("authorization")
        if told is None:
            self.count(request)
            raise ArenaError("bad_auth", "`Authorization: Bearer <api_key>` is required; received none")
        agent = self._owner(told, request)
        self._keys.hit(agent.id, self._settings.clock())
        return agent

    def bucket(self, request: HTTPConnection) -> str:
        """Return by what an address is counted: of IPv6, its /64 (R-38)."""
        host = request.client.host if request.client is not None else ""
        told = ",".join(request.headers.getlist("x-forwarded-for"))
        hops = [each.strip() for each in told.split(",") if each.strip()]
        # Each proxy that is believed names who came to it, the last one at the end. Where one names nobody, it is all
        # that is known.
        while hops and self._is_proxy(host):
            named = _address(hops.pop())
            if named is None:
                break
            host = named
        try:
            address = ip_address(host)
        except ValueError:
            return host[:64]
        if isinstance(address, IPv6Address):
            if address.ipv4_mapped is not None:
                return str(address.ipv4_mapped)
            return f"{IPv6Address(int(address) >> 64 << 64)}/64"
        return str(address)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address.version == each.version and address in each for each in self._settings.proxies)


def _address(hop: str) -> str | None:
    """Return the address of a hop, which may come with a port; None where it is none."""
    bracketed = re.fullmatch(r"\[(.*)\](?::\d+)?", hop)
    host = bracketed[1] if bracketed else hop.partition(":")[0] if hop.count(":") == 1 else hop
    try:
        return str(ip_address(host))
    except ValueError:
        return None
