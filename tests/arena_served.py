"""An arena that is served by a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(folder: Path, *more: str, data: str = "arena") -> Iterator[str]:
    """Serve the arena of a folder, and tell where."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["arena", "serve", "--port", str(port), "--data-dir", data, "--rate-anon", "0", *more]
    with subprocess.Popen(
        [sys.executable, "-m", "openoutcry", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            kind = "practice" if "--sandbox" in more else "demo"
            assert f"8 markets, {kind} season" in process.stdout.readline()
            deadline = time.monotonic() + 30.0
            while time.monotonic() < deadline:
                with socket.socket() as client:
                    if client.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
