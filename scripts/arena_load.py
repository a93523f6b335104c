"""Measure the Arena under load (goals G1 to G5): `python scripts/arena_load.py [--n 20000] [--fill 1000000]`.

Serves a new arena and, for comparison, a plain FastAPI with one transaction per request. The client is this process, so
two cores are needed. The server's CPU time depends least on other load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import quantiles

from openoutcry.arena.protocol import BASE
from openoutcry.arena.snapshots.compression import precompress
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import MarketListing, PublishSnapshot, RegisterAgent
from openoutcry.arena.store.submission_writes import SubmitDecisions
from openoutcry.arena.submission_schema import Decided, Submission
from openoutcry.arena.timestamps import CADENCE, DAY, format_timestamp, now

N_AGENTS, N_MARKETS, N_DECISIONS, N_SNAPSHOTS = 1_000, 189, 7, 4
TICK = os.sysconf("SC_CLK_TCK")
REASON = "Both sides call the agenda open; see the third item of the snapshot."


def market_id(number: int) -> str:
    """Return the id of a market."""
    return f"kalshi:KXLOAD{number:03}-30"


def snapshot(as_of: int) -> bytes:
    """Return a snapshot of the usual size: 200 items."""
    items = [
        {
            "id": f"market_state:{market_id(at)}",
            "kind": "market_state",
            "market_id": market_id(at),
            "yes_mid_price": 0.5,
        }
        | {"question": f"Synthetic: will number {at} happen?", "as_of": format_timestamp(as_of), "theaters": ["iran"]}
        for at in range(N_MARKETS)
    ]
    return json.dumps({"schema_version": "0.2.0", "as_of": format_timestamp(as_of), "items": items}).encode()


@dataclass
class LoadArena:
    """An arena with agents, markets and snapshots."""

    folder: Path
    keys: dict[str, str] = field(default_factory=dict)
    as_ofs: list[int] = field(default_factory=list)

    def make(self) -> None:
        """Create the arena with its snapshots, markets and agents."""
        at = now()
        listings = [
            MarketListing(
                market_id(number), "kalshi", "Synthetic", ("iran",), at + 30 * DAY, at + 31 * DAY, "0.5", "0.4", "0.6"
            )
            for number in range(N_MARKETS)
        ]
        self.as_ofs = [at - at % CADENCE - CADENCE * back for back in reversed(range(N_SNAPSHOTS))]
        with Arena(self.folder) as arena:
            for as_of in self.as_ofs:
                arena.writer.write(PublishSnapshot(as_of, precompress(snapshot(as_of)).encodings, listings, at))
            slugs = [f"agent-{number}" for number in range(N_AGENTS)]
            keys = asyncio.run(_write_all(arena, [RegisterAgent(slug, None, None, at) for slug in slugs]))
            self.keys = dict(zip(slugs, keys, strict=True))

    def requests(self) -> Iterator[bytes]:
        """Yield submission requests; each is accepted once."""
        for as_of, group, (slug, key) in itertools.product(
            self.as_ofs, range(N_MARKETS // N_DECISIONS), self.keys.items()
        ):
            decided = [
                {
                    "market_id": market_id(group * N_DECISIONS + place),
                    "yes_probability": (13 * place + len(slug) + group) % 99 / 100 + 0.01,
                    "confidence": 0.8,
                    "reasoning": REASON,
                }
                for place in range(N_DECISIONS)
            ]
            body = {"schema_version": "0.1.0", "agent_slug": slug, "submitted_at": format_timestamp(as_of)}
            yield request(
                "POST",
                f"{BASE}/decisions",
                key,
                body | {"snapshot_as_of": format_timestamp(as_of), "decisions": decided},
            )


async def _write_all(arena: Arena, entries: list[RegisterAgent]) -> list[str]:
    return await asyncio.gather(*map(arena.writer.write_async, entries))


def request(method: str, path: str, key: str = "", body: object = None, **headers: str) -> bytes:
    """Return the bytes of an HTTP request."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    lines += [f"Authorization: Bearer {key}"] if key else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode() + content


