"""Agents as servers: an observation is posted, the decision is the response."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openoutcry.agents import Harness
from openoutcry.errors import refusal
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher, Session
from openoutcry.harness.stderr_capture import written_out

if TYPE_CHECKING:
    import httpx

_OK = 200
_OVERLOADED = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_REACH_SECONDS = 5.0
_TOLD_BYTES, _TOLD_SECONDS = 200, 0.2


class HttpAgent(Launcher):
    """A server that answers `POST /decide`, as `contract/README.md`, section 10, says.

    It needs `openoutcry[http]`. The server is not ours to begin anew: what it keeps between runs is its own, so it is
    never in the sandbox, and knows what it has been shown.

    Args:
        url: Where it is, such as `http://127.0.0.1:8000`; `/decide` is appended.
        bounds: What it may take. What is refused or overloaded is tried again until the time for an answer is over.

    Raises:
        OpenOutcryError: `argument_invalid`: this is no such URL, or `httpx` is not installed.
    """

    def __init__(self, url: str, bounds: Bounds | None = None) -> None:
        self._httpx = _httpx()
        host = _host(url, self._httpx)
        self._url = url.rstrip("/")
        # A proxy between us and this machine is none that was meant.
        self._trust_env = not _is_of_this_machine(host)
        self._bounds = bounds or Bounds()

    @property
    def name(self) -> str:
        """The URL, without the name and password that may be in it."""
        return without_password(self._url)

    @property
    def bounds(self) -> Bounds:
        """What it may take."""
        return self._bounds

    @property
    def harness(self) -> Harness:
        """What records say of how it is asked."""
        return {"transport": "http", "tier": "T0", "allow_net": True}

    def begin(self) -> HttpSession:
        """Begin a run: a connection of its own, under a number of its own."""
        client = self._httpx.AsyncClient(trust_env=self._trust_env, follow_redirects=False, timeout=None)
        return HttpSession(self._httpx, client, f"{self._url}/decide", self._bounds)

    def check(self) -> None:
        """Ask the server for anything, to see that it is there.

        Raises:
            AgentError: `agent_unreachable`: nobody is there for five seconds.
        """
        with self.begin() as session:
            session.reach()

    def __repr__(self) -> str:
        return f"HttpAgent({self.name!r})"


class HttpSession(Session):
    """A run of posts over one connection that is kept alive.

    Each bears the headers `OpenOutcry-Run`, a number drawn for the run, and `OpenOutcry-Step`, which counts its bars: a
    post that is tried again has the same.
    """

    outlives_faults = True

    def __init__(self, library: ModuleType, client: httpx.AsyncClient, url: str, bounds: Bounds) -> None:
        self._httpx = library
        self._client = client
        self._url = url
        self._bounds = bounds
        self._run = secrets.token_hex(16)
        self._n_asked = 0
        self._extra_seconds = bounds.start_seconds
        self._under_way: Future[str] | None = None
        self._is_killed = False
        self._reads = _Reads()
        # A loop in a thread of its own: that of the caller may have one already, as notebooks do.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def answer(self, observation: str) -> str:
        """Return what the server answers to an observation.

        Raises:
            AgentError: it cannot be reached, is late, or its answer is too long, no text or of another status than 200.
        """
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "openoutcry-run": self._run,
            "openoutcry-step": str(self._n_asked),
        }
        self._n_asked += 1
        asked = partial(self._client.build_request, "POST", self._url, content=observation.encode(), headers=headers)
        answer = self._asked(self._answer(asked), self._bounds.answer_seconds + self._extra_seconds)
        self._extra_seconds = 0.0
        return answer

    def reach(self) -> None:
        """Wait until the server answers anything at all.

        Raises:
            AgentError: it does not, for five seconds.
        """
        self._asked(
            self._answer(partial(self._client.build_request, "OPTIONS", self._url), is_any=True), _REACH_SECONDS
        )

    def _asked(self, coroutine: Coroutine[Any, Any, str], seconds: float) -> str:
        """Return what comes of a coroutine, which is given so much time."""
        self._until, self._is_sent = monotonic() + seconds, False
        self._under_way = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds), self._loop)
        if self._is_killed:
            self._under_way.cancel()
        try:
            return self._under_way.result()
        except (asyncio.TimeoutError, TimeoutError) as error:
            if not self._is_sent:
                wanted = "an agent must be a server that can be reached"
                raise AgentError("agent_unreachable", f"{wanted}; received no connection for {seconds:g} s") from error
            raise AgentError(
                "agent_late", f"an agent must answer within {seconds:g} s; received nothing whole"
            ) from error
        except CancelledError as error:
            raise AgentError("agent_died", "an agent must answer until its run ends; received its end") from error
        except KeyboardInterrupt:
            self._under_way.cancel()
            raise

    async def _answer(self, asked: Callable[[], httpx.Request], *, is_any: bool = False) -> str:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._sent(asked(), is_any=is_any)
            except _Again as again:
                wait = max(pause, again.seconds)
                if monotonic() + wait >= self._until:
                    raise again.fault from again.fault.__cause__
                await asyncio.sleep(wait)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    async def _trace(self, event: str, told: Any) -> None:
        self._is_sent = self._is_sent or event.startswith("http11.send_request")

    async def _sent(self, request: httpx.Request, *, is_any: bool) -> str:
        self._is_sent, self._reads.n_since_asked = False, 0
        request.extensions = {**request.extensions, "trace": self._trace}
        try:
            response = await self._client.send(request, stream=True)
        except self._httpx.TransportError as error:
            what = f"{type(error).__name__} {error}".strip()
            if _is_no_http(error):
                raise AgentError("answer_status", f"an answer must have status {_OK}; received {what}") from error
            raise _Again(
                "agent_unreachable", f"an agent must be a server that can be reached; received {what}"
            ) from error
        try:
            if not self._reads.watch(response.extensions["network_stream"]):
                # The response that was asked for is still to come: the connection, left unread, is closed.
                wanted = "an answer must come after its observation"
                raise AgentError("answer_too_early", f"{wanted}; received one with the answer before it")
            return "" if is_any else await self._text(response)
        except self._httpx.TransportError as error:
            message = f"an answer must come whole; received its beginning, and {type(error).__name__} {error}"
            raise AgentError("answer_cut_short", message) from error
        finally:
            await response.aclose()

    async def _text(self, response: httpx.Response) -> str:
        if response.status_code != _OK:
            told = written_out(await self._told(response))
            message = f"an answer must have status {_OK}; received {response.status_code}: {told}"
            if response.status_code in _OVERLOADED:
                after = response.headers.get("retry-after", "")
                raise _Again("agent_unavailable", message, float(after) if after.isdecimal() else 0.0)
            raise AgentError("answer_status", message)
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            raise AgentError("answer_not_text", f"an answer must be UTF-8 as it is; received {encoding!r} of it")
        body = await self._body(response)
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"an answer must be UTF-8; received {error.reason} at byte {error.start}"
            raise AgentError("answer_not_text", message) from error

    async def _told(self, response: httpx.Response) -> str:
        """Return the beginning of what is no answer, as far as it comes at once."""

        async def begun() -> bytes:
            async for chunk in response.aiter_raw():
                return chunk[:_TOLD_BYTES]
            return b""

        with suppress(asyncio.TimeoutError, TimeoutError, self._httpx.TransportError):
            return (await asyncio.wait_for(begun(), _TOLD_SECONDS)).decode("utf-8", "replace")
        return ""

    async def _body(self, response: httpx.Response) -> bytes:
        body = b""
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._bounds.answer_bytes:
                most = f"{self._bounds.answer_bytes:,} bytes"
                raise AgentError("answer_too_long", f"an answer must have at most {most}; received more")
        return body

    def finish(self) -> None:
        """Do nothing: a server is not told that a run is over."""

    def kill(self) -> None:
        """Wait for no answer any more."""
        self._is_killed = True
        if self._under_way is not None:
            self._under_way.cancel()

    def close(self) -> None:
        """Close the connection."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _ended(self) -> None:
        await self._client.aclose()
        # Bodies that were not read to their end.
        await self._loop.shutdown_asyncgens()


