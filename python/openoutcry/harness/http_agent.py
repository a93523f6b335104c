"""Agents as HTTP servers: POST an observation, receive the decision."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any

from openoutcry.agents import Harness
from openoutcry.errors import refusal
from openoutcry.harness.agent_address import AgentAddress, invalid_url
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher, Session
from openoutcry.harness.contract_statement import ACCEPTED_CONTRACT, CONTRACT_HEADER
from openoutcry.untrusted.terminal import readable

if TYPE_CHECKING:
    import httpx

_OK = 200
_OVERLOADED = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_REACH_SECONDS = 5.0
_REACHABLE = "an agent must be a server that can be reached"
_START_HINT = "hint: start the server first"
_EXCERPT_BYTES, _EXCERPT_SECONDS = 200, 0.2
# A library parses what one read returns without a pause: a deadline takes effect between reads.
_READ_BYTES = 2**12
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class HttpAgent(Launcher):
    """A server that answers `POST /decide` (`contract/README.md`, section 10).

    Needs `openoutcry[http]`. The harness does not start the server: it keeps its state between runs and is never in the
    sandbox.

    Args:
        url: Base URL, such as `http://127.0.0.1:8000`; `/decide` is appended.
        bounds: Limits of time and size. Refused connections and overload responses are retried within the time for an
            answer.

    Raises:
        OpenOutcryError: `argument_invalid`: the URL is invalid, or `httpx` is not installed.
    """

    def __init__(self, url: str, bounds: Bounds | None = None) -> None:
        self._httpx = _httpx()
        self._address = AgentAddress.parse(url)
        self._url = self._address.url
        try:
            self._httpx.URL(self._url)
        except self._httpx.InvalidURL as error:
            raise invalid_url(url) from error
        self._bounds = bounds or Bounds()

    @property
    def name(self) -> str:
        """The URL without user name and password."""
        return self._url

    @property
    def bounds(self) -> Bounds:
        """Limits of time and size."""
        return self._bounds

    @property
    def harness(self) -> Harness:
        """Transport, tier and network access, as records state them."""
        return {"transport": "http", "tier": "T0", "allow_net": True}

    def start(self) -> HttpSession:
        """Open a connection for one run, under a new run id."""
        client = self._httpx.AsyncClient(
            # Not in the URL, which the library logs.
            auth=self._address.credentials,
            # A proxy from the environment does not apply to this machine.
            trust_env=not self._address.is_local,
            follow_redirects=False,
            timeout=None,
        )
        return HttpSession(self._httpx, client, f"{self._url}/decide", self._bounds)

    def check(self) -> None:
        """Check that the server responds.

        Raises:
            AgentError: `agent_unreachable`: no response within five seconds, or within the time for the first answer.
        """
        with self.start() as session:
            session.reach()

    def __repr__(self) -> str:
        return f"HttpAgent({self.name!r})"


class HttpSession(Session):
    """The requests of one run, over one keep-alive connection.

    Each request carries the headers `OpenOutcry-Run`, a random id of the run, `OpenOutcry-Step`, the index of its bar,
    and `OpenOutcry-Contract`, the latest contract version that is accepted. A retry repeats them.
    """

    survives_faults = True

    def __init__(self, library: ModuleType, client: httpx.AsyncClient, url: str, bounds: Bounds) -> None:
        self._httpx = library
        self._client = client
        self._url = url
        self._bounds = bounds
        self._run = secrets.token_hex(16)
        self._n_posts = 0
        self._extra_seconds = bounds.start_seconds
        self._pending: Future[str] | None = None
        self._is_killed = False
        self._reads = _Reads()
        # An event loop in a separate thread: the calling thread may already run one, as notebooks do.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def answer(self, observation: str) -> str:
        """Post an observation and return the decision.

        Raises:
            AgentError: the server is unreachable or late, or its answer is too long, not UTF-8 or has a status other
                than 200.
        """
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "openoutcry-run": self._run,
            "openoutcry-step": str(self._n_posts),
            CONTRACT_HEADER: ACCEPTED_CONTRACT,
        }
        self._n_posts += 1
        build = partial(self._client.build_request, "POST", self._url, content=observation.encode(), headers=headers)
        # The session survives a fault: a server has the time to start only once.
        seconds, self._extra_seconds = self._bounds.answer_seconds + self._extra_seconds, 0.0
        return self._wait_for(self._answer(build), seconds)

    def reach(self) -> None:
        """Wait for any response of the server.

        Raises:
            AgentError: no response within five seconds, or within the time for the first answer.
        """
        seconds = min(_REACH_SECONDS, self._bounds.answer_seconds + self._bounds.start_seconds)
        self._wait_for(
            self._answer(partial(self._client.build_request, "OPTIONS", self._url), any_response=True), seconds
        )

    def _wait_for(self, coroutine: Coroutine[Any, Any, str], seconds: float) -> str:
        """Run a coroutine with a timeout and return its result."""
        self._deadline, self._is_sent = monotonic() + seconds, False
        self._pending = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds), self._loop)
        if self._is_killed:
            self._pending.cancel()
        try:
            return self._pending.result()
        except (asyncio.TimeoutError, TimeoutError) as error:
            if not self._is_sent:
                message = f"{_REACHABLE}; received no connection for {seconds:g} s; {_START_HINT}"
                raise AgentError("agent_unreachable", message) from error
            raise AgentError(
                "agent_late", f"an agent must answer within {seconds:g} s; received no complete answer"
            ) from error
        except CancelledError as error:
            raise AgentError("agent_died", "an agent must answer until its run ends; received its exit") from error
        except KeyboardInterrupt:
            self._pending.cancel()
            raise

    async def _answer(self, build: Callable[[], httpx.Request], *, any_response: bool = False) -> str:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._send(build(), any_response=any_response)
            except _Retry as retry:
                wait = max(pause, retry.seconds)
                if monotonic() + wait >= self._deadline:
                    raise retry.fault from retry.fault.__cause__
                await asyncio.sleep(wait)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    async def _trace(self, event: str, values: Mapping[str, Any]) -> None:
        self._is_sent = self._is_sent or event.startswith("http11.send_request")
        if event.endswith(_CONNECTED):
            self._reads.watch(values["return_value"])

    async def _send(self, request: httpx.Request, *, any_response: bool) -> str:
        self._is_sent, self._reads.n_since_request, self._reads.deadline = False, 0, self._deadline
        request.extensions = {**request.extensions, "trace": self._trace}
        try:
            response = await self._client.send(request, stream=True)
        except self._httpx.TransportError as error:
            what = f"{type(error).__name__} {error}".strip()
            if _is_not_http(error):
                raise AgentError("answer_status", f"an answer must have status {_OK}; received {what}") from error
            raise _Retry("agent_unreachable", f"{_REACHABLE}; received {what}; {_START_HINT}") from error
        try:
            if not self._reads.is_answer_on(response.extensions["network_stream"]):
                # The response to this request is still to come: close the connection without reading it.
                wanted = "an answer must come after its observation"
                raise AgentError("answer_too_early", f"{wanted}; received one with the answer before it")
            return "" if any_response else await self._text(response)
        except self._httpx.TransportError as error:
            message = f"an answer must be complete; received its beginning, then {type(error).__name__} {error}"
            raise AgentError("answer_cut_short", message) from error
        finally:
            await response.aclose()

    async def _text(self, response: httpx.Response) -> str:
        if response.status_code != _OK:
            text = readable(await self._excerpt(response))
            message = f"an answer must have status {_OK}; received {response.status_code}: {text}"
            if response.status_code in _OVERLOADED:
                after = response.headers.get("retry-after", "")
                raise _Retry("agent_unavailable", message, float(after) if after.isdecimal() else 0.0)
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

    async def _excerpt(self, response: httpx.Response) -> str:
        """Return the start of the body of an error response, if it arrives promptly."""

        async def first_chunk() -> bytes:
            async for chunk in response.aiter_raw():
                return chunk[:_EXCERPT_BYTES]
            return b""

        with suppress(asyncio.TimeoutError, TimeoutError, self._httpx.TransportError):
            return (await asyncio.wait_for(first_chunk(), _EXCERPT_SECONDS)).decode("utf-8", "replace")
        return ""

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._bounds.answer_bytes:
                most = f"{self._bounds.answer_bytes:,} bytes"
                raise AgentError("answer_too_long", f"an answer must have at most {most}; received more")
        return bytes(body)

    def finish(self) -> None:
        """Do nothing: the interface has no request that ends a run."""

    def kill(self) -> None:
        """Cancel the pending request."""
        self._is_killed = True
        if self._pending is not None:
            self._pending.cancel()

    def close(self) -> None:
        """Close the connection."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut_down(self) -> None:
        await self._client.aclose()
        # Responses whose bodies were not read to the end.
        await self._loop.shutdown_asyncgens()