class Link(asyncio.Protocol):
    """A connection with one request in flight."""

    def __init__(self) -> None:
        self._received, self._response = b"", asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Resolve the response when it is complete."""
        self._received += data
        head, blank, rest = self._received.partition(b"\r\n\r\n")
        if not blank:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(rest) >= int(length or 0):
            self._received = b""
            self._response.set_result(int(head[9:12]))

    async def send(self, content: bytes) -> int:
        """Send a request and return the status of the response."""
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(content)
        status: int = await self._response
        return status


async def links(port: int, n: int) -> list[Link]:
    """Open connections."""
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Link, "127.0.0.1", port))[1] for _ in range(n)]


@dataclass
class PartResult:
    """Measurements of one part of a run."""

    name: str
    n: int
    seconds: float
    cpu_us: float
    latencies: list[float]
    n_faults: int

    def row(self) -> str:
        """Return a row of the table."""
        cuts = quantiles(self.latencies, n=100)
        rate, p50, p99 = self.n / self.seconds, 1000 * cuts[49], 1000 * cuts[98]
        return f"| {self.name} | {rate:,.0f} | {p50:.1f} | {p99:.1f} | {self.cpu_us:.0f} | {self.n_faults} |"


async def closed(port: int, content: Iterator[bytes], n: int, n_links: int, wanted: int) -> tuple[list[float], int]:
    """Closed loop: each connection sends its next request after the response to the last."""
    latencies, faults, left = list[float](), 0, itertools.islice(content, n)

    async def go(link: Link) -> None:
        nonlocal faults
        for each in left:
            began = time.perf_counter()
            faults += await link.send(each) != wanted
            latencies.append(time.perf_counter() - began)

    await asyncio.gather(*map(go, await links(port, n_links)))
    return latencies, faults


async def opened(port: int, content: Iterator[bytes], n: int, rate: float, wanted: int) -> tuple[list[float], int]:
    """Open loop: send at a fixed rate; latency counts from the scheduled time."""
    latencies, faults, free = list[float](), 0, asyncio.Queue[Link]()
    for link in await links(port, min(n, 256)):
        free.put_nowait(link)
    began = time.perf_counter()

    async def go(place: int, each: bytes) -> None:
        nonlocal faults
        due = began + place / rate
        await asyncio.sleep(due - time.perf_counter())
        link = await free.get()
        faults += await link.send(each) != wanted
        free.put_nowait(link)
        latencies.append(time.perf_counter() - due)

    await asyncio.gather(*(go(place, each) for place, each in enumerate(itertools.islice(content, n))))
    return latencies, faults


@dataclass
class Server:
    """A server in a separate process."""

    process: subprocess.Popen[bytes]
    port: int

    def cpu(self) -> float:
        """Return the CPU time of the server in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def measure(self, name: str, run: Callable[..., object], *arguments: object) -> PartResult:
        """Run a part and return its measurements."""
        before, began = self.cpu(), time.perf_counter()
        latencies, n_faults = asyncio.run(run(self.port, *arguments))  # type: ignore[call-overload]
        seconds, cpu = time.perf_counter() - began, self.cpu() - before
        return PartResult(name, len(latencies), seconds, 1e6 * cpu / len(latencies), latencies, n_faults)


