"""The target of the escape attempts: files, servers and a process."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from openoutcry.harness.sandbox import readable_paths

VARIABLE = "OPENOUTCRY_SANDBOX_DOCTOR"
"""Environment variable that stands for a secret of the harness."""

_DECOY = """
import ctypes, sys
secret = ctypes.create_string_buffer(b"secret")
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""


class AttackTarget:
    """Everything that an attempt tries to reach, for a `with` block.

    Attributes:
        secret: The text that no attempt may read.
        folder: The agent's folder, with a symbolic link to the data and a hidden file.
        hidden: The hidden paths in the folder. The output does not exist before `write_output`.
        descriptor: An open file of the harness, inheritable.
    """

    def __init__(self) -> None:
        self.secret = f"secret-{secrets.token_hex(8)}"
        self._exits = ExitStack()

    def __enter__(self) -> AttackTarget:
        try:
            self._make()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _make(self) -> None:
        root = Path(self._exits.enter_context(tempfile.TemporaryDirectory(prefix="openoutcry-")))
        self.folder, self._outside = root / "agent", root / "outside"
        for folder in (self.folder, self._outside, self.folder / "own"):
            folder.mkdir()
        self._data = self._outside / "secret.csv"
        self._make_hidden()
        self._data.write_text(self.secret)
        # Not every file system supports extended attributes.
        with suppress(OSError):
            os.setxattr(self._data, "user.note", self.secret.encode())
        (self.folder / "link.csv").symlink_to(self._data)
        self.descriptor = os.open(self._data, os.O_RDONLY)
        self._exits.callback(os.close, self.descriptor)
        os.environ[VARIABLE] = self.secret
        self._exits.callback(os.environ.pop, VARIABLE, None)
        self._target = {
            "secret": str(self._data),
            "folder": str(self.folder),
            "hidden": str(self.folder / "hidden.csv"),
            "ledger": str(self.folder / "ledger"),
            "output": str(self.folder / "out" / "run_ledger.jsonl"),
            "key": str(self.folder / "season.keys"),
            "hard_link": str(self.folder / "deep" / "hard.csv"),
            "created": str(self._created),
            "market": readable_paths.bundled_data()[0],
            "temporary": tempfile.gettempdir(),
            "home": str(Path.home()),
            "variable": VARIABLE,
            "descriptor": self.descriptor,
            "session": os.getsid(0),
            "libraries": readable_paths.libraries(),
            "segment": self._segment(),
            **self._decoy(),
            **self._servers(),
        }

    def _make_hidden(self) -> None:
        """Create what commands hide: data, a ledger, an output folder and a key."""
        ledger, output, deep = (self.folder / name for name in ("ledger", "out", "deep"))
        for folder in (ledger, output, deep):
            folder.mkdir()
        data, key, self._created = (self.folder / name for name in ("hidden.csv", "season.keys", "record.json"))
        for path in (data, key, ledger / "00000.jsonl", ledger / "lock", output / "run_ledger.jsonl"):
            path.write_text(self.secret)
        os.link(data, deep / "hard.csv")
        self.hidden = [data, key, ledger, output, self._created]

    def write_output(self) -> None:
        """Create the output of a run, after its sandbox was set up."""
        self._created.write_text(self.secret)

    def for_attempt(self, name: str, *, in_harness: bool = False) -> dict[str, Any]:
        """Return the target of one attempt, with files of its own to damage.

        Args:
            name: Name of the attempt.
            in_harness: The attempt runs in the process of a harness, with the future prices in the caller's frame.
        """
        outside = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._outside))
        victim = outside / "victim"
        victim.write_text("whole")
        number, own = tempfile.mkstemp(dir=self.folder / "own")
        os.fchmod(number, 0o644)
        os.close(number)
        # With `relatime`, a file that was not read since its last change records the time of the next read.
        os.utime(own, (0, os.stat(own).st_mtime))
        target = self._target | {"outside": str(outside), "victim": str(victim), "own": own}
        if in_harness:
            target |= {"future": [1234567.0, 1234568.0, 1234569.0], "account": {"nav": 1.0}}
        return target

    def _segment(self) -> int:
        """Create a System V shared memory segment; -1 if the system has none."""
        libc = ctypes.CDLL(None)
        if not hasattr(libc, "shmget"):
            return -1
        segment = int(libc.shmget(0, 4096, 0o1600))
        if segment >= 0:
            self._exits.callback(libc.shmctl, segment, 0, None)
        return segment

    def _decoy(self) -> dict[str, int]:
        """Start a process as the victim of attacks on processes."""
        decoy = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _DECOY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SECRET": self.secret},
            start_new_session=True,
        )
        self._exits.enter_context(decoy)
        self._exits.callback(decoy.kill)
        assert decoy.stdout is not None, "a pipe was requested"
        return {"decoy": decoy.pid, "address": int(decoy.stdout.readline())}

    def _servers(self) -> dict[str, Any]:
        name = f"openoutcry-{secrets.token_hex(8)}"
        tcp = self._listening(socket.AF_INET, ("127.0.0.1", 0))
        udp = self._bound(socket.AF_INET, ("127.0.0.1", 0))
        passing = self._listening(socket.AF_UNIX, str(self._outside / "passing"))
        self._listening(socket.AF_UNIX, str(self._outside / "socket"))
        if sys.platform.startswith("linux"):
            self._listening(socket.AF_UNIX, f"\0{name}")
            self._bound(socket.AF_UNIX, f"\0{name}-datagrams")
        self._answer(udp, lambda: _echo(udp))
        self._answer(passing, lambda: self._pass(passing))
        return {
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": str(self._outside / "socket"),
            "passing": str(self._outside / "passing"),
            "abstract": name,
            "abstract_datagrams": f"{name}-datagrams",
        }

    def _bound(self, family: int, address: Any, kind: int = socket.SOCK_DGRAM) -> socket.socket:
        server = self._exits.enter_context(socket.socket(family, kind))
        server.bind(address)
        return server

    def _listening(self, family: int, address: Any) -> socket.socket:
        server = self._bound(family, address, socket.SOCK_STREAM)
        server.listen(64)
        return server

    def _pass(self, server: socket.socket) -> None:
        with server.accept()[0] as connected:
            socket.send_fds(connected, [b"x"], [self.descriptor])

    def _answer(self, served: socket.socket, one: Callable[[], object]) -> None:
        def answer() -> None:
            with suppress(OSError):
                while True:
                    one()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        # A thread that waits on a socket wakes up when it is shut down, not when it is closed.
        self._exits.callback(thread.join, 1.0)
        self._exits.callback(_shut, served)


def _echo(served: socket.socket) -> None:
    message, sender = served.recvfrom(512)
    if not message:
        raise ConnectionAbortedError("the socket was shut down")
    served.sendto(b"pong", sender)


def _shut(served: socket.socket) -> None:
    with suppress(OSError):
        served.shutdown(socket.SHUT_RDWR)