class _Reads:
    """The reads of the connection since the last request, each before the deadline.

    The HTTP library buffers bytes beyond a response and would parse them as the next response. It skips interim
    responses and empty reads of its own without an end, so that only a read can stop it.
    """

    def __init__(self) -> None:
        self.n_since_request = 0
        self.deadline = 0.0
        self._stream: Any = None

    def is_answer_on(self, stream: Any) -> bool:
        """Return whether the response was read after its request was sent."""
        if stream is self._stream:
            return self.n_since_request > 0
        self.watch(stream)
        return True

    def watch(self, stream: Any) -> None:
        """Count and limit the reads of a new connection."""
        self._stream, read = stream, stream.read

        async def counted(max_bytes: int, timeout: float | None = None) -> bytes:
            if monotonic() >= self.deadline:
                raise asyncio.TimeoutError
            self.n_since_request += 1
            chunk: bytes = await read(min(max_bytes, _READ_BYTES), timeout)
            return chunk

        stream.read = counted


class _Retry(Exception):  # noqa: N818 it wraps the error
    """A fault of infrastructure after which the request is retried."""

    def __init__(self, slug: str, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.fault = AgentError(slug, message)
        self.seconds = seconds


def _httpx() -> ModuleType:
    try:
        import httpx
    except ModuleNotFoundError as error:
        message = "an agent at a URL needs the `httpx` package; received none; hint: `pip install openoutcry[http]`"
        raise refusal("argument_invalid", message) from error
    return httpx


def _is_not_http(error: Exception) -> bool:
    """Return whether the response was not HTTP, as opposed to a broken connection."""
    return type(error).__name__ == "RemoteProtocolError" and "disconnected" not in str(error)