@contextmanager
def serving(command: list[str]) -> Iterator[tuple[Server, float]]:
    """Start a server; yield it with the seconds until its first response."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command, str(port)], stdout=subprocess.DEVNULL)
    server = Server(process, port)
    try:
        while True:
            try:
                latencies, n_faults = asyncio.run(closed(port, iter([request("GET", f"{BASE}/markets")]), 1, 1, 200))
                break
            except OSError:
                time.sleep(0.01)
        assert (len(latencies), n_faults) == (1, 0)
        yield server, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def serve_command(folder: Path) -> list[str]:
    """Return the command that serves an arena without rate limits."""
    off = [word for name in ("rate-key", "rate-anon", "register-cap") for word in (f"--{name}", "0")]
    return ["-m", "openoutcry", "arena", "serve", "--data-dir", str(folder), *off, "--port"]


def load(folder: Path, n: int) -> None:
    """Measure requests and print the table."""
    target = LoadArena(folder / "arena")
    target.make()
    plain = [str(Path(__file__).with_name("arena_plain.py")), str(folder / "plain.sqlite")]
    print("| what | a second | p50 ms | p99 ms | server CPU us | faults |\n|---|--:|--:|--:|--:|--:|")
    with serving(serve_command(target.folder)) as (server, _):
        posts = target.requests()
        server.measure("warm", closed, posts, 500, 32, 200)
        ours = server.measure("POST /decisions, 32 closed", closed, posts, n, 32, 200)
        print(ours.row())
        print(server.measure("POST /decisions, 300/s open", opened, posts, 3_000, 300, 200).row())
        print(server.measure("POST /decisions, 1,000 in 1 s", opened, posts, 1_000, 1_000, 200).row())
        path = f"{BASE}/intel?as_of={format_timestamp(target.as_ofs[-1])}"
        got = request("GET", path, Accept_Encoding="gzip, br, zstd")
        read = server.measure("GET /intel, br, 32 closed", closed, itertools.repeat(got), 2 * n, 32, 200)
        print(read.row())
        etag = sha256(snapshot(target.as_ofs[-1])).hexdigest()
        same = request("GET", path, If_None_Match=f'"{etag}"')
        print(server.measure("GET /intel, 304, 32 closed", closed, itertools.repeat(same), 2 * n, 32, 304).row())
    with serving(plain) as (server, _):
        posts = target.requests()
        server.measure("warm", closed, posts, 100, 32, 200)
        peer = server.measure("plain FastAPI: POST", closed, posts, max(n // 5, 1_000), 32, 200)
        got = server.measure(
            "plain FastAPI: GET", closed, itertools.repeat(request("GET", f"{BASE}/intel")), n, 32, 200
        )
    print(peer.row(), got.row(), sep="\n")
    print(f"\nPOST: {peer.cpu_us / ours.cpu_us:.1f} times less CPU than plain FastAPI, ", end="")
    print(f"GET: {got.cpu_us / read.cpu_us:.1f} times less")


def fill(folder: Path, n: int) -> None:
    """Write `n` submissions with one decision each; print the start time before and after."""
    target = LoadArena(folder)
    target.make()
    print(f"\nstart to the first 200 of a new arena: {starts(folder)}")
    with Arena(folder) as arena:
        began = time.perf_counter()
        asyncio.run(_fill(arena, target, n))
        print(f"{n:,} submissions through the writer: {time.perf_counter() - began:,.0f} s")
    print(f"start to the first 200 with them: {starts(folder)}")


def starts(folder: Path) -> str:
    """Return the wall-clock and CPU seconds of three starts."""
    measured = []
    for _ in range(3):
        with serving(serve_command(folder)) as (server, first):
            measured.append(f"{first:.2f} s (CPU {server.cpu():.2f})")
    return ", ".join(measured)


async def _fill(arena: Arena, target: LoadArena, n: int) -> None:
    """Write submissions on all open markets, and publish a snapshot when all are used."""
    left, bodies = n, precompress(b"{}").encodings
    agents = [arena.state.agents[slug] for slug in target.keys]
    at = now()
    as_of = target.as_ofs[-1]
    while left:
        for number in range(N_MARKETS):
            decided = (Decided(market_id(number), "0.25", "0.8", None),)
            some = agents[:left]
            entries = [SubmitDecisions(agent, Submission(agent.slug, as_of, decided, b""), at) for agent in some]
            await asyncio.gather(*map(arena.writer.write_async, entries))
            left -= len(some)
        as_of += CADENCE
        await arena.writer.write_async(PublishSnapshot(as_of, bodies, [], at))


def main() -> None:
    """Run the load test and the restart test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000, help="submissions of the closed loop; 0 for none")
    parser.add_argument("--fill", type=int, default=1_000_000, help="submissions before a restart; 0 for none")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.n:
            load(Path(folder) / "load", arguments.n)
        if arguments.fill:
            fill(Path(folder) / "filled", arguments.fill)


if __name__ == "__main__":
    main()
