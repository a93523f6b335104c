"""Records are durable before they are acknowledged, checked by system calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import Floor

pytestmark = pytest.mark.once

# Marks each request and response by writes that strace records.
CLIENT = """
import os
import sys
from pathlib import Path
from arena_in_process import floor

with floor(Path(sys.argv[1])) as ground:
    ground.publish()
    for slug in ("one", "two"):
        os.write(1, b"request")
        ground.register(slug)
        os.write(1, b"response")
        os.write(1, b"request")
        assert ground.submit(slug, (ground.markets()[0], 0.5)).status_code == 200
        os.write(1, b"response")
"""


def test_a_transaction_waits_for_the_disk(ground: Floor) -> None:
    #
    """`synchronous=NORMAL` could lose acknowledged records at a power failure."""
    connection = ground.arena.writer.connection()
    settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "journal_mode")]
    connection.rollback()
    assert settings == [2, "wal"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_every_response_follows_a_sync(tmp_path: Path) -> None:
    #
    """The database's write-ahead log is synced between a request and its response."""
    if subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    traced = tmp_path / "calls"
    words = ["strace", "-f", "-y", "-o", traced, "-e", "trace=fdatasync,fsync,write", sys.executable, "-c", CLIENT]
    paths = [str(Path(__file__).parents[1] / "support"), *filter(None, sys.path)]
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*words, tmp_path / "arena"], env=surroundings, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    calls = " ".join(
        re.findall(r"request|response|sync\(\d+<[^>]*arena\.sqlite-wal>", traced.read_text(errors="replace"))
    )
    spans = re.findall(r"request((?: sync\S*)*) response", calls)
    assert len(spans) == 4
    assert all(spans), "each request is synced before its response"
