"""API authentication: the agent or address of a request, and its rate limit."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

from starlette.requests import HTTPConnection

from openoutcry.arena.protocol import KEY_REQUIRED, ArenaError
from openoutcry.arena.server.rate_limit import SlidingWindow
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.cached_state import Agent, State
from openoutcry.arena.store.entry_writes import key_digest


class Authenticator:
    """Authenticate requests by API key, and limit their rate by agent or address.

    Args:
        settings: Rate limits and trusted proxies.
        state: The registered agents.
    """

    def __init__(self, settings: Settings, state: State) -> None:
        self._settings, self._state = settings, state
        self._keys, self._addresses = SlidingWindow(settings.rate_key), SlidingWindow(settings.rate_anon)

    def optional_agent(self, request: HTTPConnection) -> Agent | None:
        """Return the agent of the request's key, or None without a key.

        Raises:
            ArenaError: `bad_auth`: the request has an invalid key.
        """
        header = request.headers.get("authorization")
        return None if header is None else self._agent_of(header, request)

    def _agent_of(self, header: str, request: HTTPConnection) -> Agent:
        scheme, _, key = header.partition(" ")
        agent = self._state.keys.get(key_digest(key.strip())) if scheme.lower() == "bearer" else None
        if agent is None:
            self.count_address(request)
            received = "an unknown key" if scheme.lower() == "bearer" else "another scheme"
            raise ArenaError("bad_auth", f"{KEY_REQUIRED}; received {received}")
        return agent

    def count_address(self, request: HTTPConnection) -> None:
        """Count a request against the limit of its client address.

        Raises:
            ArenaError: `rate_limited`.
        """
        if self._settings.rate_anon:
            self._addresses.hit(self.address_bucket(request), self._settings.clock())

    def admit(self, request: HTTPConnection) -> Agent | None:
        """Admit a request that may lack a key, counted against its agent or its address."""
        agent = self.optional_agent(request)
        if agent is None:
            self.count_address(request)
        else:
            self._keys.hit(agent.id, self._settings.clock())
        return agent

    def require_agent(self, request: HTTPConnection) -> Agent:
        """Admit a request that requires a key."""
        header = request.headers.get("authorization")
        if header is None:
            self.count_address(request)
            raise ArenaError("bad_auth", "`Authorization: Bearer <api_key>` is required; received none")
        agent = self._agent_of(header, request)
        self._keys.hit(agent.id, self._settings.clock())
        return agent

    def address_bucket(self, request: HTTPConnection) -> str:
        """Return the rate-limit bucket of an address; for IPv6, its /64."""
        host = request.client.host if request.client is not None else ""
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        hops = [each.strip() for each in forwarded.split(",") if each.strip()]
        # Each trusted proxy appends the address of its peer. An entry that is not an address ends the chain.
        while hops and self._is_proxy(host):
            peer = _address(hops.pop())
            if peer is None:
                break
            host = peer
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
    """Return the IP address of a `X-Forwarded-For` entry, or None if it has none."""
    bracketed = re.fullmatch(r"\[(.*)\](?::\d+)?", hop)
    host = bracketed[1] if bracketed else hop.partition(":")[0] if hop.count(":") == 1 else hop
    try:
        return str(ip_address(host))
    except ValueError:
        return None