class _Reads:
    """What was read of a connection since it was last asked.

    The library keeps what it has read beyond a response, and would take it for the next one.
    """

    def __init__(self) -> None:
        self.n_since_asked = 0
        self._stream: Any = None

    def watch(self, stream: Any) -> bool:
        """Return whether a response of a connection was read after it was asked for."""
        if stream is self._stream:
            return self.n_since_asked > 0
        self._stream, read = stream, stream.read

        async def counted(*args: Any, **options: Any) -> bytes:
            self.n_since_asked += 1
            chunk: bytes = await read(*args, **options)
            return chunk

        stream.read = counted
        return True


class _Again(Exception):  # noqa: N818 what it holds is the error
    """A fault of infrastructure, after which it is tried again."""

    def __init__(self, slug: str, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.fault = AgentError(slug, message)
        self.seconds = seconds


def _httpx() -> ModuleType:
    try:
        import httpx
    except ModuleNotFoundError as error:
        message = "an agent at a URL needs httpx, `pip install openoutcry[http]`; received none"
        raise refusal("argument_invalid", message) from error
    return httpx


def _is_no_http(error: Exception) -> bool:
    """Return whether what came is no HTTP, and not a connection that broke."""
    return type(error).__name__ == "RemoteProtocolError" and "disconnected" not in str(error)


def without_password(url: str) -> str:
    """Return a URL without the name and password that may be in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _host(url: str, library: ModuleType) -> str:
    try:
        parts, _ = urlsplit(url), library.URL(url)
        is_one = parts.scheme in ("http", "https") and not parts.query and not parts.fragment and parts.port != 0
    except (ValueError, library.InvalidURL):
        is_one = False
    if not is_one or not parts.hostname:
        raise refusal("argument_invalid", f"an agent's URL must be `http://HOST:PORT`; received {url!r}")
    if parts.path.rstrip("/").endswith("/decide"):
        wanted = "an agent's URL must be what stands before `/decide`"
        raise refusal("argument_invalid", f"{wanted}; received {url!r}; hint: leave `/decide` out")
    return parts.hostname


def _is_of_this_machine(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    # What servers say that listen on every address, 0.0.0.0, is this machine, too.
    return address.is_loopback or address.is_unspecified
