"""URLs of agents: recognized, checked, and shown without their passwords."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from openoutcry.errors import refusal, without_password
from openoutcry.openoutcry_py import OpenOutcryError


@dataclass(frozen=True)
class AgentAddress:
    """The URL of an agent, in parts.

    Attributes:
        url: The URL without user name, password and slash at its end.
        credentials: User name and password; None if the URL has none.
        host: The host.
    """

    url: str
    credentials: tuple[str, str] | None
    host: str

    @classmethod
    def parse(cls, url: str) -> AgentAddress:
        """Check and split a URL.

        Raises:
            OpenOutcryError: `argument_invalid`: the URL is no base URL of a server.
        """
        parts = _split(url)
        if parts is None or not parts.hostname:
            raise invalid_url(url)
        if parts.path.rstrip("/").endswith("/decide"):
            wanted = "an agent's URL must be the base URL without `/decide`"
            raise refusal("argument_invalid", f"{wanted}; received {shown_url(url)!r}; hint: remove `/decide`")
        userinfo, _, netloc = parts.netloc.rpartition("@")
        user, _, password = userinfo.partition(":")
        credentials = (unquote(user), unquote(password)) if userinfo else None
        return cls(parts._replace(netloc=netloc).geturl().rstrip("/"), credentials, parts.hostname)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        try:
            address = ip_address(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")
        # Servers that listen on every address print 0.0.0.0, which is this machine, too.
        return address.is_loopback or address.is_unspecified


def shown_url(url: str) -> str:
    """Return a URL without what may be secret: user name, password and query."""
    return re.sub(r"[?#].*", "?...", without_password(url), flags=re.DOTALL)


def invalid_url(url: object) -> OpenOutcryError:
    """Return the refusal of a URL, without its secrets."""
    shown = shown_url(url) if isinstance(url, str) else url
    return refusal("argument_invalid", f"an agent's URL must be `http://HOST:PORT`; received {shown!r}")


def _split(url: object) -> SplitResult | None:
    """Return the parts of a URL; None if it is no base URL."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_base = parts.scheme in ("http", "https") and not parts.query and not parts.fragment and parts.port != 0
    except ValueError:
        return None
    return parts if is_base else None
