"""HTTP POST with limits on time and size, using the standard library alone."""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from threading import Timer
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from openoutcry.errors import refusal

_CHUNK = 65_536
# Set by this module; a library's values would announce features that this module does not support.
_OWN_HEADERS = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")


@dataclass(frozen=True)
class Received:
    """A complete response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportFault(Exception):  # noqa: N818 a fault is an event, not a wrong call
    """The response is missing or incomplete.

    Attributes:
        slug: `unreachable`, `timeout`, `connection_lost` or `body_too_long`.
        is_sent: Whether the request was sent, at least in part.
    """

    def __init__(self, slug: str, detail: str, *, is_sent: bool) -> None:
        super().__init__(detail)
        self.slug = slug
        self.is_sent = is_sent


@dataclass(frozen=True)
class Transport:
    """HTTP transport.

    Redirects are not followed, since they would receive the key. Proxies of the environment are used, except for this
    machine.

    Attributes:
        seconds: Time limit of a request with its complete response.
        most_bytes: Maximum size of a response body.
    """

    seconds: float = 180.0
    most_bytes: int = 4 * 2**20

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Received:
        """Return the response to a POST request.

        Raises:
            TransportFault: no complete response arrived within the limits.
        """
        connection, target, more = _route(check_url(url), self.seconds)
        sent = {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}
        sent |= {"Accept-Encoding": "identity", "Connection": "close", **more}
        with _shut_down_after(connection, self.seconds) as deadline:
            try:
                connection.connect()
                deadline.channel = connection.sock
                connection.request("POST", target, body, sent)
                received = self._read(connection.getresponse())
                if deadline.is_late:
                    raise TimeoutError
                return received
            except (OSError, HTTPException) as error:
                raise self._fault(error, deadline) from error
            finally:
                connection.close()

    def _read(self, response: HTTPResponse) -> Received:
        body = b""
        while chunk := response.read(_CHUNK):
            body += chunk
            if len(body) > self.most_bytes:
                detail = f"a response must have at most {self.most_bytes:,} bytes; received more"
                raise TransportFault("body_too_long", detail, is_sent=True)
        # `read` of the standard library does not report a body that ends before its announced length.
        if response.length:
            raise HTTPException(f"{response.length} bytes are missing")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Received(response.status, headers, body)

    def _fault(self, error: Exception, deadline: _Deadline) -> TransportFault:
        is_sent = deadline.channel is not None
        if deadline.is_late or isinstance(error, TimeoutError):
            detail = f"a complete response is required within {self.seconds:g} s; received none"
            return TransportFault("timeout", detail, is_sent=is_sent)
        slug = "connection_lost" if is_sent else "unreachable"
        return TransportFault(slug, f"{type(error).__name__}: {error}"[:300], is_sent=is_sent)


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises:
        OpenOutcryError: `argument_invalid`: it is not an HTTP URL, or has a name, password, query or fragment.
    """
    wanted = "a URL must be `http://HOST:PORT/PATH` or `https://...`"
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise refusal("argument_invalid", f"{wanted}; received a text that is not a URL") from None
    if "@" in parts.netloc:
        hint = "hint: put the key into the settings file"
        raise refusal("argument_invalid", f"{wanted} without a name or password; received one with them; {hint}")
    if not is_one or parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise refusal("argument_invalid", f"{wanted} without a query; received {url[:200]!r}")
    return parts


def is_of_this_machine(host: str) -> bool:
    """Return whether a host name refers to this machine, without a lookup."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _route(parts: SplitResult, seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """Return a connection, the request target, and headers for a proxy."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    target = parts.path or "/"
    proxy = _proxy(parts.scheme, host)
    if proxy is None:
        return _connection(parts.scheme, host, port, seconds), target, {}
    headers = {}
    if proxy.username is not None:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    connection = _connection(parts.scheme, proxy.hostname or "", proxy.port or 80, seconds)
    if parts.scheme == "https":
        connection.set_tunnel(host, port, headers)
        return connection, target, {}
    return connection, parts.geturl(), headers


def _connection(scheme: str, host: str, port: int, seconds: float) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
    return HTTPConnection(host, port, timeout=seconds)


def _proxy(scheme: str, host: str) -> SplitResult | None:
    proxy = getproxies().get(scheme)
    if not proxy or is_of_this_machine(host) or proxy_bypass(host):
        return None
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme != "http" or not parts.hostname:
        detail = f"`{scheme}_proxy` must be `http://HOST:PORT`; received a URL of scheme `{parts.scheme}`"
        raise TransportFault("unreachable", detail, is_sent=False)
    return parts


@dataclass
class _Deadline:
    """Shuts a connection down when its time is over.

    `channel` is the connected socket, which the library discards early.
    """

    connection: HTTPConnection
    channel: socket.socket | None = None
    is_late: bool = False

    def expire(self) -> None:
        self.is_late = True
        if (channel := self.channel or self.connection.sock) is not None:
            # Not `shutdown` of the TLS socket, whose state another thread is reading.
            with suppress(OSError):
                socket.socket.shutdown(channel, socket.SHUT_RDWR)


@contextmanager
def _shut_down_after(connection: HTTPConnection, seconds: float) -> Iterator[_Deadline]:
    """Shut a connection down after a time.

    The library's own limit applies to each read.
    """
    deadline = _Deadline(connection)
    timer = Timer(seconds, deadline.expire)
    timer.daemon = True
    timer.start()
    try:
        yield deadline
    finally:
        timer.cancel()
